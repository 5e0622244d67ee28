//! View as: an administrator reads in the playground what another role can read, and nothing more. `SPEC §13.3`

use std::path::PathBuf;
use std::{fs, iter};

use mesh_tests::{Cluster, Database, Request, Response};
use serde_json::{Value, json};

use super::{Session, Site, TABLES, schema};

const ROLES: &str =
    "[docs]\nenabled = true\nview_as = [\"editor\", \"*\"]\n[audit]\nstore = \"file:audit.log\"\n";
const VIEW: &str = "X-Mesh-View-As";
const TITLES: &str = r#"{"post":{"$select":{"id":true}}}"#;

fn sqlite(settings: &str) -> (Site, PathBuf) {
    let database = Database::new(TABLES);
    let (url, audit) = (database.url(), database.dir.path().join("audit.log"));
    (Site::open_with(&url, &schema(), (database, None), settings), audit)
}

/// Returns sites over each kind of database.
fn both() -> impl Iterator<Item = Site> {
    let postgres = Cluster::start().map(|cluster| {
        let url = cluster.database("site", TABLES);
        Site::open_with(&url, &schema(), (Database::new(""), Some(cluster)), ROLES)
    });
    iter::once(sqlite(ROLES).0).chain(postgres)
}

fn execute(site: &Site, session: Option<&Session>, query: &str, view: Option<&Value>) -> Response {
    let body = json!({"query": query}).to_string();
    let request = Request::post("/docs/execute", &body);
    send(site, session, request, view)
}

fn introspect(site: &Site, session: &Session, view: Option<&Value>) -> Response {
    send(site, Some(session), Request::new("GET", "/docs/schema"), view)
}

fn send(site: &Site, session: Option<&Session>, mut request: Request, view: Option<&Value>) -> Response {
    if let Some((token, _)) = session {
        request = request.header("X-Mesh-Token", token);
    }
    if let Some(view) = view {
        request = request.header(VIEW, view.to_string());
    }
    site.server.send(&request)
}

/// Returns the entities, fields and relations of an introspection.
fn names(reply: &Response) -> Vec<String> {
    let document = reply.json();
    let names = |entity: &Value, list: &str| {
        let all = entity[list].as_array().unwrap().iter();
        all.map(|one| one["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
    };
    let entities = document["entities"].as_array().unwrap().iter();
    entities
        .map(|entity| format!("{}: {}, {}", entity["name"], names(entity, "fields"), names(entity, "joins")))
        .collect()
}

#[test]
fn a_view_reads_what_the_role_reads_and_no_more() {
    let queries = [
        TITLES,
        r#"{"post":{"$select":{"id":true,"owner":{"$select":{"name":true}}}}}"#,
        r#"{"user":{"$select":{"id":true,"name":true,"posts":{"$select":{"id":true}}}}}"#,
        r#"{"post":{"$select":{},"$aggregate":{"n":{"fn":"count"}}}}"#,
        // Hidden from editors: a field, an entity, a relation, and a filter by a hidden field.
        r#"{"user":{"$select":{"age":true}}}"#,
        r#"{"comment":{"$select":{"id":true}}}"#,
        r#"{"post":{"$select":{"comments":{"$select":{"id":true}}}}}"#,
        r#"{"user":{"$select":{"id":true},"$where":{"field":"age","op":"gt","value":30}}}"#,
    ];
    for site in both() {
        let (ada, bo, di) = (site.login("Ada"), site.login("Bo"), site.login("Di"));
        let (editor, other) = (json!({"role": "editor", "user": "2"}), json!({"role": "*", "user": "4"}));
        for (own, view) in [(&bo, &editor), (&di, &other)] {
            for query in queries {
                let (viewed, own) =
                    (execute(&site, Some(&ada), query, Some(view)), execute(&site, Some(own), query, None));
                let part = |reply: &Response| {
                    ["data", "error", "message", "path"].map(|name| reply.json()[name].clone())
                };
                assert_eq!((viewed.status, part(&viewed)), (own.status, part(&own)), "{view} {query}");
            }
            assert_eq!(names(&introspect(&site, &ada, Some(view))), names(&introspect(&site, own, None)));
        }
        // Nothing of the administrator remains: a view without a user owns nothing.
        let without_user = execute(&site, Some(&ada), TITLES, Some(&json!({"role": "editor"})));
        assert_eq!(without_user.json()["data"]["items"], json!([]));
        assert_eq!(
            execute(&site, Some(&ada), TITLES, None).json()["data"]["items"].as_array().unwrap().len(),
            4
        );
    }
}

#[test]
fn only_administrators_view_the_data_as_a_listed_role() {
    let (site, _) = sqlite(ROLES);
    let (ada, bo, di) = (site.login("Ada"), site.login("Bo"), site.login("Di"));
    let status = |session: Option<&Session>, view: Value| {
        let reply = execute(&site, session, TITLES, Some(&view));
        assert!(!reply.text().contains("items") || reply.status == 200, "{}", reply.text());
        reply.status
    };
    assert_eq!(status(Some(&ada), json!({"role": "editor"})), 200);
    for role in ["admin", "Editor", "owner", ""] {
        assert_eq!(status(Some(&ada), json!({"role": role})), 403, "{role:?} is not listed");
    }
    for session in [&bo, &di] {
        assert_eq!(status(Some(session), json!({"role": "editor", "user": "1"})), 403);
        assert_eq!(introspect(&site, session, Some(&json!({"role": "editor"}))).status, 403);
        assert_eq!(introspect(&site, session, None).json().get("viewAs"), None);
    }
    assert_eq!(status(None, json!({"role": "editor"})), 401);
    assert_eq!(introspect(&site, &ada, None).json()["viewAs"], json!(["editor", "*"]));
    // Members and headers that claim a role have no effect, and the header of the view has exactly one form.
    let forged = Request::post("/docs/execute", &json!({"query": TITLES, "role": "admin"}).to_string())
        .header("X-Mesh-Role", "admin");
    assert_eq!(send(&site, None, forged, Some(&json!({"role": "editor"}))).status, 401);
    for view in [
        json!("editor"),
        json!({"role": "editor", "session": "x"}),
        json!({"role": "editor", "claims": {"a": {}}}),
    ] {
        assert_eq!(status(Some(&ada), view), 400);
    }
}

#[test]
fn views_are_off_by_default() {
    let (site, _) = sqlite("[docs]\nenabled = true\n");
    let ada = site.login("Ada");
    for role in ["editor", "admin", "*"] {
        assert_eq!(execute(&site, Some(&ada), TITLES, Some(&json!({"role": role}))).status, 403);
        assert_eq!(introspect(&site, &ada, Some(&json!({"role": role}))).status, 403);
    }
    assert_eq!(introspect(&site, &ada, None).json().get("viewAs"), None);
}

#[test]
fn a_view_only_reads() {
    let (site, _) = sqlite(ROLES);
    let ada = site.login("Ada");
    let view = json!({"role": "editor", "user": "2"});
    let schema = introspect(&site, &ada, Some(&view));
    assert_eq!(schema.header("cache-control"), Some("no-store"));
    let text = schema.text();
    assert!(!text.contains("writes") && !text.contains("mutations") && !text.contains("events"), "{text}");
    // The routes that write, and those that read as the caller itself, refuse the header instead of ignoring it.
    let requests = [
        Request::get("/mesh/post", TITLES),
        Request::get("/mesh/post/2/events", TITLES),
        Request::post("/mesh", &json!({"query": TITLES}).to_string()),
        Request::post("/mesh/queries", &json!({"query": TITLES}).to_string()),
        Request::post("/mesh/post", &json!({"title": "x"}).to_string()),
        Request::new("DELETE", "/mesh/post/2"),
        Request::post("/mesh/batch", &json!({"steps": []}).to_string()),
        Request::post("/mesh/auth", &json!({"login": "Ada", "password": super::PASSWORD}).to_string()),
    ];
    for request in requests {
        let what = format!("{} {}", request.method, request.target);
        let reply = send(&site, Some(&ada), request, Some(&view));
        assert_eq!((reply.status, reply.json()["error"].as_str()), (400, Some("TransportError")), "{what}");
    }
    assert_eq!(site.list(&ada, TITLES), r#"[{"id":1},{"id":2},{"id":3},{"id":4}]"#);
}

#[test]
fn each_view_is_recorded() {
    let (mut site, audit) = sqlite(&format!("{ROLES}values = true\n"));
    let (ada, bo) = (site.login("Ada"), site.login("Bo"));
    let view = json!({"role": "editor", "user": "2", "claims": {"teamIds": [4711]}});
    assert_eq!(introspect(&site, &ada, Some(&view)).status, 200);
    assert_eq!(execute(&site, Some(&ada), TITLES, Some(&view)).status, 200);
    assert_eq!(execute(&site, Some(&ada), TITLES, Some(&json!({"role": "owner"}))).status, 403);
    assert_eq!(execute(&site, Some(&bo), TITLES, Some(&view)).status, 403);
    assert_eq!(execute(&site, Some(&ada), TITLES, None).status, 200, "the administrator as itself");
    site.server.signal("TERM");
    assert_eq!(site.server.wait().code(), Some(0));
    let text = fs::read_to_string(audit).unwrap();
    assert!(!text.contains("4711"), "claims have no values there");
    let entries = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let views: Vec<_> = entries.filter(|entry| entry["event"] == "viewAs").collect();
    let shown = |entry: &Value| {
        format!("{} {} {} {}", entry["outcome"], entry["path"], entry["user"], entry["as"]["role"])
    };
    assert_eq!(
        views.iter().map(shown).collect::<Vec<_>>(),
        [
            r#""ok" "/docs/schema" "1" "editor""#,
            r#""ok" "/docs/execute" "1" "editor""#,
            r#""refused" "/docs/execute" "1" "owner""#,
            r#""refused" "/docs/execute" "2" "editor""#,
        ]
    );
    assert_eq!(views[1]["as"], json!({"role": "editor", "user": "2", "claims": ["teamIds"]}));
    assert_eq!(views[1]["values"], json!({"query": TITLES}));
}
