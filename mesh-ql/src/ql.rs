//! How is the brace format read? Names and braces, nothing else. `SPEC §4`

use std::collections::HashMap;

use nom::branch::alt;
use nom::bytes::complete::take_while;
use nom::character::complete::{anychar, char, multispace0, satisfy};
use nom::combinator::{eof, map, recognize, value};
use nom::sequence::preceded;
use nom::{IResult, Parser};

use crate::error::Quoted;
use crate::place::Place;
use crate::query::{Query, ReadNode, Selection};
use crate::{Limits, SyntaxError};

/// Reads a query. The bound on depth in `limits` bounds the recursion, so it must be clamped already.
pub(crate) fn parse(text: &str, limits: &Limits) -> Result<Query, SyntaxError> {
    let mut reader = Reader { text, rest: text, token: Token::End, at: 0, limits, items: 0 };
    reader.advance();
    reader.take(Token::Open, "'{'", None)?;
    let Token::Name(entity) = reader.token else { return Err(reader.unexpected("the entity's name", None)) };
    reader.advance();
    let place = Place { parent: None, name: entity };
    // Braces around the selection of the root are optional.
    let select = if reader.token == Token::Open {
        reader.advance();
        let select = reader.selection(&place, 0)?;
        reader.take(Token::Close, "'}'", None)?;
        select
    } else {
        reader.selection(&place, 0)?
    };
    reader.take(Token::End, "the end of the query", None)?;
    Ok(Query { entity: entity.to_owned(), root: ReadNode { select, ..ReadNode::default() } })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'t> {
    Open,
    Close,
    Name(&'t str),
    Stray(char),
    End,
}

/// The text and the token at which the reading stands.
struct Reader<'t> {
    text: &'t str,
    /// What comes behind the token.
    rest: &'t str,
    token: Token<'t>,
    /// Where the token starts.
    at: usize,
    limits: &'t Limits,
    /// Fields and relations selected so far.
    items: usize,
}

impl<'t> Reader<'t> {
    /// Goes on to the next token.
    fn advance(&mut self) {
        let start = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        self.at = self.text.len() - start.len();
        // Every text starts with some token, so the other case never occurs; it would end the query.
        (self.rest, self.token) = token(self.rest).unwrap_or(("", Token::End));
    }

    fn take(&mut self, token: Token<'_>, wanted: &str, place: Option<&Place<'_>>) -> Result<(), SyntaxError> {
        if self.token != token {
            return Err(self.unexpected(wanted, place));
        }
        self.advance();
        Ok(())
    }

    /// Reads items up to the closing brace, and that.
    fn selection(&mut self, place: &Place<'_>, depth: usize) -> Result<Vec<Selection>, SyntaxError> {
        let mut select = Vec::new();
        let mut relations: HashMap<&str, bool> = HashMap::new();
        loop {
            let (name, at) = match self.token {
                Token::Name(name) => (name, self.at),
                Token::Close if !select.is_empty() => break,
                Token::Close => {
                    let message = format!("The selection of {} is empty", Quoted(place.name));
                    return Err(self.error(self.at, message, Some(place)));
                }
                _ => return Err(self.unexpected("a name or '}'", Some(place))),
            };
            self.advance();
            let is_relation = self.token == Token::Open;
            if let Some(was_relation) = relations.insert(name, is_relation) {
                if !was_relation && !is_relation {
                    continue;
                }
                let what =
                    if was_relation && is_relation { "twice" } else { "both as a field and as a relation" };
                return Err(self.error(at, format!("{} is selected {what}", Quoted(name)), Some(place)));
            }
            self.count(at, place)?;
            if is_relation {
                self.check_depth(name, at, place, depth)?;
                self.advance();
                let select_below = self.selection(&Place { parent: Some(place), name }, depth + 1)?;
                let node = ReadNode { select: select_below, ..ReadNode::default() };
                select.push(Selection::Relation(name.to_owned(), node));
            } else {
                select.push(Selection::Field(name.to_owned()));
            }
        }
        self.advance();
        Ok(select)
    }

    fn count(&mut self, at: usize, place: &Place<'_>) -> Result<(), SyntaxError> {
        self.items += 1;
        let bound = self.limits.fields;
        if self.items <= bound {
            return Ok(());
        }
        let message =
            format!("The query selects more fields and relations than the bound `fields` ({bound})");
        Err(self.error(at, message, Some(place)))
    }

    fn check_depth(&self, name: &str, at: usize, place: &Place<'_>, depth: usize) -> Result<(), SyntaxError> {
        let bound = self.limits.depth;
        if depth < bound {
            return Ok(());
        }
        let message = format!("Relation {} nests deeper than the bound `depth` ({bound})", Quoted(name));
        Err(self.error(at, message, Some(place)))
    }

    fn unexpected(&self, wanted: &str, place: Option<&Place<'_>>) -> SyntaxError {
        let found = match self.token {
            Token::Open => "'{'".to_owned(),
            Token::Close => "'}'".to_owned(),
            Token::Name(name) => Quoted(name).to_string(),
            Token::Stray(stray) => Quoted(stray.encode_utf8(&mut [0; 4])).to_string(),
            Token::End => "the end of the query".to_owned(),
        };
        let hint = match self.token {
            Token::Stray('"') => " (is the query in the JSON format?)",
            Token::Stray('$' | '(' | ':') => "; controls can be written in the JSON format only",
            _ => "",
        };
        self.error(self.at, format!("Expected {wanted}, found {found}{hint}"), place)
    }

    fn error(&self, at: usize, message: String, place: Option<&Place<'_>>) -> SyntaxError {
        SyntaxError::at(self.text, at, message).inside(place)
    }
}

/// The first token of a text. Any text has one.
fn token(text: &str) -> IResult<&str, Token<'_>> {
    let first = satisfy(|c| c.is_ascii_alphabetic() || c == '_');
    let name = recognize((first, take_while(|c: char| c.is_ascii_alphanumeric() || c == '_')));
    let token = alt((
        value(Token::Open, char('{')),
        value(Token::Close, char('}')),
        map(name, Token::Name),
        map(anychar, Token::Stray),
        value(Token::End, eof),
    ));
    preceded(multispace0, token).parse(text)
}
