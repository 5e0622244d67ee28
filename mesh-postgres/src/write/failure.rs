//! Conversion of PostgreSQL errors to write errors, with the fields that they concern.

use mesh_backend::pool::{Connection as _, ErrorKind};
use mesh_backend::transaction::{Errors, Fault, Retry, Violation};
use mesh_plan::error::Rule;
use mesh_plan::{Mutation, ResolveError, Value, WriteError};
use mesh_sql::postgres::{self, Conversion, Postgres};
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, Severity, SqlState};

use super::transaction::PostgresTransaction;
use crate::error::with_causes;
use crate::pool::connection::Connection;
use crate::sql::TextParam;

impl Errors for PostgresTransaction {
    type Error = Error;

    fn retry(error: &Error) -> Retry {
        Connection::retry(error)
    }

    fn fault<'e>(error: &'e Error, mutation: &'e Mutation) -> Fault<'e> {
        let Some(cause) = error.as_db_error() else { return Fault::Known(Self::resolve_error(error).into()) };
        let is_of_class = |class: &str| cause.code().code().starts_with(class);
        let rule = match *cause.code() {
            SqlState::UNIQUE_VIOLATION => Rule::Unique,
            SqlState::NOT_NULL_VIOLATION if cause.column().is_some() => {
                return Fault::empty(mutation, cause.column());
            }
            SqlState::NOT_NULL_VIOLATION => Rule::NotEmpty,
            SqlState::FOREIGN_KEY_VIOLATION => Rule::Reference,
            SqlState::CHECK_VIOLATION | SqlState::WITH_CHECK_OPTION_VIOLATION => Rule::Check,
            // The account lacks a privilege, or a policy of the table refuses the row.
            SqlState::INSUFFICIENT_PRIVILEGE => return Fault::Privilege(cause.to_string()),
            // A rule replaces the statement, and returns nothing.
            SqlState::FEATURE_NOT_SUPPORTED if cause.routine() == Some("RewriteQuery") => {
                return Fault::Known(mutation.skipped());
            }
            // `P0` and `38` are errors of functions in PL/pgSQL and in other languages.
            _ if ["23", "P0", "38"].into_iter().any(is_of_class) => Rule::Other,
            // A generated column, or a value that the type of its column cannot represent or that is too long for an index.
            // If the value is an id, no record has it.
            ref code
                if [SqlState::GENERATED_ALWAYS, SqlState::PROGRAM_LIMIT_EXCEEDED].contains(code)
                    || is_of_class("22") =>
            {
                return not_found(cause, mutation)
                    .map_or_else(|| Fault::Unfit(column_of_value(cause, mutation)), Fault::Known);
            }
            // An error of a trigger with a code of its own.
            _ if cause.routine() == Some("exec_stmt_raise") => Rule::Other,
            _ => {
                return match (Self::resolve_error(error), column_of_value(cause, mutation)) {
                    // Some types have other codes for texts that they cannot read.
                    (ResolveError::Failed(_), Some(column)) => Fault::Unfit(Some(column)),
                    (failed, _) => Fault::Known(failed.into()),
                };
            }
        };
        Fault::Rule(violation(rule, cause, mutation))
    }

    fn resolve_error(error: &Error) -> ResolveError {
        let is_known = error.code().is_some_and(|code| *code != SqlState::READ_ONLY_SQL_TRANSACTION);
        match Connection::kind(error) {
            ErrorKind::TimedOut => return ResolveError::TimedOut,
            ErrorKind::Other | ErrorKind::OutOfRange | ErrorKind::InvalidValue if is_known => {
                return ResolveError::new(with_causes(error));
            }
            _ => {}
        }
        tracing::warn!("a write failed: {}", with_causes(error));
        ResolveError::Busy
    }

    /// A connection that PostgreSQL ends may have been waiting for a standby, after the transaction was committed.
    fn is_refusal(error: &Error) -> bool {
        error.as_db_error().is_some_and(|cause| cause.parsed_severity() == Some(Severity::Error))
    }

    fn is_about(error: &Error, mutation: &Mutation) -> bool {
        error.as_db_error().is_some_and(|cause| is_about(cause, mutation))
    }
}

impl PostgresTransaction {
    /// Returns the error of a write with the fields that are searched for, because an error names at most one of the values that
    /// are at fault. The search ends the transaction, in which no other statement can run after an error.
    pub(super) async fn with_refused_fields(
        &self,
        mutation: &Mutation,
        error: &Error,
        failed: WriteError,
    ) -> WriteError {
        let (connection, dialect) = (&self.connection, &self.engine.statements.dialect);
        let subject = mutation.action().assigned(mutation.subject());
        match failed {
            WriteError::Value(_) => {
                let refused = refused_columns(connection, mutation, dialect).await;
                let named = error.as_db_error().and_then(|cause| column_of_value(cause, mutation));
                let columns: Vec<&str> = refused.iter().map(String::as_str).chain(named).collect();
                let unfit = subject.map(|subject| subject.unfit(mutation.action().values(), &columns));
                unfit.unwrap_or_else(|| WriteError::Value(Vec::new()))
            }
            WriteError::Conflict { rule: Rule::Check, fields, .. }
                if fields.is_empty() && error.as_db_error().is_some_and(|cause| cause.table().is_none()) =>
            {
                let columns = refused_columns(connection, mutation, dialect).await;
                let field = |column: &String| subject?.field_of_column(column).map(str::to_owned);
                WriteError::conflict_of(Rule::Check, columns.iter().filter_map(field).collect())
            }
            failed => failed,
        }
    }
}

/// Returns the columns that cannot store the value that a write has for them.
async fn refused_columns(connection: &Connection, mutation: &Mutation, dialect: &Postgres) -> Vec<String> {
    let mut columns = Vec::new();
    if connection.end("ROLLBACK").await.is_err() {
        return columns;
    }
    for Conversion { column, statement } in postgres::conversions(mutation, dialect) {
        // Each statement runs in a transaction, which has the settings of the session, and which an error ends.
        if connection.begin().await.is_err() {
            break;
        }
        let params: Vec<_> = statement.params.iter().map(|it| TextParam(it.for_write(&[]))).collect();
        let converted = connection.query_once(&statement.sql, &params).await;
        if connection.end("ROLLBACK").await.is_err() {
            break;
        }
        let is_refused = |error: &Error| {
            let code = error.code().map_or("", SqlState::code);
            code.starts_with("22")
                || [SqlState::CHECK_VIOLATION.code(), SqlState::SYNTAX_ERROR.code()].contains(&code)
        };
        if converted.is_err_and(|error| is_refused(&error)) {
            columns.push(column);
        }
    }
    columns
}

/// Returns the error for a missing record if the value in the message of the database is the id of a record.
fn not_found(cause: &DbError, mutation: &Mutation) -> Option<WriteError> {
    let is_quoted = |part: &Value| match part {
        Value::Integer(part) => cause.message().contains(&format!("\"{part}\"")),
        Value::Text(part) => cause.message().contains(&format!("\"{part}\"")),
        _ => false,
    };
    let action = mutation.action();
    let ids = [(action.id(), mutation.subject()), (action.other_id(), mutation.written())];
    ids.into_iter()
        .find_map(|(id, subject)| Some(subject.not_found(id.filter(|id| id.iter().any(is_quoted))?)))
}

/// Returns the column of the value that the database could not convert, if it names its parameter, as in
/// `unnamed portal parameter $2`. The values of a record are the first parameters of the statement that writes it.
fn column_of_value<'m>(cause: &DbError, mutation: &'m Mutation) -> Option<&'m str> {
    let (_, rest) = cause.where_()?.lines().last()?.rsplit_once('$')?;
    let number = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    let assigned = mutation.action().values().get(number.parse::<usize>().ok()?.checked_sub(1)?);
    assigned.map(|value| &*value.column)
}

/// Returns the names in an error: the column, the column of a domain's value, or the constraint and the columns of its key.
fn violation<'e>(rule: Rule, cause: &'e DbError, mutation: &Mutation) -> Violation<'e> {
    let table = cause.table();
    if cause.column().is_some() || cause.datatype().is_some() {
        let column = cause.column().or_else(|| column_of_value(cause, mutation)).map(str::to_owned);
        return Violation { rule, table, constraint: None, columns: column.into_iter().collect() };
    }
    let (columns, _) = key_in(cause).unwrap_or_default();
    Violation { rule, table, constraint: cause.constraint(), columns }
}

/// Returns the columns and the text of the values in `Key (email, tenant)=(..) already exists.`
fn key_in(cause: &DbError) -> Option<(Vec<String>, &str)> {
    let (columns, values) = cause.detail()?.strip_prefix("Key (")?.split_once(")=(")?;
    let column = |name: &str| name.trim_matches('"').replace("\"\"", "\"");
    Some((columns.split(", ").map(column).collect(), values))
}

/// Returns whether the key that the error concerns is among the values of a write.
fn is_about(cause: &DbError, mutation: &Mutation) -> bool {
    let action = mutation.action();
    let Some((columns, values)) = key_in(cause) else { return false };
    let Some(subject) = action.assigned(mutation.subject()) else { return false };
    let text = |column: &String| {
        let assigned = action.values().iter().find(|assigned| *assigned.column == **column)?;
        match &assigned.value {
            Value::Integer(value) => Some(value.to_string()),
            Value::Text(value) => Some(value.to_string()),
            _ => None,
        }
    };
    let texts: Option<Vec<String>> = columns.iter().map(text).collect();
    cause.table() == Some(&subject.table().name)
        && texts.is_some_and(|texts| values.starts_with(&format!("{})", texts.join(", "))))
}
