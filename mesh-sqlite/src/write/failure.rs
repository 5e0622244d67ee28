//! Conversion of SQLite errors to write errors, with the fields that they concern.

use mesh_plan::{Mutation, Rule, Subject, Value, ValueRef, WriteError};
use mesh_sql::sqlite::{self, Param};
use mesh_sql::{SetReference, Statement, text};
use rusqlite::{Connection, Error, ErrorCode, ffi};

use crate::cells::Bound;
use crate::read;

/// Converts an error of a write, whose transaction is still open unless SQLite has ended it.
pub(super) fn failed(error: Error, mutation: &Mutation, connection: &Connection) -> WriteError {
    let Error::SqliteFailure(cause, message) = &error else {
        return WriteError::new(error);
    };
    let message = message.as_deref().unwrap_or_default();
    let rule = match (cause.code, cause.extended_code) {
        // SQLite reports NULL in an integer key as a value of another type.
        (ErrorCode::TypeMismatch, _) if !mutation.emptied_fields().is_empty() => {
            return WriteError::conflict_of(Rule::NotEmpty, mutation.emptied_fields());
        }
        (ErrorCode::TypeMismatch | ErrorCode::TooBig, _) => return unfit(message, mutation),
        (ErrorCode::ConstraintViolation, code) => match code {
            ffi::SQLITE_CONSTRAINT_UNIQUE
            | ffi::SQLITE_CONSTRAINT_PRIMARYKEY
            | ffi::SQLITE_CONSTRAINT_ROWID => Rule::Unique,
            ffi::SQLITE_CONSTRAINT_NOTNULL => Rule::NotEmpty,
            ffi::SQLITE_CONSTRAINT_FOREIGNKEY => {
                return WriteError::conflict_of(Rule::Reference, missing_references(mutation, connection));
            }
            ffi::SQLITE_CONSTRAINT_CHECK => Rule::Check,
            ffi::SQLITE_CONSTRAINT_DATATYPE => return unfit(message, mutation),
            _ => Rule::Other,
        },
        // SQLite has no error code for writing to a generated column.
        (_, ffi::SQLITE_ERROR) if message.contains(" generated column ") => return unfit(message, mutation),
        (ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied, _)
        | (ErrorCode::ReadOnly, ffi::SQLITE_READONLY) => {
            tracing::info!("the database does not permit a write: {error}");
            return WriteError::forbidden_by_database();
        }
        _ => return read::failed(error).into(),
    };
    WriteError::conflict_of(rule, fields_in(rule, message, mutation))
}

/// Returns the fields that a message names: `UNIQUE constraint failed: users.email, users.tenant`,
/// `UNIQUE constraint failed: index 'users_email'`, `CHECK constraint failed: positive` or
/// `CHECK constraint failed: area > 0`.
fn fields_in(rule: Rule, message: &str, mutation: &Mutation) -> Vec<String> {
    let Some((_, cause)) = message.split_once(" constraint failed: ") else { return Vec::new() };
    let subjects = [Some(mutation.subject()), mutation.action().other().map(|other| &other.subject)];
    let subjects = || subjects.into_iter().flatten();
    let index = cause.strip_prefix("index '").and_then(|rest| rest.strip_suffix('\''));
    if let Some(name) = index.or_else(|| (rule == Rule::Check).then_some(cause)) {
        let Some(subject) = mutation.action().assigned(mutation.subject()) else { return Vec::new() };
        let named = subject.fields_of_constraint(name);
        return if named.is_empty() && index.is_none() { text::fields(subject, name) } else { named };
    }
    let field = |name: &str| {
        subjects().find_map(|subject| {
            let column = column_in(name, subject)?;
            subject.field_of_column(column).map(str::to_owned)
        })
    };
    cause.split(", ").filter_map(field).collect()
}

/// Returns the column in `table.column`, if it is a column of the entity's table.
fn column_in<'n>(name: &'n str, subject: &Subject) -> Option<&'n str> {
    name.strip_prefix(subject.table().name.as_str())?.strip_prefix('.')
}

/// Returns the error of a value that its column cannot store: `cannot store TEXT value in INTEGER column users.age`.
fn unfit(message: &str, mutation: &Mutation) -> WriteError {
    let action = mutation.action();
    let Some(subject) = action.assigned(mutation.subject()) else { return WriteError::Value(Vec::new()) };
    let column = message.rsplit_once(" column ").and_then(|(_, name)| column_in(name, subject));
    subject.unfit(action.values(), column.as_slice())
}

/// Returns the fields of the foreign keys that refer to a missing record. SQLite does not name them.
pub(super) fn missing_references(mutation: &Mutation, connection: &Connection) -> Vec<String> {
    let exists = |statement: &Statement<Param>| -> rusqlite::Result<bool> {
        let mut prepared = connection.prepare(&statement.sql)?;
        for (index, param) in statement.params.iter().enumerate() {
            let value = param.value().map_or(ValueRef::Null, Value::as_ref);
            prepared.raw_bind_parameter(index + 1, Bound(value))?;
        }
        Ok(prepared.raw_query().next()?.is_some())
    };
    let references = sqlite::references(mutation).into_iter();
    // A field is not named if the check fails.
    let missing = references.filter(|SetReference { statement, .. }| matches!(exists(statement), Ok(false)));
    missing.flat_map(|reference| reference.fields).collect()
}

#[cfg(test)]
mod tests;
