//! `cargo xtask bench postgres`: the server over PostgreSQL compared with a hand-written server over tokio-postgres, and
//! with several servers and replicas.
//!
//! The database, the servers and the load share this machine, so the figures show the cost of the software and not the
//! capacity of a separate database machine.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};

use mesh_tests::Cluster;
use serde_json::Value;

use super::cores::Cores;
use super::list::named;
use super::load::Loader;
use super::options::Options;
use super::peer::{Kind, ask};
use super::workload::Workload;
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
pub(crate) fn run(root: &Path, arguments: &[&str]) -> ExitCode {
    let measured = Options::parse(arguments).and_then(|options| measure(root, &options));
    match measured {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stdout, reason = "the figures are the program's output")]
fn measure(root: &Path, options: &Options) -> Result<bool, String> {
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
        let (mut limit, mut mesh) = (Vec::new(), Vec::new());
        for _ in 0..options.rounds {
            limit.push(load(
                &ground,
                &workload,
                &[Server::limit(&ground, &primary)?],
                Kind::Limit,
                options.seconds,
            )?);
            mesh.push(load(
                &ground,
                &workload,
                &[Server::mesh(&ground, &primary, &[])?],
                Kind::Mesh,
                options.seconds,
            )?);
        }
        let (limit, mesh) = (median(&mut limit), median(&mut mesh));
        let ratio = mesh / limit.max(1.0);
        good &= ratio >= AIM || !matches!(&*workload.name, "w2" | "w4");
        let _ =
            writeln!(table, "| {} {} | {limit:.0} | {mesh:.0} | {ratio:.2} |", workload.name, workload.what);
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
                let started: Result<Vec<_>, _> =
                    (0..servers).map(|_| Server::mesh(ground, primary, &used)).collect();
                runs.push(load(ground, &workload, &started?, Kind::Mesh, options.seconds)?);
            }
            let _ = writeln!(table, "| {servers} | {count} | {:.0} |", median(&mut runs));
        }
    }
    Ok(table)
}

/// Returns the requests per second of all servers together. Each has its own load generator.
fn load(
    ground: &Ground,
    workload: &Workload,
    servers: &[Server],
    kind: Kind,
    seconds: f64,
) -> Result<f64, String> {
    let file = ground.requests(workload, kind)?;
    let one = |server: &Server, seconds: f64| {
        let loader = Loader::new(ground, &file, &server.address, workload.connections);
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
    let answers = |server: &Server, kind: Kind| -> Result<Vec<Value>, String> {
        let requests = workload.requests(kind);
        let some = requests.iter().step_by((requests.len() / 20).max(1)).take(20);
        some.map(|request| Ok(workload.comparable(kind, ask(&server.address, request)?))).collect()
    };
    let limit = answers(&Server::limit(ground, primary)?, Kind::Limit)?;
    let mesh = answers(&Server::mesh(ground, primary, &[])?, Kind::Mesh)?;
    match limit.iter().zip(&mesh).find(|(limit, mesh)| limit != mesh) {
        None => Ok(()),
        Some((limit, mesh)) => Err(format!("{}: the answers differ:\n{limit}\n{mesh}", workload.name)),
    }
}

fn median(runs: &mut [f64]) -> f64 {
    runs.sort_by(f64::total_cmp);
    runs.get(runs.len() / 2).copied().unwrap_or_default()
}

/// A running server, which is stopped on drop.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn limit(ground: &Ground, primary: &Cluster) -> Result<Self, String> {
        let mut command = Command::new(ground.peers.join("pg_limit"));
        Self::start(command.args(["--database", &primary.url()]))
    }

    fn mesh(ground: &Ground, primary: &Cluster, replicas: &[&Cluster]) -> Result<Self, String> {
        let mut command = Command::new(&ground.server);
        command.args(["serve", "--listen", "127.0.0.1:0", "--threads", "1", "--log", "off"]);
        command.args(["--database", &primary.url()]);
        let replicas: Vec<_> = replicas.iter().map(|replica| replica.url()).collect();
        command.env("MESH_REPLICAS", replicas.join(","));
        Self::start(&mut command)
    }

    fn start(command: &mut Command) -> Result<Self, String> {
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().map_err(|error| format!("cannot start a server: {error}"))?;
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            BufReader::new(out).read_line(&mut line).map_err(|error| error.to_string())?;
        }
        let address =
            line.trim().strip_prefix("listening on http://").and_then(|rest| rest.split('/').next());
        let address = address.map(str::to_owned);
        let server = Self { child, address: address.clone().unwrap_or_default() };
        if address.is_none() {
            return Err(format!("a server does not start; it printed '{}'", line.trim()));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
