//! Snapshots of plans and their statements.

use expect_test::{Expect, expect};
use mesh_ql::Format;
use mesh_schema::{FieldType, JoinDocument, Schema, ThroughDocument};

use super::Statements;
use mesh_plan::{Mesh, Node, Request};

fn mesh() -> Mesh {
    let schema = Schema::builder()
        .entity("user", |user| {
            user.field("id", FieldType::Integer)
                .field("name", FieldType::String)
                .field("age", FieldType::Integer)
                .field("managerId", FieldType::Integer)
                .column("managerId", "manager_id")
        })
        .entity("post", |post| {
            post.field("id", FieldType::Integer)
                .field("title", FieldType::String)
                .field("status", FieldType::String)
                .field("pinned", FieldType::Boolean)
                .field("rating", FieldType::Number)
                .field("createdAt", FieldType::Datetime)
                .column("createdAt", "created_at")
        })
        .entity("tag", |tag| tag.field("id", FieldType::Integer).field("label", FieldType::String))
        .entity("order", |order| {
            order
                .table("\"order \"\"details\"\"\"")
                .field("group", FieldType::String)
                .column("group", "gr\"oup")
                .no_id()
        })
        .relation("user.manager", JoinDocument::one("user", "users.id = users.manager_id"))
        .relation("user.reports", JoinDocument::many("user", "users.manager_id = users.id"))
        .relation("post.author", JoinDocument::one("user", "posts.author_id = users.id"))
        .relation("user.posts", JoinDocument::many("post", "posts.author_id = users.id"))
        .relation(
            "post.tags",
            JoinDocument::through("tag", ThroughDocument::new("post_tags", "post_id", "tag_id")),
        )
        .build()
        .unwrap();
    Mesh::builder(schema).build().unwrap()
}

/// Checks the plan, followed by the statement of each node.
#[track_caller]
fn check(id: Option<&str>, query: &str, expected: Expect) {
    let format = if query.starts_with("{ ") { Format::Ql } else { Format::Json };
    let request = match id {
        Some(id) => Request::point(format, query, id),
        None => Request::collection(format, query),
    };
    let plan = mesh().plan(&request).unwrap();
    let mut out = format!("{plan}");
    show(&mut out, plan.node(), &Statements::from_plan(&plan));
    expected.assert_eq(&out);
}

fn show(out: &mut String, node: &Node, tree: &Statements) {
    if let Some(statement) = tree.rows.statement() {
        out.push_str(&format!("\n{}\n{statement}\n", node.path));
    }
    for (join, tree) in node.joins.iter().zip(&tree.joins) {
        show(out, &join.node, tree);
    }
}

#[test]
fn point_with_relations() {
    check(
        Some("7"),
        "{ post title author { name } tags { label } }",
        expect![[r#"
            post: one record of posts, id 7
              fields  title
              keys    author_id, id
              author: one user of users, id = parent author_id
                fields  name
              tags: many tag of tags, id = post_tags.tag_id where post_tags.post_id = parent id
                fields  label
                order   id asc nulls last

            post
            SELECT "t0"."title", "t0"."author_id", "t0"."id" FROM "posts" AS "t0" WHERE "t0"."id" = ?
              -- the id

            post.author
            SELECT "t1"."name" FROM "users" AS "t1" WHERE "t1"."id" = ?
              -- the parent's column 1

            post.tags
            SELECT "t2"."label" FROM "tags" AS "t2" WHERE "t2"."id" IN (SELECT "j"."tag_id" FROM "post_tags" AS "j" WHERE "j"."post_id" = ?) ORDER BY "t2"."id" ASC NULLS LAST
              -- the parent's column 2
        "#]],
    );
}

#[test]
fn self_relation_both_ways() {
    check(
        Some("7"),
        "{ user name manager { name } reports { name } }",
        expect![[r#"
            user: one record of users, id 7
              fields  name
              keys    managerId, id
              manager: one user of users, id = parent manager_id
                fields  name
              reports: many user of users, manager_id = parent id
                fields  name
                order   id asc nulls last

            user
            SELECT "t0"."name", "t0"."manager_id", "t0"."id" FROM "users" AS "t0" WHERE "t0"."id" = ?
              -- the id

            user.manager
            SELECT "t1"."name" FROM "users" AS "t1" WHERE "t1"."id" = ?
              -- the parent's column 1

            user.reports
            SELECT "t2"."name" FROM "users" AS "t2" WHERE "t2"."manager_id" = ? ORDER BY "t2"."id" ASC NULLS LAST
              -- the parent's column 2
        "#]],
    );
}

#[test]
fn every_operator() {
    check(
        None,
        r#"{"post": {"$select": {"id": true}, "$where": {"and": [
            {"or": [{"field": "title", "op": "like", "value": "a%"}, {"field": "title", "op": "ilike", "value": "_b"}]},
            {"not": {"field": "status", "op": "in", "value": ["draft", "gone"]}},
            {"field": "status", "op": "nin", "value": []}, {"field": "status", "op": "in", "value": []},
            {"field": "rating", "op": "isNull"}, {"field": "rating", "op": "isNotNull"},
            {"field": "pinned", "op": "eq", "value": true}, {"field": "rating", "op": "ne", "value": 1},
            {"field": "id", "op": "gt", "value": 1}, {"field": "id", "op": "gte", "value": 1.0},
            {"field": "id", "op": "lt", "value": 9}, {"field": "createdAt", "op": "lte", "value": "2024-05-01 10:00"}
        ]}}}"#,
        expect![[r#"
            post: collection of posts
              fields  id
              where   ((title like "a%" or title ilike "_b") and not status in ("draft", "gone") and true and false and rating is null and rating is not null and pinned = true and rating <> 1.0 and id > 1 and id >= 1 and id < 9 and created_at <= "2024-05-01T10:00:00")
              order   id asc nulls last
              page    first 50

            post
            SELECT "t0"."id" FROM "posts" AS "t0" WHERE ((("t0"."title" COLLATE "BINARY") >= ? AND ("t0"."title" COLLATE "BINARY") < ? AND mesh_like("t0"."title", ?)) OR mesh_ilike("t0"."title", ?)) AND (NOT "t0"."status" IN (?, ?)) AND TRUE AND FALSE AND "t0"."rating" IS NULL AND "t0"."rating" IS NOT NULL AND "t0"."pinned" = ? AND "t0"."rating" <> ? AND "t0"."id" > ? AND "t0"."id" >= ? AND "t0"."id" < ? AND "t0"."created_at" <= ? ORDER BY "t0"."id" ASC NULLS LAST LIMIT ?
              -- "a", "b\u{1}", "a%", "_b", "draft", "gone", true, 1.0, 1, 1, 9, "2024-05-01T10:00:00", 51
        "#]],
    );
}

#[test]
fn nested_page_order_and_filter() {
    check(
        None,
        r#"{"user": {"$select": {"posts": {"$select": {"title": true, "tags": {"$select": {"label": true},
            "$page": {"first": 2}, "$orderBy": [{"field": "label", "direction": "desc", "nulls": "first"}]}},
            "$page": {"first": 3}, "$where": {"field": "status", "op": "eq", "value": "published"}}}}}"#,
        expect![[r#"
            user: collection of users
              keys    id
              order   id asc nulls last
              page    first 50
              posts: many post of posts, author_id = parent id
                fields  title
                keys    id
                where   status = "published"
                order   id asc nulls last
                page    first 3
                tags: many tag of tags, id = post_tags.tag_id where post_tags.post_id = parent id
                  fields  label
                  order   label desc nulls first, id desc nulls last
                  page    first 2

            user
            SELECT "t0"."id" FROM "users" AS "t0" ORDER BY "t0"."id" ASC NULLS LAST LIMIT ?
              -- 51

            user.posts
            SELECT "t1"."title", "t1"."id" FROM "posts" AS "t1" WHERE "t1"."author_id" = ? AND "t1"."status" = ? ORDER BY "t1"."id" ASC NULLS LAST LIMIT ?
              -- the parent's column 0, "published", 3

            user.posts.tags
            SELECT "t2"."label" FROM "tags" AS "t2" WHERE "t2"."id" IN (SELECT "j"."tag_id" FROM "post_tags" AS "j" WHERE "j"."post_id" = ?) ORDER BY "t2"."label" DESC NULLS FIRST, "t2"."id" DESC LIMIT ?
              -- the parent's column 1, 2
        "#]],
    );
}

#[test]
fn skipped_rows() {
    check(
        None,
        r#"{"user": {"$select": {"posts": {"$select": {"title": true}, "$page": {"first": 3, "skip": 2}}},
            "$page": {"skip": 20}}}"#,
        expect![[r#"
            user: collection of users
              keys    id
              order   id asc nulls last
              page    first 50 skip 20
              posts: many post of posts, author_id = parent id
                fields  title
                order   id asc nulls last
                page    first 3 skip 2

            user
            SELECT "t0"."id" FROM "users" AS "t0" ORDER BY "t0"."id" ASC NULLS LAST LIMIT ? OFFSET ?
              -- 51, 20

            user.posts
            SELECT "t1"."title" FROM "posts" AS "t1" WHERE "t1"."author_id" = ? ORDER BY "t1"."id" ASC NULLS LAST LIMIT ? OFFSET ?
              -- the parent's column 0, 3, 2
        "#]],
    );
}

#[test]
fn groups() {
    check(
        None,
        r#"{"post": {"$select": {"status": true}, "$groupBy": ["status"],
            "$aggregate": {"n": {"fn": "count"}, "authors": {"fn": "count", "field": "title", "distinct": true},
                "total": {"fn": "sum", "field": "rating", "distinct": true}, "best": {"fn": "max", "field": "rating"}},
            "$having": {"aggregate": "n", "op": "gt", "value": 1},
            "$orderBy": [{"aggregate": "n", "direction": "desc"}], "$page": {"first": 5}}}"#,
        expect![[r#"
            post: collection of posts
              fields  status, n, authors, total, best
              group   by (status) giving (n = count(*), authors = count(distinct title), total = sum(distinct rating), best = max(rating)) having #0 > 1
              order   #0 desc nulls last, status desc nulls last
              page    first 5

            post
            SELECT "g"."k0", "g"."a0", "g"."a1", "g"."a2", "g"."a3" FROM (SELECT "t0"."status" AS "k0", COUNT(1) AS "a0", COUNT(DISTINCT "t0"."title") AS "a1", mesh_sum(DISTINCT "t0"."rating") AS "a2", MAX("t0"."rating") AS "a3" FROM "posts" AS "t0" GROUP BY "t0"."status") AS "g" WHERE "g"."a0" > ? ORDER BY "g"."a0" DESC, "g"."k0" DESC LIMIT ?
              -- 1, 6
        "#]],
    );
}

#[test]
fn one_group_of_all() {
    check(
        None,
        r#"{"post": {"$select": {}, "$aggregate": {"n": {"fn": "count"}}}}"#,
        expect![[r#"
        post: collection of posts
          fields  n
          group   by () giving (n = count(*))
          page    first 50

        post
        SELECT "g"."a0" FROM (SELECT COUNT(1) AS "a0" FROM "posts" AS "t0") AS "g" LIMIT ?
          -- 51
    "#]],
    );
}

#[test]
fn distinct() {
    check(
        None,
        r#"{"post": {"$select": {"status": true}, "$distinct": ["status", "pinned"]}}"#,
        expect![[r#"
        post: collection of posts
          fields  status
          keys    pinned
          group   by (status, pinned) giving ()
          order   status asc nulls last, pinned asc nulls last
          page    first 50

        post
        SELECT "g"."k0", "g"."k1" FROM (SELECT "t0"."status" AS "k0", "t0"."pinned" AS "k1" FROM "posts" AS "t0" GROUP BY "t0"."status", "t0"."pinned") AS "g" ORDER BY "g"."k0" ASC NULLS LAST, "g"."k1" ASC NULLS LAST LIMIT ?
          -- 51
    "#]],
    );
}

#[test]
fn odd_names_are_quoted() {
    check(
        None,
        "{ order group }",
        expect![[r#"
        order: collection of order "details"
          fields  group
          order   gr"oup asc nulls last
          page    first 50

        order
        SELECT "t0"."gr""oup" FROM "order ""details""" AS "t0" ORDER BY "t0"."gr""oup" ASC NULLS LAST LIMIT ?
          -- 51
    "#]],
    );
}

/// A page after a cursor: mixed directions, NULLs first and last, a NULL in the cursor.
#[test]
fn keyset() {
    let keys = [
        ("rating", "asc", "last", "1.5"),
        ("rating", "asc", "last", "null"),
        ("rating", "desc", "first", "null"),
        ("rating", "desc", "last", "1.5"),
    ];
    let mut out = String::new();
    for (field, direction, nulls, value) in keys {
        let query = |after: Option<&str>| {
            let after = after.map_or_else(|| "null".to_owned(), |after| format!("\"{after}\""));
            format!(
                r#"{{"post": {{"$select": {{"id": true}}, "$page": {{"after": {after}}}, "$orderBy":
                [{{"field": "{field}", "direction": "{direction}", "nulls": "{nulls}"}}]}}}}"#
            )
        };
        let mesh = mesh();
        let first = mesh.plan(&Request::collection(Format::Json, &query(None))).unwrap();
        let value = value.parse().map_or(mesh_plan::ValueRef::Null, mesh_plan::ValueRef::Real);
        let cursor = first.cursor_text([value, mesh_plan::ValueRef::Integer(7)]);
        let later = mesh.plan(&Request::collection(Format::Json, &query(Some(&cursor)))).unwrap();
        out.push_str(&format!("{}\n", Statements::from_plan(&later).iter().next().unwrap()));
    }
    expect![[r#"
        SELECT * FROM (SELECT "t0"."id", "t0"."rating" FROM "posts" AS "t0" WHERE "t0"."rating" >= ? AND ("t0"."rating" > ? OR ("t0"."id" > ? OR "t0"."id" IS NULL)) ORDER BY "t0"."rating" ASC NULLS LAST, "t0"."id" ASC NULLS LAST LIMIT ?) AS "first" UNION ALL SELECT * FROM (SELECT "t0"."id", "t0"."rating" FROM "posts" AS "t0" WHERE "t0"."rating" IS NULL ORDER BY "t0"."rating" ASC NULLS LAST, "t0"."id" ASC NULLS LAST LIMIT ?) AS "second" LIMIT ?
          -- the cursor's value 0, the cursor's value 0, the cursor's value 1, 51, 51, 51
        SELECT "t0"."id", "t0"."rating" FROM "posts" AS "t0" WHERE "t0"."rating" IS NULL AND ("t0"."id" > ? OR "t0"."id" IS NULL) ORDER BY "t0"."rating" ASC NULLS LAST, "t0"."id" ASC NULLS LAST LIMIT ?
          -- the cursor's value 1, 51
        SELECT "t0"."id", "t0"."rating" FROM "posts" AS "t0" WHERE "t0"."rating" IS NOT NULL OR ("t0"."rating" IS NULL AND ("t0"."id" < ? OR "t0"."id" IS NULL)) ORDER BY "t0"."rating" DESC NULLS FIRST, "t0"."id" DESC LIMIT ?
          -- the cursor's value 1, 51
        SELECT * FROM (SELECT "t0"."id", "t0"."rating" FROM "posts" AS "t0" WHERE "t0"."rating" <= ? AND ("t0"."rating" < ? OR ("t0"."id" < ? OR "t0"."id" IS NULL)) ORDER BY "t0"."rating" DESC, "t0"."id" DESC LIMIT ?) AS "first" UNION ALL SELECT * FROM (SELECT "t0"."id", "t0"."rating" FROM "posts" AS "t0" WHERE "t0"."rating" IS NULL ORDER BY "t0"."rating" DESC, "t0"."id" DESC LIMIT ?) AS "second" LIMIT ?
          -- the cursor's value 0, the cursor's value 0, the cursor's value 1, 51, 51, 51
    "#]].assert_eq(&out);
}

#[test]
fn buckets_are_computed_by_a_function() {
    check(
        None,
        r#"{"post": {"$select": {"week": true}, "$groupBy": [{"field": "createdAt", "by": "week", "as": "week", "zone": "Europe/Berlin"}],
            "$aggregate": {"n": {"fn": "count"}}, "$having": {"field": "week", "op": "lt", "value": "2026"}}}"#,
        expect![[r#"
            post: collection of posts
              fields  week, n
              group   by (week of created_at in Europe/Berlin) giving (n = count(*)) having week of created_at in Europe/Berlin < "2026"
              order   week of created_at in Europe/Berlin asc nulls last
              page    first 50

            post
            SELECT "g"."k0", "g"."a0" FROM (SELECT mesh_period("t0"."created_at", 'week', '', 'Europe/Berlin') AS "k0", COUNT(1) AS "a0" FROM "posts" AS "t0" WHERE mesh_period(0, 'day', '', 'Europe/Berlin') IS NOT NULL GROUP BY mesh_period("t0"."created_at", 'week', '', 'Europe/Berlin')) AS "g" WHERE "g"."k0" < ? ORDER BY "g"."k0" ASC NULLS LAST LIMIT ?
              -- "2026", 51
        "#]],
    );
}
