//! Printing of queries in either format.
//!
//! What is printed reads back as the same query, provided that it keeps the rules that its types document.
//! Printing follows the nesting of the query by recursion; the parser bounds it in all queries that it makes.

use std::fmt::{self, Display};

use serde_json::{Map, Number, Value};

use crate::error::Quoted;
use crate::query::{
    Aggregate, Condition, Controls, Filter, Literal, Nulls, Operand, OrderBy, Page, Query, ReadNode,
    Selection, Subject,
};

/// The query as JSON text on one line.
pub fn print_json(query: &Query) -> String {
    document(query).to_string()
}

/// The query as JSON text, indented for people.
pub fn print_json_pretty(query: &Query) -> String {
    format!("{:#}", document(query))
}

fn document(query: &Query) -> Value {
    object([(query.entity.as_str(), node(&query.root))])
}

fn node(node: &ReadNode) -> Value {
    let select = node.select.iter().map(|selection| match selection {
        Selection::Field(name) => (name.as_str(), Value::Bool(true)),
        Selection::Relation(name, below) => (name.as_str(), self::node(below)),
    });
    let mut keys = vec![("$select", object(select))];
    controls(&node.controls, &mut keys);
    object(keys)
}

fn controls(controls: &Controls, keys: &mut Vec<(&str, Value)>) {
    if let Some(tree) = &controls.filter {
        keys.push(("$where", filter(tree)));
    }
    if !controls.order.is_empty() {
        keys.push(("$orderBy", controls.order.iter().map(order).collect()));
    }
    if let Some(slice) = &controls.page {
        keys.push(("$page", page(slice)));
    }
    if let Some(fields) = &controls.distinct {
        keys.push(("$distinct", fields.iter().map(|field| text(field)).collect()));
    }
    if let Some(fields) = &controls.group {
        keys.push(("$groupBy", fields.iter().map(|field| text(field)).collect()));
    }
    if !controls.aggregates.is_empty() {
        let entries = controls.aggregates.iter().map(|entry| (entry.alias.as_str(), aggregate(entry)));
        keys.push(("$aggregate", object(entries)));
    }
    if let Some(tree) = &controls.having {
        keys.push(("$having", filter(tree)));
    }
}

fn filter(filter: &Filter) -> Value {
    match filter {
        Filter::And(parts) => object([("and", parts.iter().map(self::filter).collect())]),
        Filter::Or(parts) => object([("or", parts.iter().map(self::filter).collect())]),
        Filter::Not(part) => object([("not", self::filter(part))]),
        Filter::Condition(Condition { subject, op, value }) => {
            let mut keys = vec![self::subject(subject), ("op", text(op.name()))];
            match value {
                Operand::None => {}
                Operand::One(value) => keys.push(("value", literal(value))),
                Operand::Many(values) => {
                    keys.push(("value", values.iter().map(|value| literal(value)).collect()))
                }
            }
            object(keys)
        }
    }
}

fn subject(subject: &Subject) -> (&'static str, Value) {
    match subject {
        Subject::Field(name) => ("field", text(name)),
        Subject::Aggregate(alias) => ("aggregate", text(alias)),
    }
}

fn literal(literal: &Literal) -> Value {
    match literal {
        Literal::Boolean(boolean) => Value::Bool(*boolean),
        Literal::Integer(integer) => Value::from(*integer),
        Literal::Number(number) => Number::from_f64(*number).map_or(Value::Null, Value::Number),
        Literal::Text(string) => text(string),
    }
}

fn order(key: &OrderBy) -> Value {
    let mut keys = vec![subject(&key.subject), ("direction", text(key.direction.name()))];
    if key.nulls != Nulls::default() {
        keys.push(("nulls", text(key.nulls.name())));
    }
    object(keys)
}

fn page(page: &Page) -> Value {
    let first = page.first.map(|first| ("first", Value::from(first)));
    let after = page.after.as_ref().map(|after| ("after", text(after)));
    object(first.into_iter().chain(after))
}

fn aggregate(aggregate: &Aggregate) -> Value {
    let mut keys = vec![("fn", text(aggregate.function.name()))];
    if let Some(field) = &aggregate.field {
        keys.push(("field", text(field)));
    }
    if aggregate.distinct {
        keys.push(("distinct", Value::Bool(true)));
    }
    object(keys)
}

fn object<'a>(keys: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    Value::Object(keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>())
}

fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

/// The query in the brace format, on one line.
///
/// # Errors
///
/// The first part that the format has no words for: a control, or a name that is no ASCII identifier.
pub fn print_ql(query: &Query) -> Result<String, NotQl> {
    let mut writer = Writer { text: "{ ".to_owned(), path: Vec::new() };
    writer.name(&query.entity)?;
    writer.path.push(&query.entity);
    writer.selection(&query.root)?;
    writer.text.push_str(" }");
    Ok(writer.text)
}

/// Why a query cannot be written in the brace format. `SPEC §4`
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotQl {
    /// The read node concerned: dotted refs from the root entity. Empty if it is the entity's own name.
    pub path: String,
    /// What the format has no words for.
    pub reason: NotQlReason,
}

/// What the brace format has no words for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotQlReason {
    /// This control.
    Control(&'static str),
    /// This name, since it is no ASCII identifier.
    Name(String),
    /// A selection without fields and relations.
    EmptySelection,
}

impl Display for NotQl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            NotQlReason::Control(control) => write!(f, "QL cannot express '{control}'")?,
            NotQlReason::Name(name) => write!(f, "QL cannot express the name {}", Quoted(name))?,
            NotQlReason::EmptySelection => f.write_str("QL cannot express an empty selection")?,
        }
        if !self.path.is_empty() {
            write!(f, " (in {})", self.path)?;
        }
        f.write_str("; use JSON")
    }
}

impl std::error::Error for NotQl {}

/// The text so far and the names around the place it has come to.
struct Writer<'q> {
    text: String,
    path: Vec<&'q str>,
}

impl<'q> Writer<'q> {
    /// The items of a node, each with a blank before it.
    fn selection(&mut self, node: &'q ReadNode) -> Result<(), NotQl> {
        if let Some((control, _)) = node.controls.present().next() {
            return Err(self.refuse(NotQlReason::Control(control)));
        }
        if node.select.is_empty() {
            return Err(self.refuse(NotQlReason::EmptySelection));
        }
        for selection in &node.select {
            self.text.push(' ');
            self.name(selection.name())?;
            if let Selection::Relation(name, below) = selection {
                self.path.push(name);
                self.text.push_str(" {");
                self.selection(below)?;
                self.text.push_str(" }");
                self.path.pop();
            }
        }
        Ok(())
    }

    fn name(&mut self, name: &str) -> Result<(), NotQl> {
        let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if !starts || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return Err(self.refuse(NotQlReason::Name(name.to_owned())));
        }
        self.text.push_str(name);
        Ok(())
    }

    fn refuse(&self, reason: NotQlReason) -> NotQl {
        NotQl { path: self.path.join("."), reason }
    }
}
