//! What becomes of the server when its storage fails? No wrong answer, no end of the process, and all is well again
//! by itself once the cause is gone.

mod truncated;

use std::fs::{self, OpenOptions};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use mesh_tests::{Database, Request, Response, Server, command, encode, program};
use serde_json::{Value, json};

const NOTE: &str = r#"{"note":{"$select":{"id":true,"text":true}}}"#;
const JOURNALS: [&str; 2] = ["WAL", "DELETE"];

/// Notes with that text, in that journal mode.
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

/// The text of a note begins with that.
fn says(server: &Server, id: u32, text: &str) -> bool {
    let reply = read(server, id);
    reply.status == 200 && reply.json()["text"].as_str().is_some_and(|it| it.starts_with(text))
}

#[track_caller]
fn within(time: Duration, what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < time, "{what}: not within {time:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

const SOON: Duration = Duration::from_secs(10);

/// A failure of the server's own, which tells nothing of what lies behind it.
#[track_caller]
fn is_failure(reply: &Response, statuses: &[u16]) {
    let text = reply.text();
    assert!(statuses.contains(&reply.status), "{} {text}", reply.status);
    assert_eq!(crate::table::shape_faults(reply), [""; 0], "{text}");
    assert!(
        !["data.db", "sqlite", "disk", "/tmp"].iter().any(|word| text.to_lowercase().contains(word)),
        "{text}"
    );
    assert!(reply.status != 503 || reply.header("retry-after").is_some(), "{:?}", reply.headers);
}

#[test]
fn a_database_that_others_hold_is_waited_for_and_then_given_up() {
    for journal in JOURNALS {
        let database = notes(journal, "old");
        let config = database.dir.write("mesh.toml", "request_timeout = \"1s\"\n");
        let server = start(&database, &["--config", &config, "--mutations"]);
        assert!(says(&server, 1, "old"));
        // The writer has put the file into WAL mode, where nobody but another writer can be held up.
        let other = database.connect();
        other.execute_batch("BEGIN IMMEDIATE; UPDATE notes SET text = 'new' WHERE id = 1").unwrap();
        assert!(says(&server, 1, "old") && says(&server, 2, "old"), "{journal}");
        let start = Instant::now();
        is_failure(&write(&server, 2, "mine"), &[503]);
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        other.execute_batch("COMMIT").unwrap();
        assert!(says(&server, 1, "new"), "{journal}");
        assert_eq!(write(&server, 2, "mine").status, 200);
        assert!(says(&server, 2, "mine"), "{journal}");
    }
}

#[test]
fn a_database_that_is_locked_whole_is_unavailable_for_so_long() {
    let database = notes("DELETE", "old");
    let config = database.dir.write("mesh.toml", "request_timeout = \"1s\"\n");
    let server = start(&database, &["--config", &config]);
    assert!(says(&server, 1, "old"));
    let other = database.connect();
    other.execute_batch("BEGIN EXCLUSIVE; UPDATE notes SET text = 'new'").unwrap();
    is_failure(&read(&server, 3), &[503, 500]);
    std::thread::scope(|scope| {
        // A lock that goes within the time of a request is only waited for.
        let waiting = scope.spawn(|| says(&server, 4, "new"));
        std::thread::sleep(Duration::from_millis(300));
        other.execute_batch("COMMIT").unwrap();
        assert!(waiting.join().unwrap());
    });
    assert!(says(&server, 1, "new") && says(&server, 3, "new"));
}

#[test]
fn another_file_in_its_place_is_served_instead() {
    for journal in JOURNALS {
        for arguments in [&[][..], &["--mutations"]] {
            let (database, next) = (notes(journal, "old"), notes(journal, "new"));
            let server = start(&database, arguments);
            for id in 1..20 {
                assert!(says(&server, id, "old"));
            }
            if !arguments.is_empty() {
                assert_eq!(write(&server, 1, "old and changed").status, 200);
                assert!(says(&server, 1, "old and changed"));
            }
            fs::rename(next.file(), database.file()).unwrap();
            within(SOON, "the new file", || says(&server, 1, "new"));
            for id in 1..20 {
                assert!(
                    says(&server, id, "new"),
                    "{journal} {arguments:?} {id}: {}",
                    read(&server, id).text()
                );
            }
            if !arguments.is_empty() {
                assert_eq!(write(&server, 1, "new and changed").status, 200);
                assert!(says(&server, 1, "new and changed"));
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
fn a_database_that_is_gone_is_unavailable_until_it_is_back() {
    for journal in JOURNALS {
        let (database, next) = (notes(journal, "old"), notes(journal, "new"));
        let server = start(&database, &["--mutations"]);
        assert_eq!(write(&server, 1, "old and changed").status, 200);
        fs::remove_file(database.file()).unwrap();
        // Nothing is written to a file that nobody can find again.
        is_failure(&write(&server, 2, "lost"), &[503]);
        within(SOON, "unavailable", || read(&server, 1).status == 503);
        is_failure(&read(&server, 1), &[503]);
        is_failure(&server.get("/note", NOTE), &[503]);
        fs::rename(next.file(), database.file()).unwrap();
        within(SOON, "back", || says(&server, 1, "new"));
        assert!(says(&server, 2, "new"), "{journal}");
        within(SOON, "written", || write(&server, 2, "new and changed").status == 200);
    }
}

/// Pages are read through a map of the file, whose end must not be passed.
#[test]
fn a_file_that_was_cut_short_or_overwritten_fails_and_nothing_else() {
    let whole = |server: &Server, id: u32, text: &str| {
        let reply = read(server, id);
        // What was read before may still be known; anything else than the truth is not.
        assert!(reply.status != 200 || says(server, id, text), "{}", reply.text());
        if reply.status != 200 {
            is_failure(&reply, &[500, 503]);
        }
    };
    for journal in JOURNALS {
        for harm in ["nothing left", "half of it", "noise"] {
            let (database, next) = (notes(journal, "old"), notes(journal, "new"));
            let mut server = start(&database, &[]);
            for id in (1..2000).step_by(97) {
                assert!(says(&server, id, "old"));
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
            within(SOON, "a whole file again", || says(&server, 5, "new"));
            assert!(says(&server, 1, "new") && says(&server, 1999, "new"), "{journal}, {harm}");
            server.signal("TERM");
            assert_eq!(server.wait().code(), Some(0), "{journal}, {harm}");
        }
    }
}

/// One that may only be read is read, and a server that should write to it says at start that it cannot.
#[test]
fn a_database_that_may_only_be_read_is_read() {
    let database = notes("DELETE", "old");
    let schema = database.dir.write("schema.json", SCHEMA);
    let url = database.url();
    let arguments =
        ["serve", "--listen", "127.0.0.1:0", "--log", "error", "--database", &url, "--schema", &schema];
    let mut command = command(&arguments);
    // Whoever may do anything may write to it, too; so be somebody else.
    if is_root() {
        command.uid(65_534).gid(65_534);
    }
    let folder = database.dir.path();
    set_mode(&database.file(), 0o444);
    set_mode(folder, 0o555);
    let reachable =
        Command::new(program()).arg("--version").uid_of_nobody().status().is_ok_and(|it| it.success());
    if reachable {
        let server = Server::try_spawn(&mut command, None).unwrap();
        assert!(says(&server, 1, "old") && says(&server, 2, "old"));
        drop(server);
        let log = folder.with_extension("log");
        command.arg("--mutations").stderr(fs::File::create(&log).unwrap());
        let started = Server::try_spawn(&mut command, None).map(drop);
        let said = fs::read_to_string(&log).unwrap();
        let _ = fs::remove_file(&log);
        assert!(started.is_err() && said.contains("cannot be written"), "{said}");
    } else {
        eprintln!("left out: the program cannot be started by another user here");
    }
    set_mode(folder, 0o755);
}

/// A limit on the size of files stands for a disk that is full. It needs no right, and can be lifted again.
struct Narrow(Server);

impl Narrow {
    /// A server that takes a failed write for a failure, and not for a reason to end.
    fn start(arguments: &[&str]) -> Option<Self> {
        if Command::new("prlimit").arg("--version").stdout(Stdio::null()).status().is_err() {
            assert!(std::env::var_os("MESH_REQUIRE_SERVICES").is_none(), "no prlimit");
            eprintln!("left out: a full disk, since there is no prlimit");
            return None;
        }
        let serve = command(arguments);
        let mut shell = Command::new("sh");
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
fn a_full_disk_refuses_writes_and_nothing_else() {
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
    let Some(narrow) = Narrow::start(&arguments) else { return };
    let server = &narrow.0;
    assert_eq!(write(server, 1, "before").status, 200);
    narrow.limit("4096");
    let large = "x".repeat(200_000);
    for id in 2..6 {
        is_failure(&write(server, id, &large), &[500, 503]);
        assert!(says(server, id, "old"), "nothing of it is there");
    }
    assert!(says(server, 1, "before") && says(server, 1000, "old"));
    narrow.limit("unlimited");
    within(SOON, "written again", || write(server, 2, &large).status == 200);
    assert!(says(server, 2, "xxx") && says(server, 3, "old"));
    let sound: String = database.connect().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
}

#[test]
fn a_full_disk_refuses_files_and_leaves_nothing_of_them() {
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
    let Some(narrow) = Narrow::start(&arguments) else { return };
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
    within(SOON, "nothing is left", || count() == stored);
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

trait AsNobody {
    /// The same run by a user who owns nothing, where this one may do anything.
    fn uid_of_nobody(&mut self) -> &mut Self;
}

impl AsNobody for Command {
    fn uid_of_nobody(&mut self) -> &mut Self {
        if is_root() {
            self.uid(65_534).gid(65_534);
        }
        self.stdout(Stdio::null()).stderr(Stdio::null())
    }
}
