//! Selects that convert single values to the types of their columns, because not every PostgreSQL error identifies the value
//! that caused it.

use mesh_schema::{NativeKind, NativeType};
use sea_query::{ExprTrait as _, PostgresQueryBuilder, Query};

use super::Param;
use super::dialect::Postgres;
use super::type_class::TypeClass;
use crate::class::Class as _;
use crate::custom::{cast, populate_row};
use crate::statement::{Params, Statement};
use mesh_plan::Mutation;
use mesh_plan::Value;
use mesh_plan::mutation::{Assignment, GuardedEntity};

/// The conversion of a value of a write.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversion {
    /// The column that would store the value.
    pub column: String,
    /// A select that fails if the column cannot store the value, regardless of the other values.
    pub statement: Statement<Param>,
}

/// Returns the conversions of all values of a write except NULL.
pub fn conversions(mutation: &Mutation, dialect: &Postgres) -> Vec<Conversion> {
    let action = mutation.action();
    let Some(subject) = action.assigned(mutation.subject()) else { return Vec::new() };
    let values = action.values().iter().filter(|assigned| assigned.value != Value::Null);
    values.map(|assigned| conversion(subject, assigned, dialect)).collect()
}

fn conversion(
    subject: &GuardedEntity,
    Assignment { column, value, .. }: &Assignment,
    dialect: &Postgres,
) -> Conversion {
    let mut params = Params::new(&[], None);
    let native = subject.entity().native.get(&**column);
    let sent_as = if native.is_some_and(is_json) { "pg_catalog.jsonb" } else { "pg_catalog.text" };
    let value = cast(params.add(Param::Value(TypeClass::of(native).written(value))), sent_as);
    let mut select = Query::select();
    select.expr(populate_row(&dialect.qualified(subject.table()), column, value).is_null());
    Conversion { column: column.to_string(), statement: params.render(&select, PostgresQueryBuilder) }
}

/// Returns whether values of a type are sent as JSON.
fn is_json(native: &NativeType) -> bool {
    match native.kind {
        NativeKind::Composite => true,
        NativeKind::BuiltIn => matches!(native.name.as_str(), "json" | "jsonb"),
        _ => false,
    }
}
