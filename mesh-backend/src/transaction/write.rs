//! The statements of one write inside its transaction. `SPEC §11`

use mesh_plan::error::Rule;
use mesh_plan::mutation::Action;
use mesh_plan::{Key, Mutation, WriteError, Written};
use mesh_sql::{MergePart, ParamOf, Statement, WriteStep};

use super::attempts::{Failure, Retry};
use super::engine::{Errors, Ran, Transaction};

/// Runs the statements of a write.
pub(super) async fn run<T: Transaction>(
    transaction: &mut T,
    mutation: &Mutation,
) -> Result<Written, Failure<WriteError>> {
    let (steps, repeated): (Vec<_>, Vec<_>) =
        transaction.write_steps(mutation).into_iter().partition(|step| !step.repeats);
    if repeated.is_empty() {
        return run_each(transaction, mutation, &steps).await;
    }
    let failed = |error| write_failure::<T>(&error, mutation);
    transaction.execute("SAVEPOINT checked").await.map_err(failed)?;
    let mut written = run_each(transaction, mutation, &steps).await?;
    let found = !written.created;
    let repeated: Vec<_> = repeated.iter().filter(|step| step.merge_part.is_run(found)).collect();
    for batch in repeated.chunks(T::BATCH) {
        let (all, error) = run_batch::<T>(transaction, batch, &written.id).await;
        if let Some(error) = error {
            return Err(failure_of(transaction, mutation, batch.get(all.len()), &error).await);
        }
        if all.iter().any(|ran| ran.count == 0) {
            // Another transaction or the write itself has hidden a record. The first checks are repeated and decide,
            // because they now see that transaction, but not the write.
            transaction.execute("ROLLBACK TO SAVEPOINT checked").await.map_err(failed)?;
            written = run_each(transaction, mutation, &steps).await?;
            break;
        }
    }
    transaction.execute("RELEASE SAVEPOINT checked").await.map_err(failed)?;
    Ok(written)
}

/// Runs the statements of a write without the repeated checks.
async fn run_each<T: Transaction>(
    transaction: &mut T,
    mutation: &Mutation,
    steps: &[WriteStep<ParamOf<T::Dialect>>],
) -> Result<Written, Failure<WriteError>> {
    let (mut id, mut found, mut left) = (mutation.expected_id(), false, steps);
    loop {
        let (batch, rest) = left.split_at(batch_length::<T>(left, found, &id));
        let batch: Vec<_> = batch.iter().filter(|step| step.merge_part.is_run(found)).collect();
        let bound = id.clone();
        let (all, error) = run_batch::<T>(transaction, &batch, &bound).await;
        let failed = batch.get(all.len()).copied();
        for (step, mut ran) in batch.iter().copied().zip(all) {
            // The write may have given the record another id. After an error, no other statement can be run.
            if uses_id::<T>(step) && id != bound && error.is_none() {
                ran = match transaction.query(&step.statement, &id).await {
                    Ok(ran) => ran,
                    Err(error) => return Err(failure_of(transaction, mutation, Some(&step), &error).await),
                };
            }
            found |= step.merge_part == MergePart::Find && ran.count > 0;
            if ran.count == 0
                && let Some(error) = step.failure(mutation)
            {
                let written = step.merge_part.of(mutation);
                let is_skipped = step.may_be_skipped() && transaction.is_skipped(written).await;
                return Err(if is_skipped { written.skipped() } else { error }.into());
            }
            // Several records may be read with the same id ([`mesh_plan::backend::canonical`]).
            if (step.returns_id || step.counts_rows) && ran.count > 1 {
                return Err(WriteError::conflict(Rule::Unique).into());
            }
            if step.returns_id {
                id = returned_id::<T>(&ran, mutation)?;
            }
        }
        if let Some(error) = error {
            return Err(failure_of(transaction, mutation, failed.as_ref(), &error).await);
        }
        left = rest;
        if left.is_empty() {
            let created = matches!(mutation.action(), Action::Merge { .. }) && !found;
            return Ok(Written { id, body: None, created });
        }
    }
}

/// Runs statements of a write ([`Transaction::run`]).
async fn run_batch<T: Transaction>(
    transaction: &mut T,
    batch: &[&WriteStep<ParamOf<T::Dialect>>],
    id: &Key,
) -> (Vec<Ran<T::Row>>, Option<T::Error>) {
    let statements: Vec<&Statement<_>> = batch.iter().map(|step| &step.statement).collect();
    transaction.run(&statements, id).await
}

/// Returns the number of the next statements that can be sent at once, because none depends on the result of another.
fn batch_length<T: Transaction>(steps: &[WriteStep<ParamOf<T::Dialect>>], found: bool, id: &Key) -> usize {
    let run = steps.iter().enumerate().filter(|(_, step)| step.merge_part.is_run(found));
    for (count, (index, step)) in run.enumerate() {
        let is_full = count == T::BATCH;
        if is_full || (count > 0 && id.is_empty() && uses_id::<T>(step)) {
            return index;
        }
        if step.merge_part == MergePart::Find {
            return index + 1;
        }
    }
    steps.len()
}

/// Returns whether a statement needs the id of the written record.
fn uses_id<T: Transaction>(step: &WriteStep<ParamOf<T::Dialect>>) -> bool {
    step.statement.params.iter().any(|param| param.is_id())
}

/// Returns the id in the rows of the statement that writes a record.
fn returned_id<T: Transaction>(ran: &Ran<T::Row>, mutation: &Mutation) -> Result<Key, Failure<WriteError>> {
    let id = ran.rows.first().map(T::key).unwrap_or_default();
    if id.is_impossible() {
        let fields = mutation.written().null_fields(&id);
        return Err(WriteError::conflict_of(Rule::NotEmpty, fields).into());
    }
    Ok(id)
}

/// Returns the failure of a write for an error that needs no search for its cause.
fn write_failure<T: Errors>(error: &T::Error, mutation: &Mutation) -> Failure<WriteError> {
    Failure { error: T::fault(error, mutation).into_error(mutation), retry: T::retry(error) }
}

/// Returns the failure for an error of a statement of a write.
async fn failure_of<T: Transaction>(
    transaction: &mut T,
    mutation: &Mutation,
    step: Option<&&WriteStep<ParamOf<T::Dialect>>>,
    error: &T::Error,
) -> Failure<WriteError> {
    let mutation = step.map_or(mutation, |step| step.merge_part.of(mutation));
    let mut failure = write_failure::<T>(error, mutation);
    if failure.retry == Retry::Never {
        failure.error = transaction.search_fields(mutation, error, failure.error).await;
    }
    failure
}
