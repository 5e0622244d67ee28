//! Scripts: transactions of several steps. `SPEC §18`

use mesh_plan::sql::Statement;
use mesh_plan::{
    JsonBody, Key, Mutation, Plan, ResolveError, Script, ScriptError, ScriptStep, StepResult, Subject,
    Target, WriteError,
};

use super::attempts::Failure;
use super::engine::{Connection, Engine, Retry};
use super::{ErrorOf, at_step, write};

/// The result of a step: the ids of the written records, the bodies, and whether a merge has created its record.
type StepOutput = (Vec<Key>, Vec<Option<JsonBody>>, bool);
type StatementOf<E> = Statement<<<E as Engine>::Connection as Connection>::Param>;
type RowOf<E> = <<E as Engine>::Connection as Connection>::Row;

/// Runs the steps of a script in a transaction, which stays open.
pub(super) async fn run<E: Engine>(
    engine: &E,
    connection: &mut E::Connection,
    script: &dyn Script,
) -> Result<Vec<StepResult>, Failure<ScriptError>> {
    connection.begin().await.map_err(|error| at_step::<E>(0, &error))?;
    let mut done: Vec<StepResult> = Vec::new();
    loop {
        let number = done.len();
        let next = script.next(&done).map_err(|error| Failure::Final(ScriptError::new(number, error)))?;
        let Some(step) = next else { return Ok(done) };
        let (ids, bodies, created) = match &step {
            ScriptStep::Write(mutations) => write_all(engine, connection, mutations, number).await?,
            ScriptStep::Read { plan, lock: subject } => {
                if let Some(subject) = subject {
                    lock(engine, connection, plan, subject, number).await?;
                }
                let body = read(engine, connection, plan).await;
                let body = body.map_err(|it| it.map(|error| ScriptError::new(number, error)))?;
                (Vec::new(), vec![Some(body)], false)
            }
            _ => {
                let error = ResolveError::new("a script has a step of an unknown kind");
                return Err(Failure::Final(ScriptError::new(number, error)));
            }
        };
        done.push(StepResult { step, ids, bodies, created });
    }
}

/// Locks the record of a point read, so that no other transaction changes it before this one ends.
async fn lock<E: Engine>(
    engine: &E,
    connection: &mut E::Connection,
    plan: &Plan,
    subject: &Subject,
    step: usize,
) -> Result<(), Failure<ScriptError>> {
    let Target::Point(id) = plan.target() else { return Ok(()) };
    let is_found = !id.is_impossible() && {
        let locked = engine.lock(connection, subject, id, step == 0).await;
        locked.map_err(|error| at_step::<E>(step, &error))?
    };
    if is_found {
        return Ok(());
    }
    Err(Failure::Final(ScriptError::new(step, subject.not_found(id))))
}

/// Executes writes, and reads their replies.
async fn write_all<E: Engine>(
    engine: &E,
    connection: &mut E::Connection,
    mutations: &[Mutation],
    step: usize,
) -> Result<StepOutput, Failure<ScriptError>> {
    let (mut ids, mut merged) = (Vec::with_capacity(mutations.len()), false);
    while let Some(left) = mutations.get(ids.len()..).filter(|left| !left.is_empty()) {
        let count = match engine.create_many(left) {
            Some((statement, count)) => {
                let alike = left.get(..count).unwrap_or_default();
                let created = create_many(engine, connection, &statement, alike).await;
                if let Some(created) = created.map_err(|error| at_step::<E>(step, &error))? {
                    ids.extend(created);
                    continue;
                }
                count
            }
            None => 1,
        };
        for (item, mutation) in mutations.iter().enumerate().skip(ids.len()).take(count) {
            let written = write::run(engine, connection, mutation).await;
            let written = written.map_err(|failure| of_write(failure, step, item, mutation))?;
            ids.push(written.id);
            merged |= written.created;
        }
    }
    let bodies = read_replies(engine, connection, mutations, &ids).await;
    let bodies = bodies.map_err(|failure| failure.map(|error| ScriptError::new(step, error)))?;
    Ok((ids, bodies, merged))
}

/// Creates records with one statement. Returns `None` if this fails because one of them cannot be created; its error is
/// then found by creating them one by one.
async fn create_many<E: Engine>(
    engine: &E,
    connection: &mut E::Connection,
    statement: &StatementOf<E>,
    alike: &[Mutation],
) -> Result<Option<Vec<Key>>, ErrorOf<E>> {
    connection.execute("SAVEPOINT many").await?;
    let (ended, ids) = match try_create(engine, connection, statement, alike).await {
        Ok(Some(ids)) => ("RELEASE SAVEPOINT many", Some(ids)),
        Err(error) if E::retry(&error) != Retry::Never => return Err(error),
        Ok(None) | Err(_) => ("ROLLBACK TO SAVEPOINT many", None),
    };
    connection.execute(ended).await?;
    Ok(ids)
}

/// Creates records with one statement. Returns `None` if it did not create all of them, or if one of them is not a
/// permitted result.
async fn try_create<E: Engine>(
    engine: &E,
    connection: &mut E::Connection,
    statement: &StatementOf<E>,
    alike: &[Mutation],
) -> Result<Option<Vec<Key>>, ErrorOf<E>> {
    let rows = query::<E>(connection, statement).await?;
    let ids: Vec<Key> = rows.iter().map(E::key).collect();
    let Some(first) = alike.first() else { return Ok(None) };
    if ids.len() != alike.len() || ids.iter().any(Key::is_impossible) {
        return Ok(None);
    }
    if let Some(permitted) = engine.permitted(first.subject(), &ids) {
        let permitted = query::<E>(connection, &permitted).await?;
        return Ok((permitted.len() == ids.len()).then_some(ids));
    }
    Ok(Some(ids))
}

/// Runs a statement that needs no id, and returns its rows.
async fn query<E: Engine>(
    connection: &mut E::Connection,
    statement: &StatementOf<E>,
) -> Result<Vec<RowOf<E>>, ErrorOf<E>> {
    match connection.run(&[statement], &Key::default()).await {
        (_, Some(error)) => Err(error),
        (ran, None) => Ok(ran.into_iter().next().map(|ran| ran.rows).unwrap_or_default()),
    }
}

/// Reads the replies of writes. The replies of several writes are read at once.
async fn read_replies<E: Engine>(
    engine: &E,
    connection: &mut E::Connection,
    mutations: &[Mutation],
    ids: &[Key],
) -> Result<Vec<Option<JsonBody>>, Failure<ResolveError>> {
    let mut bodies = vec![None; mutations.len()];
    if let ([first, _, ..], [id, ..]) = (mutations, ids)
        && let Some(plan) = first.reply(id)
    {
        bodies = engine.read_records(connection, &plan, ids).await?;
    }
    for (item, (mutation, id)) in mutations.iter().zip(ids).enumerate() {
        if let Some(plan) = mutation.reply(id)
            && let Some(body) = bodies.get_mut(item).filter(|body| body.is_none())
        {
            *body = Some(read(engine, connection, &plan).await?);
        }
    }
    Ok(bodies)
}

/// Reads a plan inside the transaction.
async fn read<E: Engine>(
    engine: &E,
    connection: &mut E::Connection,
    plan: &Plan,
) -> Result<JsonBody, Failure<ResolveError>> {
    if matches!(plan.target(), Target::Point(id) if id.is_impossible()) {
        return Ok(plan.empty());
    }
    engine.read(connection, plan).await
}

/// Returns the failure of a write of a step. A write that has raced with another one may succeed when it is repeated.
fn of_write(
    failure: Failure<WriteError>,
    step: usize,
    item: usize,
    mutation: &Mutation,
) -> Failure<ScriptError> {
    let failure = match failure {
        Failure::Final(error) if mutation.is_raced(&error) => Failure::Conflict(error),
        failure => failure,
    };
    failure.map(|error| ScriptError::of_write(step, item, mutation, error))
}
