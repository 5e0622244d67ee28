//! A pgbouncer in transaction mode for one test, with its socket in the cluster's folder.

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::{Cluster, skip, wait_for};

/// The port number in the socket's name.
const PORT: u16 = 6432;

/// A running pooler, stopped when this value is dropped.
#[derive(Debug)]
pub struct Pooler {
    child: Child,
    folder: PathBuf,
}

impl Pooler {
    /// Starts a pooler with `connections` server connections in front of a cluster. Returns `None` if pgbouncer is
    /// not installed; fails the test instead if `MESH_REQUIRE_SERVICES` is set.
    #[must_use]
    pub fn start(cluster: &Cluster, connections: usize) -> Option<Self> {
        let Some(program) = program() else {
            skip("pgbouncer", "install Debian's pgbouncer");
            return None;
        };
        let folder = cluster.folder().join("pooler");
        fs::create_dir_all(&folder).expect("a folder for the pooler");
        let (host, path) = (cluster.folder().display(), folder.display());
        let settings = format!(
            "[databases]\n* = host={host} user=mesh\n[pgbouncer]\nlisten_port = {PORT}\nunix_socket_dir = {path}\n\
             auth_type = any\npool_mode = transaction\ndefault_pool_size = {connections}\nmax_client_conn = 200\n\
             pidfile = {path}/pid\nlogfile = {path}/log\n"
        );
        let file = folder.join("pgbouncer.ini");
        fs::write(&file, settings).expect("the settings of the pooler");
        let mut command = Command::new(program);
        if let Some((user, group)) = cluster.account() {
            for path in [&folder, &file] {
                chown(path, Some(user), Some(group)).expect("the owner of the folder is changed");
            }
            command.uid(user).gid(group);
        }
        command.arg("-q").arg(&file).current_dir(&folder);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("the pooler starts");
        let pooler = Self { child, folder };
        let socket = pooler.folder.join(format!(".s.PGSQL.{PORT}"));
        wait_for("the pooler starts", || {
            let log = || fs::read_to_string(pooler.folder.join("log")).unwrap_or_default();
            if socket.exists() { Ok(()) } else { Err(log()) }
        });
        Some(pooler)
    }

    /// Returns the database URL through the pooler.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://mesh@/postgres?host={}&port={PORT}", self.folder.display())
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    folders.map(|folder| folder.join("pgbouncer")).find(|program| program.exists())
}
