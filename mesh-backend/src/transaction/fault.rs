//! What an error of a database says about a write.

use mesh_plan::error::Rule;
use mesh_plan::mutation::GuardedEntity;
use mesh_plan::{Mutation, WriteError};

/// What an error of a database says about a write.
#[derive(Debug)]
pub enum Fault<'e> {
    /// A constraint or a trigger refuses the change.
    Rule(Violation<'e>),
    /// The account lacks a privilege. The message of the database is for the log.
    Privilege(String),
    /// A value does not fit its column, whose name is known or not.
    Unfit(Option<&'e str>),
    /// Another error.
    Known(WriteError),
}

/// The constraint that a write violates, and the names in the error.
#[derive(Debug)]
pub struct Violation<'e> {
    /// The kind of the constraint.
    pub rule: Rule,
    /// The table, if it is known.
    pub table: Option<&'e str>,
    /// The constraint, if it has a name.
    pub constraint: Option<&'e str>,
    /// The columns, for a constraint that is unknown or has no name.
    pub columns: Vec<String>,
}

impl<'e> Violation<'e> {
    /// Creates a violation without names.
    pub fn of_rule(rule: Rule) -> Self {
        Self { rule, table: None, constraint: None, columns: Vec::new() }
    }
}

impl<'e> From<Rule> for Fault<'e> {
    fn from(rule: Rule) -> Self {
        Self::Rule(Violation::of_rule(rule))
    }
}

impl Fault<'_> {
    /// Creates the fault of a column without a value.
    pub fn empty(mutation: &Mutation, column: Option<&str>) -> Self {
        let field = column.and_then(|column| mutation.emptied_field(column)).map(str::to_owned);
        Self::Known(WriteError::conflict_of(Rule::NotEmpty, field.into_iter().collect()))
    }

    /// Converts the fault to the error of a write.
    pub fn into_error(self, mutation: &Mutation) -> WriteError {
        match self {
            Self::Rule(violation) => WriteError::conflict_of(violation.rule, violation.fields(mutation)),
            Self::Privilege(message) => {
                tracing::info!("the database does not permit a write: {message}");
                WriteError::forbidden_by_database()
            }
            Self::Unfit(column) => {
                let action = mutation.action();
                match action.assigned(mutation.subject()) {
                    Some(subject) => subject.unfit(action.values(), column.as_slice()),
                    None => WriteError::Value(Vec::new()),
                }
            }
            Self::Known(error) => error,
        }
    }
}

impl Violation<'_> {
    /// Returns the fields that the violation concerns.
    fn fields(&self, mutation: &Mutation) -> Vec<String> {
        let action = mutation.action();
        let subjects = [Some(mutation.subject()), action.other().map(|other| &other.subject)];
        let is_of_table =
            |subject: &&GuardedEntity| self.table.is_none_or(|table| table == subject.table().name);
        let subjects: Vec<&GuardedEntity> = subjects.into_iter().flatten().filter(is_of_table).collect();
        let of_constraint = |name: &str| {
            subjects.iter().map(|subject| subject.fields_of_constraint(name)).find(|it| !it.is_empty())
        };
        let field = |column: &String| subjects.iter().find_map(|subject| subject.field_of_column(column));
        let mut fields = self
            .constraint
            .and_then(of_constraint)
            .unwrap_or_else(|| self.columns.iter().filter_map(field).map(str::to_owned).collect());
        // A foreign key that is not set belongs to a record that refers to this one.
        if self.rule == Rule::Reference {
            fields.retain(|field| action.values().iter().any(|value| *value.field == **field));
        }
        fields
    }
}
