//! The measured servers: started, queried, observed and stopped.

pub(super) mod alternatives;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use super::Setup;
use super::machine::{CpuTime, cores, memory};
use super::workload::read::Read;
use super::workload::{Workload, account};

/// A running server, which is stopped on drop.
pub(crate) struct Peer {
    child: Child,
    cpu: CpuTime,
    address: String,
}

impl Peer {
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
