//! Threads of low priority, on which slow reads run.
//!
//! Light reads run on the threads of the runtime and take microseconds. If slow reads shared the cores at equal priority,
//! the scheduler would run each for milliseconds while light reads wait. Threads of low priority use the remaining time,
//! and always get some.

use mesh_plan::ResolveError;
use tokio::sync::oneshot;

/// The nice value of the threads. With 19, a thread gets a sixtieth of the time of one with 0.
#[cfg(target_os = "linux")]
const NICE: i32 = 19;

/// Runs `work` on a new thread of low priority. Starting a thread takes about ten microseconds, while slow reads take
/// milliseconds.
pub(crate) async fn run<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ResolveError> {
    let (done, result) = oneshot::channel();
    let thread = std::thread::Builder::new().name("mesh slow read".to_owned());
    let started = thread.spawn(move || {
        // Elsewhere, threads have no priorities of their own. A failure affects only the scheduling of threads.
        #[cfg(target_os = "linux")]
        let _ = rustix::process::nice(NICE);
        // The receiver is gone if the request was cancelled.
        let _ = done.send(work());
    });
    started.map_err(|_| ResolveError::Busy)?;
    result.await.map_err(|_| ResolveError::Panicked("a slow read".to_owned()))
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
