//! The levels of a plan that is answered by one statement: one for the root, and one for each relation that needs rows of its
//! own. The records of other to-one relations are joined to the rows of their parents.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use mesh_plan::plan::{ColumnSource, Grouping, Join, Nesting, ReadTarget, RowCount, SortKey};
use mesh_plan::{Node, Plan, Value};
use sea_query::{Expr, Query, SelectStatement, WithClause};

use crate::alias::{column_name, rows_alias, table_alias};
use crate::class::Class;
use crate::custom::count_rows;
use crate::dialect::{Dialect, Operands, ParamsOf};
use crate::join_room::JoinRoom;
use crate::layout::Layout;
use crate::links::native_type;
use crate::node_select::{NodeSelect, all_rows};
use crate::order::SortTerm;
use crate::param::{self, Param};
use crate::related::typed_placeholder;
use crate::statement::{Params, Statement};
use crate::{group, keyset};

/// How a dialect renders levels.
pub trait LevelDialect: Dialect {
    /// The type of the number of all rows.
    const COUNT_TYPE: &'static str;

    /// Whether the database evaluates a level anew for each level below it.
    const REPEATS_LEVELS: bool;

    /// Returns whether the record of a to-one relation may be joined to the rows of its parents.
    fn may_join(join: &Join) -> bool;

    /// Returns the order of a node's rows.
    fn sort_keys(node: &Node) -> Cow<'_, [SortKey]> {
        Cow::Borrowed(&node.order)
    }

    /// Returns the groups of rows, still without columns.
    fn fold(
        &self,
        _levels: &[Level],
        rows: SelectStatement,
        operands: &Operands<'_, Self>,
        grouping: &Grouping,
        _scope: &Scope,
    ) -> SelectStatement {
        group::fold(self, rows, operands, grouping)
    }

    /// Adds the order and the limit of a node's rows or groups.
    fn limit(
        &self,
        select: &mut SelectStatement,
        node: &Node,
        operands: &Operands<'_, Self>,
        keys: &[SortKey],
        scope: &Scope,
    );

    /// Returns the rows of the root's level. `columns` are the numbers of its columns.
    fn root_rows(&self, node: &Node, alias: &str, columns: &[usize], is_point: bool) -> LevelRows;

    /// Adds the record of a to-one relation to the rows of its parents, whose columns with these numbers are its keys.
    fn add_joined<'p>(
        lowering: &mut Lowering<'p, Self>,
        join: &'p Join,
        parent: &'p Node,
        keys: &[usize],
        position: &Position<'_>,
    ) -> Layout;

    /// Adds a relation as a level.
    fn add_level<'p>(lowering: &mut Lowering<'p, Self>, relation: &PendingRelation<'p>) -> Layout;

    /// Returns the order of the rows of a level that is alone.
    fn order(level: &Level) -> &[SortTerm];

    /// Returns the numbers with which each row of a level begins: those of the level, of the parent's row and of the row.
    fn head(number: usize, level: &Level) -> [Expr; 3];

    /// Adds a level to the `FROM` clause of the select that reads its rows for the response.
    fn add_from(select: &mut SelectStatement, levels: &[Level], number: usize);

    /// Returns the common table expressions of levels.
    fn expressions(levels: &[Level]) -> WithClause;

    /// Returns the text of a statement for several point reads that differ only in their ids
    /// ([`ReadStatement::batch`](crate::ReadStatement::batch)).
    fn batch(_statement: &Statement<Param<Self::Class>>, _levels: usize) -> Option<Arc<str>> {
        None
    }
}

/// The rows of a level.
#[derive(Clone)]
pub enum LevelRows {
    /// At most one row.
    One,
    /// Rows in this order.
    Ordered(Vec<SortTerm>),
    /// The rows of the only parent, in this order.
    SingleParent(Vec<SortTerm>),
    /// The rows of several parents, with the numbers of the row and of its parent: the first `per_parent` rows of each parent
    /// after its `skip` rows, and at most `rows_max` rows of all parents.
    SeveralParents { skip: Option<Expr>, per_parent: Expr, rows_max: u64 },
}

/// What limits the rows of a node.
pub enum Scope {
    /// The rows in any order, at most so many.
    Any(Option<u64>),
    /// The first rows, at most so many, with columns by which they can be sorted.
    First(Option<u64>),
    /// The rows of the parents in a level, numbered within each parent.
    OfParents {
        level: usize,
        /// The largest row number of the parents that the response shows.
        row_number_max: Option<Expr>,
    },
}

/// A level under construction.
#[derive(Clone)]
pub struct Level {
    /// Everything but the select list and the order.
    pub(crate) select: SelectStatement,
    pub(crate) rows: LevelRows,
    /// The level whose rows are the parents.
    pub(crate) parent: Option<usize>,
    /// The aliases of the subqueries that it takes columns from. The first one has the rows.
    pub(crate) sources: Vec<String>,
    pub(crate) has_children: bool,
    room: JoinRoom,
    /// The columns that the response needs: number, expression and type.
    pub(crate) shown: Vec<(usize, Expr, &'static str)>,
}

/// A relation that has no level yet. The level of its parents exists.
pub struct PendingRelation<'p> {
    pub(crate) join: &'p Join,
    pub(crate) parent: &'p Node,
    pub(crate) level: usize,
    pub(crate) key: ParentKey,
    pub(crate) path: Vec<usize>,
}

/// The parent's values that the link of a relation compares.
pub(crate) enum ParentKey {
    /// The parent's columns, by their numbers.
    Columns(Vec<usize>),
    /// The id of the point read: the level of the parent need be neither read nor kept.
    Id(Expr),
}

/// The position at which the columns of a node are added.
#[derive(Clone, Copy)]
pub struct Position<'a> {
    pub(crate) level: usize,
    /// The alias of the node's rows in that level.
    pub(crate) alias: &'a str,
    pub(crate) path: &'a [usize],
}

/// The lowering of a plan to levels.
pub struct Lowering<'p, D: LevelDialect> {
    pub(crate) params: ParamsOf<'p, D>,
    pub(crate) dialect: &'p D,
    pub(crate) levels: Vec<Level>,
    pub(crate) rows_max: u64,
    is_point: bool,
    /// The id of a point read, if its children need nothing else of the root.
    id: Option<Expr>,
    /// The values of the cursor.
    after: Option<&'p [Value]>,
    /// The number of rows of the root that the response shows; the statement fetches one more.
    page: Option<RowCount>,
    /// The next number of a node or column.
    count: usize,
    pub(crate) pending: VecDeque<PendingRelation<'p>>,
}

impl<'p, D: LevelDialect> Lowering<'p, D> {
    pub(crate) fn new(plan: &'p Plan, dialect: &'p D) -> Self {
        Self {
            params: Params::new(plan.inputs(), None),
            dialect,
            levels: Vec::new(),
            rows_max: plan.rows_max() as u64 + 1,
            is_point: matches!(plan.target(), ReadTarget::Point(_)),
            id: None,
            after: plan.cursor(),
            page: None,
            count: 0,
            pending: VecDeque::new(),
        }
    }

    pub(crate) fn next(&mut self) -> usize {
        self.count += 1;
        self.count - 1
    }

    /// Numbers a node and its columns.
    pub(crate) fn numbers(&mut self, node: &Node) -> (usize, Vec<usize>) {
        (self.next(), node.columns.iter().map(|_| self.next()).collect())
    }

    pub(crate) fn root(&mut self, node: &'p Node) -> Layout {
        let (number, columns) = self.numbers(node);
        let alias = rows_alias(number);
        let limit = match &node.page {
            _ if self.is_point => (!self.has_unique_id(node)).then_some(1),
            page => page.as_ref().map(|page| match page.size {
                RowCount::Rows(rows) => u64::from(rows) + 1,
                RowCount::Input(slot) => param::limit(&mut self.params, slot, 1),
            }),
        };
        let scope = if self.is_point { Scope::Any(limit) } else { Scope::First(limit) };
        let rows = self.rows(node, (number, &columns), Query::select(), Vec::new(), &scope);
        let kind = self.dialect.root_rows(node, &alias, &columns, self.is_point);
        let select = Query::select().from_subquery(rows, alias.clone()).take();
        self.push_level(node, None, &alias, select, kind);
        self.page = node.page.as_ref().filter(|_| !self.is_point).map(|page| page.size);
        self.add(node, &Position { level: 0, alias: &alias, path: &[] }, columns, None)
    }

    /// Returns the select of a node's rows or groups, with the number of the node and those of its columns. `select` has the
    /// parents, if their level is read, and `conditions` link the rows to them.
    pub(crate) fn rows(
        &mut self,
        node: &Node,
        (number, numbers): (usize, &[usize]),
        select: SelectStatement,
        conditions: Vec<Expr>,
        scope: &Scope,
    ) -> SelectStatement {
        let (dialect, is_root) = (self.dialect, self.levels.is_empty());
        // The rows of one parent are few.
        let reads_all = is_root && !self.is_point;
        let alias = table_alias(number);
        let mut rows = NodeSelect::new(dialect, &mut self.params, node, alias, select, reads_all);
        if is_root && self.is_point {
            // If the record has a condition, its children are read through its level, so that they are not searched for if the
            // condition does not hold.
            self.id = rows.find_id(&mut self.params).filter(|_| node.filter.is_none());
        }
        for condition in conditions {
            rows.select.and_where(condition);
        }
        rows.filter_and_fold(&mut self.params, |rows, operands, grouping| {
            dialect.fold(&self.levels, rows, operands, grouping, scope)
        });
        let mut select = rows.select.take();
        for (known, number) in node.columns.iter().zip(numbers) {
            select.expr_as(rows.operand(&known.source).expr, column_name(*number));
        }
        if node.columns.is_empty() {
            // The columns of a level must have different names.
            select.expr_as(Expr::Constant(1.into()), column_name(self.next()));
        }
        let operands = |source: &ColumnSource| rows.operand(source);
        let keys = D::sort_keys(node);
        // Only the root has a cursor.
        if let Some(after) = self.after.filter(|_| is_root) {
            select.and_where(keyset::after(dialect, &mut self.params, &operands, &keys, after));
        }
        dialect.limit(&mut select, node, &operands, &keys, scope);
        // The rows of several parents have numbers for it.
        if let (Some(skip), Scope::Any(_) | Scope::First(_)) = (skip(node), scope) {
            select.offset(param::offset(&mut self.params, skip));
        }
        select
    }

    /// Adds the columns of a node to its level, and the to-one relations below it. Other relations become pending. `columns` are
    /// the numbers of the node's columns, which the layout holds until the statement is rendered.
    pub(crate) fn add(
        &mut self,
        node: &'p Node,
        position: &Position<'_>,
        columns: Vec<usize>,
        presence: Option<usize>,
    ) -> Layout {
        let dialect = self.dialect;
        let mut timestamps = vec![false; columns.len()];
        let needed = columns.iter().zip(&node.columns).zip(&mut timestamps).enumerate();
        for (_, ((number, known), is_timestamp)) in needed.filter(|(index, _)| node.needs(*index)) {
            let rows = |source: &ColumnSource| typed_placeholder(dialect, node, source);
            let value = match &node.grouping {
                Some(grouping) => group::operand(dialect, &rows, grouping, &known.source),
                None => rows(&known.source),
            };
            self.show(position.level, *number, &value.class);
            *is_timestamp = value.class.is_utc();
        }
        let mut joins = Vec::with_capacity(node.joins.len());
        for (index, join) in node.joins.iter().enumerate() {
            let keys: Vec<usize> =
                join.parent_keys.iter().filter_map(|key| columns.get(*key).copied()).collect();
            let path: Vec<usize> = position.path.iter().copied().chain([index]).collect();
            if D::may_join(join) && self.has_room(position.level, join) {
                let position = Position { path: &path, ..*position };
                joins.push(D::add_joined(self, join, node, &keys, &position));
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
        Layout { level: position.level, columns, timestamps, presence, joins, total: None }
    }

    /// Adds a level whose first rows are those of a node under that alias. Returns its number.
    pub(crate) fn push_level(
        &mut self,
        node: &Node,
        parent: Option<usize>,
        alias: &str,
        select: SelectStatement,
        rows: LevelRows,
    ) -> usize {
        let room =
            if D::REPEATS_LEVELS { JoinRoom::of_repeated(node, &D::may_join) } else { JoinRoom::default() };
        let (sources, shown) = (vec![alias.to_owned()], Vec::new());
        self.levels.push(Level { select, rows, parent, sources, has_children: false, room, shown });
        self.levels.len() - 1
    }

    /// Takes the room for a record in a level. Returns whether there was enough.
    fn has_room(&mut self, level: usize, join: &Join) -> bool {
        self.levels.get_mut(level).is_some_and(|level| level.room.take(join))
    }

    /// Adds a level with the number of all rows of the root. Returns the level and the number of its column.
    pub(crate) fn total(&mut self, node: &'p Node) -> (usize, usize) {
        let (number, count) = (self.next(), self.next());
        let mut rows = all_rows(self.dialect, &mut self.params, node, table_alias(number));
        rows.expr_as(count_rows(), column_name(count));
        let alias = rows_alias(number);
        let select = Query::select().from_subquery(rows, alias.clone()).take();
        let level = self.push_level(node, None, &alias, select, LevelRows::One);
        if let Some(level) = self.levels.get_mut(level) {
            level.shown.push((count, Expr::col(column_name(count)), D::COUNT_TYPE));
        }
        (level, count)
    }

    /// Shows a column in the rows of a level.
    pub(crate) fn show(&mut self, level: usize, number: usize, class: &D::Class) {
        if let Some(level) = self.levels.get_mut(level) {
            let (expr, ty) = class.shown(Expr::col(column_name(number)));
            level.shown.push((number, expr, ty));
        }
    }

    /// Returns the number of rows of a relation for each parent. A number from a parameter needs a statement in which the
    /// parents are read one by one.
    pub(crate) fn rows_per_parent(&mut self, join: &Join, one_by_one: bool) -> u64 {
        match join.node.page.as_ref().map(|page| page.size) {
            _ if join.nesting == Nesting::Record => 1,
            Some(RowCount::Rows(rows)) => self.rows_max.min(rows.into()),
            Some(RowCount::Input(slot)) if one_by_one => param::limit(&mut self.params, slot, 0),
            Some(RowCount::Input(_)) | None => self.rows_max,
        }
    }

    /// Returns the number of rows of a level that the response shows, if the statement fetches more.
    pub(crate) fn shown_rows(&mut self, level: usize) -> Option<Expr> {
        self.page.filter(|_| level == 0).map(|page| self.page_size(page))
    }

    /// Returns the size of a page.
    pub(crate) fn page_size(&mut self, size: RowCount) -> Expr {
        match size {
            RowCount::Rows(rows) => Expr::Constant(i64::from(rows).into()),
            RowCount::Input(slot) => param::rows(&mut self.params, slot),
        }
    }

    /// Returns whether the database itself ensures that at most one record has the id of a point read.
    fn has_unique_id(&self, node: &Node) -> bool {
        node.id.iter().any(|id| {
            let native = native_type(node, &id.source);
            native.is_some_and(|it| it.unique) && D::Class::of(native).is_bindable()
        })
    }
}

/// Returns the number of rows before the page of a node.
pub(crate) fn skip(node: &Node) -> Option<RowCount> {
    node.page.as_ref()?.skip
}

/// Returns whether the link of a relation compares only the parent's id, and this id has one column.
fn links_id(join: &Join, parent: &Node) -> bool {
    let [id] = parent.id.as_slice() else { return false };
    let id = Some(&id.source);
    let mut keys = join.parent_keys.iter().map(|key| parent.columns.get(*key).map(|column| &column.source));
    join.parent_keys.len() == 1 && keys.all(|key| key.is_some() && key == id)
}
