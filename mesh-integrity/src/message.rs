//! The bytes that a signature covers, with and without binding to one use. `SPEC §7.4`, `SPEC §7.9`

use std::borrow::Cow;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use data_encoding::HEXLOWER;
use ring::digest;

/// The part of a request that its signature covers.
#[derive(Clone, Debug)]
pub struct Message<'a> {
    statement: Cow<'a, [u8]>,
    /// The hex SHA-256 of a JSON body.
    body: Option<String>,
}

impl<'a> Message<'a> {
    /// Creates the message of an upload or a request without a body. `statement` is the value of `X-Mesh-Query` or
    /// `X-Mesh-Query-Id` exactly as sent; it is empty if there is neither.
    pub fn new(statement: &'a [u8]) -> Self {
        Self { statement: Cow::Borrowed(statement), body: None }
    }

    /// Creates the message of a request without a body whose query has parameters. `params` is the value of `X-Mesh-Params`
    /// exactly as sent. `SPEC §19.4`
    pub fn with_params(statement: &'a [u8], params: &[u8]) -> Self {
        Self { statement: Cow::Owned([statement, params].join(&b'\n')), body: None }
    }

    /// Creates the message of a request with a JSON body.
    pub fn with_body(statement: &'a [u8], body: &[u8]) -> Self {
        let digest = digest::digest(&digest::SHA256, body);
        Self { statement: Cow::Borrowed(statement), body: Some(HEXLOWER.encode(digest.as_ref())) }
    }

    /// Creates the message of a write that an application defines: the statement alone if it is the base64 form of the
    /// body, else the message of a request with a JSON body.
    pub fn for_application(statement: &'a [u8], body: &[u8]) -> Self {
        if encodes(statement, body) { Self::new(statement) } else { Self::with_body(statement, body) }
    }

    /// Returns the bytes to sign. A message without a body is borrowed.
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        match &self.body {
            None => Cow::Borrowed(&self.statement),
            Some(digits) => Cow::Owned([&self.statement, digits.as_bytes()].join(&b'\n')),
        }
    }

    /// Returns the bytes to sign if the signature is bound to one use.
    pub fn bound(&self, target: &SignatureTarget<'_>, timestamp: &[u8], nonce: &[u8]) -> Vec<u8> {
        let SignatureTarget { method, path, format } = target;
        let [method, path, format] = [method, path, format].map(|part| part.as_bytes());
        match &self.body {
            None => [&self.statement, method, path, format, timestamp, nonce].join(&b'\n'),
            Some(digits) => {
                [&self.statement, digits.as_bytes(), method, path, format, timestamp, nonce].join(&b'\n')
            }
        }
    }
}

/// Returns whether a statement is the base64 form of a body, with or without padding.
fn encodes(statement: &[u8], body: &[u8]) -> bool {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    GeneralPurpose::new(&STANDARD, config).decode(statement).is_ok_and(|bytes| bytes == body)
}

/// The request for which a bound signature is valid.
#[derive(Clone, Copy, Debug)]
pub struct SignatureTarget<'a> {
    /// The method in uppercase.
    pub method: &'a str,
    /// The path as sent, including the base path and without the URL's query.
    pub path: &'a str,
    /// The format of the query; `json` if there is no query.
    pub format: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_the_specified_form() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(&*Message::new(b"eyJ9").bytes(), b"eyJ9");
        assert_eq!(&*Message::new(b"").bytes(), b"");
        let body = Message::with_body(b"eyJ9", b"");
        assert_eq!(&*body.bytes(), format!("eyJ9\n{empty}").as_bytes());
        let target = SignatureTarget { method: "POST", path: "/mesh", format: "ql" };
        let bound = body.bound(&target, b"1700000000", b"abcdefghijklmnop");
        let text = format!("eyJ9\n{empty}\nPOST\n/mesh\nql\n1700000000\nabcdefghijklmnop");
        assert_eq!(bound, text.as_bytes());
        assert_eq!(&*Message::with_params(b"eyJ9", b"e30").bytes(), b"eyJ9\ne30");
        let bound = Message::new(b"").bound(&target, b"1700000000", b"abcdefghijklmnop");
        assert_eq!(bound, b"\nPOST\n/mesh\nql\n1700000000\nabcdefghijklmnop");
    }

    #[test]
    fn the_write_of_an_application_may_sign_its_encoded_body() {
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
