//! Conversion of SQLite errors to write errors, with the fields that they concern.

use mesh_backend::transaction::{Errors, Fault, Retry, Violation};
use mesh_plan::error::Rule;
use mesh_plan::mutation::GuardedEntity;
use mesh_plan::{Mutation, ResolveError, WriteError};
use mesh_sql::sqlite::{Param, Sqlite};
use mesh_sql::{SetReference, Statement, references, text};
use rusqlite::{Connection, Error, ErrorCode, ffi};

use super::connection::WriteConnection;
use crate::cells::bind;
use crate::read;

impl Errors for WriteConnection {
    type Error = Error;

    /// Returns whether a script took too long. The writer decides whether it runs it again.
    fn retry(error: &Error) -> Retry {
        let is_interrupt = error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted);
        if is_interrupt { Retry::Again } else { Retry::Never }
    }

    fn fault<'e>(error: &'e Error, mutation: &'e Mutation) -> Fault<'e> {
        let Error::SqliteFailure(cause, message) = error else {
            return Fault::Known(read::failed(error).into());
        };
        let message = message.as_deref().unwrap_or_default();
        match (cause.code, cause.extended_code) {
            // SQLite reports NULL in an integer key as a value of another type.
            (ErrorCode::TypeMismatch, _) if !mutation.emptied_fields().is_empty() => {
                Fault::Known(WriteError::conflict_of(Rule::NotEmpty, mutation.emptied_fields()))
            }
            (ErrorCode::TypeMismatch | ErrorCode::TooBig, _) => unfit(message, mutation),
            (ErrorCode::ConstraintViolation, code) => match code {
                ffi::SQLITE_CONSTRAINT_UNIQUE
                | ffi::SQLITE_CONSTRAINT_PRIMARYKEY
                | ffi::SQLITE_CONSTRAINT_ROWID => named(Rule::Unique, message, mutation),
                ffi::SQLITE_CONSTRAINT_NOTNULL => named(Rule::NotEmpty, message, mutation),
                ffi::SQLITE_CONSTRAINT_FOREIGNKEY => Rule::Reference.into(),
                ffi::SQLITE_CONSTRAINT_CHECK => check(message, mutation),
                ffi::SQLITE_CONSTRAINT_DATATYPE => unfit(message, mutation),
                _ => named(Rule::Other, message, mutation),
            },
            // SQLite has no error code for writing to a generated column.
            (_, ffi::SQLITE_ERROR) if message.contains(" generated column ") => unfit(message, mutation),
            (ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied, _)
            | (ErrorCode::ReadOnly, ffi::SQLITE_READONLY) => Fault::Privilege(error.to_string()),
            _ => Fault::Known(read::failed(error).into()),
        }
    }

    fn resolve_error(error: &Error) -> ResolveError {
        read::failed(error)
    }

    fn is_refusal(_: &Error) -> bool {
        true
    }
}

/// The word before the names in a message.
const FAILED: &str = " constraint failed: ";

/// Returns the names in `UNIQUE constraint failed: users.email, users.tenant` or
/// `UNIQUE constraint failed: index 'users_email'`.
fn named<'e>(rule: Rule, message: &'e str, mutation: &'e Mutation) -> Fault<'e> {
    let violation = Violation::of_rule(rule);
    let Some((_, names)) = message.split_once(FAILED) else { return Fault::Rule(violation) };
    if let Some(index) = names.strip_prefix("index '").and_then(|rest| rest.strip_suffix('\'')) {
        return Fault::Rule(Violation { constraint: Some(index), ..violation });
    }
    let subjects = [Some(mutation.subject()), mutation.action().other().map(|other| &other.subject)];
    let is_named = |subject: &&GuardedEntity| column_in(names, subject).is_some();
    let Some(subject) = subjects.into_iter().flatten().find(is_named) else { return Fault::Rule(violation) };
    let columns = names.split(", ").filter_map(|name| column_in(name, subject)).map(str::to_owned).collect();
    Fault::Rule(Violation { table: Some(&subject.table().name), columns, ..violation })
}

/// Returns the name or the condition in `CHECK constraint failed: positive` or `CHECK constraint failed: area > 0`.
fn check<'e>(message: &'e str, mutation: &'e Mutation) -> Fault<'e> {
    let cause = message.split_once(FAILED).map(|(_, cause)| cause);
    let subject = mutation.action().assigned(mutation.subject());
    let (Some(cause), Some(subject)) = (cause, subject) else { return Rule::Check.into() };
    let named = subject.fields_of_constraint(cause);
    let fields = if named.is_empty() { text::fields(subject, cause) } else { named };
    Fault::Known(WriteError::conflict_of(Rule::Check, fields))
}

/// Returns the column in `table.column`, if it is a column of the entity's table.
fn column_in<'n>(name: &'n str, subject: &GuardedEntity) -> Option<&'n str> {
    name.strip_prefix(subject.table().name.as_str())?.strip_prefix('.')
}

/// Returns the column in `cannot store TEXT value in INTEGER column users.age`.
fn unfit<'e>(message: &'e str, mutation: &Mutation) -> Fault<'e> {
    let subject = mutation.action().assigned(mutation.subject());
    let name = message.rsplit_once(" column ").map(|(_, name)| name);
    Fault::Unfit(subject.zip(name).and_then(|(subject, name)| column_in(name, subject)))
}

/// Returns the fields of the foreign keys that refer to a missing record. SQLite does not name them.
pub(super) fn missing_references(mutation: &Mutation, connection: &Connection) -> Vec<String> {
    let exists = |statement: &Statement<Param>| -> rusqlite::Result<bool> {
        let mut prepared = connection.prepare(&statement.sql)?;
        bind(&mut prepared, statement.params.iter().map(Param::value))?;
        Ok(prepared.raw_query().next()?.is_some())
    };
    let references = references(mutation, &Sqlite::PLAIN).into_iter();
    // A field is not named if the check fails.
    let missing = references.filter(|SetReference { statement, .. }| matches!(exists(statement), Ok(false)));
    missing.flat_map(|reference| reference.fields).collect()
}

#[cfg(test)]
mod tests;
