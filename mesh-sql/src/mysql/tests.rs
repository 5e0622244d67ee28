//! Snapshots of statements.

use expect_test::{Expect, expect};
use mesh_ql::Format;
use mesh_schema::{
    Catalog, Column, FieldType, JoinDocument, NativeKind, NativeType, Operators, Schema, Table,
    ThroughDocument,
};

use super::{MySql, ReadStatement};
use mesh_plan::{Mesh, Request};

fn table(name: &str, columns: &[(&str, &str)]) -> Table {
    let column = |(name, native): &(&str, &str)| Column {
        name: (*name).to_owned(),
        ty: Some(if *native == "int" { FieldType::Integer } else { FieldType::String }),
        nullable: *name != "id",
        native: Some(NativeType {
            name: (*native).to_owned(),
            kind: NativeKind::BuiltIn,
            shown: (*native).to_owned(),
            labels: Vec::new(),
            unique: *name == "id",
            has_nondeterministic_collation: false,
            size: None,
            operators: Operators::BuiltIn,
        }),
        ..Column::default()
    };
    Table {
        name: name.to_owned(),
        columns: columns.iter().map(column).collect(),
        primary_key: vec!["id".to_owned()],
        ..Table::default()
    }
}

fn mesh() -> Mesh {
    let catalog = Catalog {
        tables: vec![
            table("users", &[("id", "int"), ("name", "text COLLATE utf8mb4_general_ci")]),
            table(
                "posts",
                &[
                    ("id", "int"),
                    ("title", "text COLLATE utf8mb4_nopad_bin"),
                    ("likes", "int"),
                    ("author_id", "int"),
                    ("created_at", "datetime"),
                ],
            ),
            table("tags", &[("id", "int"), ("label", "text COLLATE utf8mb4_nopad_bin")]),
            table("post_tags", &[("id", "int"), ("post_id", "int"), ("tag_id", "int")]),
        ],
        ..Catalog::default()
    };
    let schema = Schema::builder()
        .entity("user", |user| user.field("id", FieldType::Integer).field("name", FieldType::String))
        .entity("post", |post| {
            post.field("id", FieldType::Integer)
                .field("title", FieldType::String)
                .field("likes", FieldType::Integer)
                .field("createdAt", FieldType::Datetime)
                .column("createdAt", "created_at")
        })
        .entity("tag", |tag| tag.field("id", FieldType::Integer).field("label", FieldType::String))
        .relation("post.author", JoinDocument::one("user", "posts.author_id = users.id"))
        .relation("user.posts", JoinDocument::many("post", "posts.author_id = users.id"))
        .relation(
            "post.tags",
            JoinDocument::through("tag", ThroughDocument::new("post_tags", "post_id", "tag_id")),
        );
    Mesh::builder(schema.build_with(&catalog).unwrap()).build().unwrap()
}

#[track_caller]
fn check(id: Option<&str>, query: &str, expected: Expect) {
    let format = if query.starts_with("{ ") { Format::Ql } else { Format::Json };
    let request = match id {
        Some(id) => Request::point(format, query, id),
        None => Request::collection(format, query),
    };
    let plan = mesh().plan(&request).unwrap();
    expected.assert_eq(&ReadStatement::from_plan(&plan, &MySql).statement.to_string());
}

#[test]
fn a_page_with_its_to_one_records_is_one_level() {
    check(
        None,
        "{ post title author { name } }",
        expect![[
            r#"SELECT CAST(`c1` AS CHAR), `c3`, `c6`, CAST(`c5` AS CHAR) FROM (SELECT `t0`.`title` AS `c1`, `t0`.`author_id` AS `c2`, `t0`.`id` AS `c3`, `t0`.`id` AS `s0` FROM `posts` AS `t0` ORDER BY `t0`.`id` ASC LIMIT 51) AS `q0` LEFT JOIN (SELECT `t4`.`name` AS `c5`, `t4`.`id` AS `c6` FROM `users` AS `t4`) AS `q4` ON `q4`.`c6` = `q0`.`c2` ORDER BY `q0`.`s0` ASC"#
        ]],
    );
}

#[test]
fn lists_of_several_parents_are_numbered_for_each_parent() {
    check(
        None,
        r#"{"user": {"$select": {"name": true, "posts": {"$select": {"title": true}, "$page": {"first": 2}}}}}"#,
        expect![[
            r#"WITH `n0` AS (SELECT ROW_NUMBER() OVER (  ORDER BY `q0`.`s0` ASC ) AS `o`, `q0`.* FROM (SELECT `t0`.`name` AS `c1`, `t0`.`id` AS `c2`, `t0`.`id` AS `s0` FROM `users` AS `t0` ORDER BY `t0`.`id` ASC LIMIT 51) AS `q0`) , `n1` AS (SELECT `q3`.* FROM (SELECT `t3`.`title` AS `c4`, ROW_NUMBER() OVER ( PARTITION BY `h`.`o` ORDER BY `t3`.`id` ASC ) AS `r`, `h`.`o` AS `p` FROM `n0` AS `h`, `posts` AS `t3` WHERE `t3`.`author_id` = `h`.`c2` AND `h`.`o` <= 50) AS `q3` WHERE `q3`.`r` <= 2 ORDER BY `q3`.`p` ASC, `q3`.`r` ASC LIMIT 100001) SELECT 0, CAST(NULL AS SIGNED), `o`, CAST(`c1` AS CHAR), `c2` FROM `n0` AS `n0` UNION ALL (SELECT 1, `p`, `r`, CAST(`c4` AS CHAR), CAST(NULL AS SIGNED) FROM `n1` AS `n1`)"#
        ]],
    );
}

#[test]
fn the_number_of_skipped_rows_is_bound() {
    check(
        None,
        r#"{"user": {"$select": {"name": true, "posts": {"$select": {"title": true}, "$page": {"first": 2, "skip": 3}}},
            "$page": {"skip": 20}}}"#,
        expect![[r#"
            WITH `n0` AS (SELECT ROW_NUMBER() OVER (  ORDER BY `q0`.`s0` ASC ) AS `o`, `q0`.* FROM (SELECT `t0`.`name` AS `c1`, `t0`.`id` AS `c2`, `t0`.`id` AS `s0` FROM `users` AS `t0` ORDER BY `t0`.`id` ASC LIMIT 51 OFFSET ?) AS `q0`) , `n1` AS (SELECT `q3`.* FROM (SELECT `t3`.`title` AS `c4`, ROW_NUMBER() OVER ( PARTITION BY `h`.`o` ORDER BY `t3`.`id` ASC ) AS `r`, `h`.`o` AS `p` FROM `n0` AS `h`, `posts` AS `t3` WHERE `t3`.`author_id` = `h`.`c2` AND `h`.`o` <= 50) AS `q3` WHERE `q3`.`r` > ? AND `q3`.`r` <= ? + 2 ORDER BY `q3`.`p` ASC, `q3`.`r` ASC LIMIT 100001) SELECT 0, CAST(NULL AS SIGNED), `o`, CAST(`c1` AS CHAR), `c2` FROM `n0` AS `n0` UNION ALL (SELECT 1, `p`, `r`, CAST(`c4` AS CHAR), CAST(NULL AS SIGNED) FROM `n1` AS `n1`)
              -- 20, 3, 3"#]],
    );
    check(
        Some("7"),
        r#"{"post": {"$select": {"title": true, "tags": {"$select": {"label": true}, "$page": {"first": 2, "skip": 3}}}}}"#,
        expect![[r#"
            WITH `n0` AS (SELECT 1 AS `o`, `q0`.* FROM (SELECT `t0`.`title` AS `c1`, `t0`.`id` AS `c2` FROM `posts` AS `t0` WHERE `t0`.`id` = ?) AS `q0`) , `n1` AS (SELECT ROW_NUMBER() OVER (  ORDER BY `q3`.`s0` ASC ) AS `o`, 1 AS `p`, `q3`.* FROM (SELECT `t3`.`label` AS `c4`, `t3`.`id` AS `s0` FROM `tags` AS `t3` WHERE `t3`.`id` IN (SELECT `j`.`tag_id` FROM `post_tags` AS `j` WHERE `j`.`post_id` = ?) ORDER BY `t3`.`id` ASC LIMIT 2 OFFSET ?) AS `q3`) SELECT 0, CAST(NULL AS SIGNED), `o`, CAST(`c1` AS CHAR) FROM `n0` AS `n0` UNION ALL (SELECT 1, `p`, `o`, CAST(`c4` AS CHAR) FROM `n1` AS `n1`)
              -- the id, the id, 3"#]],
    );
}

#[test]
fn lists_of_a_point_read_need_no_parent() {
    check(
        Some("7"),
        "{ post title tags { label } }",
        expect![[r#"
            WITH `n0` AS (SELECT 1 AS `o`, `q0`.* FROM (SELECT `t0`.`title` AS `c1`, `t0`.`id` AS `c2` FROM `posts` AS `t0` WHERE `t0`.`id` = ?) AS `q0`) , `n1` AS (SELECT ROW_NUMBER() OVER (  ORDER BY `q3`.`s0` ASC ) AS `o`, 1 AS `p`, `q3`.* FROM (SELECT `t3`.`label` AS `c4`, `t3`.`id` AS `s0` FROM `tags` AS `t3` WHERE `t3`.`id` IN (SELECT `j`.`tag_id` FROM `post_tags` AS `j` WHERE `j`.`post_id` = ?) ORDER BY `t3`.`id` ASC LIMIT 100001) AS `q3`) SELECT 0, CAST(NULL AS SIGNED), `o`, CAST(`c1` AS CHAR) FROM `n0` AS `n0` UNION ALL (SELECT 1, `p`, `o`, CAST(`c4` AS CHAR) FROM `n1` AS `n1`)
              -- the id, the id"#]],
    );
}

#[test]
fn texts_are_compared_by_the_collation_of_their_column_and_patterns_by_letters() {
    check(
        None,
        r#"{"user": {"$select": {"id": true}, "$where": {"and": [
            {"field": "name", "op": "eq", "value": "ada"}, {"field": "name", "op": "like", "value": "A%"},
            {"field": "name", "op": "ilike", "value": "a%"}, {"field": "name", "op": "in", "value": ["a", "b"]}
        ]}}}"#,
        expect![[r#"
            SELECT `c1` FROM (SELECT `t0`.`id` AS `c1`, `t0`.`id` AS `s0` FROM `users` AS `t0` WHERE `t0`.`name` = ? AND (CONVERT(`t0`.`name` USING `utf8mb4`) COLLATE `utf8mb4_nopad_bin`) LIKE ? AND LOWER(CONVERT(`t0`.`name` USING `utf8mb4`) COLLATE `utf8mb4_nopad_bin`) LIKE LOWER(?) AND `t0`.`name` IN (?, ?) ORDER BY `t0`.`id` ASC LIMIT 51) AS `q0` ORDER BY `q0`.`s0` ASC
              -- "ada", "A%", "a%", "a", "b""#]],
    );
}

#[test]
fn a_sum_that_does_not_fit_fails() {
    check(
        None,
        r#"{"post": {"$select": {"title": true}, "$groupBy": ["title"], "$aggregate": {"n": {"fn": "sum", "field": "likes"}},
            "$orderBy": [{"aggregate": "n", "direction": "asc", "nulls": "last"}]}}"#,
        expect![[
            r#"SELECT CAST(`c1` AS CHAR), `c2` FROM (SELECT `g`.`k0` AS `c1`, `g`.`a0` AS `c2`, `g`.`a0` AS `s0`, `g`.`k0` AS `s1` FROM (SELECT `t0`.`title` AS `k0`, (CASE WHEN SUM(`t0`.`likes`) NOT BETWEEN -9223372036854775808 AND 9223372036854775807 THEN 9223372036854775807 + COUNT(*) ELSE CAST(SUM(`t0`.`likes`) AS SIGNED) END) AS `a0` FROM `posts` AS `t0` GROUP BY `t0`.`title`) AS `g` ORDER BY `g`.`a0` IS NULL ASC, `g`.`a0` ASC, `g`.`k0` IS NULL ASC, `g`.`k0` ASC LIMIT 51) AS `q0` ORDER BY `q0`.`s0` IS NULL ASC, `q0`.`s0` ASC, `q0`.`s1` IS NULL ASC, `q0`.`s1` ASC"#
        ]],
    );
}

#[test]
fn buckets_are_texts_of_times_in_their_zone() {
    check(
        None,
        r#"{"post": {"$select": {"week": true}, "$groupBy": [{"field": "createdAt", "by": "week", "as": "week", "zone": "Europe/Berlin"}],
            "$aggregate": {"n": {"fn": "count"}}, "$having": {"field": "week", "op": "lt", "value": "2026"}}}"#,
        expect![[r#"
            SELECT CAST(`c1` AS CHAR), `c2` FROM (SELECT `g`.`k0` AS `c1`, `g`.`a0` AS `c2`, `g`.`k0` AS `s0` FROM (SELECT CONVERT(DATE_FORMAT(CONVERT_TZ((CASE WHEN DAYOFMONTH(`t0`.`created_at`) <> 0 AND MONTH(`t0`.`created_at`) <> 0 THEN `t0`.`created_at` END), '+00:00', 'Europe/Berlin') - INTERVAL WEEKDAY(CONVERT_TZ((CASE WHEN DAYOFMONTH(`t0`.`created_at`) <> 0 AND MONTH(`t0`.`created_at`) <> 0 THEN `t0`.`created_at` END), '+00:00', 'Europe/Berlin')) DAY, '%Y-%m-%d') USING `utf8mb4`) COLLATE `utf8mb4_nopad_bin` AS `k0`, COUNT(*) AS `a0` FROM `posts` AS `t0` WHERE (CASE WHEN CONVERT_TZ('2000-01-01 00:00:00', '+00:00', 'Europe/Berlin') IS NULL THEN (SELECT 1 UNION SELECT 2) ELSE TRUE END) GROUP BY CONVERT(DATE_FORMAT(CONVERT_TZ((CASE WHEN DAYOFMONTH(`t0`.`created_at`) <> 0 AND MONTH(`t0`.`created_at`) <> 0 THEN `t0`.`created_at` END), '+00:00', 'Europe/Berlin') - INTERVAL WEEKDAY(CONVERT_TZ((CASE WHEN DAYOFMONTH(`t0`.`created_at`) <> 0 AND MONTH(`t0`.`created_at`) <> 0 THEN `t0`.`created_at` END), '+00:00', 'Europe/Berlin')) DAY, '%Y-%m-%d') USING `utf8mb4`) COLLATE `utf8mb4_nopad_bin`) AS `g` WHERE `g`.`k0` < ? ORDER BY `g`.`k0` IS NULL ASC, `g`.`k0` ASC LIMIT 51) AS `q0` ORDER BY `q0`.`s0` IS NULL ASC, `q0`.`s0` ASC
              -- "2026""#]],
    );
}

/// The database evaluates a level again for each level below it, so what is joined to such a level is planned many times.
#[test]
fn the_tables_that_are_joined_to_a_level_are_bounded() {
    let aliases = |prefix: &str, relation: &str, count: usize| {
        let alias = |it| format!(r#""{prefix}{it}":{{"$relation":"{relation}","$select":{{"id":true}}}}"#);
        (0..count).map(alias).collect::<Vec<_>>()
    };
    let read = |one: usize, many: usize| {
        let relations = [aliases("a", "author", one), aliases("t", "tags", many)].concat().join(",");
        let query = format!(r#"{{"post":{{"$select":{{"id":true,{relations}}}}}}}"#);
        let plan = mesh().plan(&Request::collection(Format::Json, &query)).unwrap();
        ReadStatement::from_plan(&plan, &MySql).levels
    };
    let levels = [(1, 0), (16, 0), (17, 0), (199, 0), (16, 2), (40, 159)];
    assert_eq!(levels.map(|(one, many)| read(one, many)), [1, 1, 2, 200, 3, 200]);
}
