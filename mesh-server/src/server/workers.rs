//! Which thread serves a connection? One of those that serve the fewest, for as long as the connection lasts.
//!
//! A runtime whose threads take work from one another pays for that with every request: tasks wander between
//! processors, and threads wake each other to share what comes. Requests over one connection come one after the other, so
//! there is nothing in it to share.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use tokio::net::TcpStream;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::processors;

/// How many more connections than twice the fewest a thread may have that is preferred for its processor.
const SLACK: usize = 8;

/// Threads that serve connections, each by a runtime of its own, for [`Server::workers`](crate::Server::workers). They end
/// with the last clone.
#[derive(Clone, Debug)]
pub struct Workers {
    threads: Arc<[Thread]>,
}

impl Workers {
    /// Starts so many threads. They share the connections with the task that accepts them.
    ///
    /// # Errors
    /// When the system has no more threads, or no more of what a runtime needs.
    pub fn start(count: usize) -> io::Result<Self> {
        Ok(Self { threads: (0..count).map(|_| Thread::start(None)).collect::<io::Result<_>>()? })
    }

    /// Starts so many threads, each of which stays on one of the processors that this thread may run on (on Linux). They
    /// leave none of the connections to the task that accepts them, and each serves those whose packets come in on its
    /// processor, unless it has far more of them than others. That is for machines that do nothing else: a thread
    /// cannot give way to another program.
    ///
    /// # Errors
    /// As [`Workers::start`].
    pub fn pinned(count: usize) -> io::Result<Self> {
        let all = processors::all();
        let places = (0..count).map(|number| all.get(number % all.len().max(1)).copied());
        let threads = places.map(|processor| Thread::start(Some(Pin { processor })));
        Ok(Self { threads: threads.collect::<io::Result<_>>()? })
    }
}

/// That a thread stays where it is: on a processor, if they can be told apart.
#[derive(Clone, Copy, Debug)]
struct Pin {
    processor: Option<usize>,
}

/// One thread.
#[derive(Debug)]
struct Thread {
    runtime: Handle,
    pin: Option<Pin>,
    /// The thread ends when this is dropped.
    stop: Option<oneshot::Sender<()>>,
    joined: Option<JoinHandle<()>>,
}

impl Thread {
    fn start(pin: Option<Pin>) -> io::Result<Self> {
        let mut builder = Builder::new_current_thread();
        // The threads that it starts are for what may block.
        builder.enable_all().on_thread_start(processors::wander);
        #[cfg(feature = "sqlite")]
        builder.on_thread_park(crate::backend::sqlite::before_park);
        let runtime = builder.build()?;
        let (handle, (stop, stopped)) = (runtime.handle().clone(), oneshot::channel());
        let thread = std::thread::Builder::new().name("mesh".to_owned());
        let joined = thread.spawn(move || {
            if let Some(Pin { processor: Some(number) }) = pin {
                processors::stay_on(number);
            }
            // Nobody sends anything.
            let _ = runtime.block_on(stopped);
        })?;
        Ok(Self { runtime: handle, pin, stop: Some(stop), joined: Some(joined) })
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

/// Where the connections of one server are served.
pub(super) struct Places(Vec<Place>);

struct Place {
    /// `None` is where they are accepted.
    runtime: Option<Handle>,
    processor: Option<usize>,
    open: Arc<AtomicUsize>,
}

impl Places {
    /// The threads of the workers and, unless those have processors of their own, the task that accepts.
    pub(super) fn of(workers: Option<&Workers>) -> Self {
        let threads = || workers.iter().flat_map(|workers| workers.threads.iter());
        let here = Place { runtime: None, processor: None, open: Arc::default() };
        let here = (!threads().any(|thread| thread.pin.is_some())).then_some(here);
        let there = threads().map(|thread| Place {
            runtime: Some(thread.runtime.clone()),
            processor: thread.pin.and_then(|pin| pin.processor),
            open: Arc::default(),
        });
        Self(here.into_iter().chain(there).collect())
    }

    /// Where the next connection is served (`None`: here), and its part in that.
    pub(super) fn next(&self, stream: &TcpStream) -> (Option<&Handle>, Taken) {
        let wanted = || processors::of_packets(stream);
        let place = self.choose(wanted);
        (place.and_then(|place| place.runtime.as_ref()), Taken::of(place))
    }

    /// `wanted` tells the processor whose thread is preferred.
    fn choose(&self, wanted: impl FnOnce() -> Option<usize>) -> Option<&Place> {
        let fewest = self.0.iter().min_by_key(|place| place.open.load(Ordering::Relaxed))?;
        if fewest.processor.is_none() {
            return Some(fewest);
        }
        let wanted = wanted();
        let most = fewest.open.load(Ordering::Relaxed) * 2 + SLACK;
        let near = self.0.iter().find(|place| place.processor == wanted);
        Some(near.filter(|place| place.open.load(Ordering::Relaxed) < most).unwrap_or(fewest))
    }
}

/// A connection's part in its thread, until it is dropped.
pub(super) struct Taken(Option<Arc<AtomicUsize>>);

impl Taken {
    fn of(place: Option<&Place>) -> Self {
        let open = place.map(|place| Arc::clone(&place.open));
        if let Some(open) = &open {
            open.fetch_add(1, Ordering::Relaxed);
        }
        Self(open)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if let Some(open) = &self.0 {
            open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(places: &Places) -> Vec<usize> {
        places.0.iter().map(|place| place.open.load(Ordering::Relaxed)).collect()
    }

    #[test]
    fn connections_go_where_the_fewest_are() {
        let workers = Workers::start(2).unwrap();
        let places = Places::of(Some(&workers));
        let next = || Taken::of(places.choose(|| Some(1)));
        let mut taken: Vec<_> = (0..7).map(|_| next()).collect();
        assert_eq!(open(&places), [3, 2, 2]);
        drop(taken.remove(1));
        assert_eq!(open(&places), [3, 1, 2]);
        let _taken = next();
        assert_eq!(open(&places), [3, 2, 2]);
        assert!(Places::of(None).choose(|| None).unwrap().runtime.is_none(), "alone it serves all by itself");
    }

    #[test]
    fn a_connection_is_served_where_its_packets_come_in() {
        let place = |processor| Place { runtime: None, processor: Some(processor), open: Arc::default() };
        let places = Places([4, 5].map(place).into());
        let taken: Vec<_> = (0..5).map(|_| Taken::of(places.choose(|| Some(5)))).collect();
        assert_eq!(open(&places), [0, 5]);
        let more: Vec<_> = (0..7).map(|_| Taken::of(places.choose(|| Some(5)))).collect();
        assert_eq!(open(&places), [2, 10], "not if it has far more than others");
        drop((taken, more));
        let _elsewhere = Taken::of(places.choose(|| Some(7)));
        assert_eq!(open(&places), [1, 0]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn pinned_threads_have_a_processor_each_and_all_connections() {
        let all = processors::all();
        let workers = Workers::pinned(all.len() + 1).unwrap();
        let places = Places::of(Some(&workers));
        let placed: Vec<_> = places.0.iter().map(|place| place.processor).collect();
        let expected = all.iter().chain(all.first()).map(|number| Some(*number));
        assert_eq!(placed, expected.collect::<Vec<_>>());
        assert!(places.0.iter().all(|place| place.runtime.is_some()));
        assert_eq!(processors::all(), all, "this thread wanders on");
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
