//! Files in a bucket: links, files that the server sends itself, and buckets that are slow or out of reach.

mod faults;
mod links;

use mesh_tests::{Moto, command};

use super::signed::{SETTINGS, Session, refusal};
use super::*;

/// The parameter of a store whose files the server sends itself.
const NO_LINKS: &str = "?links=false";

/// A server with uploads to a bucket.
struct Bucket {
    // Dropped first, so that the server ends while its bucket is there.
    server: Server,
    moto: Moto,
    database: Database,
}

impl Bucket {
    /// Starts moto and a server. Returns `None` if moto is not installed.
    fn open() -> Option<Self> {
        Self::open_with("", "")
    }

    /// Starts moto and a server with parameters of its store, and settings below `[uploads]`.
    fn open_with(parameters: &str, settings: &str) -> Option<Self> {
        let moto = Moto::start()?;
        let database = Database::new(TABLES);
        let server = Self::serve(&moto, moto.address, &database, ("10s", parameters, settings));
        Some(Self { server, moto, database })
    }

    /// Starts a server whose bucket is at `address`: that of moto, or of a proxy before it.
    fn serve(
        moto: &Moto,
        address: std::net::SocketAddr,
        database: &Database,
        (timeout, parameters, settings): (&str, &str, &str),
    ) -> Server {
        let schema = database.dir.write("schema.json", SCHEMA);
        let config = format!(
            "database = \"{}\"\nschema = \"{schema}\"\nrequest_timeout = \"{timeout}\"\n\
             [uploads]\nenabled = true\nstore = \"{}{parameters}\"\n{settings}",
            database.url(),
            moto.store()
        );
        let config = database.dir.write("mesh.toml", &config);
        let mut serve = command(&["serve", "--listen", "127.0.0.1:0", "--log", "off", "--config", &config]);
        moto.configure(&mut serve, address);
        Server::spawn(&mut serve)
    }

    fn upload(&self, content_type: &str, bytes: &[u8]) -> Response {
        let head = head("/user/7/banner", &statement("user", "banner", bytes));
        self.server.send(&head.body(body(&[part("file", content_type, bytes)])))
    }

    fn get(&self, key: &str, headers: &[(&str, &str)]) -> Response {
        self.server.send(&file("GET", key, headers))
    }

    fn banner(&self) -> Value {
        self.server.get("/user/7", r#"{"user":{"$select":{"banner":true}}}"#).json()["banner"].clone()
    }
}

fn file(method: &str, key: &str, headers: &[(&str, &str)]) -> Request {
    let request = Request::new(method, &format!("/mesh/files/{key}"));
    headers.iter().fold(request, |request, (name, value)| request.header(name, value))
}

/// Ten megabytes, which are sent in two parts.
fn large() -> Vec<u8> {
    (0..10_000_000_u32).map(|number| (number % 251) as u8).collect()
}

#[test]
fn the_server_sends_files_if_there_are_no_links() {
    let Some(bucket) = Bucket::open_with(NO_LINKS, "") else { return };
    for bytes in [b"hello".to_vec(), large()] {
        assert_eq!(bucket.upload("text/html", &bytes).status, 200);
        let key = key(&bytes);
        let whole = bucket.get(&key, &[]);
        assert_eq!((whole.status, whole.header("content-type")), (200, Some("text/html")));
        assert!(whole.body == bytes, "{} bytes", whole.body.len());
        assert_eq!(whole.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(whole.header("content-disposition"), Some("attachment"));
        let (tag, size) = (whole.header("etag").unwrap(), bytes.len());
        assert_eq!(bucket.get(&key, &[("If-None-Match", tag)]).status, 304);
        let last = size - 2;
        for (range, span) in [
            ("bytes=1-2".to_owned(), 1..3),
            (format!("bytes={last}-"), last..size),
            ("bytes=-2".to_owned(), last..size),
            (format!("bytes=0-{}", size * 2), 0..size),
        ] {
            let part = bucket.get(&key, &[("Range", &range), ("If-Range", tag)]);
            let shown = format!("bytes {}-{}/{size}", span.start, span.end - 1);
            assert_eq!((part.status, part.header("content-range")), (206, Some(shown.as_str())), "{range}");
            assert!(part.body == bytes[span], "{range}");
        }
        let beyond = bucket.get(&key, &[("Range", &format!("bytes={size}-"))]);
        let shown = format!("bytes */{size}");
        assert_eq!((beyond.status, beyond.header("content-range")), (416, Some(shown.as_str())));
        assert_eq!(bucket.get(&key, &[("Range", "bytes=1-2"), ("If-Range", "\"other\"")]).body.len(), size);
        let head = bucket.server.send(&file("HEAD", &key, &[]));
        assert_eq!((head.status, head.header("content-length")), (200, Some(size.to_string().as_str())));
    }
}

#[test]
fn a_file_in_a_bucket_needs_a_signature() {
    for parameters in ["", NO_LINKS] {
        let Some(bucket) = Bucket::open_with(parameters, SETTINGS) else { return };
        let Bucket { server, .. } = &bucket;
        let session = Session::log_in(server);
        let statement = statement("user", "banner", b"hello");
        let unsigned = head("/user/7/banner", &statement).body(body(&[part("file", "text/plain", b"hello")]));
        assert_eq!(refusal(&server.send(&unsigned)), (401, json!("TOKEN_MISSING")));
        assert_eq!(server.send(&session.sign(unsigned, &mesh_tests::encode(&statement))).status, 200);

        let key = key("hello");
        assert_eq!(refusal(&bucket.get(&key, &[])), (401, json!("TOKEN_MISSING")));
        let other = session.sign(file("GET", &key, &[]), &super::key("other"));
        assert_eq!(refusal(&server.send(&other)), (403, json!("SIGNATURE_INVALID")));
        let reply = server.send(&session.sign(file("GET", &key, &[]), &key));
        assert_eq!(reply.status, if parameters == NO_LINKS { 200 } else { 302 }, "{}", reply.text());
        assert_eq!(reply.header("location").is_some(), parameters != NO_LINKS);
    }
}

#[test]
fn a_missing_file_costs_a_few_requests_whatever_the_bucket_contains() {
    let Some(bucket) = Bucket::open() else { return };
    // Marks of other uploads, as this version and earlier ones write them.
    for number in 0..40 {
        let hash = encoding::sha256(number.to_string());
        bucket.moto.put(&format!("sealed/{hash}/a-{number}"));
        bucket.moto.put(&format!("sealed/{hash}.b-{number}"));
    }
    // A request is logged after its response.
    let marks = || bucket.moto.requests().iter().filter(|line| line.contains("/sealed/")).count();
    wait_until("the marks are logged", || marks() >= 80);
    let before = bucket.moto.requests().len();
    let reply = bucket.get(&key("nothing"), &[]);
    assert_eq!((reply.status, &reply.json()["error"]), (404, &json!("NotFound")));
    let requests = || bucket.moto.requests()[before..].to_vec();
    wait_until("the requests are logged", || requests().len() >= 3);
    let requests = requests();
    assert_eq!(requests.len(), 3, "{requests:#?}");
    let listings: Vec<&String> = requests.iter().filter(|line| line.contains("list-type")).collect();
    let hash = encoding::sha256("nothing");
    assert!(listings.iter().all(|line| line.contains(&hash)), "other marks are listed: {listings:#?}");

    // A record whose object was removed behind the server's back.
    assert_eq!(bucket.upload("text/plain", b"hello").status, 200);
    bucket.moto.delete(&key("hello"));
    assert_eq!(bucket.get(&key("hello"), &[]).status, 404);
    assert_eq!(bucket.banner(), json!(key("hello")));
}
