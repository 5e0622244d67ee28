//! Threads of low priority, on which slow reads run.
//!
//! Light reads run on the threads of the runtime and take microseconds. If slow reads shared the cores at equal priority,
//! the scheduler would run each for milliseconds while light reads wait. Threads of low priority use the remaining time,
//! and always get some.

use std::cell::Cell;
use std::time::Duration;

use mesh_plan::ResolveError;
use tokio::sync::oneshot;

use super::interrupt::Budget;

/// The nice value of the threads. With 19, a thread gets a sixtieth of the time of one with 0.
#[cfg(target_os = "linux")]
const NICE: i32 = 19;

/// The processors of the thread that opened the first database. A new thread inherits the processors of the thread that
/// starts it, which may be pinned to one.
#[cfg(target_os = "linux")]
static PROCESSORS: std::sync::OnceLock<rustix::thread::CpuSet> = std::sync::OnceLock::new();

/// Records the processors that slow reads may run on.
pub(crate) fn record_processors() {
    #[cfg(target_os = "linux")]
    if let Ok(all) = rustix::thread::sched_getaffinity(None) {
        PROCESSORS.get_or_init(|| all);
    }
}

/// The number of checks from which a read is slow.
const LIGHT_CHECKS: u32 = 20;
/// The time from which a read is slow.
const LIGHT_TIME: Duration = Duration::from_millis(10);

/// The number of checks after which a slow read yields to other threads: about 200 microseconds.
const TURN: u32 = 20;

thread_local! {
    /// The number of checks until this thread yields; `None` if it does not run a slow read.
    static CHECKS_LEFT: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Returns the budget of a read on the calling thread: one or two milliseconds of work, while most reads take a
/// fraction of that. A read that exceeds it is slow. The budget counts checks between steps of SQLite, because on a
/// busy machine every read takes long; the time limit only bounds slow steps.
pub(crate) fn inline_budget() -> Budget {
    Budget { checks: Some(LIGHT_CHECKS), time: Some(LIGHT_TIME), deadline: None }
}

/// Returns whether a read would have ended within the budget of the calling thread.
pub(crate) fn is_light(checks: u32, time: Duration) -> bool {
    checks < LIGHT_CHECKS && time < LIGHT_TIME
}

/// Runs `work` on a new thread of low priority. Starting a thread takes about ten microseconds, while slow reads take
/// milliseconds.
pub(crate) async fn run<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ResolveError> {
    let (done, result) = oneshot::channel();
    let thread = std::thread::Builder::new().name("mesh slow read".to_owned());
    let started = thread.spawn(move || {
        lower_priority();
        CHECKS_LEFT.set(Some(TURN));
        // The receiver is gone if the request was cancelled.
        let _ = done.send(work());
    });
    started.map_err(|_| ResolveError::Busy)?;
    result.await.map_err(|_| ResolveError::Panicked("a slow read".to_owned()))
}

/// Counts a check of a statement. If this thread runs a slow read, it yields to other threads after every [`TURN`] checks.
///
/// Without yielding, it would run for a time slice of several milliseconds while light reads wait, and would then wait
/// sixty times as long itself, so that it would notice its deadline late.
pub(crate) fn count_check() {
    match CHECKS_LEFT.get() {
        None => {}
        Some(1) => {
            CHECKS_LEFT.set(Some(TURN));
            std::thread::yield_now();
        }
        Some(left) => CHECKS_LEFT.set(Some(left - 1)),
    }
}

/// Lowers the priority of this thread, on systems with priorities per thread.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    if let Some(all) = PROCESSORS.get() {
        let _ = rustix::thread::sched_setaffinity(None, all);
    }
    // A failure affects only the scheduling of threads.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(NICE);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_result_of_the_work_or_its_panic_is_returned() {
        assert_eq!(run(|| 7).await.unwrap(), 7);
        let panicked = run(|| -> u8 { std::panic::resume_unwind(Box::new(())) }).await;
        assert!(matches!(panicked, Err(ResolveError::Panicked(_))));
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn the_thread_has_a_low_priority() {
        let nice = || {
            let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
            let (_, fields) = stat.rsplit_once(')').unwrap();
            fields.split_whitespace().nth(16).unwrap().parse::<i32>().unwrap()
        };
        let own = nice();
        assert_eq!(run(nice).await.unwrap(), (own + NICE).min(19));
        assert_eq!(nice(), own, "the priority of this thread is unchanged");
    }
}
