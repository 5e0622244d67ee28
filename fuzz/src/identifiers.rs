//! SQL statements: they contain only keywords of SQL, names of the schema and generated aliases.

use mesh_plan::Plan;
use mesh_schema::{FieldType, JoinDocument, Schema, ThroughDocument};
use mesh_sql::sqlite::Statements;

/// The tables that [`schema`] describes, with some rows.
pub const TABLES: &str = "
    CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, age INTEGER, balance TEXT, manager_id INTEGER);
    CREATE TABLE posts (
        id INTEGER PRIMARY KEY, title TEXT, score REAL, pinned INTEGER, created_at TEXT, meta TEXT, raw BLOB,
        author_id INTEGER
    );
    CREATE TABLE tags (id TEXT PRIMARY KEY, label TEXT);
    CREATE TABLE post_tags (post_id INTEGER, tag_id TEXT);
    CREATE TABLE \"odd \"\"names\"\"\" (\"the \"\"key\" INTEGER PRIMARY KEY, \"a b\" TEXT);
    INSERT INTO users VALUES (1, 'Ada', 36, '10.50', NULL), (2, 'Bob', NULL, NULL, 1), (3, '', -1, '0', 1);
    INSERT INTO posts VALUES
        (1, 'Rust at dawn', 4.5, 1, '2024-05-01T10:00:00', '{\"a\":[1,2]}', x'00ff', 1),
        (2, 'Slow ''bread''', NULL, 0, '2024-05-02T10:00:00', NULL, NULL, 1),
        (3, NULL, -0.25, NULL, NULL, 'null', x'', 2);
    INSERT INTO tags VALUES ('a', 'one'), ('b', NULL), ('%_', 'pattern');
    INSERT INTO post_tags VALUES (1, 'a'), (1, '%_'), (2, 'a');
    INSERT INTO \"odd \"\"names\"\"\" VALUES (1, 'x'), (2, 'y');
";

/// Returns a schema with all types and kinds of relations, and names that need quoting.
pub fn schema() -> Schema {
    let schema = Schema::builder()
        .entity("user", |it| {
            it.field("id", FieldType::Integer)
                .field("name", FieldType::String)
                .field("age", FieldType::Integer)
                .field("balance", FieldType::Decimal)
                .writable()
        })
        .entity("post", |it| {
            it.field("id", FieldType::Integer)
                .field("title", FieldType::String)
                .field("score", FieldType::Number)
                .field("pinned", FieldType::Boolean)
                .field("createdAt", FieldType::Datetime)
                .column("createdAt", "created_at")
                .field("meta", FieldType::Json)
                .field("raw", FieldType::Binary)
        })
        .entity("tag", |it| it.field("id", FieldType::String).field("label", FieldType::String))
        .entity("odd", |it| {
            it.table("\"odd \"\"names\"\"\"")
                .field("id", FieldType::Bigint)
                .column("id", "the \"key")
                .field("text", FieldType::String)
                .column("text", "a b")
        })
        .relation("user.manager", JoinDocument::one("user", "users.id = users.manager_id"))
        .relation("user.reports", JoinDocument::many("user", "users.manager_id = users.id"))
        .relation("user.posts", JoinDocument::many("post", "posts.author_id = users.id"))
        .relation("post.author", JoinDocument::one("user", "users.id = posts.author_id"))
        .relation(
            "post.tags",
            JoinDocument::through("tag", ThroughDocument::new("post_tags", "post_id", "tag_id")),
        )
        .build();
    schema.expect("a schema without faults")
}

/// The names that may occur in quotes.
const NAMES: [&str; 23] = [
    "BINARY",
    "users",
    "posts",
    "tags",
    "post_tags",
    "odd \"\"names\"\"",
    "id",
    "name",
    "age",
    "balance",
    "manager_id",
    "title",
    "score",
    "pinned",
    "created_at",
    "meta",
    "raw",
    "author_id",
    "label",
    "post_id",
    "tag_id",
    "the \"\"key",
    "a b",
];

/// The keywords and functions that may occur outside of quotes.
const WORDS: [&str; 42] = [
    "SELECT",
    "FROM",
    "AS",
    "WHERE",
    "AND",
    "OR",
    "NOT",
    "IN",
    "IS",
    "NULL",
    "NULLS",
    "FIRST",
    "LAST",
    "ORDER",
    "BY",
    "ASC",
    "DESC",
    "LIMIT",
    "GROUP",
    "HAVING",
    "COUNT",
    "DISTINCT",
    "SUM",
    "AVG",
    "MIN",
    "MAX",
    "JOIN",
    "INNER",
    "ON",
    "CAST",
    "REAL",
    "INTEGER",
    "TEXT",
    "mesh_like",
    "mesh_ilike",
    "mesh_sum",
    "EXISTS",
    "TRUE",
    "FALSE",
    "CASE",
    "BETWEEN",
    "text",
];

/// Checks the statements of all nodes of a plan.
pub fn check(plan: &Plan) {
    Statements::from_plan(plan).iter().for_each(|statement| check_text(&statement.sql));
}

fn check_text(sql: &str) {
    for (is_name, piece) in pieces(sql) {
        if is_name {
            assert!(
                NAMES.contains(&piece) || is_generated(piece),
                "{piece:?} is not a name of the schema: {sql}"
            );
            continue;
        }
        for word in piece.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
            let known =
                word.is_empty() || WORDS.contains(&word) || word.bytes().all(|it| it.is_ascii_digit());
            assert!(known, "{word:?} is not a keyword of plans: {sql}");
        }
        let unexpected = piece.chars().find(|c| !c.is_ascii_alphanumeric() && !" _?(),.=<>*+-|".contains(*c));
        assert_eq!(unexpected, None, "{sql}");
    }
}

/// Splits a statement into quoted and unquoted parts.
fn pieces(sql: &str) -> Vec<(bool, &str)> {
    let mut pieces = Vec::new();
    let mut rest = sql;
    while let Some((before, after)) = rest.split_once('"') {
        pieces.push((false, before));
        let mut end = 0;
        // A doubled quote is part of the name.
        while let Some(at) = after[end..].find('"').map(|at| end + at) {
            end = at;
            match after[at..].starts_with("\"\"") {
                true => end += 2,
                false => break,
            }
        }
        pieces.push((true, &after[..end]));
        rest = &after[end + 1..];
    }
    pieces.push((false, rest));
    pieces
}

/// Returns whether a name is a generated alias: a letter with an optional number.
fn is_generated(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|it| it.is_ascii_lowercase()) && letters.all(|it| it.is_ascii_digit())
}
