//! `cargo xtask bench postgres`: the server over PostgreSQL compared with a hand-written server over tokio-postgres, and
//! with several servers and replicas.
//!
//! The database, the servers and the load share this machine, so the figures show the cost of the software and not the
//! capacity of a separate database machine.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use mesh_tests::Cluster;
use serde_json::Value;

use super::load::Loader;
use super::machine::cores::Cores;
use super::options::Options;
use super::peer::Peer;
use super::report::median;
use super::request::{Kind, ask};
use super::workload::Workload;
use super::workload::list::named;
use super::{Ground, prepare};

/// Target for nested reads, relative to the hand-written server.
const AIM: f64 = 0.85;

/// The sample, with the size and structure of the SQLite sample.
const SAMPLE: &str = "
CREATE TABLE users (id integer PRIMARY KEY, name text NOT NULL, email text NOT NULL, bio text);
CREATE TABLE posts (
    id integer PRIMARY KEY, author_id integer NOT NULL REFERENCES users, title text NOT NULL, body text NOT NULL,
    published boolean NOT NULL, published_at timestamptz NOT NULL, views integer NOT NULL
);
CREATE TABLE comments (
    id integer PRIMARY KEY, post_id integer NOT NULL REFERENCES posts, author_id integer NOT NULL REFERENCES users,
    body text NOT NULL, created_at timestamptz NOT NULL
);
INSERT INTO users SELECT i, 'User number ' || i, 'user' || i || '@example.com', repeat('biography ', 6)
    FROM generate_series(1, 10000) i;
INSERT INTO posts SELECT i, (i::bigint * 7919) % 10000 + 1, 'The title of post number ' || i, repeat('some text ', 30),
    i % 10 <> 0, '2015-01-01'::timestamptz + (i::bigint * 104729 % 315360000) * interval '1 second', i * 7 % 1000000
    FROM generate_series(1, 100000) i;
INSERT INTO comments SELECT i, (i::bigint * 7907) % 100000 + 1, (i::bigint * 104729) % 10000 + 1,
    'A comment of a dozen words, more or less, which is number ' || i || ' of all',
    '2015-01-01'::timestamptz + i * interval '1 second' FROM generate_series(1, 500000) i;
CREATE INDEX ON posts (author_id);
CREATE INDEX ON posts (published, published_at, id);
CREATE INDEX ON comments (post_id);
CREATE INDEX ON comments (author_id);
VACUUM ANALYZE;
";

/// Runs the benchmark. `--seconds`, `--rounds` and `--no-build` work as for the other workloads.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> Result<bool, String> {
    let options = &Options::parse(arguments)?;
    let ground = Ground { cores: Cores::FREE, ..prepare(root, options)? };
    let primary = Cluster::start().ok_or("PostgreSQL is needed for this")?;
    eprintln!("creating the sample");
    primary.execute(SAMPLE);
    let mut table =
        String::from("| workload | hand-written req/s | mesh req/s | ratio |\n|---|---|---|---|\n");
    let mut good = true;
    for workload in named("reads")? {
        eprintln!("{}: {}", workload.name, workload.what);
        verify(&ground, &primary, &workload)?;
        let (mut by_hand, mut by_mesh) = (Vec::new(), Vec::new());
        for _ in 0..options.rounds {
            let server = [limit(&ground, &primary)?];
            by_hand.push(load(&ground, &workload, &server, Kind::Limit, options.seconds)?);
            let server = [mesh(&ground, &primary, &[])?];
            by_mesh.push(load(&ground, &workload, &server, Kind::Mesh, options.seconds)?);
        }
        let (by_hand, by_mesh) = (median(by_hand), median(by_mesh));
        let ratio = by_mesh / by_hand.max(1.0);
        good &= ratio >= AIM || !matches!(&*workload.name, "w2" | "w4");
        let _ = writeln!(
            table,
            "| {} {} | {by_hand:.0} | {by_mesh:.0} | {ratio:.2} |",
            workload.name, workload.what
        );
    }
    println!("{table}");
    println!("{}", scaled(&ground, &primary, options)?);
    Ok(good)
}

/// Measures nested reads with one and two servers and up to two replicas.
fn scaled(ground: &Ground, primary: &Cluster, options: &Options) -> Result<String, String> {
    let workload = named("w2")?.pop().ok_or("there is no workload 'w2'")?;
    let replicas = [primary.replica(), primary.replica()];
    let mut table = String::from("| servers | replicas | w2 req/s |\n|---|---|---|\n");
    for servers in 1..=2 {
        for count in 0..=replicas.len() {
            let used: Vec<&Cluster> = replicas.iter().take(count).collect();
            let mut runs = Vec::new();
            for _ in 0..options.rounds {
                let started: Result<Vec<_>, _> = (0..servers).map(|_| mesh(ground, primary, &used)).collect();
                runs.push(load(ground, &workload, &started?, Kind::Mesh, options.seconds)?);
            }
            let _ = writeln!(table, "| {servers} | {count} | {:.0} |", median(runs));
        }
    }
    Ok(table)
}

/// Returns the requests per second of all servers together. Each has its own load generator.
fn load(
    ground: &Ground,
    workload: &Workload,
    servers: &[Peer],
    kind: Kind,
    seconds: f64,
) -> Result<f64, String> {
    let file = ground.requests(workload, kind)?;
    let one = |server: &Peer, seconds: f64| {
        let loader = Loader::new(ground, &file, server.address(), workload.connections);
        let seen = loader.run(seconds)?;
        if seen.errors > 0 {
            return Err(format!("{} of {} requests failed", seen.errors, seen.requests));
        }
        Ok(seen.per_second)
    };
    std::thread::scope(|scope| {
        // Warm up: prepare statements, fill caches, find replicas.
        let running: Vec<_> = servers
            .iter()
            .map(|server| scope.spawn(move || one(server, 1.0).and_then(|_| one(server, seconds))))
            .collect();
        let seen =
            running.into_iter().map(|it| it.join().unwrap_or_else(|_| Err("the load failed".to_owned())));
        seen.sum()
    })
}

/// Verifies that both servers return equal results.
fn verify(ground: &Ground, primary: &Cluster, workload: &Workload) -> Result<(), String> {
    let answers = |server: &Peer, kind: Kind| -> Result<Vec<Value>, String> {
        let requests = workload.requests(kind);
        let some = requests.iter().step_by((requests.len() / 20).max(1)).take(20);
        some.map(|request| Ok(workload.comparable(kind, ask(server.address(), request)?))).collect()
    };
    let limit = answers(&limit(ground, primary)?, Kind::Limit)?;
    let mesh = answers(&mesh(ground, primary, &[])?, Kind::Mesh)?;
    match limit.iter().zip(&mesh).find(|(limit, mesh)| limit != mesh) {
        None => Ok(()),
        Some((limit, mesh)) => Err(format!("{}: the answers differ:\n{limit}\n{mesh}", workload.name)),
    }
}

fn limit(ground: &Ground, primary: &Cluster) -> Result<Peer, String> {
    Peer::spawn(Command::new(ground.peers.join("pg_limit")).args(["--database", &primary.url()]))
}

fn mesh(ground: &Ground, primary: &Cluster, replicas: &[&Cluster]) -> Result<Peer, String> {
    let mut command = Command::new(&ground.server);
    command.args(["serve", "--listen", "127.0.0.1:0", "--threads", "1", "--log", "off"]);
    let replicas: Vec<_> = replicas.iter().map(|replica| replica.url()).collect();
    command.args(["--database", &primary.url()]).env("MESH_REPLICAS", replicas.join(","));
    Peer::spawn(&mut command)
}
