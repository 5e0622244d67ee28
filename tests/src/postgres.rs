//! Which PostgreSQL is a test run against? Clusters of its own, in temporary folders, gone with the test.
//!
//! A cluster listens at a socket in its folder and nowhere else. PostgreSQL does not run as root; where a test
//! does, the cluster is given to another account. Where PostgreSQL is not installed, tests are passed over with
//! a line that says so, unless `MESH_REQUIRE_SERVICES` is set: then they fail.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long a cluster may take to be ready, or to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// The owner of the clusters' files, and the name that clients give.
const USER: &str = "mesh";

/// A running cluster, which ends with this value.
#[derive(Debug)]
pub struct Cluster {
    programs: PathBuf,
    folder: PathBuf,
    account: Option<(u32, u32)>,
    child: Option<Child>,
}

impl Cluster {
    /// Starts a new and empty cluster, whose text sorts by bytes; `None` where there is no PostgreSQL.
    #[must_use]
    pub fn start() -> Option<Self> {
        let Some(programs) = programs() else {
            assert!(
                std::env::var_os("MESH_REQUIRE_SERVICES").is_none_or(|value| value != "1"),
                "PostgreSQL is not installed, but MESH_REQUIRE_SERVICES says that it must be"
            );
            eprintln!("passed over: PostgreSQL is not installed (no `initdb` to be found)");
            return None;
        };
        let mut cluster = Self::at(programs);
        let data = cluster.data();
        let encoding = ["--encoding=UTF8", "--locale=C", "--auth=trust", "--no-sync"];
        cluster.run("initdb", &[&["-D", &data, "-U", USER], encoding.as_slice()].concat());
        cluster.configure(&[
            "wal_level = replica",
            "max_wal_senders = 10",
            "hot_standby = on",
            "max_connections = 200",
        ]);
        cluster.start_again();
        Some(cluster)
    }

    fn at(programs: PathBuf) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("mesh-postgres-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        // A run that was killed may have left one of the same name.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder for the cluster");
        let account = account();
        if let Some((user, group)) = account {
            chown(&folder, Some(user), Some(group)).expect("the folder is given away");
        }
        Self { programs, folder, account, child: None }
    }

    fn data(&self) -> String {
        self.folder.join("data").display().to_string()
    }

    /// A program of PostgreSQL, under an account that may run it.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        if let Some((user, group)) = self.account {
            command.uid(user).gid(group);
        }
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PG") {
                command.env_remove(name);
            }
        }
        command.current_dir(&self.folder).env("LC_ALL", "C").stdin(Stdio::null());
        command
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let output = self.command(program).args(arguments).output().expect("a program of PostgreSQL runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program} {arguments:?}: {errors}");
    }

    /// Adds lines to the configuration, to be read at the next start.
    pub fn configure(&self, lines: &[&str]) {
        let path = self.folder.join("data/postgresql.conf");
        let mut text = fs::read_to_string(&path).expect("the configuration is there");
        let sockets = format!("unix_socket_directories = '{}'", self.folder.display());
        let always = ["listen_addresses = ''", "fsync = off", "shared_buffers = 32MB", &sockets];
        for line in always.iter().chain(lines) {
            text.push_str(line);
            text.push('\n');
        }
        fs::write(&path, text).expect("the configuration is written");
    }

    /// Starts a cluster that was stopped or killed, and waits until it takes connections.
    pub fn start_again(&mut self) {
        self.child = Some(self.spawn());
        let start = Instant::now();
        while self.query("SELECT 1").is_none() {
            let log = || fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            assert!(start.elapsed() < PATIENCE, "PostgreSQL does not start: {}", log());
            // Children of one that was killed may still hold what the next one needs.
            let has_ended = self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(Some(_))));
            if has_ended {
                self.child = Some(self.spawn());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn spawn(&self) -> Child {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.folder.join("log"));
        let log = log.expect("a log");
        let mut command = self.command("postgres");
        command.args(["-D", &self.data()]).stdout(log.try_clone().expect("the same log")).stderr(log);
        command.spawn().expect("PostgreSQL starts")
    }

    /// A replica that follows this cluster, ready to be read.
    #[must_use]
    pub fn replica(&self) -> Self {
        let mut replica = Self::at(self.programs.clone());
        let (data, host) = (replica.data(), self.host());
        replica.run(
            "pg_basebackup",
            &["-D", &data, "-h", &host, "-U", USER, "-R", "-X", "stream", "-c", "fast"],
        );
        replica.configure(&["hot_standby = on"]);
        replica.start_again();
        replica
    }

    /// Asks the cluster to end, and waits until it has.
    pub fn stop(&mut self) {
        self.end("INT");
    }

    /// Ends the cluster as a power cut would.
    pub fn kill(&mut self) {
        self.end("KILL");
        // Its children are on their own, and end when they notice.
        let _ = fs::remove_file(self.folder.join("data/postmaster.pid"));
    }

    fn end(&mut self, signal: &str) {
        let Some(mut child) = self.child.take() else { return };
        let _ = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if let Ok(Some(_)) = child.try_wait() {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = child.kill();
        let _ = child.wait();
    }

    /// Runs statements and panics where they fail.
    pub fn execute(&self, statements: &str) {
        let path = self.folder.join("statements.sql");
        fs::write(&path, statements).expect("a file of statements");
        let file = path.display().to_string();
        let output = self.psql(&["-f", &file]).output().expect("psql runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}\n{statements}");
    }

    /// The rows of a statement, their cells with a bar between; `None` where it fails.
    #[must_use]
    pub fn query(&self, statement: &str) -> Option<String> {
        let output = self.psql(&["-At", "-c", statement]).output().expect("psql runs");
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    }

    /// Another database of the cluster, made by statements, as a setting names it.
    #[must_use]
    pub fn database(&self, name: &str, statements: &str) -> String {
        self.execute(&format!("CREATE DATABASE {name};\n\\connect {name}\n{statements}"));
        format!("postgres://{USER}@/{name}?host={}", self.host())
    }

    fn psql(&self, arguments: &[&str]) -> Command {
        let own = self.programs.join("psql");
        let mut command = if own.exists() { self.command("psql") } else { Command::new("psql") };
        command.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", &self.host(), "-U", USER, "-d", "postgres"]);
        command.args(arguments);
        command
    }

    fn host(&self) -> String {
        self.folder.display().to_string()
    }

    /// The cluster's database as a setting names it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://{USER}@/postgres?host={}", self.host())
    }

    /// The account that its programs run under, where that is not the test's own.
    #[must_use]
    pub fn account(&self) -> Option<(u32, u32)> {
        self.account
    }

    /// The cluster's own folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.end("QUIT");
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Where the programs lie: on the search path, or where packages put the newest.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    if let Ok(versions) = fs::read_dir("/usr/lib/postgresql") {
        let mut versions: Vec<_> = versions.flatten().map(|entry| entry.path().join("bin")).collect();
        versions.sort();
        folders.extend(versions.into_iter().rev());
    }
    // What stands on the search path may only point to where all programs lie.
    let real = |folder: &PathBuf| Some(fs::canonicalize(folder.join("initdb")).ok()?.parent()?.to_owned());
    folders.iter().filter_map(real).find(|folder| folder.join("postgres").exists())
}

/// The account that a cluster of root's is given to: one that has no other rights.
fn account() -> Option<(u32, u32)> {
    let mine = fs::metadata("/proc/self").map(|it| it.uid()).unwrap_or(u32::MAX);
    if mine != 0 {
        return None;
    }
    let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let find = |name: &str| {
        accounts.lines().find_map(|line| {
            let mut fields = line.split(':');
            let found = fields.next() == Some(name);
            let user = fields.nth(1)?.parse().ok()?;
            let group = fields.next()?.parse().ok()?;
            found.then_some((user, group))
        })
    };
    Some(find("postgres").or_else(|| find("nobody")).expect("an account beside root's"))
}
