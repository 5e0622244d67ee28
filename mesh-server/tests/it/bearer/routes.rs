//! Every route with and without bearers.

use mesh_server::mesh_wire::{BasePath, Route, WireError};
use mesh_server::{App, AppBuilder, Call, Caller, Reply};
use serde_json::json;

use super::site::*;
use crate::integrity::routes::{paths, profiles, with_everything};
use crate::integrity::site::{self, Ask, Login, Site, gate, signed_app};

fn signed_bearer_app() -> AppBuilder {
    let mut app = signed_app(gate());
    app.options.authenticator.bearer = Some(bearer());
    app
}

/// Attack without a session: two credentials in one request, so that two parts of the system could each trust
/// a different one.
#[tokio::test]
async fn two_credentials_are_refused_on_every_route() {
    let site = Site::from(signed_bearer_app());
    let Login { token: session, .. } = site.login().await;
    for ask in [
        Ask::get("/mesh/post", ALL),
        Ask::post("/mesh", &json!({"query": ALL})),
        Ask::post("/mesh/auth", &json!({})),
        Ask::new("POST", "/mesh/logout"),
    ] {
        let what = format!("{} {}", ask.method, ask.path);
        let both = ask.bearer(&ada()).header("X-Mesh-Token", &session);
        assert_eq!(site.send(both).await.why(), (400, "TransportError".to_owned()), "{what}");
    }
    let repeated = Ask::get("/mesh/post", ALL).bearer(&ada()).bearer(&ada());
    assert_eq!(site.send(repeated).await.why(), (400, "TransportError".to_owned()));
}

/// Returns requests to every path and method, with and without a body.
fn every_route() -> Vec<Ask> {
    let mut all = Vec::new();
    for path in paths() {
        let allow = Route::methods(&BasePath::default(), &profiles(), &path).unwrap();
        for (method, _) in allow.iter_names().filter(|(method, _)| *method != "OPTIONS") {
            for kind in ["application/json", "multipart/form-data; boundary=x", ""] {
                let mut ask = Ask::new(method, &path).header("X-Mesh-Query", "e30=");
                if !matches!(method, "GET" | "HEAD") && !kind.is_empty() {
                    ask = Ask { body: b"{}".to_vec(), ..ask }.header("Content-Type", kind);
                }
                all.push(ask);
            }
        }
    }
    assert!(all.len() > 30, "only {} requests", all.len());
    all
}

#[tokio::test]
async fn every_route_requires_a_bearer_that_is_valid() {
    let (site, _folder) = with_everything(bearer_app());
    for ask in every_route() {
        let case = format!("{} {}", ask.method, ask.path);
        let with_forged =
            Ask { headers: ask.headers.clone(), path: ask.path.clone(), body: ask.body.clone(), ..ask };
        for ask in [ask, with_forged.bearer("x.y.z")] {
            let reply = site.send(ask).await;
            assert_eq!(reply.status, 401, "{case}: {}", reply.text);
            assert!(reply.headers["www-authenticate"].to_str().unwrap().starts_with("Bearer"), "{case}");
        }
    }
}

#[tokio::test]
async fn a_bearer_alone_does_not_pass_where_signatures_are_required() {
    let signed = |unsigned| {
        let mut app = signed_bearer_app();
        app.options.authenticator.allows_unsigned_bearers = unsigned;
        with_everything(app)
    };
    let (strict, _folder) = signed(false);
    for ask in every_route() {
        let (case, is_head) = (format!("{} {}", ask.method, ask.path), ask.method == "HEAD");
        let reply = strict.send(ask.bearer(&ada())).await;
        assert_eq!(reply.status, 401, "{case}: {}", reply.text);
        assert!(is_head || reply.why().1 == "SIGNATURE_MISSING", "{case}: {}", reply.text);
    }
    let (lenient, _folder) = signed(true);
    for ask in every_route() {
        let case = format!("{} {} {}", ask.method, ask.path, ask.body.len());
        let has_body = !ask.body.is_empty();
        let reads = match (ask.method, ask.path.as_str()) {
            ("GET" | "HEAD", _) => true,
            ("PUT", "/mesh/post/1") => !has_body,
            ("POST", "/mesh") => true,
            _ => false,
        };
        let reply = lenient.send(ask.bearer(&ada())).await;
        assert_eq!(reply.status != 401, reads, "{case}: {}", reply.text);
    }
}

#[tokio::test]
async fn routes_of_the_application_are_given_the_caller() {
    async fn who(call: Call) -> Result<Reply, WireError> {
        let principal = call.principal().expect("a caller");
        let (user, role) = (principal.user.clone(), principal.role.clone());
        assert_eq!(call.caller.session().expect("a session").user, user);
        Ok(Reply::json(json!({"user": user, "role": role}).to_string()))
    }
    async fn send(app: &App, ask: Ask) -> site::Reply {
        site::Reply::read(app.answer(ask.into_request(), who).await).await
    }
    let expected = json!({"user": "ada", "role": "editor"});
    let get = || Ask::new("GET", "/mesh/who").bearer(&ada());
    let post = || Ask::post("/mesh/who", &json!({}));
    let app = bearer_app().build().unwrap();
    let reply = send(&app, get()).await;
    assert_eq!((reply.status, reply.json()), (200, expected.clone()));
    assert_eq!(reply.headers["cache-control"], "private, no-cache");
    assert_eq!(send(&app, post().bearer(&ada())).await.json(), expected);
    assert_eq!(send(&app, post()).await.why(), (401, "TOKEN_MISSING".to_owned()));
    let signed = signed_bearer_app().build().unwrap();
    assert_eq!(send(&signed, get()).await.json(), expected);
    assert_eq!(send(&signed, post().bearer(&ada())).await.why(), (401, "SIGNATURE_MISSING".to_owned()));
}

#[tokio::test]
async fn requests_without_a_credential_may_read_beside_sessions() {
    let mut app = signed_app(gate());
    app.options.authenticator.anonymous = Some(Caller::anonymous("guest"));
    let site = Site::from(app);
    assert_eq!(site.send(Ask::get("/mesh/post", ALL)).await.status, 200);
    let ignored = Ask::get("/mesh/post", ALL).header("Authorization", "Bearer x");
    assert_eq!(site.send(ignored).await.status, 200, "without bearers the header is ignored");
    let stale = Ask::get("/mesh/post", ALL).header("X-Mesh-Token", "tok_x");
    assert_eq!(site.send(stale).await.why(), (401, "TOKEN_INVALID".to_owned()));
    let write = site.send(Ask::new("POST", "/mesh/logout")).await;
    assert_eq!(write.why(), (401, "TOKEN_MISSING".to_owned()));
    assert_eq!(write.headers["www-authenticate"], "Mesh");
}
