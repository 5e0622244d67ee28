//! The measured servers: started, queried, observed and stopped.

pub(super) mod alternatives;

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::Setup;
use super::machine::{CpuTime, cores, memory};
use super::request::Kind;
use super::workload::read::Read;
use super::workload::{Workload, account};

/// A running server, which is stopped on drop.
pub(crate) struct Peer {
    child: Child,
    cpu: CpuTime,
    address: String,
}

impl Peer {
    /// Starts a server and waits until it prints its address.
    pub(crate) fn start(setup: &Setup, data: &Path, kind: Kind, workload: &Workload) -> Result<Self, String> {
        let core_list = setup.cores.for_server(workload.placement);
        if kind == Kind::Mesh {
            let mut command = Self::mesh(setup, workload, core_list.as_deref());
            command.args(["--database", &format!("sqlite:{}", data.display())]);
            return Self::spawn(&mut command);
        }
        if kind == Kind::Datasette {
            return alternatives::datasette(setup, data, core_list.as_deref());
        }
        let program = if kind == Kind::GraphQl { "graphql" } else { "limit" };
        let mut command = cores::command(&setup.peers.join(program), core_list.as_deref());
        command.arg("--database").arg(data).args(["--workload", &workload.read.peer()]);
        match kind {
            Kind::Constant => command.args(["--variant", "joined", "--constant", "yes"]),
            other => command.args(["--variant", other.name()]),
        };
        Self::spawn(&mut command)
    }

    /// Returns the command of the server, without its database.
    pub(crate) fn mesh(setup: &Setup, workload: &Workload, core_list: Option<&str>) -> Command {
        let mut command = cores::command(&setup.server, core_list);
        command.args(["serve", "--listen", "127.0.0.1:0", "--threads", &workload.threads.to_string()]);
        command.args(["--log", "off", "--schema"]).arg(&setup.schema);
        command.env("MESH_CACHE__RESPONSES", workload.cache);
        command.env("MESH_LIMITS__PAGE_MAX", "100000").env("MESH_LIMITS__ROWS", "1000000");
        command.env("MESH_STATE__STORE", "memory");
        if workload.read.is_write() {
            command.env("MESH_MUTATIONS__ENABLED", "true");
        }
        if workload.read == Read::Export {
            command.env("MESH_EXPORT__ENABLED", "true");
        }
        if workload.is_signed() {
            command.envs(account::SETTINGS);
        }
        command
    }

    /// Starts a program that prints its address, and waits for that.
    pub(crate) fn spawn(command: &mut Command) -> Result<Self, String> {
        let program = command.get_program().display().to_string();
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().map_err(|error| format!("cannot start {program}: {error}"))?;
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            BufReader::new(out).read_line(&mut line).map_err(|error| error.to_string())?;
        }
        let address = line.trim().strip_prefix("listening on http://");
        let address = address.and_then(|rest| rest.split('/').next()).unwrap_or_default().to_owned();
        let peer = Self { cpu: CpuTime::new(child.id()), child, address };
        if peer.address.is_empty() {
            return Err(format!("{program} does not start; it printed '{}'", line.trim()));
        }
        Ok(peer)
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Returns the processor time used so far.
    pub(crate) fn cpu_seconds(&mut self) -> Result<f64, String> {
        self.cpu.seconds()
    }

    /// Returns the resident memory in bytes.
    pub(crate) fn resident(&self) -> Result<u64, String> {
        memory(self.child.id(), "RssAnon")
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
