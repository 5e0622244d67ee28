//! Pinning of servers and load to cores.

use std::path::Path;
use std::process::{Command, Stdio};

/// The cores of server and load, if processes can be pinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CorePlacement {
    /// One core each.
    OneCoreEach,
    /// The server has all cores, the load one of them.
    ServerUnpinned,
    /// This number of threads each. If there are too few cores, server and load share them, with one thread of each per
    /// core, so that the load grows with the server.
    ThreadsEach(usize),
}

/// The cores of this machine; `None` if processes cannot be pinned.
pub(crate) struct Cores(Option<usize>);

impl Cores {
    /// Nothing is pinned.
    pub(crate) const UNPINNED: Self = Self(None);

    /// Detects the cores.
    pub(crate) fn detect() -> Self {
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        let pinned = count > 1 && has_taskset();
        if !pinned {
            eprintln!("note: processes cannot be pinned to cores here, so figures will vary more");
        }
        Self(pinned.then_some(count))
    }

    pub(crate) fn are_pinned(&self) -> bool {
        self.0.is_some()
    }

    /// Whether there are too few cores for separate servers and load generators.
    pub(crate) fn are_shared(&self, threads: usize) -> bool {
        self.0.is_none_or(|count| count < 2 * threads.max(2))
    }

    /// Returns the cores of a server, as a list for `taskset`.
    pub(crate) fn for_server(&self, placement: CorePlacement) -> Option<String> {
        self.0?;
        match placement {
            CorePlacement::OneCoreEach => Some("0".to_owned()),
            CorePlacement::ServerUnpinned => None,
            CorePlacement::ThreadsEach(threads) => Some(format!("0-{}", threads.saturating_sub(1))),
        }
    }

    /// Runs a function on the core of the server, which the processes that it starts inherit.
    pub(crate) fn on_core_of_server<T>(&self, run: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
        let Some(count) = self.0 else { return run() };
        pin_this_process("0")?;
        let result = run();
        pin_this_process(&format!("0-{}", count - 1))?;
        result
    }

    /// Returns the core of each load generator.
    ///
    /// There is one generator per core. A generator with several threads would migrate between cores, and most of its
    /// packets would cross cores, which costs more than the server.
    pub(crate) fn for_load(&self, placement: CorePlacement) -> Vec<Option<String>> {
        let (first, count) = match placement {
            CorePlacement::OneCoreEach | CorePlacement::ServerUnpinned => (1, 1),
            CorePlacement::ThreadsEach(threads) if self.are_shared(threads) => (0, threads),
            CorePlacement::ThreadsEach(threads) => (threads.max(2), threads),
        };
        (first..first + count).map(|core| self.0.map(|_| core.to_string())).collect()
    }
}

/// Returns a command that runs on the given cores.
pub(crate) fn command(program: &Path, cores: Option<&str>) -> Command {
    match cores {
        Some(cores) => {
            let mut command = Command::new("taskset");
            command.args(["-c", cores]).arg(program);
            command
        }
        None => Command::new(program),
    }
}

fn pin_this_process(cores: &str) -> Result<(), String> {
    let mut command = Command::new("taskset");
    command.args(["-cp", cores, &std::process::id().to_string()]).stdout(Stdio::null());
    let pinned = command.status().is_ok_and(|status| status.success());
    if pinned { Ok(()) } else { Err("`taskset` cannot move this process".to_owned()) }
}

fn has_taskset() -> bool {
    let mut command = command(Path::new("true"), Some("0"));
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(count: Option<usize>, placement: CorePlacement) -> String {
        let cores = Cores(count);
        let text = |core: Option<String>| core.unwrap_or_else(|| "any".to_owned());
        let load: Vec<_> = cores.for_load(placement).into_iter().map(text).collect();
        format!("{} by {}", text(cores.for_server(placement)), load.join(" and "))
    }

    #[test]
    fn each_core_of_the_load_has_one_generator() {
        let [one, two] = [CorePlacement::ThreadsEach(1), CorePlacement::ThreadsEach(2)];
        let seen = [CorePlacement::OneCoreEach, CorePlacement::ServerUnpinned, one, two]
            .map(|placement| describe(Some(2), placement));
        assert_eq!(seen, ["0 by 1", "any by 1", "0-0 by 0", "0-1 by 0 and 1"]);
        assert_eq!([one, two].map(|it| describe(Some(4), it)), ["0-0 by 2", "0-1 by 2 and 3"]);
        assert_eq!(describe(Some(6), CorePlacement::ThreadsEach(3)), "0-2 by 3 and 4 and 5");
        assert_eq!([one, two].map(|it| describe(None, it)), ["any by any", "any by any and any"]);
    }
}
