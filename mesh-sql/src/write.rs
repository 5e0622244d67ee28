//! Lowering of writes to a few statements that run one after the other in one transaction. `SPEC §11`
//!
//! The statements themselves look up the keys that link records. Therefore only values of the request are bound, and both ends
//! of a link are read as the transaction sees them.

mod find;
mod many;
mod merge_part;
mod probe;
mod recheck;
mod record;
mod reference;
mod relation;
mod select;
#[cfg(test)]
mod tests;

use sea_query::{Expr, ExprTrait as _, Query, QueryStatementWriter, ReturningClause};

use self::select::id_parts;
use super::dialect::{Dialect, IdPart, ParamOf, ParamsOf};
use super::links::table_operand;
use super::operand::Operand;
use super::statement::{Params, Statement};
use mesh_plan::Mutation;
use mesh_plan::Node;
use mesh_plan::error::Rule;
use mesh_plan::mutation::{
    Action, Assignment, GuardedEntity, LinkColumns, LinkLocation, ReferenceColumn, RelatedRecord,
};
use mesh_plan::plan::{ColumnSource, CompareOp};
use mesh_plan::{Key, WriteError};

pub use find::{find, find_written};
pub use many::{create_many, permitted};
pub use merge_part::MergePart;
pub use probe::{WriteProbe, write_probes};
pub use reference::{SetReference, references};

/// The alias of the record that the path names.
const PARENT: &str = "p";
/// The alias of the other record.
const OTHER: &str = "t";

/// One statement of a write.
#[derive(Clone, Debug, PartialEq)]
pub struct WriteStep<P> {
    /// The statement. Its result is whether it returns rows; their cells matter only if `returns_id` is set.
    pub statement: Statement<P>,
    /// Whether the first cells of the returned row are the id of the written record.
    pub returns_id: bool,
    /// Whether it returns no rows, so that the number of changed rows is used instead.
    pub counts_rows: bool,
    /// The reason for the failure if it returns no row; `None` if that is not a failure.
    pub if_none: Option<EmptyResult>,
    /// Whether it repeats a check of an earlier step, because another transaction may have changed the result while a statement
    /// waited for that transaction. The check also sees the changes of the write itself, which do not count.
    pub repeats: bool,
    /// The part of an [`Action::Merge`] that it belongs to.
    pub merge_part: MergePart,
}

/// The reason why a step returns no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmptyResult {
    /// The record that the path names does not exist.
    Subject,
    /// The other record does not exist, or is not linked.
    Other,
    /// The storage did not create the record, but reported no error.
    Skipped,
    /// A rule of the storage prevented the change without an error.
    Rule(Rule),
    /// The write would result in a record that may not be written.
    Guard,
    /// The record that the reference with this index refers to does not exist.
    Reference(usize),
}

impl<P> WriteStep<P> {
    /// Returns whether the statement changes nothing.
    pub fn is_read(&self) -> bool {
        self.statement.sql.starts_with("SELECT ")
    }

    /// Returns whether the record may exist although the statement returned no row: a trigger or rule of the storage may have
    /// skipped or replaced it. If the statement that looks for the written record then finds it, the error is
    /// [`Mutation::skipped`].
    pub fn may_be_skipped(&self) -> bool {
        !self.is_read() && matches!(self.if_none, Some(EmptyResult::Subject | EmptyResult::Other))
    }

    /// Returns the error of a write in which this step returned no row; `None` if that is not a failure.
    pub fn failure(&self, mutation: &Mutation) -> Option<WriteError> {
        let mutation = self.merge_part.of(mutation);
        let (action, unknown) = (mutation.action(), Key::default());
        Some(match self.if_none? {
            EmptyResult::Subject => mutation.subject().not_found(action.id().unwrap_or(&unknown)),
            EmptyResult::Other => {
                mutation.written().not_found(action.other_id().or_else(|| action.id()).unwrap_or(&unknown))
            }
            EmptyResult::Skipped => mutation.skipped(),
            EmptyResult::Rule(rule) => WriteError::conflict(rule),
            EmptyResult::Reference(index) => match mutation.references().get(index) {
                Some(reference) if !reference.is_excluded => {
                    WriteError::NoReferred { field: reference.field.clone() }
                }
                _ => refused(),
            },
            EmptyResult::Guard => refused(),
        })
    }
}

fn refused() -> WriteError {
    WriteError::Refused("The record that would result is not one that you may write".to_owned())
}

/// The record that the path names, and one of its relations.
struct Parent<'a> {
    subject: &'a GuardedEntity,
    id: &'a Key,
    other: &'a RelatedRecord,
}

/// Lowers a write.
pub fn write_steps<D: Dialect>(mutation: &Mutation, dialect: &D) -> Vec<WriteStep<ParamOf<D>>> {
    let mut steps = WriteSteps::new(dialect);
    if let Action::Merge { id, update, create } = mutation.action() {
        steps.merge_part = MergePart::Find;
        let select = steps.select_writable_record(mutation.subject(), id);
        steps.push(&select, None);
        for (merge_part, mutation) in [(MergePart::Update, update), (MergePart::Create, create)] {
            steps.merge_part = merge_part;
            steps.all(mutation);
        }
    } else {
        steps.all(mutation);
    }
    steps.list.iter_mut().for_each(|step| dialect.complete_write(&mut step.statement.sql, mutation));
    steps.list
}

struct WriteSteps<'d, D: Dialect> {
    dialect: &'d D,
    /// The parameters of the next step.
    params: ParamsOf<'d, D>,
    list: Vec<WriteStep<ParamOf<D>>>,
    /// The part that the next step belongs to.
    merge_part: MergePart,
}

impl<'d, D: Dialect> WriteSteps<'d, D> {
    fn new(dialect: &'d D) -> Self {
        Self { dialect, params: Params::new(&[], None), list: Vec::new(), merge_part: MergePart::Whole }
    }

    /// Adds the statements of a write with all its checks.
    fn all(&mut self, mutation: &Mutation) {
        self.references(mutation);
        self.write(mutation);
        if D::RECHECKS {
            self.recheck(mutation);
        }
    }

    /// Adds the statements of the action.
    fn write(&mut self, mutation: &Mutation) {
        let subject = mutation.subject();
        match mutation.action() {
            Action::Create { values } => self.create(subject, values, None),
            Action::Update { id, values } => self.update(subject, id, values),
            // A merge consists of two other writes, which `write_steps` lowers one after the other.
            Action::Merge { .. } => {}
            Action::Delete { id } => {
                if !D::RETURNS_UPDATED {
                    self.find(subject, id, EmptyResult::Subject);
                }
                self.list.iter_mut().for_each(|step| step.returns_id = true);
                self.delete(subject, id, Vec::new(), EmptyResult::Subject);
                self.list.iter_mut().for_each(|step| step.returns_id |= D::RETURNS_UPDATED);
            }
            Action::CreateChild { id, other, values } => {
                self.find(subject, id, EmptyResult::Subject);
                self.create(&other.subject, values, Some(&Parent { subject, id, other }));
            }
            Action::AddPair { id, other, to } => {
                self.find(subject, id, EmptyResult::Subject);
                self.find(&other.subject, to, EmptyResult::Other);
                self.link(&Parent { subject, id, other }, to);
            }
            Action::Connect { id, other, to } => self.connect(&Parent { subject, id, other }, to),
            Action::Disconnect { id, other } => self.disconnect(&Parent { subject, id, other }),
            Action::Remove { id, other, child } => self.remove(&Parent { subject, id, other }, child),
        }
    }

    /// Adds checks that the records to which values of the body refer exist and are visible.
    fn references(&mut self, mutation: &Mutation) {
        let (subject, id) = match mutation.action() {
            Action::CreateChild { other, .. } => (&other.subject, None),
            action => (mutation.subject(), action.id()),
        };
        if let (false, Action::Update { id, .. }) = (mutation.references().is_empty(), mutation.action()) {
            self.find(subject, id, EmptyResult::Subject);
        }
        for (index, reference) in mutation.references().iter().enumerate() {
            let mut found = Vec::new();
            for target in &reference.targets {
                let mut select = self.select_writable(&target.subject);
                for column in &target.columns {
                    let condition = self.reference_condition(subject, id, &target.subject, column);
                    select.and_where(condition);
                }
                found.push(Expr::exists(select));
                // A key with NULL refers to nothing.
                for column in target.columns.iter().filter(|column| column.value.is_none()) {
                    let current = self.current_value(subject, id, &column.column);
                    found.push(current.is_null());
                }
            }
            let mut select = Query::select();
            select.expr(Expr::Constant(1.into()));
            let found = found.into_iter().reduce(Expr::or);
            select.and_where(found.unwrap_or_else(|| Expr::Constant(false.into())));
            self.push(&select, Some(EmptyResult::Reference(index)));
        }
    }

    /// Returns the condition that a column of the target equals the value that refers to it.
    fn reference_condition(
        &mut self,
        subject: &GuardedEntity,
        id: Option<&Key>,
        target: &GuardedEntity,
        column: &ReferenceColumn,
    ) -> Expr {
        let source = ColumnSource::Column(column.target.clone());
        let left = table_operand(&target.entity().native, PARENT, &source);
        match &column.value {
            Some(value) => self.dialect.compare(&mut self.params, &left, CompareOp::Eq, (value, None)),
            None => {
                let current = self.current_value(subject, id, &column.column);
                let native = subject.entity().native.get(&column.column);
                let current = Operand::of(current, native);
                self.dialect.equal(left, current)
            }
        }
    }

    /// Returns the current value of a column of the written record; NULL if the record is new.
    fn current_value(&mut self, subject: &GuardedEntity, id: Option<&Key>, column: &str) -> Expr {
        match id {
            Some(id) => self.cell(subject, id, OTHER, column),
            None => Expr::null(),
        }
    }

    fn push(&mut self, statement: &impl QueryStatementWriter, if_none: Option<EmptyResult>) {
        let params = std::mem::replace(&mut self.params, Params::new(&[], None));
        let statement = params.render(statement, self.dialect.builder());
        self.list.push(WriteStep {
            statement,
            returns_id: false,
            counts_rows: false,
            if_none,
            repeats: false,
            merge_part: self.merge_part,
        });
    }

    /// Marks the last step as the one that returns the id, and adds the check of the written record.
    fn return_id(&mut self, subject: &GuardedEntity) {
        if let Some(step) = self.list.last_mut() {
            step.returns_id = true;
        }
        self.check_written(subject);
    }

    /// Adds a check that policies permit the written record. Its id is the one that an earlier step has returned.
    fn check_written(&mut self, subject: &GuardedEntity) {
        if subject.checked().is_some() {
            let parts = 0..subject.entity().id.len();
            let id = parts.map(IdPart::Returned).collect();
            self.select_id(subject, subject.checked(), id, EmptyResult::Guard);
        }
    }

    /// Adds a step that returns an id if the record exists and, with a node, is one of its records.
    fn select_id(
        &mut self,
        subject: &GuardedEntity,
        records: Option<&Node>,
        id: Vec<IdPart<'_>>,
        if_none: EmptyResult,
    ) {
        let select = self.select(subject, records, Some(id));
        self.push(&select, Some(if_none));
    }

    /// Adds a check that a record exists and may be written.
    fn find(&mut self, subject: &GuardedEntity, id: &Key, if_none: EmptyResult) {
        self.select_id(subject, subject.guarded(), id_parts(id), if_none);
    }

    fn create(&mut self, subject: &GuardedEntity, values: &[Assignment], parent: Option<&Parent<'_>>) {
        let link = parent.and_then(|parent| match &parent.other.link {
            LinkLocation::InRelated(key) => Some((parent, key)),
            LinkLocation::InParent(_) | LinkLocation::Junction { .. } => None,
        });
        if let Some((parent, key)) = link {
            self.check_parent_key(parent, key);
        }
        let mut cells = self.cells(subject, values);
        cells.extend(self.linked_cells(link));
        let mut insert = Query::insert();
        insert.into_table(self.dialect.table(subject.table()));
        if cells.is_empty() {
            insert.or_default_values();
        } else {
            let (columns, cells): (Vec<_>, Vec<_>) = cells.into_iter().unzip();
            // There are as many cells as columns, so this cannot panic.
            insert.columns(columns).values_panic(cells);
        }
        insert.returning(self.id_of(subject));
        self.push(&insert, Some(EmptyResult::Skipped));
        let clause = self.dialect.returning(self.shown_ids(subject, Expr::col));
        if let (Some(clause), Some(step)) = (clause, self.list.last_mut()) {
            step.statement.sql.push_str(&clause);
        }
        self.return_id(subject);
    }

    /// Returns the columns that link a new record to its parent.
    fn linked_cells(&mut self, link: Option<(&Parent<'_>, &LinkColumns)>) -> Vec<(String, Expr)> {
        let Some((parent, key)) = link else { return Vec::new() };
        key.all().map(|pair| (pair.target.clone(), self.parent_value(parent, &pair.parent))).collect()
    }

    fn cells(&mut self, subject: &GuardedEntity, values: &[Assignment]) -> Vec<(String, Expr)> {
        let cell = |it: &Assignment| {
            let native = subject.entity().native.get(&*it.column);
            let value = self.params.add(self.dialect.written(&it.value, native));
            (it.column.to_string(), self.dialect.assigned(value, native))
        };
        values.iter().map(cell).collect()
    }

    /// Adds a check that the parent's key is not NULL. Otherwise the child would have no parent.
    fn check_parent_key(&mut self, parent: &Parent<'_>, key: &LinkColumns) {
        let others = key.all().filter(|pair| parent.subject.id_columns().all(|id| pair.parent != id));
        let filled = others.map(|pair| column(PARENT, &pair.parent).is_not_null()).reduce(Expr::and);
        if let Some(filled) = filled {
            let mut select = self.select_writable_record(parent.subject, parent.id);
            select.and_where(filled);
            self.push(&select, Some(EmptyResult::Rule(Rule::NotEmpty)));
        }
    }

    /// Returns the `RETURNING` clause with the columns of the id.
    fn id_of(&self, subject: &GuardedEntity) -> ReturningClause {
        Query::returning().exprs(self.shown_ids(subject, Expr::col))
    }

    /// Returns the columns of the id in the form of responses. `column` returns the expression for a column of the record.
    fn shown_ids(&self, subject: &GuardedEntity, column: impl Fn(String) -> Expr) -> Vec<Expr> {
        let native = &subject.entity().native;
        let ids = subject.id_columns();
        ids.map(|name| self.dialect.shown_id(column(name.to_owned()), native.get(name))).collect()
    }
}

fn column(alias: &'static str, name: &str) -> Expr {
    Expr::col((alias, name.to_owned()))
}
