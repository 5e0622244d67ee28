//! Every limit in the settings: a request that reaches the limit is accepted, and one more is refused.

use mesh_tests::kit::encoding;
use mesh_tests::{Database, Request, Response, Server, encode};
use serde_json::json;

use crate::support::sessions::{Deployment, PASSWORD, Session, login, why};

const SCHEMA: &str = r#"{"entities": {
    "post": {"fields": ["id", "title", "likes", "score", "authorId"], "columns": {"authorId": "author_id"}},
    "user": {"fields": ["id", "name", "role", "age"], "uploads": {"role": {}}}},
  "joins": {
    "post.author": {"entity": "user", "on": "users.id = posts.author_id", "type": "one"},
    "user.posts": {"entity": "post", "on": "posts.author_id = users.id", "type": "many"}}}"#;

/// A bound on one request.
struct Bound {
    /// The setting and its value.
    setting: (&'static str, usize),
    /// Builds a request that needs this much of it.
    request: fn(usize) -> Request,
    /// The status of the refusal, and a word of its message.
    refusal: (u16, &'static str),
}

/// Builds a collection read of posts with further members of the read node.
fn posts(controls: &str) -> Request {
    Request::get("/mesh/post", &format!(r#"{{"post":{{"$select":{{"id":true}},{controls}}}}}"#))
}

/// Builds a read with this many nested relations.
fn nested(count: usize) -> Request {
    let relation = |number: usize| if number.is_multiple_of(2) { " author { id" } else { " posts { id" };
    let open: String = (0..count).map(relation).collect();
    ql(&format!("{{ post {{ id{open}{} }} }}", " }".repeat(count)))
}

fn ql(query: &str) -> Request {
    Request::get("/mesh/post/1", query).header("X-Mesh-Format", "ql")
}

const FIELDS: [&str; 5] = ["id", "title", "likes", "score", "authorId"];

/// Builds a request with a JSON body of `length` bytes.
fn body(length: usize) -> Request {
    let bare = json!({"query": "{ post id }", "format": "ql", "id": 1}).to_string();
    Request::post("/mesh", &format!("{bare}{}", " ".repeat(length - bare.len())))
}

/// Builds a request whose line, header names and header values have `length` bytes in total.
fn head(length: usize) -> Request {
    let request = ql("{ post id }").header("X-Padding", "");
    let text = String::from_utf8(request.bytes()).unwrap();
    let mut lines = text.trim_end().lines();
    let line = lines.next().unwrap().len();
    let size = |(name, value): (&str, &str)| name.len() + value.trim().len();
    let fields: usize = lines.filter_map(|line| line.split_once(':')).map(size).sum();
    let mut request = request;
    request.headers.last_mut().unwrap().1 = vec![b'x'; length - line - fields];
    request
}

/// Builds an upload of a file of `length` bytes.
fn upload(length: usize) -> Request {
    let file = "x".repeat(length);
    let hash = format!("sha256:{}", encoding::sha256(file.as_bytes()));
    let statement = json!({"user": {"role": {"upload": true}}, "contentHash": hash}).to_string();
    let part = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n";
    Request::new("POST", "/mesh/user/1/role")
        .query(&statement)
        .header("Content-Type", "multipart/form-data; boundary=b")
        .body(format!("{part}{file}\r\n--b--\r\n"))
}

const BOUNDS: [Bound; 10] = [
    Bound {
        setting: ("limits.page_max", 7),
        request: |count| posts(&format!(r#""$page":{{"first":{count}}}"#)),
        refusal: (400, "7"),
    },
    Bound {
        setting: ("limits.skip", 7),
        request: |count| posts(&format!(r#""$page":{{"skip":{count}}}"#)),
        refusal: (400, "`skip` (7)"),
    },
    Bound { setting: ("limits.depth", 3), request: nested, refusal: (400, "`depth` (3)") },
    Bound {
        setting: ("limits.fields", 4),
        request: |count| ql(&format!("{{ post {} }}", FIELDS[..count].join(" "))),
        refusal: (400, "`fields` (4)"),
    },
    Bound {
        setting: ("limits.rows", 3),
        request: |count| posts(&format!(r#""$page":{{"first":{count}}}"#)),
        refusal: (400, "`rows`"),
    },
    Bound {
        setting: ("limits.query_bytes", 60),
        request: |length| ql(&format!("{{ post {}id }}", " ".repeat(length - "{ post id }".len()))),
        refusal: (400, "`query_bytes` (60)"),
    },
    Bound { setting: ("limits.body_bytes", 200), request: body, refusal: (413, "200") },
    Bound { setting: ("limits.header_bytes", 1_100), request: head, refusal: (431, "1100") },
    Bound { setting: ("uploads.max_bytes", 10), request: upload, refusal: (413, "10") },
    Bound { setting: ("uploads.max_bytes", 1), request: upload, refusal: (413, "1") },
];

fn start(blog: &Database, settings: &str) -> Server {
    let schema = blog.dir.write("schema.json", SCHEMA);
    let config = blog.dir.write("mesh.toml", &format!("database = \"{}\"\n{settings}\n", blog.url()));
    Server::start(&["--config", &config, "--schema", &schema])
}

/// Attack with a session of few rights: every bound of the settings, reached and exceeded.
#[test]
fn each_bound_of_a_request_is_reached_and_not_exceeded() {
    let blog = Database::blog();
    let mut faults = Vec::new();
    for Bound { setting: (setting, value), request, refusal: (status, word) } in BOUNDS {
        let files = blog.dir.path().join("files").display().to_string();
        let server = start(
            &blog,
            &format!("{setting} = {value}\nuploads.enabled = true\nuploads.store = 'file:{files}'"),
        );
        let mut fault = |what: &str, reply: &Response| {
            faults.push(format!("{setting} = {value}, {what}: {} {}", reply.status, reply.text()));
        };
        for within in [value.max(2) - 1, value] {
            let reply = server.send(&request(within));
            if reply.status != 200 {
                fault(&format!("{within} is refused"), &reply);
            }
        }
        // There are four posts, and five fields to name.
        let most = match setting {
            "limits.rows" => 4,
            "limits.fields" => FIELDS.len(),
            _ => usize::MAX,
        };
        for beyond in (value + 1..=value + 2).filter(|beyond| *beyond <= most) {
            let reply = server.send(&request(beyond));
            if reply.status != status || !reply.text().contains(word) {
                fault(&format!("{beyond} is not refused as it should be"), &reply);
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Sends requests until one is refused with 429, and returns how many were not.
fn until_refused(mut send: impl FnMut() -> Response) -> usize {
    (0..20).take_while(|_| send().status != 429).count()
}

#[test]
fn rates_and_attempts_are_reached_and_not_exceeded() {
    for bound in [1, 3] {
        let blog = Database::blog();
        let server = start(&blog, &format!("limits.per_address = '{bound}/h'"));
        assert_eq!(until_refused(|| server.send(&ql("{ post id }"))), bound);

        let deployment = Deployment::new(&format!(
            "limits.per_session = '{bound}/h'\nlimits.login_per_minute = {bound}\n"
        ));
        let server = deployment.start();
        let session = Session::begin(&server);
        assert_eq!(until_refused(|| session.get(&server, "/post/1", TITLE)), bound);
        assert_eq!(until_refused(|| login(&server, "ada@example.org", "guess")), bound);
    }
}

const TITLE: &str = r#"{"post":{"$select":{"title":true}}}"#;

/// Sends a read with a bound signature.
fn bound_read(server: &Server, session: &Session, nonce: &str) -> Response {
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let message = format!("{}\nGET\n/mesh/post/1\njson\n{time}\n{nonce}", encode(TITLE));
    let request = session.sign(Request::get("/mesh/post/1", TITLE), &message);
    server.send(&request.header("X-Mesh-Timestamp", time.to_string()).header("X-Mesh-Nonce", nonce))
}

/// Sends more nonces than `limits.nonces_per_session = 3` allows, with two sessions, and checks how they are refused.
pub(crate) fn check_nonces(server: &Server, what: &str) {
    let (one, other) = (Session::begin(server), Session::begin(server));
    for session in [&one, &other] {
        let mut count = 0;
        let sent = until_refused(|| {
            count += 1;
            bound_read(server, session, &format!("nonce-number-{count:04}"))
        });
        assert_eq!(sent, 3, "{what}");
    }
    let reply = bound_read(server, &one, "another-nonce-of-it");
    assert_eq!(why(&reply), (429, "RateLimitError".to_owned()), "{what}");
    let wait: u32 = reply.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=121).contains(&wait), "{what}: {wait}");
    assert_eq!(bound_read(server, &Session::begin(server), "nonce-number-0001").status, 200, "{what}");
}

#[test]
fn a_session_with_too_many_nonces_is_refused_and_others_are_not() {
    for store in ["database", "memory"] {
        let settings = format!("limits.nonces_per_session = 3\nstate.store = '{store}'\n");
        let deployment = Deployment::with("binding = \"require\"", &settings);
        check_nonces(&deployment.start(), store);
    }
}

/// Spellings that find one account count as one; an account that does not exist allows no more attempts than others.
#[test]
fn spellings_of_a_login_are_counted_together() {
    let deployment = Deployment::new("");
    let connection = deployment.database.connect();
    connection
        .execute_batch(
            "CREATE TABLE folded (id INTEGER PRIMARY KEY, email TEXT COLLATE NOCASE UNIQUE, password_hash TEXT,
                                  role TEXT, tenant TEXT);
             INSERT INTO folded SELECT id, email, password_hash, role, tenant FROM accounts;",
        )
        .unwrap();
    let config = std::fs::read_to_string(&deployment.config).unwrap();
    let folded = deployment.database.dir.write("folded.toml", &config.replace("\"accounts\"", "\"folded\""));
    let upper_at = |name: &str, bits: usize| -> String {
        let letter = |(index, letter): (usize, char)| {
            if bits >> index & 1 == 1 { letter.to_ascii_uppercase() } else { letter }
        };
        name.chars().enumerate().map(letter).collect()
    };
    for config in [&folded, &deployment.config] {
        let mut counts = Vec::new();
        for name in ["ada@example.org", "eve@example.org"] {
            let server = Server::start(&["--config", config]);
            let replies: Vec<_> =
                (0..60).map(|bits| login(&server, &upper_at(name, bits), "guess")).collect();
            let tried =
                replies.iter().filter(|reply| why(reply) == (401, "BAD_CREDENTIALS".to_owned())).count();
            assert!(replies[tried..].iter().all(|reply| why(reply) == (429, "RateLimitError".to_owned())));
            let refused = login(&server, name, PASSWORD);
            assert_eq!(refused.status, 429);
            counts.push(tried);
        }
        assert_eq!(counts, [10, 10], "{config}");
    }
}

#[test]
fn as_many_queries_as_allowed_stay_registered() {
    for store in ["database", "memory"] {
        for bound in 1..=5 {
            let blog = Database::blog();
            let server = start(&blog, &format!("persisted.max_entries = {bound}\nstate.store = '{store}'"));
            let query = |number: usize| format!("{{ post {}id }}", " ".repeat(number));
            let mut ids = Vec::new();
            for number in 0..9 {
                let body = json!({"query": query(number), "format": "ql"}).to_string();
                let reply = server.send(&Request::post("/mesh/queries", &body));
                ids.push(reply.json()["id"].as_str().unwrap().to_owned());
                let known = ids.iter().rev().filter(|id| {
                    let read = Request::new("GET", "/mesh/post/1").header("X-Mesh-Query-Id", id);
                    server.send(&read).status == 200
                });
                let (known, most) = (known.count(), (number + 1).min(bound));
                assert!(known <= most && known > 0, "{known} of {bound} in {store}");
                if number < bound || store == "database" {
                    assert_eq!(known, most, "all that fit, in {store}");
                }
            }
        }
    }
}
