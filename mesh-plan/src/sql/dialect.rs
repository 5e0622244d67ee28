//! What a database has to define for writes to be lowered to its SQL.

use sea_query::{Expr, QueryBuilder};

use super::statement::Params;
use crate::Value;
use crate::mutation::Subject;
use crate::plan::Predicate;

/// The differences between databases in the statements of a write.
pub(super) trait Dialect {
    /// What is bound to its statements.
    type Param: Clone;

    /// Returns the printer of its SQL.
    fn builder(&self) -> impl QueryBuilder;

    /// Returns a parameter for a value of the request.
    fn value(&self, value: &Value) -> Self::Param;

    /// Returns the parameter for the id that an earlier step of the write has returned.
    fn written_id(&self) -> Self::Param;

    /// Lowers a condition on the records of an entity, whose table has that alias.
    fn condition(
        &self,
        params: &mut Params<Self::Param>,
        subject: &Subject,
        alias: &'static str,
        condition: &Predicate,
    ) -> Expr;
}
