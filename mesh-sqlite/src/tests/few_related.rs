//! Conditions that few related records probably satisfy.

use mesh_plan::{Context, Mesh, Plan, Request};
use mesh_ql::{Format, ParamValues};
use mesh_schema::Document;
use mesh_sql::sqlite::Statements;

use super::File;

/// 2,000 posts of 20 users: ten with the word `rare`, one of which has no author, and 1,990 with the word `common`. Ten
/// are tagged.
const BLOG: &str = "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE posts (id INTEGER PRIMARY KEY, word TEXT, author_id INTEGER REFERENCES users (id));
    CREATE TABLE tags (id INTEGER PRIMARY KEY, label TEXT);
    CREATE TABLE post_tags (post_id INTEGER REFERENCES posts (id), tag_id INTEGER REFERENCES tags (id),
        PRIMARY KEY (post_id, tag_id));
    CREATE INDEX posts_author ON posts (author_id);
    CREATE INDEX posts_word ON posts (word);
    CREATE INDEX post_tags_tag ON post_tags (tag_id);
    WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 20) INSERT INTO users SELECT i, 'u' || i FROM c;
    WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 2000)
        INSERT INTO posts SELECT i, iif(i > 1990, 'rare', 'common'), iif(i > 1990, NULLIF(i - 1990, 9), i % 10 + 11) FROM c;
    INSERT INTO tags VALUES (1, 'rust'), (2, 'go');
    INSERT INTO post_tags SELECT id, 1 FROM posts WHERE id % 200 = 0;";

/// Returns the ids of the users that a plan selects.
async fn ids(mesh: &Mesh, plan: &Plan) -> Vec<i64> {
    let body = mesh.read(plan, &Context::new("test")).await.unwrap();
    let body: serde_json::Value = serde_json::from_slice(&body.bytes).unwrap();
    body["items"].as_array().unwrap().iter().map(|user| user["id"].as_i64().unwrap()).collect()
}

/// Returns whether a plan is lowered to a condition that is checked for each row.
fn checks_each_row(plan: &Plan) -> bool {
    Statements::from_plan(plan).iter().next().unwrap().sql.contains("EXISTS")
}

#[tokio::test]
async fn few_related_records_are_found_first() {
    let file = File::new(BLOG);
    let mesh = file.mesh();
    let read = async |condition: &str| {
        let text = format!(r#"{{"user":{{"$select":{{"id":true}},"$where":{condition}}}}}"#);
        let plan = mesh.plan(&Request::collection(Format::Json, &text)).unwrap();
        (ids(&mesh, &plan).await, checks_each_row(&plan))
    };
    let posts = |op: &str, word: &str| {
        format!(r#"{{"relation":"posts","op":"{op}","where":{{"field":"word","op":"eq","value":"{word}"}}}}"#)
    };
    let with_rare = vec![1, 2, 3, 4, 5, 6, 7, 8, 10];
    let others: Vec<i64> = (1..=20).filter(|id| !with_rare.contains(id)).collect();
    assert_eq!(read(&posts("some", "rare")).await, (with_rare.clone(), false));
    assert_eq!(read(&posts("none", "rare")).await, (others.clone(), true), "authors may be NULL");
    assert_eq!(read(&format!(r#"{{"not":{}}}"#, posts("some", "rare"))).await, (others, true));
    assert_eq!(read(&posts("some", "common")).await, ((11..=20).collect(), false), "values do not matter");
    let any_word = posts("some", "a").replace("eq", "gt");
    assert_eq!(read(&any_word).await, ((1..=20).filter(|id| *id != 9).collect(), true), "many may match");
    let tagged = |label: &str| {
        let tag = format!(r#"{{"field":"label","op":"eq","value":"{label}"}}"#);
        let tag = format!(r#"{{"relation":"tags","op":"some","where":{tag}}}"#);
        format!(r#"{{"relation":"posts","op":"some","where":{tag}}}"#)
    };
    assert_eq!(read(&tagged("rust")).await, (vec![10, 11], false));
    assert_eq!(read(&tagged("go")).await, (Vec::new(), false));
}

#[tokio::test]
async fn few_related_records_are_found_first_by_a_foreign_key_that_is_no_field() {
    const DOCUMENT: &str = r#"{
        "entities": {"user": {"fields": ["id"]}, "post": {"fields": ["id", "word"]}},
        "joins": {"user.posts": {"entity": "post", "type": "many", "on": "posts.author_id = users.id"}}
    }"#;
    let file = File::new(BLOG);
    let database = file.database();
    let catalog = database.contents(&[]).unwrap().catalog;
    let schema = Document::parse(DOCUMENT).unwrap().load(Some(&catalog)).unwrap();
    let mesh = Mesh::builder(schema).default_resolver(database.clone()).build().unwrap();
    let text = r#"{"user":{"$select":{"id":true},"$where":
        {"relation":"posts","op":"some","where":{"field":"word","op":"eq","value":"rare"}}}}"#;
    let plan = mesh.plan(&Request::collection(Format::Json, text)).unwrap();
    assert_eq!(ids(&mesh, &plan).await, [1, 2, 3, 4, 5, 6, 7, 8, 10]);
    assert!(!checks_each_row(&plan));
}

/// The statement of a query does not depend on the values that come first.
#[tokio::test]
async fn values_of_parameters_do_not_change_the_statement() {
    let file = File::new(BLOG);
    let mesh = file.mesh();
    let text = r#"{"user":{"$select":{"id":true},"$where":
        {"relation":"posts","op":"some","where":{"field":"word","op":"eq","value":{"$param":"word"}}}}}"#;
    let read = async |word: &str| {
        let params = ParamValues::new().with("word", word);
        let plan = mesh.plan(&Request::collection(Format::Json, text).with_params(Some(&params))).unwrap();
        (ids(&mesh, &plan).await, checks_each_row(&plan))
    };
    assert_eq!(read("common").await, ((11..=20).collect(), false));
    assert_eq!(read("rare").await, (vec![1, 2, 3, 4, 5, 6, 7, 8, 10], false));
}
