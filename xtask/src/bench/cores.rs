//! Which cores do servers and load run on, where processes can be pinned to cores?

use std::path::Path;
use std::process::{Command, Stdio};

use super::workload::Placing;

/// The cores of this machine; none where nothing can be pinned.
pub(crate) struct Cores(Option<usize>);

impl Cores {
    /// Everything runs where the system puts it.
    pub(crate) const FREE: Self = Self(None);

    /// Those that are there.
    pub(crate) fn found() -> Self {
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        let pinned = count > 1 && taskset_is_there();
        if !pinned {
            eprintln!("note: processes cannot be pinned to cores here, so figures will vary more");
        }
        Self(pinned.then_some(count))
    }

    pub(crate) fn are_pinned(&self) -> bool {
        self.0.is_some()
    }

    /// Whether there are too few for servers and load of up to two threads each.
    pub(crate) fn are_shared(&self, threads: usize) -> bool {
        self.0.is_none_or(|count| count < 2 * threads.max(2))
    }

    /// The list of a server's cores.
    pub(crate) fn of_server(&self, placing: Placing) -> Option<String> {
        self.0?;
        match placing {
            Placing::Apart => Some("0".to_owned()),
            Placing::Free => None,
            Placing::Together(threads) => Some(format!("0-{}", threads.saturating_sub(1))),
        }
    }

    /// The core of each of the generators that make the load at the same time.
    ///
    /// There is one for each core. One of several threads would wander between them, and most of its packets cross
    /// from one core to another, which costs more than the server does.
    pub(crate) fn of_load(&self, placing: Placing) -> Vec<Option<String>> {
        let (first, count) = match placing {
            Placing::Apart | Placing::Free => (1, 1),
            Placing::Together(threads) if self.are_shared(threads) => (0, threads),
            Placing::Together(threads) => (threads.max(2), threads),
        };
        (first..first + count).map(|core| self.0.map(|_| core.to_string())).collect()
    }

    /// Whether packets come in on the cores that the server's threads are on, so that each can stay with its own.
    pub(crate) fn bring_packets(&self, placing: Placing) -> bool {
        match placing {
            Placing::Together(threads) => self.are_pinned() && self.are_shared(threads),
            Placing::Apart | Placing::Free => false,
        }
    }
}

/// A program, on those cores where some are named.
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

fn taskset_is_there() -> bool {
    let mut command = command(Path::new("true"), Some("0"));
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(count: Option<usize>, placing: Placing) -> String {
        let cores = Cores(count);
        let text = |core: Option<String>| core.unwrap_or_else(|| "any".to_owned());
        let load: Vec<_> = cores.of_load(placing).into_iter().map(text).collect();
        let pins = if cores.bring_packets(placing) { ", threads pinned" } else { "" };
        format!("{} by {}{pins}", text(cores.of_server(placing)), load.join(" and "))
    }

    #[test]
    fn each_core_of_the_load_has_a_generator() {
        let [one, two] = [Placing::Together(1), Placing::Together(2)];
        let seen = [Placing::Apart, Placing::Free, one, two].map(|placing| placed(Some(2), placing));
        assert_eq!(
            seen,
            ["0 by 1", "any by 1", "0-0 by 0, threads pinned", "0-1 by 0 and 1, threads pinned"]
        );
        assert_eq!([one, two].map(|it| placed(Some(4), it)), ["0-0 by 2", "0-1 by 2 and 3"]);
        assert_eq!(placed(Some(6), Placing::Together(3)), "0-2 by 3 and 4 and 5");
        assert_eq!([one, two].map(|it| placed(None, it)), ["any by any", "any by any and any"]);
    }
}
