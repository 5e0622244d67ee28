//! Flat rows of every kind nest into equal responses, and invalid rows are refused.

use std::future::Future;
use std::pin::pin;
use std::task::{Context as Waiting, Poll, Waker};

use mesh_ql::Format;
use mesh_schema::{FieldType, JoinDocument, Schema};

use crate::{Context, Error, Mesh, Plan, Request, ResolveError, Resolver, Rows, Table, Value};

fn schema() -> Schema {
    use FieldType::{Integer, String};
    Schema::builder()
        .entity("user", |user| user.field("id", Integer).field("name", String))
        .entity("post", |post| post.field("id", Integer).field("title", String))
        .entity("comment", |comment| comment.field("id", Integer).field("text", String))
        .entity("tag", |tag| tag.field("id", Integer).field("name", String))
        .relation("post.author", JoinDocument::one("user", "users.id = posts.author_id"))
        .relation("post.comments", JoinDocument::many("comment", "comments.post_id = posts.id"))
        .relation("post.tags", JoinDocument::many("tag", "tags.post_id = posts.id"))
        .build()
        .unwrap_or_else(|faults| panic!("{}", faults[0]))
}

const QUERY: &str = "{ post title author { name } comments { text } tags { name } }";

/// The items that the rows of every test below nest into.
const NESTED: &str = concat!(
    r#"[{"title":"One","author":{"name":"Ada"},"comments":[{"text":"a"},{"text":"b"}],"#,
    r#""tags":[{"name":"red"},{"name":"blue"}]},"#,
    r#"{"title":"Two","author":null,"comments":[],"tags":[]}]"#,
);

/// A row of literals.
macro_rules! row {
    ($($cell:expr),* $(,)?) => { [$(Value::from($cell)),*] };
}

const NULL: Option<i64> = None;

fn block_on<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Waiting::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("nothing here waits"),
    }
}

/// Returns the response to a query with the rows that `rows` returns.
fn read(
    request: &Request<'_>,
    rows: impl Fn(&Plan) -> Rows + Clone + Send + Sync + 'static,
) -> Result<String, ResolveError> {
    let resolver = move |plan: Plan, _: Context| {
        let rows = rows(&plan);
        async move { Ok::<_, ResolveError>(rows) }
    };
    run(request, resolver)
}

fn run(request: &Request<'_>, resolver: impl Resolver) -> Result<String, ResolveError> {
    let mesh = Mesh::builder(schema()).default_resolver(resolver).build().unwrap();
    let plan = mesh.plan(request).unwrap_or_else(|error: Error| panic!("{error}"));
    block_on(mesh.read(&plan, &Context::default()))
        .map(|body| String::from_utf8(body.bytes.to_vec()).unwrap())
}

fn posts() -> Request<'static> {
    Request::collection(Format::Ql, QUERY)
}

/// Checks the `items` of a collection, and that there is no next page.
#[track_caller]
fn check(read: Result<String, ResolveError>) {
    let text = read.unwrap();
    let items = text
        .strip_prefix(r#"{"items":"#)
        .and_then(|text| text.split_once(r#","pageInfo":{"hasNextPage":false"#));
    assert_eq!(items.map(|(items, _)| items), Some(NESTED));
}

/// Returns the text of a failure for the log.
#[track_caller]
fn failure(read: Result<String, ResolveError>) -> String {
    match read {
        Err(ResolveError::Failed(source)) => source.to_string(),
        other => panic!("{other:?}"),
    }
}

/// Rows in separate tables, with children in the given order, some of them twice.
fn separate(_: &Plan) -> Rows {
    let mut rows = Rows::default();
    let mut add = |path: &str, columns: &[&str], cells: &[&[Value]]| {
        let mut table = Table::new(columns.iter().copied());
        cells.iter().for_each(|row| table.push(row.iter().cloned()));
        rows.set(path, table);
    };
    add("", &["title", "id", "author_id"], &[&row!["One", 1, 7], &row!["Two", 2, NULL], &row!["One", 1, 7]]);
    add("author", &["id", "name"], &[&row![7, "Ada"], &row![NULL, "nobody"]]);
    add(
        "comments",
        &["post_id", "text", "id"],
        &[&row![1, "a", 1], &row![1, "b", 2], &row![1, "a", 1], &row![NULL, "lost", 3], &row![9, "lost", 4]],
    );
    add("tags", &["id", "name", "post_id", "more"], &[&row![1, "red", 1.0, true], &row![2, "blue", 1, NULL]]);
    rows
}

#[test]
fn rows_are_nested_by_the_keys_of_their_parents() {
    check(read(&posts(), separate));
}

#[test]
fn a_point_read_shows_the_first_row_or_null() {
    let request = Request::point(Format::Ql, QUERY, "1");
    let one = NESTED[1..].split_once(r#",{"title":"Two""#).unwrap().0;
    assert_eq!(read(&request, separate).unwrap(), one);
    assert_eq!(read(&request, Rows::new).unwrap(), "null");
}

#[test]
fn a_new_table_has_the_columns_that_nesting_needs() {
    let rows = |plan: &Plan| {
        let mut rows = Rows::new(plan);
        let cell = |column: &str| match column {
            "title" => "One".into(),
            "name" => "Ada".into(),
            "id" | "author_id" | "post_id" => 1.into(),
            other => panic!("no need of {other}"),
        };
        rows.root().push_with(cell);
        rows.table("author").unwrap().push_with(cell);
        assert!(rows.table("author.posts").is_none());
        rows
    };
    let request = Request::point(Format::Ql, QUERY, "1");
    let expected = r#"{"title":"One","author":{"name":"Ada"},"comments":[],"tags":[]}"#;
    assert_eq!(read(&request, rows).unwrap(), expected);
}

#[test]
fn a_page_is_cut_and_tells_that_more_follow() {
    let page = |first: usize, rows: i64| {
        let query = format!(r#"{{"post":{{"$select":{{"id":true}},"$page":{{"first":{first}}}}}}}"#);
        let text = read(&Request::collection(Format::Json, &query), move |plan| {
            let mut all = Rows::new(plan);
            (1..=rows).for_each(|id| all.root().push(row![id]));
            all
        });
        let body: serde_json::Value = serde_json::from_str(&text.unwrap()).unwrap();
        let ids: Vec<_> =
            body["items"].as_array().unwrap().iter().map(|item| item["id"].as_i64().unwrap()).collect();
        (ids, body["pageInfo"]["hasNextPage"].as_bool().unwrap())
    };
    assert_eq!(page(2, 2), (vec![1, 2], false));
    assert_eq!(page(2, 3), (vec![1, 2], true));
    assert_eq!(page(2, 9), (vec![1, 2], true));
    assert_eq!(page(2, 0), (vec![], false));
}

#[test]
fn a_nested_page_is_cut() {
    let query = r#"{"post":{"$select":{"comments":{"$select":{"id":true},"$page":{"first":1}}}}}"#;
    let text = read(&Request::collection(Format::Json, query), separate).unwrap();
    assert!(text.starts_with(r#"{"items":[{"comments":[{"id":1}]},{"comments":[]}],"#), "{text}");
}

#[test]
fn a_missing_column_is_named() {
    let without = |path: &'static str, column: &'static str| {
        failure(read(&posts(), move |plan| {
            let mut rows = separate(plan);
            let table = &rows.tables[path];
            let mut fewer = Table::new(table.columns().iter().filter(|name| *name != column).cloned());
            let width = fewer.columns().len();
            fewer.push(vec![Value::Null; width]);
            rows.set(path, fewer);
            rows
        }))
    };
    assert_eq!(without("", "title"), "the rows of the root lack the column 'title'");
    assert_eq!(without("", "author_id"), "the rows of the root lack the column 'author_id'");
    assert_eq!(without("author", "name"), "the rows of author lack the column 'name'");
    assert_eq!(without("comments", "post_id"), "the rows of comments lack the column 'post_id'");
}

#[test]
fn a_row_of_another_width_is_refused() {
    let text = failure(read(&posts(), |plan| {
        let mut rows = separate(plan);
        rows.table("tags").unwrap().push(row![1, 2, 3]);
        rows
    }));
    assert_eq!(text, "a row of tags has 3 cells, but there are 4 columns");
}

#[test]
fn a_panic_of_the_resolver_ends_its_read_only() {
    async fn late(_: Plan, _: Context) -> Result<Rows, ResolveError> {
        panic!("out of cheese")
    }
    let panicked = |result| match result {
        Err(ResolveError::Panicked(message)) => message,
        other => panic!("{other:?}"),
    };
    assert_eq!(panicked(run(&posts(), late)), "out of cheese");
    let early = |plan: &Plan| -> Rows { panic!("no {}", plan.node().entity) };
    assert_eq!(panicked(read(&posts(), early)), "no post");
}

#[test]
fn an_entity_without_resolver_is_named() {
    let mesh = Mesh::builder(schema()).build().unwrap();
    let plan = mesh.plan(&posts()).unwrap();
    let error = block_on(mesh.read(&plan, &Context::default())).unwrap_err();
    assert!(matches!(error, ResolveError::Missing(entity) if entity == "post"));
}

#[test]
fn a_large_response_keeps_no_spare_capacity() {
    let mesh = Mesh::builder(schema()).build().unwrap();
    let query = r#"{"post":{"$select":{"title":true},"$page":{"first":200}}}"#;
    let plan = mesh.plan(&Request::collection(Format::Json, query)).unwrap();
    let mut rows = Rows::new(&plan);
    for id in 0..150i64 {
        let title = "x".repeat(10_000);
        rows.root().push_with(|column| if column == "title" { title.as_str().into() } else { id.into() });
    }
    let mut length = 0;
    let mut body = None;
    let measured = allocation_counter::measure(|| {
        let nested = plan.nest(rows.clone()).unwrap();
        length = nested.bytes.len();
        body = Some(nested);
    });
    assert!(length > super::SIZE_LARGE, "{length}");
    assert!(measured.bytes_current < length as i64 * 5 / 4, "{} for {length}", measured.bytes_current);
}
