//! PostgreSQL's part in the statements of writes.

use sea_query::{Expr, PostgresQueryBuilder, QueryBuilder};

use super::class::Class;
use super::operand::Operand;
use super::param::Param;
use super::predicate::{self, Features};
use crate::Value;
use crate::mutation::Subject;
use crate::plan::{ColumnSource, Predicate};
use crate::sql::dialect::Dialect;
use crate::sql::statement::Params;

pub(super) struct Postgres {
    pub(super) features: Features,
}

impl Dialect for Postgres {
    type Param = Param;

    fn builder(&self) -> impl QueryBuilder {
        PostgresQueryBuilder
    }

    fn value(&self, value: &Value) -> Param {
        Param::written(value)
    }

    fn written_id(&self) -> Param {
        Param::written_id()
    }

    fn condition(
        &self,
        params: &mut Params<Param>,
        subject: &Subject,
        alias: &'static str,
        condition: &Predicate,
    ) -> Expr {
        let operands = |source: &ColumnSource| match source {
            ColumnSource::Column(column) => Operand {
                expr: Expr::col((alias, column.clone())),
                class: Class::new(subject.entity().native.get(column)),
            },
            ColumnSource::Aggregate(_) => Operand { expr: Expr::null(), class: Class::Unknown },
        };
        predicate::lower(params, self.features, &operands, condition)
    }
}
