//! Storage failures: the server gives no wrong answer, does not exit, and recovers by itself once the cause is gone.

mod truncated;

use std::fs::{self, OpenOptions};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use mesh_tests::{
    Database, Request, Response, Server, TempDir, command, encode, program, skip, wait_until,
    without_settings,
};
use serde_json::{Value, json};

const NOTE: &str = r#"{"note":{"$select":{"id":true,"text":true}}}"#;
const JOURNALS: [&str; 2] = ["WAL", "DELETE"];

/// Creates notes with the given text and journal mode.
fn notes(journal: &str, text: &str) -> Database {
    Database::new(&format!(
        "PRAGMA journal_mode = {journal};
         CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
         INSERT INTO notes SELECT i, '{text} ' || i || hex(zeroblob(100)) FROM n;"
    ))
}

const SCHEMA: &str = r#"{"entities": {"note": {"fields": ["id", "text"], "writable": ["text"]}}}"#;

fn start(database: &Database, more: &[&str]) -> Server {
    let schema = database.dir.write("schema.json", SCHEMA);
    let url = database.url();
    let mut arguments = vec!["--database", url.as_str(), "--schema", schema.as_str()];
    arguments.extend_from_slice(more);
    Server::start(&arguments)
}

fn read(server: &Server, id: u32) -> Response {
    server.get(&format!("/note/{id}"), NOTE)
}

fn write(server: &Server, id: u32, text: &str) -> Response {
    let request = Request::new("PUT", &format!("/mesh/note/{id}")).header("Content-Type", "application/json");
    server.send(&request.body(json!({"text": text}).to_string()))
}

/// Returns whether the text of a note begins with `text`.
fn has_text(server: &Server, id: u32, text: &str) -> bool {
    let reply = read(server, id);
    reply.status == 200 && reply.json()["text"].as_str().is_some_and(|it| it.starts_with(text))
}

/// Asserts that a reply is a server error that reveals nothing about its cause.
#[track_caller]
fn is_failure(reply: &Response, statuses: &[u16]) {
    let text = reply.text();
    assert!(statuses.contains(&reply.status), "{} {text}", reply.status);
    assert_eq!(crate::support::refusals::shape_faults(reply), [""; 0], "{text}");
    assert!(
        !["data.db", "sqlite", "disk", "/tmp"].iter().any(|word| text.to_lowercase().contains(word)),
        "{text}"
    );
    assert!(reply.status != 503 || reply.header("retry-after").is_some(), "{:?}", reply.headers);
}

#[test]
fn a_database_locked_by_a_writer_is_waited_for_until_the_timeout() {
    for journal in JOURNALS {
        let database = notes(journal, "old");
        let config = database.dir.write("mesh.toml", "request_timeout = \"1s\"\n");
        let server = start(&database, &["--config", &config, "--mutations"]);
        assert!(has_text(&server, 1, "old"));
        // The writer has set WAL mode, in which a lock blocks other writers only.
        let other = database.connect();
        other.execute_batch("BEGIN IMMEDIATE; UPDATE notes SET text = 'new' WHERE id = 1").unwrap();
        assert!(has_text(&server, 1, "old") && has_text(&server, 2, "old"), "{journal}");
        is_failure(&write(&server, 2, "mine"), &[503]);
        other.execute_batch("COMMIT").unwrap();
        assert!(has_text(&server, 1, "new"), "{journal}");
        assert_eq!(write(&server, 2, "mine").status, 200);
        assert!(has_text(&server, 2, "mine"), "{journal}");
    }
}

#[test]
fn an_exclusively_locked_database_is_unavailable_until_it_is_released() {
    let database = notes("DELETE", "old");
    let config = database.dir.write("mesh.toml", "request_timeout = \"1s\"\n");
    let server = start(&database, &["--config", &config]);
    let patient = start(&database, &[]);
    assert!(has_text(&server, 1, "old") && has_text(&patient, 1, "old"));
    let other = database.connect();
    other.execute_batch("BEGIN EXCLUSIVE; UPDATE notes SET text = 'new'").unwrap();
    is_failure(&read(&server, 3), &[503, 500]);
    std::thread::scope(|scope| {
        // A lock that is released within the timeout only delays the request.
        let waiting = scope.spawn(|| has_text(&patient, 4, "new"));
        std::thread::sleep(Duration::from_millis(300));
        other.execute_batch("COMMIT").unwrap();
        assert!(waiting.join().unwrap());
    });
    assert!(has_text(&server, 1, "new") && has_text(&server, 3, "new"));
}

#[test]
fn a_replaced_database_file_is_served() {
    for journal in JOURNALS {
        for arguments in [&[][..], &["--mutations"]] {
            let (database, next) = (notes(journal, "old"), notes(journal, "new"));
            let server = start(&database, arguments);
            for id in 1..20 {
                assert!(has_text(&server, id, "old"));
            }
            if !arguments.is_empty() {
                assert_eq!(write(&server, 1, "old and changed").status, 200);
                assert!(has_text(&server, 1, "old and changed"));
            }
            fs::rename(next.file(), database.file()).unwrap();
            wait_until("the new file", || has_text(&server, 1, "new"));
            for id in 1..20 {
                assert!(
                    has_text(&server, id, "new"),
                    "{journal} {arguments:?} {id}: {}",
                    read(&server, id).text()
                );
            }
            if !arguments.is_empty() {
                assert_eq!(write(&server, 1, "new and changed").status, 200);
                assert!(has_text(&server, 1, "new and changed"));
                let text: String = database
                    .connect()
                    .query_row("SELECT text FROM notes WHERE id = 1", [], |row| row.get(0))
                    .unwrap();
                assert_eq!(text, "new and changed");
                let sound: String =
                    database.connect().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
                assert_eq!(sound, "ok");
            }
        }
    }
}

#[test]
fn a_missing_database_is_unavailable_until_it_is_restored() {
    for journal in JOURNALS {
        let (database, next) = (notes(journal, "old"), notes(journal, "new"));
        let server = start(&database, &["--mutations"]);
        assert_eq!(write(&server, 1, "old and changed").status, 200);
        fs::remove_file(database.file()).unwrap();
        // Nothing is written to the deleted file.
        is_failure(&write(&server, 2, "lost"), &[503]);
        wait_until("unavailable", || read(&server, 1).status == 503);
        is_failure(&read(&server, 1), &[503]);
        is_failure(&server.get("/note", NOTE), &[503]);
        fs::rename(next.file(), database.file()).unwrap();
        wait_until("back", || has_text(&server, 1, "new"));
        assert!(has_text(&server, 2, "new"), "{journal}");
        wait_until("written", || write(&server, 2, "new and changed").status == 200);
    }
}

/// Pages are read through a memory map, so reading beyond the end of the file would be fatal.
#[test]
fn reads_of_a_truncated_or_overwritten_file_fail() {
    let whole = |server: &Server, id: u32, text: &str| {
        let reply = read(server, id);
        // A reply is either the cached true value or a failure.
        assert!(reply.status != 200 || has_text(server, id, text), "{}", reply.text());
        if reply.status != 200 {
            is_failure(&reply, &[500, 503]);
        }
    };
    for journal in JOURNALS {
        for harm in ["nothing left", "half of it", "noise"] {
            let (database, next) = (notes(journal, "old"), notes(journal, "new"));
            let mut server = start(&database, &[]);
            for id in (1..2000).step_by(97) {
                assert!(has_text(&server, id, "old"));
            }
            let file = OpenOptions::new().write(true).open(database.file()).unwrap();
            let length = file.metadata().unwrap().len();
            match harm {
                "nothing left" => file.set_len(0).unwrap(),
                "half of it" => file.set_len(length / 2).unwrap(),
                _ => fs::write(database.file(), vec![0x5a; usize::try_from(length).unwrap()]).unwrap(),
            }
            for id in (1..2000).step_by(101) {
                whole(&server, id, "old");
            }
            let list = server.get("/note", NOTE);
            assert!(matches!(list.status, 200 | 500 | 503), "{}", list.status);
            drop(file);
            fs::rename(next.file(), database.file()).unwrap();
            wait_until("a whole file again", || has_text(&server, 5, "new"));
            for id in [1, 1999] {
                let reply = read(&server, id);
                assert!(
                    reply.text().contains("\"new "),
                    "{journal}, {harm}, {id}: {} {}",
                    reply.status,
                    reply.text()
                );
            }
            server.signal("TERM");
            assert_eq!(server.wait().code(), Some(0), "{journal}, {harm}");
        }
    }
}

/// A read-only database is served; a server with mutations refuses to start on it.
#[test]
fn a_read_only_database_is_served() {
    let database = notes("DELETE", "old");
    let schema = database.dir.write("schema.json", SCHEMA);
    let url = database.url();
    let arguments =
        ["serve", "--listen", "127.0.0.1:0", "--log", "error", "--database", &url, "--schema", &schema];
    let mut command = command(&arguments);
    // Root can write to read-only files, so the server runs as another user, who may not reach the folder of the build.
    let programs = TempDir::new();
    if is_root() {
        let copy = programs.path().join("mesh-server");
        fs::copy(program(), &copy).unwrap();
        command = without_settings(&copy);
        command.args(arguments).uid(65_534).gid(65_534);
    }
    let folder = database.dir.path();
    set_mode(&database.file(), 0o444);
    set_mode(folder, 0o555);
    let server = Server::try_spawn(&mut command, None).unwrap();
    assert!(has_text(&server, 1, "old") && has_text(&server, 2, "old"));
    drop(server);
    let log = folder.with_extension("log");
    command.arg("--mutations").stderr(fs::File::create(&log).unwrap());
    let started = Server::try_spawn(&mut command, None).map(drop);
    let said = fs::read_to_string(&log).unwrap();
    let _ = fs::remove_file(&log);
    assert!(started.is_err() && said.contains("cannot be written"), "{said}");
    set_mode(folder, 0o755);
}

/// A server with a limit on the file size, which simulates a full disk without privileges and can be lifted again.
struct LimitedServer(Server);

impl LimitedServer {
    /// Starts a server that ignores `SIGXFSZ`, so that exceeding the limit is a write error.
    fn start(arguments: &[&str]) -> Option<Self> {
        if Command::new("prlimit").arg("--version").stdout(Stdio::null()).status().is_err() {
            skip("prlimit", "install Debian's util-linux");
            return None;
        }
        let serve = command(arguments);
        let mut shell = without_settings("sh");
        shell.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]).arg(program()).args(serve.get_args());
        Some(Self(Server::try_spawn(&mut shell, None).unwrap()))
    }

    fn limit(&self, bytes: &str) {
        let process = self.0.process().to_string();
        let status = Command::new("prlimit").args(["--pid", &process, &format!("--fsize={bytes}:")]).status();
        assert!(status.unwrap().success());
    }
}

#[test]
fn a_full_disk_fails_writes_only() {
    let database = notes("WAL", "old");
    let schema = database.dir.write("schema.json", SCHEMA);
    let url = database.url();
    let arguments = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--log",
        "off",
        "--database",
        &url,
        "--schema",
        &schema,
        "--mutations",
    ];
    let Some(narrow) = LimitedServer::start(&arguments) else { return };
    let server = &narrow.0;
    assert_eq!(write(server, 1, "before").status, 200);
    narrow.limit("4096");
    let large = "x".repeat(200_000);
    for id in 2..6 {
        is_failure(&write(server, id, &large), &[500, 503]);
        assert!(has_text(server, id, "old"), "nothing of it is there");
    }
    assert!(has_text(server, 1, "before") && has_text(server, 1000, "old"));
    narrow.limit("unlimited");
    wait_until("written again", || write(server, 2, &large).status == 200);
    assert!(has_text(server, 2, "xxx") && has_text(server, 3, "old"));
    let sound: String = database.connect().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
}

#[test]
fn a_full_disk_fails_uploads_and_leaves_no_files() {
    let database = Database::new(
        "CREATE TABLE photos (id INTEGER PRIMARY KEY, image TEXT); INSERT INTO photos VALUES (1, NULL);",
    );
    let schema = database.dir.write(
        "schema.json",
        r#"{"entities": {"photo": {"fields": ["id", "image"], "uploads": {"image": {}}}}}"#,
    );
    let files = database.dir.path().join("files");
    let config = database
        .dir
        .write("mesh.toml", &format!("[uploads]\nenabled = true\nstore = \"file:{}\"\n", files.display()));
    let url = database.url();
    let arguments = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--log",
        "off",
        "--database",
        &url,
        "--schema",
        &schema,
        "--config",
        &config,
    ];
    let Some(narrow) = LimitedServer::start(&arguments) else { return };
    let server = &narrow.0;
    let send = |bytes: usize| {
        let content = "z".repeat(bytes);
        let body =
            format!("--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n{content}\r\n--b--\r\n");
        let request = Request::new("POST", "/mesh/photo/1/image")
            .header("Content-Type", "multipart/form-data; boundary=b")
            .header("X-Mesh-Query", encode(r#"{"photo":{"image":{"upload":true}}}"#));
        server.send(&request.body(body))
    };
    let image = || server.get("/photo/1", r#"{"photo":{"$select":{"image":true}}}"#).json()["image"].clone();
    let count = || count_files(&files);
    assert_eq!(send(100).status, 200);
    let (before, stored) = (image(), count());
    narrow.limit("65536");
    for _ in 0..3 {
        is_failure(&send(1_000_000), &[500, 503]);
        assert_eq!(image(), before);
    }
    wait_until("nothing is left", || count() == stored);
    narrow.limit("unlimited");
    assert_eq!(send(1_000_000).status, 200);
    assert!(image() != before && image() != Value::Null);
}

fn count_files(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| if entry.path().is_dir() { count_files(&entry.path()) } else { 1 }).sum()
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;

    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
