//! The bytes that a signature covers, with and without binding to one use.
//! `SPEC §7.4`, `SPEC §7.9`

use std::borrow::Cow;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use data_encoding::HEXLOWER;
use ring::digest;

/// What a request says, as far as its signature covers it.
#[derive(Clone, Debug)]
pub struct Message<'a> {
    statement: &'a [u8],
    /// The hex SHA-256 of a JSON body.
    body: Option<String>,
}

impl<'a> Message<'a> {
    /// The message of a request without a body, and of an upload: the value of `X-Mesh-Query` or
    /// `X-Mesh-Query-Id` exactly as sent, empty where there is neither.
    pub fn new(statement: &'a [u8]) -> Self {
        Self { statement, body: None }
    }

    /// The message of a request with a JSON body.
    pub fn with_body(statement: &'a [u8], body: &[u8]) -> Self {
        let digest = digest::digest(&digest::SHA256, body);
        Self { statement, body: Some(HEXLOWER.encode(digest.as_ref())) }
    }

    /// The message of a write that an application defines: where the statement is the base64 form of the
    /// body, the statement alone; else that of any request with a JSON body.
    pub fn for_application(statement: &'a [u8], body: &[u8]) -> Self {
        if encodes(statement, body) { Self::new(statement) } else { Self::with_body(statement, body) }
    }

    /// The bytes that are signed. A message without a body is borrowed.
    pub fn bytes(&self) -> Cow<'a, [u8]> {
        match self.body {
            None => Cow::Borrowed(self.statement),
            Some(_) => Cow::Owned(self.start(0)),
        }
    }

    /// The bytes that are signed where the signature is bound to one use.
    pub fn bound(&self, aim: &SignatureTarget<'_>, timestamp: &[u8], nonce: &[u8]) -> Vec<u8> {
        let parts = [aim.method.as_bytes(), aim.path.as_bytes(), aim.format.as_bytes(), timestamp, nonce];
        let mut bytes = self.start(parts.iter().map(|part| part.len() + 1).sum());
        for part in parts {
            bytes.push(b'\n');
            bytes.extend_from_slice(part);
        }
        bytes
    }

    fn start(&self, more: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.statement.len() + 65 + more);
        bytes.extend_from_slice(self.statement);
        if let Some(digits) = &self.body {
            bytes.push(b'\n');
            bytes.extend_from_slice(digits.as_bytes());
        }
        bytes
    }
}

/// Whether a statement is the base64 form of a body, with padding or without.
fn encodes(statement: &[u8], body: &[u8]) -> bool {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    // The length tells most apart before anything is decoded.
    let fits = statement.len() / 4 <= body.len() / 3 + 1 && statement.len() >= body.len();
    fits && GeneralPurpose::new(&STANDARD, config).decode(statement).is_ok_and(|bytes| bytes == body)
}

/// What a bound signature is aimed at.
#[derive(Clone, Copy, Debug)]
pub struct SignatureTarget<'a> {
    /// The method, in capitals.
    pub method: &'a str,
    /// The path as sent, from the base path on and without the URL's query.
    pub path: &'a str,
    /// The format of the query in effect, `json` where there is none.
    pub format: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(&*Message::new(b"eyJ9").bytes(), b"eyJ9");
        assert_eq!(&*Message::new(b"").bytes(), b"");
        let body = Message::with_body(b"eyJ9", b"");
        assert_eq!(&*body.bytes(), format!("eyJ9\n{empty}").as_bytes());
        let aim = SignatureTarget { method: "POST", path: "/mesh", format: "ql" };
        let bound = body.bound(&aim, b"1700000000", b"abcdefghijklmnop");
        let text = format!("eyJ9\n{empty}\nPOST\n/mesh\nql\n1700000000\nabcdefghijklmnop");
        assert_eq!(bound, text.as_bytes());
    }

    #[test]
    fn an_applications_write_may_sign_its_encoded_body() {
        for statement in [&b"e30="[..], b"e30"] {
            assert_eq!(&*Message::for_application(statement, b"{}").bytes(), statement);
        }
        for (statement, body) in [(&b"e30="[..], &b"{ }"[..]), (b"", b"{}"), (b"e31=", b"{}"), (b"!", b"")] {
            assert_eq!(
                Message::for_application(statement, body).bytes(),
                Message::with_body(statement, body).bytes()
            );
        }
    }
}
