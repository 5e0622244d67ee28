//! Servers over SQLite.

use std::path::Path;

use super::Setup;
use super::machine::cores;
use super::peer::{Peer, alternatives};
use super::request::Kind;
use super::workload::Workload;

/// Starts a server over a database file, and waits until it prints its address.
pub(crate) fn start(setup: &Setup, data: &Path, kind: Kind, workload: &Workload) -> Result<Peer, String> {
    let core_list = setup.cores.for_server(workload.placement);
    if kind == Kind::Mesh {
        let mut command = Peer::mesh(setup, workload, core_list.as_deref());
        command.args(["--database", &format!("sqlite:{}", data.display())]);
        return Peer::spawn(&mut command);
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
    Peer::spawn(&mut command)
}
