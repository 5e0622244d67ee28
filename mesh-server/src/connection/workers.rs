//! Which thread serves a connection? One of those that serve the fewest, for as long as the connection lasts.
//!
//! A runtime whose threads take work from one another pays for that with every request: tasks wander between
//! processors, and threads wake each other to share what comes. Requests over one connection of HTTP/1.1 come one after the
//! other, so there is nothing in it to share. Those over one of HTTP/2 share a thread too, but for what leaves it anyway.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use tokio::net::TcpStream;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use super::cpu_affinity;

/// Threads in all that may do what blocks, as many as a runtime has.
const BLOCKING: usize = 512;
/// How many more connections than twice the fewest a thread may have that is preferred for its processor.
const SLACK: usize = 8;

/// Threads that serve connections, each by a runtime of its own, for [`Server::workers`](crate::Server::workers).
///
/// They end with the last clone, which waits for what is still being done on threads that may block. Whatever was spawned
/// by a request ends with them as well, so let them live as long as what they serve. Handlers cannot call
/// `tokio::task::block_in_place`, which needs a runtime of several threads.
#[derive(Clone, Debug)]
pub struct Workers {
    threads: Arc<Threads>,
}

impl Workers {
    /// Configures a number of threads.
    pub fn builder(count: usize) -> WorkersBuilder {
        WorkersBuilder { count, pinned: false, on_park: None }
    }
}

/// Configures [`Workers`].
#[must_use]
pub struct WorkersBuilder {
    count: usize,
    pinned: bool,
    on_park: Option<OnPark>,
}

/// Runs on a thread before it waits for events.
type OnPark = Arc<dyn Fn() + Send + Sync>;

impl WorkersBuilder {
    /// Keeps each thread on one of the processors that the calling thread may run on (on Linux).
    ///
    /// Threads that are not pinned share the connections with the task that accepts them. Pinned threads serve all
    /// connections; each prefers those whose packets arrive on its processor, unless it has far more connections
    /// than the others. Use this only on machines that run nothing else.
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
        let blocking = (BLOCKING / self.count.max(1)).max(16);
        let processors = if self.pinned { cpu_affinity::all() } else { Vec::new() };
        let threads = (0..self.count).map(|number| {
            let processor = processors.get(number % processors.len().max(1)).copied();
            let pin = self.pinned.then_some(Pin { processor });
            Thread::start(pin, blocking, self.on_park.clone())
        });
        Ok(Workers { threads: Arc::new(Threads(threads.collect::<io::Result<_>>()?)) })
    }
}

#[derive(Debug)]
struct Threads(Vec<Thread>);

impl Drop for Threads {
    fn drop(&mut self) {
        // All are told before one is waited for.
        self.0.iter_mut().for_each(|thread| drop(thread.stop.take()));
        let own = std::thread::current().id();
        for thread in &mut self.0 {
            if let Some(joined) = thread.joined.take().filter(|joined| joined.thread().id() != own) {
                let _ = joined.join();
            }
        }
    }
}

const NAME: &str = "mesh";

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
    ended: Arc<AtomicBool>,
    /// The thread ends when this is dropped.
    stop: Option<oneshot::Sender<()>>,
    joined: Option<JoinHandle<()>>,
}

impl Thread {
    fn start(pin: Option<Pin>, blocking: usize, on_park: Option<OnPark>) -> io::Result<Self> {
        let mut builder = Builder::new_current_thread();
        // The threads that it starts are for what may block.
        builder
            .enable_all()
            .thread_name(NAME)
            .max_blocking_threads(blocking)
            .on_thread_start(cpu_affinity::wander);
        if let Some(hook) = on_park {
            builder.on_thread_park(move || hook());
        }
        let runtime = builder.build()?;
        let (handle, (stop, stopped)) = (runtime.handle().clone(), oneshot::channel());
        let ended = Arc::new(AtomicBool::new(false));
        let end = End(Arc::clone(&ended));
        let thread = std::thread::Builder::new().name(NAME.to_owned());
        let joined = thread.spawn(move || {
            let _end = end;
            if let Some(Pin { processor: Some(number) }) = pin {
                cpu_affinity::stay_on(number);
            }
            // Nobody sends anything.
            let _ = runtime.block_on(stopped);
        })?;
        Ok(Self { runtime: handle, pin, ended, stop: Some(stop), joined: Some(joined) })
    }
}

/// Notes that a thread has ended, in whatever way, for its runtime takes nothing more.
struct End(Arc<AtomicBool>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
        if std::thread::panicking() {
            tracing::error!("a thread that served connections has ended; the others go on");
        }
    }
}

/// Where the connections of one server are served.
pub(super) struct Places(Vec<Place>);

struct Place {
    /// `None` is where they are accepted.
    runtime: Option<Handle>,
    processor: Option<usize>,
    ended: Arc<AtomicBool>,
    open: Arc<AtomicUsize>,
}

impl Place {
    fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }
}

impl Places {
    /// The threads of the workers and, unless those have processors of their own, the task that accepts.
    pub(super) fn of(workers: Option<&Workers>) -> Self {
        let threads = || workers.iter().flat_map(|workers| &workers.threads.0);
        let here = Place { runtime: None, processor: None, ended: Arc::default(), open: Arc::default() };
        let here = (!threads().any(|thread| thread.pin.is_some())).then_some(here);
        let there = threads().map(|thread| Place {
            runtime: Some(thread.runtime.clone()),
            processor: thread.pin.and_then(|pin| pin.processor),
            ended: Arc::clone(&thread.ended),
            open: Arc::default(),
        });
        Self(here.into_iter().chain(there).collect())
    }

    /// Where the next connection is served (`None`: here), and its share in that.
    pub(super) fn next(&self, stream: &TcpStream) -> (Option<&Handle>, Share) {
        let wanted = || cpu_affinity::of_packets(stream);
        let place = self.choose(wanted);
        (place.and_then(|place| place.runtime.as_ref()), Share::of(place))
    }

    /// `wanted` tells the processor whose thread is preferred.
    fn choose(&self, wanted: impl FnOnce() -> Option<usize>) -> Option<&Place> {
        let places = || self.0.iter().filter(|place| !place.ended.load(Ordering::Acquire));
        let fewest = places().min_by_key(|place| place.open())?;
        if fewest.processor.is_none() {
            return Some(fewest);
        }
        let wanted = wanted();
        let near = places().filter(|place| place.processor == wanted).min_by_key(|place| place.open());
        Some(near.filter(|place| place.open() < fewest.open() * 2 + SLACK).unwrap_or(fewest))
    }
}

/// A connection's share in its thread, until it is dropped.
pub(super) struct Share(Option<Arc<AtomicUsize>>);

impl Share {
    fn of(place: Option<&Place>) -> Self {
        let open = place.map(|place| Arc::clone(&place.open));
        if let Some(open) = &open {
            open.fetch_add(1, Ordering::Relaxed);
        }
        Self(open)
    }
}

impl Drop for Share {
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
        places.0.iter().map(Place::open).collect()
    }

    #[test]
    fn connections_go_where_the_fewest_are() {
        let workers = Workers::builder(2).start().unwrap();
        let places = Places::of(Some(&workers));
        let next = || Share::of(places.choose(|| Some(1)));
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
        let place = |processor| Place {
            runtime: None,
            processor: Some(processor),
            ended: Arc::default(),
            open: Arc::default(),
        };
        let places = Places([4, 5].map(place).into());
        let taken: Vec<_> = (0..5).map(|_| Share::of(places.choose(|| Some(5)))).collect();
        assert_eq!(open(&places), [0, 5]);
        let more: Vec<_> = (0..7).map(|_| Share::of(places.choose(|| Some(5)))).collect();
        assert_eq!(open(&places), [2, 10], "not if it has far more than others");
        drop((taken, more));
        let _elsewhere = Share::of(places.choose(|| Some(7)));
        assert_eq!(open(&places), [1, 0]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn pinned_threads_have_a_processor_each_and_all_connections() {
        let all = cpu_affinity::all();
        let workers = Workers::builder(all.len() + 1).pinned(true).start().unwrap();
        let places = Places::of(Some(&workers));
        let placed: Vec<_> = places.0.iter().map(|place| place.processor).collect();
        let expected = all.iter().chain(all.first()).map(|number| Some(*number));
        assert_eq!(placed, expected.collect::<Vec<_>>());
        assert!(places.0.iter().all(|place| place.runtime.is_some()));
        assert_eq!(cpu_affinity::all(), all, "this thread wanders on");
    }

    #[test]
    fn a_thread_that_fell_is_given_nothing() {
        let workers = Workers::builder(1).start().unwrap();
        let places = Places::of(Some(&workers));
        let here = Share::of(places.choose(|| None));
        let fallen = || places.choose(|| None).unwrap().runtime.is_none();
        assert!(!fallen());
        let ended = Arc::clone(&workers.threads.0.first().unwrap().ended);
        drop(End(ended));
        assert!(fallen());
        drop(here);
    }

    #[tokio::test]
    async fn its_threads_end_with_it() {
        let workers = Workers::builder(1).start().unwrap();
        let runtime = workers.threads.0.first().unwrap().runtime.clone();
        let name = runtime.spawn(async { std::thread::current().name().map(str::to_owned) }).await.unwrap();
        assert_eq!(name.as_deref(), Some("mesh"));
        let left = runtime.spawn(std::future::pending::<()>());
        drop(workers);
        assert!(left.await.unwrap_err().is_cancelled());
    }
}
