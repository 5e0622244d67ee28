//! A soak test: valid, invalid, aborted and slow traffic over every route. It requires that nothing panics or logs an
//! error, that memory stays level, and that all sockets are closed.
//!
//! `MESH_SOAK_SECONDS` sets the duration, 10 by default; `cargo xtask soak` runs it against a release build.

mod traffic;

use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mesh_tests::{Database, PATIENCE, Server, command};

use traffic::{Client, Outcome};

/// The number of concurrent clients per server.
const CLIENTS: u64 = 3;
/// The share of the time before measuring begins.
const WARM_UP: f64 = 0.3;
/// The allowed growth of memory in MiB per minute, checked in long runs.
const SLOPE_MAX: f64 = 0.5;
/// The shortest run for which the growth is checked. In shorter runs the noise of the allocator dominates.
const LONG_RUN: Duration = Duration::from_secs(180);
/// The allowed growth of memory of any run, in MiB.
const GROWTH_MAX: f64 = 12.0;

/// A server with all features enabled, with or without sessions, that logs to a file.
pub(crate) struct Site {
    pub(crate) server: Server,
    pub(crate) database: Database,
    pub(crate) is_signed: bool,
}

const TABLES: &str = "
    CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT NOT NULL, score REAL, image TEXT, user_id INTEGER REFERENCES users (id));
    CREATE TABLE tags (id INTEGER PRIMARY KEY, label TEXT);
    CREATE TABLE post_tags (post_id INTEGER NOT NULL, tag_id INTEGER NOT NULL, PRIMARY KEY (post_id, tag_id));
    CREATE TABLE accounts (id INTEGER PRIMARY KEY, email TEXT, password_hash TEXT, role TEXT);
    INSERT INTO users SELECT value, 'user ' || value FROM json_each('[1,2,3,4,5,6,7,8,9]');
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
    INSERT INTO posts SELECT i, 'post ' || i, i / 7.0, NULL, i % 9 + 1 FROM n;
    INSERT INTO tags VALUES (1, 'a'), (2, 'b'), (3, 'c');
    INSERT INTO post_tags SELECT id, id % 3 + 1 FROM posts;
    INSERT INTO accounts VALUES (1, 'ada@example.org',
     '$argon2id$v=19$m=64,t=1,p=1$GItD1fQ32lMZTXGkoQpEUw$TF1TCtzU44/RidGjD5+uUoqmN4ysh0RRp4V+0EMp3Xo', 'admin');
";

const SCHEMA: &str = r#"{"entities": {
    "user": {"fields": ["id", "name"]},
    "post": {"fields": ["id", "title", "score", "image", "userId"], "columns": {"userId": "user_id"},
             "writable": ["title", "score", "userId"], "uploads": {"image": {"maxBytes": 200000}}},
    "tag": {"fields": ["id", "label"]}},
  "joins": {
    "post.author": {"entity": "user", "on": "users.id = posts.user_id", "type": "one"},
    "user.posts": {"entity": "post", "on": "posts.user_id = users.id", "type": "many"},
    "post.tags": {"entity": "tag", "type": "many", "through": {"table": "post_tags", "from": "post_id", "to": "tag_id"}}}}"#;

impl Site {
    fn start(is_signed: bool) -> Self {
        let database = Database::new(TABLES);
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

/// Runs the clients for some time. Collects faults, and returns samples of minutes and MiB for each server.
fn run(sites: &[Site], time: Duration, seed: u64, faults: &Mutex<Vec<String>>) -> Vec<Vec<(f64, f64)>> {
    let (done, count) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut memory = vec![Vec::new(); sites.len()];
    std::thread::scope(|scope| {
        for (index, site) in (0_u64..).zip(sites) {
            for number in 0..CLIENTS {
                let (done, count) = (&done, &count);
                scope.spawn(move || {
                    let mut client = Client::new(site, seed + index * 100 + number);
                    while !done.load(Ordering::Relaxed) {
                        count.fetch_add(1, Ordering::Relaxed);
                        if let Outcome::Fault(what) = client.step() {
                            faults.lock().unwrap().push(what);
                        }
                    }
                });
            }
        }
        let start = Instant::now();
        while start.elapsed() < time {
            std::thread::sleep(Duration::from_millis(500).min(time));
            for (site, samples) in sites.iter().zip(&mut memory) {
                samples.push((start.elapsed().as_secs_f64() / 60.0, site.memory()));
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    eprintln!("soak: {} requests in {time:?}", count.load(Ordering::Relaxed));
    memory
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
    let seconds = std::env::var("MESH_SOAK_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(10);
    let time = Duration::from_secs(seconds);
    let sites = [Site::start(false), Site::start(true)];
    let faults = Arc::new(Mutex::new(Vec::new()));
    let warm_up = time.mul_f64(WARM_UP);
    run(&sites, warm_up, 1, &faults);
    let before: Vec<_> = sites.iter().map(|site| site.settled(None)).collect();
    let memory = run(&sites, time.saturating_sub(warm_up), 1_000, &faults);
    let mut faults = std::mem::take(&mut *faults.lock().unwrap());
    for ((site, before), samples) in sites.iter().zip(before).zip(memory) {
        let after = site.settled(Some(before.0));
        let (first, last) = (samples[0].1, samples[samples.len() - 1].1);
        let slope = slope(&samples);
        eprintln!(
            "soak, signed {}: open {before:?}, then {after:?}; {first:.1} MiB, then {last:.1}, {slope:.2} MiB a minute",
            site.is_signed
        );
        // Database connections stay open in the pool.
        if after.0 > before.0 || after.1 > before.1 + 24 {
            faults.push(format!("open before {before:?}, after {after:?} (sockets, all)"));
        }
        if time >= LONG_RUN && slope > SLOPE_MAX {
            faults.push(format!("memory grows by {slope:.2} MiB a minute"));
        }
        if last - first > GROWTH_MAX {
            faults.push(format!("memory grew from {first:.1} to {last:.1} MiB"));
        }
        let log = std::fs::read_to_string(site.database.dir.path().join("log")).unwrap();
        faults.extend(
            log.lines().filter(|line| line.contains("panic") || line.contains("ERROR")).map(str::to_owned),
        );
    }
    for mut site in sites {
        site.server.signal("TERM");
        if site.server.wait().code() != Some(0) {
            faults.push("the server did not exit with status 0".to_owned());
        }
    }
    faults.truncate(20);
    crate::support::refusals::report(&faults);
}
