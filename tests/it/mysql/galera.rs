//! Galera: three nodes, each of which has all the data and accepts writes.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mesh_tests::{Galera, Request, Response, Server, TempDir, command, eventually};
use serde_json::{Value, json};

const POSTS: &str = "CREATE TABLE posts (id int PRIMARY KEY, title varchar(100) NOT NULL); INSERT INTO posts VALUES (0, 'zero')";
/// Starts a server with the nodes in this order.
fn serve(cluster: &Galera, order: &[usize], folder: &TempDir) -> Server {
    let entity = json!({"table": "posts", "fields": ["id", "title"], "writable": true});
    let schema = folder.write("schema.json", &json!({"entities": {"post": entity}}).to_string());
    let settings = ["--database", &cluster.url(order), "--schema", &schema, "--mutations"];
    let server = ["serve", "--listen", "127.0.0.1:0", "--log", "warn"];
    Server::spawn(&mut command(&[&server[..], &settings].concat()))
}

fn write(server: &Server, method: &str, path: &str, body: &Value) -> Response {
    server.send(&Request::json(method, &server.path(path), body.to_string()))
}

fn title(server: &Server, id: u32) -> Response {
    server.get(&format!("/post/{id}"), r#"{"post":{"$select":{"title":true}}}"#)
}

#[test]
fn a_cluster_answers_while_any_node_is_killed() {
    let Some(mut cluster) = Galera::start(3) else { return };
    cluster.node(1).execute(POSTS);
    let folder = TempDir::new();
    let servers = [serve(&cluster, &[0, 1, 2], &folder), serve(&cluster, &[1, 2, 0], &folder)];
    own_writes_are_read_on_every_server(&servers);
    conflicts_are_tried_again(&cluster, &servers);
    for node in 0..3 {
        clients_are_answered_without(&mut cluster, &servers, node);
    }
}

fn own_writes_are_read_on_every_server([one, other]: &[Server; 2]) {
    for number in 0..50 {
        let body = json!({"title": format!("title {number}")});
        let (writer, reader) = if number % 2 == 0 { (one, other) } else { (other, one) };
        assert_eq!(write(writer, "PUT", "/post/0", &body).status, 200);
        assert_eq!(title(reader, 0).json(), body);
    }
}

/// Two servers write the same record to different nodes. The second commit fails and is tried again.
fn conflicts_are_tried_again(cluster: &Galera, servers: &[Server; 2]) {
    thread::scope(|scope| {
        for server in servers {
            scope.spawn(move || {
                let mut written = 0;
                while written < 60 {
                    let reply = write(server, "PUT", "/post/0", &json!({"title": written.to_string()}));
                    // A write that fails in each of its tries is answered with 503.
                    assert!(matches!(reply.status, 200 | 503), "{}", reply.text());
                    written += u32::from(reply.status == 200);
                }
            });
        }
    });
    let conflicts = |name: &str| -> u64 {
        let shown =
            (0..3).map(|node| cluster.node(node).query(&format!("SHOW STATUS LIKE '{name}'")).unwrap());
        shown.map(|status| status.rsplit('\t').next().unwrap().parse::<u64>().unwrap()).sum()
    };
    assert!(conflicts("wsrep_local_cert_failures") + conflicts("wsrep_local_bf_aborts") > 0);
    let stored = (0..3)
        .map(|node| cluster.node(node).query("SET SESSION wsrep_sync_wait = 1; SELECT title FROM posts"));
    assert_eq!(stored.collect::<BTreeSet<_>>().len(), 1, "all nodes have the same record");
}

/// Kills a node under load, and starts it again. No read fails, no acknowledged write is lost.
fn clients_are_answered_without(cluster: &mut Galera, servers: &[Server; 2], node: usize) {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let ends = AtomicBool::new(false);
    let [reads, writes] = [(); 2].map(|()| AtomicU32::new(0));
    let (written, gaps) = thread::scope(|scope| {
        let clients: Vec<_> = servers
            .iter()
            .zip([&servers[1], &servers[0]])
            .map(|(server, other)| {
                let (ends, reads, writes) = (&ends, &reads, &writes);
                let reader = scope.spawn(move || {
                    let (mut last, mut gap) = (Instant::now(), Duration::ZERO);
                    while !ends.load(Ordering::SeqCst) {
                        let read = title(server, 0);
                        assert_eq!(read.status, 200, "{}", read.text());
                        gap = gap.max(last.elapsed());
                        last = Instant::now();
                        reads.fetch_add(1, Ordering::SeqCst);
                    }
                    gap
                });
                let writer = scope.spawn(move || {
                    let (mut last, mut gap) = (Instant::now(), Duration::ZERO);
                    let mut written = Vec::new();
                    while !ends.load(Ordering::SeqCst) {
                        let id = NEXT.fetch_add(1, Ordering::SeqCst);
                        let reply = write(server, "POST", "/post", &json!({"id": id, "title": "new"}));
                        if reply.status != 201 {
                            let is_unknown = reply.status == 500 && reply.json()["code"] == "OUTCOME_UNKNOWN";
                            assert!(is_unknown || reply.status == 503, "{}", reply.text());
                            continue;
                        }
                        assert_eq!(
                            title(other, id).json(),
                            json!({"title": "new"}),
                            "it is read on the other server"
                        );
                        written.push(id);
                        gap = gap.max(last.elapsed());
                        last = Instant::now();
                        writes.fetch_add(1, Ordering::SeqCst);
                    }
                    (written, gap)
                });
                (reader, writer)
            })
            .collect();
        // A client that fails ends the test.
        let has_failed =
            || clients.iter().any(|(reader, writer)| reader.is_finished() || writer.is_finished());
        let more = |count: u32| {
            let before = [&reads, &writes].map(|counter| counter.load(Ordering::SeqCst));
            let have_succeeded = || {
                let now = [&reads, &writes].map(|counter| counter.load(Ordering::SeqCst));
                now.iter().zip(before).all(|(now, before)| *now > before + count)
            };
            eventually(|| has_failed() || have_succeeded())
        };
        let mut succeeds = more(20);
        cluster.kill(node);
        succeeds &= more(40);
        if !has_failed() {
            cluster.start_node(node);
        }
        succeeds &= more(20);
        ends.store(true, Ordering::SeqCst);
        let (mut written, mut gaps) = (Vec::new(), Vec::new());
        for (reader, writer) in clients {
            gaps.push(("reads", reader.join().unwrap()));
            let (ids, gap) = writer.join().unwrap();
            written.extend(ids);
            gaps.push(("writes", gap));
        }
        assert!(succeeds, "requests succeed again after node {node} was killed");
        (written, gaps)
    });
    eprintln!("without node {node}: {} records, longest times without success {gaps:?}", written.len());
    for node in 0..3 {
        let stored =
            cluster.node(node).query("SET SESSION wsrep_sync_wait = 1; SELECT id FROM posts").unwrap();
        let stored: BTreeSet<u32> = stored.lines().map(|line| line.parse().unwrap()).collect();
        let lost: Vec<_> = written.iter().filter(|id| !stored.contains(id)).collect();
        assert!(lost.is_empty(), "node {node} lost {lost:?}");
    }
}
