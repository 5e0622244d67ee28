//! Buckets of time among the keys of a grouping. `SPEC §21`

use expect_test::expect;
use mesh_ql::Format;
use mesh_schema::{Catalog, Column, FieldType, NativeKind, NativeType, Operators, Schema, Table};

use super::check_messages;
use crate::policy::Access;
use crate::{Mesh, Request};

/// Returns a schema in which a field of times has a column of text in a database with types.
fn schema() -> Schema {
    let native = NativeType {
        name: "text".to_owned(),
        kind: NativeKind::BuiltIn,
        shown: "text".to_owned(),
        labels: Vec::new(),
        unique: false,
        has_nondeterministic_collation: false,
        size: None,
        operators: Operators::BuiltIn,
    };
    let column = |name: &str| Column { name: name.to_owned(), ..Column::default() };
    let mut columns = ["id", "title", "at", "day", "written"].map(column).to_vec();
    columns[4].native = Some(native);
    let table = Table { name: "posts".to_owned(), columns, ..Table::default() };
    Schema::builder()
        .entity("post", |post| {
            let post = post.field("id", FieldType::Integer).field("title", FieldType::String);
            let post = post.field("at", FieldType::Datetime).field("written", FieldType::Datetime);
            post.field("day", FieldType::Date)
        })
        .build_with(&Catalog { tables: vec![table], ..Catalog::default() })
        .unwrap()
}

fn query(controls: &str) -> String {
    format!(r#"{{"post":{{"$select":{{}},"$aggregate":{{"n":{{"fn":"count"}}}},{controls}}}}}"#)
}

/// Returns the groups of a query, or the message of its refusal.
fn planned(mesh: &Mesh, query: &str) -> String {
    match mesh.plan(&Request::collection(Format::Json, query)) {
        Ok(plan) => plan.node().grouping.as_ref().unwrap().to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn buckets_fit_their_field_and_have_names_of_their_own() {
    let mesh = Mesh::builder(schema()).build().unwrap();
    let table = expect![[r#"
        {"field":"at","by":"month","as":"m"}
            by (month of at) giving (n = count(*))
        {"field":"at","by":"day","as":"m","zone":"Europe/Berlin"}
            by (day of at in Europe/Berlin) giving (n = count(*))
        {"field":"at","by":"day","as":"m","zone":"utc"}
            by (day of at) giving (n = count(*))
        {"field":"day","by":"week","as":"m"},"title"
            by (week of day, title) giving (n = count(*))
        {"field":"none","by":"month","as":"m"}
            Field 'none' not found on entity 'post'
        {"field":"title","by":"month","as":"m"}
            `$groupBy` cannot divide 'title' by 'month': a bucket takes a field of type date or datetime
        {"field":"written","by":"month","as":"m"}
            `$groupBy` cannot divide 'written' by 'month': the type of its column is none of times
        {"field":"day","by":"hour","as":"m"}
            `$groupBy` cannot divide 'day' by 'hour': days have no time
        {"field":"day","by":"month","as":"m","zone":"Europe/Berlin"}
            `$groupBy` cannot divide 'day' by 'month': days have no time zone; leave `zone` out
        {"field":"at","by":"month","as":"m","zone":"+02:00"}
            '+02:00' is not the name of a time zone in the IANA database, such as 'Europe/Berlin'
        {"field":"at","by":"month","as":"m","zone":"UTC+2"}
            'UTC+2' is not the name of a time zone in the IANA database, such as 'Europe/Berlin'
        {"field":"at","by":"month","as":"title"}
            The alias 'title' is already a field or relation of entity 'post'; choose another one
        {"field":"at","by":"day","as":"m"},{"field":"at","by":"day","as":"d","zone":"UTC"}
            `$groupBy` has the same bucket of 'at' twice
    "#]];
    check_messages(&table, |keys| planned(&mesh, &query(&format!(r#""$groupBy":[{keys}]"#))));
}

#[test]
fn conditions_and_orders_name_buckets_by_their_alias() {
    let mesh = Mesh::builder(schema()).build().unwrap();
    let table = expect![[r#"
        "$having":{"field":"m","op":"like","value":"2026-%"}
            by (month of at) giving (n = count(*)) having month of at like "2026-%"
        "$having":{"field":"m","op":"gte","value":"x"}
            by (month of at) giving (n = count(*)) having month of at >= "x"
        "$having":{"field":"m","op":"eq","value":2026}
            'm' takes text, not 2026
        "$having":{"field":"at","op":"eq","value":"2026-01-01"}
            $having names 'at', which the read is not grouped by
        "$orderBy":[{"field":"at","direction":"asc"}]
            $orderBy names 'at', which the read is not grouped by
    "#]];
    let bucket = r#""$groupBy":[{"field":"at","by":"month","as":"m"}]"#;
    check_messages(&table, |control| planned(&mesh, &query(&format!("{bucket},{control}"))));
    let ordered = query(&format!(r#"{bucket},"$orderBy":[{{"aggregate":"n","direction":"desc"}}]"#));
    let plan = mesh.plan(&Request::collection(Format::Json, &ordered)).unwrap();
    let order: Vec<_> = plan.node().order.iter().map(ToString::to_string).collect();
    assert_eq!(order, ["#0 desc nulls last", "month of at desc nulls last"]);
}

#[test]
fn a_role_has_no_buckets_of_fields_that_it_may_not_read() {
    let policy = |_: &str, _: &mesh_schema::Entity| Access::all().only(["id", "day"]);
    let mesh = Mesh::builder(schema()).policy(policy).build().unwrap();
    let by = |field: &str| {
        planned(&mesh, &query(&format!(r#""$groupBy":[{{"field":"{field}","by":"month","as":"m"}}]"#)))
    };
    assert_eq!(by("at"), "Field 'at' not found on entity 'post'");
    assert!(by("day").starts_with("by (month of day)"), "{}", by("day"));
}
