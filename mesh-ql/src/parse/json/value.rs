//! Parsing of single JSON values: objects without duplicate keys, arrays, scalars.
//!
//! Each function expects the parser at the first token of a value and leaves it after the last token. If the value is of
//! another kind, the error names the expected kind.

use std::collections::HashSet;
use std::fmt::Display;

use crate::SyntaxError;
use crate::error::{Quoted, unknown};
use crate::parse::is_identifier;
use crate::parse::parser::{Parser, TokenName, to_name};
use crate::parse::token::{Invalid, Token};
use crate::query::OrParam;
use crate::span::{Name, Span, Spanned};

/// Parses an object: `entry` is called with each key and parses its value. Returns the location of the opening
/// brace. `expected` begins the message for a value of another kind, for example `'$page' must be an object`.
pub(super) fn object<'t>(
    parser: &mut Parser<'t>,
    expected: impl Display,
    mut entry: impl FnMut(&mut Parser<'t>, TokenName<'t>) -> Result<(), SyntaxError>,
) -> Result<Span, SyntaxError> {
    let start = parser.span();
    if !parser.advance_if(&Token::OpenBrace) {
        return Err(mismatch(parser, expected));
    }
    if parser.advance_if(&Token::CloseBrace) {
        return Ok(start);
    }
    let mut keys = HashSet::new();
    loop {
        let key = key(parser)?;
        if !keys.insert(key.value.clone()) {
            return Err(parser.error(key.span, format!("Key {} occurs twice in one object", Quoted(&key))));
        }
        if !parser.advance_if(&Token::Colon) {
            return Err(unexpected(parser, "Expected ':' after a key", "inside an object"));
        }
        entry(parser, key)?;
        if parser.advance_if(&Token::CloseBrace) {
            return Ok(start);
        }
        if !parser.advance_if(&Token::Comma) {
            return Err(unexpected(parser, "Expected ',' or '}'", "inside an object"));
        }
    }
}

/// Parses an array: `item` is called with the index of each item and parses it. Returns the location of the
/// opening bracket.
pub(super) fn array<'t>(
    parser: &mut Parser<'t>,
    expected: impl Display,
    mut item: impl FnMut(&mut Parser<'t>, usize) -> Result<(), SyntaxError>,
) -> Result<Span, SyntaxError> {
    let start = parser.span();
    if !parser.advance_if(&Token::OpenBracket) {
        return Err(mismatch(parser, expected));
    }
    if parser.advance_if(&Token::CloseBracket) {
        return Ok(start);
    }
    for index in 0.. {
        item(parser, index)?;
        if parser.advance_if(&Token::CloseBracket) {
            break;
        }
        if !parser.advance_if(&Token::Comma) {
            return Err(unexpected(parser, "Expected ',' or ']'", "inside an array"));
        }
        if *parser.token() == Token::CloseBracket {
            return Err(parser.error(None, "Expected a value after ','"));
        }
    }
    Ok(start)
}

fn key<'t>(parser: &mut Parser<'t>) -> Result<TokenName<'t>, SyntaxError> {
    if let Some(key) = parser.take_text() {
        return Ok(key);
    }
    let expected = match parser.token() {
        Token::CloseBrace => "Expected a key after ','",
        Token::Name(_) => {
            "Expected a key in double quotes; for a query in QL, send X-Mesh-Format: ql, or set 'format' in a posted body"
        }
        _ => "Expected a key in double quotes",
    };
    Err(unexpected(parser, expected, "inside an object"))
}

/// Parses the string that is the value of `key`.
pub(super) fn string<'t>(parser: &mut Parser<'t>, key: &str) -> Result<TokenName<'t>, SyntaxError> {
    parser.take_text().ok_or_else(|| mismatch(parser, format_args!("'{key}' must be a string")))
}

/// Parses the JSON Pointer of `at`. `SPEC §14.8`
pub(super) fn pointer(parser: &mut Parser<'_>) -> Result<Name, SyntaxError> {
    let pointer = to_name(string(parser, "at")?);
    let is_escaped = |segment: &str| segment.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    if (pointer.is_empty() || pointer.starts_with('/')) && is_escaped(&pointer) {
        return Ok(pointer);
    }
    let message = format!(
        "{} is not a JSON Pointer; write '/key/0', with '~1' for a slash in a key and '~0' for a tilde",
        Quoted(&pointer)
    );
    Err(parser.error(pointer.span, message))
}

/// Parses the value of `key`, which is the name of one of `choices`. `kind` describes these names in messages.
pub(super) fn choice<T: Copy>(
    parser: &mut Parser<'_>,
    (key, kind): (&str, &str),
    choices: &[T],
    name: fn(T) -> &'static str,
) -> Result<Spanned<T>, SyntaxError> {
    let text = string(parser, key)?;
    match choices.iter().find(|choice| name(**choice) == *text) {
        Some(choice) => Ok(Spanned { value: *choice, span: text.span }),
        None => {
            let names: Vec<&str> = choices.iter().map(|choice| name(*choice)).collect();
            Err(parser.error(text.span, unknown(kind, &text, &names)))
        }
    }
}

/// Parses `{"$param": name}`, which stands for a value. `SPEC §19.1`
pub(super) fn param<T>(parser: &mut Parser<'_>, expected: impl Display) -> Result<OrParam<T>, SyntaxError> {
    let mut param = None;
    let expected = &*format!("{expected}, or {{\"$param\": name}}");
    let start = object(parser, expected, |parser, key| {
        if key.value != "$param" {
            let message = format!("{expected}; found the key {}", Quoted(&key));
            return Err(parser.error(key.span, message));
        }
        let name = string(parser, "$param")?;
        check_alias(parser, "Parameter", &name)?;
        param = Some(to_name(name));
        Ok(())
    })?;
    match param {
        Some(name) => Ok(OrParam::Param { name }),
        None => Err(parser.error(start, expected)),
    }
}

/// Parses `true` or `false`, if the current token is one of these.
pub(super) fn boolean(parser: &mut Parser<'_>) -> Option<bool> {
    let value = match parser.token() {
        Token::Name("true") => true,
        Token::Name("false") => false,
        _ => return None,
    };
    parser.advance();
    Some(value)
}

/// Returns the error for a current token that does not begin a value of the expected kind.
pub(super) fn mismatch(parser: &Parser<'_>, expected: impl Display) -> SyntaxError {
    let found = match *parser.token() {
        Token::OpenBrace => "an object",
        Token::OpenBracket => "an array",
        Token::Text(_) => "a string",
        Token::Integer(_) | Token::Unsigned(_) | Token::Number(_) => "a number",
        Token::Name(name @ ("true" | "false" | "null")) => name,
        _ => return unexpected(parser, "Expected a JSON value", "where a value is expected"),
    };
    parser.error(None, format!("{expected}, not {found}"))
}

/// Returns the error for a current token that the syntax of JSON does not allow here. If the text ends here, the
/// message names the `context`.
pub(super) fn unexpected(parser: &Parser<'_>, expected: &str, context: &str) -> SyntaxError {
    let message = match *parser.token() {
        Token::End => format!("The query ends {context}"),
        Token::Invalid(Invalid::Unterminated) => "The query ends inside a string".to_owned(),
        Token::Invalid(Invalid::Number) => format!("Malformed number {}", Quoted(parser.token_text())),
        Token::Invalid(Invalid::NumberTooLarge) => "The number does not fit a 64-bit float".to_owned(),
        Token::Invalid(Invalid::ControlCharacter) => {
            "A control character in a string must be written as an escape".to_owned()
        }
        Token::Invalid(Invalid::Escape) => "Unknown or incomplete escape in a string".to_owned(),
        Token::Invalid(Invalid::Surrogate) => {
            "The escape is half of a surrogate pair, which is not a character".to_owned()
        }
        _ => expected.to_owned(),
    };
    parser.error(None, message)
}

/// Checks the form of a name that the query introduces: an alias or a parameter. `SPEC §3.8`
pub(super) fn check_alias(parser: &Parser<'_>, kind: &str, name: &TokenName<'_>) -> Result<(), SyntaxError> {
    if is_identifier(name) && name.len() <= 64 {
        return Ok(());
    }
    let message = format!(
        "{kind} {} is malformed; write a letter or '_', then up to 63 letters, digits or '_'",
        Quoted(name)
    );
    Err(parser.error(name.span, message))
}
