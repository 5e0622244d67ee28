//! Queries that were built in code print as JSON that parses to the same query.

use expect_test::{Expect, expect};

use super::*;
use crate::{Format, Limits, parse, print_json};

fn check(query: QueryBuilder, expected: Expect) {
    let query = query.build();
    let text = print_json(&query);
    assert_eq!(parse(Format::Json, &text, &Limits::default()).as_ref(), Ok(&query), "{text}");
    expected.assert_eq(&text);
}

#[test]
fn selections() {
    let posts = query("user").fields(["id", "name"]).relation("posts", |posts| {
        posts.field("title").relation("tags", |tags| tags.field("label")).order_by(asc("title")).first(3)
    });
    check(
        posts,
        expect![[
            r#"{"user":{"$select":{"id":true,"name":true,"posts":{"$select":{"title":true,"tags":{"$select":{"label":true}}},"$orderBy":[{"field":"title","direction":"asc"}],"$page":{"first":3}}}}}"#
        ]],
    );
}

#[test]
fn a_later_selection_replaces_one_with_the_same_name() {
    let twice = query("user").field("id").field("name").field("id").relation("name", |it| it.field("first"));
    check(twice, expect![[r#"{"user":{"$select":{"id":true,"name":{"$select":{"first":true}}}}}"#]]);
}

#[test]
fn filters() {
    let filter = (field("age").gte(18) | field("parent").is_not_null() | field("vip").eq(true))
        & !field("name").ilike("%test%")
        & field("rank").none_of([1, 2]);
    check(
        query("user").field("id").filter(filter).filter(field("score").lt(0.5)),
        expect![[
            r#"{"user":{"$select":{"id":true},"$where":{"and":[{"or":[{"field":"age","op":"gte","value":18},{"field":"parent","op":"isNotNull"},{"field":"vip","op":"eq","value":true}]},{"not":{"field":"name","op":"ilike","value":"%test%"}},{"field":"rank","op":"nin","value":[1,2]},{"field":"score","op":"lt","value":0.5}]}}}"#
        ]],
    );
}

#[test]
fn groups() {
    let orders = query("order")
        .group_by(["customer"])
        .aggregate("n", count())
        .aggregate("buyers", count_of("buyer").distinct())
        .aggregate("total", sum("total"))
        .having(aggregate("n").gt(1))
        .having(aggregate("total").lte(99.5))
        .order_by(desc(aggregate("total")).nulls_first());
    check(
        orders,
        expect![[
            r#"{"order":{"$select":{},"$orderBy":[{"aggregate":"total","direction":"desc","nulls":"first"}],"$groupBy":["customer"],"$aggregate":{"n":{"fn":"count"},"buyers":{"fn":"count","field":"buyer","distinct":true},"total":{"fn":"sum","field":"total"}},"$having":{"and":[{"aggregate":"n","op":"gt","value":1},{"aggregate":"total","op":"lte","value":99.5}]}}}"#
        ]],
    );
}

#[test]
fn pages_and_distinct() {
    check(
        query("user").field("name").distinct(["name"]).first(2).after("abc"),
        expect![[
            r#"{"user":{"$select":{"name":true},"$page":{"first":2,"after":"abc"},"$distinct":["name"]}}"#
        ]],
    );
    check(
        query("user").field("name").first(2).skip(param("start")),
        expect![[r#"{"user":{"$select":{"name":true},"$page":{"first":2,"skip":{"$param":"start"}}}}"#]],
    );
    let nothing: [&str; 0] = [];
    check(query("user").field("name").distinct(nothing), expect![[r#"{"user":{"$select":{"name":true}}}"#]]);
}

#[test]
fn relations_in_conditions_and_orders() {
    let users = query("user")
        .field_as("label", "name")
        .part("tag", "meta", "/tags/0")
        .relation_as("drafts", "posts", |posts| posts.field("id").filter(field("draft").eq(true)).last(2))
        .filter(
            related("posts").some(field("comments.body").like(param("text"))) | related("orders").is_empty(),
        )
        .filter(
            field("meta").at("/tags/0").one_of_param(param("tags"))
                & field("meta").at("/tags").has("a")
                & (field("tags").has_any(["a"]) | field("author.tags").has_all_param(param("all")))
                & related("posts").every(field("id").gt(1)),
        )
        .order_by(desc(related("posts").aggregate(count())))
        .order_by(asc("company.name"))
        .last(param("size"))
        .before("abc")
        .total();
    check(
        users,
        expect![[
            r#"{"user":{"$select":{"label":{"$field":"name"},"tag":{"$field":"meta","at":"/tags/0"},"drafts":{"$relation":"posts","$select":{"id":true},"$where":{"field":"draft","op":"eq","value":true},"$page":{"last":2}}},"$where":{"and":[{"or":[{"relation":"posts","op":"some","where":{"field":"comments.body","op":"like","value":{"$param":"text"}}},{"relation":"orders","op":"none"}]},{"and":[{"field":"meta","at":"/tags/0","op":"in","value":{"$param":"tags"}},{"field":"meta","at":"/tags","op":"has","value":"a"},{"or":[{"field":"tags","op":"hasAny","value":["a"]},{"field":"author.tags","op":"hasAll","value":{"$param":"all"}}]},{"relation":"posts","op":"every","where":{"field":"id","op":"gt","value":1}}]}]},"$orderBy":[{"relation":"posts","aggregate":{"fn":"count"},"direction":"desc"},{"field":"company.name","direction":"asc"}],"$page":{"last":{"$param":"size"},"before":"abc","total":true}}}"#
        ]],
    );
}
