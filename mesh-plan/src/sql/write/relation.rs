//! How is the link between two records written? In a junction, or in the one of them that stores it.

use mesh_schema::ColumnPair;
use sea_query::{Expr, ExprTrait, InsertStatement, OnConflict, Query, QueryBuilder, SelectStatement};

use super::{JUNCTION, Missing, PARENT, Steps, TARGET, cell, column, guarded, is, table, value, writable};
use crate::mutation::{KeyColumns, LinkKey, RelatedRecord, Subject};
use crate::{Rule, Value};

/// The record that the path names, and a relation of it.
pub(super) struct Parent<'a> {
    pub(super) subject: &'a Subject,
    pub(super) id: &'a Value,
    pub(super) other: &'a RelatedRecord,
}

/// Both ends of a link.
pub(super) struct Ends<'a> {
    pub(super) subject: &'a Subject,
    pub(super) id: &'a Value,
    pub(super) other: &'a RelatedRecord,
    pub(super) to: &'a Value,
}

impl Parent<'_> {
    /// The parent's value of that column, as a subquery.
    pub(super) fn value(&self, column: &str) -> Expr {
        cell(self.subject, self.id, PARENT, column)
    }
}

impl<'a> Ends<'a> {
    fn parent(&self) -> Parent<'a> {
        Parent { subject: self.subject, id: self.id, other: self.other }
    }

    /// The other record's value of that column, as a subquery.
    fn target(&self, column: &str) -> Expr {
        cell(&self.other.subject, self.to, TARGET, column)
    }

    /// Both records as rows of one select, to take columns of them from.
    fn rows(&self) -> SelectStatement {
        let mut select = Query::select();
        select
            .from_as(table(self.subject.table()), PARENT)
            .from_as(table(self.other.subject.table()), TARGET)
            .and_where(column(PARENT, self.subject.id_column()).eq(value(self.id)))
            .and_where(column(TARGET, self.other.subject.id_column()).eq(value(self.to)));
        select
    }
}

impl<B: QueryBuilder> Steps<B> {
    /// A pair that is there stays the only one, also where two requests add it at the same moment and the
    /// junction has a rule against it. Some other rule of it may be why no pair was added; hence the look
    /// afterwards.
    pub(super) fn link(&mut self, ends: &Ends<'_>) {
        let LinkKey::Junction { table: junction, from, to, parent, target } = &ends.other.key else { return };
        let mut pair = Query::select();
        pair.expr(column(JUNCTION, from))
            .from_as(table(junction), JUNCTION)
            .and_where(column(JUNCTION, from).eq(column(PARENT, parent)))
            .and_where(column(JUNCTION, to).eq(column(TARGET, target)));
        let mut source = ends.rows();
        source.expr(column(PARENT, parent)).expr(column(TARGET, target));
        source.and_where(Expr::exists(pair.clone()).not());
        let mut insert = InsertStatement::new();
        insert.into_table(table(junction)).columns([from.clone(), to.clone()]);
        // Two columns and two cells, so this cannot fail.
        if insert.select_from(source).is_err() {
            return;
        }
        insert.on_conflict(OnConflict::new().do_nothing().to_owned());
        self.push(insert.build_any(&self.builder), None);
        let mut look = ends.rows();
        look.expr(column(PARENT, parent)).and_where(Expr::exists(pair));
        self.push(look.build_any(&self.builder), Some(Missing::Rule(Rule::Unique)));
    }

    pub(super) fn connect(&mut self, ends: &Ends<'_>) {
        let (subject, other) = (ends.subject, &ends.other.subject);
        self.find(subject, ends.id, Missing::Subject);
        self.find(other, ends.to, Missing::Other);
        match &ends.other.key {
            LinkKey::InSubject(key) => {
                self.may_link(ends, key);
                let mut update = Query::update();
                update.table(table(subject.table())).and_where(is(subject, ends.id));
                for pair in &key.set {
                    update.value(pair.parent.clone(), ends.target(&pair.target));
                }
                update.returning_col(subject.id_column().to_owned());
                self.push(update.build_any(&self.builder), Some(Missing::Subject));
                self.still_guarded(subject, ends.id);
            }
            LinkKey::InRelated(key) => {
                self.may_link(ends, key);
                self.empty(&ends.parent(), key, Some(ends.to));
                let mut update = Query::update();
                update.table(table(other.table())).and_where(is(other, ends.to));
                for pair in &key.set {
                    update.value(pair.target.clone(), ends.parent().value(&pair.parent));
                }
                update.returning_col(other.id_column().to_owned());
                self.push(update.build_any(&self.builder), Some(Missing::Other));
                self.still_guarded(other, ends.to);
            }
            LinkKey::Junction { target, .. } => {
                self.unlink(&ends.parent(), Some(Link { value: ends.target(target), kept: true }));
                self.link(ends);
            }
        }
    }

    /// Where a link compares more than the key that is set, both records must agree in the rest.
    fn may_link(&mut self, ends: &Ends<'_>, key: &KeyColumns) {
        let equal = |pair: &ColumnPair| column(TARGET, &pair.target).eq(column(PARENT, &pair.parent));
        if let Some(same) = key.same.iter().map(equal).reduce(Expr::and) {
            let mut select = ends.rows();
            select.expr(column(PARENT, ends.subject.id_column())).and_where(same);
            self.push(select.build_any(&self.builder), Some(Missing::Other));
        }
    }

    /// Ends the links that are stored in other records, but for one of them.
    fn empty(&mut self, parent: &Parent<'_>, key: &KeyColumns, kept: Option<&Value>) {
        let other = &parent.other.subject;
        let mut update = Query::update();
        update.table(table(other.table()));
        for pair in key.all() {
            update.and_where(Expr::col(pair.target.clone()).eq(parent.value(&pair.parent)));
        }
        if let Some(kept) = kept {
            update.and_where(Expr::col(other.id_column().to_owned()).ne(value(kept)));
        }
        if other.guard.is_some() {
            update.and_where(Expr::col(other.id_column().to_owned()).in_subquery(writable(other)));
        }
        for pair in &key.set {
            update.value(pair.target.clone(), Expr::null());
        }
        self.push(update.build_any(&self.builder), None);
        if other.guard.is_some() {
            self.is_free(parent, key, kept);
        }
    }

    /// A link that may not be ended keeps the parent from having another.
    fn is_free(&mut self, parent: &Parent<'_>, key: &KeyColumns, kept: Option<&Value>) {
        let other = &parent.other.subject;
        let mut linked = Query::select();
        linked.expr(column(TARGET, other.id_column())).from_as(table(other.table()), TARGET);
        for pair in key.all() {
            linked.and_where(column(TARGET, &pair.target).eq(column(PARENT, &pair.parent)));
        }
        if let Some(kept) = kept {
            linked.and_where(column(TARGET, other.id_column()).ne(value(kept)));
        }
        let mut free = guarded(parent.subject, value(parent.id));
        free.and_where(Expr::exists(linked).not());
        self.push(free.build_any(&self.builder), Some(Missing::Guard));
    }

    pub(super) fn disconnect(&mut self, parent: &Parent<'_>) {
        let subject = parent.subject;
        match &parent.other.key {
            LinkKey::InSubject(key) => {
                let mut update = Query::update();
                update.table(table(subject.table())).and_where(is(subject, parent.id));
                for pair in &key.set {
                    update.value(pair.parent.clone(), Expr::null());
                }
                update.returning_col(subject.id_column().to_owned());
                self.push(update.build_any(&self.builder), Some(Missing::Subject));
                self.still_guarded(subject, parent.id);
            }
            LinkKey::InRelated(key) => {
                self.find(subject, parent.id, Missing::Subject);
                self.empty(parent, key, None);
            }
            LinkKey::Junction { .. } => {
                self.find(subject, parent.id, Missing::Subject);
                self.unlink(parent, None);
            }
        }
    }

    pub(super) fn remove(&mut self, ends: &Ends<'_>) {
        self.find(ends.subject, ends.id, Missing::Subject);
        match &ends.other.key {
            LinkKey::InRelated(key) | LinkKey::InSubject(key) => {
                let other = &ends.other.subject;
                let mut delete = Query::delete();
                delete.from_table(table(other.table())).and_where(is(other, ends.to));
                for pair in key.all() {
                    let value = ends.parent().value(&pair.parent);
                    delete.and_where(Expr::col(pair.target.clone()).eq(value));
                }
                delete.returning_col(other.id_column().to_owned());
                self.push(delete.build_any(&self.builder), Some(Missing::Other));
            }
            LinkKey::Junction { target, .. } => {
                self.find(&ends.other.subject, ends.to, Missing::Other);
                self.unlink(&ends.parent(), Some(Link { value: ends.target(target), kept: false }));
                if let Some(step) = self.list.last_mut() {
                    step.if_none = Some(Missing::Other);
                }
            }
        }
    }

    /// Takes the parent's pairs out of the junction: all of them, one, or all but one.
    fn unlink(&mut self, parent: &Parent<'_>, link: Option<Link>) {
        let LinkKey::Junction { table: junction, from, to, parent: key, .. } = &parent.other.key else {
            return;
        };
        let mut delete = Query::delete();
        delete.from_table(table(junction)).and_where(Expr::col(from.clone()).eq(parent.value(key)));
        if let Some(Link { value, kept }) = link {
            let to = Expr::col(to.clone());
            delete.and_where(if kept { to.ne(value) } else { to.eq(value) });
        }
        delete.returning_col(from.clone());
        self.push(delete.build_any(&self.builder), None);
    }
}

/// A junction's value of the other record's key, and whether the pair with it is the one that stays.
struct Link {
    value: Expr,
    kept: bool,
}
