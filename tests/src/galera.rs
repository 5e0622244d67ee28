//! Galera clusters of MariaDB in temporary folders, removed at the end of the test.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::port::free_port;
use crate::{MariaDb, skip, wait_until};

/// The library that replicates, where Debian has it.
const PROVIDER: &str = "/usr/lib/galera/libgalera_smm.so";

/// Passes the position of a node on to one that joins, which then receives the transactions since its own position. The scripts of
/// MariaDB that copy all data need further programs.
const TRANSFER: &str = r#"#!/bin/sh
while [ $# -gt 0 ]; do
    case "$1" in
        --role) role=$2; shift ;;
        --address) address=$2; shift ;;
        --gtid) position=$2; shift ;;
        --datadir) data=$2; shift ;;
        --bypass) bypass=1 ;;
        --mysqld-args) break ;;
    esac
    shift
done
if [ "$role" = joiner ]; then
    rm -f "$data/position"
    mkfifo "$data/position"
    echo "ready $data/position"
    cat "$data/position"
else
    [ -n "$bypass" ] || exit 1
    echo "$position" > "$address"
    echo "done $position"
fi
"#;

/// How soon a node that does not respond is excluded; the defaults are five times as long.
const EXCLUSION: &str = "evs.keepalive_period=PT0.2S;evs.inactive_check_period=PT0.2S;evs.suspect_timeout=PT1S;evs.inactive_timeout=PT3S";

/// A cluster, stopped and removed when this value is dropped.
#[derive(Debug)]
pub struct Galera {
    nodes: Vec<MariaDb>,
    ports: Vec<u16>,
    /// The folder with the program of [`TRANSFER`], which is in that of the first node.
    programs: PathBuf,
}

impl Galera {
    /// Starts a cluster of this many nodes with an empty database. Returns `None` if it is not installed.
    #[must_use]
    pub fn start(size: usize) -> Option<Self> {
        if !Path::new(PROVIDER).exists() {
            skip("Galera", "install Debian's galera-4");
            return None;
        }
        let mut nodes: Vec<MariaDb> = (0..size).map(|_| MariaDb::prepare()).collect::<Option<_>>()?;
        let ports: Vec<u16> = nodes.iter().map(|_| free_port()).collect();
        let group: Vec<u16> = nodes.iter().map(|_| free_port()).collect();
        let addresses: Vec<String> = group.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        for (index, (node, address)) in nodes.iter_mut().zip(&addresses).enumerate() {
            let (port, transfer) = (ports[index], free_port());
            node.options = [
                "--skip-networking=0".to_owned(),
                "--bind-address=127.0.0.1".to_owned(),
                format!("--port={port}"),
                "--binlog-format=ROW".to_owned(),
                "--innodb-autoinc-lock-mode=2".to_owned(),
                "--wsrep-on=ON".to_owned(),
                format!("--wsrep-provider={PROVIDER}"),
                "--wsrep-cluster-name=mesh".to_owned(),
                format!("--wsrep-cluster-address=gcomm://{}", addresses.join(",")),
                format!("--wsrep-node-name=n{index}"),
                format!("--wsrep-node-address={address}"),
                format!("--wsrep-node-incoming-address=127.0.0.1:{port}"),
                "--wsrep-sst-method=position".to_owned(),
                format!(
                    "--wsrep-provider-options=base_port={};gmcast.listen_addr=tcp://{address};\
                     ist.recv_addr=127.0.0.1:{transfer};gcache.size=16M;pc.recovery=false;{EXCLUSION}",
                    group[index],
                ),
            ]
            .into();
        }
        let programs = nodes[0].folder().join("programs");
        fs::create_dir(&programs).expect("a folder for the program");
        let program = programs.join("wsrep_sst_position");
        fs::write(&program, TRANSFER).expect("the program is written");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("the program can be run");

        let mut this = Self { nodes, ports, programs };
        this.seed();
        this.start_node_with(0, &["--wsrep-new-cluster"]);
        for index in 1..size {
            this.start_node_with(index, &[]);
        }
        Some(this)
    }

    /// Gives each node the data of one that was in a cluster, which has a position.
    fn seed(&mut self) {
        self.start_node_with(0, &["--wsrep-new-cluster"]);
        let (first, others) = self.nodes.split_first_mut().expect("a node");
        first.create_database();
        first.stop();
        fs::remove_file(Path::new(&first.data()).join("galera.cache")).expect("the cache is removed");
        for node in others {
            fs::remove_dir_all(node.data()).expect("the data is removed");
            let copied = Command::new("cp").args(["-R", &first.data(), &node.data()]).status();
            assert!(copied.expect("cp runs").success(), "the data is copied");
        }
    }

    fn start_node_with(&mut self, index: usize, options: &[&str]) {
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", self.programs.display());
        let node = &mut self.nodes[index];
        node.variables = vec![("PATH".to_owned(), path)];
        node.start_server_with(options);
        wait_until("the node is ready", || {
            node.query("SHOW STATUS LIKE 'wsrep_ready'").is_some_and(|status| status.ends_with("ON"))
        });
    }

    /// Kills a node.
    pub fn kill(&mut self, index: usize) {
        self.nodes[index].kill();
    }

    /// Starts a node that was killed, and waits until it is a part of the cluster.
    pub fn start_node(&mut self, index: usize) {
        // Its data does not say up to which transaction it is complete; the log of the engine does.
        let recovered = self.nodes[index].server_command().arg("--wsrep-recover").output();
        let log = recovered.expect("MariaDB runs").stderr;
        let log = String::from_utf8_lossy(&log).into_owned();
        let position = log.lines().find_map(|line| line.split_once("Recovered position:"));
        let (_, position) = position.unwrap_or_else(|| panic!("no position: {log}"));
        self.start_node_with(index, &[&format!("--wsrep-start-position={}", position.trim())]);
    }

    /// Returns the URL of the database with the nodes in this order.
    #[must_use]
    pub fn url(&self, order: &[usize]) -> String {
        let hosts: Vec<String> =
            order.iter().map(|index| format!("127.0.0.1:{}", self.ports[*index])).collect();
        format!("mysql://root@{}/mesh?ssl-mode=disabled", hosts.join(","))
    }

    /// Returns a node.
    #[must_use]
    pub fn node(&self, index: usize) -> &MariaDb {
        &self.nodes[index]
    }
}
