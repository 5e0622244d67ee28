//! The tokenizer of both query formats.
//!
//! Every text can be tokenized: a part that is not a token of either format becomes [`Token::Invalid`], which no parser
//! accepts.

mod number;
mod string;

use std::borrow::Cow;

use nom::bytes::complete::{take_while, take_while1};
use nom::combinator::recognize;
use nom::error::{ErrorKind, ParseError};
use nom::{IResult, Parser};

use crate::span::Span;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token<'t> {
    /// `{`
    OpenBrace,
    /// `}`
    CloseBrace,
    /// `[`
    OpenBracket,
    /// `]`
    CloseBracket,
    Colon,
    Comma,
    /// A name, or `true`, `false` or `null`.
    Name(&'t str),
    /// A JSON string without its quotes, unescaped.
    Text(Cow<'t, str>),
    /// A JSON number without fraction and exponent that fits 64 bits.
    Integer(i64),
    /// A larger one that fits 64 bits without a sign.
    Unsigned(u64),
    /// Any other JSON number.
    Number(f64),
    Invalid(Invalid),
    /// The end of the text. Advancing past it returns it again.
    End,
}

/// The reason why a part of the text is not a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Invalid {
    /// No token begins with this character.
    Character,
    Number,
    /// The number is not finite as a 64-bit float.
    NumberTooLarge,
    Unterminated,
    ControlCharacter,
    Escape,
    /// `\u` with half of a surrogate pair.
    Surrogate,
}

/// The result of parsing a part of the text.
type TokenResult<'t, O> = IResult<&'t str, O, TokenError<'t>>;

/// An invalid part of the text.
#[derive(Debug)]
struct TokenError<'t> {
    invalid: Invalid,
    /// The text that begins with the invalid part.
    rest: &'t str,
    /// The length of the invalid part in bytes.
    length: usize,
}

impl<'t> TokenError<'t> {
    /// Returns an error that stops all parsing, since no alternative can succeed.
    fn fatal<O>(invalid: Invalid, rest: &'t str, length: usize) -> TokenResult<'t, O> {
        Err(nom::Err::Failure(Self { invalid, rest, length }))
    }
}

impl<'t> ParseError<&'t str> for TokenError<'t> {
    fn from_error_kind(rest: &'t str, _: ErrorKind) -> Self {
        let length = rest.chars().next().map_or(0, char::len_utf8);
        Self { invalid: Invalid::Character, rest, length }
    }

    fn append(_: &'t str, _: ErrorKind, other: Self) -> Self {
        other
    }
}

/// An iterator over the tokens of a text.
#[derive(Clone)]
pub(crate) struct Tokenizer<'t> {
    pub(crate) text: &'t str,
    /// The text after the current token.
    rest: &'t str,
    /// The current token.
    pub(crate) token: Token<'t>,
    /// The current token's location.
    pub(crate) span: Span,
}

impl<'t> Tokenizer<'t> {
    /// Starts at the first token of the text.
    pub(crate) fn new(text: &'t str) -> Self {
        let mut tokenizer = Self { text, rest: text, token: Token::End, span: Span::default() };
        tokenizer.advance();
        tokenizer
    }

    /// Advances to the next token and returns the previous one.
    pub(crate) fn advance(&mut self) -> Token<'t> {
        let start = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let offset = |rest: &str| self.text.len() - rest.len();
        let (token, span);
        match parse_token(start) {
            Ok((rest, next)) => {
                (token, span) = (next, Span::new(offset(start), offset(rest)));
                self.rest = rest;
            }
            Err(nom::Err::Error(fault) | nom::Err::Failure(fault)) => {
                token = Token::Invalid(fault.invalid);
                span = Span::new(offset(fault.rest), offset(fault.rest) + fault.length);
                self.rest = fault.rest.get(fault.length..).unwrap_or_default();
            }
            // Only streaming parsers return this.
            Err(nom::Err::Incomplete(_)) => {
                (token, span) = (Token::End, Span::new(offset(start), offset(start)))
            }
        }
        self.span = span;
        std::mem::replace(&mut self.token, token)
    }
}

/// Parses the token at the start of a text without leading white space.
fn parse_token(text: &str) -> TokenResult<'_, Token<'_>> {
    let symbol = |token| Ok((text.get(1..).unwrap_or_default(), token));
    match text.bytes().next() {
        None => Ok((text, Token::End)),
        Some(b'{') => symbol(Token::OpenBrace),
        Some(b'}') => symbol(Token::CloseBrace),
        Some(b'[') => symbol(Token::OpenBracket),
        Some(b']') => symbol(Token::CloseBracket),
        Some(b':') => symbol(Token::Colon),
        Some(b',') => symbol(Token::Comma),
        Some(b'"') => string::string.map(Token::Text).parse(text),
        Some(b'-' | b'0'..=b'9') => number::number(text),
        Some(_) => name.map(Token::Name).parse(text),
    }
}

/// Returns whether the text matches `[A-Za-z_][A-Za-z0-9_]*`.
pub(crate) fn is_identifier(text: &str) -> bool {
    name(text).is_ok_and(|(rest, _)| rest.is_empty())
}

/// Parses `[A-Za-z_][A-Za-z0-9_]*`.
fn name(text: &str) -> TokenResult<'_, &str> {
    let first = take_while1(|c: char| c.is_ascii_alphabetic() || c == '_');
    recognize((first, take_while(|c: char| c.is_ascii_alphanumeric() || c == '_'))).parse(text)
}

#[cfg(test)]
mod tests;
