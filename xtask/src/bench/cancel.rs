//! `cargo xtask bench cancel`: how long a cancelled read keeps running in the database.
//!
//! Endless reads are cancelled by a client that disconnects or at their deadline, and deliberately expensive reads at their
//! deadline. The benchmark measures the time until the statement has stopped, and the time until its slot is free for another
//! read. SQLite runs inside the server, so its statement has stopped when the thread of the read has ended.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mesh_tests::{Cluster, Connection, Database, Request, Server, Session};
use serde_json::json;

use super::machine::percentile;

/// Number of cancelled reads of each kind.
const ROUNDS: u32 = 50;
/// The deadline of reads that are cancelled at their deadline.
const DEADLINE: Duration = Duration::from_millis(200);
/// The longest wait for a state.
const PATIENCE: Duration = Duration::from_secs(20);
/// The pause between two checks of a state.
const PAUSE: Duration = Duration::from_micros(200);
/// Number of clients that meanwhile send light requests one after another. These requests take no slot.
const CLIENTS: usize = 4;
/// Targets for the slowest read of each kind without other load.
const STATEMENT_STOPPED_MAX: Duration = Duration::from_millis(100);
const SLOT_FREED_MAX: Duration = Duration::from_millis(200);

/// Whether the kernel groups processes by their sessions. Each process of PostgreSQL has a session of its own.
const AUTOGROUP: &str = "/proc/sys/kernel/sched_autogroup_enabled";

/// Every post has every tag, and each of a million notes has one reply.
const TABLES: &str = "
    CREATE TABLE posts (id integer PRIMARY KEY);
    CREATE TABLE tags (id integer PRIMARY KEY);
    CREATE TABLE post_tags (post_id integer REFERENCES posts, tag_id integer REFERENCES tags, PRIMARY KEY (post_id, tag_id));
    CREATE INDEX post_tags_tag ON post_tags (tag_id);
    CREATE TABLE notes (id integer PRIMARY KEY);
    CREATE TABLE replies (id integer PRIMARY KEY, note_id integer REFERENCES notes);
    INSERT INTO notes WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) SELECT i FROM n;
    INSERT INTO replies SELECT id, id FROM notes;
    INSERT INTO posts SELECT id FROM notes WHERE id <= 200;
    INSERT INTO tags SELECT id FROM posts;
    INSERT INTO post_tags SELECT posts.id, tags.id FROM posts, tags;
    CREATE INDEX replies_note ON replies (note_id);
    ANALYZE;";
const ENDLESS: &str = "CREATE VIEW endless AS WITH RECURSIVE c(i) AS
    (SELECT 1 UNION ALL SELECT i % 1000 + 1 FROM c) SELECT sum(i) AS total FROM c;";

/// How a read is cancelled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cause {
    Disconnect,
    Deadline,
}

/// A read that takes longer than its deadline.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SlowRead {
    /// A view whose recursion never ends.
    Endless,
    /// Nested conditions that visit all combinations of records.
    NestedFilter,
    /// An order of many records by the number of their related records.
    SortedByCount,
}

impl SlowRead {
    fn request(self) -> Request {
        let query = match self {
            Self::Endless => json!({"endless": {"$select": {"total": true}}}),
            Self::NestedFilter => {
                let innermost = json!({"field": "id", "op": "gt", "value": 0});
                let filter = (0..7).rev().fold(innermost, |filter, level| {
                    let relation = if level % 2 == 0 { "tags" } else { "posts" };
                    json!({"relation": relation, "op": "every", "where": filter})
                });
                json!({"post": {"$select": {"id": true}, "$where": filter}})
            }
            Self::SortedByCount => {
                let order =
                    json!([{"relation": "replies", "aggregate": {"fn": "count"}, "direction": "desc"}]);
                json!({"note": {"$select": {"id": true}, "$orderBy": order}})
            }
        };
        Request::post("/mesh", &json!({"query": query.to_string()}).to_string())
    }

    fn name(self) -> &'static str {
        match self {
            Self::Endless => "endless",
            Self::NestedFilter => "7 x every",
            Self::SortedByCount => "by count",
        }
    }
}

impl Cause {
    fn timeout(self) -> Duration {
        match self {
            Self::Disconnect => PATIENCE * 3,
            Self::Deadline => DEADLINE,
        }
    }
}

/// Runs the benchmark. `--no-build` uses the existing server binary.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> Result<bool, String> {
    let program = super::server(root, arguments)?;
    println!(
        "{ROUNDS} reads of each kind are given up; milliseconds until the statement has stopped, and until its slot is free"
    );
    if fs::read_to_string(AUTOGROUP).is_ok_and(|enabled| enabled.trim() == "1") {
        println!("{AUTOGROUP} is 1: beside requests, new processes of PostgreSQL may wait for seconds");
    }
    println!(
        "  {:<11} {:<11} {:<11} {:<12} {:>7} {:>7} {:>7}   {:>7} {:>7} {:>7}",
        "database", "read", "by", "beside", "p50", "p99", "slowest", "p50", "p99", "slowest"
    );
    let mut fine = true;
    let cluster = Cluster::start();
    if let Some(cluster) = &cluster {
        cluster.execute(&format!("{TABLES}{ENDLESS}"));
    }
    let reads = [
        (SlowRead::Endless, Cause::Disconnect),
        (SlowRead::Endless, Cause::Deadline),
        (SlowRead::NestedFilter, Cause::Deadline),
        (SlowRead::SortedByCount, Cause::Deadline),
    ];
    let database = Database::new(&format!("{TABLES}{ENDLESS}"));
    for busy in [false, true] {
        for (slow, cause) in reads {
            let server = start(&program, &database.url(), cause)?;
            let threads = format!("/proc/{}/task", server.process());
            let mut sqlite = MeasuredServer {
                name: "SQLite",
                slow,
                server,
                is_running: Box::new(move || runs_slow_read(&threads)),
            };
            fine &= sqlite.measure(cause, busy)?;
        }
        let Some(cluster) = &cluster else { continue };
        for (slow, cause) in reads {
            let server = start(&program, &cluster.url(), cause)?;
            let mut session = cluster.session();
            let is_running = Box::new(move || is_active(&mut session));
            let mut postgres = MeasuredServer { name: "PostgreSQL", slow, server, is_running };
            fine &= postgres.measure(cause, busy)?;
        }
    }
    println!("{}", if fine { "all targets were met" } else { "a target was missed" });
    Ok(fine)
}

fn start(program: &Path, url: &str, cause: Cause) -> Result<Server, String> {
    let mut command = Command::new(program);
    command.args(["serve", "--listen", "127.0.0.1:0", "--log", "off", "--database", url]);
    command.env("MESH_REQUEST_TIMEOUT", format!("{}ms", cause.timeout().as_millis()));
    command.env("MESH_LIMITS__RELATED_SORT_ROWS", "1000000000000");
    command.env("MESH_LIMITS__DATABASE_CONNECTIONS", "1").stdin(Stdio::null()).stderr(Stdio::inherit());
    Server::try_spawn(&mut command, None)
}

/// Whether a process has a thread that runs a slow read.
fn runs_slow_read(threads: &str) -> bool {
    let Ok(threads) = fs::read_dir(threads) else { return false };
    let mut names =
        threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("comm")).ok());
    names.any(|name| name.starts_with("mesh slow read"))
}

/// Whether PostgreSQL runs a statement of the server.
fn is_active(session: &mut Session) -> bool {
    let active =
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND application_name = 'mesh-server'";
    session.query(active) != "0"
}

/// A server, and a function that checks whether its database runs the read.
struct MeasuredServer {
    name: &'static str,
    slow: SlowRead,
    server: Server,
    is_running: Box<dyn FnMut() -> bool>,
}

impl MeasuredServer {
    /// Cancels reads, prints the times, and returns whether the targets were met. The targets only apply without other load.
    fn measure(&mut self, cause: Cause, busy: bool) -> Result<bool, String> {
        let (name, slow) = (self.name, self.slow.name());
        if let Some(took) = self.answered_in_time() {
            println!("  {name:<11} {slow:<11} answered before its deadline, in {} ms", took.as_millis());
            return Ok(true);
        }
        let address = self.server.address;
        let done = Arc::new(AtomicBool::new(false));
        let clients: Vec<_> = (0..if busy { CLIENTS } else { 0 })
            .map(|_| {
                let done = Arc::clone(&done);
                std::thread::spawn(move || {
                    let light =
                        Request::get("/mesh/unknown", r#"{"unknown":{"$select":{"id":true}}}"#).bytes();
                    let mut connection = Connection::connect(address);
                    while !done.load(Ordering::Relaxed) {
                        connection.write(&light);
                        let _ = connection.read(false);
                    }
                })
            })
            .collect();
        let times = self.cancel_all(cause);
        done.store(true, Ordering::Relaxed);
        for client in clients {
            client.join().map_err(|_| "a client of light requests failed")?;
        }
        let (mut stopped, mut returned): (Vec<_>, Vec<_>) = times?.into_iter().unzip();
        stopped.sort();
        returned.sort();
        let by = if cause == Cause::Disconnect { "disconnect" } else { "deadline" };
        print!("  {name:<11} {slow:<11} {by:<11} {:<12}", if busy { "requests" } else { "nothing" });
        for times in [&stopped, &returned] {
            for part in [50, 99, 100] {
                print!(" {:>7.1}", percentile(times, part).as_secs_f64() * 1e3);
            }
            print!("  ");
        }
        println!();
        Ok(busy
            || percentile(&stopped, 100) <= STATEMENT_STOPPED_MAX
                && percentile(&returned, 100) <= SLOT_FREED_MAX)
    }

    /// Returns the time that a read takes; `None` unless the database answers it before its deadline, as PostgreSQL does with nested
    /// conditions.
    fn answered_in_time(&self) -> Option<Duration> {
        if self.slow == SlowRead::Endless {
            return None;
        }
        let begun = Instant::now();
        let reply = self.server.connect().send(&self.slow.request());
        (reply.status == 200).then(|| begun.elapsed())
    }

    fn cancel_all(&mut self, cause: Cause) -> Result<Vec<(Duration, Duration)>, String> {
        let mut times = Vec::new();
        // On a busy machine a read may reach its deadline before it begins.
        for round in 0..3 * ROUNDS {
            times.extend(self.cancel(cause, round)?);
            if times.len() >= ROUNDS as usize {
                return Ok(times);
            }
        }
        Err(format!("{}: most reads do not begin before their deadline", self.name))
    }

    /// Starts a read and cancels it; returns the times until its statement has stopped and until its slot is free, or `None`
    /// if the read did not begin before its deadline.
    fn cancel(&mut self, cause: Cause, round: u32) -> Result<Option<(Duration, Duration)>, String> {
        let mut connection = self.server.connect();
        let begun = Instant::now();
        connection.write(&self.slow.request().bytes());
        while !(self.is_running)() {
            if begun.elapsed() > cause.timeout() {
                return match connection.read(false) {
                    Some(reply) if reply.status == 500 => Ok(None),
                    Some(reply) => Err(format!("{}: a slow read was answered: {reply:?}", self.name)),
                    None => Err(format!("{}: a read is not answered", self.name)),
                };
            }
            std::thread::sleep(PAUSE);
        }
        let mut connection = Some(connection);
        let start = match cause {
            Cause::Disconnect => {
                // Cancel the read at a different point of its execution in each round.
                std::thread::sleep(Duration::from_millis(u64::from(round % 25)));
                let start = Instant::now();
                drop(connection.take());
                start
            }
            Cause::Deadline => {
                std::thread::sleep(DEADLINE.saturating_sub(begun.elapsed()));
                begun + DEADLINE
            }
        };
        let (mut stopped, mut returned) = (None, None);
        let mut figures = self.server.connect();
        loop {
            if stopped.is_none() && !(self.is_running)() {
                stopped = Some(start.elapsed());
            }
            if returned.is_none() && all_slots_are_free(&mut figures)? {
                returned = Some(start.elapsed());
            }
            if let (Some(stopped), Some(returned)) = (stopped, returned) {
                return match connection.map(|mut connection| connection.read(false)) {
                    Some(Some(reply)) if reply.status == 500 => Ok(Some((stopped, returned))),
                    Some(reply) => Err(format!("a slow read was answered: {reply:?}")),
                    None => Ok(Some((stopped, returned))),
                };
            }
            if start.elapsed() > PATIENCE {
                return Err(format!("{}: a read does not end", self.name));
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// Whether all slots are free, according to the server's metrics.
fn all_slots_are_free(connection: &mut Connection) -> Result<bool, String> {
    let text = connection.send(&Request::new("GET", "/metrics")).text();
    let slots = |state: &str| {
        let line = format!("mesh_pool_slots{{state=\"{state}\"}} ");
        text.lines().find_map(|it| it.strip_prefix(&line)?.trim().parse::<f64>().ok())
    };
    match (slots("free"), slots("all")) {
        (Some(free), Some(all)) => Ok(free >= all),
        _ => Err("the metrics have no slots".to_owned()),
    }
}
