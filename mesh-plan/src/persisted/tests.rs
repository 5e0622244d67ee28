//! Tests of registration, and of the bounds of memory.

use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use mesh_schema::{FieldType, Schema};

use super::*;

const TITLES: &str = "{ post title }";

fn mesh() -> Mesh {
    let schema = Schema::builder()
        .entity("post", |post| post.field("id", FieldType::Integer).field("title", FieldType::String))
        .entity("tag", |tag| tag.field("id", FieldType::Integer))
        .build()
        .unwrap();
    Mesh::builder(schema).build().unwrap()
}

fn titles() -> PersistedQuery {
    PersistedQuery::new(Format::Ql, TITLES)
}

fn done<T>(future: impl Future<Output = T>) -> T {
    let mut cx = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut cx) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the future is pending"),
    }
}

fn query(number: usize, length: usize) -> PersistedQuery {
    PersistedQuery::new(Format::Ql, format!("{number:0length$}"))
}

/// Adds a text of this length to the queries in memory, and returns its id.
fn add(queries: &Persisted, number: usize, length: usize) -> String {
    let query = query(number, length);
    let id = query.id().to_string();
    queries.add_recent(Arc::new(query));
    id
}

/// A store that counts the queries that were looked up.
#[derive(Default)]
struct CountingStore(Mutex<(Vec<(Format, String)>, usize)>);

impl QueryStore for CountingStore {
    fn find(&self, id: QueryId) -> BoxFuture<'_, Result<Option<PersistedQuery>, QueryStoreError>> {
        let (kept, finds) = &mut *self.0.lock().unwrap();
        *finds += 1;
        let found = kept.iter().find(|(format, text)| QueryId::new(*format, text) == id);
        let found = found.map(|(format, text)| PersistedQuery::new(*format, text.as_str()));
        Box::pin(async move { Ok(found) })
    }

    fn save<'a>(&'a self, query: &'a PersistedQuery) -> BoxFuture<'a, Result<(), QueryStoreError>> {
        self.0.lock().unwrap().0.push((query.format(), query.text().to_owned()));
        Box::pin(async { Ok(()) })
    }
}

/// A store that keeps a number of queries and removes the oldest.
struct SmallStore(usize, Mutex<Vec<PersistedQuery>>);

impl QueryStore for SmallStore {
    fn find(&self, id: QueryId) -> BoxFuture<'_, Result<Option<PersistedQuery>, QueryStoreError>> {
        let found = self.1.lock().unwrap().iter().find(|query| query.id() == id).cloned();
        Box::pin(async move { Ok(found) })
    }

    fn save<'a>(&'a self, query: &'a PersistedQuery) -> BoxFuture<'a, Result<(), QueryStoreError>> {
        let mut kept = self.1.lock().unwrap();
        kept.push(query.clone());
        if kept.len() > self.0 {
            kept.remove(0);
        }
        Box::pin(async { Ok(()) })
    }
}

#[test]
fn a_query_that_a_full_store_has_removed_is_unknown_even_if_it_was_in_use() {
    let mesh = mesh();
    let store = Arc::new(SmallStore(3, Mutex::default()));
    let queries = Persisted::new(Registration::Open).memory(3, Persisted::TEXT_BYTES).store(store);
    let mut ids = Vec::new();
    for number in 0..6 {
        let query = PersistedQuery::new(Format::Ql, format!("{}{TITLES}", " ".repeat(number)));
        ids.push(done(queries.register(&mesh, query, None)).unwrap());
        let known = |id: &QueryId| done(queries.find(&id.to_string())).unwrap().is_some();
        assert_eq!(ids.iter().filter(|id| known(id)).count(), ids.len().min(3), "after {number}");
    }
}

#[test]
fn entries_are_bounded_and_queries_in_use_stay() {
    let queries = Persisted::new(Registration::Open).memory(10, 1 << 20);
    let used = add(&queries, 0, 5);
    for number in 1..1_000 {
        add(&queries, number, 5);
        assert!(done(queries.find(&used)).unwrap().is_some(), "{number}");
        assert!(queries.in_memory() <= 10, "{}", queries.in_memory());
    }
    let unused = query(3, 5).id().to_string();
    assert!(done(queries.find(&unused)).unwrap().is_none());
}

#[test]
fn the_size_of_texts_is_bounded() {
    let queries = Persisted::new(Registration::Open).memory(1_000, 1_000);
    for number in 0..100 {
        add(&queries, number, 100);
        let size: usize = queries.recent.values().iter().map(|query| query.text().len()).sum();
        assert!(size <= 1_000 && size > 0, "{size}");
    }
    let huge = add(&queries, 1, 501);
    assert!(done(queries.find(&huge)).unwrap().is_none());
}

#[test]
fn preloaded_queries_stay() {
    let mesh = mesh();
    let mut queries = Persisted::new(Registration::Open).memory(2, 1_000);
    let id = queries.preload(&mesh, titles()).unwrap().to_string();
    (0..100).for_each(|number| drop(add(&queries, number, 10)));
    assert!(done(queries.find(&id)).unwrap().is_some());
}

#[test]
fn queries_that_were_registered_cannot_be_run_once_registration_is_closed() {
    let (mesh, store) = (mesh(), Arc::new(CountingStore::default()));
    let open = Persisted::new(Registration::Open).store(Arc::clone(&store) as Arc<dyn QueryStore>);
    let registered = done(open.register(&mesh, titles(), None)).unwrap().to_string();
    let mut closed = Persisted::new(Registration::Closed).store(store);
    closed.adopt(&open);
    let preloaded = closed.preload(&mesh, PersistedQuery::new(Format::Ql, "{ tag id }")).unwrap().to_string();
    assert!(done(closed.find(&registered)).unwrap().is_none());
    assert!(done(closed.find(&preloaded)).unwrap().is_some());
}

#[test]
fn a_registry_without_memory_keeps_nothing() {
    for (entries, bytes) in [(0, 1_000), (10, 0)] {
        let queries = Persisted::new(Registration::Open).memory(entries, bytes);
        add(&queries, 1, 5);
        assert_eq!(queries.in_memory(), 0);
    }
}

#[test]
fn a_store_is_read_once_for_each_query_of_another_server() {
    let (mesh, store) = (mesh(), Arc::new(CountingStore::default()));
    let here = Persisted::new(Registration::Open).store(Arc::clone(&store) as Arc<dyn QueryStore>);
    let there = Persisted::new(Registration::Open).store(Arc::clone(&store) as Arc<dyn QueryStore>);
    let id = done(here.register(&mesh, titles(), None)).unwrap().to_string();
    assert_eq!(*store.0.lock().unwrap(), (vec![(Format::Ql, TITLES.to_owned())], 1), "looked up and stored");
    for _ in 0..3 {
        let query = done(there.find(&id)).unwrap().unwrap();
        assert_eq!(query.text(), TITLES);
    }
    assert_eq!(store.0.lock().unwrap().1, 2);
    assert!(done(there.find("q_nonsense")).unwrap().is_none());
    assert_eq!(store.0.lock().unwrap().1, 2, "a text that is not an id is not looked up");
}

#[test]
fn a_query_that_is_registered_again_after_a_restart_is_kept_again() {
    let (mesh, store) = (mesh(), Arc::new(CountingStore::default()));
    for kept in 1..=3 {
        let queries = Persisted::new(Registration::Open).store(Arc::clone(&store) as Arc<dyn QueryStore>);
        for _ in 0..2 {
            done(queries.register(&mesh, titles(), None)).unwrap();
        }
        assert_eq!(store.0.lock().unwrap().0.len(), kept);
    }
}

#[test]
fn declarations_do_not_change_once_they_are_registered() {
    let (mesh, queries) = (mesh(), Persisted::new(Registration::Open));
    let text = r#"{"post":{"$select":{"id":true},"$where":{"field":"id","op":"lt","value":{"$param":"n"}}}}"#;
    let register = |params: &str| {
        let query = PersistedQuery::new(Format::Json, text);
        let declared = ParamDeclarations::parse(params).unwrap();
        done(queries.register(&mesh, query.with_params(declared), None))
    };
    let declared = r#"{"n":{"type":"integer","default":7}}"#;
    let id = register(declared).unwrap();
    assert_eq!(register(declared).unwrap(), id);
    assert_eq!(register("{}").unwrap(), id, "a client that declares nothing");
    assert!(matches!(register(r#"{"n":{"type":"integer","default":8}}"#), Err(RegisterError::OtherParams)));
    let kept = done(queries.find(&id.to_string())).unwrap().unwrap();
    assert_eq!(kept.params().to_string(), declared);
    for wrong in [
        r#"{"m":{"type":"integer"}}"#,
        r#"{"n":{"type":"integer","default":"x"}}"#,
        r#"{"n":{"type":"string","default":"x"}}"#,
    ] {
        assert!(matches!(register(wrong), Err(RegisterError::Query(_))), "{wrong}");
    }
}

#[test]
fn a_registry_adopts_the_queries_of_another_except_preloaded_ones() {
    let mesh = mesh();
    let mut old = Persisted::new(Registration::Open);
    old.preload(&mesh, PersistedQuery::new(Format::Ql, "{ tag id }")).unwrap();
    let id = done(old.register(&mesh, titles(), None)).unwrap().to_string();
    let new = Persisted::new(Registration::Open);
    new.adopt(&old);
    let query = done(new.find(&id)).unwrap().unwrap();
    assert_eq!((query.text(), new.in_memory()), (TITLES, 1));
}
