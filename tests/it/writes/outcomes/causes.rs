//! Real causes: a standby that is absent, a connection that is killed, a lock, and replies that cannot be read.

use std::thread;

use mesh_tests::{Cluster, MariaDb, Request, wait_until};
use serde_json::json;

use super::{Engine, Site, Told, writes};

/// Returns the turn's writes, for which the records exist.
fn prepared(site: &Site, turn: usize) -> Vec<super::Write> {
    site.prepare(turn);
    writes(turn)
}

fn set_standby(cluster: &Engine, name: &str) {
    cluster
        .execute(&format!("ALTER SYSTEM SET synchronous_standby_names = '{name}'; SELECT pg_reload_conf()"));
    wait_until("the setting is read", || cluster.query("SHOW synchronous_standby_names") == name);
}

const WAITING: &str = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";

#[test]
fn a_commit_that_waits_for_a_standby_is_unknown_and_never_cancelled() {
    let Some(cluster) = Cluster::start() else { return };
    let engine = Engine::Postgres(cluster);
    engine.create_tables();
    let site = Site::start(engine);
    let late = prepared(&site, 1);
    let killed = prepared(&site, 2);

    set_standby(&site.engine, "absent");
    assert_eq!(site.send(1, &late), vec![Told::Unknown; late.len()]);
    assert_eq!(site.engine.query(WAITING), late.len().to_string(), "no wait was cancelled");
    set_standby(&site.engine, "");
    site.check("after the wait", &late, &vec![Told::Done; late.len()]);

    set_standby(&site.engine, "absent");
    let told = thread::scope(|scope| {
        let told = scope.spawn(|| site.send(2, &killed));
        wait_until("all commits wait", || site.engine.query(WAITING) == killed.len().to_string());
        site.engine.query(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'",
        );
        told.join().unwrap()
    });
    assert_eq!(told, vec![Told::Unknown; killed.len()]);
    set_standby(&site.engine, "");
    site.check("after the connections were killed", &killed, &vec![Told::Done; killed.len()]);
    let again = prepared(&site, 3);
    assert_eq!(site.send(3, &again), vec![Told::Done; again.len()], "the connections work again");
}

/// A backup blocks commits, and statements go on.
#[test]
fn a_commit_that_a_backup_blocks_is_unknown() {
    let Some(server) = MariaDb::start() else { return };
    let engine = Engine::MariaDb(server);
    engine.create_tables();
    let site = Site::start(engine);
    let (blocked, killed) = (prepared(&site, 1), prepared(&site, 2));
    let committing = "SELECT count(*) FROM information_schema.PROCESSLIST WHERE info = 'COMMIT'";
    for (writes, turn) in [(blocked, 1), (killed, 2)] {
        let told = thread::scope(|scope| {
            scope.spawn(|| {
                site.engine.execute(
                    "BACKUP STAGE START; BACKUP STAGE BLOCK_COMMIT; DO SLEEP(2.5); BACKUP STAGE END",
                );
            });
            wait_until("commits are blocked", || {
                site.engine.query(
                    "SELECT count(*) FROM information_schema.PROCESSLIST WHERE info LIKE 'DO SLEEP(2.5)'",
                ) == "1"
            });
            let told = scope.spawn(|| site.send(turn, &writes));
            if turn == 2 {
                wait_until("all commits wait", || site.engine.query(committing) == writes.len().to_string());
                let ids = site.engine.query(
                    "SELECT GROUP_CONCAT(id SEPARATOR ' ') FROM information_schema.PROCESSLIST WHERE info = 'COMMIT'",
                );
                let kills: Vec<_> = ids.split(' ').map(|id| format!("KILL {id}")).collect();
                site.engine.execute(&kills.join(";"));
            }
            told.join().unwrap()
        });
        assert_eq!(told, vec![Told::Unknown; writes.len()], "{turn}");
        site.check("commits that were blocked", &writes, &told);
    }
}

#[test]
fn a_write_that_waits_for_a_lock_until_its_deadline_is_rolled_back() {
    for engine in Engine::all() {
        let site = Site::start(engine);
        let writes = prepared(&site, 1);
        let (lock, locked) = match &site.engine {
            Engine::Postgres(_) => (
                "BEGIN; UPDATE notes SET text = '' WHERE id IN (1, 2, 3, 4, 1001); SELECT pg_sleep(2); ROLLBACK",
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'",
            ),
            Engine::MariaDb(_) => (
                "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; BEGIN; UPDATE notes SET text = '.' WHERE id IN (1, 2, 3, 4, 1001); DO SLEEP(2); ROLLBACK",
                "SELECT count(*) FROM information_schema.PROCESSLIST WHERE info = 'DO SLEEP(2)'",
            ),
        };
        let told = thread::scope(|scope| {
            scope.spawn(|| site.engine.execute(lock));
            wait_until("the lock is held", || site.engine.query(locked) == "1");
            site.send(1, &writes)
        });
        site.check("locked", &writes, &told);
        let refused: Vec<_> = writes
            .iter()
            .zip(&told)
            .filter(|(_, told)| **told == Told::None)
            .map(|(it, _)| it.kind)
            .collect();
        assert_eq!(refused, ["update", "delete", "upsert existing", "if-match", "batch"]);
    }
}

/// A reply beyond a bound undoes the write, and no connection for reads is needed for it.
#[test]
fn the_reply_is_part_of_the_write() {
    for engine in Engine::all() {
        let sleep = match &engine {
            Engine::Postgres(_) => "pg_sleep(4)::text",
            Engine::MariaDb(_) => "SLEEP(4)",
        };
        engine.execute(&format!(
            "INSERT INTO labels VALUES (1), (2), (3); INSERT INTO notes_labels VALUES (1, 1), (1, 2), (1, 3);
             CREATE VIEW slow AS SELECT id, {sleep} AS slept FROM labels WHERE id = 1"
        ));
        let site = Site::start_with(
            engine,
            r#""slow": {"table": "slow", "fields": ["id", "slept"]},"#,
            "limits.rows = 3\nlimits.database_connections = 1\n",
        );
        let put = Request::new("PUT", "/mesh/note/1").header("Content-Type", "application/json");
        let put = put.query(r#"{"note":{"$select":{"id":true,"labels":{"$select":{"id":true}}}}}"#);
        let reply = site.server.send(&put.body(json!({"text": "beyond"}).to_string()));
        let body = reply.json();
        assert_eq!(
            (reply.status, &body["code"], &body["effect"]),
            (400, &json!("RESULT_TOO_LARGE"), &json!("none"))
        );
        assert_eq!(site.engine.query("SELECT text FROM notes WHERE id = 1"), "");

        let slow = Request::get("/mesh/slow", r#"{"slow":{"$select":{"slept":true}}}"#);
        thread::scope(|scope| {
            scope.spawn(|| site.server.send(&slow));
            let running = match &site.engine {
                Engine::Postgres(_) => "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'",
                Engine::MariaDb(_) => {
                    "SELECT count(*) FROM information_schema.PROCESSLIST WHERE state = 'User sleep'"
                }
            };
            wait_until("the connection for reads is in use", || site.engine.query(running) == "1");
            let create = Request::new("POST", "/mesh/note").header("Content-Type", "application/json");
            let reply = site.server.send(&create.body(r#"{"text": "beside"}"#));
            assert_eq!(reply.status, 201, "{}", reply.text());
        });
    }
}
