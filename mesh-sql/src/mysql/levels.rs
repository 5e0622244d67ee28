//! The levels of a plan: one for the root, one for each to-many relation, and one for each to-one relation that may have
//! several records in the database or does not fit into the level of its parent.

mod rows;

use std::collections::VecDeque;

use mesh_schema::Link;
use sea_query::{Expr, ExprTrait as _, JoinType, Query};

use super::Operand;
use super::Param;
use super::ReadStatement;
use super::dialect::{MySql, Product};
use super::render::{self, Level, LevelRows, PARENTS};
use super::type_class::TypeClass;
use crate::class::Class as _;
use crate::custom::count_rows;
use crate::dialect::Dialect as _;
use crate::group;
use crate::join_room::{JoinRoom, tables, tables_of_join};
use crate::layout::Layout;
use crate::order::sort_terms;
use crate::param;
use crate::predicate;
use crate::related::{RowOperands, typed_placeholder};
use crate::statement::Params;
use mesh_plan::Value;
use mesh_plan::{Column, ColumnSource, Join, JoinForm, Node, PageSize, Plan, Target};

impl ReadStatement {
    /// Lowers a plan.
    pub fn from_plan(plan: &Plan, product: Product) -> Self {
        let node = plan.node();
        let mut lowering = Lowering {
            params: Params::new(None),
            dialect: MySql { product, inputs: plan.inputs() },
            point: matches!(plan.target(), Target::Point(_)),
            id: None,
            after: plan.cursor(),
            page: None,
            rows_max: plan.rows_max(),
            count: 0,
            levels: Vec::new(),
            pending: VecDeque::new(),
        };
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
        let tables = render::tables_read(&lowering.levels);
        let (statement, indexes) = render::statement(&lowering.params, lowering.levels);
        render::resolve_indexes(&mut root, &indexes);
        Self { statement, levels, layout: root, tables, depends_on_values: false }
    }
}

/// Returns the layout at the end of a path of joins.
fn layout_at<'l>(root: &'l mut Layout, path: &[usize]) -> Option<&'l mut Layout> {
    path.iter().try_fold(root, |layout, index| layout.joins.get_mut(*index))
}

struct Lowering<'p> {
    params: Params<Param>,
    dialect: MySql<'p>,
    point: bool,
    /// The id of a point read, if its children need nothing else of the root.
    id: Option<Expr>,
    /// The values of the cursor.
    after: Option<&'p [Value]>,
    /// The number of rows of the root that the response shows; the statement fetches one more.
    page: Option<PageSize>,
    rows_max: usize,
    /// The next number of a node or column.
    count: usize,
    levels: Vec<Level>,
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
    /// The id of the point read: the level of the parent need not be read.
    Id(Expr),
}

/// The parents of the rows of a node.
struct Parents<'a> {
    /// The level of the parents; `None` if there is one parent, whose key is known.
    level: Option<usize>,
    /// The largest row number of the parents that the response shows.
    row_number_max: Option<Expr>,
    link: &'a Link,
    node: &'a Node,
    keys: Vec<Expr>,
}

/// The position at which the columns of a node are added.
struct Position<'a> {
    level: usize,
    /// The alias of the node's rows in that level.
    alias: &'a str,
    path: &'a [usize],
}

impl<'p> Lowering<'p> {
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
        let kind = if self.point { LevelRows::One } else { LevelRows::Ordered(self.sort(node, &alias)) };
        self.push_level(node, None, Level::new(rows, alias.clone(), kind));
        self.page = node.page.as_ref().filter(|_| !self.point).map(|page| page.size);
        self.add(node, &Position { level: 0, alias: &alias, path: &[] }, columns, None)
    }

    /// Returns the order of rows by the columns that [`Self::complete`] adds.
    fn sort(&self, node: &Node, alias: &str) -> Vec<crate::order::SortTerm> {
        let operands = |source: &ColumnSource| {
            let index = node.order.iter().position(|key| key.source == *source).unwrap_or_default();
            // The column contains the value in a form that can be ordered.
            Operand::new(Expr::col((alias.to_owned(), sort_name(index))), TypeClass::Unknown)
        };
        sort_terms(&self.dialect, &operands, &rows::sort_keys(node)).collect()
    }

    /// Adds the columns of a node to its level, and the to-one relations below it. Other relations become pending. `columns` are
    /// the numbers of the node's columns, which the layout holds until the statement is rendered.
    fn add(
        &mut self,
        node: &'p Node,
        position: &Position<'_>,
        columns: Vec<usize>,
        presence: Option<usize>,
    ) -> Layout {
        let mut timestamps = vec![false; columns.len()];
        for (index, number) in columns.iter().enumerate() {
            if let Some(known) = node.columns.get(index).filter(|_| node.needs(index)) {
                let dialect = self.dialect;
                let rows = |source: &ColumnSource| typed_placeholder(&dialect, node, source);
                let value = match &node.grouping {
                    Some(grouping) => group::operand(&dialect, &rows, grouping, &known.source),
                    None => rows(&known.source),
                };
                self.show(position.level, *number, &value.class);
                if let Some(is_timestamp) = timestamps.get_mut(index) {
                    *is_timestamp = value.class == TypeClass::Timestamp;
                }
            }
        }
        let mut joins = Vec::with_capacity(node.joins.len());
        for (index, join) in node.joins.iter().enumerate() {
            let keys: Vec<usize> =
                join.parent_keys.iter().filter_map(|key| columns.get(*key).copied()).collect();
            let path: Vec<usize> = position.path.iter().copied().chain([index]).collect();
            if let Some(pairs) = leads_to_one(join).filter(|_| self.has_room(position.level, join)) {
                joins.push(self.add_joined(join, node, pairs, &keys, &Position { path: &path, ..*position }));
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

    fn push_level(&mut self, node: &Node, parent: Option<usize>, level: Level) {
        let room = JoinRoom::of_repeated(node, &|join| leads_to_one(join).is_some());
        self.levels.push(Level { parent, room, tables: tables(node), ..level });
    }

    /// Takes the room for a record in a level. Returns whether there was enough.
    fn has_room(&mut self, level: usize, join: &Join) -> bool {
        self.levels.get_mut(level).is_some_and(|level| {
            let has_room = level.room.take(join);
            level.tables += if has_room { tables_of_join(join) } else { 0 };
            has_room
        })
    }

    /// Adds a to-one relation to the rows of its parents.
    fn add_joined(
        &mut self,
        join: &'p Join,
        parent: &'p Node,
        pairs: &[mesh_schema::ColumnPair],
        keys: &[usize],
        position: &Position<'_>,
    ) -> Layout {
        let node = &join.node;
        let (number, columns) = self.numbers(node);
        let alias = rows_alias(number);
        let mut rows = self.rows(node, number, &columns, None, None);
        let mut condition: Option<Expr> = None;
        let mut presence = 0;
        for (pair, key) in pairs.iter().zip(keys) {
            presence = self.next();
            let table = Expr::col((table_alias(number), pair.target.clone()));
            rows.expr_as(table, column_name(presence));
            let target = self.dialect.operand(column(&alias, presence), node.native.get(&pair.target));
            let key = self.dialect.operand(column(position.alias, *key), parent.native.get(&pair.parent));
            let equal = self.dialect.equal(target, key);
            condition = Some(match condition {
                Some(condition) => condition.and(equal),
                None => equal,
            });
        }
        // A column that the link compares is never NULL if there is a row.
        let class = pairs.last().map(|pair| TypeClass::new(node.native.get(&pair.target)));
        self.show(position.level, presence, &class.unwrap_or(TypeClass::Unknown));
        if let Some(level) = self.levels.get_mut(position.level) {
            let condition = condition.unwrap_or_else(|| Expr::Constant(false.into()));
            level.select.join_subquery(JoinType::LeftJoin, rows, alias.clone(), condition);
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
        let rows_max = self.rows_max as u64 + 1;
        let limit = match &node.page {
            _ if join.form == JoinForm::Record => 1,
            None => rows_max,
            Some(page) => match page.size {
                PageSize::Rows(rows) => Ord::min(rows_max, rows.into()),
                PageSize::Input(slot) => match key {
                    ParentKey::Id(_) => param::limit(&mut self.params, slot, 0),
                    ParentKey::Columns(_) => rows_max,
                },
            },
        };
        let (parents, kind) = match key {
            ParentKey::Id(id) => {
                let parents = Parents {
                    level: None,
                    row_number_max: None,
                    link: &join.link,
                    node: parent,
                    keys: vec![id.clone()],
                };
                (parents, LevelRows::SingleParent(self.sort(node, &alias)))
            }
            ParentKey::Columns(keys) => {
                let page = self.page.filter(|_| *level == 0);
                let shown = page.map(|page| match page {
                    PageSize::Rows(rows) => Expr::Constant(i64::from(rows).into()),
                    PageSize::Input(slot) => param::rows(&mut self.params, slot),
                });
                let per_parent = match node.page.as_ref().map(|page| page.size) {
                    Some(PageSize::Input(slot)) => param::rows(&mut self.params, slot),
                    _ => Expr::Constant((limit as i64).into()),
                };
                let keys = keys.iter().map(|key| column(PARENTS, *key)).collect();
                let parents = Parents {
                    level: Some(*level),
                    row_number_max: shown,
                    link: &join.link,
                    node: parent,
                    keys,
                };
                (parents, LevelRows::SeveralParents { per_parent, rows_max })
            }
        };
        let direct = parents.level.is_none().then_some(limit);
        let rows = self.rows(node, number, &columns, Some(&parents), direct);
        let here = self.levels.len();
        self.push_level(node, Some(*level), Level::new(rows, alias.clone(), kind));
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
        let mut counted = Level::new(rows, rows_alias(number), LevelRows::One);
        counted.shown.push((count, Expr::col(column_name(count)), "SIGNED"));
        counted.tables = tables(node);
        self.levels.push(counted);
        (level, count)
    }

    fn show(&mut self, level: usize, number: usize, class: &TypeClass) {
        if let Some(level) = self.levels.get_mut(level) {
            let (expr, ty) = class.shown(Expr::col(column_name(number)));
            level.shown.push((number, expr, ty));
        }
    }
}

/// Returns the columns that link a to-one relation to its parents; `None` for other relations, and unless the database ensures that there is at most one
/// record, and both sides have the same types.
fn leads_to_one(join: &Join) -> Option<&[mesh_schema::ColumnPair]> {
    match &join.link {
        Link::Direct { pairs } if join.form == JoinForm::Record && join.is_unique && join.is_same_type => {
            Some(pairs)
        }
        _ => None,
    }
}

/// Returns whether the database itself ensures that at most one record has the id of a point read.
fn has_unique_id(node: &Node) -> bool {
    let is_unique = |id: &Column| {
        match &id.source {
            ColumnSource::Column(column) => node.native.get(column),
            _ => None,
        }
        .is_some_and(|native| native.unique && TypeClass::new(Some(native)).is_bindable())
    };
    node.id.iter().any(is_unique)
}

/// Returns whether the link of a relation compares only the parent's id, and this id has one column.
fn links_id(join: &Join, parent: &Node) -> bool {
    let [id] = parent.id.as_slice() else { return false };
    let id = Some(&id.source);
    let mut keys = join.parent_keys.iter().map(|key| parent.columns.get(*key).map(|column| &column.source));
    join.parent_keys.len() == 1 && keys.all(|key| key.is_some() && key == id)
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

fn sort_name(index: usize) -> String {
    format!("s{index}")
}

fn column(alias: &str, number: usize) -> Expr {
    Expr::col((alias.to_owned(), column_name(number)))
}
