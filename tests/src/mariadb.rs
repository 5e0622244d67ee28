//! MariaDB servers in temporary folders, removed at the end of the test.
//!
//! A server listens on a Unix socket in its folder only. If MariaDB is not installed, tests are skipped with a message, or fail
//! if `MESH_REQUIRE_SERVICES` is set.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{Part, TempDir, eventually, skip, wait_for};

/// The account of clients, which has no password.
const USER: &str = "root";
/// The database that a server begins with.
const DATABASE: &str = "mesh";
/// The size of the log, which the folder of a server contains.
const LOG_SIZE: &str = "--innodb-log-file-size=16M";

/// A running server, stopped and removed when this value is dropped.
#[derive(Debug)]
pub struct MariaDb {
    server: PathBuf,
    folder: PathBuf,
    pub(crate) options: Vec<String>,
    /// Environment variables of the server.
    pub(crate) variables: Vec<(String, String)>,
    child: Option<Child>,
}

impl MariaDb {
    /// Starts a server with an empty database. Returns `None` if MariaDB is not installed.
    #[must_use]
    pub fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    /// Starts a server with further options.
    #[must_use]
    pub fn start_with(options: &[&str]) -> Option<Self> {
        let mut this = Self::prepare()?;
        this.options = options.iter().map(|option| (*option).to_owned()).collect();
        this.start_server();
        this.create_database();
        Some(this)
    }

    /// Returns a server with empty data that has not been started.
    pub(crate) fn prepare() -> Option<Self> {
        if Part::Engines.is_left_out() {
            return None;
        }
        let Some(server) = program("mariadbd") else {
            skip("MariaDB", "install Debian's mariadb-server");
            return None;
        };
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("mesh-mariadb-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = base().join(&name);
        // A run that was killed may have left a folder of this name.
        let _ = fs::remove_dir_all(&folder);
        // A server deletes temporary tables in its folder when it starts, those of other servers too.
        fs::create_dir_all(folder.join("tmp")).expect("a folder for the server");
        let this = Self { server, folder, options: Vec::new(), variables: Vec::new(), child: None };
        let template = template(&name);
        let copied = Command::new("cp").arg("-R").arg(&template).arg(this.data()).status().expect("cp runs");
        assert!(copied.success(), "{} is copied", template.display());
        Some(this)
    }

    /// Creates the database of [`MariaDb::url`].
    pub(crate) fn create_database(&self) {
        self.execute_in("", &format!("CREATE DATABASE {DATABASE} {}", Self::COLLATION));
    }

    /// The collation of new databases, under which only equal texts are equal, as in the other databases of the tests.
    pub const COLLATION: &'static str = "CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin";

    pub(crate) fn data(&self) -> String {
        self.folder.join("data").display().to_string()
    }

    /// Starts the server process and waits until it accepts connections.
    pub fn start_server(&mut self) {
        self.start_server_with(&[]);
    }

    /// Starts the server process with further options and waits until it accepts connections.
    pub(crate) fn start_server_with(&mut self, options: &[&str]) {
        self.spawn_server_with(options);
        wait_for("MariaDB starts", || {
            let answer = self.client("").args(["-e", "SELECT 1"]).output().expect("the client runs");
            if answer.status.success() { Ok(()) } else { Err(self.log()) }
        });
    }

    /// Starts the server process with further options.
    pub(crate) fn spawn_server_with(&mut self, options: &[&str]) {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.folder.join("log"));
        let log = log.expect("a log");
        let mut command = self.server_command();
        command.args(options).stdout(log.try_clone().expect("a second handle of the log")).stderr(log);
        self.child = Some(command.spawn().expect("MariaDB starts"));
    }

    /// Returns the command of the server.
    pub(crate) fn server_command(&self) -> Command {
        let mut command = Command::new(&self.server);
        command
            .args(["--no-defaults", "--user=root", "--skip-networking", "--skip-log-bin"])
            .args(["--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=32M", "--sync-frm=0"])
            .args([LOG_SIZE, "--max-connections=400"])
            .args(&self.options)
            .arg(format!("--datadir={}", self.data()))
            .arg(format!("--tmpdir={}", self.folder.join("tmp").display()))
            .arg(format!("--socket={}", self.socket().display()))
            .arg(format!("--pid-file={}", self.folder.join("pid").display()))
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        command
    }

    /// Returns what the server has logged.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Stops the server and waits for it to exit.
    pub fn stop(&mut self) {
        self.end("TERM");
    }

    /// Kills the server, which simulates a power failure.
    pub fn kill(&mut self) {
        self.end("KILL");
    }

    fn end(&mut self, signal: &str) {
        let Some(mut child) = self.child.take() else { return };
        let _ = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        if !eventually(|| matches!(child.try_wait(), Ok(Some(_)))) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    fn client(&self, database: &str) -> Command {
        let mut command = Command::new("mariadb");
        command.args(["--no-defaults", "--user", USER, "--default-character-set=utf8mb4"]);
        command.arg(format!("--socket={}", self.socket().display())).arg(format!("--database={database}"));
        command.stdin(Stdio::null());
        command
    }

    /// Runs statements in the database; fails the test if they fail.
    pub fn execute(&self, statements: &str) {
        self.execute_in(DATABASE, statements);
    }

    /// Loads time zones from the files of the system.
    pub fn load_zones(&self, zones: &[&str]) {
        let tool = program("mariadb-tzinfo-to-sql").expect("mariadb-tzinfo-to-sql");
        for zone in zones {
            let file = format!("/usr/share/zoneinfo/{zone}");
            let output = Command::new(&tool).args([&file, *zone]).output().expect("the tool runs");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            self.execute_in("mysql", &String::from_utf8_lossy(&output.stdout));
        }
    }

    fn execute_in(&self, database: &str, statements: &str) {
        let mut client = self.client(database);
        let client = client.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = client.spawn().expect("the client runs");
        child.stdin.take().expect("its input").write_all(statements.as_bytes()).expect("it reads");
        let output = child.wait_with_output().expect("the client ends");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}\n{statements}");
    }

    /// Returns the rows of a statement with tabs between the cells, or `None` if it fails.
    #[must_use]
    pub fn query(&self, statement: &str) -> Option<String> {
        self.query_in(DATABASE, statement)
    }

    /// Returns the rows of a statement in a database, or in none if its name is empty.
    pub(crate) fn query_in(&self, database: &str, statement: &str) -> Option<String> {
        let output = self.client(database).args(["-N", "-B", "-e", statement]).output();
        let output = output.expect("the client runs");
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    }

    /// Creates another database and returns its URL.
    #[must_use]
    pub fn database(&self, name: &str, statements: &str) -> String {
        self.execute_in("", &format!("CREATE DATABASE {name} {}", Self::COLLATION));
        self.execute_in(name, statements);
        self.url_of(name)
    }

    /// Returns the URL of the server's first database.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_of(DATABASE)
    }

    fn url_of(&self, database: &str) -> String {
        format!("mysql://{USER}@localhost/{database}?socket={}", self.socket().display())
    }

    /// Returns the path of the server's socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }

    /// Returns the server's folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        self.end("KILL");
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Finds a program on the search path, or where Debian has the programs of servers.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    folders.map(|folder| folder.join(name)).find(|path| path.exists())
}

/// Returns the folder for the folders of servers. A server waits for the disk whenever it creates or drops a table, so it is in
/// memory if there is room.
fn base() -> PathBuf {
    /// Enough for some servers that run at the same time, in units of 1024 bytes.
    const ROOM: u64 = 1 << 20;
    let memory = Path::new("/dev/shm");
    let output = Command::new("df").args(["-k", "--output=avail"]).arg(memory).stderr(Stdio::null()).output();
    let shown = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let free = shown.lines().last().and_then(|line| line.trim().parse::<u64>().ok());
    if free.is_some_and(|free| free > ROOM) { memory.to_owned() } else { std::env::temp_dir() }
}

/// Returns the data of a new server, which takes seconds to create. It is kept with the build. `unused` is a name that no other
/// test uses.
fn template(unused: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    let template = folder.join("mariadb");
    if template.exists() {
        return template;
    }
    let (own, temporary) = (folder.join(unused), TempDir::new());
    let _ = fs::remove_dir_all(&own);
    fs::create_dir_all(&folder).expect("the folder of the build");
    let output = Command::new(program("mariadb-install-db").expect("mariadb-install-db"))
        .args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db", LOG_SIZE])
        .arg(format!("--datadir={}", own.display()))
        .arg(format!("--tmpdir={}", temporary.path().display()))
        .output()
        .expect("mariadb-install-db runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    if fs::rename(&own, &template).is_err() {
        // Another test was faster.
        let _ = fs::remove_dir_all(&own);
    }
    template
}
