//! Streams of many lists over a large table: latency of a change, and the cost of many changes.

use std::io::{ErrorKind, Read as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use mesh_tests::{Database, Request};

use super::{EventFixture, LATENCY_MAX, ROUNDS, Streams, WATCHERS, millis, wait_for_all};
use crate::bench::machine::{mebibytes, memory, percentile};

/// The number of different lists.
const LISTS: usize = 50;
/// The number of records.
const POSTS: u32 = 100_000;
/// How long records are changed one after another, and the pause between two changes.
const LOAD_DURATION: Duration = Duration::from_secs(10);
const WRITE_INTERVAL: Duration = Duration::from_millis(10);

const SCHEMA: &str = r#"{
    "entities": {
        "post": {"fields": ["id", "title", "likes", "authorId"], "columns": {"authorId": "author_id"}, "writable": true},
        "user": {"fields": ["id", "name"]}
    },
    "joins": {"post.author": {"entity": "user", "type": "one", "on": "users.id = posts.author_id"}}
}"#;

/// Returns the query of a list: the newest posts of an author.
fn query(author: usize) -> String {
    format!(
        r#"{{"post":{{"$select":{{"id":true,"title":true,"author":{{"$select":{{"name":true}}}}}},"$where":{{"field":"authorId","op":"eq","value":{author}}},"$orderBy":[{{"field":"id","direction":"desc"}}],"$page":{{"first":20}}}}}}"#
    )
}

fn database() -> Result<Database, String> {
    let database = Database::blog();
    let statement = format!(
        "WITH RECURSIVE n (i) AS (SELECT 5 UNION ALL SELECT i + 1 FROM n WHERE i < {LISTS})
         INSERT INTO users (id, name) SELECT i, 'User ' || i FROM n;
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {POSTS})
         INSERT INTO posts (id, title, author_id) SELECT 100 + i, 'Post ' || i, 1 + i % {LISTS} FROM n;
         CREATE INDEX posts_of_author ON posts (author_id, id);"
    );
    database.connect().execute_batch(&statement).map_err(|error| error.to_string())?;
    Ok(database)
}

/// Opens the streams and measures them.
pub(super) fn measure(program: &Path) -> Result<bool, String> {
    let fixture = EventFixture::serve(program, database()?, SCHEMA)?;
    let mut lists = Vec::new();
    for author in 1..=LISTS {
        let request =
            Request::get("/mesh/post", &query(author)).header("Accept", "text/event-stream").bytes();
        let mut streams = Streams::default();
        streams.open(fixture.server.address, &request, WATCHERS / LISTS)?;
        lists.push(streams.0);
    }
    println!(
        "{WATCHERS} streams of {LISTS} lists of {POSTS} records, {ROUNDS} changes each way, milliseconds until a stream has it"
    );
    println!("  {:<34} {:>8} {:>8} {:>8}  readings", "written by", "p50", "p99", "slowest");
    let mut fine = true;
    // The newest post of author 1, and of every author.
    let newest = 100 + u64::from(POSTS);
    let one = format!("id = {newest}");
    let all = format!("id > {}", newest - LISTS as u64);
    for (by, condition, is_one) in
        [("another process, in one list", one, true), ("another process, in all lists", all, false)]
    {
        fine &= measure_latency(&fixture, &mut lists, by, is_one, |title| {
            fixture.execute(&format!("UPDATE posts SET title = '{title}' WHERE {condition}"))
        })?;
    }
    fine &= measure_latency(&fixture, &mut lists, "the server itself, in one list", true, |title| {
        put(&fixture, newest, title)
    })?;
    fine &= measure_under_load(&fixture, &mut lists, newest)?;
    let resident = memory(fixture.server.process(), "VmRSS")?;
    println!("memory with these streams: {:.1} MiB", mebibytes(resident));
    Ok(fine)
}

fn put(fixture: &EventFixture, id: u64, title: &str) -> Result<(), String> {
    let put = Request::new("PUT", &format!("/mesh/post/{id}")).header("Content-Type", "application/json");
    let reply = fixture.server.send(&put.body(format!("{{\"title\":\"{title}\"}}")));
    if reply.status == 200 { Ok(()) } else { Err(format!("the write failed: {}", reply.text())) }
}

/// Returns the streams of the first list or of all lists.
fn streams(lists: &mut [Vec<TcpStream>], is_one: bool) -> impl Iterator<Item = &mut TcpStream> {
    lists.iter_mut().take(if is_one { 1 } else { LISTS }).flatten()
}

fn measure_latency(
    fixture: &EventFixture,
    lists: &mut [Vec<TcpStream>],
    by: &str,
    is_one: bool,
    write: impl Fn(&str) -> Result<(), String>,
) -> Result<bool, String> {
    let (mut times, before) = (Vec::new(), fixture.count_reads());
    for round in 0..ROUNDS {
        let title = format!("{by}, round {round}.");
        let start = Instant::now();
        write(&title)?;
        times.extend(wait_for_all(streams(lists, is_one), &title, start)?);
        // Wait until all effects of the write are over.
        std::thread::sleep(Duration::from_millis(500));
    }
    times.sort();
    let [middle, late, last] = [50, 99, 100].map(|part| percentile(&times, part));
    let readings = fixture.count_reads() - before;
    println!("  {by:<34} {:>8.1} {:>8.1} {:>8.1}  {readings}", millis(middle), millis(late), millis(last));
    Ok(late < LATENCY_MAX)
}

/// Reads everything that has arrived, like clients that keep up.
fn drain<'s>(streams: impl Iterator<Item = &'s mut TcpStream>) -> Result<(), String> {
    let mut bytes = [0; 65_536];
    for stream in streams {
        loop {
            match stream.read(&mut bytes) {
                Ok(0) => return Err("a stream ended".to_owned()),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error.to_string()),
            }
        }
    }
    Ok(())
}

/// Changes the first list continuously, and then measures the latency of the last change.
fn measure_under_load(fixture: &EventFixture, lists: &mut [Vec<TcpStream>], id: u64) -> Result<bool, String> {
    let (start, cpu, before) = (Instant::now(), fixture.server.cpu_time(), fixture.count_reads());
    let mut changes = 0;
    while start.elapsed() < LOAD_DURATION {
        put(fixture, id, &format!("Busy {changes}"))?;
        changes += 1;
        drain(streams(lists, true))?;
        std::thread::sleep(WRITE_INTERVAL);
    }
    let last = Instant::now();
    put(fixture, id, "The last change")?;
    let mut times = wait_for_all(streams(lists, true), "The last change", last)?;
    let (took, cpu) = (start.elapsed().as_secs_f64(), fixture.server.cpu_time() - cpu);
    times.sort();
    let late = percentile(&times, 99);
    println!(
        "{changes} changes of one list in {took:.1} s: {} readings of {LISTS} lists, {:.0} % of a processor, the last change in {:.1} ms (p99)",
        fixture.count_reads() - before,
        100.0 * cpu.as_secs_f64() / took,
        millis(late)
    );
    Ok(late < LATENCY_MAX)
}
