//! Related records that the conditions and the order of a node use.
//!
//! The record at the end of a to-one relation is joined to the rows if the database has at most one. Other values are
//! subqueries that refer to the row. Conditions on relations become `EXISTS`, which databases run as semi-joins.

use mesh_schema::Link;
use sea_query::{Expr, ExprTrait as _, JoinType, Query, SelectStatement};

use super::dialect::Dialect;
use super::links::{linked, table_operand};
use super::order::{order_by, sort_terms};
use super::statement::Params;
use super::{group, predicate};
use crate::plan::{ColumnSource, Node, Related};

/// The values of a node's rows, those of related records included.
pub(super) struct RowOperands<'a, D: Dialect> {
    dialect: &'a D,
    node: &'a Node,
    alias: String,
    related: Vec<Lowered<D>>,
}

/// Lowered related records.
struct Lowered<D: Dialect> {
    exists: Expr,
    columns: Vec<D::Operand>,
}

impl<'a, D: Dialect> RowOperands<'a, D> {
    /// Lowers the related records of a node. `rows` selects from the node's table under that alias; joins are added to it.
    pub(super) fn new(
        dialect: &'a D,
        params: &mut Params<D::Param>,
        node: &'a Node,
        alias: String,
        rows: &mut SelectStatement,
    ) -> Self {
        let mut operands = Self { dialect, node, alias, related: Vec::with_capacity(node.related.len()) };
        for (number, related) in node.related.iter().enumerate() {
            let alias = format!("{}_{number}", operands.alias);
            let lowered = if is_joined(related) {
                operands.join(params, related, alias, rows)
            } else {
                operands.subquery(params, related, alias)
            };
            operands.related.push(lowered);
        }
        operands
    }

    /// Returns a value of the rows.
    pub(super) fn get(&self, source: &ColumnSource) -> D::Operand {
        let related = |related: &usize| self.related.get(*related);
        let found = match source {
            ColumnSource::Related { related: number, column } => {
                related(number).and_then(|related| related.columns.get(*column)).cloned()
            }
            ColumnSource::Exists(number) => {
                related(number).map(|related| self.dialect.operand(related.exists.clone(), None))
            }
            ColumnSource::Column(_) | ColumnSource::Aggregate(_) | ColumnSource::Json { .. } => None,
        };
        found.unwrap_or_else(|| table_operand(self.dialect, &self.node.native, &self.alias, source))
    }

    /// Joins the one record to the rows. Without a record its columns are NULL.
    fn join(
        &self,
        params: &mut Params<D::Param>,
        related: &'a Related,
        alias: String,
        rows: &mut SelectStatement,
    ) -> Lowered<D> {
        let node = &related.node;
        let mut condition = self.linked(related, &alias);
        if let Some(filter) = &node.filter {
            let columns = |source: &ColumnSource| table_operand(self.dialect, &node.native, &alias, source);
            condition = condition.and(predicate::lower(self.dialect, params, &columns, filter));
        }
        rows.join_as(JoinType::LeftJoin, self.dialect.table(&node.table), alias.clone(), condition);
        let below = RowOperands::new(self.dialect, params, node, alias, rows);
        let columns = node.columns.iter().map(|column| below.get(&column.source)).collect();
        Lowered { exists: Expr::Constant(true.into()), columns }
    }

    /// Returns subqueries that refer to the row.
    fn subquery(&self, params: &mut Params<D::Param>, related: &'a Related, alias: String) -> Lowered<D> {
        let (dialect, node) = (self.dialect, &related.node);
        let mut records = Query::select();
        records.from_as(dialect.table(&node.table), alias.clone()).and_where(self.linked(related, &alias));
        let below = RowOperands::new(dialect, params, node, alias, &mut records);
        let operands = |source: &ColumnSource| below.get(source);
        if let Some(filter) = &node.filter {
            records.and_where(predicate::lower(dialect, params, &operands, filter));
        }
        let columns = node.columns.iter().map(|column| {
            let mut one = records.clone();
            let value = match (&node.grouping, &column.source) {
                (Some(grouping), ColumnSource::Aggregate(index)) => {
                    let call = grouping.aggregates.get(*index);
                    call.map(|call| group::aggregate(dialect, &operands, call))
                }
                _ => {
                    order_by(&mut one, sort_terms(dialect, &operands, &node.order));
                    one.limit(1);
                    None
                }
            };
            let value = value.unwrap_or_else(|| operands(&column.source));
            one.expr(value.clone().into());
            dialect.with_expr(value, Expr::SubQuery(None, Box::new(one.into())))
        });
        let columns = columns.collect();
        Lowered { exists: Expr::exists(records.expr(Expr::Constant(1.into())).take()), columns }
    }

    /// Returns the condition on the records that belong to a row.
    fn linked(&self, related: &Related, alias: &str) -> Expr {
        let keys: Vec<&String> = match &related.link {
            Link::Direct { pairs } => pairs.iter().map(|pair| &pair.parent).collect(),
            Link::Through { parent, .. } => vec![parent],
        };
        let keys = keys.into_iter().map(|key| {
            let source = ColumnSource::Column(key.clone());
            let key = table_operand(self.dialect, &self.node.native, &self.alias, &source);
            self.dialect.parent_key(key, related.is_alike)
        });
        linked(self.dialect, self.node, (&related.link, &related.node), alias, keys)
    }
}

/// Returns an operand without a table for a value of a node's rows, which has the type of that value.
pub(super) fn untabled<D: Dialect>(dialect: &D, node: &Node, source: &ColumnSource) -> D::Operand {
    let related = match source {
        ColumnSource::Related { related, column } => node
            .related
            .get(*related)
            .and_then(|related| Some((&related.node, related.node.columns.get(*column)?))),
        _ => None,
    };
    let Some((below, column)) = related else { return table_operand(dialect, &node.native, "", source) };
    let operands = |source: &ColumnSource| untabled(dialect, below, source);
    match (&below.grouping, &column.source) {
        (Some(grouping), ColumnSource::Aggregate(index)) => match grouping.aggregates.get(*index) {
            Some(call) => group::aggregate(dialect, &operands, call),
            None => dialect.operand(Expr::null(), None),
        },
        (_, source) => operands(source),
    }
}

/// Returns whether the records are the one at the end of a path, of which the database has at most one.
fn is_joined(related: &Related) -> bool {
    let node = &related.node;
    related.is_unique && !node.columns.is_empty() && node.grouping.is_none()
}
