//! Malicious uploads are refused early, and their names never become paths.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::*;

/// Returns an endless body, and a counter of the bytes that were read from it.
fn endless(
    start: &[u8],
    more: &'static [u8],
) -> (Arc<AtomicU64>, impl Stream<Item = io::Result<Bytes>> + Send) {
    let taken = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&taken);
    let body = stream::iter([Bytes::copy_from_slice(start)])
        .chain(stream::repeat(Bytes::from(more.repeat(10_000))))
        .map(move |chunk| {
            counter.fetch_add(chunk.len() as u64, Ordering::Relaxed);
            Ok(chunk)
        });
    (taken, body)
}

#[tokio::test]
async fn endless_input_is_read_up_to_its_limit() {
    let policy = UploadPolicy { max_bytes: 1_000_000, ..UploadPolicy::default() };
    let head = b"--b0\r\nContent-Disposition: form-data; name=\"file\"\r\n".to_vec();
    let data = [&head[..], b"\r\n"].concat();
    let meta = b"--b0\r\nContent-Disposition: form-data; name=\"meta\"\r\n\r\n".to_vec();
    let after = ended(file_part(b"x"));
    let cases: [(&[u8], &'static [u8], &str, u64); 7] = [
        (b"", b"no boundary ", "The headers of a part are longer than 8192 bytes", 300_000),
        (b"--b0", b"      ", "The headers of a part are longer than 8192 bytes", 300_000),
        (&head, b"X-More: 1\r\n", "The headers of a part are longer than 8192 bytes", 300_000),
        (&head, b"X-One-Long-Line", "The headers of a part are longer than 8192 bytes", 300_000),
        (&data, b"data", "The file is larger than 1000000 bytes", 1_300_000),
        (&meta, b"\"data\"", "The part 'meta' is longer than 65536 bytes", 300_000),
        (&after, b"trailer", "More than 1024 bytes follow", 300_000),
    ];
    for (start, more, expected, most) in cases {
        let folder = Folder::new();
        let (taken, body) = endless(start, more);
        let error = receive(&folder.store(), options(&policy), body).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}, not {expected}");
        let taken = taken.load(Ordering::Relaxed);
        assert!(taken < most, "read {taken} bytes before: {error}");
        assert_eq!(folder.files(), [""; 0]);
    }
}

#[tokio::test]
async fn headers_in_the_chunk_of_another_part_are_limited() {
    let folder = Folder::new();
    let long = format!("name=meta\r\nX-Long: {}", "x".repeat(20_000));
    let body = ended([file_part(b"x"), part(&long, b"{}")].concat());
    let policy = UploadPolicy::default();
    let error = receive(&folder.store(), options(&policy), chunks(&body, 60_000)).await.unwrap_err();
    assert!(matches!(error, UploadError::Multipart(MultipartError::Headers { .. })), "{error:?}");
}

#[tokio::test]
async fn many_parts_are_refused() {
    for headers in ["name=x", "name=file", "name=meta"] {
        let folder = Folder::new();
        let body = ended(part(headers, b"{}").repeat(10_000));
        let error = take(&folder.store(), &body).await.unwrap_err();
        assert!(matches!(error, UploadError::Multipart(_)), "{error:?}");
        assert_eq!(folder.files(), [""; 0]);
    }
}

#[tokio::test]
async fn invalid_boundaries_are_refused() {
    let folder = Folder::new();
    let store = folder.store();
    let policy = UploadPolicy::default();
    let long = format!("multipart/form-data; boundary={}", "b".repeat(1024));
    for content_type in [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=\"\"",
        &long,
        "",
        "\u{0}",
    ] {
        let options = ReceiveOptions { content_type, ..options(&policy) };
        let error = receive(&store, options, chunks(&ended(file_part(b"x")), 9)).await.unwrap_err();
        assert!(
            matches!(error, UploadError::Multipart(MultipartError::Boundary { limit: 70 })),
            "{content_type}"
        );
    }
}

#[tokio::test]
async fn file_names_never_become_paths() {
    for name in [
        "../../../etc/passwd",
        "/etc/passwd",
        "..\\..\\x",
        "a%2f..%2fb",
        "nul\u{0}byte.txt",
        "new\nline",
        "x.part",
        "<script>",
    ] {
        let folder = Folder::new();
        let store = folder.store();
        let headers = format!("name=\"file\"; filename=\"{name}\"");
        // Some of these names are invalid in headers and are refused.
        let Ok(received) = take(&store, &ended(part(&headers, b"x"))).await else {
            assert_eq!(folder.files(), [""; 0], "{name:?}");
            continue;
        };
        received.finish(recorded()).await.unwrap();
        assert_eq!(folder.files(), [ContentHash::digest(b"x").key().to_string()], "{name:?}");
    }
}

#[tokio::test]
async fn unknown_part_names_are_escaped_and_truncated() {
    let folder = Folder::new();
    let long = format!("name=\"{}\"", "\u{1b}[31m".repeat(1000));
    for headers in ["name=\"a\\\"b\"", "name=\"\t\"", &long] {
        let error = take(&folder.store(), &ended(part(headers, b"x"))).await.unwrap_err().to_string();
        assert!(error.len() < 400, "{error}");
        assert!(!error.chars().any(char::is_control), "{error:?}");
    }
}

#[tokio::test]
async fn multipart_inside_a_file_is_not_parsed() {
    let folder = Folder::new();
    let store = folder.store();
    let inner = b"--in\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nx\r\n--in--\r\n";
    let headers = "name=\"file\"\r\nContent-Type: multipart/mixed; boundary=in";
    let received = take(&store, &ended(part(headers, inner))).await.unwrap();
    let file = received.file.clone();
    received.finish(recorded()).await.unwrap();
    assert_eq!(file.content_type.as_str(), "multipart/mixed");
    assert_eq!(bytes_of(&store, file.key).await.as_deref(), Some(&inner[..]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Arbitrary bodies that are refused leave no files behind.
    #[test]
    fn no_body_panics(
        pieces in prop::collection::vec(prop_oneof![
            Just(b"\r\n".to_vec()), Just(b"--b0".to_vec()), Just(b"--".to_vec()), Just(b"\r\n\r\n".to_vec()),
            Just(b"Content-Disposition: form-data; name=\"file\"".to_vec()), Just(b"Content-Type: ".to_vec()),
            Just(b"name=".to_vec()), Just(b"\"".to_vec()), Just(b"\\".to_vec()), Just(b"{\"a\":".to_vec()),
            prop::collection::vec(any::<u8>(), 0..20),
        ], 0..40),
        size in 1_usize..60,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let folder = Folder::new();
            let policy = UploadPolicy::default();
            let body = chunks(&pieces.concat(), size);
            if receive(&folder.store(), options(&policy), body).await.is_err() {
                assert_eq!(folder.files(), [""; 0]);
            }
        });
    }
}
