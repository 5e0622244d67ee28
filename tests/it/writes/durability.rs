//! Files of the database after a shutdown and after a crash.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mesh_tests::{Connection, Request, Server, wait_until};

use super::Shop;

#[test]
fn a_stopped_server_leaves_no_write_ahead_log() {
    let Shop { server, database } = Shop::open();
    assert_eq!(server.send(&Request::post(&server.path("/user"), r#"{"name": "Di"}"#)).status, 201);
    let copy = database.dir.path().join("copy.db");
    drop(server);
    std::fs::copy(database.file(), &copy).unwrap();
    let copy = rusqlite::Connection::open(copy).unwrap();
    let count: i64 = copy.query_row("SELECT count(*) FROM users", [], |row| row.get(0)).unwrap();
    assert_eq!(count, 4);
}

#[test]
fn acknowledged_writes_survive_a_crash_and_none_is_partial() {
    let shop = Shop::open();
    let database = shop.database;
    let mut server = shop.server;
    let (address, base) = (server.address, server.base.clone());
    let acknowledged = Arc::new(AtomicUsize::new(0));
    let writers: Vec<_> = (1..=3u32)
        .map(|user| {
            let (base, acknowledged) = (base.clone(), Arc::clone(&acknowledged));
            std::thread::spawn(move || {
                let mut done = Vec::new();
                for number in 0..100_000u32 {
                    let body = format!(r#"{{"title": "u{user} n{number}"}}"#);
                    let target = format!("{base}/user/{user}/posts");
                    let reply = std::panic::catch_unwind(|| {
                        Connection::connect(address).send(&Request::post(&target, &body))
                    });
                    match reply {
                        Ok(reply) if reply.status == 201 => {
                            done.push(format!("u{user} n{number}"));
                            acknowledged.fetch_add(1, Ordering::Relaxed);
                        }
                        _ => break,
                    }
                }
                done
            })
        })
        .collect();
    wait_until("writes are acknowledged", || acknowledged.load(Ordering::Relaxed) >= 30);
    server.signal("KILL");
    let _ = server.wait();
    let answered: Vec<String> = writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect();

    let connection = database.connect();
    let whole: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(whole, "ok");
    let mut there = connection.prepare("SELECT title FROM posts").unwrap();
    let there: Vec<String> =
        there.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    for title in &answered {
        assert!(there.contains(title), "{title} was acknowledged and lost");
    }
    // At most one write of each client was pending without a reply.
    assert!(there.len() <= 3 + answered.len() + 3, "{} rows, {} answers", there.len(), answered.len());
    let schema = database.dir.path().join("schema.json").display().to_string();
    let server = Server::start(&["--database", &database.url(), "--schema", &schema, "--mutations"]);
    let reply = server.send(&Request::post(&server.path("/user/1/posts"), r#"{"title": "after"}"#));
    assert_eq!(reply.status, 201);
}
