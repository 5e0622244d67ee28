//! Parsing of `$aggregate`. `SPEC §3.8`

use std::fmt::Display;

use super::value::{boolean, check_alias, choice, mismatch, object, string};
use crate::SyntaxError;
use crate::error::{Quoted, unknown};
use crate::parse::parser::{Parser, to_name};
use crate::query::{Aggregate, AggregateFn};
use crate::span::Name;

/// Parses the value of `$aggregate`.
pub(super) fn aggregates(parser: &mut Parser<'_>) -> Result<Vec<Aggregate>, SyntaxError> {
    let bound = parser.limits.aggregates;
    let mut aggregates = Vec::new();
    let start = object(parser, "'$aggregate' must be an object of aliases", |parser, alias| {
        if aggregates.len() >= bound {
            let message =
                format!("'$aggregate' has more entries than the bound `aggregates` ({bound}) allows");
            return Err(parser.error(alias.span, message));
        }
        check_alias(parser, "Alias", &alias)?;
        let aggregate = aggregate(parser, format_args!("alias {}", Quoted(&alias)))?;
        aggregates.push(Aggregate { alias: to_name(alias), ..aggregate });
        Ok(())
    })?;
    if aggregates.is_empty() {
        return Err(parser.error(start, "'$aggregate' is empty; leave it out instead"));
    }
    Ok(aggregates)
}

/// Parses `{fn, field?, distinct?}`, which contains no alias. `owner` describes the part with this value in messages.
pub(super) fn aggregate(parser: &mut Parser<'_>, owner: impl Display) -> Result<Aggregate, SyntaxError> {
    let (mut function, mut field, mut distinct) = (None, None, None);
    let expected = format_args!("The value of {owner} must be an object {{fn, field}}");
    let start = object(parser, expected, |parser, key| {
        match &*key.value {
            "fn" => {
                function =
                    Some(choice(parser, ("fn", "function"), &AggregateFn::ALL, AggregateFn::as_str)?.value);
            }
            "field" => field = Some(to_name(string(parser, "field")?)),
            "distinct" => {
                let Some(flag) = boolean(parser) else {
                    return Err(mismatch(parser, "'distinct' must be true or false"));
                };
                distinct = flag.then_some(key.span);
            }
            name => return Err(parser.error(key.span, unknown("key", name, &["fn", "field", "distinct"]))),
        }
        Ok(())
    })?;
    let Some(function) = function else {
        return Err(parser.error(start, format!("The value of {owner} needs 'fn'")));
    };
    let name = function.as_str();
    // `"*"` is equivalent to no field.
    let field: Option<Name> = match field {
        Some(field) if field != "*" => Some(field),
        _ if function == AggregateFn::Count => None,
        Some(field) => {
            let message = format!("Function '{name}' needs a field; '*' is allowed only in 'count'");
            return Err(parser.error(field.span, message));
        }
        None => {
            return Err(parser.error(start, format!("Function '{name}' of {owner} needs 'field'")));
        }
    };
    if let Some(span) = distinct
        && field.is_none()
    {
        return Err(parser.error(span, "'distinct' requires 'field', whose distinct values are aggregated"));
    }
    Ok(Aggregate { alias: Name::default(), function, field, distinct: distinct.is_some() })
}
