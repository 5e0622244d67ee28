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
