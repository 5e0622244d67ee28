//! Full-text indexes in the catalog, and the statements that create them.

use expect_test::expect;
use mesh_schema::{Catalog, Schema, Search, SqlPart, infer, search_notes};

use super::Cluster;
use crate::{Database, Settings};

const INDEXES: &str = r#"
CREATE EXTENSION IF NOT EXISTS citext;
CREATE TABLE posts (id int PRIMARY KEY, title text, body varchar(20), fixed char(5), "Odd ""name" text, free citext,
    mood name, number int, doc jsonb, "tsvector" text, password_hash text,
    stored tsvector GENERATED ALWAYS AS (setweight(to_tsvector('english', coalesce(title, '')), 'A')
        || setweight(to_tsvector('english', coalesce(body, '')), 'B')) STORED,
    filled tsvector);
CREATE INDEX a1 ON posts USING gin (to_tsvector('simple'::regconfig, coalesce(title, '')));
CREATE INDEX a2 ON posts USING gin (to_tsvector('german'::regconfig, coalesce(title, '') || ' ' || coalesce(body, '')));
CREATE INDEX a3 ON posts USING gin (to_tsvector('english', "Odd ""name" || 'it''s' || fixed));
CREATE INDEX a4 ON posts USING gin (stored);
CREATE INDEX a5 ON posts USING gin (to_tsvector('simple', coalesce(free, '') || ' ' || "tsvector"));
CREATE INDEX a6 ON posts USING gin ((to_tsvector('simple', body) || to_tsvector('simple', mood::text)));
CREATE INDEX a7 ON posts USING gin (to_tsvector('simple', password_hash));
CREATE INDEX b1 ON posts USING gin (filled);
CREATE INDEX b2 ON posts USING gin (to_tsvector('simple', title)) WHERE number > 3;
CREATE INDEX b3 ON posts USING gin (to_tsvector('simple', title), to_tsvector('simple', body));
CREATE INDEX b4 ON posts USING gin ((to_tsvector('simple', title) || to_tsvector('german', body)));
CREATE INDEX b5 ON posts USING gin (to_tsvector('simple', lower(title)));
CREATE INDEX b6 ON posts USING gin ((title::tsvector || to_tsvector('simple', body)));
CREATE INDEX b7 ON posts USING gist (to_tsvector('simple', title));
CREATE INDEX b8 ON posts USING gin (strip(to_tsvector('simple', title)));
CREATE INDEX b9 ON posts USING gin (doc);
CREATE INDEX c1 ON posts USING gin (to_tsvector('simple', CASE WHEN number > 1 THEN title ELSE body END));
CREATE INDEX c2 ON posts USING gin (to_tsvector('simple', title COLLATE "C"));
CREATE SCHEMA other;
CREATE TEXT SEARCH CONFIGURATION other."Own" (COPY = simple);
CREATE TABLE other.notes (id int PRIMARY KEY, "Text" text NOT NULL);
CREATE INDEX ON other.notes USING gin (to_tsvector('other."Own"', "Text"));
CREATE VIEW seen AS SELECT id, title FROM posts;
"#;

async fn catalog(cluster: &Cluster) -> Catalog {
    let schemas = vec!["public".to_owned(), "other".to_owned()];
    let database = Database::connect(&cluster.url(), &Settings { schemas, ..Settings::default() }).await;
    database.unwrap().contents(&[]).await.unwrap().catalog
}

fn sql(parts: &[SqlPart]) -> String {
    let text = |part: &SqlPart| match part {
        SqlPart::Sql(sql) => sql.clone(),
        SqlPart::Column(name) => format!("t.\"{}\"", name.replace('"', "\"\"")),
    };
    parts.iter().map(text).collect()
}

fn search_of<'s>(schema: &'s Schema, key: &str) -> Option<&'s Search> {
    schema.entities().find(|(_, entity)| entity.key == key)?.1.search.as_ref()
}

#[tokio::test]
async fn indexes_of_known_meaning_are_read() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(INDEXES);
    let catalog = catalog(&cluster).await;
    let mut out = String::new();
    for table in &catalog.tables {
        for index in &table.text_indexes {
            let language = index.language.as_deref().unwrap_or_default();
            out.push_str(&format!("{} {language} {:?}\n", index.name, index.columns));
            let vector = sql(&index.vector);
            out.push_str(&format!("  {vector}\n"));
            // The server recognizes the expression.
            let plan = cluster.query(&format!(
                "SET enable_seqscan = off; EXPLAIN SELECT 1 FROM {} AS t WHERE ({vector}) @@ 'x'::tsquery",
                if table.name == "notes" { "other.notes" } else { "posts" },
            ));
            let plan = plan.expect("the server takes the expression");
            assert!(plan.contains(&format!("Bitmap Index Scan on {}", index.name)), "{vector}: {plan}");
        }
    }
    expect![[r#"
        a1 simple ["title"]
          to_tsvector ( 'simple' :: regconfig , COALESCE ( t."title", '' :: text ) ) 
        a2 german ["title", "body"]
          to_tsvector ( 'german' :: regconfig , ( COALESCE ( t."title", '' :: text ) || ' ' :: text ) || COALESCE ( t."body", '' :: character varying ) :: text ) 
        a3 english ["Odd \"name", "fixed"]
          to_tsvector ( 'english' :: regconfig , ( t."Odd ""name"|| 'it''s' :: text ) || t."fixed":: text ) 
        a4 english ["title", "body"]
          t."stored"
        a5 simple ["free", "tsvector"]
          to_tsvector ( 'simple' :: regconfig , ( COALESCE ( t."free", '' :: citext ) :: text || ' ' :: text ) || t."tsvector") 
        a6 simple ["body", "mood"]
          ( to_tsvector ( 'simple' :: regconfig , t."body":: text ) || to_tsvector ( 'simple' :: regconfig , t."mood":: text ) ) 
        a7 simple ["password_hash"]
          to_tsvector ( 'simple' :: regconfig , t."password_hash") 
        notes_to_tsvector_idx other."Own" ["Text"]
          to_tsvector ( 'other."Own"' :: regconfig , t."Text") 
    "#]].assert_eq(&out);
    assert!(
        catalog
            .tables
            .iter()
            .all(|table| table.column("stored").is_none() && table.column("filled").is_none())
    );
    let inference = infer(&catalog);
    let schema = inference.document.load(Some(&catalog)).unwrap();
    let searches = inference.document.entities.iter().filter_map(|(key, entity)| {
        let search = search_of(&schema, key)?;
        Some(format!("{} {:?}\n", serde_json::to_string(&entity.search).unwrap(), search.index.is_some()))
    });
    expect![[r#"
        {"fields":["title"]} true
        {"fields":["text"],"language":"other.\"Own\""} true
    "#]]
    .assert_eq(&searches.collect::<String>());
    assert_eq!(search_notes(&schema, &catalog), [""; 0]);
}

#[tokio::test]
async fn notes_have_the_statement_that_creates_the_index() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(INDEXES);
    let document = |language: &str| {
        format!(
            r#"{{"entities": {{
                "post": {{"table": "posts", "fields": ["id", "free", "name", "mood"], "columns": {{"name": "Odd \"name"}},
                    "search": {{"fields": ["name", "free", "mood"], "language": "{language}"}}}},
                "note": {{"table": "other.notes", "fields": ["id", "Text"], "search": {{"fields": ["Text"]}}}},
                "see": {{"table": "seen", "fields": ["id", "title"], "search": {{"fields": ["title"]}}}}
            }}}}"#
        )
    };
    for (written, known) in
        [("english", "english"), ("pg_catalog.English", "english"), ("OTHER.\"own\"", "other.\"Own\"")]
    {
        let catalog = catalog(&cluster).await;
        let document = document(&written.replace('"', "\\\""));
        let schema = Schema::read(&document, Some(&catalog)).unwrap();
        let notes = search_notes(&schema, &catalog);
        assert_eq!(notes.len(), 3, "{notes:#?}");
        assert!(notes[0].contains(known), "{notes:#?}");
        assert!(notes[2].ends_with("a view or foreign table cannot have one"), "{}", notes[2]);
        if written == "english" {
            expect![[r#"
                entities.post.search: 'posts' has no GIN index for it, so each search reads all rows; this creates one:
                CREATE INDEX ON "posts" USING gin (to_tsvector('english'::regconfig, coalesce("Odd ""name", '') || ' ' || coalesce("free", '') || ' ' || coalesce("mood", '')));
                entities.note.search: 'other.notes' has no GIN index for it, so each search reads all rows; this creates one:
                CREATE INDEX ON "other"."notes" USING gin (to_tsvector('simple'::regconfig, coalesce("Text", '')));
                entities.see.search: 'seen' has no GIN index for it, so each search reads all rows; a view or foreign table cannot have one"#]].assert_eq(&notes.join("\n"));
            continue;
        }
        for note in &notes[..2] {
            cluster.execute(note.split_once(":\n").unwrap().1);
        }
        let catalog = self::catalog(&cluster).await;
        let schema = Schema::read(&document, Some(&catalog)).unwrap();
        assert_eq!(search_notes(&schema, &catalog).len(), 1);
        assert_eq!(search_of(&schema, "post").unwrap().language, known);
        cluster
            .execute("DROP INDEX other.notes_to_tsvector_idx1; DROP INDEX IF EXISTS posts_to_tsvector_idx");
    }
    let catalog = catalog(&cluster).await;
    let faults = Schema::read(&document("englich"), Some(&catalog)).unwrap_err().to_string();
    expect!["entities.post.search.language: The database has no text search configuration 'englich'; did you mean 'english'?"].assert_eq(&faults);
    let fields = r#"{"entities": {"post": {"table": "posts", "fields": ["id", "number", "doc", "title"], "types": {"number": "string"},
        "search": {"fields": ["number", "doc", "title", "title", "stored"]}}}}"#;
    expect![[r#"
        entities.post.search.fields[0]: The field 'number' is no text, so it cannot be searched
        entities.post.search.fields[1]: The field 'doc' is no text, so it cannot be searched
        entities.post.search.fields[3]: The field 'title' is listed twice
        entities.post.search.fields[4]: Field 'stored' not found on entity 'post'"#]]
    .assert_eq(&Schema::read(fields, Some(&catalog)).unwrap_err().to_string());
}
