//! Uploads that are refused, and paths that do not name files.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, StreamExt as _};
use http::Request;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Frame;
use mesh_server::mesh_plan::Value;
use mesh_server::mesh_plan::policy::Access;
use mesh_server::mesh_schema::Entity;
use mesh_server::mesh_uploads::ContentHash;
use mesh_server::mesh_wire::base64;
use mesh_server::{Pace, Uploads};

use super::{AVATAR, BANNER, Fixture, Sent, file, part};

#[tokio::test]
async fn every_refusal_of_the_table() {
    let fixture = Fixture::new();
    let other = ContentHash::digest(b"other");
    let wrong_hash = format!(r#"{{"user":{{"avatar":{{"upload":true}}}},"contentHash":"{other}"}}"#);
    let meta = |text: &str| part("meta", "application/json", text) + &file("x");
    let large = "x".repeat(1001);
    let cases: Vec<(&str, &str, String, u16, &str)> = vec![
        ("user/7/avatar", &wrong_hash, file("x"), 403, "CONTENT_HASH_MISMATCH"),
        ("user/7/avatar", BANNER, file("x"), 400, "ValidationError"),
        ("user/7/avatar", r#"{"file":{"url":{"upload":true}}}"#, file("x"), 400, "ValidationError"),
        ("user/7/avatar", "{user avatar}", file("x"), 400, "ValidationError"),
        ("user/7/name", r#"{"user":{"name":{"upload":true}}}"#, file("x"), 400, "takes no files"),
        (
            "user/7/nam",
            r#"{"user":{"nam":{"upload":true}}}"#,
            file("x"),
            400,
            "Field 'nam' not found on entity 'user'; did you mean 'name'?",
        ),
        ("nobody/7/x", r#"{"nobody":{"x":{"upload":true}}}"#, file("x"), 400, "ValidationError"),
        ("note", r#"{"note":{"upload":true}}"#, file("x"), 400, "takes files"),
        ("user/8/avatar", AVATAR, file("x"), 404, "NotFound"),
        ("user/x/avatar", AVATAR, file("x"), 404, "NotFound"),
        ("user/7/avatar", AVATAR, file(&large), 413, "TransportError"),
        ("user/7/avatar", AVATAR, part("file", "text/html", "x"), 415, "TransportError"),
        ("user/7/avatar", AVATAR, String::new(), 400, "TransportError"),
        ("user/7/avatar", AVATAR, file("x") + &file("y"), 400, "TransportError"),
        ("user/7/avatar", AVATAR, part("other", "text/plain", "x"), 400, "TransportError"),
        ("user/7/avatar", AVATAR, meta("[]"), 400, "TransportError"),
        ("user/7/avatar", AVATAR, meta(r#"{"banner": "x"}"#), 400, "ValidationError"),
        ("user/7/avatar", AVATAR, meta(r#"{"avatar": "x"}"#), 400, "ValidationError"),
        ("user/7/avatar", AVATAR, meta(r#"{"nope": 1}"#), 400, "ValidationError"),
        ("user/7/avatar", AVATAR, meta(r#"{"age": "x"}"#), 400, "ValidationError"),
        ("user/7/avatar", AVATAR, meta(r#"{"name": "impossible"}"#), 409, "ConflictError"),
        (
            "user/7/avatar",
            AVATAR,
            meta(&format!(r#"{{"name": "{}"}}"#, "x".repeat(70_000))),
            413,
            "TransportError",
        ),
    ];
    for (path, statement, parts, wanted, word) in cases {
        let (status, _, body) = fixture.upload(path, statement, &parts).await;
        let text = body.to_string();
        assert!(
            status == wanted && text.contains(word),
            "{path} {statement}: {status} {text}, not {wanted} {word}"
        );
        assert_eq!(fixture.pending(), 0, "{text}");
    }
    assert!(fixture.written.lock().unwrap().is_empty());
    assert_eq!(fixture.get(&format!("/mesh/files/{}", ContentHash::digest(b"x").key()), &[]).await.0, 404);
}

#[tokio::test]
async fn a_read_only_field_accepts_no_file() {
    let readers = |_: &str, entity: &Entity| match entity.key.as_str() {
        "user" => Access::all().read_only(),
        "file" => Access::none(),
        _ => Access::all(),
    };
    let fixture = Fixture::with(Value::Null, |mesh| mesh.policy(readers), |uploads| uploads);
    let (status, _, body) = fixture.upload("user/7/avatar", AVATAR, &file("x")).await;
    assert_eq!((status, body["error"].as_str()), (400, Some("ValidationError")), "{body}");
    let (status, _, body) =
        fixture.upload("file/8/url", r#"{"file":{"url":{"upload":true}}}"#, &file("x")).await;
    assert_eq!((status, body["message"].as_str()), (400, Some("Entity 'file' not found")));
    assert!(fixture.written.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_stalled_body_is_refused() {
    let pace = Pace { bytes_per_second: 1000, grace: Duration::from_millis(300) };
    let with_pace = |mut uploads: Uploads| {
        uploads.pace = Some(pace);
        uploads
    };
    let fixture = Fixture::with(Value::Null, |mesh| mesh, with_pace);
    let begin = Frame::data(Bytes::from(part("file", "text/plain", "begun")));
    let body = stream::iter([Ok::<_, std::io::Error>(begin)]).chain(stream::pending());
    let request = Request::post("/mesh/user/7/avatar")
        .header("Content-Type", "multipart/form-data; boundary=b")
        .header("X-Mesh-Query", base64::encode(AVATAR))
        .body(StreamBody::new(body))
        .unwrap();
    let reply = fixture.app.handle(request).await;
    assert_eq!(reply.status(), 400);
    let body = reply.into_body().collect().await.unwrap().to_bytes();
    assert!(String::from_utf8_lossy(&body).contains("too slowly"), "{body:?}");
    assert_eq!(fixture.pending(), 0);
}

#[tokio::test]
async fn an_upload_needs_its_header_and_a_valid_form() {
    let fixture = Fixture::new();
    let send = async |headers: &[(&str, &str)]| {
        let mut request = Request::post("/mesh/user/7/avatar");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (status, _, body) = fixture.send(request.body(Full::from(file("x") + "--b--")).unwrap()).await;
        (status, String::from_utf8(body.to_vec()).unwrap())
    };
    let query = base64::encode(AVATAR);
    let form = ("Content-Type", "multipart/form-data; boundary=b");
    let long = format!("multipart/form-data; boundary={}", "b".repeat(1024));
    let cases: [(Sent<'_>, u16, &str); 8] = [
        (&[form], 400, "requires a statement in X-Mesh-Query"),
        (&[form, ("X-Mesh-Query-Id", "q_1")], 400, "requires a statement"),
        (&[form, ("X-Mesh-Query", "")], 400, "empty"),
        (&[form, ("X-Mesh-Query", &query), ("X-Mesh-Format", "ql")], 400, "JSON"),
        (&[("X-Mesh-Query", &query), ("Content-Type", "application/json")], 415, "multipart/form-data"),
        (&[("X-Mesh-Query", &query)], 415, "multipart/form-data"),
        (&[("X-Mesh-Query", &query), ("Content-Type", "multipart/form-data")], 400, "boundary"),
        (&[("X-Mesh-Query", &query), ("Content-Type", &long)], 400, "boundary"),
    ];
    for (headers, wanted, word) in cases {
        let (status, text) = send(headers).await;
        assert!(status == wanted && text.contains(word), "{headers:?}: {status} {text}");
    }
}

#[tokio::test]
async fn files_have_no_other_paths() {
    let fixture = Fixture::new();
    fixture.upload("user/7/avatar", AVATAR, &file("x")).await;
    let key = ContentHash::digest(b"x").key().to_string();
    for path in [
        "/mesh/files/".to_owned() + &key.to_uppercase(),
        format!("/mesh/files/{key}.type"),
        "/mesh/files/sha256/..%2f..%2fpending/x".to_owned(),
        "/mesh/files/sha256/../../etc/passwd".to_owned(),
        "/mesh/files/pending/1-1.part".to_owned(),
        "/mesh/files/sha256/00/00".to_owned(),
        "/mesh/files".to_owned(),
    ] {
        let status = fixture.get(&path, &[]).await.0;
        assert!((400..500).contains(&status), "{path}: {status}");
    }
}
