//! Starting and stopping the program.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mesh_conformance::http::{Connection, Request, Response};

use crate::fixture::{Database, TempDir};
use crate::wait::{PATIENCE, eventually};

/// Returns the path of the program, one folder above the test binary. Builds the program if it does not exist.
#[must_use]
pub fn program() -> &'static PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let test = std::env::current_exe().expect("the test's own path");
        let profile = test.parent().and_then(|deps| deps.parent()).expect("a folder above the test's");
        let program = profile.join(format!("mesh-server{}", std::env::consts::EXE_SUFFIX));
        if !program.exists() {
            let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
            let mut build = Command::new(cargo);
            build.args(["build", "-p", "mesh-cli", "--bin", "mesh-server"]);
            if profile.file_name().is_some_and(|name| name == "release") {
                build.arg("--release");
            }
            if let Some(target) = profile.parent() {
                build.arg("--target-dir").arg(target);
            }
            let status = build.current_dir(env!("CARGO_MANIFEST_DIR")).status().expect("cargo runs");
            assert!(status.success(), "mesh-server does not build");
        }
        program
    })
}

/// Returns a command that runs the program without the `MESH_` variables of this process.
#[must_use]
pub fn command(arguments: &[&str]) -> Command {
    let mut command = without_settings(program());
    command.args(arguments).env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

/// Returns a command without the `MESH_` variables of this process, which a server would take for settings.
#[must_use]
pub fn without_settings(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("MESH_") {
            command.env_remove(name);
        }
    }
    command
}

/// Runs the program to completion.
#[must_use]
pub fn run(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the program runs")
}

/// A running server, stopped when this value is dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    /// Kept open: a program may exit when its output is closed.
    stdout: BufReader<ChildStdout>,
    /// The address that the server listens on.
    pub address: SocketAddr,
    /// The base path that the server printed.
    pub base: String,
    /// Kept for as long as the server may read from it.
    folder: Option<Arc<TempDir>>,
}

impl Server {
    /// Serves a database with default settings.
    #[must_use]
    pub fn with_database(database: &Database) -> Self {
        let mut server = Self::start(&["--database", &database.url()]);
        server.folder = Some(Arc::clone(&database.dir));
        server
    }

    /// Starts `mesh-server serve` with these arguments on a free port and waits until it is ready.
    #[must_use]
    pub fn start(arguments: &[&str]) -> Self {
        let mut all = vec!["serve", "--listen", "127.0.0.1:0", "--log", "off"];
        all.extend_from_slice(arguments);
        Self::spawn(command(&all).stderr(Stdio::inherit()))
    }

    /// Starts a command that serves, and waits until it is ready.
    #[must_use]
    pub fn spawn(command: &mut Command) -> Self {
        Self::try_spawn(command, None).unwrap_or_else(|error| panic!("the server did not start: {error}"))
    }

    /// Starts a command that serves and waits until it is ready. `folder` is kept for as long as the server runs.
    ///
    /// # Errors
    /// Returns what the command printed instead of the line that says that it is ready.
    pub fn try_spawn(command: &mut Command, folder: Option<Arc<TempDir>>) -> Result<Self, String> {
        let child = command.stdout(Stdio::piped()).spawn();
        let mut child =
            child.map_err(|error| format!("cannot start {:?}: {error}", command.get_program()))?;
        let mut stdout = BufReader::new(child.stdout.take().ok_or("it has no output")?);
        let mut line = String::new();
        let read = stdout.read_line(&mut line);
        let Some((address, base)) = parse_ready_line(&line).filter(|_| read.is_ok()) else {
            let _ = child.kill();
            return Err(format!("{line:?}, {:?}", child.wait()));
        };
        Ok(Self { child, stdout, address, base, folder })
    }

    /// Sends a GET read of a path under the base path.
    #[must_use]
    pub fn get(&self, path: &str, query: &str) -> Response {
        self.send(&Request::get(&self.path(path), query))
    }

    /// Prepends the base path.
    #[must_use]
    pub fn path(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Sends one request over a new connection.
    #[must_use]
    pub fn send(&self, request: &Request) -> Response {
        self.connect().send(request)
    }

    /// Opens a connection.
    #[must_use]
    pub fn connect(&self) -> Connection {
        Connection::connect(self.address)
    }

    /// Takes the server's standard error, if its command has a pipe for it.
    #[must_use]
    pub fn log(&mut self) -> Option<std::process::ChildStderr> {
        self.child.stderr.take()
    }

    /// Returns the process id.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Returns the CPU time that the process has used. Linux counts it in hundredths of a second.
    #[must_use]
    pub fn cpu_time(&self) -> Duration {
        let stat =
            std::fs::read_to_string(format!("/proc/{}/stat", self.process())).expect("the process runs");
        let (_, fields) = stat.rsplit_once(") ").expect("the name of the program");
        let ticks = fields.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<u64>().expect("ticks"));
        Duration::from_millis(10 * ticks.sum::<u64>())
    }

    /// Returns the resident memory of the process in bytes.
    #[must_use]
    pub fn memory(&self) -> u64 {
        self.memory_status("VmRSS:")
    }

    /// Returns the most resident memory that the process has had, in bytes.
    #[must_use]
    pub fn peak_memory(&self) -> u64 {
        self.memory_status("VmHWM:")
    }

    fn memory_status(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process()));
        let status = status.expect("the process runs");
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a size of memory");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
    }

    /// Sends a signal by its name, such as `TERM`.
    pub fn signal(&self, name: &str) {
        let process = self.child.id().to_string();
        let status = Command::new("kill").args([&format!("-{name}"), &process]).status().expect("kill runs");
        assert!(status.success(), "no signal sent to process {process}");
    }

    /// Waits for the server to exit. Kills a server that does not exit in time and fails the test.
    pub fn wait(&mut self) -> ExitStatus {
        self.ended().unwrap_or_else(|| {
            let _ = self.child.kill();
            panic!("the server did not exit within {PATIENCE:?}")
        })
    }

    /// Returns what was printed after the first line. Call it after the server has exited.
    #[must_use]
    pub fn rest_of_output(&mut self) -> String {
        let mut rest = String::new();
        let _ = std::io::Read::read_to_string(&mut self.stdout, &mut rest);
        rest
    }

    fn ended(&mut self) -> Option<ExitStatus> {
        let mut status = None;
        eventually(|| {
            status = self.child.try_wait().expect("the state of the child");
            status.is_some()
        });
        status
    }
}

/// Parses address and base path from the line that a server prints when it is ready.
fn parse_ready_line(line: &str) -> Option<(SocketAddr, String)> {
    let url = line.trim_end().strip_prefix("listening on ")?;
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"))?;
    let (address, base) = rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash));
    Some((address.parse().ok()?, base.to_owned()))
}

impl Drop for Server {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        self.signal("TERM");
        if self.ended().is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
