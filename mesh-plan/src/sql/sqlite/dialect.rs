//! SQLite's part in the statements of writes.

use sea_query::{Expr, QueryBuilder, SqliteQueryBuilder};

use super::param::Param;
use super::predicate;
use crate::Value;
use crate::mutation::Subject;
use crate::plan::{ColumnSource, Predicate};
use crate::sql::dialect::Dialect;
use crate::sql::statement::Params;

pub(super) struct Sqlite;

impl Dialect for Sqlite {
    type Param = Param;

    fn builder(&self) -> impl QueryBuilder {
        SqliteQueryBuilder
    }

    fn value(&self, value: &Value) -> Param {
        Param::Value(value.clone())
    }

    fn written_id(&self) -> Param {
        Param::Id
    }

    fn condition(
        &self,
        params: &mut Params<Param>,
        _: &Subject,
        alias: &'static str,
        condition: &Predicate,
    ) -> Expr {
        let columns = |source: &ColumnSource| table_column(alias, source);
        predicate::lower(params, &columns, condition)
    }
}

/// Returns a column of the table with that alias.
pub(super) fn table_column(alias: &str, source: &ColumnSource) -> Expr {
    match source {
        ColumnSource::Column(column) => Expr::col((alias.to_owned(), column.clone())),
        // The planner allows aggregates in grouped reads only.
        ColumnSource::Aggregate(_) => Expr::null(),
    }
}
