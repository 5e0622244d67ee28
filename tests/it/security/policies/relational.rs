//! Relational queries and parameters of a principal for whom policies hide records and names.

use mesh_tests::kit::encoding;
use mesh_tests::{Request, Response, encode};
use serde_json::{Value, json};

use super::{Session, Site};

/// Reads a query of parameters by its id or by its text.
fn read_with((token, key): &Session, site: &Site, statement: (&str, &str), params: &Value) -> Response {
    let (header, value) = statement;
    let params = encode(&params.to_string());
    let signature = encoding::signature(key, &format!("{value}\n{params}"));
    let request = Request::new("GET", "/mesh/post").header(header, value).header("X-Mesh-Params", params);
    site.server.send(&request.header("X-Mesh-Token", token).header("X-Mesh-Signature", signature))
}

#[test]
fn hidden_records_do_not_count_as_related() {
    for site in Site::both() {
        // Bo may see the posts 2 and 3, which are his own; Ada has the post 1 and Cy the post 4.
        let bo = site.login("Bo");
        let users = |controls: Value| {
            let mut root =
                json!({"$select": {"id": true}, "$orderBy": [{"field": "id", "direction": "asc"}]});
            root.as_object_mut().unwrap().extend(controls.as_object().unwrap().clone());
            site.list(&bo, &json!({"user": root}).to_string())
        };
        let posts =
            |op: &str, filter: Value| json!({"$where": {"relation": "posts", "op": op, "where": filter}});
        let any = json!({"field": "id", "op": "gt", "value": 0});
        let none = json!({"field": "id", "op": "lt", "value": 0});
        assert_eq!(users(posts("some", any.clone())), r#"[{"id":2}]"#);
        assert_eq!(users(posts("none", any)), r#"[{"id":1},{"id":3},{"id":4}]"#);
        assert_eq!(users(posts("every", none)), r#"[{"id":1},{"id":3},{"id":4}]"#);
        // Neither a hidden record nor its values can be reached through another record.
        let own_title = json!({"relation": "owner", "op": "some", "where": {"relation": "posts", "op": "some",
            "where": {"field": "title", "op": "eq", "value": "Rust at dawn"}}});
        assert_eq!(
            site.list(&bo, &json!({"post": {"$select": {"id": true}, "$where": own_title}}).to_string()),
            "[]"
        );
        for (function, expected) in [("count", "[2,4,3,1]"), ("max", "[2,4,3,1]"), ("min", "[2,4,3,1]")] {
            let sort = json!([{"relation": "posts", "aggregate": {"fn": function, "field": "id"}, "direction": "desc"}]);
            let query = json!({"user": {"$select": {"id": true}, "$orderBy": sort}}).to_string();
            let items: Value = serde_json::from_str(&site.list(&bo, &query)).unwrap();
            let ids: Vec<_> = items.as_array().unwrap().iter().map(|item| item["id"].clone()).collect();
            assert_eq!(json!(ids).to_string(), expected, "{function}");
        }
        let aggregated = users(json!({"$select": {"p": {"$relation": "posts", "$select": {},
            "$aggregate": {"n": {"fn": "count"}, "first": {"fn": "min", "field": "title"}}}}}));
        assert_eq!(
            aggregated,
            r#"[{"p":{"n":0,"first":null}},{"p":{"n":2,"first":"A map"}},{"p":{"n":0,"first":null}},{"p":{"n":0,"first":null}}]"#
        );
        let total = site
            .read(&bo, "/post", r#"{"post":{"$select":{"id":true},"$page":{"last":1,"total":true}}}"#)
            .json();
        assert_eq!(total["pageInfo"]["totalCount"], 2);
        assert_eq!(
            (&total["items"], &total["pageInfo"]["hasPreviousPage"]),
            (&json!([{"id": 3}]), &json!(true))
        );
        let first = site.read(&bo, "/post", r#"{"post":{"$select":{"id":true},"$page":{"last":2}}}"#).json();
        assert_eq!(first["pageInfo"]["hasPreviousPage"], false, "the hidden record before it does not count");
    }
}

#[test]
fn hidden_names_are_unknown_in_relational_forms() {
    for site in Site::both() {
        let (ada, bo) = (site.login("Ada"), site.login("Bo"));
        let age = "Field 'age' not found on entity 'user'";
        let comments = "Field 'comments' not found on entity 'post'";
        let sort = |key: Value| json!({"$select": {"id": true}, "$orderBy": [key]});
        let filter = |condition: Value| json!({"$select": {"id": true}, "$where": condition});
        for (entity, root, message) in [
            ("post", filter(json!({"field": "owner.age", "op": "gt", "value": 1})), age),
            ("post", filter(json!({"field": "owner.age", "op": "gt", "value": {"$param": "p"}})), age),
            (
                "post",
                filter(json!({"relation": "owner", "op": "some", "where": {"field": "age", "op": "isNull"}})),
                age,
            ),
            ("post", filter(json!({"relation": "comments", "op": "some"})), comments),
            ("post", sort(json!({"field": "owner.age", "direction": "asc"})), age),
            (
                "post",
                sort(json!({"relation": "comments", "aggregate": {"fn": "count"}, "direction": "asc"})),
                comments,
            ),
            ("post", json!({"$select": {"c": {"$relation": "comments", "$select": {"id": true}}}}), comments),
            (
                "post",
                json!({"$select": {"o": {"$relation": "owner", "$select": {"a": {"$field": "age"}}}}}),
                age,
            ),
            (
                "post",
                json!({"$select": {"comments": {"$select": {}, "$aggregate": {"n": {"fn": "count"}}}}}),
                comments,
            ),
            ("user", filter(json!({"field": "age", "at": "/a", "op": "eq", "value": 1})), age),
        ] {
            let found = site.list(&bo, &json!({entity: root}).to_string());
            assert!(found.starts_with(message) && !found.contains("mean"), "{root}: {found}");
        }
        // An alias may be named as a hidden field is.
        let alias = r#"{"user":{"$select":{"age":{"$field":"name"}},"$page":{"first":1}}}"#;
        assert_eq!(site.list(&bo, alias), r#"[{"age":"Ada"}]"#);
        assert!(site.list(&ada, alias).contains("'age' is already a field or relation of entity 'user'"));
    }
}

/// Attack with a session of few rights: values of parameters that widen a policy.
#[test]
fn values_of_parameters_do_not_widen_a_policy() {
    for site in Site::both() {
        let (ada, bo, di) = (site.login("Ada"), site.login("Bo"), site.login("Di"));
        let by_owner = r#"{"post":{"$select":{"id":true},"$where":{"or":[{"field":"ownerId","op":"in","value":{"$param":"owners"}},{"not":{"field":"ownerId","op":"in","value":{"$param":"owners"}}}]}}}"#;
        let text = encode(by_owner);
        let ids = |session: &Session, owners: Value| {
            let reply = read_with(session, &site, ("X-Mesh-Query", &text), &json!({"owners": owners}));
            assert_eq!(reply.status, 200, "{}", reply.text());
            reply.json()["items"].to_string()
        };
        for owners in [json!([1, 2, 3]), json!([]), json!([2]), json!([1])] {
            assert_eq!(ids(&ada, owners.clone()), r#"[{"id":1},{"id":2},{"id":3},{"id":4}]"#, "{owners}");
            assert_eq!(ids(&bo, owners.clone()), r#"[{"id":2},{"id":3}]"#, "{owners}");
        }
        let refused = read_with(&di, &site, ("X-Mesh-Query", &text), &json!({"owners": [1]}));
        assert!(refused.text().contains("Field 'ownerId' not found on entity 'post'"), "{}", refused.text());
    }
}

#[test]
fn declarations_of_a_query_are_hidden_with_its_names() {
    for site in Site::both() {
        let (ada, di) = (site.login("Ada"), site.login("Di"));
        let query = r#"{"post":{"$select":{"id":true},"$where":{"field":"ownerId","op":"eq","value":{"$param":"owner"}}}}"#;
        let body =
            json!({"query": query, "params": {"owner": {"type": "integer", "default": 1}}}).to_string();
        let register = |(token, key): &Session| {
            let signature = encoding::signature(key, &format!("\n{}", encoding::sha256(&body)));
            let request = Request::post("/mesh/queries", &body);
            site.server.send(&request.header("X-Mesh-Token", token).header("X-Mesh-Signature", signature))
        };
        let reply = register(&ada);
        assert_eq!(reply.status, 200, "{}", reply.text());
        let id = reply.json()["id"].as_str().unwrap().to_owned();
        let read =
            |session: &Session, params: &Value| read_with(session, &site, ("X-Mesh-Query-Id", &id), params);
        assert_eq!(read(&ada, &json!({})).json()["items"], json!([{"id": 1}]));
        assert!(read(&ada, &json!({"owner": "x"})).text().contains("'owner'"));
        assert_eq!(register(&di).json()["error"], "ValidationError");
        for params in [
            json!({}),
            json!({"owner": 1}),
            json!({"owner": "x"}),
            json!({"other": 1}),
            json!({"owner": null}),
        ] {
            let reply = read(&di, &params).json();
            assert_eq!(reply["code"], "QUERY_ID_UNKNOWN", "{params}: {reply}");
        }
    }
}
