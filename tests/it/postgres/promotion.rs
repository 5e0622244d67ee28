//! Two servers over three hosts with synchronous replication, while primaries are killed and standbys promoted.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::Instant;

use mesh_tests::{Cluster, Request, Server, TempDir, wait_until};

use super::network::wait_for_data;
use crate::events;

use super::failover::{Load, SCHEMA, TABLES, read_name, try_send, write_name};

/// A commit is acknowledged when one of the standbys has received it. `pg_rewind` needs the hints and the segments.
const REPLICATION: &[&str] =
    &["synchronous_standby_names = 'ANY 1 (*)'", "wal_log_hints = on", "wal_keep_size = 64MB"];
const NAME: &str = r#"{"user":{"$select":{"name":true}}}"#;
/// Three hosts of one database.
struct Hosts {
    clusters: [Cluster; 3],
    primary: usize,
}

impl Hosts {
    fn start() -> Option<Self> {
        let primary = Cluster::start_with(REPLICATION)?;
        let standbys = [primary.replica(), primary.replica()];
        primary.execute(TABLES);
        let [one, other] = standbys;
        Some(Self { clusters: [primary, one, other], primary: 0 })
    }

    fn url(&self) -> String {
        let clusters: Vec<_> = self.clusters.iter().collect();
        Cluster::url_of(&clusters, "target_session_attrs=read-write")
    }

    fn primary(&self) -> &Cluster {
        &self.clusters[self.primary]
    }

    fn kill_primary(&mut self) {
        self.clusters[self.primary].kill();
    }

    /// Promotes the standby that has received more of the log, as a cluster manager does, and makes the other one follow it.
    fn promote(&mut self) {
        let standbys = (0..self.clusters.len()).filter(|host| *host != self.primary);
        let first = standbys.max_by_key(|host| self.clusters[*host].received()).unwrap();
        let former = std::mem::replace(&mut self.primary, first);
        self.primary().promote();
        for other in (0..self.clusters.len()).filter(|host| ![first, former].contains(host)) {
            self.clusters[other].follow(self.primary());
        }
    }

    /// Makes a former primary a standby.
    fn rejoin(&mut self, former: usize) {
        let [low, high] = [former.min(self.primary), former.max(self.primary)];
        let (left, right) = self.clusters.split_at_mut(high);
        let (former_is_low, low, high) = (former == low, &mut left[low], &mut right[0]);
        if former_is_low { low.rejoin(high) } else { high.rejoin(low) }
    }
}

#[test]
fn reads_continue_and_writes_resume_when_a_standby_is_promoted() {
    let Some(mut hosts) = Hosts::start() else { return };
    let folder = TempDir::new();
    let schema = folder.write("schema.json", SCHEMA);
    let config = folder.write("mesh.toml", "mutations.enabled = true\n");
    let url = hosts.url();
    let serve = || Server::start(&["--config", &config, "--database", &url, "--schema", &schema]);
    let (one, other) = (serve(), serve());
    let load = Load::start(vec![one.address, other.address]);
    let mut stream = events::open(&other, "/user/2/events", NAME);
    wait_for_data(&mut stream, r#"{"name":"Bo"}"#);
    load.wait_for_reads("at first");
    load.wait_for_writes("at first");
    for turn in ["first", "second"] {
        let former = hosts.primary;
        hosts.kill_primary();
        load.wait_for_reads(&format!("without the {turn} primary"));
        let ready = try_send(one.address, &Request::get("/readyz", "")).expect("a reply");
        assert_eq!(ready.0, 200, "{}", ready.1);
        let start = Instant::now();
        hosts.promote();
        load.wait_for_writes(&format!("after the {turn} promotion"));
        eprintln!("writes were answered {:?} after the {turn} promotion began", start.elapsed());
        load.wait_for_reads(&format!("after the {turn} promotion"));
        let acknowledged = load.written.load(Ordering::SeqCst);
        let stored = hosts.primary().query("SELECT name FROM users WHERE id = 3").unwrap();
        assert!(
            stored.parse::<usize>().unwrap() >= acknowledged,
            "{acknowledged} acknowledged, {stored} stored"
        );

        hosts.rejoin(former);
        assert_eq!(write_name(one.address, turn).map(|(status, _)| status), Some(200));
        wait_until("the former primary has the write", || {
            hosts.clusters[former].query("SELECT name FROM users WHERE id = 2").as_deref() == Some(turn)
        });
        load.wait_for_writes("with all hosts");
        let name = format!(r#"{{"name":"{turn}"}}"#);
        wait_for_data(&mut stream, &name);
        assert_eq!(read_name(other.address), Some((200, name)));
    }
    assert_eq!(load.unavailable.load(Ordering::Relaxed), 0, "no read is refused");
    load.end();
}

/// The primary is killed while a commit waits for a standby.
#[test]
fn a_write_that_may_have_been_made_is_not_repeated_and_says_so() {
    let Some(mut primary) = Cluster::start() else { return };
    primary.execute(TABLES);
    let standby = primary.replica();
    primary.wait_for_replica(&standby);
    let folder = TempDir::new();
    let schema = folder.write("schema.json", SCHEMA);
    let config = folder.write("mesh.toml", "mutations.enabled = true\n");
    let url = Cluster::url_of(&[&standby, &primary], "target_session_attrs=read-write");
    let server = Server::start(&["--config", &config, "--database", &url, "--schema", &schema]);
    assert_eq!(write_name(server.address, "Bea").map(|(status, _)| status), Some(200));
    primary.execute("ALTER SYSTEM SET synchronous_standby_names = 'nothing'; SELECT pg_reload_conf()");
    let (status, body) = thread::scope(|scope| {
        let writing = scope.spawn(|| write_name(server.address, "Bob").expect("a reply"));
        wait_until("the commit waits", || {
            let waiting =
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query = 'COMMIT'";
            primary.query(waiting).as_deref() == Some("1")
        });
        primary.kill();
        writing.join().unwrap()
    });
    assert!(status == 500 && body.contains("OUTCOME_UNKNOWN"), "{status} {body}");

    // Without a primary a write is refused and has no effect.
    let reply = server.send(&Request::json("PUT", "/mesh/user/2", r#"{"name": "Bert"}"#));
    assert_eq!((reply.status, reply.header("retry-after").is_some()), (503, true), "{}", reply.text());
    let (status, body) = read_name(server.address).expect("a reply");
    assert!(status == 200 && !body.contains("Bert"), "{status} {body}");
    let ready = server.send(&Request::get("/readyz", "")).text();
    assert!(ready.contains(r#""database":{"status":"warned""#), "{ready}");
}
