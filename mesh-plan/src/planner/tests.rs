//! Details of plans and errors that answers alone do not show.

mod buckets;
mod relational;
mod search;

use expect_test::Expect;
use mesh_ql::Format;
use mesh_schema::{Catalog, Column, FieldType, JoinDocument, Schema, Table};

use super::literal;
use crate::error::PlanErrorKind;
use crate::plan::{ColumnSource, Join, Output};
use crate::{Error, Mesh, Plan, Request, Value};

/// Posts with two fields over one column, an author by id, a reviewer by name, and a JSON column; logs without an id.
fn mesh() -> Mesh {
    let table = |name: &str, columns: &[&str], key: Option<&str>| Table {
        name: name.to_owned(),
        columns: columns.iter().map(|&name| Column { name: name.to_owned(), ..Column::default() }).collect(),
        primary_key: key.map(str::to_owned).into_iter().collect(),
        row_id: key.is_none().then(|| "rowid".to_owned()),
        ..Table::default()
    };
    let catalog = Catalog {
        tables: vec![
            table("users", &["id", "name"], Some("id")),
            table("posts", &["id", "status", "meta", "author_id", "reviewer"], Some("id")),
            table("logs", &["line"], None),
            table("marks", &["id"], Some("id")),
        ],
        ..Catalog::default()
    };
    Mesh::builder(
        Schema::builder()
            .entity("user", |user| {
                let user = user.field("id", FieldType::Integer).field("name", FieldType::String);
                user.computed("shout", ["name"], "{name}!")
            })
            .entity("post", |post| {
                let post = post.field("id", FieldType::Integer).field("meta", FieldType::Json);
                let post = post.field("status", FieldType::String).field("state", FieldType::String);
                post.column("state", "status")
            })
            .entity("log", |log| log.field("line", FieldType::String).no_id())
            .entity("mark", |mark| mark.field("id", FieldType::Integer))
            .relation("post.author", JoinDocument::one("user", "users.id = posts.author_id"))
            .relation("post.reviewer", JoinDocument::one("user", "users.name = posts.reviewer"))
            .relation("user.posts", JoinDocument::many("post", "posts.author_id = users.id"))
            .relation("user.same", JoinDocument::many("post", "posts.id = users.id"))
            .build_with(&catalog)
            .unwrap(),
    )
    .build()
    .unwrap()
}

fn plan(query: &str) -> Result<Plan, Error> {
    mesh().plan(&Request::collection(Format::Json, query))
}

/// Checks the messages of refusals. Each line of the table that is not indented is what is refused; its message follows.
#[track_caller]
pub(super) fn check_messages(table: &Expect, message: impl Fn(&str) -> String) {
    let lines = || table.data().lines().filter(|line| !line.trim().is_empty());
    let indent = lines().map(|line| line.len() - line.trim_start().len()).min().unwrap_or_default();
    let mut shown = String::new();
    for refused in lines().map(|line| &line[indent..]).filter(|line| !line.starts_with("    ")) {
        shown.push_str(&format!("{refused}\n    {}\n", message(refused)));
    }
    assert!(!shown.is_empty(), "the table is empty");
    table.assert_eq(&shown);
}

fn refusal(query: &str) -> PlanErrorKind {
    match plan(query) {
        Err(Error::Plan(error)) => error.kind,
        other => panic!("{query}: {other:?}"),
    }
}

/// Returns the columns of the root, each as `name=column`, with `*` if it is selected.
fn columns(query: &str) -> String {
    let plan = plan(query).unwrap();
    let show = |column: &super::Column| {
        let star = if column.selected { "*" } else { "" };
        match &column.source {
            ColumnSource::Column(storage) => format!("{}={storage}{star}", column.name),
            ColumnSource::Aggregate(index) => format!("{}=#{index}{star}", column.name),
            source => format!("{}={source:?}{star}", column.name),
        }
    };
    plan.node().columns.iter().map(show).collect::<Vec<_>>().join(" ")
}

#[test]
fn two_fields_of_one_column_are_two_columns_of_the_rows() {
    let both = r#"{"post":{"$select":{"status":true,"state":true}}}"#;
    assert_eq!(columns(both), "status=status* state=status* id=id");
    let plan = plan(r#"{"post":{"$select":{"state":true},"$distinct":["status","state"]}}"#).unwrap();
    assert_eq!(plan.node().fields().collect::<Vec<_>>(), ["state"]);
    let Output::Field { column, .. } = &plan.node().output[0] else { panic!() };
    assert_eq!(plan.node().columns[*column].name, "state");
}

#[test]
fn a_field_selected_after_a_computed_field_that_needs_it_is_selected() {
    let query = r#"{"user":{"$select":{"shout":true,"name":true}}}"#;
    assert_eq!(columns(query), "name=name* id=id");
    assert_eq!(columns(r#"{"user":{"$select":{"shout":true}}}"#), "name=name id=id");
}

#[test]
fn an_alias_may_have_the_name_of_a_group_key_that_is_not_selected() {
    let grouped = |select: &str, alias: &str| {
        let query = format!(
            r#"{{"post":{{"$select":{{{select}}},"$groupBy":["status"],"$aggregate":{{"{alias}":{{"fn":"count"}}}}}}}}"#
        );
        columns(&query)
    };
    assert_eq!(grouped("", "status"), "group.status=status status=#0*");
    assert_eq!(grouped("", "n"), "status=status n=#0*");
    assert_eq!(grouped(r#""status":true"#, "n"), "status=status* n=#0*");
}

#[test]
fn json_is_only_tested_for_null_and_counted() {
    let read = |rest: &str| format!(r#"{{"post":{{"$select":{{"id":true}},{rest}}}}}"#);
    let condition =
        |op: &str, value: &str| read(&format!(r#""$where":{{"field":"meta","op":"{op}"{value}}}"#));
    for op in ["eq", "lt", "like"] {
        let kind = refusal(&condition(op, r#","value":"x""#));
        assert!(matches!(kind, PlanErrorKind::Operator { .. }), "{op}: {kind:?}");
    }
    assert!(plan(&condition("isNull", "")).is_ok());
    let count = |distinct: bool| {
        let count = format!(r#"{{"fn":"count","field":"meta","distinct":{distinct}}}"#);
        format!(r#"{{"post":{{"$select":{{}},"$aggregate":{{"n":{count}}}}}}}"#)
    };
    assert!(plan(&count(false)).is_ok());
    assert!(matches!(refusal(&count(true)), PlanErrorKind::Function { .. }));
    let order = refusal(&read(r#""$orderBy":[{"field":"meta","direction":"asc"}]"#));
    assert!(matches!(order, PlanErrorKind::Unordered { control: "$orderBy", .. }), "{order:?}");
}

#[test]
fn keys_of_the_query_are_not_marked_as_tie_breakers() {
    let marks = |order: &str| {
        let query = format!(r#"{{"post":{{"$select":{{"id":true}},"$orderBy":[{order}]}}}}"#);
        let plan = plan(&query).unwrap();
        plan.node().order.iter().map(|key| key.breaks_ties).collect::<Vec<_>>()
    };
    assert_eq!(marks(r#"{"field":"id","direction":"desc"}"#), [false]);
    assert_eq!(marks(r#"{"field":"status","direction":"desc"}"#), [false, true]);
}

#[test]
fn only_a_to_one_relation_by_id_needs_no_order() {
    let join = |query: &str| plan(query).unwrap().node().joins.iter().map(ordered).collect::<Vec<_>>();
    fn ordered(join: &Join) -> (String, bool) {
        (join.name.clone(), !join.node.order.is_empty())
    }
    let post =
        r#"{"post":{"$select":{"author":{"$select":{"id":true}},"reviewer":{"$select":{"id":true}}}}}"#;
    assert_eq!(join(post), [("author".to_owned(), false), ("reviewer".to_owned(), true)]);
    let user = r#"{"user":{"$select":{"posts":{"$select":{"id":true}},"same":{"$select":{"id":true}}}}}"#;
    assert_eq!(join(user), [("posts".to_owned(), true), ("same".to_owned(), true)]);
}

#[test]
fn rows_are_identified_by_id_or_row_id() {
    let key = |query: &str| {
        let plan = plan(query).unwrap();
        plan.node().row_key.iter().map(|column| column.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(key(r#"{"mark":{"$select":{"id":true}}}"#), ["id"]);
    assert_eq!(key(r#"{"log":{"$select":{"line":true}}}"#), ["rowid"]);
}

#[test]
fn numeric_ids_have_one_spelling() {
    let id = |text| literal::id(Some(FieldType::Number), None, text);
    assert_eq!(id("1.5"), Some(Value::Real(1.5)));
    assert_eq!(["1.50", "+1.5", "15e-1", "x"].map(id), [None, None, None, None]);
}

#[test]
fn uuids_have_the_form_with_hyphens() {
    let id = |text| literal::id(Some(FieldType::Uuid), None, text);
    assert!(id("f81d4fae-7dec-11d0-a765-00a0c91e6bf6").is_some());
    assert_eq!(id("f81d4fae7dec11d0a76500a0c91e6bf6"), None);
    assert_eq!(id("f81d4fae-7dec-11d0-a765-00a0c91e6bfg"), None);
}

#[test]
fn messages_shorten_texts_of_more_than_forty_characters() {
    let shown = |count: usize| {
        let long = "ß".repeat(count);
        let query = format!(
            r#"{{"post":{{"$select":{{"id":true}},"$where":{{"field":"id","op":"eq","value":"{long}"}}}}}}"#
        );
        match refusal(&query) {
            PlanErrorKind::Literal { found, .. } => found,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(shown(40), format!("the text \"{}\"", "ß".repeat(40)));
    assert_eq!(shown(41), format!("the text \"{}\"…", "ß".repeat(40)));
}
