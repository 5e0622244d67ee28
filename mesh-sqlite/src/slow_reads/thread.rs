//! Threads of low priority, on which slow reads run.
//!
//! Light reads run on the threads of the runtime and take microseconds. If slow reads shared the cores at equal priority,
//! the scheduler would run each for milliseconds while light reads wait. Threads of low priority use the remaining time,
//! and always get some.

use mesh_plan::ResolveError;
use tokio::sync::oneshot;

/// How nice a thread is to the others, from 0 to 19: with 19 it gets a sixtieth of the time of one that is not.
#[cfg(target_os = "linux")]
const NICE: i32 = 19;

/// The processors of the thread that opened the first database. A thread inherits those of the thread that starts
/// it, which may be pinned to one.
#[cfg(target_os = "linux")]
static PROCESSORS: std::sync::OnceLock<rustix::thread::CpuSet> = std::sync::OnceLock::new();

/// Records the processors that slow reads may run on.
pub(crate) fn record_processors() {
    #[cfg(target_os = "linux")]
    if let Ok(all) = rustix::thread::sched_getaffinity(None) {
        PROCESSORS.get_or_init(|| all);
    }
}

/// Runs some work on a thread of its own. To start one takes some ten microseconds, to which such work adds
/// milliseconds.
pub(crate) async fn run<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ResolveError> {
    let (done, result) = oneshot::channel();
    let thread = std::thread::Builder::new().name("mesh aside".to_owned());
    let started = thread.spawn(move || {
        give_way();
        // Whoever waited may have gone.
        let _ = done.send(work());
    });
    started.map_err(|_| ResolveError::Busy)?;
    result.await.map_err(|_| ResolveError::Panicked("a read on a thread of its own".to_owned()))
}

/// Puts this thread behind others, where the system knows priorities of threads.
fn give_way() {
    #[cfg(target_os = "linux")]
    if let Some(all) = PROCESSORS.get() {
        let _ = rustix::thread::sched_setaffinity(None, all);
    }
    // Without it everything is right, if later.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(NICE);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_comes_back_is_what_was_made() {
        assert_eq!(run(|| 7).await.unwrap(), 7);
        let fell = run(|| -> u8 { std::panic::resume_unwind(Box::new(())) }).await;
        assert!(matches!(fell, Err(ResolveError::Panicked(_))));
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn other_threads_come_first() {
        let nice = || {
            let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
            let (_, fields) = stat.rsplit_once(')').unwrap();
            fields.split_whitespace().nth(16).unwrap().parse::<i32>().unwrap()
        };
        let own = nice();
        assert_eq!(run(nice).await.unwrap(), (own + NICE).min(19));
        assert_eq!(nice(), own, "this thread is what it was");
    }
}
