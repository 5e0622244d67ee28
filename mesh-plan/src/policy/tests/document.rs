//! Tests of policies in schema documents.

use super::*;

fn schema_with_policies(policies: &str) -> Result<Schema, String> {
    let text = format!(
        r#"{{"entities": {{"post": {{"fields": ["id", "title", "published", "ownerId"],
            "types": {{"id": "integer", "title": "string", "published": "boolean", "ownerId": "integer"}}}},
            "user": {{"fields": ["id"]}}}}, "policies": {policies}}}"#
    );
    let schema = Schema::read(&text, None).map_err(|faults| format!("{faults:?}"))?;
    match SchemaPolicy::from_schema(&schema) {
        Ok(_) => Ok(schema),
        Err(faults) => Err(faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")),
    }
}

#[test]
fn a_role_that_is_not_listed_sees_nothing_by_default() {
    let mesh = Mesh::builder(schema_with_policies(r#"{"admin": true}"#).unwrap())
        .default_resolver(tables())
        .build()
        .unwrap();
    assert!(plan(&mesh, None, POSTS, None).is_err());
    assert!(plan(&mesh, Some(&who("*", 1)), POSTS, None).is_err());
    assert!(plan(&mesh, Some(&who("admin", 1)), POSTS, None).is_ok());
}

/// The roles of the next tests, and one more with this value.
fn with_roles(role: &str) -> Result<Schema, String> {
    schema_with_policies(&format!(
        r#"{{"reader": {{"post": {{"$where": {{"field": "published", "op": "eq", "value": true}}}}}},
            "titles": {{"post": {{"fields": ["id", "title"], "$where": {{"field": "published", "op": "eq", "value": true}}}}}},
            "author": {{"post": {{"$where": {{"field": "ownerId", "op": "eq", "value": {{"session": "userId"}}}}}}}},
            "all": {{"post": {{"fields": ["id", "title"]}}}},
            "admin": true,
            "role": {role}}}"#
    ))
}

#[test]
fn a_field_of_some_records_is_not_granted_on_others() {
    for (role, field) in [
        (r#"{"$inherits": ["titles", "author"]}"#, "ownerId"),
        (r#"{"$inherits": ["all", "author"]}"#, "ownerId"),
        (
            r#"{"$inherits": ["author"], "post": {"except": ["published"], "$where": {"field": "id", "op": "eq", "value": 1}}}"#,
            "published",
        ),
    ] {
        let error = with_roles(role).unwrap_err();
        let expected = format!("policies.role.post: 'author' may read '{field}' and '");
        assert!(error.starts_with(&expected), "{role}: {error}");
        assert!(error.ends_with("give both rules the same fields or the same conditions"), "{error}");
    }
}

#[test]
fn conditions_are_checked_against_types() {
    let faults = schema_with_policies(
        r#"{"a": {"post": {"$where": {"field": "published", "op": "like", "value": "x"}}},
            "b": {"post": {"$where": {"field": "id", "op": "eq", "value": "one"},
                "$check": {"field": "id", "op": "gt", "value": true}, "$set": {"id": "one"}, "$setOnCreate": {"title": 1}}}}"#,
    );
    assert_eq!(
        faults.unwrap_err(),
        "policies.a.post.$where: Operator 'like' cannot be used on 'published', which is of type boolean\n\
         policies.b.post.$where: 'id' takes a 64-bit integer, not the text \"one\"\n\
         policies.b.post.$check: 'id' takes a 64-bit integer, not true\n\
         policies.b.post.$set.id: 'id' takes a 64-bit integer, not the text \"one\"\n\
         policies.b.post.$setOnCreate.title: 'title' takes text, not 1"
    );
}

#[test]
fn presets_of_rules_that_write_different_records_are_refused() {
    let text = r#"{"entities": {"post": {"fields": ["id", "title", "teamId"], "writable": true,
            "types": {"id": "integer", "title": "string", "teamId": "integer"}}},
        "policies": {
            "one": {"post": {"$set": {"teamId": 1}, "writable": ["title"]}},
            "two": {"post": {"$setOnCreate": {"teamId": 2}, "writable": ["title"]}},
            "reader": {"post": {"$set": {"teamId": 3}}},
            "fine": {"$inherits": ["one", "reader"]},
            "both": {"$inherits": ["one", "two"]}}}"#;
    let Err(faults) = SchemaPolicy::from_schema(&Schema::read(text, None).unwrap()) else {
        panic!("it was accepted")
    };
    let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
    let expected = "policies.both.post: 'one' and 'two' have different values of '$set' or '$setOnCreate'; \
                    give both rules the same values";
    assert_eq!(faults, [expected]);
}
