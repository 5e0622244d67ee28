//! The stored file is the signed one, and only its session can use the signature.

use std::io::Write as _;
use std::process::Stdio;
use std::time::UNIX_EPOCH;

use mesh_tests::encode;

use super::*;

const PASSWORD: &str = "correct horse";
pub(super) const SETTINGS: &str = "[integrity]\nenabled = true\nsecret = \"a secret of this test, of more than 32 bytes\"\n\
    [integrity.users]\ntable = \"users\"\nid = \"id\"\nlogin = \"login\"\npassword = \"password_hash\"\nrole = \"role\"\n";

pub(super) struct Session {
    token: String,
    key: String,
}

impl Session {
    pub(super) fn begin(files: &Files) -> Self {
        Self::log_in(&files.server)
    }

    pub(super) fn log_in(server: &Server) -> Self {
        let body = json!({"login": "ada", "password": PASSWORD}).to_string();
        let reply = server.send(&Request::post("/mesh/auth", &body));
        assert_eq!(reply.status, 200, "{}", reply.text());
        let text = |name: &str| reply.json()[name].as_str().unwrap().to_owned();
        Self { token: text("token"), key: text("signingToken") }
    }

    pub(super) fn sign(&self, request: Request, message: &str) -> Request {
        let signature = encoding::signature(&self.key, message);
        request.header("X-Mesh-Token", &self.token).header("X-Mesh-Signature", signature)
    }

    fn upload(&self, path: &str, statement: &str, bytes: &[u8]) -> Request {
        let request = head(path, statement).body(body(&[part("file", "text/plain", bytes)]));
        self.sign(request, &encode(statement))
    }
}

pub(super) fn refusal(reply: &Response) -> (u16, Value) {
    (reply.status, reply.json()["code"].clone())
}

#[test]
fn only_signed_files_are_stored() {
    let files = Files::with(SETTINGS);
    let session = Session::begin(&files);
    let right = statement("user", "avatar", b"hello");
    let send = |request: &Request| refusal(&files.send(request));

    let unsigned = head("/user/7/avatar", &right).body(body(&[part("file", "text/plain", b"hello")]));
    assert_eq!(send(&unsigned), (401, json!("TOKEN_MISSING")));
    let other = session.sign(unsigned.clone(), "something else");
    assert_eq!(send(&other), (403, json!("SIGNATURE_INVALID")));
    assert_eq!(
        send(&session.upload("/user/7/avatar", &right, b"hellO")),
        (403, json!("CONTENT_HASH_MISMATCH"))
    );
    let bare = r#"{"user":{"avatar":{"upload":true}}}"#;
    assert_eq!(send(&session.upload("/user/7/avatar", bare, b"hello")), (403, json!("CONTENT_HASH_MISSING")));
    let elsewhere = session.upload("/user/7/banner", &right, b"hello");
    assert_eq!(files.send(&elsewhere).json()["error"], "ValidationError");
    let elsewhere = session.upload("/photo", &right, b"hello");
    assert_eq!(files.send(&elsewhere).json()["error"], "ValidationError");
    assert_eq!((files.published(), files.pending().len()), (vec![], 0));

    let reply = files.send(&session.upload("/user/7/avatar", &right, b"hello"));
    assert_eq!((reply.status, &reply.json()["avatar"]), (200, &json!(key("hello"))));
}

/// Changing a request on its way can neither add nor change fields, nor have a text shown as a page.
#[test]
fn the_statement_covers_the_type_and_the_fields() {
    let files = Files::with(SETTINGS);
    let session = Session::begin(&files);
    let hash = |bytes: &str| format!("sha256:{}", encoding::sha256(bytes));
    let (meta, added) = (r#"{"name":"Ada L."}"#, r#"{"name":"Mallory"}"#);
    let stated = json!({
        "user": {"banner": {"upload": true}}, "contentHash": hash("<b>hello"), "contentType": "text/plain",
        "metaHash": hash(meta),
    });
    let send = |stated: &Value, content_type: &str, meta: Option<&str>| {
        let file = part("file", content_type, b"<b>hello");
        let meta = meta.map(|meta| part("meta", "application/json", meta.as_bytes())).unwrap_or_default();
        let request = head("/user/7/banner", &stated.to_string()).body(body(&[meta, file]));
        files.send(&session.sign(request, &encode(&stated.to_string())))
    };
    let altered = (403, json!("CONTENT_HASH_MISMATCH"));
    assert_eq!(refusal(&send(&stated, "text/html", Some(meta))), altered);
    assert_eq!(refusal(&send(&stated, "text/plain", Some(added))), altered);
    assert_eq!(refusal(&send(&stated, "text/plain", None)), altered);
    assert_eq!((files.published(), files.pending().len()), (vec![], 0));
    assert_eq!(send(&stated, "text/plain", Some(meta)).status, 200);
}

/// With `binding = "require"` a statement that leaves the type or the fields open is not accepted.
#[test]
fn bound_uploads_state_everything() {
    let files = Files::with(&SETTINGS.replacen("enabled = true", "enabled = true\nbinding = \"require\"", 1));
    let session = Session::begin(&files);
    let hash = |bytes: &str| format!("sha256:{}", encoding::sha256(bytes));
    let meta = r#"{"name":"Mallory"}"#;
    let send = |more: &Value, meta: Option<&str>| {
        let mut stated = json!({"user": {"banner": {"upload": true}}, "contentHash": hash("hello")});
        stated.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let file = part("file", "text/html", b"hello");
        let meta = meta.map(|meta| part("meta", "application/json", meta.as_bytes())).unwrap_or_default();
        let request = head("/user/7/banner", &stated.to_string()).body(body(&[meta, file]));
        let (time, nonce) = (UNIX_EPOCH.elapsed().unwrap().as_secs(), encoding::random(22));
        let bound = format!("\nPOST\n/mesh/user/7/banner\njson\n{time}\n{nonce}");
        let request = request.header("X-Mesh-Timestamp", time.to_string()).header("X-Mesh-Nonce", &nonce);
        files.send(&session.sign(request, &(encode(&stated.to_string()) + &bound)))
    };
    let (html, whole) =
        (json!({"contentType": "text/html"}), json!({"contentType": "text/html", "metaHash": hash(meta)}));
    let missing = (403, json!("CONTENT_HASH_MISSING"));
    assert_eq!(refusal(&send(&json!({}), None)), missing);
    assert_eq!(refusal(&send(&json!({"metaHash": hash(meta)}), Some(meta))), missing);
    assert_eq!(refusal(&send(&html, Some(meta))), missing);
    assert_eq!((files.published(), files.pending().len()), (vec![], 0));
    assert_eq!(send(&html, None).status, 200);
    assert_eq!(send(&whole, Some(meta)).status, 200);
}

#[test]
fn a_download_is_signed_over_its_key() {
    let files = Files::with(SETTINGS);
    let session = Session::begin(&files);
    let reply =
        files.send(&session.upload("/user/7/avatar", &statement("user", "avatar", b"hello"), b"hello"));
    assert_eq!(reply.status, 200, "{}", reply.text());
    let get = Request::new("GET", &format!("/mesh/files/{}", key("hello")));
    assert_eq!(refusal(&files.send(&get)), (401, json!("TOKEN_MISSING")));
    assert_eq!(refusal(&files.send(&session.sign(get.clone(), ""))), (403, json!("SIGNATURE_INVALID")));
    assert_eq!(
        refusal(&files.send(&session.sign(get.clone(), &key("other")))),
        (403, json!("SIGNATURE_INVALID"))
    );
    let reply = files.send(&session.sign(get, &key("hello")));
    assert_eq!((reply.status, reply.text().as_str()), (200, "hello"));
    // Unauthorized clients cannot find out whether a file exists.
    let missing = Request::new("GET", &format!("/mesh/files/{}", key("other")));
    assert_eq!(refusal(&files.send(&missing)).0, 401);
    assert_eq!(files.send(&session.sign(missing, &key("other"))).status, 404);
}

#[test]
fn the_command_logs_in() {
    // The same holds if signatures must be bound to one use.
    let files = Files::with(&SETTINGS.replacen("enabled = true", "enabled = true\nbinding = \"require\"", 1));
    let url = format!("http://{}/mesh", files.server.address);
    let file = files.database.dir.write("me.txt", "signed");
    let run = |password: &str| {
        let mut command =
            mesh_tests::command(&["upload", "--url", &url, "--login", "ada", "user", "7", "avatar", &file]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        writeln!(child.stdin.take().unwrap(), "{password}").unwrap();
        let output = child.wait_with_output().unwrap();
        let texts = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
        (output.status.code(), texts.concat())
    };
    let (status, text) = run("wrong");
    assert!(status == Some(1) && text.contains("IntegrityError"), "{status:?} {text}");
    let (status, text) = run(PASSWORD);
    assert!(status == Some(0) && text.contains(&key("signed")), "{status:?} {text}");
}
