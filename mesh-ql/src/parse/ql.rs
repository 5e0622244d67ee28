//! The parser of the brace format, which consists of names and braces. `SPEC §4`

use std::borrow::Cow;
use std::collections::HashMap;

use super::parser::{Parser, TokenName, to_name};
use super::token::{Invalid, Token};
use crate::error::Quoted;
use crate::query::{Query, ReadNode, Selection};
use crate::span::Spanned;
use crate::{Limits, SyntaxError};

/// Parses a query. The limit on depth bounds the recursion, so it must be clamped already.
pub(crate) fn parse(text: &str, limits: &Limits) -> Result<Query, SyntaxError> {
    let mut parser = Parser::new(text, limits);
    expect(&mut parser, &Token::OpenBrace, "'{'")?;
    let Some(entity) = take_name(&mut parser) else {
        return Err(unexpected(&parser, "the name of an entity"));
    };
    // Braces around the selection of the root are optional.
    let has_braces = parser.advance_if(&Token::OpenBrace);
    let select = parser.with_path_segment(&entity, |parser| selection(parser, &entity))?;
    if has_braces {
        expect(&mut parser, &Token::CloseBrace, "'}'")?;
    }
    expect(&mut parser, &Token::End, "the end of the query")?;
    Ok(Query { entity: to_name(entity), root: ReadNode { select, ..ReadNode::default() } })
}

/// Parses the names of a node and its closing brace.
fn selection<'t>(parser: &mut Parser<'t>, node: &TokenName<'t>) -> Result<Vec<Selection>, SyntaxError> {
    let mut select = Vec::new();
    let mut relations: HashMap<Cow<'t, str>, bool> = HashMap::new();
    while let Some(name) = take_name(parser) {
        let is_relation = *parser.token() == Token::OpenBrace;
        match relations.insert(name.value.clone(), is_relation) {
            Some(false) if !is_relation => continue,
            Some(was_relation) => {
                let problem =
                    if was_relation && is_relation { "twice" } else { "both as a field and as a relation" };
                return Err(parser.error(name.span, format!("{} is selected {problem}", Quoted(&name))));
            }
            None => {}
        }
        parser.count_selection(&name)?;
        if is_relation {
            parser.count_relation(&name)?;
            parser.advance();
            let select_below = parser.with_path_segment(&name, |parser| selection(parser, &name))?;
            let node = Box::new(ReadNode { select: select_below, ..ReadNode::default() });
            select.push(Selection::Relation { name: to_name(name), alias: None, node });
        } else {
            select.push(Selection::Field { name: to_name(name), alias: None, at: None });
        }
    }
    if *parser.token() == Token::CloseBrace && select.is_empty() {
        let message =
            format!("The selection of {} is empty; name at least one field or relation", Quoted(node));
        return Err(parser.error(None, message));
    }
    expect(parser, &Token::CloseBrace, "a name or '}'")?;
    Ok(select)
}

fn take_name<'t>(parser: &mut Parser<'t>) -> Option<TokenName<'t>> {
    let Token::Name(name) = *parser.token() else { return None };
    let name = Spanned::new(Cow::Borrowed(name), parser.span());
    parser.advance();
    Some(name)
}

fn expect(parser: &mut Parser<'_>, token: &Token<'_>, expected: &str) -> Result<(), SyntaxError> {
    if parser.advance_if(token) { Ok(()) } else { Err(unexpected(parser, expected)) }
}

fn unexpected(parser: &Parser<'_>, expected: &str) -> SyntaxError {
    use Invalid::{ControlCharacter, Escape, Surrogate, Unterminated};
    let text = parser.token_text();
    let (found, hint) = match parser.token() {
        Token::Text(_) | Token::Invalid(Unterminated | ControlCharacter | Escape | Surrogate) => {
            ("a string".to_owned(), " (is the query in the JSON format?)")
        }
        Token::End => ("the end of the query".to_owned(), ""),
        _ if matches!(text, "$" | "(" | ":") => {
            (Quoted(text).to_string(), "; controls can be written only in the JSON format")
        }
        _ => (Quoted(text).to_string(), ""),
    };
    parser.error(None, format!("Expected {expected}, found {found}{hint}"))
}
