//! Searches: SQLite, PostgreSQL and MariaDB find the records that the resolver in memory finds. `SPEC §20`
//!
//! Texts and searches are random. Words are ASCII, longer than two letters and no stop words: what counts as equal beyond that is
//! the business of each index.

use std::sync::Arc;

use mesh_plan::memory::Tables;
use mesh_plan::{Context, Mesh, Request, Value};
use mesh_ql::{Format, ParamValues};
use mesh_schema::{Catalog, Document};
use mesh_tests::{Cluster, MariaDb};
use rusqlite::Connection;
use serde_json::{Value as Json, json};
use tokio::runtime::Runtime;

use crate::differential::check::Folder;
use crate::differential::dice::Dice;

const WORDS: [&str; 6] = ["rust", "Crate", "QUERY", "queries", "index", "indexed"];

const POSTS: usize = 60;
const TOPICS: usize = 6;

/// A column of texts in random order, some of them NULL.
fn text(dice: &mut Dice) -> Option<String> {
    // PostgreSQL counts words with a hyphen between them as a further word.
    let separators = [" ", ", ", "; ", ". (", "\n", " / "];
    let word = |dice: &mut Dice| format!("{}{}", dice.pick(&separators), dice.pick(&WORDS));
    // MariaDB does not find phrases behind an empty field.
    (!dice.chance(10)).then(|| (0..=dice.below(6)).map(|_| word(dice)).collect())
}

/// A random search with a word to look for.
fn search(dice: &mut Dice) -> String {
    let mut terms = vec![term(dice)];
    for _ in 0..dice.below(3) {
        let sign = if dice.chance(40) { "-" } else { "" };
        terms.insert(dice.below(terms.len() + 1), format!("{sign}{}", term(dice)));
    }
    terms.join(dice.pick(&[" ", "  ", "\t"]))
}

fn term(dice: &mut Dice) -> String {
    let words = ["RUST", "crate", "query", "queries", "Index", "indexed", "absent"];
    match dice.below(4) {
        0 => format!("\"{} {}\"", dice.pick(&words), dice.pick(&words)),
        1 => format!("{}*", dice.pick(&["ind", "quer", "RU", "indexed", "abs"])),
        _ => dice.pick(&words).to_owned(),
    }
}

/// A condition with searches of posts, or of topics and their posts.
fn condition(dice: &mut Dice, of_posts: bool) -> Json {
    let text = search(dice);
    match (dice.below(5), of_posts) {
        (0, true) => json!({"or": [{"search": text}, {"field": "id", "op": "lt", "value": 8}]}),
        (1, true) => json!({"and": [{"search": text}, {"field": "title", "op": "isNotNull"}]}),
        (2, true) => json!({"relation": "topic", "op": "some", "where": {"search": text}}),
        (_, true) => json!({"search": text}),
        (0, false) => json!({"search": text}),
        (_, false) => {
            let op = dice.pick(&["some", "none", "every"]);
            json!({"relation": "posts", "op": op, "where": condition(dice, true)})
        }
    }
}

/// The same rows in each database and in memory.
struct Engines {
    runtime: Runtime,
    meshes: Vec<(&'static str, Mesh)>,
    _folder: Folder,
    _cluster: Option<Cluster>,
    _server: Option<MariaDb>,
}

impl Engines {
    fn start(dice: &mut Dice) -> Self {
        let runtime = Runtime::new().unwrap();
        let topics: Vec<_> = (0..TOPICS).map(|_| text(dice)).collect();
        let posts: Vec<_> = (0..POSTS).map(|_| (1 + dice.below(TOPICS), text(dice), text(dice))).collect();
        let quoted = |text: &Option<String>| match text {
            Some(text) => format!("'{text}'"),
            None => "NULL".to_owned(),
        };
        let topic_rows = topics.iter().zip(1..).map(|(name, id)| format!("({id}, {})", quoted(name)));
        let post_rows = posts.iter().zip(1..).map(|((topic, title, body), id)| {
            format!("({id}, {topic}, {}, {})", quoted(title), quoted(body))
        });
        let rows = format!(
            "INSERT INTO topics VALUES {}; INSERT INTO posts VALUES {};",
            topic_rows.collect::<Vec<_>>().join(", "),
            post_rows.collect::<Vec<_>>().join(", ")
        );
        let tables = "CREATE TABLE topics (id INTEGER PRIMARY KEY, name VARCHAR(200));
             CREATE TABLE posts (id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, title VARCHAR(200), body TEXT,
                 FOREIGN KEY (topic_id) REFERENCES topics (id));";

        let folder = Folder::new("searches", 0);
        let path = folder.0.join("data.db");
        let sqlite =
            "CREATE VIRTUAL TABLE topic_words USING fts5(name, content='topics', content_rowid='id');
             CREATE VIRTUAL TABLE post_words USING fts5(title, body, content='posts', content_rowid='id');
             INSERT INTO topic_words (topic_words) VALUES ('rebuild');
             INSERT INTO post_words (post_words) VALUES ('rebuild');";
        Connection::open(&path).unwrap().execute_batch(&format!("{tables} {rows} {sqlite}")).unwrap();
        let opened = mesh_sqlite::Database::open(&path).unwrap();
        let catalog = opened.contents(&[]).unwrap().catalog;
        let document = inferred(&catalog);
        let cell = |text: &Option<String>| text.clone().map_or(Value::Null, Value::Text);
        let in_memory = Tables::new()
            .with(
                "topics",
                ["id", "name"],
                (1i64..).zip(&topics).map(|(id, name)| vec![id.into(), cell(name)]),
            )
            .with(
                "posts",
                ["id", "topic_id", "title", "body"],
                (1i64..).zip(&posts).map(|(id, (topic, title, body))| {
                    vec![id.into(), (*topic as i64).into(), cell(title), cell(body)]
                }),
            );
        let schema = Arc::new(document.load(Some(&catalog)).unwrap());
        let memory = Mesh::builder(Arc::clone(&schema)).default_resolver(in_memory).build().unwrap();
        let mut meshes = vec![
            ("memory", memory),
            ("SQLite", Mesh::builder(schema).default_resolver(opened).build().unwrap()),
        ];

        let cluster = Cluster::start();
        if let Some(cluster) = &cluster {
            let all = "(coalesce(title, '') || ' ' || coalesce(body, ''))";
            cluster.execute(&format!(
                "{tables} {rows} CREATE INDEX ON posts USING gin (to_tsvector('simple', {all}));
                 CREATE INDEX ON topics USING gin (to_tsvector('simple', name));"
            ));
            let (url, settings) = (cluster.url(), mesh_postgres::Settings::default());
            let opened = runtime.block_on(mesh_postgres::Database::connect(&url, &settings)).unwrap();
            let catalog = runtime.block_on(opened.contents(&[])).unwrap().catalog;
            let schema = Arc::new(inferred(&catalog).load(Some(&catalog)).unwrap());
            meshes.push(("PostgreSQL", Mesh::builder(schema).default_resolver(opened).build().unwrap()));
        }
        let server = MariaDb::start();
        if let Some(server) = &server {
            server.execute(&format!(
                "ALTER DATABASE mesh COLLATE utf8mb4_general_ci; USE mesh; {tables} {rows} ALTER TABLE posts ADD FULLTEXT (title, body);
                 ALTER TABLE topics ADD FULLTEXT (name);"
            ));
            let (url, settings) = (server.url(), mesh_mysql::Settings::default());
            let opened = runtime.block_on(mesh_mysql::Database::connect(&url, &settings)).unwrap();
            let catalog = runtime.block_on(opened.contents(&[])).unwrap().catalog;
            let schema = Arc::new(inferred(&catalog).load(Some(&catalog)).unwrap());
            meshes.push(("MariaDB", Mesh::builder(schema).default_resolver(opened).build().unwrap()));
        }
        Self { runtime, meshes, _folder: folder, _cluster: cluster, _server: server }
    }

    fn read(&self, mesh: &Mesh, query: &Json, params: &ParamValues) -> Json {
        let text = query.to_string();
        let request = Request::collection(Format::Json, &text).with_params(Some(params));
        let plan = mesh.plan(&request).unwrap_or_else(|error| panic!("{text}: {error}"));
        let body = self.runtime.block_on(mesh.read(&plan, &Context::default()));
        let body = body.unwrap_or_else(|error| panic!("{text}: {error:?}"));
        serde_json::from_slice(&body.bytes).unwrap()
    }

    /// Returns the records that all engines return.
    fn agreed(&self, query: &Json, params: &ParamValues) -> Json {
        let bodies: Vec<_> = self
            .meshes
            .iter()
            .map(|(name, mesh)| (name, self.read(mesh, query, params)["items"].clone()))
            .collect();
        for (name, items) in &bodies {
            assert_eq!(*items, bodies[0].1, "{name}: {query} {params:?}");
        }
        bodies.into_iter().next().unwrap().1
    }
}

fn inferred(catalog: &Catalog) -> Document {
    mesh_schema::infer(catalog).document
}

#[test]
fn databases_find_what_memory_finds_and_rank_it() {
    let mut dice = Dice::new(20);
    let engines = Engines::start(&mut dice);
    the_same_records_are_found(&engines, &mut dice);
    pages_in_the_order_of_relevance_are_exact(&engines, &mut dice);
    a_record_in_which_the_word_occurs_more_often_comes_first(&engines);
}

fn the_same_records_are_found(engines: &Engines, dice: &mut Dice) {
    let (mut found, none) = (0, ParamValues::new());
    for round in 0..300 {
        let of_posts = round % 3 > 0;
        let entity = if of_posts { "post" } else { "topic" };
        let filter = condition(dice, of_posts);
        let query = json!({entity: {"$select": {"id": true}, "$where": filter, "$page": {"first": 100}}});
        found += engines.agreed(&query, &none).as_array().unwrap().len();

        let text = search(dice);
        let by_param = |text: Json| json!({"post": {"$select": {"id": true, "title": true, "body": true}, "$where": {"search": text}, "$page": {"first": 100}}});
        let params = ParamValues::new().with("q", text.as_str());
        let items = engines.agreed(&by_param(json!({"$param": "q"})), &params);
        assert_eq!(items, engines.agreed(&by_param(json!(text)), &none), "{text}");
    }
    assert!(found > 3_000, "{found}");
}

fn pages_in_the_order_of_relevance_are_exact(engines: &Engines, dice: &mut Dice) {
    for (name, mesh) in &engines.meshes {
        let mut pages = 0;
        for _ in 0..20 {
            let params = ParamValues::new().with("q", search(dice));
            let query = |page: Json| {
                let order = json!([{"search": "relevance"}]);
                json!({"post": {"$select": {"id": true, "title": true, "body": true}, "$page": page, "$orderBy": order,
                    "$where": {"and": [{"search": {"$param": "q"}}, {"field": "id", "op": "gt", "value": 2}]}}})
            };
            let all = engines.read(mesh, &query(json!({"first": 100})), &params)["items"].clone();
            for (size, cursor, start) in [("first", "after", "endCursor"), ("last", "before", "startCursor")]
            {
                let mut read: Vec<Json> = Vec::new();
                let mut page = json!({size: 3});
                loop {
                    let body = engines.read(mesh, &query(page.clone()), &params);
                    let items = body["items"].as_array().unwrap().clone();
                    if size == "first" {
                        read.extend(items)
                    } else {
                        drop(read.splice(..0, items))
                    }
                    let more = if size == "first" { "hasNextPage" } else { "hasPreviousPage" };
                    if body["pageInfo"][more] != json!(true) {
                        break;
                    }
                    pages += 1;
                    page = json!({size: 3, cursor: body["pageInfo"][start]});
                }
                assert_eq!(json!(read), all, "{name}: {params:?}");
            }
        }
        assert!(pages > 50, "{name}: {pages}");
    }
}

fn a_record_in_which_the_word_occurs_more_often_comes_first(engines: &Engines) {
    for (name, mesh) in &engines.meshes {
        let query = json!({"post": {"$select": {"id": true, "title": true, "body": true}, "$page": {"first": 100},
            "$where": {"search": "rust"}, "$orderBy": [{"search": "relevance"}]}});
        let items = engines.read(mesh, &query, &ParamValues::new())["items"].clone();
        let counts = items.as_array().unwrap().iter().map(|item| {
            let texts = format!("{} {}", item["title"], item["body"]);
            texts.matches("rust").count()
        });
        let counts: Vec<_> = counts.collect();
        assert!(counts.is_sorted_by(|one, other| one >= other), "{name}: {counts:?}");
        assert!(counts.first() > counts.last(), "{name}: {counts:?}");
    }
}
