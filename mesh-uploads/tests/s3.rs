//! Tests of the S3 store against a server on the loopback interface: moto (`pip install 'moto[server]'`). Without moto
//! the tests are skipped with a message, or fail if `MESH_REQUIRE_SERVICES` is 1.

#![cfg(test)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::stream::{self, TryStreamExt as _};
use mesh_uploads::{
    BlobStore, ContentHash, LinkMethod, ReceiveOptions, ReceivedUpload, RecordError, S3Options, S3Store,
    StatedParts, StorageKey, UploadLimits, UploadPolicy, publish_if_recorded, receive, recover,
    sweep_orphans,
};

struct Moto {
    process: Child,
    address: String,
}

impl Moto {
    fn start() -> Option<Self> {
        let started = Command::new("moto_server")
            .args(["-H", "127.0.0.1", "-p", "0"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let Ok(mut process) = started else {
            let required = std::env::var_os("MESH_REQUIRE_SERVICES").is_some_and(|value| value == "1");
            assert!(
                !required,
                "moto_server is not installed, but MESH_REQUIRE_SERVICES says that it must be"
            );
            println!("moto_server is not installed: the S3 store is not tested");
            return None;
        };
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines().map_while(Result::ok);
        let address = lines.find_map(|line| Some(line.split_once("Running on http://")?.1.trim().to_owned()));
        // The rest of the output is read too, because a full pipe would block the server.
        std::thread::spawn(move || lines.count());
        let moto = Self { process, address: address.expect("the address of moto_server") };
        assert!(moto.send("PUT /files").starts_with("HTTP/1.1 200"));
        Some(moto)
    }

    /// Sends a request without credentials, which moto does not require, and returns the response.
    fn send(&self, line: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let host = &self.address;
        write!(stream, "{line} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn store(&self, instance: &str, stale_after: Duration) -> S3Store {
        S3Store::new(S3Options { stale_after, ..self.options(instance) }).unwrap()
    }

    fn options(&self, instance: &str) -> S3Options {
        let settings = [
            ("AWS_ENDPOINT", format!("http://{}", self.address)),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", "test".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
            ("AWS_UNRELATED", "ignored".to_owned()),
        ];
        let settings = settings.map(|(name, value)| (name.to_owned(), value)).to_vec();
        S3Options { settings, ..S3Options::new("s3://files/up/loads", instance) }
    }

    /// Returns the names of all objects.
    fn objects(&self) -> Vec<String> {
        let listing = self.send("GET /files?list-type=2");
        let mut keys = listing.split("<Key>").skip(1);
        let mut names: Vec<String> = keys
            .by_ref()
            .map(|rest| rest.split("</Key>").next().unwrap().trim_start_matches("up/loads/").to_owned())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

async fn take(store: &S3Store, content_type: &str, bytes: &[u8]) -> ReceivedUpload {
    let head = format!(
        "--b\r\nContent-Disposition: form-data; name=\"file\"\r\nContent-Type: {content_type}\r\n\r\n"
    );
    let body = [head.as_bytes(), bytes, b"\r\n--b--"].concat();
    let chunks: Vec<_> =
        body.chunks(100_000).map(|chunk| Ok::<_, std::io::Error>(Bytes::copy_from_slice(chunk))).collect();
    let incoming = ReceiveOptions {
        content_type: "multipart/form-data; boundary=b",
        stated: StatedParts { hash: Some(ContentHash::digest(bytes)), ..StatedParts::default() },
        policy: &UploadPolicy::default(),
        bounds: UploadLimits::default(),
    };
    receive(store, incoming, stream::iter(chunks)).await.unwrap()
}

async fn recorded() -> Result<(), RecordError<()>> {
    Ok(())
}

async fn bytes_of(store: &S3Store, key: StorageKey, range: Option<std::ops::Range<u64>>) -> Option<Vec<u8>> {
    let chunks: Vec<Bytes> = store.open(key, range).await.unwrap()?.bytes.try_collect().await.unwrap();
    Some(chunks.concat())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_promises_of_a_store() {
    let Some(moto) = Moto::start() else { return };
    let store = moto.store("one", Duration::from_secs(3600));

    // Objects of one part, of several parts, and without bytes.
    for (content_type, length) in [("image/png", 5), ("text/html", 20_000_000), ("text/plain", 0)] {
        let bytes: Vec<u8> = (0..length).map(|number: u32| (number % 251) as u8).collect();
        let received = take(&store, content_type, &bytes).await;
        let key = received.file.key;
        assert_eq!(bytes_of(&store, key, None).await, None);
        received.finish(recorded()).await.unwrap();
        assert!(bytes_of(&store, key, None).await == Some(bytes.clone()));
        let info = store.find(key).await.unwrap().unwrap();
        assert_eq!((info.size, info.content_type.as_str()), (u64::from(length), content_type));
        if length > 10 {
            let part = bytes_of(&store, key, Some(1_000_000..9_000_000)).await.unwrap();
            assert!(part == bytes[1_000_000..9_000_000]);
        }

        let url = store.presigned_url(key, LinkMethod::Get).await.unwrap().unwrap();
        let path = url.strip_prefix(&format!("http://{}", moto.address)).unwrap();
        assert!(path.contains("X-Amz-Signature="), "{path}");
        let answer = moto.send(&format!("GET {path}"));
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let lower = answer.split("\r\n\r\n").next().unwrap().to_ascii_lowercase();
        assert!(lower.contains(&format!("content-type: {content_type}")), "{lower}");
        assert_eq!(lower.contains("content-disposition: attachment"), content_type == "text/html");
    }

    // Equal bytes are stored once, with the type that was declared last.
    let again = take(&store, "text/html", &[0, 1, 2, 3, 4]).await;
    let key = again.file.key;
    again.finish(recorded()).await.unwrap();
    assert_eq!(store.find(key).await.unwrap().unwrap().content_type.as_str(), "text/html");
    assert_eq!(moto.objects().len(), 3);
    assert!(moto.objects().iter().all(|name| StorageKey::parse(name).is_some()), "{:?}", moto.objects());
    assert!(store.find(ContentHash::digest(b"other").key()).await.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_crash_leaves_is_settled_by_the_record() {
    let Some(moto) = Moto::start() else { return };
    let store = moto.store("one", Duration::from_secs(3600));

    // A sealed file of an ended process counts as active for an hour. After that the record decides.
    for is_recorded in [false, true] {
        let received = take(&store, "text/plain", b"hello").await;
        let key = received.file.key;
        assert!(received.finish(async { Err::<(), _>(RecordError::Unknown(())) }).await.is_err());
        let under_way = recover(&store, async |_| Ok::<_, ()>(is_recorded)).await.unwrap();
        assert_eq!(under_way, mesh_uploads::RecoveryReport::default());
        assert_eq!(moto.objects().len(), 2);
        let later = moto.store("two", Duration::ZERO);
        let done = recover(&later, async |_| Ok::<_, ()>(is_recorded)).await.unwrap();
        assert_eq!((done.published, done.discarded), (usize::from(is_recorded), usize::from(!is_recorded)));
        let wanted = if is_recorded { vec![key.to_string()] } else { vec![] };
        assert_eq!(moto.objects(), wanted);
    }

    // A reader follows the record before the file is published.
    let received = take(&store, "text/plain", b"fast").await;
    let key = received.file.key;
    let record_then_read = async {
        assert!(!publish_if_recorded(&store, key, async { Ok::<_, ()>(false) }).await.unwrap());
        assert!(publish_if_recorded(&store, key, async { Ok::<_, ()>(true) }).await.unwrap());
        assert_eq!(bytes_of(&store, key, None).await.as_deref(), Some(&b"fast"[..]));
        recorded().await
    };
    received.finish(record_then_read).await.unwrap();
    assert_eq!(moto.objects().len(), 2);

    // Refused records leave no objects. Neither do uploads that end early, of one part or several.
    let received = take(&store, "text/plain", b"refused").await;
    assert!(received.finish(async { Err::<(), _>(RecordError::Refused(())) }).await.is_err());
    let mut staged = store.stage(&mesh_uploads::ContentType::unknown()).await.unwrap();
    staged.write(Bytes::from(vec![0; 9_000_000])).await.unwrap();
    drop(staged);
    assert_eq!(moto.objects().len(), 2);
    let begun = Instant::now();
    while moto.send("GET /files?uploads").contains("<UploadId>") {
        assert!(begun.elapsed() < Duration::from_secs(10), "the upload is not given up");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_without_a_record_are_removed() {
    let Some(moto) = Moto::start() else { return };
    let store = moto.store("one", Duration::from_secs(3600));
    let mut keys = Vec::new();
    for bytes in [&b"needed"[..], b"other", b"again"] {
        let received = take(&store, "image/png", bytes).await;
        keys.push(received.file.key);
        received.finish(recorded()).await.unwrap();
    }
    let [needed, other, again] = keys[..] else { panic!("{keys:?}") };
    let mut asked = 0;
    let recorded = |key| {
        asked += usize::from(key == again);
        // The third file gets a record while it is unpublished.
        std::future::ready(Ok::<_, ()>(key == needed || (key == again && asked == 2)))
    };
    let swept = sweep_orphans(&store, (Duration::ZERO, true), recorded).await.unwrap();
    assert_eq!((swept.seen, swept.removed, swept.undecided), (3, 1, 0));
    assert!(matches!(&swept.unrecorded[..], [found] if found.key == other && found.size == 5));
    let mut left = [needed, again].map(|key| key.to_string());
    left.sort();
    assert_eq!(moto.objects(), left);
    assert_eq!(store.find(again).await.unwrap().unwrap().content_type.as_str(), "image/png");
    let young =
        sweep_orphans(&store, (Duration::from_secs(3600), true), |_| std::future::ready(Ok::<_, ()>(false)));
    assert_eq!(young.await.unwrap().unrecorded.len(), 0);
}

/// Unfinished files hold a bounded number of bytes in memory, even if clients stop before a part is full.
#[tokio::test(flavor = "multi_thread")]
async fn unfinished_files_have_a_bounded_memory() {
    let Some(moto) = Moto::start() else { return };
    let megabyte = Bytes::from(vec![0; 1 << 20]);
    let store = S3Store::new(S3Options { buffered_bytes: 20 << 20, ..moto.options("one") }).unwrap();
    let content_type = mesh_uploads::ContentType::unknown();
    // Bytes count once, even if they arrive in small pieces.
    let mut pieces = store.stage(&content_type).await.unwrap();
    for _ in 0..40_000 {
        pieces.write(megabyte.slice(..100)).await.unwrap();
    }
    drop(pieces);
    let mut unfinished = Vec::new();
    for _ in 0..4 {
        let mut staged = store.stage(&content_type).await.unwrap();
        for _ in 0..5 {
            staged.write(megabyte.clone()).await.unwrap();
        }
        unfinished.push(staged);
    }
    let mut staged = store.stage(&content_type).await.unwrap();
    let refused = staged.write(megabyte.clone()).await.unwrap_err();
    assert_eq!(refused.kind, mesh_uploads::StoreErrorKind::Busy);
    // Files that end release their memory, and a file of many parts needs the memory of a few parts.
    unfinished.clear();
    for _ in 0..40 {
        staged.write(megabyte.clone()).await.unwrap();
    }
    let bytes = vec![0; 40 << 20];
    let sealed = staged.seal(ContentHash::digest(&bytes).key()).await.unwrap();
    sealed.publish().await.unwrap();
    assert_eq!(store.find(ContentHash::digest(&bytes).key()).await.unwrap().unwrap().size, 40 << 20);
}
