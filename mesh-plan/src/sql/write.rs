//! How is a write said in SQL? A few statements in turn, all of them in one transaction. `SPEC §11`
//!
//! Keys that lead from one record to another are looked up by the statements themselves, so that nothing is
//! bound but what the request says, and both ends are as the transaction sees them.

mod relation;
#[cfg(test)]
mod tests;

use mesh_schema::{ColumnPair, TableName};
use sea_query::{
    Expr, ExprTrait, PostgresQueryBuilder, Query, QueryBuilder, SelectStatement, SqliteQueryBuilder,
    TableRef, Values,
};

use super::predicate::{self, Names};
use super::{Statement, bound, param, slot};
use crate::mutation::{Action, Assignment, KeyColumns, LinkKey, Mutation, Subject};
use crate::plan::ColumnSource;
use crate::{Rule, Value, WriteError};
use relation::{Ends, Parent};

/// The alias of the record that the path names, where it stands in a subquery.
const PARENT: &str = "p";
/// The alias of the other record.
const TARGET: &str = "t";
/// The alias of a junction.
const JUNCTION: &str = "j";

/// One statement of a write.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The statement. It returns rows, if only to show that there are some. [`super::Param::Id`] stands for
    /// the id that an earlier step has returned.
    pub statement: Statement,
    /// Whether the first cell of its row is the id of the record that was written.
    pub returns_id: bool,
    /// What it means when it returns no row; `None`: nothing.
    pub if_none: Option<Missing>,
}

/// What is amiss when a step returns no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The record that the path names is not there.
    Subject,
    /// The other record is not there, or is not linked.
    Other,
    /// A rule of the storage stood in the way without an error.
    Rule(Rule),
    /// The record that would result is none that may be written.
    Guard,
}

impl Step {
    /// The failure of a write of which this step returned no row.
    pub fn failure(&self, mutation: &Mutation) -> Option<WriteError> {
        let action = mutation.action();
        Some(match self.if_none? {
            Missing::Subject => mutation.subject().not_found(action.id().unwrap_or(&Value::Null)),
            Missing::Other => mutation
                .written()
                .not_found(action.other_id().or_else(|| action.id()).unwrap_or(&Value::Null)),
            Missing::Rule(rule) => WriteError::conflict(rule),
            Missing::Guard => {
                WriteError::Refused("The record that would result is none that you may write".to_owned())
            }
        })
    }
}

impl Mutation {
    /// The write in SQLite's SQL.
    pub fn sqlite_steps(&self) -> Vec<Step> {
        lower(self, SqliteQueryBuilder)
    }

    /// The write in PostgreSQL's SQL.
    pub fn postgres_steps(&self) -> Vec<Step> {
        lower(self, PostgresQueryBuilder)
    }

    /// The id of the record that the reply shows, as far as it is known before the write.
    pub fn expected_id(&self) -> Value {
        match &self.action {
            Action::Create { .. } | Action::CreateChild { .. } => Value::Null,
            action => action.other_id().or_else(|| action.id()).cloned().unwrap_or_default(),
        }
    }
}

fn lower(mutation: &Mutation, builder: impl QueryBuilder) -> Vec<Step> {
    let mut steps = Steps { builder, list: Vec::new() };
    let subject = &mutation.subject;
    match &mutation.action {
        Action::Create { values } => steps.create(subject, values, None),
        Action::Update { id, values } => steps.update(subject, id, values),
        Action::Delete { id } => {
            let mut delete = Query::delete();
            delete.from_table(table(subject.table())).and_where(is(subject, id));
            delete.returning_col(subject.id_column().to_owned());
            let built = delete.build_any(&steps.builder);
            steps.push(built, Some(Missing::Subject));
            if let Some(step) = steps.list.last_mut() {
                step.returns_id = true;
            }
        }
        Action::CreateChild { id, other, values } => {
            steps.find(subject, id, Missing::Subject);
            steps.create(&other.subject, values, Some(Parent { subject, id, other }));
        }
        Action::Link { id, other, to } => {
            steps.find(subject, id, Missing::Subject);
            steps.find(&other.subject, to, Missing::Other);
            steps.link(&Ends { subject, id, other, to });
        }
        Action::Connect { id, other, to } => steps.connect(&Ends { subject, id, other, to }),
        Action::Disconnect { id, other } => steps.disconnect(&Parent { subject, id, other }),
        Action::Remove { id, other, child } => steps.remove(&Ends { subject, id, other, to: child }),
    }
    steps.list
}

struct Steps<B> {
    builder: B,
    list: Vec<Step>,
}

impl<B: QueryBuilder> Steps<B> {
    fn push(&mut self, (sql, values): (String, Values), if_none: Option<Missing>) {
        let params = values.0.into_iter().map(|value| param(value, None)).collect();
        self.list.push(Step { statement: Statement { sql, params }, returns_id: false, if_none });
    }

    /// Marks the last step as the one that returns the id, and sees to it that the record it wrote is still
    /// one that may be written.
    fn returns_id(&mut self, subject: &Subject) {
        if let Some(step) = self.list.last_mut() {
            step.returns_id = true;
        }
        if subject.guard.is_some() {
            let select = guarded(subject, Expr::val(slot::id()));
            self.push(select.build_any(&self.builder), Some(Missing::Guard));
        }
    }

    /// Makes sure that a record is there.
    fn find(&mut self, subject: &Subject, id: &Value, missing: Missing) {
        let select = guarded(subject, value(id));
        self.push(select.build_any(&self.builder), Some(missing));
    }

    fn create(&mut self, subject: &Subject, values: &[Assignment], parent: Option<Parent<'_>>) {
        let mut columns: Vec<String> = values.iter().map(|it| it.column.clone()).collect();
        let mut cells: Vec<Expr> = values.iter().map(|it| value(&it.value)).collect();
        if let Some(parent) = &parent
            && let LinkKey::InRelated(key) = &parent.other.key
        {
            self.parent_has_key(parent, key);
            for ColumnPair { parent: from, target } in key.all() {
                columns.push(target.clone());
                cells.push(parent.value(from));
            }
        }
        let mut insert = Query::insert();
        insert.into_table(table(subject.table()));
        if columns.is_empty() {
            insert.or_default_values();
        } else {
            // As many cells as columns, so this cannot panic.
            insert.columns(columns).values_panic(cells);
        }
        insert.returning_col(subject.id_column().to_owned());
        self.push(insert.build_any(&self.builder), Some(Missing::Rule(Rule::Other)));
        self.returns_id(subject);
    }

    /// A child of a parent whose key is empty would belong to nobody.
    fn parent_has_key(&mut self, parent: &Parent<'_>, key: &KeyColumns) {
        let others = key.all().filter(|pair| pair.parent != parent.subject.id_column());
        let filled = others.map(|pair| column(PARENT, &pair.parent).is_not_null()).reduce(Expr::and);
        if let Some(filled) = filled {
            let mut select = guarded(parent.subject, value(parent.id));
            select.and_where(filled);
            self.push(select.build_any(&self.builder), Some(Missing::Rule(Rule::NotEmpty)));
        }
    }

    fn update(&mut self, subject: &Subject, id: &Value, values: &[Assignment]) {
        if values.is_empty() {
            self.find(subject, id, Missing::Subject);
        } else {
            let mut update = Query::update();
            update.table(table(subject.table())).and_where(is(subject, id));
            for it in values {
                update.value(it.column.clone(), value(&it.value));
            }
            update.returning_col(subject.id_column().to_owned());
            self.push(update.build_any(&self.builder), Some(Missing::Subject));
        }
        self.returns_id(subject);
    }

    fn still_guarded(&mut self, subject: &Subject, id: &Value) {
        if subject.guard.is_some() {
            self.find(subject, id, Missing::Guard);
        }
    }
}

/// A select of the record with that id, if it may be written.
fn guarded(subject: &Subject, id: Expr) -> SelectStatement {
    let mut select = writable(subject);
    select.and_where(column(PARENT, subject.id_column()).eq(id));
    select
}

/// A select of the ids of all records that may be written.
fn writable(subject: &Subject) -> SelectStatement {
    let mut select = Query::select();
    select.expr(column(PARENT, subject.id_column())).from_as(table(subject.table()), PARENT);
    if let Some(guard) = &subject.guard {
        select.and_where(predicate::portable(&Names::Table(PARENT), guard));
    }
    select
}

/// Whether a row of a statement without alias is that record, and one that may be written.
fn is(subject: &Subject, id: &Value) -> Expr {
    let own = Expr::col(subject.id_column().to_owned()).eq(value(id));
    match subject.guard {
        None => own,
        Some(_) => own.and(Expr::exists(guarded(subject, value(id)))),
    }
}

/// A column of one record, as a subquery.
fn cell(subject: &Subject, id: &Value, alias: &'static str, name: &str) -> Expr {
    let mut select = Query::select();
    select
        .expr(column(alias, name))
        .from_as(table(subject.table()), alias)
        .and_where(column(alias, subject.id_column()).eq(value(id)));
    Expr::SubQuery(None, Box::new(select.into()))
}

fn column(alias: &'static str, name: &str) -> Expr {
    Names::Table(alias).expr(&ColumnSource::Column(name.to_owned()))
}

fn value(value: &Value) -> Expr {
    Expr::val(bound(value))
}

fn table(name: &TableName) -> TableRef {
    match &name.schema {
        Some(schema) => (schema.clone(), name.name.clone()).into(),
        None => name.name.clone().into(),
    }
}
