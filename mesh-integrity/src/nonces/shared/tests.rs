//! Tests of shared nonces over a table in memory. No signature is accepted twice, regardless of what the servers do.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use proptest::prelude::*;

use super::*;

const WINDOW: u64 = 60_000;
const NOW: u64 = 1_700_000_000_000;

/// The state that the servers of a deployment share.
#[derive(Default)]
struct Shared {
    mark: u64,
    rows: HashMap<(SessionId, Box<str>), NonceRow>,
}

/// The table as one server sees it.
#[derive(Clone, Default)]
struct Table {
    shared: Arc<Mutex<Shared>>,
    /// Whether the server considers itself alone, correctly or not.
    is_alone: Arc<AtomicBool>,
    fails: Arc<AtomicBool>,
    drops_work: Arc<AtomicBool>,
    claims: Arc<AtomicUsize>,
    statements: Arc<AtomicUsize>,
    inserted: Arc<AtomicUsize>,
}

impl Table {
    fn alone() -> Self {
        let table = Self::default();
        table.is_alone.store(true, Ordering::SeqCst);
        table
    }

    /// Returns the same table for another server.
    fn for_another(&self, is_alone: bool) -> Self {
        let shared = Arc::clone(&self.shared);
        Self { shared, is_alone: Arc::new(AtomicBool::new(is_alone)), ..Self::default() }
    }

    fn fail(&self) -> Result<(), StoreError> {
        if self.fails.load(Ordering::SeqCst) { Err(StoreError::new("the disk is full")) } else { Ok(()) }
    }

    fn counts(&self) -> (usize, usize, usize) {
        let [claims, statements, inserted] =
            [&self.claims, &self.statements, &self.inserted].map(|count| count.load(Ordering::SeqCst));
        (claims, statements, inserted)
    }
}

impl NonceTable for Table {
    fn mark(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async { self.fail().map(|()| self.shared.lock().mark) })
    }

    fn claim(&self, time: u64, _: u64) -> BoxFuture<'_, Result<Option<Claimed>, StoreError>> {
        Box::pin(async move {
            self.fail()?;
            self.claims.fetch_add(1, Ordering::SeqCst);
            let mut shared = self.shared.lock();
            if !self.is_alone.load(Ordering::SeqCst) || shared.mark >= time {
                return Ok(None);
            }
            let after = std::mem::replace(&mut shared.mark, time);
            let is_claimed = |row: &&NonceRow| row.time > after && row.time <= time;
            Ok(Some(Claimed { after, used: shared.rows.values().filter(is_claimed).cloned().collect() }))
        })
    }

    fn insert(&self, nonces: Vec<NonceRow>, now: u64) -> BoxFuture<'_, Result<Vec<NonceUse>, StoreError>> {
        Box::pin(async move {
            self.fail()?;
            self.statements.fetch_add(1, Ordering::SeqCst);
            self.inserted.fetch_add(nonces.len(), Ordering::SeqCst);
            let mut shared = self.shared.lock();
            let mark = shared.mark;
            let insert = |row: NonceRow| {
                let key = (row.session, row.text.clone());
                if row.time <= mark {
                    NonceUse::Unknown
                } else if shared.rows.get(&key).is_some_and(|row| row.until > now) {
                    NonceUse::Used
                } else {
                    shared.rows.insert(key, row);
                    NonceUse::New
                }
            };
            Ok(nonces.into_iter().map(insert).collect())
        })
    }

    fn spawn(&self, work: BoxFuture<'static, ()>) {
        if !self.drops_work.load(Ordering::SeqCst) {
            thread::spawn(|| block_on(work));
        }
    }
}

/// Runs a future on this thread.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

async fn open(table: &Table) -> SharedNonces {
    SharedNonces::open(table.clone()).await.unwrap().0
}

/// Sends a nonce that was signed at `time` to a server whose clock shows `now`.
async fn send(store: &SharedNonces, text: &str, time: u64, now: u64) -> NonceUse {
    let nonce = Nonce { session: SessionId([1; 16]), text, time, until: time + WINDOW + 1 };
    store.remember(nonce, now).await.unwrap()
}

#[test]
fn a_server_that_is_alone_writes_once_per_second() {
    block_on(async {
        let table = Table::alone();
        let store = open(&table).await;
        for second in 0..5 {
            for number in 0..200 {
                let (time, now) = (NOW + second * 1_000, NOW + second * 1_000 + number);
                let text = format!("{second} {number}");
                assert_eq!(send(&store, &text, time, now).await, NonceUse::New);
                assert_eq!(send(&store, &text, time, now).await, NonceUse::Used);
            }
        }
        assert_eq!(table.counts(), (5, 0, 0));
        assert_eq!(send(&store, "0 7", NOW, NOW + 50_000).await, NonceUse::Used);
        assert_eq!(send(&store, "late", NOW, NOW + 50_000).await, NonceUse::New, "its timestamp is claimed");
    });
}

#[test]
fn nonces_of_servers_that_share_are_inserted_together() {
    block_on(async {
        let table = Table::default();
        let (one, other) = (open(&table).await, open(&table.for_another(false)).await);
        let texts: Vec<String> = (0..500).map(|number| number.to_string()).collect();
        for (store, expected) in [(&one, NonceUse::New), (&other, NonceUse::Used)] {
            let all = texts.iter().map(|text| send(store, text, NOW, NOW));
            let mut all = pin!(futures_util::future::join_all(all));
            // All of them are sent before the table answers the first one.
            let sent = std::future::poll_fn(|cx| {
                let _table = table.shared.lock();
                Poll::Ready(all.as_mut().poll(cx))
            });
            assert_eq!(sent.await, Poll::Pending);
            assert_eq!(all.await, vec![expected; 500]);
        }
        let (claims, statements, inserted) = table.counts();
        assert_eq!((claims, inserted), (1, 500));
        assert!(statements <= 2, "{statements} statements");
        // Two equal nonces of one statement.
        let twice = futures_util::future::join(send(&one, "a", NOW, NOW), send(&one, "a", NOW, NOW)).await;
        assert_eq!(twice, (NonceUse::New, NonceUse::Used));
    });
}

#[test]
fn a_restart_refuses_what_the_earlier_process_may_have_accepted() {
    block_on(async {
        let table = Table::alone();
        let store = open(&table).await;
        assert_eq!(send(&store, "on time", NOW, NOW + 10).await, NonceUse::New);
        assert_eq!(send(&store, "ahead", NOW + 30_000, NOW + 10).await, NonceUse::New);
        drop(store);
        let (again, mark) = SharedNonces::open(table.for_another(true)).await.unwrap();
        assert_eq!(mark, NOW);
        assert_eq!(send(&again, "on time", NOW, NOW + 500).await, NonceUse::Unknown);
        assert_eq!(send(&again, "unused", NOW, NOW + 500).await, NonceUse::Unknown);
        assert_eq!(
            send(&again, "ahead", NOW + 30_000, NOW + 500).await,
            NonceUse::Used,
            "it is in the table"
        );
        assert_eq!(send(&again, "next", NOW + 1_000, NOW + 1_000).await, NonceUse::New);
        assert_eq!(send(&again, "ahead", NOW + 30_000, NOW + 30_000).await, NonceUse::Used, "it is claimed");
    });
}

#[test]
fn a_second_server_takes_part_from_the_next_second_on() {
    block_on(async {
        let table = Table::alone();
        let one = open(&table).await;
        assert_eq!(send(&one, "a", NOW, NOW).await, NonceUse::New);
        table.is_alone.store(false, Ordering::SeqCst);
        let other = open(&table.for_another(false)).await;
        assert_eq!(send(&other, "b", NOW, NOW).await, NonceUse::Unknown);
        assert_eq!(send(&one, "b", NOW, NOW).await, NonceUse::New, "the first one has claimed the second");
        for (text, time) in [("c", NOW + 1_000), ("d", NOW + 2_000)] {
            assert_eq!(send(&other, text, time, time).await, NonceUse::New);
            assert_eq!(send(&one, text, time, time).await, NonceUse::Used);
        }
        // The first one is alone again. It has the nonces of both.
        table.is_alone.store(true, Ordering::SeqCst);
        assert_eq!(send(&one, "e", NOW + 3_000, NOW + 3_000).await, NonceUse::New);
        let (_, statements, _) = table.counts();
        for (text, time) in [("c", NOW + 1_000), ("d", NOW + 2_000)] {
            assert_eq!(send(&one, text, time, NOW + 3_000).await, NonceUse::Used);
        }
        assert_eq!(table.counts().1, statements, "they are in memory");
        // A server that was suspended wrongly considers itself alone.
        let wrong = open(&table.for_another(true)).await;
        assert_eq!(send(&wrong, "f", NOW + 9_000, NOW + 9_000).await, NonceUse::New);
        assert_eq!(send(&one, "f", NOW + 9_000, NOW + 9_000).await, NonceUse::Unknown);
        assert_eq!(send(&one, "g", NOW + 10_000, NOW + 10_000).await, NonceUse::New);
        assert_eq!(send(&one, "f", NOW + 9_000, NOW + 10_000).await, NonceUse::Unknown);
        assert_eq!(send(&wrong, "g", NOW + 10_000, NOW + 10_000).await, NonceUse::Unknown);
    });
}

#[test]
fn a_table_that_fails_accepts_nothing() {
    block_on(async {
        let table = Table::alone();
        let store = open(&table).await;
        table.fails.store(true, Ordering::SeqCst);
        let nonce = Nonce { session: SessionId([1; 16]), text: "a", time: NOW, until: NOW + WINDOW };
        for _ in 0..2 {
            let error = store.remember(nonce, NOW).await.unwrap_err();
            assert!(matches!(error, StoreError::Failed(_)), "{error:?}");
        }
        table.fails.store(false, Ordering::SeqCst);
        assert_eq!(store.remember(nonce, NOW).await.unwrap(), NonceUse::New);
    });
}

/// The runtime of one server thread ends before the runtimes of other threads.
#[test]
fn a_task_that_is_dropped_is_replaced() {
    block_on(async {
        let table = Table::alone();
        let store = open(&table).await;
        table.drops_work.store(true, Ordering::SeqCst);
        assert!(store.0.enqueue(row("lost"), NOW).await.is_err());
        table.drops_work.store(false, Ordering::SeqCst);
        assert_eq!(send(&store, "next", NOW, NOW).await, NonceUse::New);
    });
}

fn row(text: &str) -> NonceRow {
    NonceRow { session: SessionId([1; 16]), text: text.into(), time: NOW, until: NOW + WINDOW }
}

#[derive(Clone, Debug)]
enum Step {
    /// Signs a request with an inaccurate clock, and sends it to a server.
    Sign {
        server: usize,
        skew: i64,
    },
    /// Sends an earlier request to a server.
    Replay {
        server: usize,
        request: usize,
    },
    /// Stops a server and starts another one.
    Restart {
        server: usize,
    },
    /// Makes a server consider itself alone or not, correctly or not.
    Find {
        server: usize,
        is_alone: bool,
    },
    Wait {
        millis: u64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let server = 0..3usize;
    prop_oneof![
        4 => (server.clone(), -59i64..59).prop_map(|(server, skew)| Step::Sign { server, skew }),
        4 => (server.clone(), 0..64usize).prop_map(|(server, request)| Step::Replay { server, request }),
        1 => server.clone().prop_map(|server| Step::Restart { server }),
        1 => (server, any::<bool>()).prop_map(|(server, is_alone)| Step::Find { server, is_alone }),
        2 => (0..3_000u64).prop_map(|millis| Step::Wait { millis }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// The clocks of the servers differ as well.
    #[test]
    fn no_signature_is_accepted_twice(steps in proptest::collection::vec(step(), 1..120), skews in [0..20_000u64, 0..20_000, 0..20_000]) {
        block_on(async {
            let shared = Table::default();
            let mut servers = Vec::new();
            for _ in 0..3 {
                let table = shared.for_another(false);
                servers.push((open(&table).await, table));
            }
            let (mut now, mut requests) = (NOW, Vec::<(String, u64, usize)>::new());
            for step in steps {
                let (server, request) = match step {
                    Step::Sign { server, skew } => {
                        let time = now.checked_add_signed(skew * 1_000).unwrap() / 1_000 * 1_000;
                        requests.push((requests.len().to_string(), time, 0));
                        (server, requests.len() - 1)
                    }
                    Step::Replay { server, request } if !requests.is_empty() => (server, request % requests.len()),
                    Step::Replay { .. } => continue,
                    Step::Restart { server } => {
                        servers[server].0 = open(&servers[server].1).await;
                        continue;
                    }
                    Step::Find { server, is_alone } => {
                        servers[server].1.is_alone.store(is_alone, Ordering::SeqCst);
                        continue;
                    }
                    Step::Wait { millis } => {
                        now += millis;
                        continue;
                    }
                };
                let clock = now + skews[server];
                let (text, time, accepted) = &mut requests[request];
                // The gate makes the same check.
                if time.abs_diff(clock) <= WINDOW && send(&servers[server].0, text, *time, clock).await == NonceUse::New {
                    *accepted += 1;
                    assert_eq!(*accepted, 1, "{text} at {clock} by {server}");
                }
            }
        });
    }
}
