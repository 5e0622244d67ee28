//! Worker threads, each with its own runtime, and the assignment of connections to them.
//!
//! A connection stays on one thread. On a runtime that spans several threads, tasks migrate between CPUs and threads wake
//! each other, which costs time with every request. The requests of an HTTP/1.1 connection are sequential, so they gain
//! nothing from it; those of an HTTP/2 connection share a thread too.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use tokio::net::TcpStream;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use super::cpu_affinity;

/// Upper bound for blocking threads of all workers together; tokio's default for one runtime.
const MAX_BLOCKING_THREADS: usize = 512;
/// A worker is preferred for its CPU while it has at most twice the connections of the least loaded one, plus this. It leaves room
/// for a client on this machine that opens many connections at once, all from one CPU.
const AFFINITY_SLACK: usize = 16;
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
    /// Returns a builder for a number of threads.
    pub fn builder(count: usize) -> WorkersBuilder {
        WorkersBuilder { count, pinned: false, on_park: None }
    }
}

/// A builder for [`Workers`].
#[must_use]
pub struct WorkersBuilder {
    count: usize,
    pinned: bool,
    on_park: Option<OnPark>,
}

/// A function that runs on a thread before the thread waits for events.
type OnPark = Arc<dyn Fn() + Send + Sync>;

impl WorkersBuilder {
    /// Binds each thread to one of the CPUs that the calling thread may run on (on Linux).
    ///
    /// Threads that are not pinned share the connections with the task that accepts them. Pinned threads serve all
    /// connections; each prefers those whose packets arrive on its CPU, unless it has far more connections than the
    /// others. Use this only on machines that run nothing else.
    pub fn pinned(self, pinned: bool) -> Self {
        Self { pinned, ..self }
    }

    /// Calls a function on each thread before it waits for events.
    ///
    /// Resolvers that keep something open between requests that arrive together, such as a transaction, release it
    /// there.
    pub fn on_park(self, hook: impl Fn() + Send + Sync + 'static) -> Self {
        Self { on_park: Some(Arc::new(hook)), ..self }
    }

    /// Starts the threads.
    ///
    /// # Errors
    /// The system cannot start another thread or runtime.
    pub fn start(self) -> io::Result<Workers> {
        let blocking_threads = (MAX_BLOCKING_THREADS / self.count.max(1)).max(16);
        let cpus = if self.pinned { cpu_affinity::available_cpus() } else { Vec::new() };
        let threads = (0..self.count).map(|index| {
            let cpu = cpus.get(index % cpus.len().max(1)).copied();
            WorkerThread::start((self.pinned, cpu), blocking_threads, self.on_park.clone())
        });
        Ok(Workers { threads: Arc::new(WorkerThreads(threads.collect::<io::Result<_>>()?)) })
    }
}

#[derive(Debug)]
struct WorkerThreads(Vec<WorkerThread>);

impl Drop for WorkerThreads {
    fn drop(&mut self) {
        // Stop all threads before waiting for the first one.
        self.0.iter_mut().for_each(|thread| drop(thread.stop.take()));
        let current = std::thread::current().id();
        for thread in &mut self.0 {
            if let Some(handle) = thread.handle.take().filter(|handle| handle.thread().id() != current) {
                let _ = handle.join();
            }
        }
    }
}

#[derive(Debug)]
struct WorkerThread {
    runtime: Handle,
    is_pinned: bool,
    /// The CPU of a pinned thread, if the system can bind it.
    cpu: Option<usize>,
    /// Set when the thread has ended, after which its runtime accepts no tasks.
    ended: Arc<AtomicBool>,
    /// The thread ends when this is dropped.
    stop: Option<oneshot::Sender<()>>,
    handle: Option<JoinHandle<()>>,
}

impl WorkerThread {
    fn start(
        (is_pinned, cpu): (bool, Option<usize>),
        blocking_threads: usize,
        on_park: Option<OnPark>,
    ) -> io::Result<Self> {
        let mut builder = Builder::new_current_thread();
        builder
            .enable_all()
            .thread_name(THREAD_NAME)
            .max_blocking_threads(blocking_threads)
            // Runs on blocking threads, which inherit the affinity of this one.
            .on_thread_start(cpu_affinity::unpin);
        if let Some(hook) = on_park {
            builder.on_thread_park(move || hook());
        }
        let runtime = builder.build()?;
        let runtime_handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let ended = Arc::new(AtomicBool::new(false));
        let guard = EndedGuard(Arc::clone(&ended));
        let thread = std::thread::Builder::new().name(THREAD_NAME.to_owned());
        let handle = thread.spawn(move || {
            let _guard = guard;
            if let Some(cpu) = cpu {
                cpu_affinity::pin(cpu);
            }
            // Returns an error when the sender is dropped; nothing is ever sent.
            let _ = runtime.block_on(stopped);
        })?;
        Ok(Self { runtime: runtime_handle, is_pinned, cpu, ended, stop: Some(stop), handle: Some(handle) })
    }
}

/// Sets the flag of a thread when it ends, also by a panic.
struct EndedGuard(Arc<AtomicBool>);

impl Drop for EndedGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
        if std::thread::panicking() {
            tracing::error!("a worker thread panicked; the other threads continue");
        }
    }
}

/// Assigns the connections of one server to threads.
pub(super) struct Scheduler(Vec<Slot>);

/// A thread that serves connections.
struct Slot {
    /// `None` is the runtime that accepts connections.
    runtime: Option<Handle>,
    cpu: Option<usize>,
    ended: Arc<AtomicBool>,
    connections: Arc<AtomicUsize>,
}

impl Slot {
    fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

impl Scheduler {
    /// Uses the worker threads and, unless these are pinned, the task that accepts connections.
    pub(super) fn new(workers: Option<&Workers>) -> Self {
        let threads = || workers.iter().flat_map(|workers| &workers.threads.0);
        let acceptor = Slot { runtime: None, cpu: None, ended: Arc::default(), connections: Arc::default() };
        let acceptor = threads().all(|thread| !thread.is_pinned).then_some(acceptor);
        let workers = threads().map(|thread| Slot {
            runtime: Some(thread.runtime.clone()),
            cpu: thread.cpu,
            ended: Arc::clone(&thread.ended),
            connections: Arc::default(),
        });
        Self(acceptor.into_iter().chain(workers).collect())
    }

    /// Chooses the runtime for a connection (`None`: the current one). The connection is counted for it until the
    /// returned guard is dropped.
    pub(super) fn assign(&self, stream: &TcpStream) -> (Option<&Handle>, ConnectionCount) {
        let slot = self.choose(|| cpu_affinity::incoming_cpu(stream));
        (slot.and_then(|slot| slot.runtime.as_ref()), ConnectionCount::new(slot))
    }

    fn choose(&self, incoming_cpu: impl FnOnce() -> Option<usize>) -> Option<&Slot> {
        let running = || self.0.iter().filter(|slot| !slot.ended.load(Ordering::Acquire));
        let least_loaded = running().min_by_key(|slot| slot.connections())?;
        if least_loaded.cpu.is_none() {
            return Some(least_loaded);
        }
        let cpu = incoming_cpu();
        let local = running().filter(|slot| slot.cpu == cpu).min_by_key(|slot| slot.connections());
        let limit = least_loaded.connections() * 2 + AFFINITY_SLACK;
        Some(local.filter(|slot| slot.connections() < limit).unwrap_or(least_loaded))
    }
}

/// Counts a connection for a [`Slot`] until it is dropped.
pub(super) struct ConnectionCount(Option<Arc<AtomicUsize>>);

impl ConnectionCount {
    fn new(slot: Option<&Slot>) -> Self {
        let connections = slot.map(|slot| Arc::clone(&slot.connections));
        if let Some(connections) = &connections {
            connections.fetch_add(1, Ordering::Relaxed);
        }
        Self(connections)
    }
}

impl Drop for ConnectionCount {
    fn drop(&mut self) {
        if let Some(connections) = &self.0 {
            connections.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(scheduler: &Scheduler) -> Vec<usize> {
        scheduler.0.iter().map(Slot::connections).collect()
    }

    #[test]
    fn connections_go_to_the_least_loaded_thread() {
        let workers = Workers::builder(2).start().unwrap();
        let scheduler = Scheduler::new(Some(&workers));
        let assign = || ConnectionCount::new(scheduler.choose(|| Some(1)));
        let mut open: Vec<_> = (0..7).map(|_| assign()).collect();
        assert_eq!(connections(&scheduler), [3, 2, 2]);
        drop(open.remove(1));
        assert_eq!(connections(&scheduler), [3, 1, 2]);
        let _another = assign();
        assert_eq!(connections(&scheduler), [3, 2, 2]);
    }

    #[test]
    fn without_workers_the_accepting_task_serves_all_connections() {
        assert!(Scheduler::new(None).choose(|| None).unwrap().runtime.is_none());
    }

    #[test]
    fn pinned_threads_prefer_connections_whose_packets_arrive_on_their_cpu() {
        let slot =
            |cpu| Slot { runtime: None, cpu: Some(cpu), ended: Arc::default(), connections: Arc::default() };
        let scheduler = Scheduler([4, 5].map(slot).into());
        let first: Vec<_> = (0..16).map(|_| ConnectionCount::new(scheduler.choose(|| Some(5)))).collect();
        assert_eq!(connections(&scheduler), [0, 16]);
        let more: Vec<_> = (0..4).map(|_| ConnectionCount::new(scheduler.choose(|| Some(5)))).collect();
        assert_eq!(connections(&scheduler), [2, 18], "unless the thread has far more than others");
        drop((first, more));
        let _unknown_cpu = ConnectionCount::new(scheduler.choose(|| Some(7)));
        assert_eq!(connections(&scheduler), [1, 0]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn pinned_threads_share_the_cpus_and_serve_all_connections() {
        let available = cpu_affinity::available_cpus();
        let workers = Workers::builder(available.len() + 1).pinned(true).start().unwrap();
        let scheduler = Scheduler::new(Some(&workers));
        let cpus: Vec<_> = scheduler.0.iter().map(|slot| slot.cpu).collect();
        let expected = available.iter().chain(available.first()).map(|cpu| Some(*cpu));
        assert_eq!(cpus, expected.collect::<Vec<_>>());
        assert!(scheduler.0.iter().all(|slot| slot.runtime.is_some()));
        assert_eq!(cpu_affinity::available_cpus(), available, "the calling thread is not pinned");
    }

    #[test]
    fn a_thread_that_has_ended_gets_no_connections() {
        let workers = Workers::builder(1).start().unwrap();
        let scheduler = Scheduler::new(Some(&workers));
        let _first = ConnectionCount::new(scheduler.choose(|| None));
        let chooses_acceptor = || scheduler.choose(|| None).unwrap().runtime.is_none();
        assert!(!chooses_acceptor());
        drop(EndedGuard(Arc::clone(&workers.threads.0.first().unwrap().ended)));
        assert!(chooses_acceptor());
    }

    #[tokio::test]
    async fn threads_end_when_the_workers_are_dropped() {
        let workers = Workers::builder(1).start().unwrap();
        let runtime = workers.threads.0.first().unwrap().runtime.clone();
        let name = runtime.spawn(async { std::thread::current().name().map(str::to_owned) }).await.unwrap();
        assert_eq!(name.as_deref(), Some(THREAD_NAME));
        let task = runtime.spawn(std::future::pending::<()>());
        drop(workers);
        assert!(task.await.unwrap_err().is_cancelled());
    }
}
