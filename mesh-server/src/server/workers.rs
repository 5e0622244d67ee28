//! Which thread serves a connection? The one that serves the fewest, for as long as the connection lasts.
//!
//! A runtime whose threads take work from one another pays for that with every request: tasks wander between
//! processors, and threads wake each other to share what comes. Requests over one connection come one after the other, so
//! there is nothing in it to share.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// Threads that serve connections, each by a runtime of its own, for [`Server::workers`](crate::Server::workers). They end
/// with the last clone.
#[derive(Clone, Debug)]
pub struct Workers {
    threads: Arc<[Thread]>,
}

impl Workers {
    /// Starts so many threads.
    ///
    /// # Errors
    /// When the system has no more threads, or no more of what a runtime needs.
    pub fn start(count: usize) -> io::Result<Self> {
        Ok(Self { threads: (0..count).map(|_| Thread::start()).collect::<io::Result<_>>()? })
    }
}

/// One thread.
#[derive(Debug)]
struct Thread {
    runtime: Handle,
    /// The thread ends when this is dropped.
    stop: Option<oneshot::Sender<()>>,
    joined: Option<JoinHandle<()>>,
}

impl Thread {
    fn start() -> io::Result<Self> {
        let mut builder = Builder::new_current_thread();
        builder.enable_all();
        #[cfg(feature = "sqlite")]
        builder.on_thread_park(crate::backend::sqlite::before_park);
        let runtime = builder.build()?;
        let (handle, (stop, stopped)) = (runtime.handle().clone(), oneshot::channel());
        let thread = std::thread::Builder::new().name("mesh".to_owned());
        let joined = thread.spawn(move || {
            // Nobody sends anything.
            let _ = runtime.block_on(stopped);
        })?;
        Ok(Self { runtime: handle, stop: Some(stop), joined: Some(joined) })
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        drop(self.stop.take());
        let own = std::thread::current().id();
        if let Some(joined) = self.joined.take().filter(|joined| joined.thread().id() != own) {
            let _ = joined.join();
        }
    }
}

/// The runtimes of one server, with the number of their connections. The first is the one that accepts them.
pub(super) struct Places(Vec<(Handle, Arc<AtomicUsize>)>);

impl Places {
    /// The runtime of this task, and those of the workers.
    pub(super) fn of(workers: Option<&Workers>) -> Self {
        let others = workers.iter().flat_map(|workers| workers.threads.iter());
        let all = std::iter::once(Handle::current()).chain(others.map(|thread| thread.runtime.clone()));
        Self(all.map(|runtime| (runtime, Arc::default())).collect())
    }

    /// Where the next connection is served, unless that is here.
    pub(super) fn next(&self) -> (Option<&Handle>, Taken) {
        let fewest = self.0.iter().enumerate().min_by_key(|(_, (_, open))| open.load(Ordering::Relaxed));
        let Some((place, (runtime, open))) = fewest else { return (None, Taken(Arc::default())) };
        open.fetch_add(1, Ordering::Relaxed);
        ((place > 0).then_some(runtime), Taken(Arc::clone(open)))
    }
}

/// The place that a connection has, until it is dropped.
pub(super) struct Taken(Arc<AtomicUsize>);

impl Drop for Taken {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn connections_go_where_the_fewest_are() {
        let workers = Workers::start(2).unwrap();
        let places = Places::of(Some(&workers));
        let open = || -> Vec<usize> { places.0.iter().map(|(_, open)| open.load(Ordering::Relaxed)).collect() };
        let mut taken: Vec<_> = (0..7).map(|_| places.next().1).collect();
        assert_eq!(open(), [3, 2, 2]);
        drop(taken.remove(1));
        assert_eq!(open(), [3, 1, 2]);
        let (runtime, _taken) = places.next();
        assert_eq!(runtime.map(Handle::id), workers.threads.first().map(|thread| thread.runtime.id()));
    }

    #[tokio::test]
    async fn alone_it_serves_all_by_itself() {
        let places = Places::of(None);
        let both = [places.next(), places.next()];
        assert!(both.iter().all(|(runtime, _)| runtime.is_none()));
    }

    #[tokio::test]
    async fn its_threads_end_with_it() {
        let workers = Workers::start(1).unwrap();
        let runtime = workers.threads.first().unwrap().runtime.clone();
        let name = runtime.spawn(async { std::thread::current().name().map(str::to_owned) }).await.unwrap();
        assert_eq!(name.as_deref(), Some("mesh"));
        let left = runtime.spawn(std::future::pending::<()>());
        drop(workers);
        assert!(left.await.unwrap_err().is_cancelled());
    }
}
