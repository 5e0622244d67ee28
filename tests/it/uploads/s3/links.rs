//! Links to a bucket, checked as the service does: moto checks neither signatures nor times.

use super::*;

/// HMAC-SHA-256. `RFC 2104`
fn hmac(key: &[u8], message: &str) -> Vec<u8> {
    let mut block = key.to_vec();
    block.resize(64, 0);
    let pad = |byte: u8| -> Vec<u8> { block.iter().map(|key| key ^ byte).collect() };
    let inner = bytes_of(&encoding::sha256([pad(0x36), message.as_bytes().to_vec()].concat()));
    bytes_of(&encoding::sha256([pad(0x5c), inner].concat()))
}

fn bytes_of(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A presigned URL in its parts.
struct Link {
    host: String,
    path: String,
    /// The parameters in order, percent-encoded.
    parameters: Vec<(String, String)>,
}

impl Link {
    #[track_caller]
    fn of(reply: &Response) -> Self {
        assert_eq!(reply.status, 302, "{}", reply.text());
        let url = reply.header("location").unwrap().strip_prefix("http://").unwrap();
        let (host, target) = url.split_at(url.find('/').unwrap());
        let (path, query) = target.split_once('?').unwrap();
        let parameters = query.split('&').map(|parameter| parameter.split_once('=').unwrap());
        let parameters = parameters.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Self { host: host.to_owned(), path: path.to_owned(), parameters }
    }

    fn parameter(&self, name: &str) -> &str {
        &self.parameters.iter().find(|(parameter, _)| parameter == name).unwrap().1
    }

    /// Returns the same link with another parameter.
    fn with(&self, name: &str, value: &str) -> Self {
        let changed = |parameter: &(String, String)| {
            let value = if parameter.0 == name { value } else { &parameter.1 };
            (parameter.0.clone(), value.to_owned())
        };
        let parameters = self.parameters.iter().map(changed).collect();
        Self { host: self.host.clone(), path: self.path.clone(), parameters }
    }

    /// Returns whether the service accepts the signature: version 4 in the parameters, of the host only.
    fn is_signed_for(&self, method: &str) -> bool {
        assert_eq!(self.parameter("X-Amz-Algorithm"), "AWS4-HMAC-SHA256");
        assert_eq!(self.parameter("X-Amz-SignedHeaders"), "host");
        let credential = self.parameter("X-Amz-Credential").replace("%2F", "/");
        let scope = credential.strip_prefix("access/").unwrap();
        let mut signed: Vec<String> = self
            .parameters
            .iter()
            .filter(|(name, _)| name != "X-Amz-Signature")
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        signed.sort();
        let request = format!(
            "{method}\n{}\n{}\nhost:{}\n\nhost\nUNSIGNED-PAYLOAD",
            self.path,
            signed.join("&"),
            self.host
        );
        let time = self.parameter("X-Amz-Date");
        let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", encoding::sha256(request));
        let parts = scope.split('/');
        let key = parts.fold(b"AWS4secret".to_vec(), |key, part| hmac(&key, part));
        hex_of(&hmac(&key, &text)) == self.parameter("X-Amz-Signature")
    }

    /// Sends a request to the link.
    fn send(&self, moto: &Moto, method: &str, headers: &[(&str, &str)]) -> Response {
        let parameters: Vec<String> =
            self.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = Request::new(method, &format!("{}?{}", self.path, parameters.join("&")));
        moto.send(&headers.iter().fold(request, |request, (name, value)| request.header(name, value)))
    }
}

#[test]
fn a_download_is_redirected_to_a_signed_link() {
    let Some(bucket) = Bucket::open() else { return };
    for (content_type, bytes) in [("image/png", b"hello".to_vec()), ("text/html", large())] {
        let reply = bucket.upload(content_type, &bytes);
        let (key, size) = (key(&bytes), bytes.len());
        assert_eq!((reply.status, &reply.json()["banner"]), (200, &json!(key)), "{}", reply.text());
        assert_eq!(bucket.banner(), json!(key));

        let reply = bucket.get(&key, &[("Range", "bytes=1-2")]);
        assert_eq!((reply.header("cache-control"), reply.body.len()), (Some("no-store"), 0));
        let link = Link::of(&reply);
        assert!(link.path.ends_with(&key), "{}", link.path);
        let whole = link.send(&bucket.moto, "GET", &[]);
        assert_eq!((whole.status, whole.header("content-type")), (200, Some(content_type)));
        assert!(whole.body == bytes, "{} bytes", whole.body.len());
        let disposition = (content_type == "text/html").then_some("attachment");
        assert_eq!(whole.header("content-disposition"), disposition);
        let part = link.send(&bucket.moto, "GET", &[("Range", "bytes=-2")]);
        let shown = format!("bytes {}-{}/{size}", size - 2, size - 1);
        assert_eq!((part.status, part.header("content-range")), (206, Some(shown.as_str())));
        assert_eq!(part.body, bytes[size - 2..]);
        let beyond = link.send(&bucket.moto, "GET", &[("Range", &format!("bytes={size}-"))]);
        assert_eq!(beyond.status, 416);
    }
}

#[test]
fn a_link_is_valid_for_one_method_and_file_and_for_five_minutes() {
    let Some(bucket) = Bucket::open() else { return };
    assert_eq!(bucket.upload("text/plain", b"hello").status, 200);
    let link = Link::of(&bucket.get(&key("hello"), &[]));
    assert_eq!(link.parameter("X-Amz-Expires"), "300");
    assert!(link.is_signed_for("GET"));
    // `HEAD` answers as `GET`, and its link is for `HEAD`.
    let reply = bucket.server.send(&file("HEAD", &key("hello"), &[]));
    let head = Link::of(&reply);
    assert_eq!(head.path, link.path);
    assert!(head.is_signed_for("HEAD"), "a client that follows is refused");
    assert_eq!(head.send(&bucket.moto, "HEAD", &[]).header("content-length"), Some("5"));
    for (other, method) in [
        (link.with("X-Amz-Expires", "604800"), "GET"),
        (link.with("X-Amz-Date", "20990101T000000Z"), "GET"),
        (Link { path: link.path.replace(&key("hello"), &key("other")), ..link.with("", "") }, "GET"),
        (link.with("", ""), "PUT"),
        (link.with("", ""), "DELETE"),
    ] {
        assert!(!other.is_signed_for(method), "{method} {} {:?}", other.path, other.parameters);
    }
}
