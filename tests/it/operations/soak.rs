//! Soak tests. The first sends valid, invalid, aborted and slow traffic over every route. It requires that nothing panics
//! or logs an error, that memory stays level, and that all sockets are closed. The second attacks servers beside honest
//! traffic. It requires that every honest request is answered as expected, and that memory stays bounded.
//!
//! `MESH_SOAK_SECONDS` sets the duration, 10 by default, and `MESH_SOAK_ATTACKS` parts of the names of attacks, separated by
//! commas, to which the attacker is limited; `cargo xtask soak` runs them against a release build. It also sets
//! `MESH_SOAK_TIMES=1`: then the times of honest requests are compared, and none may be refused.

mod attacker;
mod attacks_on_databases;
mod attacks_on_operations;
mod http2;
mod traffic;

use std::fs::File;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mesh_tests::{Database, PATIENCE, Request, Server, command, raise_file_limit, skip};

use attacker::Attacker;
use traffic::{Client, Outcome};

/// The number of concurrent clients per server.
const CLIENTS: u64 = 3;
/// The share of the time before measuring begins.
const WARM_UP: f64 = 0.3;
/// The allowed growth of memory in MiB per minute, beside the noise of the allocator.
const SLOPE_MAX: f64 = 0.5;
/// The noise of the allocator over a run, in MiB: a short run ends before its heaps are full.
const NOISE_MAX: f64 = 24.0;
/// The memory of a server under attack, in MiB.
const ATTACKED_MAX: f64 = 300.0;
/// How much slower honest requests may be under attack, as a factor of the 99th percentile.
const SLOWER_MAX: f64 = 3.0;
/// How often a run reports what the servers hold.
const REPORTS: u32 = 5;
/// Files that the servers and this process may have to open.
const FILES: u64 = 8_000;

/// A server with all features enabled, with or without sessions, that logs to a file.
pub(crate) struct Site {
    pub(crate) server: Server,
    pub(crate) database: Database,
    pub(crate) is_signed: bool,
}

/// Bytes of a long text. A build without optimizations takes many times longer to match and send one.
const LONG_TEXT: usize = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };

const TABLES: &str = "
    CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT NOT NULL, score REAL, image TEXT, user_id INTEGER REFERENCES users (id));
    CREATE TABLE tags (id INTEGER PRIMARY KEY, label TEXT);
    CREATE TABLE post_tags (post_id INTEGER NOT NULL, tag_id INTEGER NOT NULL, PRIMARY KEY (post_id, tag_id));
    CREATE TABLE papers (id INTEGER PRIMARY KEY, body TEXT NOT NULL);
    CREATE TABLE pages (id INTEGER PRIMARY KEY, paper_id INTEGER NOT NULL REFERENCES papers (id));
    CREATE TABLE accounts (id INTEGER PRIMARY KEY, email TEXT, password_hash TEXT, role TEXT);
    INSERT INTO users SELECT value, 'user ' || value FROM json_each('[1,2,3,4,5,6,7,8,9]');
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
    INSERT INTO posts SELECT i, 'post ' || i, i / 7.0, NULL, i % 9 + 1 FROM n;
    INSERT INTO tags VALUES (1, 'a'), (2, 'b'), (3, 'c');
    INSERT INTO post_tags SELECT id, id % 3 + 1 FROM posts;
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
    INSERT INTO papers SELECT i, printf('%.*c', iif(i = 1, LONG_TEXT, 20000), 'a') FROM n;
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
    INSERT INTO pages SELECT i, 1 FROM n;
    INSERT INTO accounts VALUES (1, 'ada@example.org',
     '$argon2id$v=19$m=64,t=1,p=1$GItD1fQ32lMZTXGkoQpEUw$TF1TCtzU44/RidGjD5+uUoqmN4ysh0RRp4V+0EMp3Xo', 'admin');
";

const SCHEMA: &str = r#"{"entities": {
    "user": {"fields": ["id", "name"]},
    "post": {"fields": ["id", "title", "score", "image", "userId"], "columns": {"userId": "user_id"},
             "uploads": {"image": {"maxBytes": 200000}},
             "writable": {"create": ["title", "score", "userId"], "update": ["title", "score", "userId"], "delete": true}},
    "tag": {"fields": ["id", "label"]},
    "paper": {"fields": ["id", "body"]},
    "page": {"fields": ["id"]}},
  "joins": {
    "post.author": {"entity": "user", "on": "users.id = posts.user_id", "type": "one"},
    "user.posts": {"entity": "post", "on": "posts.user_id = users.id", "type": "many"},
    "page.paper": {"entity": "paper", "on": "papers.id = pages.paper_id", "type": "one"},
    "post.tags": {"entity": "tag", "type": "many", "through": {"table": "post_tags", "from": "post_id", "to": "tag_id"}}}}"#;

impl Site {
    fn start(is_signed: bool) -> Self {
        let database = Database::new(&TABLES.replace("LONG_TEXT", &LONG_TEXT.to_string()));
        let schema = database.dir.write("schema.json", SCHEMA);
        let files = database.dir.path().join("files");
        let sessions = "[integrity]\nenabled = true\nsecret = \"the secret of these tests, 32 bytes or more\"\n\
                        [integrity.users]\ntable = \"accounts\"\nlogin = \"email\"\npassword = \"password_hash\"\nrole = \"role\"\n";
        let config = format!(
            "database = \"{}\"\nschema = \"{schema}\"\n[limits]\nlogin_per_minute = 100000\n[mutations]\nenabled = true\n\
             [docs]\nenabled = true\n[cors]\norigins = [\"https://app.example\"]\n\
             [uploads]\nenabled = true\nstore = \"file:{}\"\n{}",
            database.url(),
            files.display(),
            if is_signed { sessions } else { "" },
        );
        let config = database.dir.write("mesh.toml", &config);
        let log = File::create(database.dir.path().join("log")).unwrap();
        let mut serve = command(&["serve", "--listen", "127.0.0.1:0", "--log", "warn", "--config", &config]);
        let server = Server::spawn(serve.stderr(log));
        Self { server, database, is_signed }
    }

    /// Returns the anonymous memory in MiB.
    fn memory(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.server.process())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
    }

    /// Describes what the server holds.
    fn usage(&self) -> String {
        let metrics = self.server.send(&Request::new("GET", "/metrics")).text();
        let names =
            ["answers_cached_bytes", "plans_cached", "unsent_bytes", "connections_open", "event_streams"];
        let held = metrics.lines().filter_map(|line| line.strip_prefix("mesh_"));
        let held: Vec<_> = held.filter(|line| names.iter().any(|name| line.starts_with(name))).collect();
        format!("signed {}: {:.1} MiB, {}", self.is_signed, self.memory(), held.join(", "))
    }

    /// Counts the open sockets and all open descriptors.
    fn descriptors(&self) -> (usize, usize) {
        let entries = std::fs::read_dir(format!("/proc/{}/fd", self.server.process())).unwrap();
        let links = entries.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
        links.fold((0, 0), |(sockets, all), link| {
            (sockets + usize::from(link.to_string_lossy().starts_with("socket:")), all + 1)
        })
    }

    /// Waits until the number of sockets has settled and returns the counts of [`Self::descriptors`].
    fn settled(&self, sockets: Option<usize>) -> (usize, usize) {
        let start = Instant::now();
        let mut last = self.descriptors();
        loop {
            std::thread::sleep(Duration::from_millis(300));
            let now = self.descriptors();
            let is_settled = sockets.map_or(now == last, |sockets| now.0 <= sockets);
            if is_settled || start.elapsed() > PATIENCE {
                return now;
            }
            last = now;
        }
    }
}

/// What was measured while clients ran.
struct Measurements {
    /// Samples of minutes and MiB, for each server.
    memory: Vec<Vec<(f64, f64)>>,
    /// The times of honest requests, sorted.
    times: Vec<Duration>,
}

impl Measurements {
    /// Returns a percentile of the times.
    fn percentile(&self, percent: usize) -> Duration {
        self.times.get(self.times.len() * percent / 100).copied().unwrap_or_default()
    }

    fn peak(&self) -> f64 {
        self.memory.iter().flatten().map(|(_, memory)| *memory).fold(0.0, f64::max)
    }
}

/// Runs the clients for some time, with an attacker of each server if `is_attacked`. Collects faults.
fn run(
    sites: &[Site],
    time: Duration,
    seed: u64,
    is_attacked: bool,
    faults: &Mutex<Vec<String>>,
) -> Measurements {
    let (done, count) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut memory = vec![Vec::new(); sites.len()];
    let (times, refused) = (Mutex::new(Vec::new()), AtomicU64::new(0));
    std::thread::scope(|scope| {
        if is_attacked {
            for site in sites {
                scope.spawn(|| Attacker::new(site, seed).run(&done));
            }
        }
        for (index, site) in (0_u64..).zip(sites) {
            for number in 0..CLIENTS {
                let (done, count, times, refused) = (&done, &count, &times, &refused);
                scope.spawn(move || {
                    let mut client = Client::new(site, seed + index * 100 + number);
                    while !done.load(Ordering::Relaxed) {
                        count.fetch_add(1, Ordering::Relaxed);
                        if let Outcome::Fault(what) = client.step() {
                            faults.lock().unwrap().push(what);
                        }
                    }
                    times.lock().unwrap().append(&mut client.times);
                    refused.fetch_add(client.refused, Ordering::Relaxed);
                });
            }
        }
        let start = Instant::now();
        let mut next_report = time / REPORTS;
        while start.elapsed() < time {
            std::thread::sleep(Duration::from_millis(100).min(time));
            if start.elapsed() >= next_report {
                next_report += time / REPORTS;
                sites.iter().for_each(|site| eprintln!("soak: {:.0?}: {}", start.elapsed(), site.usage()));
            }
            for (site, samples) in sites.iter().zip(&mut memory) {
                samples.push((start.elapsed().as_secs_f64() / 60.0, site.memory()));
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    let (count, refused) = (count.into_inner(), refused.into_inner());
    eprintln!("soak: {count} actions in {time:?}, {refused} refused");
    // Beside other tests, the processor may be too busy for a request; a client then tries again.
    if refused > if compares_times() { 0 } else { count / 10 } {
        faults.lock().unwrap().push(format!("{refused} of {count} actions were refused with 503"));
    }
    let mut times = times.into_inner().unwrap();
    times.sort();
    Measurements { memory, times }
}

/// Returns the duration of a run.
fn duration() -> Duration {
    let seconds = std::env::var("MESH_SOAK_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(10);
    Duration::from_secs(seconds)
}

/// Returns whether durations are compared.
fn compares_times() -> bool {
    std::env::var("MESH_SOAK_TIMES").is_ok_and(|value| value == "1")
}

/// Returns the lines of a server's log that report a panic or an error.
fn errors_in_log(site: &Site) -> Vec<String> {
    let log = std::fs::read_to_string(site.database.dir.path().join("log")).unwrap();
    log.lines().filter(|line| line.contains("panic") || line.contains("ERROR")).map(str::to_owned).collect()
}

/// Stops the servers and reports all faults.
fn finish(sites: impl IntoIterator<Item = Site>, mut faults: Vec<String>) {
    for mut site in sites {
        site.server.signal("TERM");
        if site.server.wait().code() != Some(0) {
            faults.push("the server did not exit with status 0".to_owned());
        }
        if !faults.is_empty() {
            eprintln!("soak: errors in the log: {:#?}", errors_in_log(&site));
        }
    }
    faults.truncate(20);
    crate::support::refusals::report(&faults);
}

/// Returns the slope of the regression line, in MiB per minute.
fn slope(samples: &[(f64, f64)]) -> f64 {
    let count = samples.len() as f64;
    let (x, y) =
        samples.iter().fold((0.0, 0.0), |(x, y), sample| (x + sample.0 / count, y + sample.1 / count));
    let (above, below) = samples.iter().fold((0.0, 0.0), |(above, below), sample| {
        (above + (sample.0 - x) * (sample.1 - y), below + (sample.0 - x).powi(2))
    });
    above / below
}

#[test]
fn mixed_traffic_leaks_nothing() {
    let time = duration();
    let sites = [Site::start(false), Site::start(true)];
    let faults = Mutex::new(Vec::new());
    let warm_up = time.mul_f64(WARM_UP);
    run(&sites, warm_up, 1, false, &faults);
    let before: Vec<_> = sites.iter().map(|site| site.settled(None)).collect();
    let measured = run(&sites, time.saturating_sub(warm_up), 1_000, false, &faults);
    let mut faults = faults.into_inner().unwrap();
    for ((site, before), samples) in sites.iter().zip(before).zip(&measured.memory) {
        let after = site.settled(Some(before.0));
        let (first, last) = (samples[0].1, samples[samples.len() - 1].1);
        let (slope, minutes) = (slope(samples), time.as_secs_f64() / 60.0);
        eprintln!(
            "soak, signed {}: open {before:?}, then {after:?}; {first:.1} MiB, then {last:.1}, {slope:.2} MiB a minute",
            site.is_signed
        );
        // Database connections stay open in the pool.
        if after.0 > before.0 || after.1 > before.1 + 24 {
            faults.push(format!("open before {before:?}, after {after:?} (sockets, all)"));
        }
        if slope * minutes > SLOPE_MAX * minutes + NOISE_MAX {
            faults.push(format!("memory grows by {slope:.2} MiB a minute"));
        }
        faults.extend(errors_in_log(site));
    }
    finish(sites, faults);
}

#[test]
fn attacks_do_not_disturb_honest_clients() {
    if !raise_file_limit(FILES) {
        return skip("a limit of 8,000 open files", "raise it with `ulimit -n`");
    }
    let time = duration() / 2;
    let sites = [Site::start(false), Site::start(true)];
    let faults = Mutex::new(Vec::new());
    let calm = run(&sites, time, 1, false, &faults);
    let attacked = run(&sites, time, 1_000, true, &faults);
    let mut faults = faults.into_inner().unwrap();
    let [before, after] = [&calm, &attacked].map(|measured| measured.percentile(99));
    eprintln!(
        "soak: honest p99 {before:?} without attacks, {after:?} with them; memory at most {:.1} MiB, then {:.1}; {} honest \
         requests failed",
        calm.peak(),
        attacked.peak(),
        faults.len()
    );
    if attacked.peak() > ATTACKED_MAX {
        faults.push(format!("memory reached {:.1} MiB", attacked.peak()));
    }
    if compares_times() && after > before.mul_f64(SLOWER_MAX) {
        faults.push(format!("honest requests took {after:?} under attack, without it {before:?}"));
    }
    faults.extend(sites.iter().flat_map(errors_in_log).filter(|line| line.contains("panic")));
    finish(sites, faults);
}
