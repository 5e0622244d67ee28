//! Which statement fetches a whole plan? A level for the root and for each to-many relation, all at once.

use std::collections::VecDeque;

use mesh_schema::{Cardinality, Link, TableName};

use super::links::{has_unique_id, leads_to_one, linked, links_id, mark};
use super::operand::Class;
use super::render::{self, Level};
use super::{Features, OneStatement, Operand, Params, Part, group, keyset, predicate, quoted};
use crate::plan::{ColumnSource, Join, Node, Output, Page, Plan, TemplatePiece};
use crate::sql::Statement;
use crate::{Target, Value};

pub(super) fn lower(plan: &Plan, features: Features) -> OneStatement {
    let node = plan.node();
    let mut lowering = Lowering {
        params: Params { features, ..Params::default() },
        point: matches!(plan.target, Target::Point(_)),
        id: None,
        after: plan.after(),
        rows_max: plan.rows_max(),
        count: 0,
        levels: Vec::new(),
        waiting: VecDeque::new(),
    };
    let mut root = lowering.root(node);
    // Breadth first, so that a level's number says where it stands in the statement.
    while let Some(waiting) = lowering.waiting.pop_front() {
        let part = lowering.below(&waiting);
        if let Some(place) = place_of(&mut root, &waiting.path) {
            *place = part;
        }
    }
    let (sql, places) = render::statement(&lowering.levels);
    render::settle(&mut root, node, &places);
    let Params { params, bound, is_closed, .. } = lowering.params;
    let statement = Statement { sql, params };
    OneStatement { statement, bound, levels: lowering.levels.len(), part: root, is_closed }
}

/// The part at the end of a path of joins.
fn place_of<'p>(root: &'p mut Part, path: &[usize]) -> Option<&'p mut Part> {
    path.iter().try_fold(root, |part, index| part.joins.get_mut(*index))
}

struct Lowering<'p> {
    params: Params,
    point: bool,
    /// The id of a point read, where it is all that its children have to know of the root.
    id: Option<String>,
    /// The values of the cursor.
    after: Option<&'p [Value]>,
    rows_max: usize,
    /// Numbers nodes, columns and whatever else needs a name of its own.
    count: usize,
    levels: Vec<Level>,
    waiting: VecDeque<Waiting<'p>>,
}

/// A to-many relation whose parents' level is made, but not its own.
struct Waiting<'p> {
    join: &'p Join,
    parent: &'p Node,
    level: usize,
    /// What its rows are linked to.
    keys: Keys,
    path: Vec<usize>,
    /// How many rows of the parents' level are shown.
    page: Option<u32>,
}

/// What stands for the parent in the condition that links a relation to it.
enum Keys {
    /// The parent's columns, by their numbers.
    Columns(Vec<usize>),
    /// The id that was asked for: the parent's level need not be looked at, nor kept.
    Id(String),
}

impl<'p> Lowering<'p> {
    fn next(&mut self) -> usize {
        self.count += 1;
        self.count - 1
    }

    fn root(&mut self, node: &'p Node) -> Part {
        let number = self.next();
        let alias = format!("\"q{number}\"");
        let columns: Vec<usize> = node.columns.iter().map(|_| self.next()).collect();
        let select = match &node.grouping {
            Some(_) => self.groups(node, &columns),
            None => {
                let limit = match &node.page {
                    _ if self.point => (!has_unique_id(node)).then_some(1),
                    page => page.as_ref().map(past_the_page),
                };
                self.rows(node, number, &columns, None, limit)
            }
        };
        self.levels.push(Level {
            from: format!("({select}) AS {alias}"),
            parts: vec![alias.clone()],
            is_one: self.point,
            ..Level::default()
        });
        let page = node.page.as_ref().filter(|_| !self.point).map(|page| page.first);
        let part = self.part(node, &Place { level: 0, alias: &alias, path: &[], page }, columns, None);
        let only = self.levels.first().is_some_and(|level| level.parts.len() == 1);
        let order = if only { String::new() } else { self.outer_order(node, &alias, &part) };
        if let Some(level) = self.levels.first_mut() {
            level.order = order;
        }
        part
    }

    /// The order of the page once more, now that joins are laid beside it.
    fn outer_order(&self, node: &Node, alias: &str, part: &Part) -> String {
        let names = |source: &ColumnSource| {
            let place = node.columns.iter().position(|column| column.source == *source);
            let number = place.and_then(|place| part.columns.get(place).copied().flatten());
            Operand { sql: column(alias, number.unwrap_or_default()), class: class_of(node, source) }
        };
        keyset::order_by(&names, &node.order)
    }

    /// Lays a node's columns into its level, with the to-one relations below it; those to many wait. `columns`
    /// are the numbers of the node's columns, and so are the places in the part until the statement is finished.
    fn part(&mut self, node: &'p Node, place: &Place<'_>, columns: Vec<usize>, found: Option<usize>) -> Part {
        for (index, number) in columns.iter().enumerate() {
            if let Some(known) = node.columns.get(index).filter(|_| is_shown(node, index)) {
                let class = match &node.grouping {
                    Some(grouping) => {
                        let names = |source: &ColumnSource| table_operand(node, "", source);
                        group::operand(&names, grouping, &known.source).class
                    }
                    None => class_of(node, &known.source),
                };
                self.show(place.level, *number, &class);
            }
        }
        let mut joins = Vec::with_capacity(node.joins.len());
        for (index, join) in node.joins.iter().enumerate() {
            let keys = join.parent_keys.iter().filter_map(|key| columns.get(*key).copied()).collect();
            let path: Vec<usize> = place.path.iter().copied().chain([index]).collect();
            joins.push(match join.cardinality {
                Cardinality::Many => {
                    let id = self.id.clone().filter(|_| path.len() == 1 && links_id(join, node));
                    let keys = id.map_or(Keys::Columns(keys), Keys::Id);
                    if let (Keys::Columns(_), Some(level)) = (&keys, self.levels.get_mut(place.level)) {
                        level.has_children = true;
                    }
                    let (level, page) = (place.level, place.page);
                    self.waiting.push_back(Waiting { join, parent: node, level, keys, path, page });
                    Part::default()
                }
                Cardinality::One => self.beside(join, node, keys, &Place { path: &path, ..*place }),
            });
        }
        Part { level: place.level, columns: columns.into_iter().map(Some).collect(), found, joins }
    }

    /// A to-one relation in the rows of its parents.
    fn beside(&mut self, join: &'p Join, parent: &'p Node, keys: Vec<usize>, place: &Place<'_>) -> Part {
        let node = &join.node;
        let number = self.next();
        let alias = format!("\"q{number}\"");
        let columns: Vec<usize> = node.columns.iter().map(|_| self.next()).collect();
        let keys: Vec<String> = keys.into_iter().map(|key| column(place.alias, key)).collect();
        let table_alias = format!("\"t{number}\"");
        let linked = linked(join, parent, &table_alias, &keys);
        // Without a limit the database can join the table in the way that costs least, but not in the order of its
        // parents: only the root's rows are put in order once more.
        let limit = (place.level > 0 || !leads_to_one(join)).then_some(1);
        let mut select = self.rows(node, number, &columns, Some(&linked), limit);
        // A column that the link compares is never NULL where there is a row.
        let found = match &join.link {
            Link::Direct { pairs } => node.columns.iter().enumerate().find_map(|(index, known)| {
                let is_linked =
                    pairs.iter().any(|pair| known.source == ColumnSource::Column(pair.target.clone()));
                if is_linked && is_shown(node, index) { columns.get(index).copied() } else { None }
            }),
            Link::Through { .. } => None,
        };
        let found = found.unwrap_or_else(|| {
            let number = self.next();
            let (mark, class) = mark(join, &table_alias);
            select = select.replacen("SELECT ", &format!("SELECT {mark} AS \"c{number}\", "), 1);
            self.show(place.level, number, &class);
            number
        });
        if let Some(level) = self.levels.get_mut(place.level) {
            level.from.push_str(&format!(" LEFT JOIN LATERAL ({select}) AS {alias} ON TRUE"));
            level.parts.push(alias.clone());
        }
        self.part(node, &Place { alias: &alias, ..*place }, columns, Some(found))
    }

    /// A to-many relation as a level of its own.
    fn below(&mut self, waiting: &Waiting<'p>) -> Part {
        let Waiting { join, parent, level, keys, path, page } = waiting;
        let node = &join.node;
        let number = self.next();
        let alias = format!("\"q{number}\"");
        let columns: Vec<usize> = node.columns.iter().map(|_| self.next()).collect();
        let (keys, parents) = match keys {
            Keys::Columns(keys) => {
                let keys = keys.iter().map(|key| column("\"h\"", *key)).collect();
                (keys, format!("\"n{level}\" AS \"h\" CROSS JOIN LATERAL "))
            }
            Keys::Id(id) => (vec![id.clone()], String::new()),
        };
        let linked = linked(join, parent, &format!("\"t{number}\""), &keys);
        let most = self.rows_max as u64 + 1;
        let limit = node.page.as_ref().map_or(most, |page| most.min(page.first.into()));
        let select = self.rows(node, number, &columns, Some(&linked), Some(limit));
        let shown = page.map(|page| format!(" WHERE \"h\".\"o\" <= {page}")).unwrap_or_default();
        // The rows of a single parent are bounded already.
        let bound = if self.levels.get(*level).is_some_and(|level| level.is_one) {
            String::new()
        } else {
            format!(" LIMIT {most}")
        };
        let here = self.levels.len();
        self.levels.push(Level {
            from: format!("{parents}({select}) AS {alias}"),
            rest: format!("{shown}{bound}"),
            parent: Some(*level),
            parts: vec![alias.clone()],
            ..Level::default()
        });
        self.part(node, &Place { level: here, alias: &alias, path, page: None }, columns, None)
    }

    fn show(&mut self, level: usize, number: usize, class: &Class) {
        if let Some(level) = self.levels.get_mut(level) {
            let (sql, ty) = class.shown(format!("\"c{number}\""));
            level.shown.push((number, sql, ty));
        }
    }

    /// A node's rows: those of one parent where it has one.
    fn rows(
        &mut self,
        node: &Node,
        number: usize,
        columns: &[usize],
        linked: Option<&str>,
        limit: Option<u64>,
    ) -> String {
        let alias = format!("\"t{number}\"");
        let names = |source: &ColumnSource| table_operand(node, &alias, source);
        let list: Vec<_> = (node.columns.iter().zip(columns))
            .map(|(known, number)| format!("{} AS \"c{number}\"", names(&known.source).sql))
            .collect();
        let list = if list.is_empty() { "1 AS \"one\"".to_owned() } else { list.join(", ") };
        let mut wheres = self.conditions(node, &alias, linked);
        if let (Some(after), None) = (self.after, linked) {
            wheres.push(keyset::after(&mut self.params, &names, &node.order, after));
        }
        let mut sql = format!("SELECT {list} FROM {} AS {alias}", table(&node.table));
        push_where(&mut sql, &wheres);
        sql.push_str(&keyset::order_by(&names, &node.order));
        if let Some(limit) = limit {
            sql.push_str(&format!(" LIMIT {limit}"));
        }
        sql
    }

    /// The rows of a grouped node: its groups.
    fn groups(&mut self, node: &Node, columns: &[usize]) -> String {
        let Some(grouping) = &node.grouping else { return String::new() };
        let names = |source: &ColumnSource| table_operand(node, "\"t\"", source);
        let (list, by) = group::fold(&names, grouping);
        let mut rows = format!("SELECT {list} FROM {} AS \"t\"", table(&node.table));
        let wheres = self.conditions(node, "\"t\"", None);
        push_where(&mut rows, &wheres);
        rows.push_str(&by);

        let of_group = |source: &ColumnSource| group::operand(&names, grouping, source);
        let list: Vec<_> = (node.columns.iter().zip(columns))
            .map(|(known, number)| format!("{} AS \"c{number}\"", of_group(&known.source).sql))
            .collect();
        let list = if list.is_empty() { "1 AS \"one\"".to_owned() } else { list.join(", ") };
        let mut wheres = Vec::new();
        if let Some(having) = &grouping.having {
            wheres.push(predicate::lower(&mut self.params, &of_group, having));
        }
        if let Some(after) = self.after {
            wheres.push(keyset::after(&mut self.params, &of_group, &node.order, after));
        }
        let mut sql = format!("SELECT {list} FROM ({rows}) AS \"g\"");
        push_where(&mut sql, &wheres);
        sql.push_str(&keyset::order_by(&of_group, &node.order));
        if let Some(page) = &node.page {
            sql.push_str(&format!(" LIMIT {}", past_the_page(page)));
        }
        sql
    }

    /// The conditions on a table's rows.
    fn conditions(&mut self, node: &Node, alias: &str, linked: Option<&str>) -> Vec<String> {
        let names = |source: &ColumnSource| table_operand(node, alias, source);
        let mut wheres = Vec::new();
        if let (true, None, Some(id)) = (self.point, linked, &node.id) {
            let id = names(&id.source);
            let asked = self.params.id(&id.class);
            wheres.push(format!("({} = {asked})", id.holder().sql));
            // With a condition on the record, its children are not looked for where it is not to be seen.
            self.id = Some(asked).filter(|_| node.filter.is_none() && id.class.is_identity());
        }
        wheres.extend(linked.map(str::to_owned));
        if let Some(filter) = &node.filter {
            wheres.push(predicate::lower(&mut self.params, &names, filter));
        }
        wheres
    }
}

/// Where a node is laid.
struct Place<'a> {
    level: usize,
    /// The alias under which its parent's columns are known there.
    alias: &'a str,
    path: &'a [usize],
    page: Option<u32>,
}

/// Whether the response or a cursor needs that column; keys that only join are the statement's own.
fn is_shown(node: &Node, column: usize) -> bool {
    let shown = node.output.iter().any(|output| match output {
        Output::Field { column: shown, .. } => *shown == column,
        Output::Computed { template, .. } => {
            template.iter().any(|piece| matches!(piece, TemplatePiece::Column(shown) if *shown == column))
        }
        Output::Join { .. } => false,
    });
    shown || node.order.iter().any(|key| key.column == Some(column))
}

fn past_the_page(page: &Page) -> u64 {
    u64::from(page.first) + 1
}

fn push_where(sql: &mut String, wheres: &[String]) {
    if !wheres.is_empty() {
        sql.push_str(" WHERE ");
        sql.push_str(&wheres.join(" AND "));
    }
}

pub(super) fn class_of(node: &Node, source: &ColumnSource) -> Class {
    match source {
        ColumnSource::Column(column) => Class::of(node.native.get(column)),
        // The planner lets aggregates stand in grouped reads only.
        ColumnSource::Aggregate(_) => Class::Unknown,
    }
}

pub(super) fn table_operand(node: &Node, alias: &str, source: &ColumnSource) -> Operand {
    let sql = match source {
        ColumnSource::Column(column) => format!("{alias}.{}", quoted(column)),
        ColumnSource::Aggregate(_) => "NULL".to_owned(),
    };
    Operand { sql, class: class_of(node, source) }
}

fn column(alias: &str, number: usize) -> String {
    format!("{alias}.\"c{number}\"")
}

pub(super) fn table(name: &TableName) -> String {
    match &name.schema {
        Some(schema) => format!("{}.{}", quoted(schema), quoted(&name.name)),
        None => quoted(&name.name),
    }
}
