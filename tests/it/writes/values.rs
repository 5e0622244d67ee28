//! Fields and values that writes accept, and constraints of the database.

use serde_json::{Value, json};

use super::Shop;

#[test]
fn only_writable_fields_are_written() {
    let shop = Shop::open();
    let refused = |method: &str, path: &str, body: &str, message: &str| {
        shop.refused(&shop.write(method, path, body), 400, "ValidationError", message);
    };
    refused("PUT", "/user/1", r#"{"id": 7}"#, "Field 'id' on entity 'user' is not writable");
    refused("PUT", "/user/1", r#"{"secret": "x"}"#, "Field 'secret' not found on entity 'user'");
    refused("PUT", "/post/1", r#"{"status": "x"}"#, "Field 'status' on entity 'post' is not writable");
    let computed = "'heading' is a computed field; write the fields that it is computed from";
    refused("PUT", "/post/1", r#"{"heading": "x"}"#, computed);
    refused("PUT", "/note/1", r#"{"text": "x"}"#, "Field 'text' on entity 'note' is not writable");
    refused("POST", "/note", "{}", "Entity 'note' is not writable");
    refused("DELETE", "/note/1", "", "Entity 'note' is not writable");
    refused(
        "PUT",
        "/user/1",
        r#"{"nam": "x"}"#,
        "Field 'nam' not found on entity 'user'; did you mean 'name'?",
    );
    refused("POST", "/usr", "{}", "Entity 'usr' not found; did you mean 'user'?");
    let relation = "Relation 'post' not found on entity 'user'; did you mean 'posts'?";
    refused("POST", "/user/1/post", "{}", relation);
    assert_eq!(shop.cell("SELECT text FROM notes").as_deref(), Some("fixed"));
    assert_eq!(shop.cell("SELECT secret FROM users WHERE id = 1").as_deref(), Some("hidden"));
}

#[test]
fn values_are_validated_and_stored_by_type() {
    let shop = Shop::open();
    let body = r#"{"title": "T", "data": {"b": [1, null], "a": true}, "picture": "AP8Q", "balance": "1.10",
        "createdAt": "2024-05-01T12:30:00+02:00"}"#;
    let reply = shop.write("PUT", "/post/1", body);
    assert_eq!(reply.status, 200, "{}", reply.text());
    let record = reply.json();
    assert_eq!(record["data"], json!({"b": [1, null], "a": true}));
    assert_eq!((record["picture"].as_str(), record["balance"].as_str()), (Some("AP8Q"), Some("1.1")));
    assert_eq!(record["createdAt"].as_str().map(|it| it.trim_end_matches('Z')), Some("2024-05-01T10:30:00"));
    assert_eq!(shop.cell("SELECT hex(picture) FROM posts WHERE id = 1").as_deref(), Some("00FF10"));
    let refused = |body: &str, message: &str| {
        shop.refused(&shop.write("PUT", "/user/1", body), 400, "ValidationError", message);
    };
    refused(r#"{"age": "old"}"#, r#"'age' takes a 64-bit integer, not the text "old""#);
    refused(r#"{"age": 1.5}"#, "'age' takes a 64-bit integer, not 1.5");
    refused(r#"{"active": 1}"#, "'active' takes true or false, not 1");
    refused(r#"{"name": ["x"]}"#, "'name' takes text, not a list");
    assert_eq!(shop.write("PUT", "/user/1", r#"{"age": null}"#).json()["age"], Value::Null);
}

#[test]
fn constraint_violations_are_conflicts() {
    let shop = Shop::open();
    let refused = |method: &str, path: &str, body: &str, message: &str| {
        shop.refused(&shop.write(method, path, body), 409, "ConflictError", message);
    };
    let taken = "Another record already has the same 'email', which must be unique";
    refused("PUT", "/user/1", r#"{"email": "bo@example.org"}"#, taken);
    refused("POST", "/user", r#"{"name": "x", "email": "bo@example.org"}"#, taken);
    refused("POST", "/user", "{}", "'name' is required, but has no value");
    refused("PUT", "/user/1", r#"{"name": null}"#, "'name' must not be null");
    refused("PUT", "/user/1", r#"{"age": -1}"#, "'age' violates a constraint of the database");
    let referred = "The write would leave a reference to a record that does not exist; write or delete the referring records first";
    refused("DELETE", "/user/1", "", referred);
    let missing = "'authorId' refers to a record that does not exist";
    refused("PUT", "/post/1", r#"{"authorId": 9}"#, missing);
    refused(
        "POST",
        "/tag",
        r#"{"slug": "rust", "label": "again"}"#,
        "Another record already has the same 'slug', which must be unique",
    );
    assert_eq!(shop.cell("SELECT count(*) FROM users").as_deref(), Some("3"));
}
