//! Writes to the link between two records, in a junction or in the record that stores it.

use mesh_schema::ColumnPair;
use sea_query::{Expr, ExprTrait as _, InsertStatement, Query, SelectStatement};

use super::select::id_parts;
use super::{EmptyResult, OTHER, PARENT, Parent, WriteSteps, column};
use crate::dialect::{Dialect, IdPart};
use crate::links::{JUNCTION, table_operand};
use mesh_plan::Key;
use mesh_plan::error::Rule;
use mesh_plan::mutation::{GuardedEntity, LinkColumns, LinkLocation};
use mesh_plan::plan::{ColumnSource, CompareOp};

impl<D: Dialect> WriteSteps<'_, D> {
    /// Returns a select, still without columns, from both records.
    fn select_both(&mut self, parent: &Parent<'_>, to: &Key) -> SelectStatement {
        let (subject, other) = (parent.subject, &parent.other.subject);
        let mut select = Query::select();
        select
            .from_as(self.dialect.table(subject.table()), PARENT)
            .from_as(self.dialect.table(other.table()), OTHER)
            .and_where(self.is_id(subject, |name| column(PARENT, name), id_parts(parent.id)))
            .and_where(self.is_id(other, |name| column(OTHER, name), id_parts(to)));
        select
    }

    /// Adds a pair to a junction unless it exists already. This also works if two requests add the pair at the same time and
    /// the junction has a rule against duplicates. Another rule of the junction may have prevented the insertion, so a second
    /// statement checks that the pair exists.
    pub(super) fn link(&mut self, ends: &Parent<'_>, id: &Key) {
        let LinkLocation::Junction { table: junction, from, to, parent, target } = &ends.other.link else {
            return;
        };
        let Some(pair) = self.select_pair(ends) else { return };
        let mut source = self.select_both(ends, id);
        source.expr(column(PARENT, parent)).expr(column(OTHER, target));
        source.and_where(Expr::exists(pair.clone()).not());
        let mut insert = InsertStatement::new();
        insert.into_table(self.dialect.table(junction)).columns([from.clone(), to.clone()]);
        // There are two columns and two cells, so this cannot fail.
        if insert.select_from(source).is_err() {
            return;
        }
        insert.on_conflict(self.dialect.ignore_conflict(junction, from));
        self.push(&insert, None);
        let mut check = self.select_both(ends, id);
        check.expr(Expr::Constant(1.into())).and_where(Expr::exists(pair));
        self.push(&check, Some(EmptyResult::Rule(Rule::Unique)));
    }

    /// Returns a select of the pair of a junction for the records of [`Self::select_both`]; `None` without a junction.
    fn select_pair(&self, ends: &Parent<'_>) -> Option<SelectStatement> {
        let LinkLocation::Junction { table: junction, from, to, parent, target } = &ends.other.link else {
            return None;
        };
        let (subject, other) = (ends.subject, &ends.other.subject);
        let (from_cell, to_cell) = (column(JUNCTION, from), column(JUNCTION, to));
        let mut pair = Query::select();
        pair.expr(column(JUNCTION, from))
            .from_as(self.dialect.table(junction), JUNCTION)
            .and_where(self.compare(subject, parent, from_cell, CompareOp::Eq, column(PARENT, parent)))
            .and_where(self.compare(other, target, to_cell, CompareOp::Eq, column(OTHER, target)));
        Some(pair)
    }

    /// Returns a select of both records if they are linked and the other one may be written.
    pub(super) fn select_linked(&mut self, ends: &Parent<'_>, to: &Key) -> SelectStatement {
        let mut select = self.select_both(ends, to);
        select.exprs(ends.subject.id_columns().map(|name| column(PARENT, name)));
        match &ends.other.link {
            LinkLocation::InRelated(key) | LinkLocation::InParent(key) => {
                for pair in key.all() {
                    select.and_where(self.linked(ends, pair));
                }
            }
            LinkLocation::Junction { .. } => {
                if let Some(pair) = self.select_pair(ends) {
                    select.and_where(Expr::exists(pair));
                }
            }
        }
        if let Some(guard) = self.guard(&ends.other.subject, OTHER) {
            select.and_where(guard);
        }
        select
    }

    pub(super) fn connect(&mut self, parent: &Parent<'_>, to: &Key) {
        let (subject, other) = (parent.subject, &parent.other.subject);
        self.find(subject, parent.id, EmptyResult::Subject);
        self.find(other, to, EmptyResult::Other);
        match &parent.other.link {
            LinkLocation::InParent(key) => {
                self.check_linkable(parent, to, key);
                let cells = self.cells_of_subject(other, to, key);
                self.set(subject, parent.id, cells, EmptyResult::Subject);
                if subject.checked().is_some() {
                    // The columns of the link may be part of the id.
                    let linked = self.cells_of_subject(other, to, key);
                    let id = with_cells(subject, parent.id, &linked);
                    self.select_id(subject, subject.checked(), id, EmptyResult::Guard);
                }
            }
            LinkLocation::InRelated(key) => {
                self.check_linkable(parent, to, key);
                self.clear_links(parent, key, Some(to));
                let cells = self.cells_of_other(parent, key);
                self.set(other, to, cells, EmptyResult::Other);
                if key.set.iter().any(|pair| other.entity().is_id_column(&pair.target)) {
                    if !D::RETURNS_UPDATED {
                        let cells = self.cells_of_other(parent, key);
                        self.select_id(other, None, with_cells(other, to, &cells), EmptyResult::Other);
                    }
                    self.return_id(other);
                } else if other.checked().is_some() {
                    self.select_id(other, other.checked(), id_parts(to), EmptyResult::Guard);
                }
            }
            LinkLocation::Junction { .. } => {
                self.unlink(parent, Some((CompareOp::Ne, to)), None);
                self.link(parent, to);
            }
        }
    }

    /// Returns the columns of the other record that store a link, with their values from the record of the path.
    fn cells_of_other(&mut self, parent: &Parent<'_>, key: &LinkColumns) -> Vec<(String, Expr)> {
        let cells = key.set.iter();
        cells.map(|pair| (pair.target.clone(), self.parent_value(parent, &pair.parent))).collect()
    }

    /// Returns the columns of the record of the path that store a link, with their values from the other record.
    fn cells_of_subject(
        &mut self,
        other: &GuardedEntity,
        to: &Key,
        key: &LinkColumns,
    ) -> Vec<(String, Expr)> {
        let cells = key.set.iter();
        cells.map(|pair| (pair.parent.clone(), self.cell(other, to, OTHER, &pair.target))).collect()
    }

    /// Adds a check that both records have equal values in the columns that the link compares but does not set.
    fn check_linkable(&mut self, parent: &Parent<'_>, to: &Key, key: &LinkColumns) {
        let equal = |pair: &ColumnPair| self.linked(parent, pair);
        if let Some(same) = key.same.iter().map(equal).reduce(Expr::and) {
            let mut select = self.select_both(parent, to);
            select.expr(Expr::Constant(1.into())).and_where(same);
            self.push(&select, Some(EmptyResult::Other));
        }
    }

    /// Returns the condition that both records have equal values in a pair of columns.
    fn linked(&self, parent: &Parent<'_>, pair: &ColumnPair) -> Expr {
        let operand = |subject: &GuardedEntity, alias, name: &str| {
            let source = ColumnSource::Column(name.to_owned());
            table_operand(&subject.entity().native, alias, &source)
        };
        let target = operand(&parent.other.subject, OTHER, &pair.target);
        self.dialect.equal(target, operand(parent.subject, PARENT, &pair.parent))
    }

    /// Removes the links that are stored in other records, except the link in the record `except`.
    fn clear_links(&mut self, parent: &Parent<'_>, key: &LinkColumns, except: Option<&Key>) {
        let other = &parent.other.subject;
        let mut update = Query::update();
        update.table(self.dialect.table(other.table()));
        for pair in key.all() {
            let key = self.parent_value(parent, &pair.parent);
            let cell = Expr::col(pair.target.clone());
            update.and_where(self.compare(other, &pair.target, cell, CompareOp::Eq, key));
        }
        if let Some(except) = except {
            update.and_where(self.is_other_id(other, |name| Expr::col(name.to_owned()), except));
        }
        if let Some(guard) = self.guard(other, &other.table().name) {
            update.and_where(guard);
        }
        update.values(key.set.iter().map(|pair| (pair.target.clone(), Expr::null())));
        self.push(&update, None);
        self.check_unlinked(parent, key, except);
    }

    /// Adds a check that no link remains. A link that may not be removed, or that a trigger keeps, prevents that the parent has
    /// another.
    fn check_unlinked(&mut self, parent: &Parent<'_>, key: &LinkColumns, except: Option<&Key>) {
        let other = &parent.other.subject;
        let mut linked = Query::select();
        linked.exprs(other.id_columns().map(|name| column(OTHER, name)));
        linked.from_as(self.dialect.table(other.table()), OTHER);
        for pair in key.all() {
            linked.and_where(self.linked(parent, pair));
        }
        if let Some(except) = except {
            linked.and_where(self.is_other_id(other, |name| column(OTHER, name), except));
        }
        let mut free = self.select_writable_record(parent.subject, parent.id);
        free.and_where(Expr::exists(linked).not());
        let if_none = if other.guarded().is_some() { EmptyResult::Guard } else { EmptyResult::Skipped };
        self.push(&free, Some(if_none));
    }

    pub(super) fn disconnect(&mut self, parent: &Parent<'_>) {
        if let LinkLocation::InParent(key) = &parent.other.link {
            let cells = key.set.iter().map(|pair| (pair.parent.clone(), Expr::null())).collect();
            self.set(parent.subject, parent.id, cells, EmptyResult::Subject);
            if parent.subject.checked().is_some() {
                let checked = parent.subject.checked();
                self.select_id(parent.subject, checked, id_parts(parent.id), EmptyResult::Guard);
            }
            return;
        }
        self.find(parent.subject, parent.id, EmptyResult::Subject);
        match &parent.other.link {
            LinkLocation::InRelated(key) => self.clear_links(parent, key, None),
            LinkLocation::InParent(_) | LinkLocation::Junction { .. } => self.unlink(parent, None, None),
        }
    }

    pub(super) fn remove(&mut self, parent: &Parent<'_>, to: &Key) {
        let other = &parent.other.subject;
        self.find(parent.subject, parent.id, EmptyResult::Subject);
        match &parent.other.link {
            LinkLocation::InRelated(key) | LinkLocation::InParent(key) => {
                let linked = key.all();
                let linked = linked
                    .map(|pair| {
                        let key = self.parent_value(parent, &pair.parent);
                        let cell = Expr::col(pair.target.clone());
                        self.compare(other, &pair.target, cell, CompareOp::Eq, key)
                    })
                    .collect();
                self.delete(other, to, linked, EmptyResult::Other);
            }
            LinkLocation::Junction { .. } => {
                self.find(other, to, EmptyResult::Other);
                self.unlink(parent, Some((CompareOp::Eq, to)), Some(EmptyResult::Other));
            }
        }
    }

    /// Removes the parent's pairs from the junction: all of them, or those whose other key compares as given with the key of
    /// another record.
    fn unlink(&mut self, ends: &Parent<'_>, pair: Option<(CompareOp, &Key)>, if_none: Option<EmptyResult>) {
        let LinkLocation::Junction { table: junction, from, to, parent, target } = &ends.other.link else {
            return;
        };
        let mut delete = Query::delete();
        let key = self.parent_value(ends, parent);
        let (from_cell, to_cell) = (Expr::col(from.clone()), Expr::col(to.clone()));
        let is_from = self.compare(ends.subject, parent, from_cell, CompareOp::Eq, key);
        delete.from_table(self.dialect.table(junction)).and_where(is_from);
        if let Some((op, id)) = pair {
            let other = &ends.other.subject;
            let key = self.cell(other, id, OTHER, target);
            delete.and_where(self.compare(other, target, to_cell, op, key));
        }
        delete.returning(Query::returning().expr(Expr::Constant(1.into())));
        self.push(&delete, if_none);
    }
}

/// Returns the parts of the id of a record after an update has set columns to values of another record.
fn with_cells<'k>(subject: &GuardedEntity, id: &'k Key, cells: &[(String, Expr)]) -> Vec<IdPart<'k>> {
    let parts = subject.id_columns().zip(id.iter());
    let with_cells = parts.map(|(name, part)| {
        let cell = cells.iter().find(|(column, _)| column == name);
        cell.map_or(IdPart::Value(part), |(_, cell)| IdPart::Expr(cell.clone()))
    });
    with_cells.collect()
}
