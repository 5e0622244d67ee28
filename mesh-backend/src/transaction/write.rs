//! The statements of one write inside its transaction. `SPEC §11`

use mesh_plan::sql::{Part, Statement, Step};
use mesh_plan::{Action, Key, Mutation, Rule, WriteError, Written};

use super::ErrorOf;
use super::attempts::Failure;
use super::engine::{Connection, Engine, Ran};

type StepOf<E> = Step<<<E as Engine>::Connection as Connection>::Param>;
type RanOf<E> = Ran<<<E as Engine>::Connection as Connection>::Row>;

/// Runs the statements of a write.
pub(super) async fn run<E: Engine>(
    engine: &E,
    connection: &mut E::Connection,
    mutation: &Mutation,
) -> Result<Written, Failure<WriteError>> {
    let (steps, repeated): (Vec<_>, Vec<_>) =
        engine.write_steps(mutation).into_iter().partition(|step| !step.repeats);
    if repeated.is_empty() {
        return run_each(engine, connection, mutation, &steps).await;
    }
    let failed = |error| write_failure::<E>(&error, mutation);
    connection.savepoint("SAVEPOINT checked").await.map_err(failed)?;
    let mut written = run_each(engine, connection, mutation, &steps).await?;
    let found = !written.created;
    let repeated: Vec<_> = repeated.iter().filter(|step| step.part.is_run(found)).collect();
    for batch in repeated.chunks(E::Connection::BATCH) {
        let (all, error) = run_batch::<E>(connection, batch, &written.id).await;
        if let Some(error) = error {
            return Err(failure_of(engine, connection, mutation, batch.get(all.len()), &error).await);
        }
        if all.iter().any(|ran| ran.count == 0) {
            // Another transaction or the write itself has hidden a record. The first checks are repeated and decide,
            // because they now see that transaction, but not the write.
            connection.execute("ROLLBACK TO SAVEPOINT checked").await.map_err(failed)?;
            written = run_each(engine, connection, mutation, &steps).await?;
            break;
        }
    }
    connection.execute("RELEASE SAVEPOINT checked").await.map_err(failed)?;
    Ok(written)
}

/// Runs the statements of a write without the repeated checks.
async fn run_each<E: Engine>(
    engine: &E,
    connection: &mut E::Connection,
    mutation: &Mutation,
    steps: &[StepOf<E>],
) -> Result<Written, Failure<WriteError>> {
    let (mut id, mut found, mut left) = (mutation.expected_id(), false, steps);
    loop {
        let (batch, rest) = left.split_at(batch_length::<E>(left, found, &id));
        let batch: Vec<_> = batch.iter().filter(|step| step.part.is_run(found)).collect();
        let bound = id.clone();
        let (all, error) = run_batch::<E>(connection, &batch, &bound).await;
        let failed = batch.get(all.len()).copied();
        for (step, mut ran) in batch.iter().copied().zip(all) {
            // The write may have given the record another id. After an error, no other statement can be run.
            if E::uses_id(&step.statement) && id != bound && error.is_none() {
                ran = run_step(engine, connection, mutation, step, &id).await?;
            }
            found |= step.part == Part::Find && ran.count > 0;
            if ran.count == 0
                && let Some(error) = step.failure(mutation)
            {
                let written = step.part.of(mutation);
                let is_skipped = step.may_be_skipped() && engine.is_skipped(connection, written).await;
                return Err(Failure::Final(if is_skipped { written.skipped() } else { error }));
            }
            if step.returns_id {
                id = returned_id::<E>(&ran, mutation)?;
            }
        }
        if let Some(error) = error {
            return Err(failure_of(engine, connection, mutation, failed.as_ref(), &error).await);
        }
        left = rest;
        if left.is_empty() {
            let created = matches!(mutation.action(), Action::Merge { .. }) && !found;
            return Ok(Written { id, body: None, created });
        }
    }
}

/// Runs statements of a write ([`Connection::run`]).
async fn run_batch<E: Engine>(
    connection: &mut E::Connection,
    batch: &[&StepOf<E>],
    id: &Key,
) -> (Vec<RanOf<E>>, Option<ErrorOf<E>>) {
    let statements: Vec<&Statement<_>> = batch.iter().map(|step| &step.statement).collect();
    connection.run(&statements, id).await
}

/// Runs one statement of a write.
async fn run_step<E: Engine>(
    engine: &E,
    connection: &mut E::Connection,
    mutation: &Mutation,
    step: &StepOf<E>,
    id: &Key,
) -> Result<RanOf<E>, Failure<WriteError>> {
    match run_batch::<E>(connection, &[step], id).await {
        (_, Some(error)) => Err(failure_of(engine, connection, mutation, Some(&step), &error).await),
        (ran, None) => Ok(ran.into_iter().next().unwrap_or(Ran { rows: Vec::new(), count: 0 })),
    }
}

/// Returns the number of the next statements that can be sent at once, because none depends on the result of another.
fn batch_length<E: Engine>(steps: &[StepOf<E>], found: bool, id: &Key) -> usize {
    let run = steps.iter().enumerate().filter(|(_, step)| step.part.is_run(found));
    for (count, (index, step)) in run.enumerate() {
        let is_full = count == E::Connection::BATCH;
        if is_full || (count > 0 && id.is_empty() && E::uses_id(&step.statement)) {
            return index;
        }
        if step.part == Part::Find {
            return index + 1;
        }
    }
    steps.len()
}

/// Returns the id in the rows of the statement that writes a record.
fn returned_id<E: Engine>(ran: &RanOf<E>, mutation: &Mutation) -> Result<Key, Failure<WriteError>> {
    if ran.count > 1 {
        return Err(Failure::Final(WriteError::conflict(Rule::Unique)));
    }
    let id = ran.rows.first().map(E::key).unwrap_or_default();
    if id.is_impossible() {
        let fields = mutation.written().null_fields(&id);
        return Err(Failure::Final(WriteError::conflict_of(Rule::NotEmpty, fields)));
    }
    Ok(id)
}

/// Returns the failure of a write for an error that needs no search for its cause.
fn write_failure<E: Engine>(error: &ErrorOf<E>, mutation: &Mutation) -> Failure<WriteError> {
    E::retry(error).failure(E::fault(error, mutation).into_error(mutation))
}

/// Returns the failure for an error of a statement of a write.
async fn failure_of<E: Engine>(
    engine: &E,
    connection: &mut E::Connection,
    mutation: &Mutation,
    step: Option<&&StepOf<E>>,
    error: &ErrorOf<E>,
) -> Failure<WriteError> {
    let mutation = step.map_or(mutation, |step| step.part.of(mutation));
    match write_failure::<E>(error, mutation) {
        Failure::Final(failed) => {
            Failure::Final(engine.search_fields(connection, mutation, error, failed).await)
        }
        failure => failure,
    }
}
