//! Parser for join conditions: `table.column = table.column`, joined by `AND`. `SPEC §6`

use std::fmt;

use nom::branch::alt;
use nom::bytes::complete::{is_not, tag, tag_no_case, take_while};
use nom::character::complete::{char, multispace0, satisfy};
use nom::combinator::{map, not, opt, recognize, verify};
use nom::multi::many0_count;
use nom::sequence::{delimited, pair, preceded, terminated};
use nom::{IResult, Parser};

/// An equality of a join condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Equality {
    pub(crate) left: ColumnRef,
    pub(crate) right: ColumnRef,
}

/// A column with its table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ColumnRef {
    pub(crate) schema: Option<String>,
    pub(crate) table: String,
    pub(crate) column: String,
}

/// Parses a join condition.
///
/// # Errors
/// A sentence with the position of the unexpected character.
pub(crate) fn parse(text: &str) -> Result<Vec<Equality>, String> {
    let mut equalities = Vec::new();
    let mut rest = text;
    loop {
        let left = step(text, &mut rest, column, "table.column")?;
        step(text, &mut rest, char('='), "'='")?;
        let right = step(text, &mut rest, column, "table.column")?;
        equalities.push(Equality { left, right });
        if rest.is_empty() {
            return Ok(equalities);
        }
        step(text, &mut rest, and, "AND or the end")?;
    }
}

/// Runs a parser, skips white space around its match and advances `rest`. If it fails, the message names `expected`.
fn step<'t, O>(
    text: &'t str,
    rest: &mut &'t str,
    parser: impl Parser<&'t str, Output = O, Error = nom::error::Error<&'t str>>,
    expected: &str,
) -> Result<O, String> {
    let start = rest.trim_start();
    let (after, output) = terminated(parser, multispace0).parse(start).map_err(|_| {
        let at = text.chars().count() - start.chars().count() + 1;
        let found = match start.chars().next() {
            Some(found) => format!("'{found}'"),
            None => "the end".to_owned(),
        };
        format!(
            "Expected {expected} at character {at}, found {found}; \
             write table.column = table.column, with further equalities joined by AND"
        )
    })?;
    *rest = after;
    Ok(output)
}

fn and(input: &str) -> IResult<&str, ()> {
    map(terminated(tag_no_case("and"), not(satisfy(is_identifier_continue))), |_| ()).parse(input)
}

fn column(input: &str) -> IResult<&str, ColumnRef> {
    let (rest, (first, second, third)) =
        (identifier, preceded(char('.'), identifier), opt(preceded(char('.'), identifier))).parse(input)?;
    let (rest, ()) = not(char('.')).parse(rest)?;
    let reference = match third {
        Some(third) => ColumnRef { schema: Some(first), table: second, column: third },
        None => ColumnRef { schema: None, table: first, column: second },
    };
    Ok((rest, reference))
}

fn identifier(input: &str) -> IResult<&str, String> {
    alt((quoted, map(bare, str::to_owned))).parse(input)
}

fn bare(input: &str) -> IResult<&str, &str> {
    recognize(pair(satisfy(is_identifier_start), take_while(is_identifier_continue))).parse(input)
}

fn quoted(input: &str) -> IResult<&str, String> {
    let inside = recognize(many0_count(alt((tag("\"\""), is_not("\"")))));
    let filled = verify(inside, |name: &str| !name.is_empty());
    map(delimited(char('"'), filled, char('"')), |name: &str| name.replace("\"\"", "\"")).parse(input)
}

fn is_identifier_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || (!c.is_ascii() && c.is_alphabetic())
}

fn is_identifier_continue(c: char) -> bool {
    is_identifier_start(c) || c.is_ascii_digit() || c == '$' || (!c.is_ascii() && c.is_alphanumeric())
}

/// Writes the column as the parser accepts it, quoted if necessary.
impl fmt::Display for ColumnRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(schema) = &self.schema {
            write!(f, "{}.", Identifier(schema))?;
        }
        write!(f, "{}.{}", Identifier(&self.table), Identifier(&self.column))
    }
}

struct Identifier<'n>(&'n str);

impl fmt::Display for Identifier<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if bare(self.0).is_ok_and(|(rest, _)| rest.is_empty()) {
            f.write_str(self.0)
        } else {
            write!(f, "\"{}\"", self.0.replace('"', "\"\""))
        }
    }
}

#[cfg(test)]
mod tests;
