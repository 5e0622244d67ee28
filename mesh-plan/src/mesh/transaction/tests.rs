//! Tests of transactions with the mutators of an application.

use std::sync::Mutex;

use futures_util::FutureExt as _;
use mesh_schema::{Document, Schema};

use super::*;
use crate::{BoxFuture, Fields, Key, Mutator, Value, WriteTarget, Written};

/// A storage whose writes all succeed, and which reads the same body each time.
#[derive(Default)]
struct Storage {
    steps: Mutex<Vec<String>>,
}

impl Mutator for Arc<Storage> {
    fn mutate(&self, _: Mutation, _: Context) -> BoxFuture<'_, Outcome<Written, WriteError>> {
        Box::pin(async { Outcome::Committed(Written::default()) })
    }

    fn transact(
        &self,
        script: Arc<dyn Script>,
        _: Context,
    ) -> Option<BoxFuture<'_, Outcome<Vec<StepResult>, ScriptError>>> {
        let running = async move {
            let mut done = Vec::new();
            while let Some(step) = script.next(&done).map_err(|error| ScriptError::new(done.len(), error))? {
                let body = JsonBody { bytes: "{\"n\":1}".into(), rows: 1, digest: None };
                let (name, count) = match &step {
                    ScriptStep::Write(mutations) => ("write", mutations.len()),
                    ScriptStep::Read { lock, .. } => (if lock.is_some() { "lock" } else { "read" }, 1),
                };
                self.steps.lock().unwrap().push(name.to_owned());
                let ids = (1..=count as i64).map(Key::from).collect();
                done.push(StepResult { step, ids, bodies: vec![Some(body); count], created: false });
            }
            Ok(done)
        };
        Some(Box::pin(async { running.await.into() }))
    }
}

fn schema() -> Schema {
    let entity = |table: &str| {
        format!(
            r#"{{"table": "{table}", "fields": ["id", "n"], "types": {{"id": "integer", "n": "integer"}}, "writable": true}}"#
        )
    };
    let text =
        format!(r#"{{"entities": {{"a": {}, "b": {}, "c": {}}}}}"#, entity("a"), entity("b"), entity("c"));
    Document::parse(&text).unwrap().load(None).unwrap()
}

async fn alone(_: Mutation, _: Context) -> Result<Written, WriteError> {
    Ok(Written::new(1))
}

/// Entities `a` and `b` have one storage, and `c` a mutator without transactions.
fn mesh() -> (Mesh, Arc<Storage>) {
    let storage = Arc::new(Storage::default());
    let mesh = Mesh::builder(schema()).default_mutator(Arc::clone(&storage)).mutator("c", alone);
    (mesh.build().unwrap(), storage)
}

fn conditional(digest: u128) -> (Outcome<WriteReply, Error>, Vec<String>) {
    let (mesh, storage) = mesh();
    let fields = Fields::parse(b"{\"n\": 2}").unwrap();
    let request = WriteRequest::new(WriteTarget::Update { entity: "a", id: "1".into() }).with_fields(&fields);
    let mutation = mesh.plan_write(&request).unwrap();
    let expected = mesh.plan_expected(&request, &mutation, Some(vec![digest])).unwrap();
    let context = Context::default();
    let reply = mesh.write_if(mutation, expected, &context).now_or_never().unwrap();
    let steps = storage.steps.lock().unwrap().clone();
    (reply, steps)
}

#[test]
fn a_record_is_locked_and_compared_before_it_is_written() {
    let (reply, steps) = conditional(JsonBody::digest(b"{\"n\":1}"));
    assert_eq!(
        (reply.into_result().unwrap().id.as_str(), steps),
        ("1", vec!["lock".to_owned(), "write".to_owned()])
    );
    let (reply, steps) = conditional(7);
    assert!(matches!(reply, Outcome::NotCommitted(Error::Write(WriteError::Changed))));
    assert_eq!(steps, ["lock"]);
}

fn create_all(mesh: &Mesh, entity: &str, count: usize) -> Outcome<Transacted, ScriptError> {
    let records = vec![Fields::parse(b"{\"n\": 2}").unwrap(); count];
    let request = WriteRequest::new(WriteTarget::Create { entity });
    let context = Context::default();
    mesh.create_all(&request, &records, &context).now_or_never().unwrap()
}

#[test]
fn records_of_a_list_are_one_step_and_one_change_each() {
    let (mesh, storage) = mesh();
    let created = create_all(&mesh, "a", 3).into_result().unwrap();
    assert_eq!(created.changes, ["1", "2", "3"].map(|id| Change::record("a", id)));
    assert_eq!(*storage.steps.lock().unwrap(), ["write"]);
    assert!(create_all(&mesh, "a", 0).into_result().unwrap().results.is_empty());
}

#[test]
fn records_of_a_list_may_have_other_members_in_another_order() {
    let (mesh, _) = mesh();
    let list = [r#"{"n": 1, "id": 2}"#, r#"{"id": 3, "n": 4}"#, r#"{"id": 5}"#, r#"{"n": 6}"#]
        .map(|fields| Fields::parse(fields.as_bytes()).unwrap());
    let request = WriteRequest::new(WriteTarget::Create { entity: "a" });
    let (planned, invalid) = mesh.plan_creates(&request, &list).unwrap();
    assert!(invalid.is_none());
    let values = |mutation: &Mutation| -> Vec<(String, Value)> {
        mutation.action.values().iter().map(|it| (it.column.to_string(), it.value.clone())).collect()
    };
    let value = |name: &str, value: i64| (name.to_owned(), Value::Integer(value));
    let expected =
        [vec![value("n", 1), value("id", 2)], vec![value("id", 3), value("n", 4)], vec![value("id", 5)]];
    assert_eq!(planned.iter().map(values).take(3).collect::<Vec<_>>(), expected);
    assert_eq!(planned.last().map(values), Some(vec![value("n", 6)]));
    let (planned, invalid) = mesh
        .plan_creates(
            &request,
            &[r#"{"n": 1}"#, r#"{"m": 1, "n": "x"}"#].map(|fields| Fields::parse(fields.as_bytes()).unwrap()),
        )
        .unwrap();
    let invalid = invalid.unwrap();
    assert_eq!((planned.len(), invalid.item), (1, Some(1)));
    assert_eq!(invalid.error.to_string(), "Field 'm' not found on entity 'a'");
}

#[test]
fn storage_without_transactions_is_named() {
    let (mesh, _) = mesh();
    let error = create_all(&mesh, "c", 2).into_result().unwrap_err().error.to_string();
    assert_eq!(
        error,
        "The storage of entity 'c' has no transactions of several steps; send a request for each step"
    );
}

/// A script that reads nothing.
struct Nothing;

impl Script for Nothing {
    fn next(&self, _: &[StepResult]) -> Result<Option<ScriptStep>, Error> {
        Ok(None)
    }
}

#[test]
fn a_transaction_has_one_storage() {
    let (mesh, _) = mesh();
    let context = Context::default();
    let run = |entities: &[&str]| {
        mesh.transact(entities, Arc::new(Nothing), &context).now_or_never().unwrap().map(|done| done.results)
    };
    assert!(run(&["a", "b", "a"]).into_result().unwrap().is_empty());
    let error = run(&["a", "b", "c"]).into_result().unwrap_err();
    let message = "Entities 'c' and 'a' are in different storages, which have no common transaction; use separate requests";
    assert_eq!((error.step, error.error.to_string().as_str()), (2, message));
}
