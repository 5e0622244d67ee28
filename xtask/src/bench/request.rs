//! HTTP requests as text, with base64. Independent of the server's implementation.

use serde_json::Value;

/// A request as bytes that can be sent.
pub(crate) struct Request {
    method: &'static str,
    path: String,
    headers: String,
    body: String,
}

impl Request {
    pub(crate) fn get(path: String) -> Self {
        Self { method: "GET", path, headers: String::new(), body: String::new() }
    }

    pub(crate) fn mesh(path: String, query: &str) -> Self {
        Self { headers: format!("X-Mesh-Query: {}\r\n", base64(query.as_bytes())), ..Self::get(path) }
    }

    pub(crate) fn graphql(query: &str) -> Self {
        Self::post("/", &serde_json::json!({ "query": query }))
    }

    pub(crate) fn post(path: &str, body: &Value) -> Self {
        let body = body.to_string();
        let headers = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
        Self { method: "POST", path: path.to_owned(), headers, body }
    }

    /// The same with more headers, each with its end of line.
    pub(crate) fn with(mut self, headers: &str) -> Self {
        self.headers.push_str(headers);
        self
    }

    /// The whole request.
    pub(crate) fn text(&self) -> String {
        let Self { method, path, headers, body } = self;
        format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n{body}")
    }
}

/// What reads the whole table: no index serves the filter.
pub(crate) fn scan(number: u32) -> Request {
    let query = format!(
        r#"{{"comment":{{"$select":{{"id":true}},"$where":{{"field":"body","op":"ilike","value":"%nothing like that {number}%"}}}}}}"#
    );
    Request::mesh("/mesh/comment".to_owned(), &query)
}

/// Standard base64, written anew here so that a fault of the server's own code cannot hide.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk
            .iter()
            .enumerate()
            .fold(0u32, |word, (place, byte)| word | u32::from(*byte) << (16 - 8 * place));
        for place in 0..4 {
            let letter = LETTERS.get((word >> (18 - 6 * place) & 63) as usize).copied().unwrap_or(b'A');
            text.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_is_the_standard_one() {
        let texts = [b"".as_slice(), b"A", b"AB", b"ABC", b"ABCD"].map(base64);
        assert_eq!(texts, ["", "QQ==", "QUI=", "QUJD", "QUJDRA=="]);
    }
}
