//! Snapshots of statements and of the values that are bound to them.

use expect_test::{Expect, expect};
use mesh_ql::Format;
use mesh_schema::{
    Catalog, Column, Entity, FieldType, JoinDocument, NativeKind, NativeType, Operators, Schema, Table,
    ThroughDocument,
};

use super::{Postgres, ReadStatement};
use mesh_plan::policy::{Access, Condition};
use mesh_plan::{Mesh, Request, Value};

fn native(name: &str) -> NativeType {
    let kind = if name.contains('.') { NativeKind::Enum } else { NativeKind::BuiltIn };
    let labels = if name.contains('.') { vec!["draft".to_owned(), "out".to_owned()] } else { Vec::new() };
    NativeType {
        name: name.to_owned(),
        shown: name.to_owned(),
        kind,
        labels,
        unique: false,
        has_nondeterministic_collation: false,
        size: None,
        operators: Operators::BuiltIn,
    }
}

fn table(name: &str, columns: &[(&str, &str, bool)]) -> Table {
    let columns = columns.iter().map(|(name, ty, nullable)| Column {
        name: (*name).to_owned(),
        native: Some(native(ty)),
        nullable: *nullable,
        ..Column::default()
    });
    let columns: Vec<_> = columns.collect();
    Table { name: name.to_owned(), primary_key: vec!["id".to_owned()], columns, ..Table::default() }
}

fn mesh() -> Mesh {
    Mesh::builder(schema()).build().unwrap()
}

fn schema() -> Schema {
    let catalog = Catalog {
        tables: vec![
            table("users", &[("id", "int4", false), ("name", "text", false), ("age", "int2", true)]),
            table(
                "posts",
                &[
                    ("id", "int8", false),
                    ("title", "varchar", false),
                    ("status", "\"public\".\"status\"", true),
                    ("rating", "float8", true),
                    ("price", "numeric", true),
                    ("created_at", "timestamptz", false),
                    ("author_id", "int4", true),
                    ("meta", "jsonb", true),
                ],
            ),
            table("tags", &[("id", "int4", false), ("label", "text", false)]),
            table(
                "post_tags",
                &[("post_id", "int8", false), ("tag_id", "int4", false), ("id", "int4", false)],
            ),
        ],
        ..Catalog::default()
    };
    Schema::builder()
        .entity("user", |user| {
            user.field("id", FieldType::Integer)
                .field("name", FieldType::String)
                .field("age", FieldType::Integer)
        })
        .entity("post", |post| {
            post.field("id", FieldType::Integer)
                .field("title", FieldType::String)
                .field("status", FieldType::String)
                .field("rating", FieldType::Number)
                .field("price", FieldType::Decimal)
                .field("createdAt", FieldType::Datetime)
                .column("createdAt", "created_at")
                .field("meta", FieldType::Json)
        })
        .entity("tag", |tag| tag.field("id", FieldType::Integer).field("label", FieldType::String))
        .relation("post.author", JoinDocument::one("user", "posts.author_id = users.id"))
        .relation("user.posts", JoinDocument::many("post", "posts.author_id = users.id"))
        .relation(
            "post.tags",
            JoinDocument::through("tag", ThroughDocument::new("post_tags", "post_id", "tag_id")),
        )
        .build_with(&catalog)
        .unwrap()
}

#[track_caller]
fn check(id: Option<&str>, query: &str, expected: Expect) {
    let format = if query.starts_with("{ ") { Format::Ql } else { Format::Json };
    let request = match id {
        Some(id) => Request::point(format, query, id),
        None => Request::collection(format, query),
    };
    let plan = mesh().plan(&request).unwrap();
    let lowered = ReadStatement::from_plan(&plan, &Postgres::default());
    expected.assert_eq(&format!("{}\n", lowered.statement));
}

#[test]
fn a_point_is_one_plain_statement() {
    check(
        Some("7"),
        "{ post title author { name } }",
        expect![[r#"
            SELECT CAST("c1" AS text), "c5", CAST("c4" AS text) FROM (SELECT "t0"."title" AS "c1", "t0"."author_id" AS "c2" FROM "posts" AS "t0" WHERE "t0"."id" OPERATOR(pg_catalog.=) CAST($1 AS int8)) AS "q0" LEFT JOIN LATERAL (SELECT "t3"."name" AS "c4", "t3"."id" AS "c5" FROM "users" AS "t3" WHERE "t3"."id" OPERATOR(pg_catalog.=) "q0"."c2") AS "q3" ON TRUE
              -- the id
        "#]],
    );
}

#[test]
fn lists_are_levels() {
    check(
        Some("7"),
        "{ post title author { name } tags { label } }",
        expect![[r#"
            WITH "n0" AS (SELECT "q0".*, "q4".* FROM (SELECT "t0"."title" AS "c1", "t0"."author_id" AS "c2", "t0"."id" AS "c3" FROM "posts" AS "t0" WHERE "t0"."id" OPERATOR(pg_catalog.=) CAST($1 AS int8)) AS "q0" LEFT JOIN LATERAL (SELECT "t4"."name" AS "c5", "t4"."id" AS "c6" FROM "users" AS "t4" WHERE "t4"."id" OPERATOR(pg_catalog.=) "q0"."c2") AS "q4" ON TRUE) , "n1" AS (SELECT CAST(1 AS int8) AS "p", "q7".* FROM (SELECT "t7"."label" AS "c8" FROM "tags" AS "t7" WHERE "t7"."id" OPERATOR(pg_catalog.=) ANY((SELECT "j"."tag_id" FROM "post_tags" AS "j" WHERE "j"."post_id" OPERATOR(pg_catalog.=) CAST($2 AS int8))) ORDER BY "t7"."id" ASC LIMIT 100001) AS "q7") SELECT CAST(0 AS int2), CAST(NULL AS int8), CAST(1 AS int8), CAST("c1" AS text), "c6", CAST("c5" AS text) FROM "n0" UNION ALL (SELECT CAST(1 AS int2), "p", CAST(NULL AS int8), CAST("c8" AS text), CAST(NULL AS int4), CAST(NULL AS text) FROM "n1")
              -- the id, the id
        "#]],
    );
    check(
        None,
        r#"{"user": {"$select": {"name": true, "posts": {"$select": {"title": true, "rating": true, "tags": {"$select": {"label": true}}},
            "$page": {"first": 3}, "$orderBy": [{"field": "rating", "direction": "desc", "nulls": "first"}]}}, "$page": {"first": 20}}}"#,
        expect![[r#"
            WITH "n0" AS  MATERIALIZED (SELECT pg_catalog.row_number() OVER (  ) AS "o", "q0".* FROM (SELECT "t0"."name" AS "c1", "t0"."id" AS "c2" FROM "users" AS "t0" ORDER BY "t0"."id" ASC LIMIT 21) AS "q0") , "n1" AS  MATERIALIZED (SELECT pg_catalog.row_number() OVER (  ) AS "o", "h"."o" AS "p", "q3".* FROM "n0" AS "h" INNER JOIN LATERAL (SELECT "t3"."title" AS "c4", "t3"."rating" AS "c5", "t3"."id" AS "c6" FROM "posts" AS "t3" WHERE "t3"."author_id" OPERATOR(pg_catalog.=) "h"."c2" ORDER BY "t3"."rating" DESC, "t3"."id" DESC LIMIT 3) AS "q3" ON TRUE WHERE "h"."o" OPERATOR(pg_catalog.<=) 20 LIMIT 100001) , "n2" AS (SELECT "h"."o" AS "p", "q7".* FROM "n1" AS "h" INNER JOIN LATERAL (SELECT "t7"."label" AS "c8" FROM "tags" AS "t7" WHERE "t7"."id" OPERATOR(pg_catalog.=) ANY((SELECT "j"."tag_id" FROM "post_tags" AS "j" WHERE "j"."post_id" OPERATOR(pg_catalog.=) "h"."c6")) ORDER BY "t7"."id" ASC LIMIT 100001) AS "q7" ON TRUE LIMIT 100001) SELECT CAST(0 AS int2), CAST(NULL AS int8), "o", CAST("c1" AS text), "c2", CAST(NULL AS float8) FROM "n0" UNION ALL (SELECT CAST(1 AS int2), "p", "o", CAST("c4" AS text), CAST(NULL AS int4), "c5" FROM "n1") UNION ALL (SELECT CAST(2 AS int2), "p", CAST(NULL AS int8), CAST("c8" AS text), CAST(NULL AS int4), CAST(NULL AS float8) FROM "n2")
        "#]],
    );
}

#[test]
fn the_number_of_skipped_rows_is_bound() {
    check(
        None,
        r#"{"user": {"$select": {"name": true, "posts": {"$select": {"title": true}, "$page": {"first": 2, "skip": 3}}},
            "$page": {"skip": 20}}}"#,
        expect![[r#"
            WITH "n0" AS  MATERIALIZED (SELECT pg_catalog.row_number() OVER (  ) AS "o", "q0".* FROM (SELECT "t0"."name" AS "c1", "t0"."id" AS "c2" FROM "users" AS "t0" ORDER BY "t0"."id" ASC LIMIT 51 OFFSET $1) AS "q0") , "n1" AS (SELECT "h"."o" AS "p", "q3".* FROM "n0" AS "h" INNER JOIN LATERAL (SELECT "t3"."title" AS "c4" FROM "posts" AS "t3" WHERE "t3"."author_id" OPERATOR(pg_catalog.=) "h"."c2" ORDER BY "t3"."id" ASC LIMIT 2 OFFSET $2) AS "q3" ON TRUE WHERE "h"."o" OPERATOR(pg_catalog.<=) 50 LIMIT 100001) SELECT CAST(0 AS int2), CAST(NULL AS int8), "o", CAST("c1" AS text), "c2" FROM "n0" UNION ALL (SELECT CAST(1 AS int2), "p", CAST(NULL AS int8), CAST("c4" AS text), CAST(NULL AS int4) FROM "n1")
              -- 20, 3
        "#]],
    );
}

/// The children of a record are not searched for if the principal may not see the record.
#[test]
fn children_of_a_record_with_a_condition_hang_below_it() {
    let published = |_: &str, entity: &Entity| match entity.key.as_str() {
        "post" => Access::all().when(Condition::equal("status", "out")),
        _ => Access::all(),
    };
    let mesh = Mesh::builder(schema()).policy(published).build().unwrap();
    let plan = mesh.plan(&Request::point(Format::Ql, "{ post title tags { label } }", "7")).unwrap();
    let lowered = ReadStatement::from_plan(&plan, &Postgres::default());
    expect![[r#"
        WITH "n0" AS  MATERIALIZED (SELECT "q0".* FROM (SELECT "t0"."title" AS "c1", "t0"."id" AS "c2" FROM "posts" AS "t0" WHERE ("t0"."id" OPERATOR(pg_catalog.=) CAST($1 AS int8)) AND ("t0"."status" OPERATOR(pg_catalog.=) CAST($2 AS "public"."status"))) AS "q0") , "n1" AS (SELECT CAST(1 AS int8) AS "p", "q3".* FROM "n0" AS "h" INNER JOIN LATERAL (SELECT "t3"."label" AS "c4" FROM "tags" AS "t3" WHERE "t3"."id" OPERATOR(pg_catalog.=) ANY((SELECT "j"."tag_id" FROM "post_tags" AS "j" WHERE "j"."post_id" OPERATOR(pg_catalog.=) "h"."c2")) ORDER BY "t3"."id" ASC LIMIT 100001) AS "q3" ON TRUE) SELECT CAST(0 AS int2), CAST(NULL AS int8), CAST(1 AS int8), CAST("c1" AS text) FROM "n0" UNION ALL (SELECT CAST(1 AS int2), "p", CAST(NULL AS int8), CAST("c4" AS text) FROM "n1")
          -- the id, "out"
    "#]].assert_eq(&format!("{}\n", lowered.statement));
}

#[test]
fn values_take_the_types_of_their_columns() {
    check(
        None,
        r#"{"post": {"$select": {"id": true}, "$where": {"and": [
            {"field": "id", "op": "in", "value": [1, 2]}, {"field": "title", "op": "ilike", "value": "a%\\"},
            {"field": "status", "op": "eq", "value": "draft"}, {"field": "status", "op": "ne", "value": "no such"},
            {"field": "price", "op": "gt", "value": "9.99"}, {"not": {"field": "rating", "op": "lte", "value": 1}},
            {"field": "createdAt", "op": "lt", "value": "2024-05-01T12:00:00+02:00"}, {"field": "title", "op": "eq", "value": "a\u0000"}]}}}"#,
        expect![[r#"
            SELECT "c1" FROM (SELECT "t0"."id" AS "c1" FROM "posts" AS "t0" WHERE ("t0"."id" OPERATOR(pg_catalog.=) ANY(CAST($1 AS int8[]))) AND ("t0"."title" OPERATOR(pg_catalog.~~*) CAST($2 AS text)) AND ("t0"."status" OPERATOR(pg_catalog.=) CAST($3 AS "public"."status")) AND (CAST("t0"."status" AS text) OPERATOR(pg_catalog.<>) CAST($4 AS text)) AND ("t0"."price" OPERATOR(pg_catalog.>) CAST($5 AS numeric)) AND (NOT ("t0"."rating" OPERATOR(pg_catalog.<=) CAST($6 AS float8))) AND ("t0"."created_at" OPERATOR(pg_catalog.<) CAST($7 AS timestamptz)) AND (CAST("t0"."title" AS text) OPERATOR(pg_catalog.<>) CAST("t0"."title" AS text)) ORDER BY "t0"."id" ASC LIMIT 51) AS "q0"
              -- "{\"1\",\"2\"}", "a%\\\\", "draft", "no such", 9.99, 1.0, "2024-05-01T10:00:00Z"
        "#]],
    );
}

#[test]
fn groups_cast_their_sums() {
    check(
        None,
        r#"{"user": {"$select": {"name": true}, "$groupBy": ["name"], "$aggregate": {"n": {"fn": "count"},
            "sum": {"fn": "sum", "field": "age"}, "avg": {"fn": "avg", "field": "age", "distinct": true}},
            "$having": {"aggregate": "sum", "op": "gt", "value": 3}, "$orderBy": [{"aggregate": "n", "direction": "desc"}]}}"#,
        expect![[r#"
            SELECT CAST("c1" AS text), "c2", "c3", "c4" FROM (SELECT "g"."k0" AS "c1", "g"."a0" AS "c2", "g"."a1" AS "c3", "g"."a2" AS "c4" FROM (SELECT "t0"."name" AS "k0", COUNT(*) AS "a0", CAST(pg_catalog.sum("t0"."age") AS int8) AS "a1", CAST(pg_catalog.sum(DISTINCT "t0"."age") AS float8) OPERATOR(pg_catalog./) CAST(pg_catalog.count(DISTINCT "t0"."age") AS float8) AS "a2" FROM "users" AS "t0" GROUP BY "t0"."name") AS "g" WHERE "g"."a1" OPERATOR(pg_catalog.>) CAST($1 AS int8) ORDER BY "g"."a0" DESC NULLS LAST, "g"."k0" DESC LIMIT 51) AS "q0"
              -- 3
        "#]],
    );
}

#[test]
fn buckets_are_texts_of_times_in_their_zone() {
    check(
        None,
        r#"{"post": {"$select": {"week": true}, "$groupBy": [{"field": "createdAt", "by": "week", "as": "week", "zone": "Europe/Berlin"}],
            "$aggregate": {"n": {"fn": "count"}}, "$having": {"field": "week", "op": "lt", "value": "2026"}}}"#,
        expect![[r#"
            SELECT CAST("c1" AS text), "c2" FROM (SELECT "g"."k0" AS "c1", "g"."a0" AS "c2" FROM (SELECT pg_catalog.substring(pg_catalog.to_char(pg_catalog.date_trunc('week', pg_catalog.timezone('Europe/Berlin', "t0"."created_at")), 'YYYY-MM-DD AD'), '^([0-9]{4}-.*) AD$') COLLATE "C" AS "k0", COUNT(*) AS "a0" FROM "posts" AS "t0" WHERE pg_catalog.timezone('Europe/Berlin', CAST('2000-01-01' AS timestamp)) IS NOT NULL GROUP BY pg_catalog.substring(pg_catalog.to_char(pg_catalog.date_trunc('week', pg_catalog.timezone('Europe/Berlin', "t0"."created_at")), 'YYYY-MM-DD AD'), '^([0-9]{4}-.*) AD$') COLLATE "C") AS "g" WHERE "g"."k0" OPERATOR(pg_catalog.<) CAST($1 AS text) ORDER BY "g"."k0" ASC LIMIT 51) AS "q0"
              -- "2026"
        "#]],
    );
}

#[test]
fn several_point_reads_are_one_statement() {
    let published = |_: &str, entity: &Entity| match entity.key.as_str() {
        "post" => Access::all().when(Condition::equal("status", "out")),
        _ => Access::all(),
    };
    let mesh = Mesh::builder(schema()).build().unwrap();
    let restricted = Mesh::builder(schema()).policy(published).build().unwrap();
    let batch = |mesh: &Mesh, query: &str, id: Option<&str>| {
        let request = Request::collection(Format::Ql, query);
        let request = id.map_or(request, |id| request.with_id(mesh_plan::RecordId::Text(id)));
        ReadStatement::from_plan(&mesh.plan(&request).unwrap(), &Postgres::default()).batch
    };
    let sql = batch(&mesh, "{ post title author { name } }", Some("7")).unwrap();
    expect![[r#"
        SELECT r.*, b.n FROM ROWS FROM (pg_catalog.unnest(CAST($1 AS int8[]))) WITH ORDINALITY AS b (k1, n) CROSS JOIN LATERAL (SELECT CAST("c1" AS text), "c5", CAST("c4" AS text) FROM (SELECT "t0"."title" AS "c1", "t0"."author_id" AS "c2" FROM "posts" AS "t0" WHERE "t0"."id" OPERATOR(pg_catalog.=) b.k1) AS "q0" LEFT JOIN LATERAL (SELECT "t3"."name" AS "c4", "t3"."id" AS "c5" FROM "users" AS "t3" WHERE "t3"."id" OPERATOR(pg_catalog.=) "q0"."c2") AS "q3" ON TRUE LIMIT 1) AS r
    "#]].assert_eq(&format!("{sql}\n"));
    // Reads with to-many relations or other parameters run singly, as do lists.
    assert_eq!(batch(&mesh, "{ post title tags { label } }", Some("7")), None);
    assert_eq!(batch(&restricted, "{ post title }", Some("7")), None);
    assert_eq!(batch(&mesh, "{ post title }", None), None);
}

/// Values of the query are never in the text, and an id that the column cannot contain is NULL.
#[test]
fn ids_are_bound_as_their_column_reads_them() {
    let mesh = mesh();
    let bound = |query: &str, id: &str| {
        let plan = mesh.plan(&Request::point(Format::Ql, query, id)).unwrap();
        let lowered = ReadStatement::from_plan(&plan, &Postgres::default());
        let [id] = lowered.statement.params.as_slice() else { panic!("{}", lowered.statement) };
        assert_eq!(id.to_string(), "the id");
        id.for_read(&plan).map(|text| text.into_owned())
    };
    assert_eq!(bound("{ post title }", "7").as_deref(), Some("7"));
    assert_eq!(bound("{ post title }", "x"), None);
    assert_eq!(super::text(&Value::Real(f64::NEG_INFINITY)).as_deref(), Some("-Infinity"));
    assert_eq!(super::text(&Value::Bytes(vec![0, 255])).as_deref(), Some("\\x00ff"));
    assert_eq!(super::text(&"a\0".into()), None);
}

/// A cursor needs another statement if its values compare in other types than the values of the first cursor.
#[test]
fn later_pages_share_a_statement_where_their_cursors_compare_alike() {
    let mesh = mesh();
    let mut kept: Option<ReadStatement> = None;
    let by_title = r#"{"post":{"$select":{"id":true},"$orderBy":[{"field":"title","direction":"asc"}],"$page":{"after":null}}}"#;
    let by_status = by_title.replace("title", "status");
    let mut out = String::new();
    for (list, values) in [
        (by_title, [Value::from("a\0b"), 1.into()]),
        (by_title, ["a".into(), 1.into()]),
        (by_title, ["b".into(), 2.into()]),
        (by_title, ["b".into(), 0.5.into()]),
        (by_title, ["b".into(), "x".into()]),
        (&by_status, ["draft".into(), 1.into()]),
        (&by_status, ["gone".into(), 1.into()]),
        (&by_status, [Value::Null, 1.into()]),
    ] {
        let first = mesh.plan(&Request::collection(Format::Json, list)).unwrap();
        let cursor = first.cursor_text(values.iter().map(Value::as_ref));
        let list = list.replace("null", &format!("\"{cursor}\""));
        let plan = mesh.plan(&Request::collection(Format::Json, &list)).unwrap();
        let lowered = ReadStatement::from_plan(&plan, &Postgres::default());
        let reused =
            if kept.as_ref().is_some_and(|kept| kept.serves(&plan) && kept.statement == lowered.statement) {
                "kept"
            } else {
                "made"
            };
        let (_, condition) = lowered.statement.sql.split_once("WHERE ").unwrap();
        let bound: Vec<_> = lowered.statement.params.iter().map(|param| param.for_read(&plan)).collect();
        out.push_str(&format!("{reused} {condition}\n     {bound:?}\n"));
        kept = Some(lowered);
    }
    expect![[r#"
        made ("t0"."title" OPERATOR(pg_catalog.>) CAST($1 AS text)) AND (("t0"."title" OPERATOR(pg_catalog.>) CAST($2 AS text)) OR ("t0"."id" OPERATOR(pg_catalog.>) CAST($3 AS int8))) ORDER BY "t0"."title" ASC, "t0"."id" ASC LIMIT 51) AS "q0"
             [Some("a"), Some("a"), Some("1")]
        made ("t0"."title", "t0"."id") OPERATOR(pg_catalog.>) (CAST($1 AS text), CAST($2 AS int8)) ORDER BY "t0"."title" ASC, "t0"."id" ASC LIMIT 51) AS "q0"
             [Some("a"), Some("1")]
        kept ("t0"."title", "t0"."id") OPERATOR(pg_catalog.>) (CAST($1 AS text), CAST($2 AS int8)) ORDER BY "t0"."title" ASC, "t0"."id" ASC LIMIT 51) AS "q0"
             [Some("b"), Some("2")]
        made ("t0"."title", "t0"."id") OPERATOR(pg_catalog.>) (CAST($1 AS text), CAST($2 AS float8)) ORDER BY "t0"."title" ASC, "t0"."id" ASC LIMIT 51) AS "q0"
             [Some("b"), Some("0.5")]
        made ("t0"."title" OPERATOR(pg_catalog.>=) CAST($1 AS text)) AND (("t0"."title" OPERATOR(pg_catalog.>) CAST($2 AS text)) OR (CAST("t0"."id" AS text) OPERATOR(pg_catalog.>) CAST($3 AS text))) ORDER BY "t0"."title" ASC, "t0"."id" ASC LIMIT 51) AS "q0"
             [Some("b"), Some("b"), Some("x")]
        made ("t0"."status" OPERATOR(pg_catalog.>) CAST($1 AS "public"."status")) OR "t0"."status" IS NULL OR (("t0"."status" OPERATOR(pg_catalog.=) CAST($2 AS "public"."status")) AND ("t0"."id" OPERATOR(pg_catalog.>) CAST($3 AS int8))) ORDER BY "t0"."status" ASC, "t0"."id" ASC LIMIT 51) AS "q0"
             [Some("draft"), Some("draft"), Some("1")]
        made (CAST("t0"."status" AS text) OPERATOR(pg_catalog.>) CAST($1 AS text)) OR "t0"."status" IS NULL OR ((CAST("t0"."status" AS text) OPERATOR(pg_catalog.=) CAST($2 AS text)) AND ("t0"."id" OPERATOR(pg_catalog.>) CAST($3 AS int8))) ORDER BY "t0"."status" ASC, "t0"."id" ASC LIMIT 51) AS "q0"
             [Some("gone"), Some("gone"), Some("1")]
        made "t0"."status" IS NULL AND ("t0"."id" OPERATOR(pg_catalog.>) CAST($1 AS int8)) ORDER BY "t0"."status" ASC, "t0"."id" ASC LIMIT 51) AS "q0"
             [Some("1")]
    "#]].assert_eq(&out);
}

/// The memory for planning grows faster than the number of joined tables.
#[test]
fn relations_that_do_not_fit_into_a_level_are_levels() {
    let authors = |count: usize| {
        let authors: Vec<_> = (0..count)
            .map(|it| format!(r#""a{it}":{{"$relation":"author","$select":{{"id":true}}}}"#))
            .collect();
        let query = format!(r#"{{"post":{{"$select":{{"id":true,{}}}}}}}"#, authors.join(","));
        let plan = mesh().plan(&Request::collection(Format::Json, &query)).unwrap();
        let read = ReadStatement::from_plan(&plan, &Postgres::default());
        let joins =
            read.statement.sql.split("UNION").map(|part| part.matches("LEFT JOIN").count()).sum::<usize>();
        (read.levels, joins)
    };
    assert_eq!([1, 16, 17, 199].map(authors), [(1, 1), (1, 16), (2, 16), (184, 16)]);
}

/// Only a negation needs to know whether there is an array.
#[test]
fn elements_are_compared_in_a_form_for_indexes_where_null_counts_as_false() {
    check(
        None,
        r#"{"post": {"$select": {"id": true, "tag": {"$field": "meta", "at": "/tags/0"}}, "$where": {"and": [
            {"field": "meta", "at": "/tags", "op": "has", "value": "x"},
            {"field": "meta", "op": "hasAny", "value": ["x", "y"]},
            {"not": {"field": "meta", "op": "hasAll", "value": ["x", "y"]}}]}}}"#,
        expect![[r#"
            SELECT "c1", "c2" FROM (SELECT "t0"."id" AS "c1", "t0"."meta" AS "c2" FROM "posts" AS "t0" WHERE (("t0"."meta" OPERATOR(pg_catalog.@>) pg_catalog.jsonb_build_object(CAST($1 AS text), pg_catalog.to_jsonb(CAST($2 AS text[]))))) AND (("t0"."meta" OPERATOR(pg_catalog.@>) ANY (ARRAY(SELECT pg_catalog.jsonb_build_array(x) FROM pg_catalog.unnest(CAST($3 AS text[])) AS x)))) AND (NOT ((SELECT CASE WHEN pg_catalog.jsonb_typeof(v) OPERATOR(pg_catalog.=) 'array' THEN ARRAY(SELECT (SELECT CASE WHEN pg_catalog.jsonb_typeof(v) OPERATOR(pg_catalog.=) 'string' THEN v OPERATOR(pg_catalog.#>>) '{}'::text[] END FROM (SELECT e.value AS v OFFSET 0) AS a) FROM pg_catalog.jsonb_array_elements(v) AS e) OPERATOR(pg_catalog.@>) CAST($4 AS text[]) END FROM (SELECT "t0"."meta" AS v OFFSET 0) AS a))) ORDER BY "t0"."id" ASC LIMIT 51) AS "q0"
              -- "tags", "{\"x\"}", "{\"x\",\"y\"}", "{\"x\",\"y\"}"
        "#]],
    );
}
