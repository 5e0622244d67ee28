//! The parser of the JSON format. It turns tokens into the query without an intermediate JSON tree, so it can detect
//! duplicate keys and stop as soon as a bound is exceeded.

mod aggregate;
mod controls;
mod filter;
mod node;
mod value;

use super::parser::{Parser, TokenName, to_name};
use super::token::Token;
use crate::error::Quoted;
use crate::{Limits, Query, SyntaxError};

/// Parses a query. The limits on nesting bound the recursion, so they must be clamped already.
pub(crate) fn parse(text: &str, limits: &Limits) -> Result<Query, SyntaxError> {
    let mut parser = Parser::new(text, limits);
    let mut query: Option<Query> = None;
    let expected = "A query must be an object with one key, the entity";
    let start = value::object(&mut parser, expected, |parser, key| {
        check_root_key(parser, &key, query.is_some())?;
        let root = parser.with_path_segment(&key, |parser| {
            let quoted = Quoted(&key);
            node::root(parser, format_args!("The value of entity {quoted} must be an object with '$select'"))
        })?;
        query = Some(Query { entity: to_name(key), root });
        Ok(())
    })?;
    if *parser.token() != Token::End {
        return Err(value::unexpected(&parser, "Unexpected text after the end of the query", ""));
    }
    query.ok_or_else(|| {
        parser.error(start, "The query names no entity; write the entity key as its only root key")
    })
}

/// Refuses keys that are not entities, and a second entity. `SPEC §3.1`
fn check_root_key(parser: &Parser<'_>, key: &TokenName<'_>, is_second: bool) -> Result<(), SyntaxError> {
    let name = Quoted(key);
    let message = if key.starts_with('$') {
        format!("{name} is not allowed at the root; it belongs inside the entity's object")
    } else if is_second {
        format!("{name} is a second root key; a query must have only one, the entity key")
    } else {
        return Ok(());
    };
    Err(parser.error(key.span, message))
}
