//! The tags of `If-Match`. `SPEC §18.3`

use data_encoding::HEXLOWER_PERMISSIVE;
use http::header::{HeaderMap, IF_MATCH};

use crate::WireError;
use crate::response::etag::plain_tag;

/// The state of a record that a write requires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IfMatch {
    /// `*`: the record exists.
    Any,
    /// The body of the record's point read has one of these digests ([`crate::ETag::digest`]).
    Digests(Vec<u128>),
}

impl IfMatch {
    /// Parses the header, which may be sent in several lines. Weak tags, and tags that no body can have, match nothing.
    ///
    /// # Errors
    /// 400 if it is not `*` or a list of tags.
    pub fn parse(headers: &HeaderMap) -> Result<Option<Self>, WireError> {
        let mut lines = headers.get_all(IF_MATCH).iter().map(|line| line.as_bytes().trim_ascii()).peekable();
        if lines.peek().is_none() {
            return Ok(None);
        }
        let mut digests = Vec::new();
        let (mut is_any, mut count) = (false, 0_usize);
        for line in lines {
            let mut rest = line;
            while !rest.is_empty() {
                let (tag, is_weak, after) = split(rest).ok_or_else(malformed)?;
                match tag {
                    b"*" => is_any = true,
                    tag if !is_weak => digests.extend(digest(tag)),
                    _ => {}
                }
                count = count.saturating_add(1);
                rest = after;
            }
        }
        match (is_any, count) {
            (true, 1) => Ok(Some(Self::Any)),
            (true, _) | (_, 0) => Err(malformed()),
            (false, _) => Ok(Some(Self::Digests(digests))),
        }
    }

    /// Refuses the header on a route that ignores it, because the write would not be conditional.
    ///
    /// # Errors
    /// 400 if the header is present.
    pub fn refuse(headers: &HeaderMap) -> Result<(), WireError> {
        if headers.contains_key(IF_MATCH) {
            let message = "If-Match is allowed only on PUT and DELETE of a record; leave it out";
            return Err(WireError::transport(message));
        }
        Ok(())
    }
}

fn malformed() -> WireError {
    WireError::transport("If-Match must be * or a list of entity tags in double quotes, as ETag has them")
}

/// Splits the first tag off a list. Returns the tag with its quotes, whether it is weak, and the rest of the list.
fn split(list: &[u8]) -> Option<(&[u8], bool, &[u8])> {
    let is_weak = list.starts_with(b"W/");
    let start = list.strip_prefix(b"W/").unwrap_or(list);
    let length = match start {
        [b'*', ..] if !is_weak => 1,
        [b'"', inner @ ..] => inner.iter().position(|byte| *byte == b'"')? + 2,
        _ => return None,
    };
    let (tag, after) = start.split_at_checked(length)?;
    let after = after.trim_ascii_start();
    match after.split_first() {
        None => Some((tag, is_weak, after)),
        Some((b',', after)) => Some((tag, is_weak, after.trim_ascii_start())),
        Some(_) => None,
    }
}

/// Returns the digest in a tag. A tag has the same digest for every content encoding of the body.
fn digest(tag: &[u8]) -> Option<u128> {
    let (tag, _) = plain_tag(tag);
    let digits = tag.strip_prefix(b"\"")?;
    let digits = digits.strip_suffix(b"\"").unwrap_or(digits);
    let bytes = HEXLOWER_PERMISSIVE.decode(digits).ok()?;
    bytes.try_into().ok().map(u128::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;
    use crate::ETag;
    use crate::response::encoding::Encoding;

    fn parse(lines: &[&str]) -> Result<Option<IfMatch>, String> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(IF_MATCH, HeaderValue::from_str(line).unwrap());
        }
        IfMatch::parse(&headers).map_err(|error| error.message.into_owned())
    }

    #[test]
    fn tags_are_those_of_replies_in_any_encoding() {
        let plain = ETag::new(b"{}").value();
        let digests = Ok(Some(IfMatch::Digests(vec![ETag::digest(b"{}")])));
        assert_eq!(parse(&[plain.to_str().unwrap()]), digests);
        for encoding in Encoding::ALL {
            assert_eq!(parse(&[encoding.tag(&plain).to_str().unwrap()]), digests);
        }
    }

    #[test]
    fn lists_and_lines_are_one_list() {
        let [a, b] = [b"a", b"b"].map(|body| ETag::new(body).value().to_str().unwrap().to_owned());
        let both = Ok(Some(IfMatch::Digests(vec![ETag::digest(b"a"), ETag::digest(b"b")])));
        assert_eq!(parse(&[&a, &b]), both);
        assert_eq!(parse(&[&format!(" {a} , \"other\",W/{b} , {b}")]), both);
        assert_eq!(parse(&[" * "]), Ok(Some(IfMatch::Any)));
        assert_eq!(parse(&[]), Ok(None));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "abc", "\"abc", "W/*", "\"a\" \"b\"", "**", "\"a\";", "*, \"a\"", "\"a\", *", "*, *"]
        {
            assert!(parse(&[text]).is_err_and(|error| error.contains("list of entity tags")), "{text}");
        }
        assert!(parse(&["\"a\"", "*"]).is_err(), "the lines are one list");
    }
}
