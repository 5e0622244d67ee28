//! Conversion of PostgreSQL errors to write errors, with the fields that they concern.

use mesh_plan::backend::{Failure, ScriptError, ScriptStep, StepResult};
use mesh_plan::{Assignment, Key, Mutation, ResolveError, Rule, Subject, Value, WriteError};
use mesh_sql::postgres::{self, Conversion, Features};
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, SqlState};

use crate::error::with_causes;
use crate::pool::is_stale;
use crate::pool::link::Link;
use crate::sql::TextParam;

/// Returns the failure of an attempt for an error before COMMIT, or for a COMMIT that was refused.
pub(super) fn failure_by<E>(error: &Error, failed: E) -> Failure<E> {
    let conflicts = [SqlState::T_R_DEADLOCK_DETECTED, SqlState::T_R_SERIALIZATION_FAILURE];
    match error.code() {
        Some(code) if conflicts.contains(code) => Failure::Conflict(failed),
        _ if is_stale(error) => Failure::Stale(failed),
        _ => Failure::Final(failed),
    }
}

/// Returns the failure of a write for an error that does not need the search of [`statement_failure`].
pub(super) fn write_failure(error: &Error, mutation: &Mutation) -> Failure<WriteError> {
    failure_by(error, write_error(error, mutation))
}

/// Converts an error that does not concern the values of a write.
pub(super) fn resolve_error(error: &Error) -> ResolveError {
    let busy = [
        SqlState::READ_ONLY_SQL_TRANSACTION,
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
    ];
    match error.code() {
        Some(&SqlState::QUERY_CANCELED) => return ResolveError::TimedOut,
        Some(code) if !busy.contains(code) && !code.code().starts_with("40") => {
            return ResolveError::new(with_causes(error));
        }
        _ => {}
    }
    tracing::warn!("a write failed: {}", with_causes(error));
    ResolveError::Busy
}

/// Maps a database error to a write error.
fn write_error(error: &Error, mutation: &Mutation) -> WriteError {
    let Some(cause) = error.as_db_error() else { return resolve_error(error).into() };
    let is_of_class = |class: &str| cause.code().code().starts_with(class);
    let rule = match *cause.code() {
        SqlState::UNIQUE_VIOLATION => Rule::Unique,
        SqlState::NOT_NULL_VIOLATION => Rule::NotEmpty,
        SqlState::FOREIGN_KEY_VIOLATION => Rule::Reference,
        SqlState::CHECK_VIOLATION | SqlState::WITH_CHECK_OPTION_VIOLATION => Rule::Check,
        // The account lacks a privilege, or a policy of the table refuses the row.
        SqlState::INSUFFICIENT_PRIVILEGE => {
            tracing::info!("the database does not permit a write: {cause}");
            return WriteError::forbidden_by_database();
        }
        // A rule replaces the statement, and returns nothing.
        SqlState::FEATURE_NOT_SUPPORTED if cause.routine() == Some("RewriteQuery") => {
            return mutation.skipped();
        }
        // `P0` and `38` are errors of functions in PL/pgSQL and in other languages.
        _ if ["23", "P0", "38"].into_iter().any(is_of_class) => Rule::Other,
        // A generated column, or a value that the type of its column cannot represent or that is too long for an index.
        // If the value is an id, no record has it.
        ref code
            if [SqlState::GENERATED_ALWAYS, SqlState::PROGRAM_LIMIT_EXCEEDED].contains(code)
                || is_of_class("22") =>
        {
            return not_found(cause, mutation).unwrap_or_else(|| unfit(cause, mutation));
        }
        // An error of a trigger with a code of its own.
        _ if cause.routine() == Some("exec_stmt_raise") => Rule::Other,
        _ => {
            return match resolve_error(error) {
                // Some types have other codes for texts that they cannot read.
                ResolveError::Failed(_) if assigned(cause, mutation).is_some() => unfit(cause, mutation),
                failed => failed.into(),
            };
        }
    };
    WriteError::conflict_of(rule, fields_in(rule, cause, mutation))
}

/// Returns the failure for a COMMIT that was refused because of a deferred constraint or a concurrent transaction. The
/// cause is the first write of the values that the error names, or else the last write.
pub(super) fn commit_failure(error: &Error, done: &[StepResult]) -> Failure<ScriptError> {
    let steps = done.iter().enumerate().filter_map(|(step, result)| match &result.step {
        ScriptStep::Write(mutations) => Some((step, mutations)),
        _ => None,
    });
    let writes: Vec<_> = steps
        .flat_map(|(step, mutations)| mutations.iter().enumerate().map(move |(item, it)| (step, item, it)))
        .collect();
    let is_cause = |mutation: &Mutation| error.as_db_error().is_some_and(|it| is_about(it, mutation));
    let failed = match writes.iter().find(|(.., mutation)| is_cause(mutation)).or_else(|| writes.last()) {
        Some((step, item, mutation)) => {
            ScriptError::of_write(*step, *item, mutation, write_error(error, mutation))
        }
        None => resolve_error(error).into(),
    };
    failure_by(error, failed)
}

/// Returns the failure for an error of a statement. An error names at most one of the values that are at fault, so they
/// are searched for. The search ends the transaction, in which no other statement can run after an error.
pub(super) async fn statement_failure(
    link: &Link,
    mutation: &Mutation,
    error: &Error,
    features: &Features,
) -> Failure<WriteError> {
    match write_failure(error, mutation) {
        Failure::Final(WriteError::Value(_)) => {
            let refused = refused_columns(link, mutation, features).await;
            let named = error.as_db_error().and_then(|cause| assigned(cause, mutation));
            let named = named.map(|value| &*value.column);
            let columns: Vec<&str> = refused.iter().map(String::as_str).chain(named).collect();
            let action = mutation.action();
            let subject = action.assigned(mutation.subject());
            let error = subject.map(|subject| subject.unfit(action.values(), &columns));
            Failure::Final(error.unwrap_or_else(|| WriteError::Value(Vec::new())))
        }
        Failure::Final(WriteError::Conflict { rule: Rule::Check, fields, .. })
            if fields.is_empty() && error.as_db_error().is_some_and(|cause| cause.table().is_none()) =>
        {
            let columns = refused_columns(link, mutation, features).await;
            let subject = mutation.action().assigned(mutation.subject());
            let field = |column: &String| subject?.field_of_column(column).map(str::to_owned);
            Failure::Final(WriteError::conflict_of(Rule::Check, columns.iter().filter_map(field).collect()))
        }
        failure => failure,
    }
}

/// Returns the columns that cannot store the value that a write has for them.
async fn refused_columns(link: &Link, mutation: &Mutation, features: &Features) -> Vec<String> {
    let mut columns = Vec::new();
    if link.end("ROLLBACK").await.is_err() {
        return columns;
    }
    for Conversion { column, statement } in postgres::conversions(mutation, features) {
        // Each statement runs in a transaction, which has the settings of the session, and which an error ends.
        if link.begin().await.is_err() {
            break;
        }
        let params: Vec<_> =
            statement.params.iter().map(|it| TextParam(it.for_write(&Key::default()))).collect();
        let converted = link.query_once(&statement.sql, &params).await;
        if link.end("ROLLBACK").await.is_err() {
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

/// Returns the error of a value that its column cannot store.
fn unfit(cause: &DbError, mutation: &Mutation) -> WriteError {
    let action = mutation.action();
    match action.assigned(mutation.subject()) {
        Some(subject) => {
            let column = assigned(cause, mutation).map(|it| &*it.column);
            subject.unfit(action.values(), column.as_slice())
        }
        None => WriteError::Value(Vec::new()),
    }
}

/// Returns the value that the database could not convert, if it names its parameter, as in
/// `unnamed portal parameter $2`. The values of a record are the first parameters of the statement that writes it.
fn assigned<'m>(cause: &DbError, mutation: &'m Mutation) -> Option<&'m Assignment> {
    let (_, rest) = cause.where_()?.lines().last()?.rsplit_once('$')?;
    let number = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    mutation.action().values().get(number.parse::<usize>().ok()?.checked_sub(1)?)
}

/// Returns the fields that the error concerns: the field of the column without a value, the fields of the constraint,
/// the field of a domain's value, or the fields in `Key (email, tenant)=(..) already exists.`
fn fields_in(rule: Rule, cause: &DbError, mutation: &Mutation) -> Vec<String> {
    let action = mutation.action();
    let subjects = [Some(mutation.subject()), action.other().map(|other| &other.subject)];
    let of_table = |subject: &&Subject| cause.table().is_none_or(|table| table == subject.table().name);
    let subjects: Vec<&Subject> = subjects.into_iter().flatten().filter(of_table).collect();
    let field =
        |column: &str| subjects.iter().find_map(|subject| subject.field_of_column(column)).map(str::to_owned);
    if let (Rule::NotEmpty, Some(column)) = (rule, cause.column()) {
        return mutation.emptied_field(column).map(str::to_owned).into_iter().collect();
    }
    if let Some(column) = cause.column() {
        return field(column).into_iter().collect();
    }
    if cause.datatype().is_some() {
        return assigned(cause, mutation).and_then(|value| field(&value.column)).into_iter().collect();
    }
    let is_set = |field: &String| action.values().iter().any(|value| *value.field == **field);
    let named =
        subjects.iter().map(|subject| subject.fields_of_constraint(cause.constraint().unwrap_or_default()));
    let mut fields = named.into_iter().find(|fields| !fields.is_empty()).unwrap_or_else(|| {
        let (columns, _) = key_in(cause).unwrap_or_default();
        columns.iter().filter_map(|column| field(column)).collect()
    });
    // A foreign key that is not set belongs to a record that refers to this one.
    if rule == Rule::Reference {
        fields.retain(is_set);
    }
    fields
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
