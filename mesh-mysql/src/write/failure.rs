//! Conversion of database errors to write errors, with the fields that they concern.

use mesh_plan::backend::{Failure, ScriptError, ScriptStep, StepResult};
use mesh_plan::{Key, Mutation, ResolveError, Rule, Subject, WriteError};
use mesh_sql::SetReference;
use mesh_sql::mysql::{self, Product};
use mysql_async::{Error, ServerError};

use super::params;
use crate::catalog::PRIMARY;
use crate::pool::link::Link;
use crate::pool::{PoolError, code, is_one_of, is_stale};

/// Numbers of errors that concern the written values.
mod number {
    pub(super) const NULL_COLUMN: u16 = 1048;
    pub(super) const NO_DEFAULT: u16 = 1364;
    pub(super) const DUPLICATE: u16 = 1062;
    pub(super) const DUPLICATE_NAMED: u16 = 1586;
    pub(super) const NO_REFERRED: [u16; 2] = [1216, 1452];
    pub(super) const IS_REFERRED: [u16; 2] = [1217, 1451];
    pub(super) const CHECK_OF_VIEW: u16 = 1369;
    pub(super) const CHECK_OF_MYSQL: u16 = 3819;
    pub(super) const CHECK_OF_MARIADB: u16 = 4025;
    /// `SIGNAL` in a trigger, unless it sets another number.
    pub(super) const SIGNAL: u16 = 1644;
    /// The account lacks a privilege for the database, the table or the column, or for a routine that a trigger uses.
    pub(super) const NO_PRIVILEGE: [u16; 5] = [1044, 1142, 1143, 1227, 1370];
    /// Values that their columns cannot store: out of range, truncated, of another type, too long; and values of generated
    /// columns and of UUIDs.
    pub(super) const UNFIT: [u16; 13] =
        [1264, 1265, 1292, 1366, 1367, 1406, 1411, 1416, 1906, 3105, 3140, 3156, 4161];
}

/// The SQLSTATE by convention of `SIGNAL` in a trigger.
const UNHANDLED_EXCEPTION: &str = "45000";

/// Returns the failure of an attempt for an error before COMMIT, or for a COMMIT that was refused.
pub(super) fn failure_by<E>(error: &Error, failed: E) -> Failure<E> {
    match error {
        // On a cluster, another server has committed a conflicting transaction first.
        error if is_one_of(error, &[code::DEADLOCK]) => Failure::Conflict(failed),
        error if is_stale(error) => Failure::Stale(failed),
        _ => Failure::Final(failed),
    }
}

/// Returns whether a transaction that was not committed may succeed if it is tried again.
pub(crate) fn is_transient(error: &Error) -> bool {
    !matches!(failure_by(error, ()), Failure::Final(()))
}

/// Returns the failure of a write for an error that does not need the search of [`statement_failure`].
pub(super) fn write_failure(error: &Error, mutation: &Mutation) -> Failure<WriteError> {
    failure_by(error, write_error(error, mutation))
}

/// Converts an error that does not concern the values of a write.
pub(super) fn resolve_error(error: &Error) -> ResolveError {
    match error {
        // A transaction that still conflicts after all its tries may succeed later.
        Error::Server(cause) if !is_unavailable(cause.code) && cause.code != code::DEADLOCK => {
            ResolveError::from(PoolError::Failed(Error::Server(cause.clone())))
        }
        _ => {
            log(error);
            ResolveError::Busy
        }
    }
}

/// Maps a database error to a write error.
fn write_error(error: &Error, mutation: &Mutation) -> WriteError {
    let Error::Server(cause) = error else { return resolve_error(error).into() };
    let rule = match cause.code {
        number::DUPLICATE | number::DUPLICATE_NAMED => Rule::Unique,
        number::NULL_COLUMN | number::NO_DEFAULT => Rule::NotEmpty,
        code if number::NO_REFERRED.contains(&code) || number::IS_REFERRED.contains(&code) => Rule::Reference,
        number::CHECK_OF_VIEW | number::CHECK_OF_MYSQL | number::CHECK_OF_MARIADB => Rule::Check,
        number::SIGNAL => Rule::Other,
        _ if cause.state == UNHANDLED_EXCEPTION => Rule::Other,
        code if number::NO_PRIVILEGE.contains(&code) => {
            tracing::info!("the database does not permit a write: {error}");
            return WriteError::forbidden_by_database();
        }
        code if number::UNFIT.contains(&code) => return unfit(cause, mutation),
        _ => return resolve_error(error).into(),
    };
    WriteError::conflict_of(rule, fields_in(rule, cause, mutation))
}

/// Returns the failure for a COMMIT that was refused. Any write may be the cause.
pub(super) fn commit_failure(error: &Error, done: &[StepResult]) -> Failure<ScriptError> {
    let written = done.iter().enumerate().rev().find_map(|(index, result)| match &result.step {
        ScriptStep::Write(mutations) => mutations.last().map(|mutation| (index, mutation)),
        _ => None,
    });
    let failed = match written {
        Some((step, mutation)) => ScriptError::of_write(step, 0, mutation, write_error(error, mutation)),
        None => resolve_error(error).into(),
    };
    failure_by(error, failed)
}

/// Logs the reason why a write failed. Most writes that lose a deadlock succeed when they are tried again.
fn log(error: &Error) {
    match is_one_of(error, &[code::DEADLOCK]) {
        true => tracing::debug!("a write failed: {error}"),
        false => tracing::warn!("a write failed: {error}"),
    }
}

/// Returns whether the database cannot be written now.
fn is_unavailable(number: u16) -> bool {
    /// The database is read-only, the disk is full, another transaction blocks the write, or the cluster is
    /// unavailable.
    const UNAVAILABLE: [u16; 10] =
        [1021, code::NOT_READY, 1114, 1180, 1223, 1290, 1792, 1836, 3024, code::LOCK_WAIT_TIMEOUT];
    UNAVAILABLE.contains(&number)
        || [code::DEADLOCK, code::SHUTDOWN, code::KILLED, code::TOO_MANY_CONNECTIONS].contains(&number)
}

/// Returns the failure for an error of a statement. If the error does not name the foreign key that refers to a missing
/// record, the key is searched for.
pub(super) async fn statement_failure(
    link: &mut Link,
    mutation: &Mutation,
    error: &Error,
    product: Product,
) -> Failure<WriteError> {
    match write_failure(error, mutation) {
        Failure::Final(WriteError::Conflict { rule: Rule::Reference, fields, .. }) if fields.is_empty() => {
            let mut missing = Vec::new();
            for SetReference { fields, statement } in mysql::references(mutation, product) {
                let found = link.query(&statement.sql, &params(&statement, &Key::default())).await;
                // A field is not named if the check fails.
                if found.is_ok_and(|rows| rows.is_empty()) {
                    missing.extend(fields);
                }
            }
            Failure::Final(WriteError::conflict_of(Rule::Reference, missing))
        }
        failure => failure,
    }
}

/// Returns the error of a value that its column cannot store: `Data too long for column 'name' at row 1`, `Out of range value for
/// column 'db'.'table'.'name' at row 1`.
fn unfit(cause: &ServerError, mutation: &Mutation) -> WriteError {
    let action = mutation.action();
    let Some(subject) = action.assigned(mutation.subject()) else { return WriteError::Value(Vec::new()) };
    let column = named_after(&cause.message, " column ");
    let column = column.and_then(|name| action.values().iter().find(|value| *value.column == *name));
    subject.unfit(action.values(), column.map(|value| &*value.column).as_slice())
}

/// Returns the last part of the quoted name after a word in a message.
fn named_after(message: &str, word: &str) -> Option<String> {
    // A value in the message, which may contain anything, is before the name.
    let (_, mut rest) = message.rsplit_once(word)?;
    let mut last = None;
    loop {
        let mark = rest.chars().next().filter(|mark| matches!(mark, '\'' | '`'))?;
        let (name, after) = rest.strip_prefix(mark)?.split_once(mark)?;
        last.replace(name.to_owned());
        match after.strip_prefix('.') {
            Some(after) => rest = after,
            None => return last,
        }
    }
}

/// Returns the fields that the error concerns: the field of the column without a value, or the fields of the constraint
/// or key.
fn fields_in(rule: Rule, cause: &ServerError, mutation: &Mutation) -> Vec<String> {
    let action = mutation.action();
    let subjects = [Some(mutation.subject()), action.other().map(|other| &other.subject)];
    let subjects: Vec<&Subject> = subjects.into_iter().flatten().collect();
    let of_constraint = |name: &str| {
        let named = subjects.iter().map(|subject| subject.fields_of_constraint(name));
        named.into_iter().find(|fields| !fields.is_empty()).unwrap_or_default()
    };
    match rule {
        // `Column 'name' cannot be null`, `Field 'name' doesn't have a default value`.
        Rule::NotEmpty => {
            let column = named_after(&format!(" {}", cause.message), " Column ")
                .or_else(|| named_after(&format!(" {}", cause.message), " Field "));
            let field = column.and_then(|column| mutation.emptied_field(&column).map(str::to_owned));
            field.into_iter().collect()
        }
        // `Duplicate entry 'x' for key 'name'`, in MySQL `'table.name'`. The value may contain anything.
        Rule::Unique => {
            let Some((_, key)) = cause.message.rsplit_once(" for key ") else { return Vec::new() };
            let key = key.trim_matches(['\'', '`']);
            let in_table = |subject: &&Subject| {
                let key =
                    key.strip_prefix(subject.table().name.as_str()).and_then(|key| key.strip_prefix('.'));
                key.map(|key| subject.fields_of_constraint(key)).filter(|fields| !fields.is_empty())
            };
            if let Some(fields) = subjects.iter().find_map(in_table) {
                return fields;
            }
            match (key, action.assigned(mutation.subject())) {
                // Every table has a key of that name.
                (PRIMARY, Some(subject)) => subject.fields_of_constraint(key),
                _ => of_constraint(key),
            }
        }
        Rule::Reference => {
            if number::IS_REFERRED.contains(&cause.code) {
                return Vec::new();
            }
            let Some(name) = named_after(&cause.message, " CONSTRAINT ") else { return Vec::new() };
            let mut fields = of_constraint(&name);
            // A foreign key that is not set belongs to a record that refers to this one.
            fields.retain(|field| action.values().iter().any(|value| *value.field == **field));
            fields
        }
        // `CONSTRAINT `name` failed for `db`.`table``, `Check constraint 'name' is violated.`
        Rule::Check => {
            let message = format!(" {}", cause.message);
            let name =
                named_after(&message, " CONSTRAINT ").or_else(|| named_after(&message, " constraint "));
            let Some(name) = name else { return Vec::new() };
            // MariaDB names the condition of a column after the column, together with the table.
            let column = || {
                let name = name.rsplit_once('.').map_or(&*name, |(_, column)| column);
                let field = subjects.iter().find_map(|subject| subject.field_of_column(name));
                field.map(str::to_owned).into_iter().collect()
            };
            let fields = of_constraint(&name);
            if fields.is_empty() { column() } else { fields }
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_messages_are_found() {
        let named = |message: &str, word: &str| named_after(message, word);
        assert_eq!(named("Data too long for column 'name' at row 1", " column ").as_deref(), Some("name"));
        assert_eq!(
            named("Incorrect integer value: 'x' for column `d`.`t`.`age` at row 1", " column ").as_deref(),
            Some("age")
        );
        assert_eq!(named("no name", " column "), None);
        assert_eq!(named("for column 'unclosed", " column "), None);
    }
}
