//! Printing of queries in either format.
//!
//! The output parses to the same query if the query follows the rules that are documented at its types. Printing recurses
//! over the nesting of the query, which the parser bounds.

use thiserror::Error;

use crate::error::Quoted;
use crate::parse::is_identifier;
use crate::query::{Query, ReadNode, Selection};

/// Returns the query as JSON text on one line.
#[expect(clippy::expect_used, reason = "names are strings, and all values have a JSON text")]
pub fn print_json(query: &Query) -> String {
    serde_json::to_string(query).expect("a query is always JSON")
}

/// Returns the query in the brace format, on one line.
///
/// # Errors
/// [`NotQl`] with the first part that the format cannot express: a control, a name that is not an ASCII identifier, or an
/// empty selection.
pub fn print_ql(query: &Query) -> Result<String, NotQl> {
    let mut text = "{ ".to_owned();
    print_name(&mut text, &query.entity)?;
    print_selection(&mut text, &query.root).map_err(|error| error.with_parent(&query.entity))?;
    text.push_str(" }");
    Ok(text)
}

/// The error for a query that cannot be written in the brace format. `SPEC §4`
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("QL cannot express {reason}{}; use JSON", in_path(.path))]
#[non_exhaustive]
pub struct NotQl {
    /// The path of the affected read node: dotted refs from the root entity. Empty if the entity itself is affected.
    pub path: String,
    /// The part that the format cannot express.
    pub reason: NotQlReason,
}

/// A part of a query that the brace format cannot express.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NotQlReason {
    /// A control.
    #[error("'{0}'")]
    Control(&'static str),
    /// A field or a relation under another key.
    #[error("the alias {}", Quoted(.0))]
    Alias(String),
    /// A name that is not an ASCII identifier.
    #[error("the name {}", Quoted(.0))]
    Name(String),
    /// A selection without fields or relations.
    #[error("an empty selection")]
    EmptySelection,
}

fn in_path(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" (in {path})") }
}

impl NotQl {
    /// Prepends a node to the path.
    fn with_parent(self, node: &str) -> Self {
        let path = if self.path.is_empty() { node.to_owned() } else { format!("{node}.{}", self.path) };
        Self { path, ..self }
    }
}

impl From<NotQlReason> for NotQl {
    fn from(reason: NotQlReason) -> Self {
        Self { path: String::new(), reason }
    }
}

/// Prints the items of a node, each after a space.
fn print_selection(text: &mut String, node: &ReadNode) -> Result<(), NotQl> {
    if let Some((control, _)) = node.controls.present().next() {
        return Err(NotQlReason::Control(control).into());
    }
    if node.select.is_empty() {
        return Err(NotQlReason::EmptySelection.into());
    }
    for selection in &node.select {
        if selection.key() != selection.name() {
            return Err(NotQlReason::Alias(selection.key().value.clone()).into());
        }
        text.push(' ');
        print_name(text, selection.name())?;
        if let Selection::Relation { name, node, .. } = selection {
            text.push_str(" {");
            print_selection(text, node).map_err(|error| error.with_parent(name))?;
            text.push_str(" }");
        }
    }
    Ok(())
}

fn print_name(text: &mut String, name: &str) -> Result<(), NotQl> {
    if !is_identifier(name) {
        return Err(NotQlReason::Name(name.to_owned()).into());
    }
    text.push_str(name);
    Ok(())
}
