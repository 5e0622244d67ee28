//! Tests of the examples, which are started and used over sockets.

mod blog;

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStderr, Command, Stdio};

use bytes::Bytes;
use mesh_server::mesh_wire::QuerySource;
use mesh_server::mesh_wire::client::{self, Endpoint, Session};
use mesh_tests::{Connection, Request, Response};
use serde_json::{Value, json};

/// A running example, stopped on drop.
struct Example {
    child: Child,
    address: SocketAddr,
    /// Kept open, since an example that cannot write to it would panic.
    _stderr: BufReader<ChildStderr>,
}

impl Example {
    /// Starts an example. Cargo builds examples before the tests run, in a folder next to the one of the test executables.
    fn start(name: &str) -> Self {
        let test = std::env::current_exe().unwrap();
        let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        let program = test.parent().unwrap().parent().unwrap().join("examples").join(file);
        let mut child = Command::new(&program)
            .arg("127.0.0.1:0")
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{name}: {error}; build it with `cargo build --examples`"));
        let mut line = String::new();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        stderr.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").unwrap_or_else(|| panic!("{line}"));
        Self { child, address: address.parse().unwrap(), _stderr: stderr }
    }

    /// Sends a request over a new connection.
    fn send(&self, request: &Request) -> Response {
        Connection::connect(self.address).send(request)
    }

    /// Sends a GET, with a query in the QL format unless it is empty.
    fn ask(&self, path: &str, query: &str) -> Response {
        let request = Request::new("GET", path);
        self.send(&match query {
            "" => request,
            query => request.query(query).header("X-Mesh-Format", "ql"),
        })
    }

    /// Returns status and body of a GET.
    fn get(&self, path: &str, query: &str) -> (u16, String) {
        let reply = self.ask(path, query);
        (reply.status, reply.text())
    }

    fn json(&self, path: &str, query: &str) -> (u16, Value) {
        let reply = self.ask(path, query);
        (reply.status, reply.json())
    }

    /// Sends a request of the client library and returns status and body.
    fn call(&self, request: &http::Request<Bytes>) -> (u16, Value) {
        let mut sent = Request::new(request.method().as_str(), request.uri().path()).body(request.body());
        for (name, value) in request.headers() {
            sent.add_header(name.as_str(), value);
        }
        let reply = self.send(&sent);
        (reply.status, reply.json())
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_custom_resolver_answers_exactly_the_query() {
    let example = Example::start("own_resolver");
    let (status, body) = example.get("/mesh/post/1", "{ post title }");
    assert_eq!((status, body.as_str()), (200, r#"{"title":"Hello"}"#));
    let (status, body) = example.get("/mesh/post/1", "{ post comments { text } id }");
    assert_eq!(
        (status, body.as_str()),
        (200, r#"{"comments":[{"text":"Welcome"},{"text":"Hi there"}],"id":1}"#)
    );
    let (status, body) = example.json("/mesh/post", "{ post title comments { id } }");
    assert_eq!(status, 200);
    assert_eq!(
        body["items"],
        json!([
            { "title": "Hello", "comments": [{ "id": 1 }, { "id": 2 }] },
            { "title": "Goodbye", "comments": [{ "id": 3 }] },
        ])
    );
    assert_eq!(example.get("/mesh/post/9", "{ post title }"), (200, "null".to_owned()));
}

#[test]
fn a_custom_resolver_is_not_called_for_unknown_names() {
    let example = Example::start("own_resolver");
    let (status, body) = example.json("/mesh/post/1", "{ post title post_id }");
    assert_eq!((status, &body["error"]), (400, &json!("ValidationError")));
    assert_eq!(body["message"], "Field 'post_id' not found on entity 'post'");
    let (status, body) = example.json("/mesh/comment", "{ comment text }");
    assert_eq!((status, &body["error"]), (500, &json!("ResolverError")), "it has no resolver");
    assert_eq!(example.get("/mesh/post/2", "{ post title }").0, 200);
}

#[test]
fn a_plain_hyper_server_keeps_its_own_routes() {
    let example = Example::start("in_hyper");
    assert_eq!(example.get("/health", ""), (200, "ok\n".to_owned()));
    assert_eq!(example.get("/mesh/planet/3", "{ planet name }"), (200, r#"{"name":"Earth"}"#.to_owned()));
    let (status, body) = example.json("/nowhere", "{ planet id }");
    assert_eq!((status, &body["error"]), (404, &json!("NotFound")));
}

#[test]
fn an_axum_application_keeps_its_routes_and_its_middleware() {
    let example = Example::start("in_axum");
    assert_eq!(example.get("/health", ""), (200, "ok\n".to_owned()));
    assert_eq!(example.get("/api/mesh/planet/3", "{ planet name }"), (200, r#"{"name":"Earth"}"#.to_owned()));
    let (status, body) = example.json("/api/mesh/planet", "{ planet id name }");
    let planets = json!([{ "id": 3, "name": "Earth" }, { "id": 4, "name": "Mars" }]);
    assert_eq!((status, &body["items"]), (200, &planets));
    let (status, body) = example.json("/api/mesh/planet/3/moons/1/more", "{ planet id }");
    assert_eq!((status, &body["error"]), (404, &json!("NotFound")), "Mesh answers under its base");
    for path in ["/mesh/planet/3", "/api/meshes", "/nowhere"] {
        assert_eq!(example.get(path, "{ planet id }"), (404, String::new()), "{path}");
    }
    let reply = example.ask("/api/mesh/planet/3", "{ planet name }");
    assert_eq!(reply.header("x-served-by"), Some("observatory"));
}

#[test]
fn a_server_made_of_parts_verifies_signatures() {
    let example = Example::start("own_server");
    let at = Endpoint::parse(&format!("http://{}/mesh", example.address)).unwrap();
    let text = "{ planet name }".to_owned();
    let query = QuerySource::Text { format: mesh_ql::Format::Ql, text };
    let read = || client::point(&at, "planet", "3", &query).unwrap();
    let credentials = |password: &str| {
        let credentials = json!({"login": "ada", "password": password});
        client::login(&at, credentials.as_object().unwrap()).unwrap()
    };
    let (status, refused) = example.call(&credentials("guess"));
    assert_eq!((status, &refused["code"]), (401, &json!("BAD_CREDENTIALS")));
    let (status, issued) = example.call(&credentials("pw"));
    assert_eq!(status, 200, "{issued}");
    let session = Session::from_login_reply(issued.to_string().as_bytes()).unwrap();
    let signed = session.sign(read(), None).unwrap();
    assert_eq!(example.call(&signed), (200, json!({"name": "Earth"})));
    let list = client::collection(&at, "planet", &query).unwrap();
    let (status, list) = example.call(&session.sign(list, None).unwrap());
    assert_eq!((status, &list["items"]), (200, &json!([{"name": "Earth"}, {"name": "Mars"}])));
    let (status, refused) = example.call(&read());
    assert_eq!((status, &refused["code"]), (401, &json!("TOKEN_MISSING")));
    let mut forged = signed;
    forged.headers_mut().insert("x-mesh-signature", format!("sha256={:064}", 0).parse().unwrap());
    let (status, refused) = example.call(&forged);
    assert_eq!((status, &refused["error"]), (403, &json!("IntegrityError")));
    assert_eq!(refused["code"], "SIGNATURE_INVALID");
    assert!(refused["requestId"].is_string());
}

#[test]
fn one_read_joins_a_table_and_a_service() {
    let example = Example::start("two_sources");
    let (status, body) = example.get("/mesh/customer/1", "{ customer name invoices { number total } }");
    let ines = r#"{"name":"Ines","invoices":[{"number":71,"total":20.5},{"number":73,"total":4.25}]}"#;
    assert_eq!((status, body.as_str()), (200, ines));
    let largest = r#"{"customer": {"$where": {"field": "name", "op": "ne", "value": "Tom"},
        "$orderBy": [{"field": "name", "direction": "desc"}],
        "$select": {"name": true, "invoices": {"$select": {"number": true},
            "$orderBy": [{"field": "total", "direction": "desc"}], "$page": {"first": 1}}}}}"#;
    let at = Endpoint::parse(&format!("http://{}/mesh", example.address)).unwrap();
    let (status, body) = example.call(&client::post(&at, mesh_ql::Format::Json, largest, None).unwrap());
    let items = json!([
        { "name": "Yuki", "invoices": [{ "number": 72 }] },
        { "name": "Ines", "invoices": [{ "number": 71 }] },
    ]);
    assert_eq!((status, &body["items"]), (200, &items));
}

#[test]
fn a_custom_policy_hides_names() {
    let example = Example::start("own_policy");
    let at = Endpoint::parse(&format!("http://{}/mesh", example.address)).unwrap();
    let session = |login: &str| {
        let credentials = json!({"login": login, "password": "ward"});
        let (status, body) = example.call(&client::login(&at, credentials.as_object().unwrap()).unwrap());
        assert_eq!(status, 200, "{body}");
        Session::from_login_reply(body.to_string().as_bytes()).unwrap()
    };
    let read = |session: &Session, text: &str| {
        let query = QuerySource::Text { format: mesh_ql::Format::Ql, text: text.to_owned() };
        example.call(&session.sign(client::collection(&at, "patient", &query).unwrap(), None).unwrap())
    };
    let (doctor, desk) = (session("doc"), session("desk"));
    let (_, body) = read(&doctor, "{ patient name diagnosis }");
    assert_eq!(body["items"], json!([{ "name": "Ines", "diagnosis": "Measles" }]), "of the user's ward only");
    let (_, body) = read(&desk, "{ patient name ward }");
    assert_eq!(body["items"], json!([{ "name": "Ines", "ward": "A" }, { "name": "Tom", "ward": "B" }]));
    let (status, body) = read(&desk, "{ patient name diagnosis }");
    assert_eq!((status, &body["message"]), (400, &json!("Field 'diagnosis' not found on entity 'patient'")));
}

#[test]
fn files_are_kept_in_the_custom_store() {
    let example = Example::start("own_storage");
    let at = Endpoint::parse(&format!("http://{}/mesh", example.address)).unwrap();
    let send = |content_type: &str| {
        let form = client::UploadForm::new([7; 16]);
        let place = client::UploadTarget::Attach { entity: "member", id: &"1".into(), field: "portrait" };
        let statement = r#"{"member":{"portrait":{"upload":true}}}"#;
        let mut request = client::upload(&at, place, statement, &form).unwrap();
        let file = Bytes::from_static(b"all but an image");
        *request.body_mut() =
            [form.before(None, "ines.png", content_type), file, form.after()].concat().into();
        example.call(&request)
    };
    assert_eq!(send("text/html").0, 415);
    let (status, body) = send("image/png");
    assert_eq!((status, &body["size"], &body["contentType"]), (200, &json!(16), &json!("image/png")));
    let url = body["url"].as_str().unwrap();
    assert_eq!(example.get(url, ""), (200, "all but an image".to_owned()));
    let (_, member) = example.json("/mesh/member/1", "{ member name portrait }");
    assert_eq!(member, json!({ "name": "Ines", "portrait": body["portrait"] }));
}

#[test]
fn a_custom_login_selects_the_data() {
    let example = Example::start("own_login");
    let at = Endpoint::parse(&format!("http://{}/mesh", example.address)).unwrap();
    let login = |room: &str, code: &str| {
        let credentials = json!({"room": room, "code": code});
        example.call(&client::login(&at, credentials.as_object().unwrap()).unwrap())
    };
    let (status, body) = login("101", "1234");
    assert_eq!((status, &body["code"]), (401, &json!("BAD_CREDENTIALS")));
    let (status, body) = example.call(&client::login(&at, &serde_json::Map::new()).unwrap());
    assert_eq!((status, &body["error"]), (400, &json!("TransportError")));
    let (status, body) = login("101", "4711");
    assert_eq!((status, &body["checkout"]), (200, &json!("11:00")), "added by the application");

    let session = Session::from_login_reply(body.to_string().as_bytes()).unwrap();
    let query = QuerySource::Text { format: mesh_ql::Format::Ql, text: "{ booking id room }".to_owned() };
    let read = || client::collection(&at, "booking", &query).unwrap();
    assert_eq!(example.call(&read()).1["code"], "TOKEN_MISSING");
    let (status, body) = example.call(&session.sign(read(), None).unwrap());
    assert_eq!((status, &body["items"]), (200, &json!([{ "id": 1, "room": "101" }])));
    let (status, _) = example.call(&session.sign(client::logout(&at).unwrap(), None).unwrap());
    assert_eq!(status, 200);
    let (_, body) = example.call(&session.sign(read(), None).unwrap());
    assert_eq!(body["code"], "TOKEN_REVOKED");
}
