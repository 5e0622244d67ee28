//! Parsing of `$orderBy`, `$page`, `$distinct` and `$groupBy`.

use super::value::{array, choice, mismatch, object, string};
use crate::SyntaxError;
use crate::error::{Quoted, unknown};
use crate::parse::parser::{Parser, to_name};
use crate::parse::token::Token;
use crate::query::{Direction, Nulls, OrderBy, Page, Subject};
use crate::span::Name;

/// Parses `$distinct` or `$groupBy`: field names, at least one, each once. `SPEC §3.8`
pub(super) fn field_list(parser: &mut Parser<'_>, control: &str) -> Result<Vec<Name>, SyntaxError> {
    let mut names: Vec<Name> = Vec::new();
    let expected = format_args!("'{control}' must be an array of field names");
    let start = array(parser, expected, |parser, index| {
        let Some(name) = parser.take_text() else {
            return Err(mismatch(parser, format_args!("'{control}' must list field names")));
        };
        let name = to_name(name);
        if index >= parser.limits.group_keys {
            return Err(parser.error(name.span, too_many_keys(parser, control)));
        }
        if names.contains(&name) {
            let message = format!("'{control}' names field {} twice", Quoted(&name));
            return Err(parser.error(name.span, message));
        }
        names.push(name);
        Ok(())
    })?;
    if names.is_empty() {
        return Err(parser.error(start, format!("'{control}' is empty; leave it out instead")));
    }
    Ok(names)
}

/// The message about a list with more keys than the bound allows. `SPEC §3.11`
fn too_many_keys(parser: &Parser<'_>, control: &str) -> String {
    let bound = parser.limits.group_keys;
    format!("'{control}' has more entries than the bound `group_keys` ({bound}) allows")
}

/// Parses `$orderBy`; an empty one is none. `SPEC §3.9`
pub(super) fn order(parser: &mut Parser<'_>) -> Result<Vec<OrderBy>, SyntaxError> {
    let mut order = Vec::new();
    array(parser, "'$orderBy' must be an array of {field, direction}", |parser, index| {
        if index >= parser.limits.group_keys && *parser.token() == Token::OpenBrace {
            return Err(parser.error(None, too_many_keys(parser, "$orderBy")));
        }
        order.push(order_key(parser, &order)?);
        Ok(())
    })?;
    Ok(order)
}

/// Parses one entry of `$orderBy`; `earlier` are those before it.
fn order_key(parser: &mut Parser<'_>, earlier: &[OrderBy]) -> Result<OrderBy, SyntaxError> {
    let (mut subject, mut direction, mut nulls) = (None, None, Nulls::default());
    let expected = "An entry of '$orderBy' must be an object {field, direction}";
    let start = object(parser, expected, |parser, key| {
        match &*key.value {
            "field" | "aggregate" => {
                let name = to_name(string(parser, &key)?);
                let span = name.span;
                let named =
                    if key.value == "field" { Subject::Field(name) } else { Subject::Aggregate(name) };
                if subject.is_some() {
                    let message = "An entry of '$orderBy' has either 'field' or 'aggregate', not both";
                    return Err(parser.error(span, message));
                }
                if earlier.iter().any(|other| other.subject == named) {
                    let (kind, name) = (&*key.value, Quoted(named.name()));
                    let message = format!("'$orderBy' names {kind} {name} twice");
                    return Err(parser.error(span, message));
                }
                subject = Some(named);
            }
            "direction" => {
                let kind = ("direction", "direction");
                direction = Some(choice(parser, kind, &Direction::ALL, Direction::name)?.value);
            }
            "nulls" => {
                nulls = choice(parser, ("nulls", "position of nulls"), &Nulls::ALL, Nulls::name)?.value;
            }
            name => {
                let known = ["field", "aggregate", "direction", "nulls"];
                return Err(parser.error(key.span, unknown("key", name, &known)));
            }
        }
        Ok(())
    })?;
    let Some(subject) = subject else {
        return Err(parser.error(start, "An entry of '$orderBy' needs 'field'"));
    };
    let Some(direction) = direction else {
        return Err(parser.error(start, "An entry of '$orderBy' needs 'direction': 'asc' or 'desc'"));
    };
    Ok(OrderBy { subject, direction, nulls })
}

/// Parses `$page`. `SPEC §3.10`
pub(super) fn page(parser: &mut Parser<'_>) -> Result<Page, SyntaxError> {
    let mut page = Page::default();
    object(parser, "'$page' must be an object {first, after}", |parser, key| {
        match &*key.value {
            "first" => page.first = Some(page_size(parser)?),
            "after" if *parser.token() == Token::Name("null") => {
                parser.advance();
            }
            "after" => match parser.take_text() {
                Some(cursor) => page.after = Some(to_name(cursor)),
                None => return Err(mismatch(parser, "'after' must be a cursor (a string) or null")),
            },
            name => return Err(parser.error(key.span, unknown("key", name, &["first", "after"]))),
        }
        Ok(())
    })?;
    Ok(page)
}

fn page_size(parser: &mut Parser<'_>) -> Result<u32, SyntaxError> {
    let bound = parser.limits.page_max;
    let expected = format_args!("'first' must be a whole number from 1 to the bound `page_max` ({bound})");
    let number = match *parser.token() {
        Token::Integer(number) => number as f64,
        Token::Number(number) => number,
        _ => return Err(mismatch(parser, expected)),
    };
    if number.fract() != 0.0 || !(1.0..=f64::from(bound)).contains(&number) {
        let number = format!("{number:?}");
        let number = number.trim_end_matches(".0");
        return Err(parser.error(None, format!("{expected}, not {number}")));
    }
    parser.advance();
    Ok(number as u32)
}
