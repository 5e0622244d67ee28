//! Reads in progress while their file is truncated: they fail and the process continues, if the file is not mapped into
//! memory.

use std::fs::{self, OpenOptions};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use mesh_tests::{Database, Server, wait_until};

use super::{SCHEMA, has_text, is_failure, notes};

/// A full table scan, which takes longer than truncating the file.
const SEARCH: &str =
    r#"{"note":{"$select":{"id":true},"$where":{"field":"text","op":"like","value":"%no such text%"}}}"#;
/// The number of rows, large enough that most of the file is unread when it is truncated.
const ROWS: u32 = 60_000;
const ROUNDS: usize = 4;

fn many(text: &str) -> Database {
    let database = notes("DELETE", text);
    let more = format!(
        "WITH RECURSIVE n (i) AS (SELECT 2001 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS})
         INSERT INTO notes SELECT i, '{text} ' || i || hex(zeroblob(200)) FROM n;"
    );
    database.connect().execute_batch(&more).unwrap();
    database
}

#[test]
fn reads_in_progress_fail_if_the_file_is_not_mapped() {
    let database = many("old");
    let schema = database.dir.write("schema.json", SCHEMA);
    let config = database.dir.write("mesh.toml", "request_timeout = \"20s\"\ncache.responses = 0\n");
    let url = format!("{}?mmap=false", database.url());
    let mut server = Server::start(&["--config", &config, "--schema", &schema, "--database", &url]);
    assert!(has_text(&server, 1, "old"));
    let mut failed = 0;
    for round in 0..ROUNDS {
        let (done, answers) = (AtomicBool::new(false), AtomicUsize::new(0));
        failed += thread::scope(|scope| {
            let (server, done, answers) = (&server, &done, &answers);
            let searches: Vec<_> = (0..2)
                .map(|_| {
                    scope.spawn(move || {
                        let mut failed = 0;
                        while !done.load(Ordering::Relaxed) {
                            let reply = server.get("/note", SEARCH);
                            answers.fetch_add(1, Ordering::Relaxed);
                            if reply.status != 200 {
                                is_failure(&reply, &[500, 503]);
                                failed += 1;
                            }
                        }
                        failed
                    })
                })
                .collect();
            // Truncate the file at a different point of the scan in each round.
            wait_until("searches run", || answers.load(Ordering::Relaxed) > round);
            let file = OpenOptions::new().write(true).open(database.file()).unwrap();
            file.set_len(8_192).unwrap();
            // Of these, at least one has begun after the truncation.
            let enough = answers.load(Ordering::Relaxed) + 3;
            wait_until("searches meet the end of the file", || answers.load(Ordering::Relaxed) >= enough);
            done.store(true, Ordering::Relaxed);
            searches.into_iter().map(|search| search.join().unwrap()).sum::<usize>()
        });
        let next = many("new");
        fs::rename(next.file(), database.file()).unwrap();
        wait_until("a whole file again", || has_text(&server, 5, "new"));
    }
    assert!(failed > 0, "no read met the end of the file");
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(0));
}
