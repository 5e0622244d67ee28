//! The measured servers: started, queried, observed and stopped.

use std::fmt;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::request::Request;
use super::workload::Workload;
use super::{Ground, account, cores};

/// A kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The hand-written server over hyper and SQLite.
    Limit,
    /// mesh-server.
    Mesh,
    /// hyper with constant bytes.
    Constant,
    /// async-graphql on axum.
    GraphQl,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Limit, Self::Mesh, Self::Constant, Self::GraphQl];

    pub(crate) fn named(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| {
            format!("unknown server '{name}'; the servers are limit, mesh, constant and graphql")
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::Mesh => "mesh",
            Self::Constant => "constant",
            Self::GraphQl => "graphql",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A running server, which is stopped on drop.
pub(crate) struct Peer {
    child: Child,
    address: String,
}

impl Peer {
    /// Starts a server and waits until it prints its address.
    pub(crate) fn start(
        ground: &Ground,
        data: &Path,
        kind: Kind,
        workload: &Workload,
    ) -> Result<Self, String> {
        let program = match kind {
            Kind::Limit | Kind::Constant => ground.peers.join("limit"),
            Kind::GraphQl => ground.peers.join("graphql"),
            Kind::Mesh => ground.server.clone(),
        };
        let mut command = cores::command(&program, ground.cores.for_server(workload.placing).as_deref());
        if kind == Kind::Mesh {
            command.args(["serve", "--listen", "127.0.0.1:0", "--threads", &workload.threads.to_string()]);
            command.args(["--database", &format!("sqlite:{}", data.display()), "--log", "off"]);
            command.env("MESH_CACHE__RESPONSES", workload.cache);
            command.env("MESH_LIMITS__PAGE_MAX", "100000").env("MESH_LIMITS__ROWS", "1000000");
            command.env("MESH_STATE__STORE", "memory");
            if ground.cores.deliver_to_server_cores(workload.placing) {
                command.env("MESH_PIN_THREADS", "true");
            }
            if workload.is_signed() {
                command.envs(account::SETTINGS);
            }
        } else {
            command.arg("--database").arg(data);
        }
        if kind == Kind::Constant {
            command.args(["--constant", &workload.peer_path(1)]);
        }
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", program.display()))?;
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            BufReader::new(out).read_line(&mut line).map_err(|error| error.to_string())?;
        }
        let address =
            line.trim().strip_prefix("listening on http://").and_then(|rest| rest.split('/').next());
        match address {
            Some(address) => Ok(Self { child, address: address.to_owned() }),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                Err(format!("{kind} does not start; it printed '{}'", line.trim()))
            }
        }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Sends a request and returns the body of the reply.
    pub(crate) fn ask(&self, request: &Request) -> Result<Value, String> {
        ask(&self.address, request)
    }

    /// Returns the processor time used so far, from the scheduler statistics of each thread. Threads that have ended
    /// only count in the statistics of the process, which have a resolution of 10 ms.
    pub(crate) fn cpu_seconds(&mut self) -> Result<f64, String> {
        let folder = format!("/proc/{}/task", self.child.id());
        let threads = fs::read_dir(&folder).map_err(|error| format!("cannot read {folder}: {error}"))?;
        let nanos = threads.flatten().filter_map(|thread| {
            let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
            text.split_whitespace().next()?.parse::<u64>().ok()
        });
        let nanos: u64 = nanos.sum();
        Ok(self.cpu_ticks()?.max(nanos as f64 / 1e9))
    }

    fn cpu_ticks(&self) -> Result<f64, String> {
        let path = format!("/proc/{}/stat", self.child.id());
        let text = fs::read_to_string(&path).map_err(|error| format!("cannot read {path}: {error}"))?;
        let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |place: usize| fields.get(place).and_then(|text| text.parse::<f64>().ok());
        Ok((ticks(11).unwrap_or_default() + ticks(12).unwrap_or_default()) / 100.0)
    }

    /// Returns the resident memory in bytes.
    pub(crate) fn resident(&self) -> Result<u64, String> {
        let path = format!("/proc/{}/status", self.child.id());
        let text = fs::read_to_string(&path).map_err(|error| format!("cannot read {path}: {error}"))?;
        let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        Ok(kilobytes.unwrap_or_default() * 1024)
    }
}

/// Sends a request to an address and returns the body of the reply.
pub(crate) fn ask(address: &str, request: &Request) -> Result<Value, String> {
    let failed = |error: std::io::Error| format!("cannot send a request to {address}: {error}");
    let mut stream = TcpStream::connect(address).map_err(failed)?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).map_err(failed)?;
    let text = request.text().replacen("\r\n", "\r\nConnection: close\r\n", 1);
    stream.write_all(text.as_bytes()).map_err(failed)?;
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).map_err(failed)?;
    let reply = String::from_utf8_lossy(&reply);
    let (head, body) = reply.split_once("\r\n\r\n").unwrap_or((&reply, ""));
    if !head.starts_with("HTTP/1.1 200") {
        return Err(format!("unexpected reply: {reply}"));
    }
    serde_json::from_str(body).map_err(|error| format!("not JSON: {error}: {body}"))
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
