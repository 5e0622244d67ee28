//! How is a page's command run? In one shell that keeps its variables from block to block.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::compare;
use crate::fixture::TempDir;
use crate::server::program;

/// A command that is not done by then is stuck.
const PATIENCE: Duration = Duration::from_secs(60);

/// What stands on the path as `mesh-server`: the built program, at the address that the page means where a command
/// names none.
const STAND_IN: &str = r#"#!/bin/sh
named=no
previous=
for argument in "$@"; do
  case "$argument" in --listen*|--url*) named=yes ;; esac
  if [ "$previous" = --config ] && grep -q '^listen' "$argument" 2>/dev/null; then named=yes; fi
  previous=$argument
done
command=$1
if [ $named = no ]; then
  case "$command" in
    serve|demo) shift; set -- "$command" --listen ADDRESS "$@" ;;
    query|upload) shift; set -- "$command" --url http://ADDRESS/mesh "$@" ;;
  esac
fi
exec PROGRAM "$@"
"#;

/// A running shell, which ends with this value and takes along what it has started.
pub(super) struct Shell {
    child: Child,
    input: ChildStdin,
    answers: Receiver<String>,
    /// Where its files lie that are none of the page's.
    own: PathBuf,
    steps: u32,
    /// The servers that run, by their port.
    servers: Vec<(String, String)>,
    /// What the last stream writes to, and the lines of it that were seen.
    stream: Option<(PathBuf, usize)>,
    /// The address of commands that name none.
    address: String,
}

/// Whether a command of a script is one that does not end by itself.
pub(super) fn goes_on(command: &str) -> bool {
    let words = command.split_whitespace().skip_while(|word| word.contains('='));
    let words: Vec<&str> = words.take(2).collect();
    matches!(words.as_slice(), ["mesh-server", "serve" | "demo"])
}

/// Whether a command prints for as long as it is let.
pub(super) fn streams(command: &str) -> bool {
    command.starts_with("curl ")
        && command.split_whitespace().any(|word| matches!(word, "-N" | "-sN" | "-Ns"))
}

impl Shell {
    /// Starts a shell in a folder `page` of the one given.
    pub(super) fn start(folder: &TempDir, port: u16) -> Self {
        let (own, page) = (folder.path().join("own"), folder.path().join("page"));
        for folder in [&own, &page] {
            fs::create_dir_all(folder).expect("a folder");
        }
        let address = format!("127.0.0.1:{port}");
        let script =
            STAND_IN.replace("ADDRESS", &address).replace("PROGRAM", &format!("'{}'", program().display()));
        executable(&own.join("bin"), "mesh-server", &script);
        // curl shows its progress unless it writes to a terminal or is told not to; and asks the proxy of this machine.
        fs::write(own.join(".curlrc"), "silent\nshow-error\nnoproxy = \"*\"\n").expect("a file");
        let mut command = Command::new("bash");
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("MESH_") {
                command.env_remove(name);
            }
        }
        let path = std::env::var("PATH").unwrap_or_default();
        command.args(["--noprofile", "--norc"]).current_dir(&page).process_group(0);
        // Debian keeps nginx and the like where only root looks.
        command.env("PATH", format!("{}:{path}:/usr/sbin:/sbin", own.join("bin").display()));
        command.env("CURL_HOME", &own).env("HOME", &own).env("NO_COLOR", "1").env("LC_ALL", "C.UTF-8");
        command.env("no_proxy", "*").env("MESH_LOG", "warn");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("bash starts");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self { child, input, answers, own, steps: 0, servers: Vec::new(), stream: None, address }
    }

    /// Runs a command that has to succeed; returns what it printed.
    pub(super) fn must(&mut self, command: &str) -> Result<String, String> {
        match self.step(command, true)? {
            (printed, 0) => Ok(printed),
            (printed, status) => Err(format!("{command}\nends with status {status}:\n{printed}")),
        }
    }

    /// Runs a command; returns what it printed, and its status.
    pub(super) fn run(&mut self, command: &str) -> Result<(String, i32), String> {
        self.step(command, false)
    }

    fn step(&mut self, command: &str, strict: bool) -> Result<(String, i32), String> {
        if goes_on(command) {
            return self.serve(command).map(|printed| (printed, 0));
        }
        self.steps += 1;
        let (script, output) = (self.file("sh"), self.file("out"));
        // A name that is not set is a mistake of the page; so is a command in the middle that fails.
        let strictness = if strict { "set -e\n" } else { "" };
        fs::write(&script, format!("{strictness}{command}\n")).map_err(|error| error.to_string())?;
        let (script, out) = (script.display(), output.display());
        let answer = self.send(&format!(". '{script}' >'{out}' 2>&1 </dev/null; printf '%s\\n' $?; set +eu"));
        let printed = read(&output);
        match answer {
            Ok(status) => Ok((printed, status.parse().unwrap_or(-1))),
            Err(RecvTimeoutError::Disconnected) => Err(format!("{command}\nfails:\n{printed}")),
            Err(RecvTimeoutError::Timeout) => {
                Err(format!("{command}\nis not done within {PATIENCE:?}:\n{printed}"))
            }
        }
    }

    /// Starts a server and waits until it is ready; returns what it printed by then. One that runs at its port ends.
    fn serve(&mut self, command: &str) -> Result<String, String> {
        let place = self.place(command);
        if let Some(at) = self.servers.iter().position(|(other, _)| *other == place) {
            let (_, process) = self.servers.swap_remove(at);
            self.send(&format!("kill {process}; wait {process} 2>/dev/null; echo ended"))
                .map_err(|e| e.to_string())?;
        }
        let (process, output) = self.spawn(command)?;
        let start = Instant::now();
        loop {
            let printed = read(&output);
            if printed.lines().any(|line| line.starts_with("listening on ")) {
                // What comes right after that line, such as the calls of the demo, is printed in one go.
                std::thread::sleep(Duration::from_millis(50));
                self.servers.push((place, process));
                return Ok(read(&output));
            }
            let alive = Path::new("/proc").join(&process).exists() || !Path::new("/proc").exists();
            if !alive || start.elapsed() > PATIENCE {
                let log = read(&output.with_extension("log"));
                return Err(format!("{command}\nis not ready:\n{printed}{log}"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The address that a server will have: a flag's, else the settings file's, else what commands mean.
    fn place(&self, command: &str) -> String {
        let after = |flag| command.split_whitespace().skip_while(move |word| *word != flag).nth(1);
        let of_file = || {
            let settings = read(&self.own.with_file_name("page").join(after("--config")?));
            let line = settings.lines().find_map(|line| line.strip_prefix("listen = "))?;
            line.split('"').nth(1).map(str::to_owned)
        };
        after("--listen").map(str::to_owned).or_else(of_file).unwrap_or_else(|| self.address.clone())
    }

    /// Starts a command that prints for as long as it is let.
    pub(super) fn background(&mut self, command: &str) -> Result<(), String> {
        let (_, output) = self.spawn(command)?;
        self.stream = Some((output, 0));
        Ok(())
    }

    /// Waits until the stream has gone on like this.
    pub(super) fn stream(&mut self, expected: &str) -> Result<(), String> {
        let Some((output, seen)) = &mut self.stream else { return Err("no stream is open".to_owned()) };
        let start = Instant::now();
        loop {
            let printed = read(output);
            let new: Vec<&str> = printed.lines().skip(*seen).skip_while(|line| line.is_empty()).collect();
            if let Some(count) = compare::begins(expected, &new.join("\n")) {
                *seen = printed.lines().count() - new.len() + count;
                return Ok(());
            }
            if start.elapsed() > PATIENCE / 4 {
                return Err(format!(
                    "the page shows\n{expected}\nbut the stream printed\n{}",
                    new.join("\n")
                ));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Starts a command beside the shell; returns its process and the file of its output.
    fn spawn(&mut self, command: &str) -> Result<(String, PathBuf), String> {
        self.steps += 1;
        let (output, log) = (self.file("out"), self.file("log"));
        // The line break ends a comment behind the command; `exec env` makes the process the command's own.
        let text = format!(
            "( exec >'{}' 2>'{}' </dev/null; exec env {command}\n) & echo $!",
            output.display(),
            log.display()
        );
        let process = self.send(&text).map_err(|error| format!("{command}\n{error}"))?;
        Ok((process, output))
    }

    fn file(&self, kind: &str) -> PathBuf {
        self.own.join(format!("step-{}.{kind}", self.steps))
    }

    /// Gives the shell a line and waits for its answer of one line.
    fn send(&mut self, line: &str) -> Result<String, RecvTimeoutError> {
        // A shell that has ended is told by its missing answer.
        let _ = writeln!(self.input, "{line}").and_then(|()| self.input.flush());
        self.answers.recv_timeout(PATIENCE)
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let group = format!("-{}", self.child.id());
        for signal in ["-TERM", "-KILL"] {
            let mut kill = Command::new("kill");
            let _ = kill.args([signal, "--", &group]).stderr(Stdio::null()).status();
            let start = Instant::now();
            let rest = || Command::new("kill").args(["-0", "--", &group]).stderr(Stdio::null()).status();
            while start.elapsed() < Duration::from_secs(5) {
                let _ = self.child.try_wait();
                if !rest().is_ok_and(|status| status.success()) {
                    return;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        let _ = self.child.wait();
    }
}

fn executable(folder: &Path, name: &str, text: &str) {
    fs::create_dir_all(folder).expect("a folder");
    let path = folder.join(name);
    fs::write(&path, text).expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
}

/// What a file holds by now.
fn read(path: &Path) -> String {
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}
