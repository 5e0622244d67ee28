//! Updates and deletions of one record.

use sea_query::{Expr, Query, UpdateStatement};

use super::{EmptyResult, WriteSteps};
use crate::dialect::{Dialect, IdPart};
use mesh_plan::Key;
use mesh_plan::mutation::{Assignment, GuardedEntity};

impl<D: Dialect> WriteSteps<'_, D> {
    /// Adds an update of one record.
    pub(super) fn update(&mut self, subject: &GuardedEntity, id: &Key, values: &[Assignment]) {
        if values.is_empty() {
            self.find(subject, id, EmptyResult::Subject);
            self.list.iter_mut().last().into_iter().for_each(|step| step.returns_id = true);
        } else {
            let cells = self.updated_cells(subject, values);
            let keeps_id = subject.id_columns().all(|id| values.iter().all(|value| &*value.column != id));
            if keeps_id && self.dialect.counts_updated() {
                let update = self.update_of(subject, id, cells);
                self.push(&update, Some(EmptyResult::Subject));
                self.list.iter_mut().last().into_iter().for_each(|step| step.counts_rows = true);
                return self.check_written(subject);
            }
            self.set(subject, id, cells, EmptyResult::Subject);
            if !D::RETURNS_UPDATED {
                let parts = subject.id_columns().zip(id.iter());
                let id = parts.map(|(name, part)| {
                    let assigned = values.iter().find(|value| &*value.column == name);
                    assigned.map_or(IdPart::Value(part), |value| IdPart::Assigned(&value.value))
                });
                self.select_id(subject, None, id.collect(), EmptyResult::Subject);
            }
            self.return_id(subject);
        }
    }

    /// Returns the columns that an update sets.
    fn updated_cells(&mut self, subject: &GuardedEntity, values: &[Assignment]) -> Vec<(String, Expr)> {
        let cells = self.cells(subject, values);
        let updated = |(name, value): (String, Expr)| {
            let native = subject.entity().native.get(&name);
            let value = self.dialect.updated(Expr::col(name.clone()), value, native);
            (name, value)
        };
        cells.into_iter().map(updated).collect()
    }

    /// Adds an update of one record that returns its id.
    pub(super) fn set(
        &mut self,
        subject: &GuardedEntity,
        id: &Key,
        cells: Vec<(String, Expr)>,
        if_none: EmptyResult,
    ) {
        let mut update = self.update_of(subject, id, cells);
        update.returning(self.id_of(subject));
        self.push(&update, Some(if_none));
    }

    /// Returns an update of one record, without `RETURNING`.
    fn update_of(
        &mut self,
        subject: &GuardedEntity,
        id: &Key,
        cells: Vec<(String, Expr)>,
    ) -> UpdateStatement {
        let is_record = self.is_record(subject, id);
        let table = self.dialect.table(subject.table());
        Query::update().table(table).values(cells).and_where(is_record).take()
    }

    /// Adds the deletion of one record if it fulfills the conditions.
    pub(super) fn delete(
        &mut self,
        subject: &GuardedEntity,
        id: &Key,
        conditions: Vec<Expr>,
        if_none: EmptyResult,
    ) {
        let mut delete = Query::delete();
        let is_record = self.is_record(subject, id);
        delete.from_table(self.dialect.table(subject.table())).and_where(is_record);
        for condition in conditions {
            delete.and_where(condition);
        }
        delete.returning(self.id_of(subject));
        self.push(&delete, Some(if_none));
    }
}
