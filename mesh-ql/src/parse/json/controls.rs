//! Parsing of `$orderBy`, `$page`, `$distinct` and `$groupBy`.

use super::value::{array, check_alias, choice, mismatch, object, param, string};
use crate::SyntaxError;
use crate::error::{Quoted, unknown};
use crate::parse::parser::{Parser, TokenName, to_name};
use crate::parse::token::Token;
use crate::query::{
    Aggregate, Bucket, Direction, GroupKey, Nulls, OrParam, OrderBy, OrderKey, Page, SearchOrder, Subject,
    TimeUnit,
};
use crate::span::{Name, Span, Spanned};

/// Parses `$distinct`: a nonempty list of unique field names. `SPEC §3.8`
pub(super) fn distinct(parser: &mut Parser<'_>) -> Result<Vec<Name>, SyntaxError> {
    unique_list(parser, "$distinct", "field names", |name| name, |parser| Ok(parser.take_text().map(to_name)))
}

/// Parses `$groupBy`: a nonempty list of unique field names and buckets. `SPEC §3.8`, `SPEC §21.1`
pub(super) fn group_by(parser: &mut Parser<'_>) -> Result<Vec<GroupKey>, SyntaxError> {
    unique_list(parser, "$groupBy", "field names and buckets", GroupKey::name, |parser| {
        match parser.token() {
            Token::OpenBrace => bucket(parser).map(|bucket| Some(GroupKey::Bucket(bucket))),
            _ => Ok(parser.take_text().map(|name| GroupKey::Field(to_name(name)))),
        }
    })
}

/// Parses a nonempty list of `entries` with unique names. `entry` parses one of them; `None` if the current token does not
/// begin one.
fn unique_list<T>(
    parser: &mut Parser<'_>,
    control: &str,
    entries: &str,
    name: fn(&T) -> &Name,
    entry: impl Fn(&mut Parser<'_>) -> Result<Option<T>, SyntaxError>,
) -> Result<Vec<T>, SyntaxError> {
    let mut list: Vec<T> = Vec::new();
    let expected = format_args!("'{control}' must be an array of {entries}");
    let start = array(parser, expected, |parser, index| {
        let Some(found) = entry(parser)? else {
            return Err(mismatch(parser, format_args!("'{control}' must list {entries}")));
        };
        let added = name(&found);
        if index >= parser.limits.group_keys {
            return Err(parser.error(added.span, too_many_keys(parser, control)));
        }
        if list.iter().any(|other| name(other) == added) {
            let message = format!("'{control}' names {} twice", Quoted(added));
            return Err(parser.error(added.span, message));
        }
        list.push(found);
        Ok(())
    })?;
    if list.is_empty() {
        return Err(parser.error(start, format!("'{control}' is empty; leave it out instead")));
    }
    Ok(list)
}

/// Parses a bucket: `{field, by, as, zone?}`. `SPEC §21.1`
fn bucket(parser: &mut Parser<'_>) -> Result<Bucket, SyntaxError> {
    let (mut field, mut unit, mut alias, mut zone) = (None, None, None, None);
    let start = object(parser, "a bucket", |parser, key| {
        match &*key.value {
            "field" => field = Some(to_name(string(parser, &key)?)),
            "by" => unit = Some(choice(parser, ("by", "unit of time"), &TimeUnit::ALL, TimeUnit::as_str)?),
            "as" => {
                let name = string(parser, &key)?;
                check_alias(parser, "Alias", &name)?;
                alias = Some(to_name(name));
            }
            "zone" => zone = Some(to_name(string(parser, &key)?)),
            name => return Err(parser.error(key.span, unknown("key", name, &["field", "by", "as", "zone"]))),
        }
        Ok(())
    })?;
    let (Some(field), Some(unit), Some(alias)) = (field, unit, alias) else {
        return Err(parser.error(start, "A bucket of '$groupBy' needs 'field', 'by' and 'as'"));
    };
    if let Some(zone) = zone.as_ref().filter(|_| unit.is_within_day()) {
        let message = format!("'zone' cannot be used with '{}', only with days and longer units", *unit);
        return Err(parser.error(zone.span, message));
    }
    Ok(Bucket { field, unit, alias, zone })
}

/// Returns the message for a list with more keys than the bound allows. `SPEC §3.11`
fn too_many_keys(parser: &Parser<'_>, control: &str) -> String {
    let bound = parser.limits.group_keys;
    format!("'{control}' has more entries than the bound `group_keys` ({bound}) allows")
}

/// Parses `$orderBy`. An empty list is equivalent to no `$orderBy`. `SPEC §3.9`
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

/// The members of an entry of `$orderBy` found so far.
#[derive(Default)]
struct OrderParts {
    subject: Option<Subject>,
    relation: Option<Name>,
    /// The location of `"aggregate"`, and the aggregate of a relation.
    aggregate: Option<(Option<Span>, Aggregate)>,
    search: Option<Spanned<SearchOrder>>,
    direction: Option<Spanned<Direction>>,
    nulls: Option<Spanned<Nulls>>,
}

impl OrderParts {
    /// Parses the value of a member.
    fn member<'t>(&mut self, parser: &mut Parser<'t>, key: &TokenName<'t>) -> Result<(), SyntaxError> {
        match &*key.value {
            "aggregate" if *parser.token() == Token::OpenBrace => {
                self.aggregate = Some((key.span, super::aggregate::aggregate(parser, "'aggregate'")?));
            }
            "relation" => self.relation = Some(to_name(string(parser, key)?)),
            "field" | "aggregate" => {
                let name = to_name(string(parser, key)?);
                let span = name.span;
                let named =
                    if key.value == "field" { Subject::Field(name) } else { Subject::Aggregate(name) };
                if self.subject.is_some() {
                    let message = "An entry of '$orderBy' has either 'field' or 'aggregate', not both";
                    return Err(parser.error(span, message));
                }
                self.subject = Some(named);
            }
            "search" => {
                let kind = ("search", "order of a search");
                self.search = Some(choice(parser, kind, &SearchOrder::ALL, SearchOrder::as_str)?);
            }
            "direction" => {
                let kind = ("direction", "direction");
                self.direction = Some(choice(parser, kind, &Direction::ALL, Direction::as_str)?);
            }
            "nulls" => {
                let kind = ("nulls", "position of nulls");
                self.nulls = Some(choice(parser, kind, &Nulls::ALL, Nulls::as_str)?);
            }
            name => {
                let known = ["field", "aggregate", "relation", "search", "direction", "nulls"];
                return Err(parser.error(key.span, unknown("key", name, &known)));
            }
        }
        Ok(())
    }
}

/// Parses one entry of `$orderBy`; `earlier` contains the entries before it.
fn order_key(parser: &mut Parser<'_>, earlier: &[OrderBy]) -> Result<OrderBy, SyntaxError> {
    let mut parts = OrderParts::default();
    let expected = "An entry of '$orderBy' must be an object {field, direction}";
    let start = object(parser, expected, |parser, key| parts.member(parser, &key))?;
    let OrderParts { subject, relation, aggregate, search, direction, nulls } = parts;
    let key = match (subject, relation, aggregate, search) {
        (None, None, None, Some(search)) => {
            let others = [direction.map(|direction| direction.span), nulls.map(|nulls| nulls.span)];
            if let Some(span) = others.into_iter().flatten().next() {
                let message =
                    "An order by 'search' has neither 'direction' nor 'nulls': the best match is first";
                return Err(parser.error(span, message));
            }
            if !earlier.is_empty() {
                let message = "An order by 'search' must be the first entry of '$orderBy'";
                return Err(parser.error(start, message));
            }
            return Ok(OrderBy {
                key: OrderKey::Search { search },
                direction: None,
                nulls: Nulls::default(),
            });
        }
        (Some(subject), None, None, None) => OrderKey::Subject(subject),
        (None, Some(relation), Some((span, aggregate)), None) => {
            parser.count_aggregate_sort(span)?;
            OrderKey::Relation { relation, aggregate }
        }
        (None, None, None, None) => return Err(parser.error(start, "An entry of '$orderBy' needs 'field'")),
        _ => {
            let message = "An entry of '$orderBy' has either 'field', or the alias of an 'aggregate', or 'relation' \
                           with 'aggregate': {fn, field}, or 'search'";
            return Err(parser.error(start, message));
        }
    };
    if earlier.iter().any(|other| other.key == key) {
        let (span, message) = match &key {
            OrderKey::Subject(subject) => {
                let kind = if matches!(subject, Subject::Aggregate(_)) { "aggregate" } else { "field" };
                let name = subject.name();
                (name.span, format!("'$orderBy' names {kind} {} twice", Quoted(name)))
            }
            OrderKey::Relation { relation, .. } => {
                (relation.span, format!("'$orderBy' has the same aggregate of {} twice", Quoted(relation)))
            }
            OrderKey::Search { .. } => (start.into(), "'$orderBy' has 'search' twice".to_owned()),
        };
        return Err(parser.error(span, message));
    }
    let Some(Spanned { value: direction, .. }) = direction else {
        return Err(parser.error(start, "An entry of '$orderBy' needs 'direction': 'asc' or 'desc'"));
    };
    let nulls = nulls.map_or_else(Nulls::default, |nulls| nulls.value);
    Ok(OrderBy { key, direction: Some(direction), nulls })
}

/// Parses `$page`. `SPEC §3.10`, `SPEC §14.6`, `SPEC §14.7`
pub(super) fn page(parser: &mut Parser<'_>) -> Result<Page, SyntaxError> {
    let mut page = Page::default();
    // The location of the last key of each direction, if there is one.
    let (mut forward, mut backward) = (None, None);
    let (mut skip, mut has_after) = (None, false);
    let page_max = ("page_max", parser.limits.page_max);
    let start = object(parser, "'$page' must be an object {first, after}", |parser, key| {
        match &*key.value {
            name @ "first" => page.first = Some(row_count(parser, name, 1, page_max)?),
            name @ "after" => page.after = cursor(parser, name)?,
            name @ "last" => page.last = Some(row_count(parser, name, 1, page_max)?),
            name @ "before" => page.before = cursor(parser, name)?,
            name @ "skip" => {
                skip = key.span;
                page.skip = Some(row_count(parser, name, 0, ("skip", parser.limits.skip))?);
            }
            "total" => {
                if *parser.token() != Token::Name("true") {
                    return Err(mismatch(parser, "'total' must be exactly true"));
                }
                parser.advance();
                page.total = true;
            }
            name => {
                let known = ["first", "after", "last", "before", "skip", "total"];
                return Err(parser.error(key.span, unknown("key", name, &known)));
            }
        }
        has_after |= key.value == "after";
        match &*key.value {
            "first" | "after" => forward = key.span,
            "last" | "before" => backward = key.span,
            _ => {}
        }
        Ok(())
    })?;
    if let Some(span) = skip
        && (has_after || backward.is_some())
    {
        let message =
            "'$page' cannot combine 'skip' with 'after', 'last' or 'before'; combine it with 'first'";
        return Err(parser.error(span, message));
    }
    if let (Some(_), Some(span)) = (forward, backward) {
        let message =
            "'$page' cannot combine 'first' or 'after' with 'last' or 'before'; use one of the two pairs";
        return Err(parser.error(span, message));
    }
    if backward.is_some() && page.last.is_none() {
        return Err(parser.error(start, "'before' needs 'last', the size of the page"));
    }
    Ok(page)
}

/// Parses a cursor; `null` means that there is none.
fn cursor(parser: &mut Parser<'_>, key: &str) -> Result<Option<Spanned<OrParam<String>>>, SyntaxError> {
    let span = parser.span();
    let expected = format_args!("'{key}' must be a cursor (a string) or null");
    if let Some(cursor) = parser.take_text() {
        return Ok(Some(Spanned::new(OrParam::Value(cursor.value.into_owned()), span)));
    }
    match parser.token() {
        Token::OpenBrace => Ok(Some(Spanned::new(param(parser, expected)?, span))),
        Token::Name("null") => {
            parser.advance();
            Ok(None)
        }
        _ => Err(mismatch(parser, expected)),
    }
}

/// Parses a number of records, which is at least `min` and at most a bound.
fn row_count(
    parser: &mut Parser<'_>,
    key: &str,
    min: u32,
    (name, bound): (&str, u32),
) -> Result<Spanned<OrParam<u32>>, SyntaxError> {
    let span = parser.span();
    let expected = format_args!("'{key}' must be a whole number from {min} to the bound `{name}` ({bound})");
    if *parser.token() == Token::OpenBrace {
        return Ok(Spanned::new(param(parser, expected)?, span));
    }
    let number = match *parser.token() {
        Token::Integer(number) => number as f64,
        Token::Unsigned(number) => number as f64,
        Token::Number(number) => number,
        _ => return Err(mismatch(parser, expected)),
    };
    if number.fract() != 0.0 || !(f64::from(min)..=f64::from(bound)).contains(&number) {
        let number = format!("{number:?}");
        let number = number.trim_end_matches(".0");
        return Err(parser.error(None, format!("{expected}, not {number}")));
    }
    parser.advance();
    Ok(Spanned::new(OrParam::Value(number as u32), span))
}
