//! Queries are checked at registration and not parsed again.

use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use mesh_schema::{FieldType, Schema};

use super::*;
use crate::{PlanErrorKind, Target, Value};

const TITLES: &str = "{ post title }";

fn mesh() -> Mesh {
    let schema = Schema::builder()
        .entity("post", |post| post.field("id", FieldType::Integer).field("title", FieldType::String))
        .entity("tag", |tag| tag.field("id", FieldType::Integer))
        .build()
        .unwrap();
    Mesh::builder(schema).build().unwrap()
}

fn titles() -> Request<'static> {
    Request::collection(Format::Ql, TITLES)
}

fn done<T>(future: impl Future<Output = T>) -> T {
    let mut cx = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut cx) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits"),
    }
}

/// Keeps texts, and counts what it is asked for.
#[derive(Default)]
struct Shelf(Mutex<(Vec<(Format, String)>, usize)>);

impl QueryStore for Shelf {
    fn find(&self, id: QueryId) -> BoxFuture<'_, Result<Option<PersistedQuery>, QueryStoreError>> {
        let (kept, finds) = &mut *self.0.lock().unwrap();
        *finds += 1;
        let found = kept.iter().find(|(format, text)| QueryId::of(*format, text) == id);
        let found = found.map(|(format, text)| PersistedQuery::new(*format, text.as_str()));
        Box::pin(async move { Ok(found) })
    }

    fn keep<'a>(&'a self, query: &'a PersistedQuery) -> BoxFuture<'a, Result<(), QueryStoreError>> {
        self.0.lock().unwrap().0.push((query.format(), query.text().to_owned()));
        Box::pin(async { Ok(()) })
    }
}

#[test]
fn ids_follow_from_format_and_text() {
    // printf 'ql\0{ post title }' | sha256sum
    let id = QueryId::of(Format::Ql, TITLES);
    assert_eq!(id.to_string(), "q_b1ac7d3161a94b016491ac001920b033");
    assert_eq!(QueryId::parse(&id.to_string()), Some(id));
    assert_ne!(QueryId::of(Format::Json, TITLES), id);
    let upper = id.to_string().to_uppercase();
    for wrong in ["", "q_", &id.to_string()[2..], &id.to_string()[..33], &format!("{id}0"), &upper, "q_é"] {
        assert_eq!(QueryId::parse(wrong), None, "{wrong}");
    }
}

#[test]
fn what_is_registered_is_found() {
    let (mesh, queries) = (mesh(), Persisted::new(Registration::Open));
    let id = done(queries.register(&mesh, &titles())).unwrap();
    assert_eq!(done(queries.register(&mesh, &titles())).unwrap(), id, "twice does no harm");
    let query = done(queries.find(&id.to_string())).unwrap().unwrap();
    assert_eq!((query.format(), query.text(), query.id()), (Format::Ql, TITLES, id));
    assert!(done(queries.find("q_00000000000000000000000000000000")).unwrap().is_none());
    assert!(done(queries.find("post")).unwrap().is_none());
    assert_eq!(queries.in_memory(), 1);
}

#[test]
fn what_does_not_fit_is_not_registered() {
    let (mesh, queries) = (mesh(), Persisted::new(Registration::Open));
    for text in ["{ post secret }", "{ nosuch id }", "{ post", "", "{\"post\":{\"$select\":{\"id\":true}}}"] {
        let refused = done(queries.register(&mesh, &Request::collection(Format::Ql, text)));
        assert!(matches!(refused, Err(RegisterError::Query(_))), "{text}");
    }
    assert_eq!(queries.in_memory(), 0);
}

#[test]
fn plans_are_made_once() {
    let (mesh, queries) = (mesh(), Persisted::new(Registration::Open));
    let id = done(queries.register(&mesh, &titles())).unwrap().to_string();
    let query = done(queries.find(&id)).unwrap().unwrap();
    let first = mesh.plan_persisted(&query, Some("1"), Some("post"), None).unwrap();
    let second = mesh.plan_persisted(&query, Some("2"), Some("post"), None).unwrap();
    assert!(Arc::ptr_eq(&first.query, &second.query), "one plan for all records");
    assert_eq!(*second.target(), Target::Point(Value::Integer(2)));
    let list = mesh.plan_persisted(&query, None, Some("post"), None).unwrap();
    assert_eq!(*list.target(), Target::Collection);
    let text = mesh.plan(&Request::point(Format::Ql, TITLES, "1")).unwrap();
    assert_eq!(text.to_string(), first.to_string(), "the same as of the text");
}

#[test]
fn the_paths_entity_still_counts() {
    let (mesh, queries) = (mesh(), Persisted::new(Registration::Open));
    let id = done(queries.register(&mesh, &titles())).unwrap().to_string();
    let query = done(queries.find(&id)).unwrap().unwrap();
    for _ in 0..2 {
        let error = mesh.plan_persisted(&query, None, Some("tag"), None).unwrap_err();
        let Error::Plan(error) = error else { panic!("{error:?}") };
        assert!(matches!(error.kind, PlanErrorKind::RootMismatch { .. }));
        assert!(mesh.plan_persisted(&query, None, Some("nosuch"), None).is_err());
        assert!(mesh.plan_persisted(&query, None, Some("post"), None).is_ok());
    }
}

#[test]
fn a_store_is_asked_once_for_what_others_registered() {
    let (mesh, shelf) = (mesh(), Arc::new(Shelf::default()));
    let here = Persisted::new(Registration::Open).store(Arc::clone(&shelf) as Arc<dyn QueryStore>);
    let there = Persisted::new(Registration::Open).store(Arc::clone(&shelf) as Arc<dyn QueryStore>);
    let id = done(here.register(&mesh, &titles())).unwrap().to_string();
    assert_eq!(shelf.0.lock().unwrap().0.len(), 1);
    for _ in 0..3 {
        let query = done(there.find(&id)).unwrap().unwrap();
        assert_eq!(query.text(), TITLES);
        assert!(mesh.plan_persisted(&query, None, None, None).is_ok());
    }
    assert_eq!(shelf.0.lock().unwrap().1, 1);
    assert!(done(there.find("q_nonsense")).unwrap().is_none());
    assert_eq!(shelf.0.lock().unwrap().1, 1, "what cannot be an id is not looked up");
}

#[test]
fn another_schema_takes_queries_over_and_plans_them_anew() {
    let mesh = mesh();
    let mut old = Persisted::new(Registration::Open);
    old.preload(&mesh, Format::Ql, "{ tag id }").unwrap();
    let id = done(old.register(&mesh, &titles())).unwrap().to_string();
    let before = done(old.find(&id)).unwrap().unwrap();
    assert!(mesh.plan_persisted(&before, None, None, None).is_ok());

    let schema = Schema::builder().entity("post", |post| post.field("id", FieldType::Integer)).build();
    let other = Mesh::builder(schema.unwrap()).build().unwrap();
    let new = Persisted::new(Registration::Open);
    new.adopt(&old);
    let query = done(new.find(&id)).unwrap().expect("it is still registered");
    assert_eq!((query.text(), new.in_memory()), (TITLES, 1), "what was loaded at start is not taken over");
    let error = other.plan_persisted(&query, None, None, None).unwrap_err().to_string();
    assert!(error.contains("'title'"), "{error}");
    assert!(mesh.plan_persisted(&before, None, None, None).is_ok(), "who has it still can go on");
}
