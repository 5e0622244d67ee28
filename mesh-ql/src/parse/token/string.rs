//! JSON strings.

use std::borrow::Cow;

use nom::Parser;
use nom::bytes::complete::{tag, take_while, take_while_m_n};
use nom::character::complete::{anychar, char};
use nom::combinator::map_opt;
use nom::sequence::preceded;

use super::{Invalid, TokenError, TokenResult};

/// Parses a quoted string. The result borrows from the text unless it has escapes.
pub(super) fn string(text: &str) -> TokenResult<'_, Cow<'_, str>> {
    let (mut rest, first) = preceded(char('"'), unescaped).parse(text)?;
    if let Some(rest) = rest.strip_prefix('"') {
        return Ok((rest, Cow::Borrowed(first)));
    }
    let mut value = first.to_owned();
    loop {
        rest = match rest.bytes().next() {
            None => return TokenError::fatal(Invalid::Unterminated, rest, 0),
            Some(b'"') => return Ok((rest.get(1..).unwrap_or_default(), Cow::Owned(value))),
            Some(b'\\') => {
                let (rest, character) = escape(rest)?;
                value.push(character);
                rest
            }
            Some(..b' ') => return TokenError::fatal(Invalid::ControlCharacter, rest, 1),
            Some(_) => {
                let (rest, part) = unescaped(rest)?;
                value.push_str(part);
                rest
            }
        };
    }
}

/// Parses the characters before the next quote, backslash or control character.
fn unescaped(text: &str) -> TokenResult<'_, &str> {
    take_while(|c| c >= ' ' && c != '"' && c != '\\')(text)
}

/// Parses an escape sequence.
fn escape(text: &str) -> TokenResult<'_, char> {
    let escaped: TokenResult<'_, char> = preceded(char('\\'), anychar).parse(text);
    let Ok((rest, letter)) = escaped else { return TokenError::fatal(Invalid::Escape, text, 1) };
    let character = match letter {
        '"' | '\\' | '/' => letter,
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => return code_point(text),
        other => return TokenError::fatal(Invalid::Escape, text, 1 + other.len_utf8()),
    };
    Ok((rest, character))
}

/// Parses a `\u` escape, or two that form a surrogate pair.
fn code_point(text: &str) -> TokenResult<'_, char> {
    const LENGTH: usize = r"\u0000".len();
    let Ok((rest, unit)) = code_unit(text) else {
        return TokenError::fatal(Invalid::Escape, text, r"\u".len());
    };
    let (rest, decoded) = match code_unit(rest) {
        Ok((after_pair, low)) if (0xd800..0xdc00).contains(&unit) => {
            (after_pair, char::decode_utf16([unit, low]).next())
        }
        _ => (rest, char::decode_utf16([unit]).next()),
    };
    match decoded {
        Some(Ok(character)) => Ok((rest, character)),
        _ => TokenError::fatal(Invalid::Surrogate, text, LENGTH),
    }
}

/// Parses a `\u` escape, which denotes a UTF-16 code unit.
fn code_unit(text: &str) -> TokenResult<'_, u16> {
    let digits = take_while_m_n(4, 4, |c: char| c.is_ascii_hexdigit());
    map_opt(preceded(tag("\\u"), digits), |digits| u16::from_str_radix(digits, 16).ok()).parse(text)
}
