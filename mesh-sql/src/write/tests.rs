//! Snapshots of the statements of each kind of write.

use expect_test::{Expect, expect};

use super::write_steps;
use crate::postgres::{self, Postgres};
use crate::sqlite::{self, Sqlite};
use mesh_plan::{
    Context, Fields, Key, Mesh, Mutation, RecordId, WriteError, WriteRequest, WriteTarget, Written,
};
use mesh_schema::{FieldType, JoinDocument, Schema, ThroughDocument};

fn blog() -> Mesh {
    async fn no_mutator(_: Mutation, _: Context) -> Result<Written, WriteError> {
        Err(WriteError::new("nothing is stored here"))
    }
    let schema = Schema::builder()
        .entity("user", |user| {
            user.field("id", FieldType::Integer).field("name", FieldType::String).writable()
        })
        .entity("profile", |it| {
            it.field("id", FieldType::Integer)
                .field("bio", FieldType::String)
                .field("userId", FieldType::Integer)
                .column("userId", "user_id")
                .writable()
        })
        .entity("post", |post| {
            post.field("id", FieldType::Integer)
                .field("title", FieldType::String)
                .field("authorId", FieldType::Integer)
                .column("authorId", "author_id")
                .writable()
        })
        .entity("tag", |tag| tag.field("id", FieldType::String).field("label", FieldType::String))
        .relation("post.author", JoinDocument::one("user", "users.id = posts.author_id"))
        .relation("user.posts", JoinDocument::many("post", "posts.author_id = users.id"))
        .relation("user.profile", JoinDocument::one("profile", "profiles.user_id = users.id"))
        .relation(
            "post.tags",
            JoinDocument::through("tag", ThroughDocument::new("post_tags", "post_id", "tag_id")),
        )
        .build()
        .unwrap();
    Mesh::builder(schema).default_mutator(no_mutator).build().unwrap()
}

#[track_caller]
fn check(target: WriteTarget<'_>, body: &str, expected: Expect) {
    let fields = Fields::parse(body.as_bytes()).unwrap();
    let mutation = blog().plan_write(&WriteRequest::new(target).with_fields(&fields)).unwrap();
    let steps = write_steps(&mutation, &Sqlite::PLAIN);
    let mut shown = String::new();
    for step in &steps {
        let meaning = step.if_none.map(|reason| format!("  -- no row: {reason:?}\n")).unwrap_or_default();
        shown.push_str(&format!("{}\n{meaning}", step.statement));
    }
    expected.assert_eq(&shown);
    // Both databases have the same statements, except for their placeholders.
    for (step, other) in steps.iter().zip(write_steps(&mutation, &Postgres::default())) {
        let mut text = other.statement.sql.clone();
        for index in (1..=other.statement.params.len()).rev() {
            text = text.replace(&format!("${index}"), "?");
        }
        let text = text.replace("VALUES (DEFAULT)", "DEFAULT VALUES");
        // PostgreSQL's operators have a schema, and their operands are in parentheses.
        let text = text.replace(" IN (SELECT", " = ANY (SELECT").replace("OPERATOR(pg_catalog.", "");
        let plain = |text: &str| text.replace(['(', ')'], "");
        assert_eq!(plain(&text), plain(&step.statement.sql));
        let id = Key::from("id");
        let bound: Vec<_> = other.statement.params.iter().map(|param| param.for_write(&id)).collect();
        let values = step.statement.params.iter().map(|param| match param {
            sqlite::Param::Value(value) => postgres::text(value).map(Into::into),
            _ => Some("id".into()),
        });
        assert_eq!(bound, values.collect::<Vec<_>>());
    }
}

#[test]
fn records() {
    check(
        WriteTarget::Create { entity: "post" },
        r#"{"title": "x"}"#,
        expect![[r#"
            INSERT INTO "posts" ("title") VALUES (?) RETURNING "id"
              -- "x"
              -- no row: Skipped
        "#]],
    );
    check(
        WriteTarget::Create { entity: "post" },
        "{}",
        expect![[r#"
            INSERT INTO "posts" DEFAULT VALUES RETURNING "id"
              -- no row: Skipped
        "#]],
    );
    check(
        WriteTarget::Update { entity: "post", id: RecordId::Text("1") },
        r#"{"title": null, "authorId": 3}"#,
        expect![[r#"
            UPDATE "posts" SET "title" = ?, "author_id" = ? WHERE "id" = ? RETURNING "id"
              -- NULL, 3, 1
              -- no row: Subject
        "#]],
    );
    check(
        WriteTarget::Update { entity: "post", id: RecordId::Text("1") },
        "{}",
        expect![[r#"
        SELECT "p"."id" FROM "posts" AS "p" WHERE "p"."id" = ?
          -- 1
          -- no row: Subject
    "#]],
    );
    check(
        WriteTarget::Delete { entity: "post", id: RecordId::Text("1") },
        "{}",
        expect![[r#"
        DELETE FROM "posts" WHERE "id" = ? RETURNING "id"
          -- 1
          -- no row: Subject
    "#]],
    );
}

#[test]
fn a_counted_update_returns_a_record_only_if_its_id_may_change() {
    for (body, expected) in [
        (r#"{"bio": "x"}"#, r#"UPDATE "profiles" SET "bio" = ? WHERE "id" = ?"#),
        (r#"{"id": 8}"#, r#"UPDATE "profiles" SET "id" = ? WHERE "id" = ? RETURNING "id""#),
    ] {
        let fields = Fields::parse(body.as_bytes()).unwrap();
        let target = WriteTarget::Update { entity: "profile", id: RecordId::Text("7") };
        let mutation = blog().plan_write(&WriteRequest::new(target).with_fields(&fields)).unwrap();
        let steps = write_steps(&mutation, &Sqlite { counts_updated: true });
        let [step] = &steps[..] else { panic!("{steps:?}") };
        assert_eq!(step.statement.sql, expected);
        assert_eq!((step.counts_rows, step.returns_id), (body.contains("bio"), !body.contains("bio")));
    }
}

#[test]
fn merges() {
    check(
        WriteTarget::Merge { entity: "profile", id: RecordId::Text("7") },
        r#"{"bio": "x"}"#,
        expect![[r#"
            SELECT "p"."id" FROM "profiles" AS "p" WHERE "p"."id" = ?
              -- 7
            UPDATE "profiles" SET "bio" = ? WHERE "id" = ? RETURNING "id"
              -- "x", 7
              -- no row: Subject
            INSERT INTO "profiles" ("bio", "id") VALUES (?, ?) RETURNING "id"
              -- "x", 7
              -- no row: Skipped
        "#]],
    );
}

#[test]
fn children() {
    check(
        WriteTarget::Attach { entity: "user", id: RecordId::Text("1"), relation: "posts" },
        r#"{"title": "x"}"#,
        expect![[r#"
            SELECT "p"."id" FROM "users" AS "p" WHERE "p"."id" = ?
              -- 1
              -- no row: Subject
            INSERT INTO "posts" ("title", "author_id") VALUES (?, (SELECT "p"."id" FROM "users" AS "p" WHERE "p"."id" = ?)) RETURNING "id"
              -- "x", 1
              -- no row: Skipped
        "#]],
    );
    check(
        WriteTarget::Remove {
            entity: "user",
            id: RecordId::Text("1"),
            relation: "posts",
            child: RecordId::Text("5"),
        },
        "{}",
        expect![[r#"
            SELECT "p"."id" FROM "users" AS "p" WHERE "p"."id" = ?
              -- 1
              -- no row: Subject
            DELETE FROM "posts" WHERE "id" = ? AND "author_id" = (SELECT "p"."id" FROM "users" AS "p" WHERE "p"."id" = ?) RETURNING "id"
              -- 5, 1
              -- no row: Other
        "#]],
    );
}

#[test]
fn to_one_relations() {
    let entity_id = r#"{"entityId": "5"}"#;
    check(
        WriteTarget::Connect { entity: "post", id: RecordId::Text("1"), relation: "author" },
        entity_id,
        expect![[r#"
            SELECT "p"."id" FROM "posts" AS "p" WHERE "p"."id" = ?
              -- 1
              -- no row: Subject
            SELECT "p"."id" FROM "users" AS "p" WHERE "p"."id" = ?
              -- 5
              -- no row: Other
            UPDATE "posts" SET "author_id" = (SELECT "t"."id" FROM "users" AS "t" WHERE "t"."id" = ?) WHERE "id" = ? RETURNING "id"
              -- 5, 1
              -- no row: Subject
        "#]],
    );
    check(
        WriteTarget::Disconnect { entity: "post", id: RecordId::Text("1"), relation: "author" },
        "{}",
        expect![[r#"
        UPDATE "posts" SET "author_id" = NULL WHERE "id" = ? RETURNING "id"
          -- 1
          -- no row: Subject
    "#]],
    );
    check(
        WriteTarget::Connect { entity: "user", id: RecordId::Text("1"), relation: "profile" },
        entity_id,
        expect![[r#"
            SELECT "p"."id" FROM "users" AS "p" WHERE "p"."id" = ?
              -- 1
              -- no row: Subject
            SELECT "p"."id" FROM "profiles" AS "p" WHERE "p"."id" = ?
              -- 5
              -- no row: Other
            UPDATE "profiles" SET "user_id" = NULL WHERE "user_id" = (SELECT "p"."id" FROM "users" AS "p" WHERE "p"."id" = ?) AND "id" <> ?
              -- 1, 5
            SELECT "p"."id" FROM "users" AS "p" WHERE "p"."id" = ? AND (NOT EXISTS(SELECT "t"."id" FROM "profiles" AS "t" WHERE "t"."user_id" = "p"."id" AND "t"."id" <> ?))
              -- 1, 5
              -- no row: Skipped
            UPDATE "profiles" SET "user_id" = (SELECT "p"."id" FROM "users" AS "p" WHERE "p"."id" = ?) WHERE "id" = ? RETURNING "id"
              -- 1, 5
              -- no row: Other
        "#]],
    );
    check(
        WriteTarget::Disconnect { entity: "user", id: RecordId::Text("1"), relation: "profile" },
        "{}",
        expect![[r#"
            SELECT "p"."id" FROM "users" AS "p" WHERE "p"."id" = ?
              -- 1
              -- no row: Subject
            UPDATE "profiles" SET "user_id" = NULL WHERE "user_id" = (SELECT "p"."id" FROM "users" AS "p" WHERE "p"."id" = ?)
              -- 1
            SELECT "p"."id" FROM "users" AS "p" WHERE "p"."id" = ? AND (NOT EXISTS(SELECT "t"."id" FROM "profiles" AS "t" WHERE "t"."user_id" = "p"."id"))
              -- 1
              -- no row: Skipped
        "#]],
    );
}

#[test]
fn links() {
    check(
        WriteTarget::Attach { entity: "post", id: RecordId::Text("1"), relation: "tags" },
        r#"{"entityId": "new"}"#,
        expect![[r#"
            SELECT "p"."id" FROM "posts" AS "p" WHERE "p"."id" = ?
              -- 1
              -- no row: Subject
            SELECT "p"."id" FROM "tags" AS "p" WHERE "p"."id" = ?
              -- "new"
              -- no row: Other
            INSERT INTO "post_tags" ("post_id", "tag_id") SELECT "p"."id", "t"."id" FROM "posts" AS "p", "tags" AS "t" WHERE "p"."id" = ? AND "t"."id" = ? AND (NOT EXISTS(SELECT "j"."post_id" FROM "post_tags" AS "j" WHERE "j"."post_id" = "p"."id" AND "j"."tag_id" = "t"."id")) ON CONFLICT  DO NOTHING
              -- 1, "new"
            SELECT 1 FROM "posts" AS "p", "tags" AS "t" WHERE "p"."id" = ? AND "t"."id" = ? AND EXISTS(SELECT "j"."post_id" FROM "post_tags" AS "j" WHERE "j"."post_id" = "p"."id" AND "j"."tag_id" = "t"."id")
              -- 1, "new"
              -- no row: Rule(Unique)
        "#]],
    );
    check(
        WriteTarget::Remove {
            entity: "post",
            id: RecordId::Text("1"),
            relation: "tags",
            child: RecordId::Text("new"),
        },
        "{}",
        expect![[r#"
            SELECT "p"."id" FROM "posts" AS "p" WHERE "p"."id" = ?
              -- 1
              -- no row: Subject
            SELECT "p"."id" FROM "tags" AS "p" WHERE "p"."id" = ?
              -- "new"
              -- no row: Other
            DELETE FROM "post_tags" WHERE "post_id" = (SELECT "p"."id" FROM "posts" AS "p" WHERE "p"."id" = ?) AND "tag_id" = (SELECT "t"."id" FROM "tags" AS "t" WHERE "t"."id" = ?) RETURNING 1
              -- 1, "new"
              -- no row: Other
        "#]],
    );
}
