//! Parsing of a read node: its `$select`, its controls, and the rules between them.

use std::fmt::Display;

use super::aggregate::aggregates;
use super::controls::{distinct, group_by, order, page};
use super::filter::{HAVING, WHERE, filter};
use super::value::{boolean, check_alias, mismatch, object, pointer, string};
use crate::SyntaxError;
use crate::error::{Quoted, unknown};
use crate::parse::parser::{Parser, TokenName, to_name};
use crate::parse::token::Token;
use crate::query::{CONTROLS, Controls, GroupKey, ReadNode, Selection};
use crate::span::{Name, Span, Spanned};

/// The position of a read node in the query.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Relation,
}

/// Parses the read node of the root. `SPEC §3.2`
pub(super) fn root(parser: &mut Parser<'_>, expected: impl Display) -> Result<ReadNode, SyntaxError> {
    Ok(*node(parser, expected, Level::Root)?.1)
}

/// Parses a read node. Also returns the value of `$relation`, which is present if the key of the node is an alias.
fn node(
    parser: &mut Parser<'_>,
    expected: impl Display,
    level: Level,
) -> Result<(Option<Name>, Box<ReadNode>), SyntaxError> {
    let (mut relation, mut select) = (None, None);
    // Boxed, so that each level of nested nodes takes less of the stack.
    let mut controls = Box::<Controls>::default();
    let start = object(parser, expected, |parser, key| match &*key.value {
        "$select" => {
            select = Some(self::select(parser)?);
            Ok(())
        }
        "$relation" if level == Level::Relation => {
            relation = Some(to_name(string(parser, "$relation")?));
            Ok(())
        }
        _ => control(parser, &key, &mut controls),
    })?;
    let Some((span, select)) = select else {
        return Err(parser.error(start, "'$select' is missing"));
    };
    check_rules(parser, level, (span, &select), &controls)?;
    Ok((relation, Box::new(ReadNode { select, controls: *controls })))
}

/// Parses the value of a key other than `$select`.
fn control<'t>(
    parser: &mut Parser<'t>,
    key: &TokenName<'t>,
    controls: &mut Controls,
) -> Result<(), SyntaxError> {
    let span = key.span;
    match &*key.value {
        "$where" => controls.filter = Some(Spanned { value: filter(parser, &WHERE)?, span }),
        "$orderBy" => controls.order = Spanned { value: order(parser)?, span },
        "$page" => controls.page = Some(Spanned { value: page(parser)?, span }),
        "$distinct" => controls.distinct = Some(Spanned { value: distinct(parser)?, span }),
        "$groupBy" => controls.group = Some(Spanned { value: group_by(parser)?, span }),
        "$aggregate" => controls.aggregates = Spanned { value: aggregates(parser)?, span },
        "$having" => controls.having = Some(Spanned { value: filter(parser, &HAVING)?, span }),
        name => {
            let is_near = |control: &&str| control.strip_prefix('$') == Some(name);
            let message = if name.starts_with('$') || CONTROLS.iter().any(is_near) {
                unknown("key", name, &CONTROLS)
            } else {
                format!("Unknown key {}; fields and relations belong inside '$select'", Quoted(name))
            };
            return Err(parser.error(span, message));
        }
    }
    Ok(())
}

/// Checks the rules between keys. `SPEC §3.3`, `SPEC §3.8`, `SPEC §3.12`, `SPEC §14.5`
fn check_rules(
    parser: &Parser<'_>,
    level: Level,
    (select_span, select): (Span, &[Selection]),
    controls: &Controls,
) -> Result<(), SyntaxError> {
    let is_aggregated = !controls.aggregates.is_empty();
    if select.is_empty() && !is_aggregated {
        return Err(parser.error(select_span, "'$select' is empty; this is allowed only with '$aggregate'"));
    }
    if level == Level::Relation {
        check_aggregated_relation(parser, controls)?;
    }
    if let Some(distinct) = &controls.distinct
        && (controls.group.is_some() || is_aggregated)
    {
        let message = "'$distinct' cannot be combined with '$groupBy' or '$aggregate'";
        return Err(parser.error(distinct.span, message));
    }
    if let Some(having) = &controls.having
        && controls.group.is_none()
        && !is_aggregated
    {
        let message = "'$having' needs '$groupBy' or '$aggregate'; filter rows with '$where'";
        return Err(parser.error(having.span, message));
    }
    for alias in controls.aggregates.iter().map(|aggregate| &aggregate.alias) {
        if select.iter().any(|selection| selection.key() == alias) {
            let message = format!("Alias {} is also selected; choose another alias", Quoted(alias));
            return Err(parser.error(alias.span, message));
        }
        let buckets = controls.group.iter().flat_map(|group| &group.value);
        if buckets.filter(|key| matches!(key, GroupKey::Bucket(_))).any(|bucket| bucket.name() == alias) {
            let message = format!("Alias {} is that of a bucket too; choose another alias", Quoted(alias));
            return Err(parser.error(alias.span, message));
        }
    }
    Ok(())
}

/// Checks the rules for aggregates of a relation. Without groups the result is one object, so controls of lists are refused.
fn check_aggregated_relation(parser: &Parser<'_>, controls: &Controls) -> Result<(), SyntaxError> {
    if controls.aggregates.is_empty() {
        let Some(group) = &controls.group else { return Ok(()) };
        return Err(parser.error(group.span, "'$groupBy' of a relation needs '$aggregate'"));
    }
    if controls.group.is_some() {
        return Ok(());
    }
    let of_lists = ["$orderBy", "$page", "$having"];
    match controls.present().find(|(name, _)| of_lists.contains(name)) {
        Some((name, span)) => {
            let message = format!(
                "'{name}' requires '$groupBy' here; without it, the aggregates of a relation are a single object"
            );
            Err(parser.error(span, message))
        }
        None => Ok(()),
    }
}

/// Parses `$select`. Returns the location of its brace and the selections. `SPEC §3.3`
fn select(parser: &mut Parser<'_>) -> Result<(Span, Vec<Selection>), SyntaxError> {
    let mut select = Vec::new();
    let span = object(parser, "'$select' must be an object of names", |parser, name| {
        parser.count_selection(&name)?;
        if CONTROLS.contains(&&*name.value) {
            let message = format!("{} belongs next to '$select', not inside it", Quoted(&name));
            return Err(parser.error(name.span, message));
        }
        select.push(selection(parser, name)?);
        Ok(())
    })?;
    Ok((span, select))
}

/// Parses the value of a name in `$select`.
fn selection<'t>(parser: &mut Parser<'t>, name: TokenName<'t>) -> Result<Selection, SyntaxError> {
    match parser.token() {
        Token::Name("true") => {
            boolean(parser);
            Ok(Selection::Field { name: to_name(name), alias: None, at: None })
        }
        Token::OpenBrace if parser.next_is_text("$field") || parser.next_is_text("at") => {
            field_alias(parser, name)
        }
        Token::OpenBrace => {
            parser.count_relation(&name)?;
            let read =
                |parser: &mut Parser<'t>| node(parser, "A relation must be an object", Level::Relation);
            let (relation, node) = parser.with_path_segment(&name, read)?;
            Ok(match relation {
                Some(relation) => {
                    check_alias(parser, "Alias", &name)?;
                    Selection::Relation { name: relation, alias: Some(to_name(name)), node }
                }
                None => Selection::Relation { name: to_name(name), alias: None, node },
            })
        }
        _ => {
            let name = Quoted(&name);
            let expected = format!(
                "The value of field {name} must be exactly true, or an object with '$select' for a relation"
            );
            Err(mismatch(parser, expected))
        }
    }
}

/// Parses `{"$field": name}`, a field under another key, or `{"$field": name, "at": pointer}`, a part of it.
fn field_alias<'t>(parser: &mut Parser<'t>, alias: TokenName<'t>) -> Result<Selection, SyntaxError> {
    check_alias(parser, "Alias", &alias)?;
    let (mut field, mut at) = (None, None);
    let start = object(parser, "a field", |parser, key| {
        match &*key.value {
            "$field" => field = Some(to_name(string(parser, "$field")?)),
            "at" => at = Some(pointer(parser)?),
            _ => {
                let message = format!(
                    "An alias of a field has the keys '$field' and 'at' only; found {}",
                    Quoted(&key)
                );
                return Err(parser.error(key.span, message));
            }
        }
        Ok(())
    })?;
    match field {
        Some(name) => Ok(Selection::Field { name, alias: Some(to_name(alias)), at }),
        None => Err(parser.error(start, "'at' needs '$field', a field of type json")),
    }
}
