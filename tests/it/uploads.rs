//! Files are stored completely or not at all, even if clients disconnect or the server is killed.

mod crash;
mod early_refusals;
mod hostile;
#[cfg(feature = "s3")]
mod s3;
mod signed;
mod sweep;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use mesh_tests::kit::encoding;
use mesh_tests::{Database, Request, Response, Server, wait_until};
use serde_json::{Value, json};

const TABLES: &str = "
CREATE TABLE users (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, avatar TEXT, banner TEXT,
    login TEXT, password_hash TEXT, role TEXT
);
INSERT INTO users (id, name, login, password_hash) VALUES
    (7, 'Ada', 'ada', '$argon2id$v=19$m=64,t=1,p=1$3e1luYIoMxw96wrMsBU8Gw$e2dj/3uWicLfrAGD6gghny9om1AGXRU0SqCeffeNaOI'),
    (8, 'Bo', 'bo', NULL);
CREATE TABLE photos (id INTEGER PRIMARY KEY, image TEXT NOT NULL, caption TEXT CHECK (caption <> 'bad'));
";

const SCHEMA: &str = r#"{"entities": {
    "user": {"fields": ["id", "name", "avatar", "banner"], "writable": ["name"],
             "uploads": {"avatar": {"maxBytes": 1000000, "contentTypes": ["text/plain", "image/*"]},
                         "banner": {"maxBytes": 4294967296}}},
    "photo": {"fields": ["id", "image", "caption"], "writable": ["caption"], "uploads": {"image": {}}}
}}"#;

/// A server with uploads.
struct Files {
    server: Server,
    database: Database,
}

impl Files {
    fn open() -> Self {
        Self::with("")
    }

    fn with(settings: &str) -> Self {
        let database = Database::new(TABLES);
        Self { server: start(&database, settings), database }
    }

    /// Kills the server and starts it again.
    fn crash(self) -> Self {
        let Self { mut server, database } = self;
        server.signal("KILL");
        server.wait();
        Self { server: start(&database, ""), database }
    }

    fn folder(&self) -> std::path::PathBuf {
        self.database.dir.path().join("files")
    }

    /// Returns the pending files.
    fn pending(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder().join("pending")).unwrap();
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }

    /// Waits until there are no pending files.
    fn settled(&self) {
        wait_until("nothing pending", || self.pending().is_empty());
    }

    /// Returns the published files.
    fn published(&self) -> Vec<String> {
        let mut found = Vec::new();
        for folder in fs::read_dir(self.folder().join("sha256")).unwrap() {
            for file in fs::read_dir(folder.unwrap().path()).unwrap() {
                let path = file.unwrap().path();
                if path.extension().is_none() {
                    found.push(key_of(&path));
                }
            }
        }
        found.sort();
        found
    }

    fn send(&self, request: &Request) -> Response {
        self.server.send(request)
    }

    fn get(&self, key: &str) -> Response {
        self.send(&Request::new("GET", &format!("/mesh/files/{key}")))
    }

    fn avatar(&self, id: u32) -> Value {
        let reply = self.server.get(&format!("/user/{id}"), r#"{"user":{"$select":{"avatar":true}}}"#);
        reply.json()["avatar"].clone()
    }
}

fn start(database: &Database, settings: &str) -> Server {
    let schema = database.dir.write("schema.json", SCHEMA);
    let folder = database.dir.path().join("files");
    let config = format!(
        "request_timeout = \"30s\"\n[uploads]\nenabled = true\nstore = \"file:{}\"\n{settings}",
        folder.display()
    );
    let config = database.dir.write("mesh.toml", &config);
    Server::start(&["--database", &database.url(), "--schema", &schema, "--config", &config])
}

fn key_of(path: &Path) -> String {
    let parts: Vec<_> = path.iter().rev().take(3).map(|part| part.to_string_lossy()).collect();
    format!("{}/{}/{}", parts[2], parts[1], parts[0])
}

fn key(bytes: impl AsRef<[u8]>) -> String {
    let hex = encoding::sha256(bytes);
    format!("sha256/{}/{}", &hex[..2], &hex[2..])
}

fn statement(entity: &str, field: &str, bytes: &[u8]) -> String {
    json!({entity: {field: {"upload": true}}, "contentHash": format!("sha256:{}", encoding::sha256(bytes))})
        .to_string()
}

fn part(name: &str, content_type: &str, bytes: &[u8]) -> Vec<u8> {
    let head = format!(
        "--b\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"x\"\r\nContent-Type: {content_type}\r\n\r\n"
    );
    [head.as_bytes(), bytes, b"\r\n"].concat()
}

fn body(parts: &[Vec<u8>]) -> Vec<u8> {
    [parts.concat(), b"--b--\r\n".to_vec()].concat()
}

/// Builds an upload without its body.
fn head(path: &str, statement: &str) -> Request {
    Request::new("POST", &format!("/mesh{path}"))
        .query(statement)
        .header("Content-Type", "multipart/form-data; boundary=b")
}

/// Builds an upload of a text file.
fn avatar(id: u32, bytes: &[u8]) -> Request {
    head(&format!("/user/{id}/avatar"), &statement("user", "avatar", bytes)).body(body(&[part(
        "file",
        "text/plain",
        bytes,
    )]))
}

#[test]
fn concurrent_uploads_of_equal_bytes_are_stored_once() {
    let files = Arc::new(Files::open());
    let senders: Vec<_> = (0..8)
        .map(|number| {
            let files = Arc::clone(&files);
            std::thread::spawn(move || files.send(&avatar(7 + number % 2, &[b'x'; 300_000])).status)
        })
        .collect();
    for sender in senders {
        assert_eq!(sender.join().unwrap(), 200);
    }
    let stored = key([b'x'; 300_000]);
    assert_eq!((files.avatar(7), files.avatar(8)), (json!(stored), json!(stored)));
    assert_eq!((files.published(), files.pending().len()), (vec![stored], 0));
}

#[test]
fn uploads_of_an_address_are_limited() {
    let files = Files::open();
    let unfinished = || {
        let mut connection = files.server.connect();
        connection.write(
            &head("/user/7/avatar", &statement("user", "avatar", b"x"))
                .header("Content-Length", "900")
                .bytes(),
        );
        connection.write(&part("file", "text/plain", &[b'x'; 400]));
        connection
    };
    let mut open: Vec<_> = (0..20).map(|_| unfinished()).collect();
    wait_until("twenty files are pending", || files.pending().len() == 20);
    let metrics = files.send(&Request::new("GET", "/metrics")).text();
    assert!(metrics.contains("mesh_client_most{held=\"uploads\"} 20\n"), "{metrics}");
    let reply = files.send(&avatar(7, b"x"));
    assert_eq!((reply.status, &reply.json()["error"]), (429, &json!("RateLimitError")), "{}", reply.text());
    assert_eq!(reply.header("retry-after"), Some("5"));
    open.pop();
    wait_until("an upload that has ended no longer counts", || files.send(&avatar(7, b"x")).status == 200);
}

#[test]
fn memory_does_not_depend_on_the_size_of_a_file() {
    const SIZE: u64 = 256 << 20;
    let files = Files::open();
    assert_eq!(files.send(&avatar(7, b"warm")).status, 200);
    let before = files.server.peak_memory();
    let head = head("/user/7/banner", r#"{"user":{"banner":{"upload":true}}}"#);
    let (start, end) = (part("file", "application/octet-stream", b""), b"--b--\r\n");
    let start = &start[..start.len() - 2];
    let length = start.len() as u64 + SIZE + 2 + end.len() as u64;
    let mut connection = files.server.connect();
    connection.write(&head.header("Content-Length", length.to_string()).bytes());
    connection.write(start);
    let block = vec![0; 1 << 20];
    for _ in 0..SIZE >> 20 {
        connection.write(&block);
    }
    connection.write(b"\r\n");
    connection.write(end);
    let reply = connection.read(false).unwrap();
    assert_eq!((reply.status, &reply.json()["size"]), (200, &json!(SIZE)), "{}", reply.text());
    let grown = files.server.peak_memory() - before;
    println!("the server's memory grew by {} KiB", grown >> 10);
    assert!(grown < SIZE / 4, "the server's memory grew by {} KiB", grown >> 10);

    // The same holds for downloads. Replies that the client has not read yet may take 64 MiB.
    let url = format!("/mesh/files/{}", reply.json()["banner"].as_str().unwrap());
    let mut connection = files.server.connect();
    let reply = connection.send(&Request::new("GET", &url));
    assert_eq!((reply.status, reply.body.len() as u64), (200, SIZE));
    let grown = files.server.peak_memory() - before;
    println!("the server's memory grew by {} KiB", grown >> 10);
    assert!(grown < SIZE / 2, "the server's memory grew by {} KiB", grown >> 10);
}

#[test]
fn the_command_sends_a_file() {
    let files = Files::open();
    let url = format!("http://{}/mesh", files.server.address);
    let file = files.database.dir.write("me.txt", "from the command");
    let run = |arguments: &[&str]| {
        let output = mesh_tests::run(&[&["upload", "--url", &url], arguments].concat());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.code(), text, String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (status, text, _) = run(&["--meta", r#"{"name": "Cy"}"#, "user", "8", "avatar", &file]);
    let body: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (status, &body["avatar"], &body["contentType"]),
        (Some(0), &json!(key("from the command")), &json!("text/plain"))
    );
    let row = files.server.get("/user/8", r#"{"user":{"$select":{"name":true,"avatar":true}}}"#);
    assert_eq!(row.json(), json!({"name": "Cy", "avatar": key("from the command")}));

    let (status, _, error) = run(&["--type", "text/html", "user", "8", "avatar", &file]);
    assert!(status == Some(1) && error.contains("text/html"), "{status:?} {error}");
    let large = files.database.dir.write("large.txt", &"x".repeat(20_000_000));
    let (status, _, error) = run(&["user", "8", "avatar", &large]);
    assert!(status == Some(1) && error.contains("larger than 1000000 bytes"), "{status:?} {error}");
    let (status, _, error) = run(&["user", "8", "avatar", "no-such-file"]);
    assert!(status == Some(2) && error.contains("no-such-file"), "{status:?} {error}");
}

/// Clients that leave as soon as they have sent their files, at moments that are spread over the time of an upload.
#[test]
fn abandoned_uploads_leave_nothing_pending() {
    let files = Files::open();
    let sent: Vec<_> = (0..100).map(|number: u32| number.to_be_bytes()).collect();
    for (number, bytes) in sent.iter().enumerate() {
        let mut connection = files.server.connect();
        connection.write(&avatar(7, bytes).bytes());
        for _ in 0..number * 53 % 1_500 {
            std::thread::yield_now();
        }
    }
    let metrics = || files.send(&Request::new("GET", "/metrics")).text();
    wait_until("no upload is under way", || metrics().contains("mesh_client_most{held=\"uploads\"} 0\n"));
    files.settled();
    // A file that was recorded is published.
    assert!(files.published().iter().any(|key| files.avatar(7) == json!(key)));
}
