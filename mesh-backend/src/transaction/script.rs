//! Scripts: transactions of several steps. `SPEC §18`

use std::collections::VecDeque;
use std::iter;

use mesh_plan::backend::{Script, ScriptError, ScriptStep, StepResult};
use mesh_plan::mutation::GuardedEntity;
use mesh_plan::plan::ReadTarget;
use mesh_plan::{JsonBody, Key, Mutation, Plan, ResolveError, WriteError};
use mesh_sql::{ParamOf, Statement};

use super::attempts::{Failure, Retry};
use super::engine::Transaction;
use super::{at_step, write};

/// The result of a step: the ids of the written records, the bodies, and whether a merge has created its record.
type StepOutput = (Vec<Key>, Vec<Option<JsonBody>>, bool);

/// Begins a transaction and runs the steps of a script in it. The transaction stays open, also after an error.
///
/// # Errors
/// A step has failed.
pub async fn run<T: Transaction>(
    transaction: &mut T,
    script: &dyn Script,
) -> Result<Vec<StepResult>, Failure<ScriptError>> {
    transaction.begin().await.map_err(|error| at_step::<T>(0, &error))?;
    let mut done: Vec<StepResult> = Vec::new();
    let mut bodies_ahead = VecDeque::new();
    loop {
        let number = done.len();
        let next = script.next(&done).map_err(|error| ScriptError::of_next(number, error))?;
        let Some(step) = next else { return Ok(done) };
        let (ids, bodies, created) = match &step {
            ScriptStep::Write(mutations) => write_all(transaction, mutations, number).await?,
            ScriptStep::Read { plan, lock: subject } => {
                if let Some(subject) = subject {
                    lock(transaction, plan, subject, number).await?;
                }
                if bodies_ahead.is_empty() {
                    bodies_ahead = read_ahead(transaction, script, plan, number).await;
                }
                let body = bodies_ahead.pop_front().unwrap_or_else(|| Err(no_result().into()));
                let body = body.map_err(|it| it.map(|error| ScriptError::new(number, error)))?;
                (Vec::new(), vec![Some(body)], false)
            }
            _ => {
                let error = ResolveError::new("a script has a step of an unknown kind");
                return Err(ScriptError::new(number, error).into());
            }
        };
        done.push(StepResult { step, ids, bodies, created });
    }
}

/// Reads the plan of a step, and possibly those of the reads that follow it and depend on no result.
async fn read_ahead<T: Transaction>(
    transaction: &mut T,
    script: &dyn Script,
    plan: &Plan,
    step: usize,
) -> VecDeque<Result<JsonBody, Failure<ResolveError>>> {
    let following = (step + 1..step + T::BATCH).map_while(|step| script.read_ahead(step));
    let plans: Vec<Plan> = iter::once(plan.clone()).chain(following).collect();
    // The bodies of some plans are known without reading.
    let known: Vec<_> = plans.iter().map(Plan::known_body).collect();
    let unknown = plans.iter().zip(&known).filter(|(_, body)| body.is_none()).map(|(plan, _)| plan.clone());
    let mut read = transaction.read_ahead(&unknown.collect::<Vec<_>>()).await.into_iter();
    known.into_iter().map_while(|body| body.map_or_else(|| read.next(), |body| Some(Ok(body)))).collect()
}

fn no_result() -> ResolveError {
    ResolveError::new("a read of a transaction has no result")
}

/// Locks the record of a point read, so that no other transaction changes it before this one ends.
async fn lock<T: Transaction>(
    transaction: &mut T,
    plan: &Plan,
    subject: &GuardedEntity,
    step: usize,
) -> Result<(), Failure<ScriptError>> {
    let ReadTarget::Point(id) = plan.target() else { return Ok(()) };
    let is_found = !id.is_impossible() && {
        let locked = transaction.lock(subject, id, step == 0).await;
        locked.map_err(|error| at_step::<T>(step, &error))?
    };
    if is_found {
        return Ok(());
    }
    Err(ScriptError::new(step, subject.not_found(id)).into())
}

/// Executes writes, and reads their replies.
async fn write_all<T: Transaction>(
    transaction: &mut T,
    mutations: &[Mutation],
    step: usize,
) -> Result<StepOutput, Failure<ScriptError>> {
    let (mut ids, mut merged) = (Vec::with_capacity(mutations.len()), false);
    while let Some(left) = mutations.get(ids.len()..).filter(|left| !left.is_empty()) {
        let count = match transaction.create_many(left) {
            Some((statement, count)) => {
                let alike = left.get(..count).unwrap_or_default();
                let created = create_many(transaction, &statement, alike).await;
                if let Some(created) = created.map_err(|error| at_step::<T>(step, &error))? {
                    ids.extend(created);
                    continue;
                }
                count
            }
            None => 1,
        };
        for (item, mutation) in mutations.iter().enumerate().skip(ids.len()).take(count) {
            let written = write::run(transaction, mutation).await;
            let written = written.map_err(|failure| of_write(failure, step, item, mutation))?;
            ids.push(written.id);
            merged |= written.created;
        }
    }
    let bodies = read_replies(transaction, mutations, &ids).await;
    let bodies = bodies.map_err(|failure| failure.map(|error| ScriptError::new(step, error)))?;
    Ok((ids, bodies, merged))
}

/// Creates records with one statement. Returns `None` if this fails because one of them cannot be created; its error is
/// then found by creating them one by one.
async fn create_many<T: Transaction>(
    transaction: &mut T,
    statement: &Statement<ParamOf<T::Dialect>>,
    alike: &[Mutation],
) -> Result<Option<Vec<Key>>, T::Error> {
    transaction.execute("SAVEPOINT many").await?;
    let (ended, ids) = match try_create(transaction, statement, alike).await {
        Ok(Some(ids)) => ("RELEASE SAVEPOINT many", Some(ids)),
        Err(error) if T::retry(&error) != Retry::Never => return Err(error),
        Ok(None) | Err(_) => ("ROLLBACK TO SAVEPOINT many", None),
    };
    transaction.execute(ended).await?;
    Ok(ids)
}

/// Creates records with one statement. Returns `None` if it did not create all of them, or if one of them is not a
/// permitted result.
async fn try_create<T: Transaction>(
    transaction: &mut T,
    statement: &Statement<ParamOf<T::Dialect>>,
    alike: &[Mutation],
) -> Result<Option<Vec<Key>>, T::Error> {
    let created = transaction.query(statement, &Key::default()).await?;
    let ids: Vec<Key> = created.rows.iter().map(T::key).collect();
    let Some(first) = alike.first() else { return Ok(None) };
    if ids.len() != alike.len() || ids.iter().any(Key::is_impossible) {
        return Ok(None);
    }
    if let Some(permitted) = mesh_sql::permitted(first.subject(), &ids, transaction.dialect()) {
        let permitted = transaction.query(&permitted, &Key::default()).await?;
        return Ok((permitted.rows.len() == ids.len()).then_some(ids));
    }
    Ok(Some(ids))
}

/// Reads the replies of writes. The replies of several writes are read at once.
async fn read_replies<T: Transaction>(
    transaction: &mut T,
    mutations: &[Mutation],
    ids: &[Key],
) -> Result<Vec<Option<JsonBody>>, Failure<ResolveError>> {
    let mut bodies = vec![None; mutations.len()];
    if let ([first, _, ..], [id, ..]) = (mutations, ids)
        && let Some(plan) = first.reply(id)
    {
        bodies = transaction.read_records(&plan, ids).await?;
    }
    for (item, (mutation, id)) in mutations.iter().zip(ids).enumerate() {
        if let Some(plan) = mutation.reply(id)
            && let Some(body) = bodies.get_mut(item).filter(|body| body.is_none())
        {
            *body = Some(read(transaction, &plan).await?);
        }
    }
    Ok(bodies)
}

/// Reads a plan inside the transaction.
async fn read<T: Transaction>(transaction: &mut T, plan: &Plan) -> Result<JsonBody, Failure<ResolveError>> {
    match plan.known_body() {
        Some(body) => Ok(body),
        None => transaction.read(plan).await,
    }
}

/// Returns the failure of a write of a step. A write that has raced with another one may succeed when it is repeated.
fn of_write(
    failure: Failure<WriteError>,
    step: usize,
    item: usize,
    mutation: &Mutation,
) -> Failure<ScriptError> {
    let retry = match failure.retry {
        Retry::Never if mutation.is_raced(&failure.error) => Retry::Again,
        retry => retry,
    };
    Failure { retry, ..failure }.map(|error| ScriptError::of_write(step, item, mutation, error))
}
