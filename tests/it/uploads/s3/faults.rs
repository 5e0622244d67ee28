//! Buckets that are slow or out of reach.

use mesh_tests::{Fault, FaultyProxy};

use super::*;
use crate::support::refusals::shape_faults;

/// A server and a proxy before its bucket.
struct Network {
    bucket: Bucket,
    proxy: FaultyProxy,
}

impl Network {
    /// Starts a server with this `request_timeout`, which sends files itself.
    fn open(timeout: &str) -> Option<Self> {
        let moto = Moto::start()?;
        let proxy = FaultyProxy::before_port(moto.address);
        let database = Database::new(TABLES);
        let server = Bucket::serve(&moto, proxy.address(), &database, (timeout, NO_LINKS, ""));
        Some(Self { bucket: Bucket { server, moto, database }, proxy })
    }
}

/// Checks the error, which must reveal nothing about the bucket.
#[track_caller]
fn assert_refused(what: &str, reply: &Response, is_late: bool) {
    let expected = if is_late { (500, json!("TIMEOUT")) } else { (503, Value::Null) };
    assert_eq!(refusal(reply), expected, "{what}: {}", reply.text());
    assert_eq!(reply.header("retry-after").is_some(), !is_late, "{what}");
    assert_eq!(shape_faults(reply), Vec::<String>::new(), "{what}");
    for inside in ["127.0.0.1", "http", "up/loads", "staging", "S3", "access"] {
        assert!(!reply.text().contains(inside), "{what}: {}", reply.text());
    }
}

#[test]
fn requests_end_in_time_if_a_bucket_does_not_answer() {
    let Some(network) = Network::open("1s") else { return };
    let Network { bucket, proxy } = &network;
    assert_eq!(bucket.upload("text/plain", b"first").status, 200);
    for fault in [Fault::Hold, Fault::HoldAnswers, Fault::Cut, Fault::CutAnswers] {
        let is_late = matches!(fault, Fault::Hold | Fault::HoldAnswers);
        proxy.set(fault);
        assert_refused(&format!("GET, {fault:?}"), &bucket.get(&key("first"), &[]), is_late);
        assert_refused(&format!("GET, {fault:?}"), &bucket.get(&key("none"), &[]), is_late);
        for bytes in [b"second".to_vec(), large()] {
            let what = format!("POST, {fault:?}, {} bytes", bytes.len());
            assert_refused(&what, &bucket.upload("text/plain", &bytes), is_late);
        }
        proxy.set(Fault::None);
        assert_eq!(bucket.banner(), json!(key("first")), "{fault:?}");
        for bytes in [b"second".to_vec(), large()] {
            assert_eq!(bucket.get(&key(&bytes), &[]).status, 404, "{fault:?}");
        }
    }
    wait_until("uploads succeed again", || bucket.upload("text/plain", b"second").status == 200);
    assert_eq!(bucket.banner(), json!(key("second")));
}

#[test]
fn a_bucket_that_is_away_is_no_secret_but_where_it_was_is() {
    let Some(bucket) = Bucket::open_with(NO_LINKS, "") else { return };
    assert_eq!(bucket.upload("text/plain", b"first").status, 200);
    let Bucket { server, moto, database } = bucket;
    // Nothing listens at its port.
    drop(moto);
    let reply = server.send(&file("GET", &key("first"), &[]));
    assert_refused("GET", &reply, false);
    let upload = head("/user/7/banner", &statement("user", "banner", b"second"));
    let reply = server.send(&upload.body(body(&[part("file", "text/plain", b"second")])));
    assert_refused("POST", &reply, false);
    let banner: String =
        database.connect().query_row("SELECT banner FROM users WHERE id = 7", [], |row| row.get(0)).unwrap();
    assert_eq!(banner, key("first"));
}

#[test]
fn a_download_ends_if_its_bytes_stop() {
    let Some(network) = Network::open("3s") else { return };
    let Network { bucket, proxy } = &network;
    // More than the buffers of all sockets between the bucket and the client hold.
    let bytes = large().repeat(4);
    let patient = Bucket::serve(&bucket.moto, bucket.moto.address, &bucket.database, ("60s", NO_LINKS, ""));
    let head = head("/user/7/banner", &statement("user", "banner", &bytes));
    let upload = head.body(body(&[part("file", "text/plain", &bytes)]));
    assert_eq!(patient.send(&upload).status, 200);
    let mut connection = bucket.server.connect();
    connection.write(&file("GET", &key(&bytes), &[]).bytes());
    let head = connection.read_head().unwrap().unwrap();
    assert_eq!((head.status, head.header("content-length")), (200, Some("40000000")));
    // A part of the bytes has been sent already.
    proxy.set(Fault::Hold);
    let ended = connection.read_body(head, false);
    assert!(ended.is_err(), "the body is complete: the proxy held nothing");
    proxy.set(Fault::None);
    assert!(bucket.get(&key(&bytes), &[("Range", "bytes=0-99")]).body == bytes[..100]);
}
