//! Relational queries that are refused, and the related records of those that are not.

use expect_test::{Expect, expect};
use mesh_ql::Format;
use mesh_schema::{FieldType, JoinDocument, Schema};
use serde_json::json;

use super::{check_messages, plan};
use crate::error::PlanErrorKind;
use crate::{Error, Mesh, Request};

/// Checks the messages that refuse reads of an entity with these members.
#[track_caller]
fn check(table: Expect) {
    check_messages(&table, |read| {
        let (entity, members) = read.split_once(": ").unwrap();
        plan(&format!(r#"{{"{entity}":{{{members}}}}}"#)).unwrap_err().to_string()
    });
}

#[test]
fn messages_of_refused_relational_queries() {
    check(expect![[r#"
        user: "$select":{"id":true},"$where":{"field":"posts.status","op":"isNull"}
            The path 'posts.status' leads through 'posts', which has many records; use a condition on the relation
        user: "$select":{"id":true},"$groupBy":["posts.status"]
            $groupBy does not accept paths such as 'posts.status'; paths are allowed only in `$where`, and in `$orderBy` of reads that are neither grouped nor distinct
        post: "$select":{"id":true},"$distinct":["author.name"]
            $distinct does not accept paths such as 'author.name'; paths are allowed only in `$where`, and in `$orderBy` of reads that are neither grouped nor distinct
        post: "$select":{"id":true},"$where":{"field":"author.nam","op":"isNull"}
            Field 'nam' not found on entity 'user'; did you mean 'name'?
        post: "$select":{"id":true},"$where":{"field":"author.shout","op":"isNull"}
            'shout' is a computed field; it can be selected, but not used in $where
        post: "$select":{"id":true},"$where":{"field":"status.name","op":"isNull"}
            'status' on entity 'post' is a scalar field, not a relation
        post: "$select":{"id":true},"$where":{"relation":"status","op":"some"}
            'status' on entity 'post' is a scalar field, not a relation
        post: "$select":{"id":true},"$where":{"relation":"authors","op":"some"}
            Field 'authors' not found on entity 'post'; did you mean 'author'?
        user: "$select":{"id":true},"$where":{"relation":"posts","op":"some","where":{"field":"nam","op":"isNull"}}
            Field 'nam' not found on entity 'post'
        post: "$select":{"id":true},"$orderBy":[{"relation":"author","aggregate":{"fn":"count"},"direction":"asc"}]
            'author' leads to at most one record; order by a path through it, not by an aggregate
        user: "$select":{"id":true},"$orderBy":[{"relation":"posts","aggregate":{"fn":"max","field":"meta"},"direction":"asc"}]
            `max` cannot be computed over 'meta', which is of type json
        user: "$select":{},"$aggregate":{"n":{"fn":"count"}},"$orderBy":[{"relation":"posts","aggregate":{"fn":"count"},"direction":"asc"}]
            The relation 'posts' cannot be used in a grouped or distinct read
        post: "$select":{"author":{"$field":"id"}}
            The alias 'author' is already a field or relation of entity 'post'; choose another one
        post: "$select":{"a":{"$field":"nam"}}
            Field 'nam' not found on entity 'post'
        post: "$select":{"a":{"$relation":"writer","$select":{"id":true}}}
            Field 'writer' not found on entity 'post'
        post: "$select":{"a":{"$field":"status"}},"$groupBy":["status"]
            'a' is an alias; fields of a grouped or distinct read cannot have aliases
        post: "$select":{"author":{"$select":{},"$aggregate":{"n":{"fn":"count"}}}}
            $aggregate is not allowed on 'author', which leads to at most one record; controls are allowed only on lists
        user: "$select":{"posts":{"$select":{"id":true},"$page":{"first":1,"total":true}}}
            `total` is not allowed on the relation 'posts'; count its records with `$aggregate`
        user: "$select":{"posts":{"$select":{},"$aggregate":{"n":{"fn":"count"}},"$page":{"first":1}}}
            '$page' requires '$groupBy' here; without it, the aggregates of a relation are a single object (in user.posts, line 1, column 77)
    "#]]);
}

#[test]
fn paths_through_one_relation_share_its_record() {
    let query = r#"{"post":{"$select":{"id":true},
        "$where":{"and":[{"field":"author.name","op":"eq","value":"Ada"},{"field":"author.id","op":"gt","value":1}]},
        "$orderBy":[{"field":"author.name","direction":"asc"},{"field":"reviewer.name","direction":"asc"}]}}"#;
    let plan = plan(query).unwrap();
    let columns = |related: &crate::plan::Related| {
        related.node.columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>()
    };
    let related: Vec<_> =
        plan.node().related.iter().map(|related| (related.name.as_str(), columns(related))).collect();
    let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(related, [("author$", names(&["name", "id"])), ("reviewer$", names(&["name"]))]);
}

#[test]
fn hops_of_paths_are_bounded() {
    let mesh = Mesh::builder(
        Schema::builder()
            .entity("user", |user| user.field("id", FieldType::Integer).field("name", FieldType::String))
            .relation("user.boss", JoinDocument::one("user", "users.id = users.boss_id"))
            .build()
            .unwrap(),
    )
    .build()
    .unwrap();
    let refusal = |filter: &[usize], order: &[usize]| {
        let path = |hops: &usize| format!("{}name", "boss.".repeat(*hops));
        let filter: Vec<_> =
            filter.iter().map(|hops| json!({"field": path(hops), "op": "eq", "value": "a"})).collect();
        let order: Vec<_> =
            order.iter().map(|hops| json!({"field": path(hops), "direction": "asc"})).collect();
        let read = json!({"$select": {"id": true}, "$where": {"and": filter}, "$orderBy": order});
        let query = json!({"user": read}).to_string();
        mesh.plan(&Request::collection(Format::Json, &query)).err().map(|error| error.to_string())
    };
    assert_eq!(refusal(&[10, 10, 2], &[10]), None);
    let path = refusal(&[1], &[11]).unwrap();
    assert!(path.contains("bound `path_hops` (10)"), "{path}");
    let query = refusal(&[10, 10, 3], &[10]).unwrap();
    assert!(query.contains("bound `query_hops` (32)"), "{query}");
}

#[test]
fn an_unknown_relation_is_reported_at_its_place() {
    let query = r#"{"user":{"$select":{"id":true},"$where":{"relation":"posts","op":"none","where":{"field":"writer.name","op":"isNull"}}}}"#;
    let Err(Error::Plan(error)) = plan(query) else { panic!() };
    assert_eq!(error.path, "user.posts");
    assert!(matches!(error.kind, PlanErrorKind::UnknownField { .. }), "{error:?}");
    assert_eq!(
        error.position.map(|position| position.column),
        query.find("\"writer").map(|at| at as u32 + 1)
    );
}

#[test]
fn a_scalar_in_json_has_the_type_of_its_literals() {
    let shown = |condition: &str| {
        let plan = plan(&format!(r#"{{"post":{{"$select":{{"id":true}},"$where":{condition}}}}}"#)).unwrap();
        plan.node().filter.as_ref().unwrap().to_string()
    };
    let condition = |rest: &str| shown(&format!(r#"{{"field":"meta","at":"/a~1b/0",{rest}}}"#));
    assert_eq!(condition(r#""op":"eq","value":"x""#), r#"meta at "/a~1b/0" as text = "x""#);
    assert_eq!(condition(r#""op":"in","value":[1,2.5]"#), r#"meta at "/a~1b/0" as number in (1, 2.5)"#);
    assert_eq!(condition(r#""op":"lt","value":true"#), r#"meta at "/a~1b/0" as boolean < true"#);
    assert_eq!(condition(r#""op":"isNotNull""#), r#"meta at "/a~1b/0" as any is not null"#);
    assert_eq!(condition(r#""op":"nin","value":[]"#), "true");
    assert_eq!(condition(r#""op":"has","value":1"#), r#"meta at "/a~1b/0" has all of (1)"#);
    assert_eq!(shown(r#"{"field":"meta","op":"hasAny","value":["x","y"]}"#), r#"meta has any of ("x", "y")"#);
}

#[test]
fn messages_of_refused_conditions_on_json() {
    check(expect![[r#"
        post: "$select":{"id":true},"$where":{"field":"status","at":"/a","op":"isNull"}
            'status' is not of type json; `at` and the operators of arrays need a field that is
        post: "$select":{"id":true},"$where":{"field":"author.name","at":"/a","op":"isNull"}
            'author.name' is not of type json; `at` and the operators of arrays need a field that is
        post: "$select":{"id":true},"$where":{"field":"meta","at":"/a","op":"like","value":1}
            'meta' takes a text pattern, not 1
        post: "$select":{"id":true},"$where":{"field":"meta","at":"/a","op":"in","value":[1,2.5,"1"]}
            'meta' takes numbers only, as the first value is one, not the text "1"
        post: "$select":{"id":true},"$where":{"field":"meta","op":"eq","value":1}
            Operator 'eq' cannot be used on 'meta', which is of type json
        post: "$select":{"id":true},"$where":{"field":"meta","op":"hasAll","value":["x",true]}
            'meta' takes texts only, as the first value is one, not true
        post: "$select":{"id":true},"$where":{"field":"status","op":"has","value":"x"}
            Operator 'has' cannot be used on 'status', which is of type string
        post: "$select":{"id":true},"$where":{"field":"status","at":"","op":"hasAny","value":["x"]}
            'status' is not of type json; `at` and the operators of arrays need a field that is
        post: "$select":{"p":{"$field":"status","at":"/a"}}
            'status' is not of type json; `at` and the operators of arrays need a field that is
        post: "$select":{"p":{"$field":"meta","at":"/a"}},"$distinct":["status"]
            'p' is an alias; fields of a grouped or distinct read cannot have aliases
    "#]]);
}

#[test]
fn the_text_of_a_plan_names_related_records_as_the_query_does() {
    let shown = |query: &str| plan(query).unwrap().to_string();
    let every = r#"{"user":{"$select":{"id":true},
        "$where":{"and":[{"relation":"posts","op":"every","where":{"field":"status","op":"eq","value":"live"}},
            {"not":{"relation":"posts","op":"some","where":{"or":[{"field":"author.name","op":"isNull"},{"field":"id","op":"gt","value":7}]}}},
            {"relation":"posts","op":"none"}]},
        "$orderBy":[{"relation":"posts","aggregate":{"fn":"count"},"direction":"desc"},
            {"relation":"posts","aggregate":{"fn":"max","field":"id"},"direction":"asc"}],
        "$page":{"last":3,"total":true}}}"#;
    let path = r#"{"post":{"$select":{"id":true},"$where":{"field":"author.name","op":"in","value":["Ada"]},
        "$orderBy":[{"field":"author.name","direction":"asc"}]}}"#;
    expect![[r#"
        user: collection of users
          fields  id
          keys    posts (count), posts (max id)
          where   (posts every (status = "live") and not posts some (author.name is null or id > 7) and posts none)
          order   posts (count) asc, posts (max id) desc nulls first, id desc
          page    last 3, with the total
          posts, for a condition: post of posts, author_id = parent id
            where   status = "live" is not true
          posts, for a condition: post of posts, author_id = parent id
            where   (author.name is null or id > 7)
            author, for paths: user of users, id = parent author_id
              keys    name
          posts, for a condition: post of posts, author_id = parent id
          posts, for the order: post of posts, author_id = parent id
          posts, for the order: post of posts, author_id = parent id

        post: collection of posts
          fields  id
          keys    author.name
          where   author.name in ("Ada")
          order   author.name asc nulls last, id asc
          page    first 50
          author, for paths: user of users, id = parent author_id
            keys    name
    "#]].assert_eq(&[shown(every), shown(path)].join("\n"));
}
