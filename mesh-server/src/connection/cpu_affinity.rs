//! Which processors does a thread run on? All that the process may use, unless it is told to stay on one.

#[cfg(target_os = "linux")]
use std::sync::OnceLock;

#[cfg(target_os = "linux")]
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tokio::net::TcpStream;

/// What the process may use, once a thread was told to stay where it is.
#[cfg(target_os = "linux")]
static ALL: OnceLock<CpuSet> = OnceLock::new();

/// The numbers of the processors that this thread may run on; none where they cannot be told.
#[cfg(target_os = "linux")]
pub(crate) fn all() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|number| set.is_set(*number)).collect()
}

/// Keeps this thread on one processor. Where that is refused it wanders, as threads do.
#[cfg(target_os = "linux")]
pub(crate) fn stay_on(number: usize) {
    if let Ok(set) = sched_getaffinity(None) {
        ALL.get_or_init(|| set);
    }
    let mut one = CpuSet::new();
    one.set(number);
    let _ = sched_setaffinity(None, &one);
}

/// Lets this thread run on all of them again: a thread begins where the one stays that has started it.
#[cfg(target_os = "linux")]
pub(crate) fn wander() {
    if let Some(all) = ALL.get() {
        let _ = sched_setaffinity(None, all);
    }
}

/// The processor that a connection's packets come in on.
#[cfg(target_os = "linux")]
pub(crate) fn of_packets(stream: &TcpStream) -> Option<usize> {
    rustix::net::sockopt::socket_incoming_cpu(stream).ok()?.try_into().ok()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn all() -> Vec<usize> {
    Vec::new()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn stay_on(_: usize) {}

#[cfg(not(target_os = "linux"))]
pub(crate) fn wander() {}

#[cfg(not(target_os = "linux"))]
pub(crate) fn of_packets(_: &TcpStream) -> Option<usize> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_stays_and_those_that_it_starts_wander() {
        let before = all();
        let last = *before.last().unwrap();
        let (own, inherited, wandering) = std::thread::spawn(move || {
            stay_on(last);
            let inherited = std::thread::spawn(all).join().unwrap();
            let wandering = std::thread::spawn(|| {
                wander();
                all()
            });
            (all(), inherited, wandering.join().unwrap())
        })
        .join()
        .unwrap();
        assert_eq!((own, inherited), (vec![last], vec![last]));
        assert_eq!(wandering, before);
        assert_eq!(all(), before, "this thread was not told anything");
    }
}
