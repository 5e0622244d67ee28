//! Where do log lines go? To standard error, by a thread of their own: whoever reads them may be slow or have
//! stopped reading, and no request waits for that. What does not fit meanwhile is left out and counted.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use tracing_subscriber::fmt::MakeWriter;

use crate::config::LogFormat;

/// Lines that wait to be written.
const LINES: usize = 8_192;
/// Bytes of those lines.
const BYTES: usize = 4 << 20;
/// How long the end of the program waits for the last lines.
const PATIENCE: Duration = Duration::from_secs(1);

/// Takes lines. Cheap to clone; all clones are one.
#[derive(Clone)]
pub(crate) struct Sink {
    lines: SyncSender<Message>,
    counts: Arc<Counts>,
}

enum Message {
    Line(Vec<u8>),
    /// Everything before has been written when this is answered.
    Flush(SyncSender<()>),
}

#[derive(Default)]
struct Counts {
    /// Bytes that wait.
    waiting: AtomicUsize,
    /// Lines that were left out and not yet spoken of.
    left_out: AtomicU64,
}

impl Sink {
    /// Begins to write.
    pub(crate) fn to(out: impl Write + Send + 'static, format: LogFormat) -> io::Result<Self> {
        let (lines, waiting) = sync_channel(LINES);
        let counts = Arc::new(Counts::default());
        let sink = Self { lines, counts: Arc::clone(&counts) };
        let run = move || write_all(out, format, &waiting, &counts);
        std::thread::Builder::new().name("mesh-log".to_owned()).spawn(run)?;
        Ok(sink)
    }

    fn take(&self, line: &[u8]) {
        let waiting = self.counts.waiting.fetch_add(line.len(), Ordering::Relaxed);
        let fits = waiting.saturating_add(line.len()) <= BYTES;
        if !fits || self.lines.try_send(Message::Line(line.to_vec())).is_err() {
            self.counts.waiting.fetch_sub(line.len(), Ordering::Relaxed);
            self.counts.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until all is written, though not for long.
    fn flush(&self) {
        let (done, written) = sync_channel(1);
        let start = Instant::now();
        while self.lines.try_send(Message::Flush(done.clone())).is_err() {
            if start.elapsed() > PATIENCE {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = written.recv_timeout(PATIENCE);
    }
}

fn write_all(mut out: impl Write, format: LogFormat, waiting: &Receiver<Message>, counts: &Counts) {
    while let Ok(message) = waiting.recv() {
        match message {
            Message::Line(line) => {
                // There is no other place to say that nobody reads any more.
                let _ = out.write_all(&line);
                counts.waiting.fetch_sub(line.len(), Ordering::Relaxed);
            }
            Message::Flush(done) => {
                let _ = out.flush().and_then(|()| done.send(()).map_err(io::Error::other));
            }
        }
        let left_out = counts.left_out.swap(0, Ordering::Relaxed);
        if left_out > 0 {
            let words = format!("{left_out} log lines were left out here, since nobody read fast enough");
            let _ = match format {
                LogFormat::Pretty => writeln!(out, "WARN {words}"),
                LogFormat::Json => writeln!(out, r#"{{"level":"WARN","message":"{words}"}}"#),
            };
        }
    }
}

impl<'a> MakeWriter<'a> for Sink {
    type Writer = &'a Self;

    fn make_writer(&'a self) -> &'a Self {
        self
    }
}

/// A line comes as a whole.
impl Write for &Sink {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.take(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes the last lines when it is dropped, at the end of the program; `None` where none are written at all.
pub(crate) struct Logging(pub(crate) Option<Sink>);

impl Drop for Logging {
    fn drop(&mut self) {
        if let Some(sink) = &self.0 {
            sink.flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Keeps what is written, once it is let.
    #[derive(Clone, Default)]
    struct Slow {
        text: Arc<Mutex<String>>,
        gate: Arc<Mutex<()>>,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _open = self.gate.lock().unwrap();
            self.text.lock().unwrap().push_str(std::str::from_utf8(bytes).unwrap());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn who_does_not_read_holds_nobody_up() {
        for (line, fit) in [("x\n".to_owned(), LINES), (format!("{}\n", "y".repeat(1 << 20)), 3)] {
            let slow = Slow::default();
            let shut = slow.gate.lock().unwrap();
            let sink = Sink::to(slow.clone(), LogFormat::Pretty).unwrap();
            for _ in 0..LINES + 100 {
                (&sink).write_all(line.as_bytes()).unwrap();
            }
            let start = Instant::now();
            drop(Logging(Some(sink.clone())));
            assert!(start.elapsed() < 4 * PATIENCE, "nor the end of the program");
            drop(shut);
            sink.flush();
            let text = slow.text.lock().unwrap();
            let written = text.lines().filter(|one| line.starts_with(*one)).count();
            // One more than fits is in the writer's hands.
            assert!((fit..=fit + 1).contains(&written), "{written}");
            let left_out: u64 = text
                .lines()
                .filter_map(|one| one.strip_prefix("WARN ")?.split_once(" log lines were left out"))
                .map(|(count, _)| count.parse::<u64>().unwrap())
                .sum();
            assert_eq!(left_out + written as u64, LINES as u64 + 100);
            assert_eq!(sink.counts.waiting.load(Ordering::Relaxed), 0);
        }
    }

    #[test]
    fn the_last_lines_are_written() {
        let slow = Slow::default();
        let sink = Sink::to(slow.clone(), LogFormat::Json).unwrap();
        (&sink).write_all(b"one\n").unwrap();
        (&sink).write_all(b"two\n").unwrap();
        drop(Logging(Some(sink)));
        assert_eq!(*slow.text.lock().unwrap(), "one\ntwo\n");
    }
}
