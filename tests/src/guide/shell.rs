//! The shell that runs the commands of a page and keeps its variables from block to block.

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
use crate::server::{program, without_settings};
use crate::wait::PATIENCE;

/// The script installed as `mesh-server`: it runs the built program and adds the page's address to commands that name
/// none.
const WRAPPER: &str = r#"#!/bin/sh
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

/// A running shell, killed with all processes that it has started when this value is dropped.
pub(super) struct Shell {
    child: Child,
    input: ChildStdin,
    answers: Receiver<String>,
    /// The folder of scripts and outputs, apart from the page's files.
    work_dir: PathBuf,
    steps: u32,
    /// The running servers: address and process id.
    servers: Vec<(String, String)>,
    /// The output file of the last stream, and how many of its lines were compared.
    stream: Option<(PathBuf, usize)>,
    /// The default address of commands.
    address: String,
}

/// Returns whether a command starts a server, which does not exit by itself.
pub(super) fn is_server(command: &str) -> bool {
    let words = command.split_whitespace().skip_while(|word| word.contains('='));
    let words: Vec<&str> = words.take(2).collect();
    matches!(words.as_slice(), ["mesh-server", "serve" | "demo"])
}

/// Returns whether a command prints until it is stopped.
pub(super) fn is_stream(command: &str) -> bool {
    command.starts_with("curl ")
        && command.split_whitespace().any(|word| matches!(word, "-N" | "-sN" | "-Ns"))
}

impl Shell {
    /// Starts a shell in the subfolder `page` of a folder.
    pub(super) fn start(folder: &TempDir, port: u16) -> Self {
        let (work_dir, page) = (folder.path().join("shell"), folder.path().join("page"));
        for folder in [&work_dir, &page] {
            fs::create_dir_all(folder).expect("a folder");
        }
        let address = format!("127.0.0.1:{port}");
        let script =
            WRAPPER.replace("ADDRESS", &address).replace("PROGRAM", &format!("'{}'", program().display()));
        executable(&work_dir.join("bin"), "mesh-server", &script);
        // Without these settings curl would print its progress and use the proxy of this machine.
        fs::write(work_dir.join(".curlrc"), "silent\nshow-error\nnoproxy = \"*\"\n").expect("a file");
        let mut command = without_settings("bash");
        let path = std::env::var("PATH").unwrap_or_default();
        command.args(["--noprofile", "--norc"]).current_dir(&page).process_group(0);
        // Debian installs nginx in a folder that is on the path of root only.
        command.env("PATH", format!("{}:{path}:/usr/sbin:/sbin", work_dir.join("bin").display()));
        command
            .env("CURL_HOME", &work_dir)
            .env("HOME", &work_dir)
            .env("NO_COLOR", "1")
            .env("LC_ALL", "C.UTF-8");
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
        Self { child, input, answers, work_dir, steps: 0, servers: Vec::new(), stream: None, address }
    }

    /// Runs a command that has to succeed and returns its output.
    pub(super) fn run_checked(&mut self, command: &str) -> Result<String, String> {
        match self.step(command, true)? {
            (printed, 0) => Ok(printed),
            (printed, status) => Err(format!("{command}\nends with status {status}:\n{printed}")),
        }
    }

    /// Runs a command and returns its output and status.
    pub(super) fn run(&mut self, command: &str) -> Result<(String, i32), String> {
        self.step(command, false)
    }

    fn step(&mut self, command: &str, strict: bool) -> Result<(String, i32), String> {
        if is_server(command) {
            return self.serve(command).map(|printed| (printed, 0));
        }
        self.steps += 1;
        let (script, output) = (self.file("sh"), self.file("out"));
        // A failing command in the middle of a block is an error of the page.
        let strictness = if strict { "set -e\n" } else { "" };
        fs::write(&script, format!("{strictness}{command}\n")).map_err(|error| error.to_string())?;
        let (script, out) = (script.display(), output.display());
        let answer = self.send(&format!(". '{script}' >'{out}' 2>&1 </dev/null; printf '%s\\n' $?; set +eu"));
        let printed = read(&output);
        match answer {
            Ok(status) => Ok((printed, status.parse().unwrap_or(-1))),
            Err(RecvTimeoutError::Disconnected) => Err(format!("{command}\nfails:\n{printed}")),
            Err(RecvTimeoutError::Timeout) => {
                Err(format!("{command}\ndid not exit within {PATIENCE:?}:\n{printed}"))
            }
        }
    }

    /// Starts a server, waits until it is ready, and returns what it printed. Stops a server on the same address first.
    fn serve(&mut self, command: &str) -> Result<String, String> {
        let address = self.server_address(command);
        if let Some(at) = self.servers.iter().position(|(other, _)| *other == address) {
            let (_, process) = self.servers.swap_remove(at);
            self.send(&format!("kill {process}; wait {process} 2>/dev/null; echo ended"))
                .map_err(|e| e.to_string())?;
        }
        let (process, output) = self.spawn(command)?;
        let start = Instant::now();
        loop {
            let printed = read(&output);
            if printed.lines().any(|line| line.starts_with("listening on ")) {
                // The rest of the greeting, such as the calls of the demo, is printed in the same write.
                std::thread::sleep(Duration::from_millis(50));
                self.servers.push((address, process));
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

    /// Returns the address that a server will listen on: that of the flag, of the settings file, or the default.
    fn server_address(&self, command: &str) -> String {
        let after = |flag| command.split_whitespace().skip_while(move |word| *word != flag).nth(1);
        let of_file = || {
            let settings = read(&self.work_dir.with_file_name("page").join(after("--config")?));
            let line = settings.lines().find_map(|line| line.strip_prefix("listen = "))?;
            line.split('"').nth(1).map(str::to_owned)
        };
        after("--listen").map(str::to_owned).or_else(of_file).unwrap_or_else(|| self.address.clone())
    }

    /// Starts a command that prints until it is stopped.
    pub(super) fn background(&mut self, command: &str) -> Result<(), String> {
        let (_, output) = self.spawn(command)?;
        self.stream = Some((output, 0));
        Ok(())
    }

    /// Waits until the stream has printed the expected lines.
    pub(super) fn stream(&mut self, expected: &str) -> Result<(), String> {
        let Some((output, seen)) = &mut self.stream else { return Err("no stream is open".to_owned()) };
        let start = Instant::now();
        loop {
            let printed = read(output);
            let new: Vec<&str> = printed.lines().skip(*seen).skip_while(|line| line.is_empty()).collect();
            if let Some(count) = compare::matching_prefix(expected, &new.join("\n")) {
                *seen = printed.lines().count() - new.len() + count;
                return Ok(());
            }
            if start.elapsed() > PATIENCE {
                return Err(format!(
                    "the page shows\n{expected}\nbut the stream printed\n{}",
                    new.join("\n")
                ));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Starts a command in the background; returns its process id and output file.
    fn spawn(&mut self, command: &str) -> Result<(String, PathBuf), String> {
        self.steps += 1;
        let (output, log) = (self.file("out"), self.file("log"));
        // The line break ends a comment after the command; `exec env` replaces the subshell by the command.
        let text = format!(
            "( exec >'{}' 2>'{}' </dev/null; exec env {command}\n) & echo $!",
            output.display(),
            log.display()
        );
        let process = self.send(&text).map_err(|error| format!("{command}\n{error}"))?;
        Ok((process, output))
    }

    fn file(&self, kind: &str) -> PathBuf {
        self.work_dir.join(format!("step-{}.{kind}", self.steps))
    }

    /// Sends a line to the shell and waits for one line of output.
    fn send(&mut self, line: &str) -> Result<String, RecvTimeoutError> {
        // If the shell has exited, receiving fails below.
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

/// Reads a file; empty if it does not exist.
fn read(path: &Path) -> String {
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}
