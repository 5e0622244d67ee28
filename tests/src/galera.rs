//! Galera clusters of MariaDB in temporary folders, removed at the end of the test.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::port::free_port;
use crate::{MariaDb, TempDir, skip, wait_until};

/// The library that replicates, where Debian has it.
const PROVIDER: &str = "/usr/lib/galera/libgalera_smm.so";

/// The option of the node that the other nodes join.
const NEW_CLUSTER: &str = "--wsrep-new-cluster";

/// Passes the position of a node to a joining node, which then receives the transactions since its own position. The scripts
/// of MariaDB that copy all data need further programs.
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

/// How soon a node that does not respond is excluded; the default is five seconds.
const EXCLUSION: &str = "evs.keepalive_period=PT0.2S;evs.inactive_check_period=PT0.2S;evs.suspect_timeout=PT1.5S;evs.inactive_timeout=PT15S";

/// A cluster, stopped and removed when this value is dropped.
#[derive(Debug)]
pub struct Galera {
    nodes: Vec<Node>,
    /// The folder with the program of [`TRANSFER`].
    programs: TempDir,
}

#[derive(Debug)]
struct Node {
    server: MariaDb,
    port: u16,
    /// The address at which the others of the cluster reach it.
    address: String,
}

impl Galera {
    /// Starts a cluster of this many nodes with an empty database. Returns `None` if it is not installed.
    #[must_use]
    pub fn start(size: usize) -> Option<Self> {
        if !Path::new(PROVIDER).exists() {
            skip("Galera", "install Debian's galera-4");
            return None;
        }
        let node = || {
            let (port, address) = (free_port(), format!("127.0.0.1:{}", free_port()));
            Some(Node { server: MariaDb::prepare()?, port, address })
        };
        let programs = TempDir::new();
        let mut this = Self { nodes: (0..size).map(|_| node()).collect::<Option<_>>()?, programs };
        let program = this.programs.write("wsrep_sst_position", TRANSFER);
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("the program can be run");

        let addresses: Vec<_> = this.nodes.iter().map(|node| node.address.clone()).collect();
        let path =
            format!("{}:{}", this.programs.path().display(), std::env::var("PATH").unwrap_or_default());
        for node in &mut this.nodes {
            node.server.options = options(node, &addresses.join(","));
            node.server.variables = vec![("PATH".to_owned(), path.clone())];
        }
        this.seed();
        this.start_node_with(0, &[NEW_CLUSTER]);
        for index in 1..size {
            this.start_node_with(index, &[]);
        }
        Some(this)
    }

    /// Gives each node the data of a node that was in a cluster, because such data has a position.
    fn seed(&mut self) {
        self.start_node_with(0, &[NEW_CLUSTER]);
        let (first, others) = self.nodes.split_first_mut().expect("a node");
        first.server.create_database();
        first.server.stop();
        let data = first.server.data();
        fs::remove_file(Path::new(&data).join("galera.cache")).expect("the cache is removed");
        for node in others {
            fs::remove_dir_all(node.server.data()).expect("the data is removed");
            let copied = Command::new("cp").args(["-R", &data, &node.server.data()]).status();
            assert!(copied.expect("cp runs").success(), "the data is copied");
        }
    }

    fn start_node_with(&mut self, index: usize, options: &[&str]) {
        let node = self.node_mut(index);
        node.start_server_with(options);
        wait_until("the node is ready", || {
            node.query_in("", "SHOW STATUS LIKE 'wsrep_ready'").is_some_and(|status| status.ends_with("ON"))
        });
    }

    /// Kills a node.
    pub fn kill(&mut self, index: usize) {
        self.node_mut(index).kill();
    }

    /// Starts a node that was killed, and waits until it is a part of the cluster.
    pub fn start_node(&mut self, index: usize) {
        // The log of its engine has the position up to which its data is complete.
        let recovered = self.node(index).server_command().arg("--wsrep-recover").output();
        let log = recovered.expect("MariaDB runs").stderr;
        let log = String::from_utf8_lossy(&log);
        let position = log.lines().find_map(|line| line.split_once("Recovered position:"));
        let (_, position) = position.unwrap_or_else(|| panic!("no position: {log}"));
        self.start_node_with(index, &[&format!("--wsrep-start-position={}", position.trim())]);
    }

    /// Returns the URL of the database with the nodes in this order.
    #[must_use]
    pub fn url(&self, order: &[usize]) -> String {
        let nodes = order.iter().filter_map(|index| self.nodes.get(*index));
        let hosts: Vec<String> = nodes.map(|node| format!("127.0.0.1:{}", node.port)).collect();
        format!("mysql://root@{}/mesh?ssl-mode=disabled", hosts.join(","))
    }

    /// Returns a node.
    #[must_use]
    pub fn node(&self, index: usize) -> &MariaDb {
        &self.nodes.get(index).expect("a node with this number").server
    }

    fn node_mut(&mut self, index: usize) -> &mut MariaDb {
        &mut self.nodes.get_mut(index).expect("a node with this number").server
    }
}

/// Returns the options of a node.
fn options(node: &Node, addresses: &str) -> Vec<String> {
    let Node { port, address, .. } = node;
    let provider = [
        format!("gmcast.listen_addr=tcp://{address}"),
        format!("ist.recv_addr=127.0.0.1:{}", free_port()),
        "gcache.size=16M".to_owned(),
        "pc.recovery=false".to_owned(),
        EXCLUSION.to_owned(),
    ];
    vec![
        "--skip-networking=0".to_owned(),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--port={port}"),
        "--binlog-format=ROW".to_owned(),
        "--innodb-autoinc-lock-mode=2".to_owned(),
        "--wsrep-on=ON".to_owned(),
        format!("--wsrep-provider={PROVIDER}"),
        format!("--wsrep-cluster-address=gcomm://{addresses}"),
        format!("--wsrep-node-address={address}"),
        format!("--wsrep-node-incoming-address=127.0.0.1:{port}"),
        "--wsrep-sst-method=position".to_owned(),
        format!("--wsrep-provider-options={}", provider.join(";")),
    ]
}
