//! Parsing of `$aggregate`. `SPEC §3.8`

use super::value::{boolean, choice, mismatch, object, string};
use crate::SyntaxError;
use crate::error::{Quoted, unknown};
use crate::parse::is_identifier;
use crate::parse::parser::{Parser, TokenName, to_name};
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
        if !is_identifier(&alias) || alias.len() > 64 {
            let message = format!(
                "Alias {} is malformed; write a letter or '_', then up to 63 letters, digits or '_'",
                Quoted(&alias)
            );
            return Err(parser.error(alias.span, message));
        }
        aggregates.push(aggregate(parser, alias)?);
        Ok(())
    })?;
    if aggregates.is_empty() {
        return Err(parser.error(start, "'$aggregate' is empty; leave it out instead"));
    }
    Ok(aggregates)
}

/// Parses the value of an alias: `{fn, field?, distinct?}`.
fn aggregate<'t>(parser: &mut Parser<'t>, alias: TokenName<'t>) -> Result<Aggregate, SyntaxError> {
    let (mut function, mut field, mut distinct) = (None, None, None);
    let quoted = Quoted(&alias);
    let expected = format_args!("The value of alias {quoted} must be an object {{fn, field}}");
    let start = object(parser, expected, |parser, key| {
        match &*key.value {
            "fn" => {
                function =
                    Some(choice(parser, ("fn", "function"), &AggregateFn::ALL, AggregateFn::name)?.value);
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
        return Err(parser.error(start, format!("Alias {} needs 'fn'", Quoted(&alias))));
    };
    let name = function.name();
    // `"*"` is equivalent to no field.
    let field: Option<Name> = match field {
        Some(field) if field != "*" => Some(field),
        _ if function == AggregateFn::Count => None,
        Some(field) => {
            let message = format!("Function '{name}' needs a field; '*' is allowed in 'count' only");
            return Err(parser.error(field.span, message));
        }
        None => {
            let message = format!("Function '{name}' of alias {} needs 'field'", Quoted(&alias));
            return Err(parser.error(start, message));
        }
    };
    if let Some(span) = distinct
        && field.is_none()
    {
        return Err(parser.error(span, "'distinct' needs 'field', which has the values to compare"));
    }
    Ok(Aggregate { alias: to_name(alias), function, field, distinct: distinct.is_some() })
}
