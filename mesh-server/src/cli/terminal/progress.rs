//! What does somebody see who has to wait? Nothing for a second, then a line that says for what, until it is over.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What takes no longer is not spoken of.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often the line is written anew.
const TICK: Duration = Duration::from_millis(100);
/// What turns while time passes.
const FRAMES: [char; 4] = ['|', '/', '-', '\\'];

/// A line on the terminal for as long as this value lives; nothing where standard error is none.
pub(crate) struct Waiting {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
}

struct Shared {
    /// What is waited for; `None` once it is over.
    what: Mutex<Option<String>>,
    over: Condvar,
}

impl Waiting {
    /// Begins to wait.
    pub(crate) fn on(what: impl Into<String>) -> Self {
        let shared = Arc::new(Shared { what: Mutex::new(Some(what.into())), over: Condvar::new() });
        let seen = io::stderr().is_terminal();
        let writer = seen.then(|| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || write(&shared, &mut io::stderr()))
        });
        Self { shared, writer }
    }

    /// Says how far it is.
    pub(crate) fn say(&self, what: impl Into<String>) {
        *self.shared.what.lock().unwrap_or_else(PoisonError::into_inner) = Some(what.into());
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        *self.shared.what.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.shared.over.notify_all();
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

fn write(shared: &Shared, out: &mut impl Write) {
    let begun = Instant::now();
    let mut turn = 0;
    let mut pause = PATIENCE;
    let mut what = shared.what.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let waited = shared.over.wait_timeout_while(what, pause, |what| what.is_some());
        what = waited.unwrap_or_else(PoisonError::into_inner).0;
        let Some(text) = what.as_deref() else { break };
        let frame = FRAMES.get(turn % FRAMES.len()).copied().unwrap_or(' ');
        let line = format!("\r{frame} {text} ({} s)\x1b[K", begun.elapsed().as_secs());
        // A terminal that is gone is no reason to stop the work.
        let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
        turn += 1;
        pause = TICK;
    }
    if turn > 0 {
        let _ = out.write_all(b"\r\x1b[K").and_then(|()| out.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_soon_is_not_spoken_of() {
        let shared = Shared { what: Mutex::new(None), over: Condvar::new() };
        let mut out = Vec::new();
        write(&shared, &mut out);
        assert_eq!(out, b"");
    }

    #[test]
    fn the_line_goes_when_it_is_over() {
        let shared = Shared { what: Mutex::new(Some("waiting for it".to_owned())), over: Condvar::new() };
        let mut out = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(PATIENCE + TICK + TICK / 2);
                *shared.what.lock().unwrap() = None;
                shared.over.notify_all();
            });
            write(&shared, &mut out);
        });
        let said = String::from_utf8(out).unwrap();
        assert!(said.starts_with("\r| waiting for it (1 s)\x1b[K") && said.ends_with("\r\x1b[K"), "{said:?}");
    }
}
