//! Parsing of filter trees, the values of `$where` and `$having`. `SPEC §3.7`

use super::value::{array, boolean, mismatch, object, param, pointer, string};
use crate::SyntaxError;
use crate::error::{Quoted, unknown};
use crate::parse::parser::{Parser, TokenName, to_name};
use crate::parse::token::Token;
use crate::query::{
    Condition, Filter, FilterOp, Literal, Operand, OrParam, Quantifier, RelationCondition, Subject,
};
use crate::span::{Name, Span, Spanned};

/// A control whose value is a filter tree.
pub(super) struct Clause {
    name: &'static str,
    /// The keys that name the compared value.
    subjects: &'static str,
    /// The keys that objects of the tree may have.
    keys: &'static [&'static str],
}

pub(super) const WHERE: Clause = Clause {
    name: "$where",
    subjects: "'field' or 'relation'",
    keys: &["field", "at", "relation", "op", "value", "where", "search", "and", "or", "not"],
};

pub(super) const HAVING: Clause = Clause {
    name: "$having",
    subjects: "'aggregate' or 'field'",
    keys: &["aggregate", "field", "op", "value", "and", "or", "not"],
};

/// Parses the filter tree of a control.
pub(super) fn filter(parser: &mut Parser<'_>, clause: &'static Clause) -> Result<Filter, SyntaxError> {
    FilterParser { clause, nodes: 0, depth: 0, relations: 0, negations: 0 }.node(parser)
}

/// A filter tree that is being parsed.
struct FilterParser {
    clause: &'static Clause,
    /// Combinators and conditions so far.
    nodes: usize,
    /// Combinators and conditions on relations that enclose the current node.
    depth: usize,
    /// Conditions on relations that enclose the current node.
    relations: usize,
    /// Nodes `not` that enclose the current node.
    negations: usize,
}

impl FilterParser {
    /// Parses a combinator or a condition.
    fn node(&mut self, parser: &mut Parser<'_>) -> Result<Filter, SyntaxError> {
        if *parser.token() == Token::OpenBrace {
            self.check_bounds(parser)?;
        }
        let control = self.clause.name;
        let form = if self.depth == 0 { "must be a filter object" } else { "must be made of filter objects" };
        let mut alone: Option<(TokenName<'_>, Filter)> = None;
        // Boxed, so that each level of nested filters takes less of the stack.
        let mut condition = Box::<ConditionParts>::default();
        let start = object(parser, format_args!("'{control}' {form}"), |parser, key| {
            if let Some((alone, _)) = &alone {
                let (name, other) = (Quoted(alone), Quoted(&key));
                let message = format!("{name} must be the only key of its object; found {other} too");
                return Err(parser.error(key.span, message));
            }
            let is_search = key.value == "search" && self.clause.keys.contains(&"search");
            if !is_search && !matches!(&*key.value, "and" | "or" | "not") {
                return self.condition_key(parser, &key, &mut condition);
            }
            if !condition.is_empty() {
                let message = format!("{} must be the only key of its object", Quoted(&key));
                return Err(parser.error(key.span, message));
            }
            self.depth += 1;
            let filter = match &*key.value {
                "and" => Filter::And(self.list(parser, "and")?),
                "or" => Filter::Or(self.list(parser, "or")?),
                "not" => {
                    self.negations += 1;
                    let part = self.node(parser)?;
                    self.negations -= 1;
                    Filter::Not(Box::new(part))
                }
                _ => self.search(parser, &key)?,
            };
            self.depth -= 1;
            alone = Some((key, filter));
            Ok(())
        })?;
        if let Some((_, filter)) = alone {
            return Ok(filter);
        }
        if condition.is_empty() {
            let subjects = self.clause.subjects;
            let message =
                format!("The filter object is empty; write {subjects} with 'op', or 'and', 'or', 'not'");
            return Err(parser.error(start, message));
        }
        self.finish(parser, *condition, start)
    }

    /// Checks the bounds on depth and size. `SPEC §3.11`
    fn check_bounds(&mut self, parser: &Parser<'_>) -> Result<(), SyntaxError> {
        let control = self.clause.name;
        let bound = parser.limits.filter_depth;
        if self.depth >= bound {
            let message =
                format!("'{control}' is nested deeper than the bound `filter_depth` ({bound}) allows");
            return Err(parser.error(None, message));
        }
        self.nodes += 1;
        let bound = parser.limits.filter_nodes;
        if self.nodes > bound {
            let message = format!(
                "'{control}' has more conditions and combinators than the bound `filter_nodes` ({bound}) allows"
            );
            return Err(parser.error(None, message));
        }
        Ok(())
    }

    /// Parses the value of `and` or `or`, a nonempty list.
    fn list(&mut self, parser: &mut Parser<'_>, key: &str) -> Result<Vec<Filter>, SyntaxError> {
        let mut filters = Vec::new();
        let expected = format_args!("'{key}' must be an array of filter objects");
        let start = array(parser, expected, |parser, _| {
            filters.push(self.node(parser)?);
            Ok(())
        })?;
        if filters.is_empty() {
            let message = format!("'{key}' is empty; it needs at least one filter object");
            return Err(parser.error(start, message));
        }
        Ok(filters)
    }

    /// Parses the value of `search`: a text or a parameter. `SPEC §20.2`
    fn search(&self, parser: &mut Parser<'_>, key: &TokenName<'_>) -> Result<Filter, SyntaxError> {
        if self.negations > 0 {
            let message = "'search' cannot be below 'not'; exclude words with '-' in the text";
            return Err(parser.error(key.span, message));
        }
        let span = parser.span();
        if *parser.token() == Token::OpenBrace {
            return param(parser, "'search' must be a string")
                .map(|text| Filter::Search(Spanned::new(text, span)));
        }
        let text = string(parser, "search")?;
        Ok(Filter::Search(Spanned::new(OrParam::Value(text.value.into_owned()), span)))
    }

    /// Parses the value of a key of a condition.
    fn condition_key<'t>(
        &mut self,
        parser: &mut Parser<'t>,
        key: &TokenName<'t>,
        parts: &mut ConditionParts,
    ) -> Result<(), SyntaxError> {
        match &*key.value {
            "aggregate" if !self.clause.keys.contains(&"aggregate") => {
                let message = "'$where' compares fields only; filter by 'aggregate' in '$having'";
                return Err(parser.error(key.span, message));
            }
            "relation" | "where" | "at" if !self.clause.keys.contains(&"relation") => {
                return Err(parser.error(key.span, unknown("key", key, self.clause.keys)));
            }
            "relation" => {
                parser.count_relation_condition(key.span, self.relations + 1)?;
                parts.relation = Some(to_name(string(parser, "relation")?));
            }
            "where" => {
                self.depth += 1;
                self.relations += 1;
                let filter = self.node(parser)?;
                self.relations -= 1;
                self.depth -= 1;
                parts.filter = Some((key.span, filter));
            }
            "at" => parts.at = Some(pointer(parser)?),
            "field" | "aggregate" if parts.subject.is_some() => {
                let message = "A condition has either 'field' or 'aggregate', not both";
                return Err(parser.error(key.span, message));
            }
            "field" => parts.subject = Some(Subject::Field(to_name(string(parser, "field")?))),
            "aggregate" => parts.subject = Some(Subject::Aggregate(to_name(string(parser, "aggregate")?))),
            // The allowed operators depend on whether there is a relation, so the name is resolved at the end.
            "op" => parts.op = Some(to_name(string(parser, "op")?)),
            "value" => {
                let span = parser.span();
                parts.operand = Some((key.span, Spanned::new(operand(parser)?, span)));
            }
            name => return Err(parser.error(key.span, unknown("key", name, self.clause.keys))),
        }
        Ok(())
    }

    /// Checks the rules between the keys of a condition, whose object begins at `start`.
    fn finish(&self, parser: &Parser<'_>, parts: ConditionParts, start: Span) -> Result<Filter, SyntaxError> {
        let Some(op) = parts.op else {
            return Err(parser.error(start, "A condition needs 'op'"));
        };
        if let Some(relation) = parts.relation {
            let others = [parts.subject.map(|subject| subject.name().span), parts.at.map(|at| at.span)];
            let value = parts.operand.map(|(key, _)| key);
            if let Some(span) = others.into_iter().chain([value]).flatten().next() {
                let message = "A condition on a relation has the keys 'relation', 'op' and 'where' only";
                return Err(parser.error(span, message));
            }
            let op = find_choice(parser, "operator of relations", &op, &Quantifier::ALL, Quantifier::as_str)?;
            let filter = parts.filter.map(|(_, filter)| Box::new(filter));
            if *op == Quantifier::Every && filter.is_none() {
                return Err(parser.error(start, "Operator 'every' needs 'where'"));
            }
            return Ok(Filter::Relation(RelationCondition { relation, op, filter }));
        }
        if let Some((span, _)) = parts.filter {
            return Err(parser.error(span, "'where' needs 'relation', whose records it filters"));
        }
        let op = find_choice(parser, "operator", &op, &FilterOp::ALL, FilterOp::as_str)?;
        let subject = match (parts.subject, parts.at) {
            (Some(Subject::Field(field)), Some(at)) => Subject::Json { field, at },
            (Some(subject), None) => subject,
            (_, Some(at)) => return Err(parser.error(at.span, "'at' needs 'field', a field of type json")),
            (None, None) => {
                let Clause { name, subjects, .. } = self.clause;
                return Err(parser.error(start, format!("A condition of '{name}' needs {subjects}")));
            }
        };
        self.comparison(parser, (subject, op), parts.operand, start).map(Filter::Condition)
    }

    /// Checks that the operand has the form that the operator takes.
    fn comparison(
        &self,
        parser: &Parser<'_>,
        (subject, op): (Subject, Spanned<FilterOp>),
        operand: Option<(Option<Span>, Spanned<Operand>)>,
        start: Span,
    ) -> Result<Condition, SyntaxError> {
        let name = op.as_str();
        let takes_none = matches!(*op, FilterOp::IsNull | FilterOp::IsNotNull);
        let takes_many = op.takes_list();
        let Some((key, Spanned { value: operand, span })) = operand else {
            if takes_none {
                return Ok(Condition { subject, op, value: Operand::None });
            }
            return Err(parser.error(start, format!("Operator '{name}' needs 'value'")));
        };
        let is_many = matches!(operand, Operand::Many(_));
        let is_null = matches!(operand, Operand::None);
        let is_param = matches!(&operand, Operand::One(Spanned { value: OrParam::Param { .. }, .. }));
        let (span, message) = if takes_none && !is_null {
            (key, format!("Operator '{name}' takes no 'value'"))
        } else if is_null && !takes_none {
            (span, NULL_COMPARISON.to_owned())
        } else if takes_many && !is_many && !is_param {
            (span, format!("Operator '{name}' needs an array as 'value'"))
        } else if is_many && !takes_many {
            (span, format!("Operator '{name}' takes one value, not an array"))
        } else if op.takes_nonempty_list() && matches!(&operand, Operand::Many(list) if list.is_empty()) {
            (span, format!("Operator '{name}' needs at least one value"))
        } else {
            return Ok(Condition { subject, op, value: operand });
        };
        Err(parser.error(span, message))
    }
}

/// The keys of a condition found so far. Their order is arbitrary, so the rules between them are checked at the end.
#[derive(Default)]
struct ConditionParts {
    subject: Option<Subject>,
    at: Option<Name>,
    relation: Option<Name>,
    op: Option<Name>,
    /// The location of `"value"`, and the value.
    operand: Option<(Option<Span>, Spanned<Operand>)>,
    /// The location of `"where"`, and the filter.
    filter: Option<(Option<Span>, Filter)>,
}

impl ConditionParts {
    fn is_empty(&self) -> bool {
        let names = [self.at.is_some(), self.relation.is_some(), self.op.is_some()];
        !names.contains(&true) && self.subject.is_none() && self.operand.is_none() && self.filter.is_none()
    }
}

/// Returns the choice with that name.
fn find_choice<T: Copy>(
    parser: &Parser<'_>,
    kind: &str,
    name: &Name,
    choices: &[T],
    name_of: fn(T) -> &'static str,
) -> Result<Spanned<T>, SyntaxError> {
    match choices.iter().find(|choice| name_of(**choice) == name.value) {
        Some(choice) => Ok(Spanned { value: *choice, span: name.span }),
        None => {
            let names: Vec<&str> = choices.iter().map(|choice| name_of(*choice)).collect();
            Err(parser.error(name.span, unknown(kind, name, &names)))
        }
    }
}

const NULL_COMPARISON: &str = "null cannot be compared; use the operator 'isNull' or 'isNotNull'";

/// Parses the value of a condition: a scalar, a list of scalars, or `null` for no value.
fn operand(parser: &mut Parser<'_>) -> Result<Operand, SyntaxError> {
    if *parser.token() == Token::Name("null") {
        parser.advance();
        return Ok(Operand::None);
    }
    if *parser.token() != Token::OpenBracket {
        return literal(parser).map(Operand::One);
    }
    let mut literals = Vec::new();
    array(parser, "'value' must be an array", |parser, index| {
        let literal = literal(parser)?;
        let bound = parser.limits.in_values;
        if index >= bound {
            let message = format!("The array has more values than the bound `in_values` ({bound}) allows");
            return Err(parser.error(literal.span, message));
        }
        literals.push(literal);
        Ok(())
    })?;
    Ok(Operand::Many(literals))
}

fn literal(parser: &mut Parser<'_>) -> Result<Spanned<OrParam<Literal>>, SyntaxError> {
    let span = parser.span();
    let value = |literal| Ok(Spanned::new(OrParam::Value(literal), span));
    if let Some(text) = parser.take_text() {
        return value(Literal::Text(text.value.into_owned()));
    }
    if let Some(flag) = boolean(parser) {
        return value(Literal::Boolean(flag));
    }
    let expected = "A value to compare with must be a string, a number or a boolean";
    let literal = match *parser.token() {
        Token::Integer(value) => Literal::Integer(value),
        Token::Unsigned(value) => Literal::Unsigned(value),
        Token::Number(value) => Literal::Number(value),
        Token::OpenBrace => return Ok(Spanned::new(param(parser, expected)?, span)),
        Token::Name("null") => return Err(parser.error(None, NULL_COMPARISON)),
        _ => return Err(mismatch(parser, expected)),
    };
    parser.advance();
    value(literal)
}
