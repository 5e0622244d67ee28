//! Related records that the conditions and the order of a node use.
//!
//! The record at the end of a to-one relation is joined to the rows if the database has at most one. Other values are
//! correlated subqueries. Conditions on relations become `EXISTS`, which databases run as semi-joins. SQLite always begins a
//! semi-join at the rows. Conditions that must hold therefore get a form with which it can begin at the related records: a join
//! of the one record, or `IN` with a list of keys if a condition on the related records suggests that few match. An aggregate
//! that is the first sort key of all rows is computed in groups by parent if possible, because each row needs it.

use mesh_ql::AggregateFn;
use mesh_schema::{ColumnPair, Link};
use sea_query::{Expr, ExprTrait as _, Func, JoinType, Query, SelectStatement};

use super::class::Class as _;
use super::dialect::{Dialect, OperandOf, ParamsOf};
use super::join_room::JoinRoom;
use super::links::{JUNCTION, linked, table_operand};
use super::operand::Operand;
use super::order::{order_by, sort_terms};
use super::required::{is_selective, required};
use super::{group, predicate};
use mesh_plan::Node;
use mesh_plan::plan::{ColumnSource, CompareOp, Predicate, Related};

/// The values of a node's rows, including the values of related records.
pub(super) struct RowOperands<'a, D: Dialect> {
    dialect: &'a D,
    node: &'a Node,
    alias: String,
    /// The prefix of the aliases of related records, which is followed by a number, and the alias of a junction.
    aliases: (String, &'static str),
    related: Vec<RelatedOperands<D>>,
    relevance: Option<Expr>,
    /// A column of the node that another expression stands for.
    pub(super) replaced: Option<(&'a str, Expr)>,
}

/// The values of related records.
struct RelatedOperands<D: Dialect> {
    exists: Expr,
    columns: Vec<OperandOf<D>>,
}

impl<'a, D: Dialect> RowOperands<'a, D> {
    /// Lowers the related records of a node. `rows` selects from the node's table under `alias`; joins are added to it.
    /// `reads_all` is whether all rows must be read to find the first ones in their order.
    pub(super) fn new(
        dialect: &'a D,
        params: &mut ParamsOf<'_, D>,
        node: &'a Node,
        alias: String,
        (rows, reads_all): (&mut SelectStatement, bool),
    ) -> Self {
        let first = node.order.first().and_then(|key| match key.source {
            ColumnSource::Related { related, .. } if reads_all => Some(related),
            _ => None,
        });
        Self::lower(dialect, params, node, alias, (rows, first), &mut JoinRoom::default())
    }

    /// Lowers the related records of a node. Those with the number `grouped` are joined in groups if possible, and records for
    /// which `room` has no place become subqueries.
    fn lower(
        dialect: &'a D,
        params: &mut ParamsOf<'_, D>,
        node: &'a Node,
        alias: String,
        (rows, grouped): (&mut SelectStatement, Option<usize>),
        room: &mut JoinRoom,
    ) -> Self {
        let mut operands = Self::without_related(dialect, node, alias);
        operands.relevance = node.relevance().map(|search| {
            let columns = |source: &ColumnSource| table_operand(&node.native, &operands.alias, source);
            dialect.relevance(params, &columns, search)
        });
        let required = if D::REORDERS_EXISTS { Vec::new() } else { required(node.filter.as_ref()) };
        for (number, related) in node.related.iter().enumerate() {
            let alias = operands.alias_of(number);
            let groups = if grouped == Some(number) {
                operands.join_groups(params, related, alias.clone(), rows)
            } else {
                None
            };
            let lowered = if let Some(groups) = groups {
                groups
            } else if is_joined(related) && room.take_related(related) {
                operands.join(params, related, alias, (rows, room))
            } else if required.contains(&number) && related.is_unique && room.take_related(related) {
                operands.join_condition(params, related, alias, (rows, room))
            } else {
                operands.subquery(params, related, alias, required.contains(&number))
            };
            operands.related.push(lowered);
        }
        operands
    }

    /// Lowers the related records of rows that a write selects or changes. All of them become subqueries, because nothing can
    /// be joined to a statement that changes rows.
    pub(super) fn for_write(
        dialect: &'a D,
        params: &mut ParamsOf<'_, D>,
        node: &'a Node,
        alias: String,
    ) -> Self {
        let mut operands = Self::without_related(dialect, node, alias);
        // Unlike the name of a table, these names are short, and no table has them.
        operands.aliases = ("mesh_guard".to_owned(), "mesh_guard_j");
        for (number, related) in node.related.iter().enumerate() {
            let lowered = operands.subquery(params, related, operands.alias_of(number), false);
            operands.related.push(lowered);
        }
        operands
    }

    fn without_related(dialect: &'a D, node: &'a Node, alias: String) -> Self {
        let related = Vec::with_capacity(node.related.len());
        let aliases = (alias.clone(), JUNCTION);
        Self { dialect, node, aliases, alias, related, relevance: None, replaced: None }
    }

    /// Returns the alias of the related records with that number.
    fn alias_of(&self, number: usize) -> String {
        format!("{}_{number}", self.aliases.0)
    }

    /// Returns the operand for a value of the rows.
    pub(super) fn get(&self, source: &ColumnSource) -> OperandOf<D> {
        let related = |related: &usize| self.related.get(*related);
        let found = match source {
            ColumnSource::Column(column) => {
                let replaced = self.replaced.as_ref().filter(|(replaced, _)| *replaced == column.as_str());
                replaced.map(|(_, other)| Operand::of(other.clone(), self.node.native.get(column)))
            }
            ColumnSource::Related { related: number, column } => {
                related(number).and_then(|related| related.columns.get(*column)).cloned()
            }
            ColumnSource::Exists(number) => {
                related(number).map(|related| Operand::of(related.exists.clone(), None))
            }
            ColumnSource::Relevance(_) => {
                self.relevance.clone().map(|value| Operand::new(value, D::Class::of_relevance()))
            }
            ColumnSource::Bucket(_) | ColumnSource::Aggregate(_) | ColumnSource::Json { .. } => None,
        };
        found.unwrap_or_else(|| table_operand(&self.node.native, &self.alias, source))
    }

    /// Joins the record of a to-one relation to the rows. If there is none, its columns are NULL.
    fn join(
        &self,
        params: &mut ParamsOf<'_, D>,
        related: &'a Related,
        alias: String,
        (rows, room): (&mut SelectStatement, &mut JoinRoom),
    ) -> RelatedOperands<D> {
        let node = &related.node;
        let mut condition = self.linked(related, &alias);
        if let Some(filter) = &node.filter {
            let columns = |source: &ColumnSource| table_operand(&node.native, &alias, source);
            condition = condition.and(predicate::lower(self.dialect, params, &columns, filter));
        }
        rows.join_as(JoinType::LeftJoin, self.dialect.table(&node.table), alias.clone(), condition);
        let below = RowOperands::lower(self.dialect, params, node, alias, (rows, None), room);
        let columns = node.columns.iter().map(|column| below.get(&column.source)).collect();
        RelatedOperands { exists: Expr::Constant(true.into()), columns }
    }

    /// Joins the single record of a condition to the rows. The condition may be unknown instead of false.
    fn join_condition(
        &self,
        params: &mut ParamsOf<'_, D>,
        related: &'a Related,
        alias: String,
        (rows, room): (&mut SelectStatement, &mut JoinRoom),
    ) -> RelatedOperands<D> {
        let node = &related.node;
        let linked = self.linked(related, &alias);
        let key = match &related.link {
            Link::Direct { pairs } => pairs.first().map_or("", |pair| &pair.target),
            Link::Through { target, .. } => target,
        };
        let present = Expr::col((alias.clone(), key.to_owned())).is_not_null();
        rows.join_as(JoinType::LeftJoin, self.dialect.table(&node.table), alias.clone(), linked);
        let below = RowOperands::lower(self.dialect, params, node, alias, (rows, None), room);
        let operands = |source: &ColumnSource| below.get(source);
        let exists = match &node.filter {
            Some(filter) => present.and(predicate::lower(self.dialect, params, &operands, filter)),
            None => present,
        };
        RelatedOperands { exists, columns: Vec::new() }
    }

    /// Joins aggregates of the records, grouped by parent, so that their table is read once instead of once for each row.
    /// Returns `None` if a group could have other records than its row, or if conditions on the parents would be evaluated
    /// twice.
    fn join_groups(
        &self,
        params: &mut ParamsOf<'_, D>,
        related: &'a Related,
        alias: String,
        rows: &mut SelectStatement,
    ) -> Option<RelatedOperands<D>> {
        let (dialect, node) = (self.dialect, &related.node);
        let (Link::Direct { pairs }, Some(grouping), true) =
            (&related.link, &node.grouping, related.is_same_type)
        else {
            return None;
        };
        // The sum of a group without a parent could be out of range, which is an error.
        let can_fail = grouping.aggregates.iter().any(|call| call.function == AggregateFn::Sum);
        let of_parents = can_fail || self.node.filter.is_some();
        // The condition on the parents would be evaluated twice.
        if of_parents && self.node.related.iter().any(|related| related.node.grouping.is_none()) {
            return None;
        }
        let mut groups = Query::select();
        groups.from_as(dialect.table(&node.table), alias.clone());
        let below = RowOperands::new(dialect, params, node, alias.clone(), (&mut groups, false));
        let operands = |source: &ColumnSource| below.get(source);
        if let Some(filter) = &node.filter {
            groups.and_where(predicate::lower(dialect, params, &operands, filter));
        }
        if of_parents {
            groups.and_where(self.has_parent(params, related, &alias, pairs));
        }
        for (index, pair) in pairs.iter().enumerate() {
            let key = Expr::col((alias.clone(), pair.target.clone()));
            groups.expr_as(key.clone(), format!("k{index}")).add_group_by([key]);
        }
        for (index, call) in grouping.aggregates.iter().enumerate() {
            groups.expr_as(group::aggregate(dialect, &operands, call).expr, format!("a{index}"));
        }
        let linked = pairs.iter().enumerate().map(|(index, pair)| {
            let key = Expr::col((alias.clone(), format!("k{index}")));
            self.equal(pair, Operand::of(key, node.native.get(&pair.target)), &self.alias)
        });
        rows.join_subquery(JoinType::LeftJoin, groups, alias.clone(), linked.reduce(Expr::and)?);
        let columns = node.columns.iter().filter_map(|column| {
            let ColumnSource::Aggregate(index) = column.source else { return None };
            let call = grouping.aggregates.get(index)?;
            let value = Expr::col((alias.clone(), format!("a{index}")));
            let value = match call.function {
                AggregateFn::Count => Func::coalesce([value, Expr::Constant(0.into())]).into(),
                _ => value,
            };
            Some(group::aggregate(dialect, &operands, call).with_expr(value))
        });
        let columns = columns.collect();
        Some(RelatedOperands { exists: Expr::Constant(true.into()), columns })
    }

    /// Returns the condition that a related record belongs to one of the rows. With this condition, the database can begin at
    /// the rows if they are few.
    fn has_parent(
        &self,
        params: &mut ParamsOf<'_, D>,
        related: &Related,
        alias: &str,
        pairs: &[ColumnPair],
    ) -> Expr {
        let (dialect, node) = (self.dialect, self.node);
        let parent = format!("{alias}_p");
        let mut parents = Query::select();
        parents.expr(Expr::Constant(1.into())).from_as(dialect.table(&node.table), parent.clone());
        for pair in pairs {
            let source = ColumnSource::Column(pair.target.clone());
            let key = table_operand(&related.node.native, alias, &source);
            parents.and_where(self.equal(pair, key, &parent));
        }
        if let Some(filter) = &node.filter {
            let columns = |source: &ColumnSource| table_operand(&node.native, &parent, source);
            parents.and_where(predicate::lower(dialect, params, &columns, filter));
        }
        Expr::exists(parents)
    }

    /// Returns the condition that a key of related records equals the parent's column of the pair, in the node's rows under
    /// `alias`.
    fn equal(&self, pair: &ColumnPair, key: OperandOf<D>, alias: &str) -> Expr {
        let source = ColumnSource::Column(pair.parent.clone());
        self.dialect.equal(key, table_operand(&self.node.native, alias, &source))
    }

    /// Returns the condition that the row's key is in a list of the keys of the related records. The condition may be unknown
    /// instead of false. Returns `None` if a list would compare differently than the link.
    fn list_condition(&self, related: &Related, alias: &str, records: &SelectStatement) -> Option<Expr> {
        let dialect = self.dialect;
        let mut list = records.clone();
        let key = match &related.link {
            Link::Direct { pairs } => {
                let [pair] = pairs.as_slice() else { return None };
                // A list of keys compares as the link does only if both columns have the same type.
                if !related.is_same_type {
                    return None;
                }
                list.column((alias.to_owned(), pair.target.clone()));
                &pair.parent
            }
            Link::Through { table, from, to, parent, target, .. } => {
                list.column((alias.to_owned(), target.clone()));
                let to = Expr::col((JUNCTION, to.clone()));
                let mut pairs = Query::select();
                pairs
                    .column((JUNCTION, from.clone()))
                    .from_as(dialect.table(table), JUNCTION)
                    .and_where(dialect.is_in_subquery(to, list, related.node.native.get(target)));
                list = pairs;
                parent
            }
        };
        let column = Expr::col((self.alias.clone(), key.clone()));
        Some(dialect.is_in_subquery(column, list, self.node.native.get(key)))
    }

    /// Lowers related records to correlated subqueries.
    fn subquery(
        &self,
        params: &mut ParamsOf<'_, D>,
        related: &'a Related,
        alias: String,
        is_required: bool,
    ) -> RelatedOperands<D> {
        let (dialect, node) = (self.dialect, &related.node);
        let mut records = Query::select();
        records.from_as(dialect.table(&node.table), alias.clone());
        let below = RowOperands::new(dialect, params, node, alias.clone(), (&mut records, false));
        let operands = |source: &ColumnSource| below.get(source);
        if let Some(filter) = &node.filter {
            records.and_where(predicate::lower(dialect, params, &operands, filter));
            if is_required
                && is_selective(node, filter)
                && let Some(exists) = self.list_condition(related, &alias, &records)
            {
                return RelatedOperands { exists, columns: Vec::new() };
            }
        }
        match &related.link {
            // A record may occur more than once in this join, which does not change `EXISTS`.
            Link::Through { table, from, to, target, parent, .. }
                if D::REORDERS_EXISTS && node.columns.is_empty() =>
            {
                let name = format!("{alias}_{JUNCTION}");
                let column = |alias: &str, name: &String| Expr::col((alias.to_owned(), name.clone()));
                let equal = |left: Expr, right: Expr, native| {
                    dialect.compare_same_type(left, CompareOp::Eq, right, native)
                };
                let native = node.native.get(target);
                let pair = equal(column(&alias, target), column(&name, to), native);
                let native = self.node.native.get(parent);
                let linked = equal(column(&name, from), column(&self.alias, parent), native);
                records.join_as(JoinType::InnerJoin, dialect.table(table), name, pair).and_where(linked);
            }
            _ => {
                records.and_where(self.linked(related, &alias));
            }
        }
        let columns = node.columns.iter().map(|column| {
            let mut one = records.clone();
            let value = match (&node.grouping, &column.source) {
                (Some(grouping), ColumnSource::Aggregate(index)) => {
                    let call = grouping.aggregates.get(*index);
                    call.map(|call| group::aggregate(dialect, &operands, call))
                }
                _ => {
                    order_by(&mut one, sort_terms::<D>(&operands, &node.order));
                    one.limit(1);
                    None
                }
            };
            let value = value.unwrap_or_else(|| operands(&column.source));
            one.expr(value.expr.clone());
            value.with_expr(Expr::SubQuery(None, Box::new(one.into())))
        });
        let columns = columns.collect();
        RelatedOperands { exists: Expr::exists(records.expr(Expr::Constant(1.into())).take()), columns }
    }

    /// Returns the condition that related records belong to the row.
    fn linked(&self, related: &Related, alias: &str) -> Expr {
        let keys: Vec<&String> = match &related.link {
            Link::Direct { pairs } => pairs.iter().map(|pair| &pair.parent).collect(),
            Link::Through { parent, .. } => vec![parent],
        };
        let keys = keys.into_iter().map(|key| {
            let column = Expr::col((self.alias.clone(), key.clone()));
            self.dialect.parent_key(column, related.is_same_type)
        });
        let link = (&related.link, &related.node);
        linked(self.dialect, self.node, link, (alias, self.aliases.1), keys)
    }
}

/// Returns an operand that has the type of a value of a node's rows, but refers to no table.
pub(super) fn typed_placeholder<D: Dialect>(dialect: &D, node: &Node, source: &ColumnSource) -> OperandOf<D> {
    let related = match source {
        ColumnSource::Related { related, column } => node
            .related
            .get(*related)
            .and_then(|related| Some((&related.node, related.node.columns.get(*column)?))),
        _ => None,
    };
    let Some((below, column)) = related else { return table_operand(&node.native, "", source) };
    let operands = |source: &ColumnSource| typed_placeholder(dialect, below, source);
    match (&below.grouping, &column.source) {
        (Some(grouping), ColumnSource::Aggregate(index)) => match grouping.aggregates.get(*index) {
            Some(call) => group::aggregate(dialect, &operands, call),
            None => Operand::of(Expr::null(), None),
        },
        (_, source) => operands(source),
    }
}

/// Returns whether the record is joined to the rows: it is at the end of a path, and the database has at most one.
fn is_joined(related: &Related) -> bool {
    let node = &related.node;
    let is_plain = || !node.filter.as_ref().is_some_and(Predicate::has_related);
    related.is_unique && !node.columns.is_empty() && node.grouping.is_none() && is_plain()
}

/// Returns whether a value of a node's rows is a subquery.
pub(super) fn is_subquery(node: &Node, source: &ColumnSource) -> bool {
    let ColumnSource::Related { related, .. } = source else { return false };
    node.related.get(*related).is_some_and(|related| !is_joined(related))
}
