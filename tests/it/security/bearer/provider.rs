//! Tokens of an OpenID provider that is not part of this project: client credentials, and logins by a code with PKCE.

use std::sync::Arc;

use mesh_tests::{Database, Provider, Request, Server, wait_until};
use serde_json::{Value, json};

use super::{bearer, why};

/// What each role of the provider reads: admins all posts, editors those of the users in the claim `teamIds`, services titles.
fn document() -> Value {
    let all = json!(["id", "title", "authorId"]);
    json!({
        "entities": {"post": {"fields": all, "columns": {"authorId": "author_id"}, "writable": ["title"]}},
        "policies": {
            "admin": true,
            "editor": {"post": {"$where": {"field": "authorId", "op": "in", "value": {"session": "claim.teamIds"}}}},
            "reader": {"post": {"fields": ["title"]}},
        },
    })
}

/// Starts a server whose callers log in at the provider.
fn start(provider: &Provider, more: &str) -> Server {
    let database = Database::blog();
    let schema = database.dir.write("schema.json", &document().to_string());
    let config = format!(
        "[mutations]\nenabled = true\n{more}\n[bearer]\njwks = \"{}\"\nissuer = \"{}\"\naudience = [\"https://api.example\"]\n\
         tenant = \"tenant\"\nclaims = [\"teamIds\"]\nrefresh = \"1s\"\n",
        provider.keys(),
        provider.issuer
    );
    let config = database.dir.write("mesh.toml", &config);
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--log", "off", "--database", &database.url()];
    let mut command = mesh_tests::command(&arguments);
    command.args(["--schema", &schema, "--config", &config]);
    let server = Server::try_spawn(&mut command, Some(Arc::clone(&database.dir))).unwrap();
    let token = provider.service_token("ES256");
    wait_until("the keys are read", || read(&server, TITLES, &token).0 != 503);
    server
}

const TITLES: &str = r#"{"post":{"$select":{"title":true}}}"#;
const IDS: &str = r#"{"post":{"$select":{"id":true}}}"#;

fn read(server: &Server, query: &str, token: &str) -> (u16, Value) {
    let reply = server.send(&bearer(Request::get("/mesh/post", query), token));
    let body = reply.json();
    let known = if reply.status == 200 { body["items"].clone() } else { body["code"].clone() };
    (reply.status, known)
}

fn access_token(tokens: &Value) -> &str {
    tokens["access_token"].as_str().unwrap()
}

#[test]
fn services_read_by_client_credentials_of_every_algorithm() {
    let Some(provider) = Provider::start() else { return };
    let server = start(&provider, "");
    for algorithm in ["RS256", "ES256", "EdDSA"] {
        let token = provider.service_token(algorithm);
        let (status, items) = read(&server, TITLES, &token);
        assert_eq!((status, items.as_array().map(Vec::len)), (200, Some(4)), "{algorithm}");
        let (status, _) = read(&server, IDS, &token);
        assert_eq!(status, 400, "{algorithm}: the role has titles only");
        let mut altered = token.clone();
        altered.replace_range(altered.len() - 8..altered.len() - 4, "AAAA");
        assert_eq!(read(&server, TITLES, &altered), (401, json!("TOKEN_INVALID")), "{algorithm}");
    }
}

#[test]
fn accounts_log_in_by_a_code_and_policies_use_their_role_and_claims() {
    let Some(provider) = Provider::start() else { return };
    let server = start(&provider, "");
    let (ada, bo) = (provider.log_in("ada"), provider.log_in("bo"));
    let ids = |ids: &[u32]| (200, ids.iter().map(|id| json!({"id": id})).collect::<Value>());
    assert_eq!(read(&server, IDS, access_token(&ada)), ids(&[1, 2, 3, 4]));
    assert_eq!(read(&server, IDS, access_token(&bo)), ids(&[2, 3]));
    let update = |token: &str| {
        let request = Request::new("PUT", "/mesh/post/1").header("Content-Type", "application/json");
        server.send(&bearer(request.body(r#"{"title":"Rust at noon"}"#), token))
    };
    assert_eq!(update(access_token(&ada)).status, 200);
    assert_eq!(update(access_token(&bo)).status, 400, "editors do not write");
    // The token that says who logged in is for the page, not for this server.
    let identity = ada["id_token"].as_str().unwrap();
    assert_eq!(read(&server, IDS, identity), (401, json!("TOKEN_INVALID")));
}

#[test]
fn rotated_keys_end_the_tokens_of_the_old_ones() {
    let Some(provider) = Provider::start() else { return };
    let server = start(&provider, "");
    let old = provider.service_token("ES256");
    assert_eq!(read(&server, TITLES, &old).0, 200);
    provider.rotate_keys();
    let new = provider.service_token("ES256");
    wait_until("the new keys are read", || read(&server, TITLES, &new).0 == 200);
    assert_eq!(read(&server, TITLES, &old), (401, json!("TOKEN_INVALID")));
    // Without the provider, its last keys are used.
    let (rsa, issuer) = (provider.service_token("RS256"), provider.issuer.clone());
    drop(provider);
    assert_eq!(read(&server, TITLES, &new).0, 200, "a token that is known");
    assert_eq!(read(&server, TITLES, &rsa).0, 200, "a token of {issuer} that is not");
}

#[test]
fn logins_are_exchanged_for_sessions() {
    let Some(provider) = Provider::start() else { return };
    let server = start(
        &provider,
        "[integrity]\nenabled = true\nsecret = \"0123456789abcdef0123456789abcdef\"\n[integrity.users]\ntable = \"\"\n",
    );
    let tokens = provider.log_in("bo");
    let exchange = bearer(Request::post("/mesh/auth", "{}"), access_token(&tokens));
    let session = server.send(&exchange).json();
    let (token, key) = (session["token"].as_str().unwrap(), session["signingToken"].as_str().unwrap());
    let signature = mesh_tests::kit::encoding::signature(key, &mesh_tests::encode(IDS));
    let signed =
        Request::get("/mesh/post", IDS).header("X-Mesh-Token", token).header("X-Mesh-Signature", signature);
    assert_eq!(server.send(&signed).json()["items"], json!([{"id": 2}, {"id": 3}]));
    let write = Request::new("DELETE", "/mesh/post/1");
    assert_eq!(
        why(&server.send(&bearer(write, access_token(&tokens)))),
        (401, "SIGNATURE_MISSING".to_owned())
    );
}
