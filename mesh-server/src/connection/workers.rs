//! Worker threads, each with its own runtime, and the assignment of connections to them.
//!
//! A connection stays on one thread. On a runtime that spans several threads, tasks migrate between CPUs and threads wake
//! each other: a light read then takes 1.4 times the processor time.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// Upper bound for blocking threads of all workers together; tokio's default for one runtime.
const MAX_BLOCKING_THREADS: usize = 512;
const THREAD_NAME: &str = "mesh";

/// Threads that serve connections, each with a current-thread runtime, for
/// [`Server::workers`](crate::Server::workers).
///
/// The threads end when the last clone is dropped, which waits for blocking tasks that have started. Tasks spawned by
/// requests end with them, so keep the workers as long as the server. Handlers cannot call
/// `tokio::task::block_in_place`, which requires a multi-threaded runtime.
#[derive(Clone, Debug)]
pub struct Workers {
    threads: Arc<WorkerThreads>,
}

impl Workers {
    /// Starts threads. `on_park` runs on each thread before it waits for events: resolvers that keep something open between
    /// requests that arrive together, such as a transaction, release it there.
    ///
    /// # Errors
    /// The system cannot start another thread or runtime.
    pub fn start(count: usize, on_park: impl Fn() + Clone + Send + Sync + 'static) -> io::Result<Self> {
        let blocking_threads = (MAX_BLOCKING_THREADS / count.max(1)).max(16);
        let threads = (0..count).map(|_| WorkerThread::start(blocking_threads, on_park.clone()));
        Ok(Self { threads: Arc::new(WorkerThreads(threads.collect::<io::Result<_>>()?)) })
    }
}

#[derive(Debug)]
struct WorkerThreads(Vec<WorkerThread>);

impl Drop for WorkerThreads {
    fn drop(&mut self) {
        // Stop all threads before waiting for the first one.
        self.0.iter_mut().for_each(|thread| drop(thread.stop.take()));
        let current = std::thread::current().id();
        for handle in self.0.iter_mut().filter_map(|thread| thread.handle.take()) {
            if handle.thread().id() != current {
                let _ = handle.join();
            }
        }
    }
}

#[derive(Debug)]
struct WorkerThread {
    runtime: Handle,
    /// The thread ends when this is dropped.
    stop: Option<oneshot::Sender<()>>,
    handle: Option<JoinHandle<()>>,
}

impl WorkerThread {
    fn start(blocking_threads: usize, on_park: impl Fn() + Send + Sync + 'static) -> io::Result<Self> {
        let mut builder = Builder::new_current_thread();
        builder.enable_all().thread_name(THREAD_NAME).max_blocking_threads(blocking_threads);
        let runtime = builder.on_thread_park(on_park).build()?;
        let runtime_handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name(THREAD_NAME.to_owned());
        // Returns an error when the sender is dropped; nothing is ever sent.
        let handle = thread.spawn(move || drop(runtime.block_on(stopped)))?;
        Ok(Self { runtime: runtime_handle, stop: Some(stop), handle: Some(handle) })
    }
}

/// Assigns connections to the task that accepts them and to the worker threads.
pub(super) struct Scheduler(Vec<Slot>);

/// A thread that serves connections.
struct Slot {
    /// `None` is the runtime that accepts connections.
    runtime: Option<Handle>,
    /// Each connection has a reference.
    connections: Arc<()>,
}

impl Scheduler {
    pub(super) fn new(workers: Option<&Workers>) -> Self {
        let threads = workers.iter().flat_map(|workers| &workers.threads.0);
        let runtimes = std::iter::once(None).chain(threads.map(|thread| Some(thread.runtime.clone())));
        Self(runtimes.map(|runtime| Slot { runtime, connections: Arc::default() }).collect())
    }

    /// Returns the runtime with the fewest connections (`None`: the current one). The connection counts for it until the
    /// returned value is dropped.
    pub(super) fn assign(&self) -> (Option<&Handle>, Option<Arc<()>>) {
        let slot = self.0.iter().min_by_key(|slot| Arc::strong_count(&slot.connections));
        (slot.and_then(|slot| slot.runtime.as_ref()), slot.map(|slot| Arc::clone(&slot.connections)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(scheduler: &Scheduler) -> Vec<usize> {
        scheduler.0.iter().map(|slot| Arc::strong_count(&slot.connections) - 1).collect()
    }

    #[test]
    fn connections_go_to_the_least_loaded_thread() {
        let workers = Workers::start(2, || {}).unwrap();
        let scheduler = Scheduler::new(Some(&workers));
        let mut open: Vec<_> = (0..7).map(|_| scheduler.assign().1).collect();
        assert_eq!(connections(&scheduler), [3, 2, 2]);
        drop(open.remove(1));
        assert_eq!(connections(&scheduler), [3, 1, 2]);
        let (runtime, _another) = scheduler.assign();
        assert!(runtime.is_some());
        assert_eq!(connections(&scheduler), [3, 2, 2]);
    }

    #[test]
    fn without_workers_the_accepting_task_serves_all_connections() {
        assert!(Scheduler::new(None).assign().0.is_none());
    }

    #[tokio::test]
    async fn threads_end_when_the_workers_are_dropped() {
        let workers = Workers::start(1, || {}).unwrap();
        let runtime = workers.threads.0.first().unwrap().runtime.clone();
        let name = runtime.spawn(async { std::thread::current().name().map(str::to_owned) }).await.unwrap();
        assert_eq!(name.as_deref(), Some(THREAD_NAME));
        let task = runtime.spawn(std::future::pending::<()>());
        drop(workers);
        assert!(task.await.unwrap_err().is_cancelled());
    }
}
