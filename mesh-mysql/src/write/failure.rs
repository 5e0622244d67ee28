//! Conversion of database errors to write errors, with the fields that they concern.

use mesh_backend::pool::Connection as _;
use mesh_backend::transaction::{Errors, Fault, Retry, Violation};
use mesh_plan::error::Rule;
use mesh_plan::{Mutation, ResolveError};
use mysql_async::Error;

use super::transaction::MySqlTransaction;
use crate::catalog::PRIMARY;
use crate::pool::connection::Connection;
use crate::pool::{PoolError, code, is_one_of};

/// Numbers of errors that concern the written values.
mod number {
    pub(super) const NULL_COLUMN: u16 = 1048;
    pub(super) const NO_DEFAULT: u16 = 1364;
    pub(super) const DUPLICATE: u16 = 1062;
    pub(super) const DUPLICATE_NAMED: u16 = 1586;
    pub(super) const NO_REFERRED: [u16; 2] = [1216, 1452];
    pub(super) const IS_REFERRED: [u16; 2] = [1217, 1451];
    pub(super) const CHECK_OF_VIEW: u16 = 1369;
    pub(super) const CHECK: u16 = 4025;
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

impl Errors for MySqlTransaction {
    type Error = Error;

    fn retry(error: &Error) -> Retry {
        Connection::retry(error)
    }

    fn fault<'e>(error: &'e Error, mutation: &'e Mutation) -> Fault<'e> {
        let Error::Server(cause) = error else { return Fault::Known(Self::resolve_error(error).into()) };
        let message = &*cause.message;
        match cause.code {
            number::DUPLICATE | number::DUPLICATE_NAMED => Fault::Rule(duplicate(message, mutation)),
            // `Column 'name' cannot be null`, `Field 'name' doesn't have a default value`.
            number::NULL_COLUMN | number::NO_DEFAULT => Fault::empty(
                mutation,
                name_after(message, "Column ").or_else(|| name_after(message, "Field ")),
            ),
            code if number::NO_REFERRED.contains(&code) => {
                let constraint = name_after(message, " CONSTRAINT ");
                Fault::Rule(Violation { constraint, ..Violation::of_rule(Rule::Reference) })
            }
            code if number::IS_REFERRED.contains(&code) => Rule::Reference.into(),
            // `CONSTRAINT `name` failed for `db`.`table``, `Check constraint 'name' is violated.` MariaDB names the condition of
            // a column after the column, together with the table.
            number::CHECK_OF_VIEW | number::CHECK => {
                let constraint =
                    name_after(message, "CONSTRAINT ").or_else(|| name_after(message, "constraint "));
                let column = constraint.map(|name| name.rsplit_once('.').map_or(name, |(_, column)| column));
                let columns = column.map(str::to_owned).into_iter().collect();
                Fault::Rule(Violation { constraint, columns, ..Violation::of_rule(Rule::Check) })
            }
            number::SIGNAL => Rule::Other.into(),
            _ if cause.state == UNHANDLED_EXCEPTION => Rule::Other.into(),
            code if number::NO_PRIVILEGE.contains(&code) => Fault::Privilege(error.to_string()),
            // `Data too long for column 'name' at row 1`, `Out of range value for column 'db'.'table'.'name' at row 1`.
            code if number::UNFIT.contains(&code) => {
                let values = mutation.action().values().iter().map(|value| &*value.column);
                let column = name_after(message, " column ");
                Fault::Unfit(values.into_iter().find(|value| Some(*value) == column))
            }
            _ => Fault::Known(Self::resolve_error(error).into()),
        }
    }

    fn resolve_error(error: &Error) -> ResolveError {
        match error {
            Error::Server(cause) if !is_unavailable(cause.code) => {
                ResolveError::from(PoolError::Failed(Error::Server(cause.clone())))
            }
            _ => {
                log(error);
                ResolveError::Busy
            }
        }
    }

    fn is_refusal(error: &Error) -> bool {
        /// The server has ended the connection or the statement, or has lost its cluster, possibly after the transaction was
        /// committed.
        const INTERRUPTED: [u16; 5] =
            [code::NOT_READY, code::SHUTDOWN, code::KILLED, code::INTERRUPTED, code::STATEMENT_TIMEOUT];
        matches!(error, Error::Server(_)) && !is_one_of(error, &INTERRUPTED)
    }
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
    /// The database is read-only, the disk is full, other transactions block the write or have won against it in all its
    /// tries, or the cluster is unavailable.
    const UNAVAILABLE: [u16; 9] =
        [1021, code::NOT_READY, 1114, 1180, 1223, 1290, 1792, 1836, code::LOCK_WAIT_TIMEOUT];
    UNAVAILABLE.contains(&number)
        || [code::DEADLOCK, code::SHUTDOWN, code::KILLED, code::TOO_MANY_CONNECTIONS].contains(&number)
}

/// Returns the last part of the quoted name after a word in a message.
fn name_after<'m>(message: &'m str, word: &str) -> Option<&'m str> {
    // A value in the message, which may contain anything, is before the name.
    let (_, mut rest) = message.rsplit_once(word)?;
    let mut last = None;
    loop {
        let mark = rest.chars().next().filter(|mark| matches!(mark, '\'' | '`'))?;
        let (name, after) = rest.strip_prefix(mark)?.split_once(mark)?;
        last.replace(name);
        match after.strip_prefix('.') {
            Some(after) => rest = after,
            None => return last,
        }
    }
}

/// Returns the key in `Duplicate entry 'x' for key 'name'`. The value may contain anything.
fn duplicate<'e>(message: &'e str, mutation: &'e Mutation) -> Violation<'e> {
    let key = message.rsplit_once(" for key ").map(|(_, key)| key.trim_matches(['\'', '`']));
    // Every table has a key of that name.
    let primary = mutation.action().assigned(mutation.subject()).filter(|_| key == Some(PRIMARY));
    let table = primary.map(|subject| subject.table().name.as_str());
    Violation { table, constraint: key, ..Violation::of_rule(Rule::Unique) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_messages_are_found() {
        let named = name_after;
        assert_eq!(named("Data too long for column 'name' at row 1", " column "), Some("name"));
        assert_eq!(
            named("Incorrect integer value: 'x' for column `d`.`t`.`age` at row 1", " column "),
            Some("age")
        );
        assert_eq!(named("no name", " column "), None);
        assert_eq!(named("for column 'unclosed", " column "), None);
    }
}
