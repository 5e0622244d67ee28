//! Writes to the link between two records, in a junction or in the record that stores it.

use mesh_schema::ColumnPair;
use sea_query::{Expr, ExprTrait as _, InsertStatement, OnConflict, Query, SelectStatement};

use super::{Missing, PARENT, Steps, TARGET, column};
use crate::mutation::{KeyColumns, LinkKey, RelatedRecord, Subject};
use crate::sql::dialect::Dialect;
use crate::sql::links::{JUNCTION, table};
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

impl<'a> Ends<'a> {
    fn parent(&self) -> Parent<'a> {
        Parent { subject: self.subject, id: self.id, other: self.other }
    }
}

impl<D: Dialect> Steps<D> {
    /// Returns a subquery for a column of the other record.
    fn target_value(&mut self, ends: &Ends<'_>, column: &str) -> Expr {
        self.cell(&ends.other.subject, ends.to, TARGET, column)
    }

    /// Returns a select without columns from both records.
    fn both(&mut self, ends: &Ends<'_>) -> SelectStatement {
        let mut select = Query::select();
        select
            .from_as(table(ends.subject.table()), PARENT)
            .from_as(table(ends.other.subject.table()), TARGET)
            .and_where(column(PARENT, ends.subject.id_column()).eq(self.value(ends.id)))
            .and_where(column(TARGET, ends.other.subject.id_column()).eq(self.value(ends.to)));
        select
    }

    /// Adds a pair to a junction unless it is there, also if two requests add it at the same time and the junction
    /// has a rule against duplicates. Another of its rules may have kept the pair from being added; the second
    /// statement checks that it was.
    pub(super) fn link(&mut self, ends: &Ends<'_>) {
        let LinkKey::Junction { table: junction, from, to, parent, target } = &ends.other.key else { return };
        let mut pair = Query::select();
        pair.expr(column(JUNCTION, from))
            .from_as(table(junction), JUNCTION)
            .and_where(column(JUNCTION, from).eq(column(PARENT, parent)))
            .and_where(column(JUNCTION, to).eq(column(TARGET, target)));
        let mut source = self.both(ends);
        source.expr(column(PARENT, parent)).expr(column(TARGET, target));
        source.and_where(Expr::exists(pair.clone()).not());
        let mut insert = InsertStatement::new();
        insert.into_table(table(junction)).columns([from.clone(), to.clone()]);
        // Two columns and two cells, so this cannot fail.
        if insert.select_from(source).is_err() {
            return;
        }
        insert.on_conflict(OnConflict::new().do_nothing().to_owned());
        self.push(&insert, None);
        let mut check = self.both(ends);
        check.expr(column(PARENT, parent)).and_where(Expr::exists(pair));
        self.push(&check, Some(Missing::Rule(Rule::Unique)));
    }

    pub(super) fn connect(&mut self, ends: &Ends<'_>) {
        let (subject, other) = (ends.subject, &ends.other.subject);
        self.find(subject, ends.id, Missing::Subject);
        self.find(other, ends.to, Missing::Other);
        match &ends.other.key {
            LinkKey::InSubject(key) => {
                self.may_link(ends, key);
                let mut update = Query::update();
                update.table(table(subject.table())).and_where(self.is_record(subject, ends.id));
                for pair in &key.set {
                    update.value(pair.parent.clone(), self.target_value(ends, &pair.target));
                }
                update.returning_col(subject.id_column().to_owned());
                self.push(&update, Some(Missing::Subject));
                self.still_guarded(subject, ends.id);
            }
            LinkKey::InRelated(key) => {
                self.may_link(ends, key);
                self.empty(&ends.parent(), key, Some(ends.to));
                let mut update = Query::update();
                update.table(table(other.table())).and_where(self.is_record(other, ends.to));
                for pair in &key.set {
                    update.value(pair.target.clone(), self.parent_value(&ends.parent(), &pair.parent));
                }
                update.returning_col(other.id_column().to_owned());
                self.push(&update, Some(Missing::Other));
                self.still_guarded(other, ends.to);
            }
            LinkKey::Junction { target, .. } => {
                self.unlink(&ends.parent(), Some(LinkTo { key: target, id: ends.to, kept: true }));
                self.link(ends);
            }
        }
    }

    /// Adds a check that both records agree in the columns that the link compares beyond the key that is set.
    fn may_link(&mut self, ends: &Ends<'_>, key: &KeyColumns) {
        let equal = |pair: &ColumnPair| column(TARGET, &pair.target).eq(column(PARENT, &pair.parent));
        if let Some(same) = key.same.iter().map(equal).reduce(Expr::and) {
            let mut select = self.both(ends);
            select.expr(column(PARENT, ends.subject.id_column())).and_where(same);
            self.push(&select, Some(Missing::Other));
        }
    }

    /// Ends the links that are stored in other records, except that in `kept`.
    fn empty(&mut self, parent: &Parent<'_>, key: &KeyColumns, kept: Option<&Value>) {
        let other = &parent.other.subject;
        let mut update = Query::update();
        update.table(table(other.table()));
        for pair in key.all() {
            let key = self.parent_value(parent, &pair.parent);
            update.and_where(Expr::col(pair.target.clone()).eq(key));
        }
        if let Some(kept) = kept {
            update.and_where(Expr::col(other.id_column().to_owned()).ne(self.value(kept)));
        }
        if other.guard.is_some() {
            update.and_where(Expr::col(other.id_column().to_owned()).in_subquery(self.writable(other)));
        }
        for pair in &key.set {
            update.value(pair.target.clone(), Expr::null());
        }
        self.push(&update, None);
        if other.guard.is_some() {
            self.is_free(parent, key, kept);
        }
    }

    /// Adds a check that no link remains. One that may not be ended keeps the parent from having another.
    fn is_free(&mut self, parent: &Parent<'_>, key: &KeyColumns, kept: Option<&Value>) {
        let other = &parent.other.subject;
        let mut linked = Query::select();
        linked.expr(column(TARGET, other.id_column())).from_as(table(other.table()), TARGET);
        for pair in key.all() {
            linked.and_where(column(TARGET, &pair.target).eq(column(PARENT, &pair.parent)));
        }
        if let Some(kept) = kept {
            linked.and_where(column(TARGET, other.id_column()).ne(self.value(kept)));
        }
        let id = self.value(parent.id);
        let mut free = self.guarded(parent.subject, id);
        free.and_where(Expr::exists(linked).not());
        self.push(&free, Some(Missing::Guard));
    }

    pub(super) fn disconnect(&mut self, parent: &Parent<'_>) {
        let subject = parent.subject;
        match &parent.other.key {
            LinkKey::InSubject(key) => {
                let mut update = Query::update();
                update.table(table(subject.table())).and_where(self.is_record(subject, parent.id));
                for pair in &key.set {
                    update.value(pair.parent.clone(), Expr::null());
                }
                update.returning_col(subject.id_column().to_owned());
                self.push(&update, Some(Missing::Subject));
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
                delete.from_table(table(other.table())).and_where(self.is_record(other, ends.to));
                for pair in key.all() {
                    let value = self.parent_value(&ends.parent(), &pair.parent);
                    delete.and_where(Expr::col(pair.target.clone()).eq(value));
                }
                delete.returning_col(other.id_column().to_owned());
                self.push(&delete, Some(Missing::Other));
            }
            LinkKey::Junction { target, .. } => {
                self.find(&ends.other.subject, ends.to, Missing::Other);
                self.unlink(&ends.parent(), Some(LinkTo { key: target, id: ends.to, kept: false }));
                if let Some(step) = self.list.last_mut() {
                    step.if_none = Some(Missing::Other);
                }
            }
        }
    }

    /// Removes the parent's pairs from the junction: all, one, or all except one.
    fn unlink(&mut self, parent: &Parent<'_>, link: Option<LinkTo<'_>>) {
        let LinkKey::Junction { table: junction, from, to, parent: key, .. } = &parent.other.key else {
            return;
        };
        let mut delete = Query::delete();
        let own = self.parent_value(parent, key);
        delete.from_table(table(junction)).and_where(Expr::col(from.clone()).eq(own));
        if let Some(LinkTo { key, id, kept }) = link {
            let value = self.cell(&parent.other.subject, id, TARGET, key);
            let to = Expr::col(to.clone());
            delete.and_where(if kept { to.ne(value) } else { to.eq(value) });
        }
        delete.returning_col(from.clone());
        self.push(&delete, None);
    }
}

/// The pair of a junction with one of the other records.
struct LinkTo<'a> {
    /// The column of the other record that the junction stores.
    key: &'a str,
    id: &'a Value,
    /// Whether the pair is the one that stays.
    kept: bool,
}
