//! How is the program started, and how is it made to end?

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::client::{Connection, Request, Response};
use crate::fixture::{Database, TempDir};

/// A server that has not ended by then, having been asked to, is killed.
const PATIENCE: Duration = Duration::from_secs(15);

/// The program: it lies in the folder above that of the test's own program, and is built where it is missing.
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
            build.args(["build", "-p", "mesh-server", "--bin", "mesh-server"]);
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

/// The program, with none of this process's `MESH_` variables and no log.
#[must_use]
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(program());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("MESH_") {
            command.env_remove(name);
        }
    }
    command.args(arguments).env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

/// Runs a command of the program to its end.
#[must_use]
pub fn run(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the program runs")
}

/// A running server, which ends with this value.
#[derive(Debug)]
pub struct Server {
    child: Child,
    /// Kept open, for a program whose output is closed may end.
    stdout: BufReader<ChildStdout>,
    /// Where it listens.
    pub address: SocketAddr,
    /// The base path that it printed.
    pub base: String,
    /// Kept for as long as the server may read in it.
    folder: Option<Arc<TempDir>>,
}

impl Server {
    /// Serves a database with no other setting.
    #[must_use]
    pub fn of(database: &Database) -> Self {
        let mut server = Self::start(&["--database", &database.url()]);
        server.folder = Some(Arc::clone(&database.dir));
        server
    }

    /// Starts `mesh-server serve` with these arguments at a free port and waits until it is ready.
    #[must_use]
    pub fn start(arguments: &[&str]) -> Self {
        let mut all = vec!["serve", "--listen", "127.0.0.1:0", "--log", "off"];
        all.extend_from_slice(arguments);
        Self::spawn(command(&all).stderr(Stdio::inherit()))
    }

    /// Starts a command that serves, and waits until it is ready.
    #[must_use]
    pub fn spawn(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the program starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("the server's first line");
        let place = place_in(&line);
        let place = place.unwrap_or_else(|| panic!("the server did not start: {line:?}, {:?}", child.wait()));
        let (address, base) = place.find('/').map_or((place, ""), |slash| place.split_at(slash));
        let address = address.parse().expect("an address");
        let base = base.to_owned();
        Self { child, stdout, address, base, folder: None }
    }

    /// Starts a command that serves and waits until it is ready; says what came instead where it is not. The
    /// folder is kept for as long as the server runs.
    pub fn try_spawn(command: &mut Command, folder: Option<Arc<TempDir>>) -> Result<Self, String> {
        let child = command.stdout(Stdio::piped()).spawn();
        let mut child =
            child.map_err(|error| format!("cannot start {:?}: {error}", command.get_program()))?;
        let mut stdout = BufReader::new(child.stdout.take().ok_or("it has no output")?);
        let mut line = String::new();
        let read = stdout.read_line(&mut line);
        let place = place_in(&line).filter(|_| read.is_ok());
        let Some((address, base)) =
            place.map(|place| place.find('/').map_or((place, ""), |at| place.split_at(at)))
        else {
            let _ = child.kill();
            return Err(format!("{line:?}, {:?}", child.wait()));
        };
        let base = base.to_owned();
        match address.parse() {
            Ok(address) => Ok(Self { child, stdout, address, base, folder }),
            Err(_) => {
                let _ = child.kill();
                Err(format!("no address: {line:?}, {:?}", child.wait()))
            }
        }
    }

    /// A read by GET of a path under the base.
    #[must_use]
    pub fn get(&self, path: &str, query: &str) -> Response {
        self.send(&Request::get(&self.path(path), query))
    }

    /// The path with the base before it.
    #[must_use]
    pub fn path(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Sends one request over a connection of its own.
    #[must_use]
    pub fn send(&self, request: &Request) -> Response {
        self.connect().send(request)
    }

    /// Opens a connection.
    #[must_use]
    pub fn connect(&self) -> Connection {
        Connection::open(self.address)
    }

    /// What it logs, where its command has standard error as a pipe; once.
    #[must_use]
    pub fn log(&mut self) -> Option<std::process::ChildStderr> {
        self.child.stderr.take()
    }

    /// The id of its process.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by its name, such as `TERM`.
    pub fn signal(&self, name: &str) {
        let process = self.child.id().to_string();
        let status = Command::new("kill").args([&format!("-{name}"), &process]).status().expect("kill runs");
        assert!(status.success(), "no signal sent to process {process}");
    }

    /// Waits for the end; kills a server that does not end by itself and fails the test.
    pub fn wait(&mut self) -> ExitStatus {
        self.ended().unwrap_or_else(|| {
            let _ = self.child.kill();
            panic!("the server did not end within {PATIENCE:?}")
        })
    }

    /// What was printed after the first line; to be asked for once the server has ended.
    #[must_use]
    pub fn rest_of_output(&mut self) -> String {
        let mut rest = String::new();
        let _ = std::io::Read::read_to_string(&mut self.stdout, &mut rest);
        rest
    }

    fn ended(&mut self) -> Option<ExitStatus> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().expect("the state of the child") {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        None
    }
}

/// Address and base path of the line that a server prints when it is ready.
fn place_in(line: &str) -> Option<&str> {
    let url = line.trim_end().strip_prefix("listening on ")?;
    url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"))
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
