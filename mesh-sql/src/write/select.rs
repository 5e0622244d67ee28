//! Selects of records that may be written, and conditions that a row is one of them.

use sea_query::{Expr, ExprTrait as _, Query, SelectStatement};

use super::{PARENT, Parent, WriteSteps, column};
use crate::dialect::{Dialect, IdPart};
use crate::predicate;
use crate::related::RowOperands;
use mesh_plan::Key;
use mesh_plan::Node;
use mesh_plan::mutation::GuardedEntity;
use mesh_plan::plan::{ColumnSource, CompareOp};

impl<D: Dialect> WriteSteps<'_, D> {
    /// Returns a select of the record with that id, if it may be written.
    pub(super) fn select_writable_record(&mut self, subject: &GuardedEntity, id: &Key) -> SelectStatement {
        self.select(subject, subject.guarded(), Some(id_parts(id)))
    }

    /// Returns a select of the ids of all records that may be written. Without an id, it selects a constant.
    pub(super) fn select_writable(&mut self, subject: &GuardedEntity) -> SelectStatement {
        self.select(subject, subject.guarded(), None)
    }

    /// Returns a select of ids. `records` limits it to the records of a node, and `id` to one record.
    pub(super) fn select(
        &mut self,
        subject: &GuardedEntity,
        records: Option<&Node>,
        id: Option<Vec<IdPart<'_>>>,
    ) -> SelectStatement {
        let mut select = Query::select();
        match self.shown_ids(subject, |name| Expr::col((PARENT, name))) {
            ids if ids.is_empty() => select.expr(Expr::Constant(1.into())),
            ids => select.exprs(ids),
        };
        select.from_as(self.dialect.table(subject.table()), PARENT);
        if let Some(condition) = records.and_then(|records| self.condition(records, PARENT)) {
            select.and_where(condition);
        }
        if let Some(id) = id {
            let is_record = self.is_id(subject, |name| column(PARENT, name), id);
            select.and_where(is_record);
        }
        select
    }

    /// Returns the condition that a row is the record with that id and may be written, for statements that give the table no
    /// alias.
    pub(super) fn is_record(&mut self, subject: &GuardedEntity, id: &Key) -> Expr {
        let has_id = self.is_id(subject, |name| Expr::col(name.to_owned()), id_parts(id));
        match self.guard(subject, &subject.table().name) {
            Some(guard) => has_id.and(guard),
            None => has_id,
        }
    }

    /// Compares the id of a record with the parts of an id. `column` returns the expression for a column of the record.
    pub(super) fn is_id(
        &mut self,
        subject: &GuardedEntity,
        column: impl Fn(&str) -> Expr,
        id: Vec<IdPart<'_>>,
    ) -> Expr {
        let parts = subject.id_columns().zip(id);
        let equal = parts.map(|(name, part)| {
            let native = subject.entity().native.get(name);
            self.dialect.compare_id(&mut self.params, column(name), CompareOp::Eq, part, native)
        });
        equal.reduce(Expr::and).unwrap_or_else(|| Expr::Constant(false.into()))
    }

    /// Compares the id of a record for inequality, as [`WriteSteps::is_id`] does for equality.
    pub(super) fn is_other_id(
        &mut self,
        subject: &GuardedEntity,
        column: impl Fn(&str) -> Expr,
        id: &Key,
    ) -> Expr {
        match (subject.id_columns().next(), &**id) {
            (Some(name), [part]) => {
                let (part, native) = (IdPart::Value(part), subject.entity().native.get(name));
                self.dialect.compare_id(&mut self.params, column(name), CompareOp::Ne, part, native)
            }
            _ => self.is_id(subject, column, id_parts(id)).not(),
        }
    }

    /// Compares `left`, which has the type of a column, with `right`.
    pub(super) fn compare(
        &self,
        subject: &GuardedEntity,
        column: &str,
        left: Expr,
        op: CompareOp,
        right: Expr,
    ) -> Expr {
        self.dialect.compare_same_type(left, op, right, subject.entity().native.get(column))
    }

    /// Returns the condition of policies on the rows of a table with that alias. A statement that changes rows applies the
    /// condition directly to them, not in a subquery: after waiting for a concurrent transaction, PostgreSQL evaluates
    /// conditions on the row again, but not subqueries.
    pub(super) fn guard(&mut self, subject: &GuardedEntity, alias: &str) -> Option<Expr> {
        self.condition(subject.guarded()?, alias)
    }

    /// Returns the condition on the records of a node.
    pub(super) fn condition(&mut self, node: &Node, alias: &str) -> Option<Expr> {
        let operands = RowOperands::for_write(self.dialect, &mut self.params, node, alias.to_owned());
        let operands = |source: &ColumnSource| operands.get(source);
        Some(predicate::lower(self.dialect, &mut self.params, &operands, node.filter.as_ref()?))
    }

    /// Returns a subquery for a column of one record.
    pub(super) fn cell(
        &mut self,
        subject: &GuardedEntity,
        id: &Key,
        alias: &'static str,
        name: &str,
    ) -> Expr {
        let is_record = self.is_id(subject, |name| column(alias, name), id_parts(id));
        let mut select = Query::select();
        select
            .expr(column(alias, name))
            .from_as(self.dialect.table(subject.table()), alias)
            .and_where(is_record);
        select.into()
    }

    /// Returns a subquery for a column of the parent.
    pub(super) fn parent_value(&mut self, parent: &Parent<'_>, column: &str) -> Expr {
        self.cell(parent.subject, parent.id, PARENT, column)
    }
}

/// Returns the parts of an id of the request.
pub(super) fn id_parts(id: &Key) -> Vec<IdPart<'_>> {
    id.iter().map(IdPart::Value).collect()
}
