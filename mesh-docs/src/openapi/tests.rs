//! The description covers exactly the enabled features. Black-box tests validate it against a server.

use expect_test::{Expect, expect};

use super::*;

const BLOG: &str = r#"{
    "entities": {
        "post": {"fields": ["id", "title"], "types": {"id": "integer"}, "writable": {"create": ["title"], "update": ["title"], "delete": true},
                 "uploads": {"title": {}}},
        "a log": {"fields": ["text"], "idField": null}
    },
    "joins": {"post.next": {"entity": "post", "on": "posts.id = posts.next_id", "type": "one"}}
}"#;

#[track_caller]
fn check(change: impl FnOnce(&mut OpenApiOptions), expected: &Expect) {
    let schema = Schema::read(BLOG, None).unwrap_or_else(|faults| panic!("{faults:?}"));
    let mut options = OpenApiOptions::new("/mesh");
    change(&mut options);
    let document = document(&schema, &options);
    let mut shown = String::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let responses: Vec<_> =
                operation["responses"].as_object().unwrap().keys().map(String::as_str).collect();
            let id = operation["operationId"].as_str().unwrap();
            shown.push_str(&format!("{} {path} ({id}): {}\n", method.to_uppercase(), responses.join(" ")));
        }
    }
    expected.assert_eq(&shown);
}

#[test]
fn reads_without_optional_profiles() {
    check(
        |_| (),
        &expect![[r#"
            GET /mesh/post (post.list): 200 304 400 421 429 431 500 503
            GET /mesh/post/{id} (post.read): 200 304 400 421 429 431 500 503
            PUT /mesh/post/{id} (post.readByPut): 200 400 421 429 431 500 503
            GET /mesh/a%20log (a_log.list): 200 304 400 421 429 431 500 503
            POST /mesh/batch (mesh.batch): 200 400 413 415 421 429 431 500 503
            POST /mesh (mesh.read): 200 400 413 415 421 429 431 500 503
        "#]],
    );
}

#[test]
fn all_optional_profiles() {
    let all = |options: &mut OpenApiOptions| {
        options.integrity = Some(Bound::Accepted);
        options.persisted = Some(Registration::Signed);
        options.events = true;
        options.exports = true;
        options.mutations = true;
        options.uploads = Some("media".to_owned());
        options.docs = Some("/docs".to_owned());
    };
    check(
        all,
        &expect![[r#"
            GET /mesh/post (post.list): 200 304 400 401 403 421 429 431 500 503
            POST /mesh/post (post.create): 201 400 401 403 404 409 413 415 421 429 431 500 503
            GET /mesh/post/{id} (post.read): 200 304 400 401 403 421 429 431 500 503
            PUT /mesh/post/{id} (post.update): 200 400 401 403 404 409 412 413 415 421 429 431 500 503
            DELETE /mesh/post/{id} (post.delete): 204 400 401 403 404 409 412 421 429 431 500 503
            GET /mesh/post/{id}/events (post.follow): 200 400 401 403 421 429 431 500 503
            PUT /mesh/post/{id}/next (post.next.connect): 200 400 401 403 404 409 413 415 421 429 431 500 503
            DELETE /mesh/post/{id}/next (post.next.disconnect): 204 400 401 403 404 409 421 429 431 500 503
            POST /mesh/post/{id}/title (post.title.upload): 200 400 401 403 404 409 413 415 421 429 431 500 503
            GET /mesh/a%20log (a_log.list): 200 304 400 401 403 421 429 431 500 503
            POST /mesh/batch (mesh.batch): 200 400 401 403 404 409 413 415 421 429 431 500 503
            POST /mesh (mesh.read): 200 400 401 403 413 415 421 429 431 500 503
            POST /mesh/queries (mesh.register): 200 400 401 403 413 415 421 429 431 500 503
            POST /mesh/auth (mesh.login): 200 400 401 403 413 415 421 429 431 500 503
            POST /mesh/logout (mesh.logout): 200 400 401 403 421 429 431 500 503
            GET /mesh/media/sha256/{first}/{rest} (mesh.file): 200 206 302 304 400 401 403 404 416 421 429 431 500 503
            GET /docs (mesh.playground): 200
            GET /docs/schema (mesh.introspect): 200 400 401 403 421 429 431 500 503
            POST /docs/execute (mesh.execute): 200 400 401 403 413 415 421 429 431 500 503
        "#]],
    );
}

#[test]
fn lists_have_a_media_type_for_each_form() {
    let schema = Schema::read(BLOG, None).unwrap();
    let types = |events: bool, exports: bool| {
        let mut options = OpenApiOptions::new("/mesh");
        (options.events, options.exports) = (events, exports);
        let document = document(&schema, &options);
        let content = &document["paths"]["/mesh/post"]["get"]["responses"]["200"]["content"];
        content.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(types(false, false), "application/json");
    assert_eq!(types(true, false), "application/json text/event-stream");
    assert_eq!(types(false, true), "application/json application/x-ndjson text/csv");
}

#[test]
fn persisted_queries_only() {
    let only = |options: &mut OpenApiOptions| {
        options.base.clear();
        options.persisted = Some(Registration::Closed);
        options.only = true;
    };
    check(
        only,
        &expect![[r#"
            GET /post (post.list): 200 304 400 421 429 431 500 503
            GET /post/{id} (post.read): 200 304 400 421 429 431 500 503
            PUT /post/{id} (post.readByPut): 200 400 421 429 431 500 503
            GET /a%20log (a_log.list): 200 304 400 421 429 431 500 503
            POST /batch (mesh.batch): 200 400 413 415 421 429 431 500 503
        "#]],
    );
}

#[test]
fn every_reference_resolves() {
    fn references<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
        match value {
            Value::Object(members) => {
                found.extend(members.get("$ref").and_then(Value::as_str));
                members.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }
    let schema = Schema::read(BLOG, None).unwrap();
    for profiles in 0..32 {
        let mut options = OpenApiOptions::new("");
        let is = |bit: u32| profiles & (1 << bit) != 0;
        options.integrity = is(0).then_some(Bound::Required);
        options.persisted = is(1).then_some(Registration::Open);
        options.events = is(1);
        options.mutations = is(2);
        options.uploads = is(3).then(|| "files".to_owned());
        options.bearers = is(4);
        let document = document(&schema, &options);
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(!found.is_empty());
        for reference in found {
            assert!(
                document.pointer(reference.trim_start_matches('#')).is_some(),
                "{reference}, {options:?}"
            );
        }
    }
}

#[test]
fn security_says_which_credentials_suffice() {
    let schema = Schema::read(BLOG, None).unwrap();
    let security = |integrity: Option<Bound>, [bearers, anonymous, signed_only]: [bool; 3]| {
        let mut options = OpenApiOptions::new("/mesh");
        (options.integrity, options.mutations) = (integrity, true);
        (options.bearers, options.anonymous, options.signed_only) = (bearers, anonymous, signed_only);
        options.persisted = Some(Registration::Signed);
        let document = document(&schema, &options);
        let of = |path: &str, method: &str| {
            let own = document["paths"][path][method].get("security");
            own.unwrap_or_else(|| &document["security"]).to_string()
        };
        let schemes = document["components"]["securitySchemes"].as_object();
        (
            of("/mesh/post", "get"),
            of("/mesh/post", "post"),
            of("/mesh/queries", "post"),
            schemes.into_iter().flatten().map(|(name, _)| name.clone()).collect::<Vec<_>>().join(" "),
        )
    };
    let check = |found: (String, String, String, String), expected: [&str; 4]| {
        assert_eq!([&found.0, &found.1, &found.2, &found.3], expected.each_ref());
    };
    let (signed, bearer) = (r#"{"token":[],"signature":[]}"#, r#"{"bearerAuth":[]}"#);
    let list = |parts: &[&str]| format!("[{}]", parts.join(","));
    check(security(None, [false; 3]), ["null", "null", "null", ""]);
    let session = list(&[signed]);
    check(security(Some(Bound::Accepted), [false; 3]), [&session, &session, &session, "token signature"]);
    let own = list(&[bearer]);
    check(security(None, [true, false, false]), [&own, &own, &own, "bearerAuth"]);
    let any = list(&[bearer, "{}"]);
    check(security(None, [true, true, false]), [&any, &own, &own, "bearerAuth"]);
    let either = list(&[signed, bearer]);
    let all = "token signature bearerAuth";
    check(security(Some(Bound::Accepted), [true, false, false]), [&either, &session, &session, all]);
    check(security(Some(Bound::Accepted), [true, true, true]), [&session, &session, &session, all]);
    let guests = list(&[signed, "{}"]);
    let found = security(Some(Bound::Accepted), [false, true, false]);
    check(found, [&guests, &session, &session, "token signature"]);
}

#[test]
fn refused_credentials_have_codes() {
    let schema = Schema::read(BLOG, None).unwrap();
    let mut options = OpenApiOptions::new("/mesh");
    options.bearers = true;
    let document = document(&schema, &options);
    let response = &document["components"]["responses"]["Unknown"];
    let codes = &response["content"]["application/json"]["schema"]["allOf"][1]["properties"]["code"]["enum"];
    assert_eq!(codes, &json!(["TOKEN_MISSING", "TOKEN_INVALID", "TOKEN_EXPIRED"]));
    assert!(response["headers"]["WWW-Authenticate"].is_object());
    assert!(document["paths"]["/mesh/post"]["get"]["responses"]["401"].is_object());
}

#[test]
fn an_id_of_several_fields_is_an_array_of_its_parts() {
    let schema = r#"{"entities": {"detail": {"fields": ["orderId", "note"], "idField": ["orderId", "note"],
        "types": {"orderId": "integer"}}}}"#;
    let document = document(&Schema::read(schema, None).unwrap(), &OpenApiOptions::new("/mesh"));
    // The form of an array in a path is its items, each percent-encoded, joined by commas.
    let id = &document["paths"]["/mesh/detail/{id}"]["get"]["parameters"][0]["schema"];
    let parts = json!([{"type": "integer", "format": "int64"}, {"type": "string"}]);
    assert_eq!((&id["type"], &id["prefixItems"]), (&json!("array"), &parts));
    assert_eq!((&id["minItems"], &id["maxItems"]), (&json!(2), &json!(2)));
}

#[test]
fn descriptions_of_the_schema_are_those_of_records_and_their_members() {
    let text = r#"{"entities": {"post": {
            "fields": ["id", "title"], "computed": {"label": {"from": ["title"], "template": "{title}"}},
            "description": "An article", "descriptions": {"title": "Its headline", "label": "For lists"}}}}"#;
    let schema = Schema::read(text, None).unwrap_or_else(|faults| panic!("{faults:?}"));
    let document = document(&schema, &OpenApiOptions::new("/mesh"));
    let records = document["components"]["schemas"].as_object().unwrap();
    let (_, post) =
        records.iter().find(|(_, record)| record["description"] == "An article").expect("the record");
    assert_eq!(post["properties"]["title"]["description"], "Its headline");
    assert_eq!(post["properties"]["label"]["description"], "For lists");
    assert_eq!(document["tags"][0]["description"], "An article");
}
