//! PostgreSQL clusters in temporary folders, removed at the end of the test.
//!
//! A cluster listens on a Unix socket in its folder only. PostgreSQL does not run as root; if the test does, the
//! cluster runs under another account. If PostgreSQL is not installed, tests are skipped with a message, or fail if
//! `MESH_REQUIRE_SERVICES` is set.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{Part, eventually, skip, wait_for, wait_until};

/// The database superuser, and the user name of clients.
const USER: &str = "mesh";

/// A running cluster, stopped and removed when this value is dropped.
#[derive(Debug)]
pub struct Cluster {
    programs: PathBuf,
    folder: PathBuf,
    account: Option<(u32, u32)>,
    child: Option<Child>,
}

impl Cluster {
    /// Starts an empty cluster with the collation `C`. Returns `None` if PostgreSQL is not installed.
    #[must_use]
    pub fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    /// Starts an empty cluster with additional lines of configuration.
    #[must_use]
    pub fn start_with(lines: &[&str]) -> Option<Self> {
        if Part::Engines.is_left_out() {
            return None;
        }
        let Some(programs) = programs() else {
            skip("PostgreSQL", "install Debian's postgresql");
            return None;
        };
        let mut cluster = Self::in_new_folder(programs);
        let data = cluster.data();
        let encoding = ["--encoding=UTF8", "--locale=C", "--auth=trust", "--no-sync"];
        cluster.run("initdb", &[&["-D", &data, "-U", USER], encoding.as_slice()].concat());
        cluster.configure(&[
            "wal_level = replica",
            "max_wal_senders = 10",
            "hot_standby = on",
            "max_connections = 200",
        ]);
        cluster.configure(lines);
        cluster.start_server();
        Some(cluster)
    }

    fn in_new_folder(programs: PathBuf) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("mesh-postgres-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        // A run that was killed may have left a folder of this name.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder for the cluster");
        let account = account();
        if let Some((user, group)) = account {
            chown(&folder, Some(user), Some(group)).expect("the owner of the folder is changed");
        }
        Self { programs, folder, account, child: None }
    }

    fn data(&self) -> String {
        self.folder.join("data").display().to_string()
    }

    /// Returns a command for a program of PostgreSQL, under an account that may run it.
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

    /// Appends lines to the configuration, which take effect at the next start.
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

    /// Starts the server processes and waits until they accept connections.
    pub fn start_server(&mut self) {
        self.child = Some(self.spawn());
        wait_for("PostgreSQL starts", || {
            if self.query("SELECT 1").is_some() {
                return Ok(());
            }
            // Children of a killed server may still hold locks that the next one needs.
            if self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(Some(_)))) {
                self.child = Some(self.spawn());
            }
            Err(fs::read_to_string(self.folder.join("log")).unwrap_or_default())
        });
    }

    fn spawn(&self) -> Child {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.folder.join("log"));
        let log = log.expect("a log");
        let mut command = self.command("postgres");
        command
            .args(["-D", &self.data()])
            .stdout(log.try_clone().expect("a second handle of the log"))
            .stderr(log);
        command.spawn().expect("PostgreSQL starts")
    }

    /// Starts a replica of this cluster and waits until it accepts connections.
    #[must_use]
    pub fn replica(&self) -> Self {
        let mut replica = Self::in_new_folder(self.programs.clone());
        let (data, host) = (replica.data(), self.host());
        replica.run(
            "pg_basebackup",
            &["-D", &data, "-h", &host, "-U", USER, "-R", "-X", "stream", "-c", "fast"],
        );
        replica.configure(&["hot_standby = on"]);
        replica.start_server();
        replica
    }

    /// Makes a replica accept writes, and waits until it does.
    pub fn promote(&self) {
        let data = self.data();
        self.run("pg_ctl", &["promote", "-w", "-D", &data]);
    }

    /// Makes a running replica follow another primary.
    pub fn follow(&self, primary: &Self) {
        self.configure(&[&format!("primary_conninfo = 'host={} user={USER}'", primary.host())]);
        // The settings that `pg_basebackup` and `pg_rewind` have written there would take precedence.
        self.execute("ALTER SYSTEM RESET primary_conninfo; SELECT pg_reload_conf()");
    }

    /// Turns a former primary, which is stopped, into a replica of the cluster that was promoted in its place. Writes that the
    /// new primary lacks are discarded.
    pub fn rejoin(&mut self, primary: &Self) {
        // `pg_rewind` reads the timeline from the last checkpoint.
        primary.execute("CHECKPOINT");
        let (data, source) = (self.data(), format!("host={} user={USER} dbname=postgres", primary.host()));
        self.run(
            "pg_rewind",
            &["-D", &data, "--source-server", &source, "--write-recovery-conf", "--no-sync"],
        );
        // `pg_rewind` has replaced the configuration by that of the new primary.
        self.configure(&[]);
        self.start_server();
    }

    /// Returns the position up to which a replica has received the log.
    #[must_use]
    pub fn received(&self) -> Option<u64> {
        self.query("SELECT pg_last_wal_receive_lsn() - '0/0'")?.parse().ok()
    }

    /// Returns a URL of several clusters, with parameters.
    #[must_use]
    pub fn url_of(clusters: &[&Self], params: &str) -> String {
        let hosts: Vec<_> = clusters.iter().map(|cluster| cluster.host()).collect();
        format!("postgres://{USER}@/postgres?host={}&{params}", hosts.join(","))
    }

    /// Waits until a replica has applied all that this cluster has written.
    pub fn wait_for_replica(&self, replica: &Self) {
        wait_until("the replica has caught up", || {
            self.query("SELECT pg_current_wal_lsn()") == replica.query("SELECT pg_last_wal_replay_lsn()")
        });
    }

    /// Stops the cluster and waits for it to exit.
    pub fn stop(&mut self) {
        self.end("INT");
    }

    /// Kills the cluster, which simulates a power failure.
    pub fn kill(&mut self) {
        self.end("KILL");
        // The children exit by themselves when they notice.
        let _ = fs::remove_file(self.folder.join("data/postmaster.pid"));
    }

    fn end(&mut self, signal: &str) {
        let Some(mut child) = self.child.take() else { return };
        let _ = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        if !eventually(|| matches!(child.try_wait(), Ok(Some(_)))) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Runs statements; fails the test if they fail.
    pub fn execute(&self, statements: &str) {
        let path = self.folder.join("statements.sql");
        fs::write(&path, statements).expect("a file of statements");
        let file = path.display().to_string();
        let output = self.psql(&["-f", &file]).output().expect("psql runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}\n{statements}");
    }

    /// Returns the rows of a statement with `|` between the cells, or `None` if it fails.
    #[must_use]
    pub fn query(&self, statement: &str) -> Option<String> {
        let output = self.psql(&["-At", "-c", statement]).output().expect("psql runs");
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    }

    /// Returns the rows of a statement in another database, as [`Self::query`] does.
    #[must_use]
    pub fn query_in(&self, database: &str, statement: &str) -> Option<String> {
        let output = self.psql_of(database).args(["-At", "-c", statement]).output().expect("psql runs");
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    }

    /// Creates another database in the cluster and returns its URL.
    #[must_use]
    pub fn database(&self, name: &str, statements: &str) -> String {
        self.execute(&format!("CREATE DATABASE {name};\n\\connect {name}\n{statements}"));
        format!("postgres://{USER}@/{name}?host={}", self.host())
    }

    fn psql(&self, arguments: &[&str]) -> Command {
        let mut command = self.psql_of("postgres");
        command.args(arguments);
        command
    }

    fn psql_of(&self, database: &str) -> Command {
        let psql = self.programs.join("psql");
        let mut command = if psql.exists() { self.command("psql") } else { Command::new("psql") };
        command.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", &self.host(), "-U", USER, "-d", database]);
        command
    }

    /// Begins a transaction in a database, runs statements in it and leaves it open.
    ///
    /// # Panics
    /// The statements fail.
    #[must_use]
    pub fn transaction(&self, database: &str, statements: &str) -> Transaction {
        let mut command = self.psql_of(database);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("psql runs");
        let mut input = child.stdin.take().expect("the input of psql");
        let marker = format!("open {}", child.id());
        writeln!(input, "BEGIN;\n{statements};\nSET LOCAL application_name = '{marker}';")
            .expect("psql reads");
        let open = format!(
            "SELECT 1 FROM pg_stat_activity WHERE application_name = '{marker}' AND state = 'idle in transaction'"
        );
        wait_until("the statements have run", || self.query(&open).is_some_and(|found| !found.is_empty()));
        Transaction { child, input }
    }

    /// Opens a session, whose statements take less time than a program that is started for each.
    ///
    /// # Panics
    /// `psql` does not start.
    #[must_use]
    pub fn session(&self) -> Session {
        let mut command = self.psql_of("postgres");
        let command = command.args(["-At"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("psql runs");
        let input = child.stdin.take().expect("the input of psql");
        let output = BufReader::new(child.stdout.take().expect("the output of psql"));
        Session { child, input, output }
    }

    /// Waits until a session waits for a lock of another one.
    pub fn wait_for_lock(&self) {
        let waiting = "SELECT 1 FROM pg_stat_activity WHERE cardinality(pg_blocking_pids(pid)) > 0";
        wait_until("a session waits", || self.query(waiting).is_some_and(|found| !found.is_empty()));
    }

    fn host(&self) -> String {
        self.folder.display().to_string()
    }

    /// Returns the URL of the cluster's default database.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://{USER}@/postgres?host={}", self.host())
    }

    /// Returns the path of the cluster's socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.folder.join(".s.PGSQL.5432")
    }

    /// Returns user and group id of the cluster's programs, if they differ from those of the test.
    #[must_use]
    pub fn account(&self) -> Option<(u32, u32)> {
        self.account
    }

    /// Returns the cluster's folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// An open transaction, which is rolled back when this value is dropped.
#[derive(Debug)]
pub struct Transaction {
    child: Child,
    input: ChildStdin,
}

impl Transaction {
    /// Commits the transaction.
    pub fn commit(self) {
        let Self { mut child, mut input } = self;
        writeln!(input, "COMMIT;").expect("psql reads");
        drop(input);
        assert!(child.wait().expect("psql ends").success(), "the transaction is committed");
    }
}

/// An open session of `psql`, ended when this value is dropped.
#[derive(Debug)]
pub struct Session {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Session {
    /// Returns the rows of a statement with `|` between the cells.
    ///
    /// # Panics
    /// The statement fails.
    pub fn query(&mut self, statement: &str) -> String {
        const END: &str = "end of the rows";
        writeln!(self.input, "{statement};\n\\echo {END}").expect("psql reads");
        let mut rows = String::new();
        while !rows.ends_with(&format!("{END}\n")) {
            let read = self.output.read_line(&mut rows).expect("psql answers");
            assert!(read > 0, "psql ended: {statement}");
        }
        rows.truncate(rows.len() - END.len() - 1);
        rows.trim_end().to_owned()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.end("QUIT");
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Finds the folder of the programs: on the search path, or the newest version in the folder of Debian packages.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    if let Ok(versions) = fs::read_dir("/usr/lib/postgresql") {
        let mut versions: Vec<_> = versions.flatten().map(|entry| entry.path().join("bin")).collect();
        versions.sort();
        folders.extend(versions.into_iter().rev());
    }
    // An entry on the search path may be a link into the folder that has all programs.
    let real = |folder: &PathBuf| Some(fs::canonicalize(folder.join("initdb")).ok()?.parent()?.to_owned());
    folders.iter().filter_map(real).find(|folder| folder.join("postgres").exists())
}

/// Returns the unprivileged account that a cluster runs under if the test runs as root.
fn account() -> Option<(u32, u32)> {
    let user = fs::metadata("/proc/self").map(|it| it.uid()).unwrap_or(u32::MAX);
    if user != 0 {
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
    Some(find("postgres").or_else(|| find("nobody")).expect("an unprivileged account"))
}
