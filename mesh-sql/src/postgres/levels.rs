//! The levels of a plan: one for the root, one for each to-many relation, and one for each to-one relation that does not fit into
//! the level of its parent.

use std::collections::VecDeque;

use mesh_schema::Link;
use sea_query::{Expr, JoinType, Query, SelectStatement};

use super::Operand;
use super::Param;
use super::ReadStatement;
use super::batch;
use super::dialect::{Features, Postgres};
use super::links::{has_unique_id, leads_to_one, links_id, presence};
use super::render::{self, Level, PARENTS};
use super::type_class::TypeClass;
use crate::class::Class as _;
use crate::custom::{count_rows, operator};
use crate::dialect::{Dialect as _, Operands};
use crate::keyset;
use crate::layout::Layout;
use crate::links::{JUNCTION, linked};
use crate::order::{order_by, sort_terms};
use crate::param;
use crate::related::{RowOperands, typed_placeholder};
use crate::statement::Params;
use crate::{group, predicate};
use mesh_plan::Value;
use mesh_plan::{ColumnSource, CompareOp, Join, JoinForm, Node, PageSize, Plan, Target};

impl ReadStatement {
    /// Lowers a plan.
    pub fn from_plan(plan: &Plan, features: &Features) -> Self {
        let node = plan.node();
        let mut lowering = Lowering::new(plan, features);
        let mut root = lowering.root(node);
        // Breadth first, so that the number of a level is its position in the statement.
        while let Some(relation) = lowering.pending.pop_front() {
            let layout = lowering.add_level(&relation);
            if let Some(below) = layout_at(&mut root, &relation.path) {
                *below = layout;
            }
        }
        if node.page.as_ref().is_some_and(|page| page.total) {
            root.total = Some(lowering.total(node));
        }
        let levels = lowering.levels.len();
        let (statement, indexes) = render::statement(&lowering.params, lowering.levels);
        render::resolve_indexes(&mut root, &indexes);
        let depends_on_values = plan
            .cursor()
            .unwrap_or_default()
            .iter()
            .chain(plan.inputs())
            .any(|value| !TypeClass::is_storable(value));
        Self { statement, levels, layout: root, tables: 0, depends_on_values }
    }
}

/// Returns the layout at the end of a path of joins.
fn layout_at<'l>(root: &'l mut Layout, path: &[usize]) -> Option<&'l mut Layout> {
    path.iter().try_fold(root, |layout, index| layout.joins.get_mut(*index))
}

pub(super) struct Lowering<'p> {
    pub(super) params: Params<Param>,
    pub(super) dialect: Postgres<'p>,
    point: bool,
    /// Whether the ids of point reads are columns of [`batch::READS`].
    is_batch: bool,
    /// The id of a point read, if its children need nothing else of the root.
    id: Option<Expr>,
    /// The values of the cursor.
    after: Option<&'p [Value]>,
    /// The number of rows of the root that the response shows; the statement fetches one more.
    page: Option<PageSize>,
    rows_max: usize,
    /// The next number of a node or column.
    count: usize,
    pub(super) levels: Vec<Level>,
    pending: VecDeque<PendingRelation<'p>>,
}

/// A relation that has no level yet. The level of its parents exists.
struct PendingRelation<'p> {
    join: &'p Join,
    parent: &'p Node,
    level: usize,
    key: ParentKey,
    path: Vec<usize>,
}

/// The parent's values that the link of a relation compares.
enum ParentKey {
    /// The parent's columns, by their numbers.
    Columns(Vec<usize>),
    /// The id of the point read: the level of the parent need be neither read nor kept.
    Id(Expr),
}

/// The position at which the columns of a node are added.
struct Position<'a> {
    level: usize,
    /// The alias of the node's rows in that level.
    alias: &'a str,
    path: &'a [usize],
}

impl<'p> Lowering<'p> {
    fn new(plan: &'p Plan, features: &'p Features) -> Self {
        Self {
            params: Params::new(None),
            dialect: Postgres { features, inputs: plan.inputs() },
            point: matches!(plan.target(), Target::Point(_)),
            is_batch: false,
            id: None,
            after: plan.cursor(),
            page: None,
            rows_max: plan.rows_max(),
            count: 0,
            levels: Vec::new(),
            pending: VecDeque::new(),
        }
    }

    /// Lowers a point read without to-many relations, whose id is in the columns of [`batch::READS`].
    pub(super) fn of_batch(plan: &'p Plan, features: &'p Features) -> Self {
        let mut lowering = Self { is_batch: true, ..Self::new(plan, features) };
        lowering.root(plan.node());
        lowering
    }

    fn next(&mut self) -> usize {
        self.count += 1;
        self.count - 1
    }

    /// Numbers a node and its columns.
    fn numbers(&mut self, node: &Node) -> (usize, Vec<usize>) {
        (self.next(), node.columns.iter().map(|_| self.next()).collect())
    }

    fn root(&mut self, node: &'p Node) -> Layout {
        let (number, columns) = self.numbers(node);
        let alias = rows_alias(number);
        let limit = match &node.page {
            _ if self.point => (!has_unique_id(node)).then_some(1),
            page => page.as_ref().map(|page| match page.size {
                PageSize::Rows(rows) => u64::from(rows) + 1,
                PageSize::Input(slot) => param::limit(&mut self.params, slot, 1),
            }),
        };
        let rows = self.rows(node, number, &columns, None, limit);
        let from = Query::select().from_subquery(rows, alias.clone()).take();
        self.levels.push(Level { is_one: self.point, ..Level::new(from, alias.clone()) });
        self.page = node.page.as_ref().filter(|_| !self.point).map(|page| page.size);
        let layout = self.add(node, &Position { level: 0, alias: &alias, path: &[] }, columns.clone(), None);
        // Joins do not keep the order of the page.
        if let Some(level) = self.levels.first_mut()
            && level.parts.len() > 1
        {
            let operands = |source: &ColumnSource| {
                let index = node.columns.iter().position(|column| column.source == *source);
                let number = index.and_then(|index| columns.get(index).copied()).unwrap_or_default();
                let value = typed_placeholder(&self.dialect, node, source);
                Operand { expr: column(&alias, number), ..value }
            };
            level.order = sort_terms(&self.dialect, &operands, &node.order).collect();
        }
        layout
    }

    /// Adds the columns of a node to its level, and the to-one relations below it. To-many relations become pending.
    /// `columns` are the numbers of the node's columns, which the layout holds until the statement is rendered.
    fn add(
        &mut self,
        node: &'p Node,
        position: &Position<'_>,
        columns: Vec<usize>,
        presence: Option<usize>,
    ) -> Layout {
        for (index, number) in columns.iter().enumerate() {
            if let Some(known) = node.columns.get(index).filter(|_| node.needs(index)) {
                let dialect = self.dialect;
                let rows = |source: &ColumnSource| typed_placeholder(&dialect, node, source);
                let value = match &node.grouping {
                    Some(grouping) => group::operand(&dialect, &rows, grouping, &known.source),
                    None => rows(&known.source),
                };
                self.show(position.level, *number, &value.class);
            }
        }
        let mut joins = Vec::with_capacity(node.joins.len());
        for (index, join) in node.joins.iter().enumerate() {
            let keys: Vec<usize> =
                join.parent_keys.iter().filter_map(|key| columns.get(*key).copied()).collect();
            let path: Vec<usize> = position.path.iter().copied().chain([index]).collect();
            if join.form == JoinForm::Record && self.has_room(position.level, join) {
                joins.push(self.add_joined(join, node, &keys, &Position { path: &path, ..*position }));
                continue;
            }
            let id = self.id.clone().filter(|_| path.len() == 1 && links_id(join, node));
            let key = id.map_or(ParentKey::Columns(keys), ParentKey::Id);
            if let (ParentKey::Columns(_), Some(level)) = (&key, self.levels.get_mut(position.level)) {
                level.has_children = true;
            }
            self.pending.push_back(PendingRelation { join, parent: node, level: position.level, key, path });
            joins.push(Layout::default());
        }
        let columns = columns.into_iter().map(Some).collect();
        Layout { level: position.level, columns, timestamps: Vec::new(), presence, joins, total: None }
    }

    /// Takes the room for a record in a level. Returns whether there was enough.
    fn has_room(&mut self, level: usize, join: &Join) -> bool {
        self.levels.get_mut(level).is_some_and(|level| level.room.take(join))
    }

    /// Adds a to-one relation to the rows of its parents.
    fn add_joined(
        &mut self,
        join: &'p Join,
        parent: &'p Node,
        keys: &[usize],
        position: &Position<'_>,
    ) -> Layout {
        let node = &join.node;
        let (number, columns) = self.numbers(node);
        let (alias, table_alias) = (rows_alias(number), table_alias(number));
        let keys = keys.iter().map(|key| column(position.alias, *key));
        let linked = linked(&self.dialect, parent, (&join.link, node), (&table_alias, JUNCTION), keys);
        // Without a limit, the database can choose the cheapest join, but that does not keep the order of the parents. Only the
        // rows of the root are sorted again, so the joins of other levels have a limit.
        let limit = (position.level > 0 || !leads_to_one(join)).then_some(1);
        let mut rows = self.rows(node, number, &columns, Some(linked), limit);
        // A column that the link compares is never NULL if there is a row.
        let compared = match &join.link {
            Link::Direct { pairs } => node.columns.iter().enumerate().find_map(|(index, known)| {
                let is_linked =
                    pairs.iter().any(|pair| known.source == ColumnSource::Column(pair.target.clone()));
                if is_linked && node.needs(index) { columns.get(index).copied() } else { None }
            }),
            Link::Through { .. } => None,
        };
        let presence = compared.unwrap_or_else(|| {
            let number = self.next();
            let Operand { expr, class, .. } = presence(join, &table_alias);
            rows.expr_as(expr, column_name(number));
            self.show(position.level, number, &class);
            number
        });
        if let Some(level) = self.levels.get_mut(position.level) {
            level.select.join_lateral(JoinType::LeftJoin, rows, alias.clone(), on_true());
            level.parts.push(alias.clone());
        }
        self.add(node, &Position { alias: &alias, ..*position }, columns, Some(presence))
    }

    /// Adds a relation as a level.
    fn add_level(&mut self, relation: &PendingRelation<'p>) -> Layout {
        let PendingRelation { join, parent, level, key, path } = relation;
        let node = &join.node;
        let (number, columns) = self.numbers(node);
        let alias = rows_alias(number);
        let keys: Vec<Expr> = match key {
            ParentKey::Columns(keys) => keys.iter().map(|key| column(PARENTS, *key)).collect(),
            ParentKey::Id(id) => vec![id.clone()],
        };
        let linked =
            linked(&self.dialect, parent, (&join.link, node), (&table_alias(number), JUNCTION), keys);
        let rows_max = self.rows_max as u64 + 1;
        let limit = match &node.page {
            _ if join.form == JoinForm::Record => 1,
            None => rows_max,
            Some(page) => match page.size {
                PageSize::Rows(rows) => Ord::min(rows_max, rows.into()),
                PageSize::Input(slot) => param::limit(&mut self.params, slot, 0),
            },
        };
        let rows = self.rows(node, number, &columns, Some(linked), Some(limit));
        let mut select = Query::select();
        match key {
            ParentKey::Columns(_) => {
                select.from_as(render::level_name(*level), PARENTS);
                select.join_lateral(JoinType::InnerJoin, rows, alias.clone(), on_true());
            }
            ParentKey::Id(_) => {
                select.from_subquery(rows, alias.clone());
            }
        }
        if let Some(page) = self.page.filter(|_| *level == 0) {
            let shown = match page {
                PageSize::Rows(rows) => Expr::Constant(i64::from(rows).into()),
                PageSize::Input(slot) => param::rows(&mut self.params, slot),
            };
            let number = Expr::col((PARENTS, render::ROW_NUMBER));
            select.and_where(operator(number, CompareOp::Lte, None, shown));
        }
        // The rows of a single parent are bounded already.
        if !self.levels.get(*level).is_some_and(|level| level.is_one) {
            select.limit(rows_max);
        }
        let here = self.levels.len();
        self.levels.push(Level { parent: Some(*level), ..Level::new(select, alias.clone()) });
        self.add(node, &Position { level: here, alias: &alias, path }, columns, None)
    }

    /// Adds a level with the number of all rows of the root. Returns the level and the number of its column.
    fn total(&mut self, node: &'p Node) -> (usize, usize) {
        let (number, count) = (self.next(), self.next());
        let dialect = self.dialect;
        let mut rows = Query::select();
        let alias = table_alias(number);
        rows.from_as(dialect.table(&node.table), alias.clone());
        let values = RowOperands::new(&dialect, &mut self.params, node, alias, &mut rows);
        let operands = |source: &ColumnSource| values.get(source);
        if let Some(filter) = &node.filter {
            rows.and_where(predicate::lower(&dialect, &mut self.params, &operands, filter));
        }
        if let Some(grouping) = &node.grouping {
            rows = group::fold(&dialect, rows, &operands, grouping);
            let operands = |source: &ColumnSource| group::operand(&dialect, &operands, grouping, source);
            if let Some(having) = &grouping.having {
                rows.and_where(predicate::lower(&dialect, &mut self.params, &operands, having));
            }
        }
        rows.expr_as(count_rows(), column_name(count));
        let level = self.levels.len();
        let alias = rows_alias(number);
        let mut counted = Level::new(Query::select().from_subquery(rows, alias.clone()).take(), alias);
        counted.shown.push((count, Expr::col(column_name(count)), "int8"));
        self.levels.push(counted);
        (level, count)
    }

    fn show(&mut self, level: usize, number: usize, class: &TypeClass) {
        if let Some(level) = self.levels.get_mut(level) {
            let (expr, ty) = class.shown(Expr::col(column_name(number)));
            level.shown.push((number, expr, ty));
        }
    }

    /// Returns the statement for a node's rows or groups. If there is a link, it is limited to the rows of one parent.
    fn rows(
        &mut self,
        node: &Node,
        number: usize,
        columns: &[usize],
        linked: Option<Expr>,
        limit: Option<u64>,
    ) -> SelectStatement {
        let dialect = self.dialect;
        let alias = table_alias(number);
        let mut rows = Query::select();
        rows.from_as(dialect.table(&node.table), alias.clone());
        // The rows of one parent are few.
        let lower =
            if linked.is_none() && !self.point { RowOperands::for_ordered_rows } else { RowOperands::new };
        let values = lower(&dialect, &mut self.params, node, alias.clone(), &mut rows);
        let operands = |source: &ColumnSource| values.get(source);
        for (part, id) in node.id.iter().enumerate().filter(|_| self.point && linked.is_none()) {
            let id = operands(&id.source);
            let wanted = match self.is_batch {
                true => batch::id(part),
                false => param::id(&mut self.params, part, &id.class),
            };
            rows.and_where(id.to_bindable().compare(CompareOp::Eq, wanted.clone()));
            // If the record has a condition, its children are read through its level, so that they are not searched for if the
            // condition does not hold.
            let is_alone = node.id.len() == 1 && node.filter.is_none();
            self.id = Some(wanted).filter(|_| is_alone && id.class.is_identity());
        }
        // Only the root has a cursor.
        let after = self.after.filter(|_| linked.is_none());
        if let Some(linked) = linked {
            rows.and_where(linked);
        }
        if let Some(filter) = &node.filter {
            rows.and_where(predicate::lower(&dialect, &mut self.params, &operands, filter));
        }
        let Some(grouping) = &node.grouping else {
            return self.complete(node, rows, columns, &operands, after, limit);
        };
        let mut groups = group::fold(&dialect, rows, &operands, grouping);
        let operands = |source: &ColumnSource| group::operand(&dialect, &operands, grouping, source);
        if let Some(having) = &grouping.having {
            groups.and_where(predicate::lower(&dialect, &mut self.params, &operands, having));
        }
        self.complete(node, groups, columns, &operands, after, limit)
    }

    /// Adds the parts that rows and groups share: columns, start, order and limit.
    fn complete(
        &mut self,
        node: &Node,
        mut select: SelectStatement,
        numbers: &[usize],
        operands: &Operands<'_, Postgres<'_>>,
        after: Option<&[Value]>,
        limit: Option<u64>,
    ) -> SelectStatement {
        let dialect = self.dialect;
        for (known, number) in node.columns.iter().zip(numbers) {
            select.expr_as(operands(&known.source).expr, column_name(*number));
        }
        if node.columns.is_empty() {
            select.expr_as(Expr::Constant(1.into()), "one");
        }
        if let Some(after) = after {
            select.and_where(keyset::after_values(&dialect, &mut self.params, operands, &node.order, after));
        }
        order_by(&mut select, sort_terms(&self.dialect, operands, &node.order));
        if let Some(limit) = limit {
            select.limit(limit);
        }
        select
    }
}

fn on_true() -> Expr {
    Expr::Constant(true.into())
}

fn table_alias(number: usize) -> String {
    format!("t{number}")
}

fn rows_alias(number: usize) -> String {
    format!("q{number}")
}

fn column_name(number: usize) -> String {
    format!("c{number}")
}

fn column(alias: &str, number: usize) -> Expr {
    Expr::col((alias.to_owned(), column_name(number)))
}
