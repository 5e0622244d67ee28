//! What callers with bearers may do, on every route.

use std::fs;

use mesh_tests::kit::encoding;
use mesh_tests::{Database, Issuer, Request, Response, encode, wait_for};
use serde_json::{Value, json};

use super::{Site, TITLE, bearer, why};
use crate::events::stream::Stream;

/// Editors read and write posts of their teams' authors; guests read titles of published posts.
fn schema() -> String {
    json!({
        "entities": {
            "post": {
                "fields": ["id", "title", "likes", "authorId", "published"],
                "columns": {"authorId": "author_id"},
                "types": {"published": "boolean"},
                "writable": true
            },
            "user": {"fields": ["id", "name"]}
        },
        "joins": {"post.author": {"entity": "user", "type": "one", "on": "users.id = posts.author_id"}},
        "policies": {
            "editor": {"post": {
                "$where": {"field": "authorId", "op": "in", "value": {"session": "claim.authors"}},
                "writable": {"create": true, "update": ["title"], "delete": true}
            }},
            "guest": {"post": {
                "fields": ["id", "title"], "$where": {"field": "published", "op": "eq", "value": true}
            }}
        }
    })
    .to_string()
}

struct Policed {
    site: Site,
    issuer: Issuer,
    /// Contains the schema document.
    _folder: Database,
}

impl Policed {
    fn start(bearer: &str, more: &str) -> Self {
        let issuer = Issuer::start();
        let bearer = format!("jwks = '{}'\nclaims = ['authors']\n{bearer}", issuer.url());
        let folder = Database::new("");
        let schema = folder.dir.write("schema.json", &schema());
        let arguments = ["--schema", &schema, "--mutations", "--docs"];
        let site = Site::with(&bearer, more, &arguments);
        Self { site, issuer, _folder: folder }
    }

    /// Returns a token of an editor of posts of these authors.
    fn editor(&self, authors: &Value) -> String {
        self.issuer.token(&json!({"sub": "7", "role": "editor", "authors": authors}))
    }

    fn send(&self, request: Request, token: &str) -> Response {
        self.site.server.send(&bearer(request, token))
    }
}

fn ids(reply: &Response) -> Vec<i64> {
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()["items"].as_array().unwrap().iter().map(|item| item["id"].as_i64().unwrap()).collect()
}

const IDS: &str = r#"{"post":{"$select":{"id":true}}}"#;
const NAMES: &str = r#"{"post":{"$select":{"author":{"$select":{"name":true}}}}}"#;

#[test]
fn policies_by_role_and_claim_hold_on_every_route() {
    let policed = Policed::start("", "");
    let (ada, stranger) = (policed.editor(&json!([1])), policed.editor(&json!([])));
    let unclaimed = policed.issuer.token(&json!({"sub": "7", "role": "editor"}));
    let other = policed.issuer.token(&json!({"sub": "7", "role": "stranger"}));
    let get = || Request::get("/mesh/post", IDS);
    let (own, foreign) = (ids(&policed.send(get(), &ada)), "/mesh/post/2");
    assert!(own.contains(&1) && !own.contains(&2), "{own:?}");
    assert_eq!(ids(&policed.send(get(), &stranger)), [0; 0]);
    assert_eq!(ids(&policed.send(get(), &unclaimed)), [0; 0]);
    assert_eq!(policed.send(get(), &other).status, 400, "another role sees no entity");
    assert_eq!(policed.send(get(), &policed.issuer.token(&json!({"sub": "7"}))).status, 400);

    let body = |query: &str| json!({"query": query}).to_string();
    assert_eq!(ids(&policed.send(Request::post("/mesh", &body(IDS)), &ada)), own);
    assert_eq!(policed.send(Request::get(foreign, TITLE), &ada).text(), "null");
    assert_eq!(policed.send(Request::new("PUT", foreign).query(TITLE), &ada).text(), "null");
    assert_eq!(policed.send(Request::get("/mesh/post", NAMES), &ada).status, 400, "users are hidden");
    let execute = policed.send(Request::post("/docs/execute", &body(IDS)), &ada);
    assert_eq!(
        execute.json()["data"]["items"].as_array().map(Vec::len),
        Some(own.len()),
        "{}",
        execute.text()
    );
    let hidden = policed.send(Request::post("/mesh/queries", &body(NAMES)), &ada);
    assert_eq!(hidden.status, 400, "{}", hidden.text());
    let id = policed.send(Request::post("/mesh/queries", &body(IDS)), &ada).json()["id"].clone();
    let by_id = Request::new("GET", "/mesh/post").header("X-Mesh-Query-Id", id.as_str().unwrap());
    assert_eq!(ids(&policed.send(by_id, &ada)), own);

    let write = |method: &str, path: &str, body: Value| {
        let request = Request::new(method, path).header("Content-Type", "application/json");
        policed.send(request.body(body.to_string()), &ada)
    };
    assert_eq!(write("PUT", "/mesh/post/1", json!({"title": "Dusk"})).status, 200);
    assert_eq!(why(&write("PUT", foreign, json!({"title": "Dusk"}))), (404, "NotFound".to_owned()));
    assert_eq!(why(&write("PUT", "/mesh/post/1", json!({"likes": 9}))), (400, "ValidationError".to_owned()));
    assert_eq!(why(&write("DELETE", foreign, json!({}))).0, 404);
    let stream = |path: &str| {
        let request = bearer(Request::get(path, TITLE), &ada);
        Stream::try_open(policed.site.server.address, &request).unwrap().data()
    };
    assert_eq!(stream("/mesh/post/1/events"), r#"{"title":"Dusk"}"#);
    assert_eq!(stream("/mesh/post/2/events"), "null");
}

#[test]
fn policies_hold_for_writes_that_create_or_update() {
    let policed = Policed::start("", "");
    let (ada, stranger) =
        (policed.editor(&json!([1])), policed.issuer.token(&json!({"sub": "7", "role": "guest"})));
    let merge = |token: &str, id: u32, body: Value| {
        let request =
            Request::new("PUT", &format!("/mesh/post/{id}")).header("Content-Type", "application/json");
        let request = request.header("Prefer", "resolution=merge-duplicates").body(body.to_string());
        policed.send(request, token)
    };
    let title = || json!({"title": "Dusk"});
    assert_eq!(merge(&ada, 1, title()).status, 200);
    assert_eq!(why(&merge(&ada, 2, title())), (409, "ConflictError".to_owned()), "of another author");
    assert_eq!(
        why(&merge(&ada, 1, json!({"authorId": 1}))),
        (400, "ValidationError".to_owned()),
        "no right to update it"
    );
    assert_eq!(why(&merge(&ada, 99, title())), (409, "ConflictError".to_owned()), "without an author");
    assert_eq!(why(&merge(&stranger, 1, title())), (400, "ValidationError".to_owned()));
    let titles = |id: u32| {
        policed.site.server.send(&bearer(Request::get(&format!("/mesh/post/{id}"), TITLE), &ada)).text()
    };
    assert_eq!([titles(1), titles(2), titles(99)], [r#"{"title":"Dusk"}"#, "null", "null"]);
}

#[test]
fn every_route_requires_a_bearer() {
    let policed = Policed::start("", "docs.auth = 'admin'");
    let body = json!({"query": IDS}).to_string();
    for request in [
        Request::get("/mesh/post", IDS),
        Request::get("/mesh/post/1", TITLE),
        Request::new("HEAD", "/mesh/post/1").query(TITLE),
        Request::new("PUT", "/mesh/post/1").query(TITLE),
        Request::get("/mesh/post/1/events", TITLE),
        Request::post("/mesh", &body),
        Request::post("/mesh/queries", &body),
        Request::post("/mesh/post", r#"{"title":"x"}"#),
        Request::new("DELETE", "/mesh/post/1"),
        Request::get("/docs/schema", IDS),
        Request::post("/docs/execute", &body),
    ] {
        let reply = policed.site.server.send(&request);
        assert_eq!(reply.status, 401, "{request:?}");
        if request.method != "HEAD" {
            assert_eq!(why(&reply).1, "TOKEN_MISSING", "{request:?}");
        }
        for token in ["", "x", "x.y.z", "tok_x"] {
            let reply = policed.send(request.clone(), token);
            assert_eq!(reply.status, 401, "{request:?}");
            assert_eq!(
                reply.header("www-authenticate"),
                Some("Bearer error=\"invalid_token\""),
                "{request:?}"
            );
        }
    }
    let (admin, editor) =
        (policed.issuer.token(&json!({"sub": "1", "role": "admin"})), policed.editor(&json!([1])));
    let schema = || Request::new("GET", "/docs/schema");
    assert_eq!(policed.send(schema(), &admin).status, 200);
    assert_eq!(why(&policed.send(schema(), &editor)), (403, "FORBIDDEN".to_owned()));
}

#[test]
fn requests_without_credentials_have_the_role_of_anonymous_ones() {
    let policed = Policed::start("anonymous = 'guest'", "");
    let send = |request: &Request| policed.site.server.send(request);
    let listed = ids(&send(&Request::get("/mesh/post", IDS)));
    assert!(!listed.is_empty());
    let likes = r#"{"post":{"$select":{"likes":true}}}"#;
    assert_eq!(send(&Request::get("/mesh/post", likes)).status, 400, "hidden from guests");
    let execute = send(&Request::post("/docs/execute", &json!({"query": likes}).to_string()));
    assert_eq!(execute.status, 400, "in the playground too");
    assert_eq!(send(&Request::post("/mesh/post", r#"{"title":"x"}"#)).status, 400);
    let query = json!({"query": IDS}).to_string();
    assert_eq!(why(&send(&Request::post("/mesh/queries", &query))), (401, "TOKEN_MISSING".to_owned()));
    // A request with an invalid credential is not anonymous.
    for value in ["Basic YTpi", "Bearer", "Bearer x.y.z", "Digest x"] {
        let reply = send(&Request::get("/mesh/post", IDS).header("Authorization", value));
        assert_eq!(reply.status, 401, "{value}");
    }
    let stale = Request::get("/mesh/post", IDS).header("X-Mesh-Token", "tok_x");
    assert_eq!(send(&stale).status, 401);
    let expired = policed.issuer.token(&json!({"sub": "1", "exp": Issuer::now() - 60}));
    policed.site.refuses(&expired, 401, "TOKEN_EXPIRED");
}

#[test]
fn a_stream_ends_when_its_bearer_expires_or_its_key_is_withdrawn() {
    let issuer = Issuer::start();
    let site = Site::start(&format!("jwks = '{}'\nleeway = '0s'\nrefresh = '1s'", issuer.url()));
    let open = |token: &str| {
        let request = bearer(Request::get("/mesh/post/1/events", TITLE), token);
        Stream::try_open(site.server.address, &request).unwrap_or_else(|reply| panic!("{reply:?}"))
    };
    let mut short = open(&issuer.token(&json!({"sub": "1", "exp": Issuer::now() + 3})));
    let mut long = open(&issuer.token(&json!({"sub": "1"})));
    let end = |stream: &mut Stream| {
        let event = stream.event();
        let body: Value = serde_json::from_str(&event.data).unwrap();
        assert_eq!(event.kind, "error");
        stream.assert_ends();
        body["code"].as_str().unwrap().to_owned()
    };
    short.data();
    long.data();
    assert_eq!(end(&mut short), "TOKEN_EXPIRED");
    issuer.rotate("second");
    assert_eq!(end(&mut long), "TOKEN_INVALID");
}

#[test]
fn streams_and_rates_are_limited_for_each_bearer() {
    let issuer = Issuer::start();
    let limits = "[limits]\nstreams_per_session = 2\nper_session = '5/m'\n";
    let site = Site::with(&format!("jwks = '{}'", issuer.url()), limits, &[]);
    let (one, other) = (issuer.token(&json!({"sub": "1"})), issuer.token(&json!({"sub": "1", "n": 2})));
    let open = |token: &str| {
        let request = bearer(Request::get("/mesh/post/1/events", TITLE), token);
        Stream::try_open(site.server.address, &request)
    };
    let _open = [open(&one).unwrap(), open(&one).unwrap()];
    assert_eq!(open(&one).err().map(|(status, _)| status), Some(429));
    for _ in 0..2 {
        site.accepts(&one);
    }
    site.refuses(&one, 429, "RateLimitError");
    site.accepts(&other);
    // A request that is refused after authentication counts as well.
    let third = issuer.token(&json!({"sub": "1", "n": 3}));
    let wrong = bearer(Request::post("/mesh", "{}").header("X-Mesh-Params", "e30="), &third);
    assert_eq!([(); 6].map(|()| site.server.send(&wrong).status), [400, 400, 400, 400, 400, 429]);
}

/// Returns a site that requires signatures and accepts bearers.
fn signed(bearer: &str) -> Policed {
    let integrity = "[integrity]\nenabled = true\nsecret = 'a secret of this test, of 32 bytes or more'\nttl = '10m'\n\
                     [integrity.users]\ntable = 'users'\nlogin = 'name'\npassword = 'name'\n";
    Policed::start(bearer, integrity)
}

fn exchange(policed: &Policed, token: &str) -> Response {
    policed.send(Request::post("/mesh/auth", "{}"), token)
}

#[test]
fn a_bearer_is_exchanged_for_a_session_that_does_not_outlive_it() {
    let policed = signed("");
    let now = Issuer::now();
    let claims = |exp: u64| json!({"sub": "7", "role": "editor", "authors": [1], "exp": exp});
    for (exp, most) in [(now + 60, now + 60), (now + 100_000, now + 600 + 60)] {
        let reply = exchange(&policed, &policed.issuer.token(&claims(exp)));
        assert_eq!(reply.status, 200, "{}", reply.text());
        let body = reply.json();
        assert!(body["expiresAt"].as_u64().unwrap() <= most * 1_000, "{body}");
        let (token, key) = (body["token"].as_str().unwrap(), body["signingToken"].as_str().unwrap());
        let read = |query: &str| {
            let request = Request::get("/mesh/post", query).header("X-Mesh-Token", token);
            let signature = encoding::signature(key, &encode(query));
            policed.site.server.send(&request.header("X-Mesh-Signature", signature))
        };
        let listed = ids(&read(IDS));
        assert!(listed.contains(&1) && !listed.contains(&2), "claims survive: {listed:?}");
        assert_eq!(read(NAMES).status, 400, "so does the role");
        let logout = Request::new("POST", "/mesh/logout").header("X-Mesh-Token", token);
        assert_eq!(policed.site.server.send(&logout).status, 200);
        assert_eq!(why(&read(IDS)), (401, "TOKEN_REVOKED".to_owned()));
    }
    let token = policed.editor(&json!([1]));
    for body in [r#"{"login":"Ada","password":"x"}"#, r#"{"x":1}"#, "[]", "", "null"] {
        let reply = policed.send(Request::post("/mesh/auth", body), &token);
        assert_eq!(why(&reply), (400, "TransportError".to_owned()), "{body}");
    }
    let within_leeway = policed.issuer.token(&claims(now - 5));
    assert_eq!(policed.send(Request::get("/mesh/post", IDS), &within_leeway).status, 200);
    assert_eq!(why(&exchange(&policed, &within_leeway)), (401, "TOKEN_EXPIRED".to_owned()));
    let expired = policed.issuer.token(&claims(now - 60));
    assert_eq!(why(&exchange(&policed, &expired)), (401, "TOKEN_EXPIRED".to_owned()));
    assert_eq!(why(&exchange(&policed, "x.y.z")), (401, "TOKEN_INVALID".to_owned()));
    let plain = policed.site.server.send(&Request::post("/mesh/auth", "{}"));
    assert_eq!(why(&plain), (400, "TransportError".to_owned()), "a login lacks its fields");
    let neither = policed.site.server.send(&Request::get("/mesh/post", IDS));
    assert_eq!(why(&neither), (401, "TOKEN_MISSING".to_owned()));
    assert!(String::from_utf8_lossy(&neither.body).contains("requestId"));
}

#[test]
fn an_exchanged_session_ends_with_its_bearer() {
    let policed = signed("leeway = '0s'");
    let exp = Issuer::now() + 2;
    let reply =
        exchange(&policed, &policed.issuer.token(&json!({"sub": "7", "role": "editor", "exp": exp}))).json();
    let (token, key) = (reply["token"].as_str().unwrap(), reply["signingToken"].as_str().unwrap());
    let request = Request::get("/mesh/post", IDS).header("X-Mesh-Token", token);
    let request = request.header("X-Mesh-Signature", encoding::signature(key, &encode(IDS)));
    let reply = wait_for("the session ends", || {
        Some(policed.site.server.send(&request)).filter(|reply| reply.status != 200).ok_or("still valid")
    });
    assert_eq!(why(&reply), (401, "TOKEN_EXPIRED".to_owned()));
}

#[test]
fn bearers_read_without_a_signature_and_nothing_else() {
    let body = json!({"query": IDS}).to_string();
    let reads = || {
        [
            Request::get("/mesh/post", IDS),
            Request::get("/mesh/post/1", TITLE),
            Request::new("PUT", "/mesh/post/1").query(TITLE),
            Request::post("/mesh", &body),
        ]
    };
    let json = |method: &str, path: &str| {
        Request::new(method, path).header("Content-Type", "application/json").body(r#"{"title":"x"}"#)
    };
    let others = || {
        [
            json("PUT", "/mesh/post/1"),
            json("POST", "/mesh/post"),
            Request::new("DELETE", "/mesh/post/1"),
            Request::post("/mesh/queries", &body),
        ]
    };
    let missing = (401, "SIGNATURE_MISSING".to_owned());
    let policed = signed("anonymous = 'guest'");
    let token = policed.editor(&json!([1]));
    for request in reads() {
        assert_eq!(policed.send(request.clone(), &token).status, 200, "{request:?}");
        assert_eq!(policed.site.server.send(&request).status, 200, "anonymous: {request:?}");
    }
    for request in others() {
        assert_eq!(why(&policed.send(request.clone(), &token)), missing, "{request:?}");
        let reply = policed.site.server.send(&request);
        assert_eq!(why(&reply), (401, "TOKEN_MISSING".to_owned()), "anonymous: {request:?}");
    }
    let stream = bearer(Request::get("/mesh/post/1/events", TITLE), &token);
    assert!(Stream::try_open(policed.site.server.address, &stream).is_ok());

    let strict = signed("unsigned = false");
    let token = strict.editor(&json!([1]));
    for request in reads().into_iter().chain(others()) {
        assert_eq!(why(&strict.send(request.clone(), &token)), missing, "{request:?}");
    }
    assert_eq!(exchange(&strict, &token).status, 200);
}

#[test]
fn a_shared_secret_verifies_tokens_of_hs256() {
    let secret = "a secret of this test, of 32 bytes or more";
    let token = |key: &str| {
        let claims = json!({"sub": "1", "exp": Issuer::now() + 60});
        let part = |value: &Value| encoding::base64url(value.to_string());
        let signed = format!("{}.{}", part(&json!({"alg": "HS256"})), part(&claims));
        let tag = encoding::hmac_sha256(key, &signed);
        let digit = |at: usize| u8::from_str_radix(&tag[at..at + 2], 16).unwrap();
        let tag: Vec<u8> = (0..tag.len()).step_by(2).map(digit).collect();
        format!("{signed}.{}", encoding::base64url(tag))
    };
    let site = Site::start(&format!("secret = '{secret}'"));
    site.accepts(&token(secret));
    site.refuses(&token("another secret of this test, 32 bytes"), 401, "TOKEN_INVALID");
    let file = site.database.dir.write("secret", &format!("{secret}\n"));
    assert!(fs::exists(&file).unwrap());
    Site::start(&format!("secret_file = '{file}'")).accepts(&token(secret));
    let issuer = Issuer::start();
    site.refuses(&issuer.token(&json!({"sub": "1"})), 401, "TOKEN_INVALID");
    let public = Site::of(&issuer);
    public.refuses(&token(secret), 401, "TOKEN_INVALID");
    public.refuses(&token(&issuer.key().jwk().to_string()), 401, "TOKEN_INVALID");
}

#[test]
fn the_rules_of_the_settings_hold() {
    let issuer = Issuer::start();
    let site = Site::start(&format!(
        "jwks = '{}'\nissuer = 'https://login.example/'\naudience = ['api', 'web']\nid = 'user.id'\n\
         role = 'realm_access.roles'\ntenant = 'https://login.example/org'\nleeway = '5s'",
        issuer.url()
    ));
    let with = |changes: Value| {
        let mut claims = json!({"iss": "https://login.example/", "aud": ["web"], "user": {"id": 7}, "exp": Issuer::now() + 60});
        for (name, value) in changes.as_object().unwrap() {
            claims[name] = value.clone();
        }
        issuer.token(&claims)
    };
    site.accepts(&with(json!({})));
    site.accepts(&with(json!({"exp": Issuer::now() - 1})));
    site.accepts(&with(json!({"aud": "api", "realm_access": {"roles": ["x"]}})));
    for changes in [
        json!({"iss": "https://evil.example/"}),
        json!({"aud": "other"}),
        json!({"aud": null}),
        json!({"user": {}}),
        json!({"nbf": Issuer::now() + 60}),
        json!({"exp": "never"}),
        json!({"realm_access": {"roles": {"a": 1}}}),
        json!({"https://login.example/org": ["a"]}),
    ] {
        site.refuses(&with(changes), 401, "TOKEN_INVALID");
    }
    site.refuses(&with(json!({"exp": Issuer::now() - 6})), 401, "TOKEN_EXPIRED");
}

#[test]
fn pages_of_allowed_origins_may_send_bearers() {
    let issuer = Issuer::start();
    let cors = "cors.origins = ['https://app.example']";
    let site = Site::with(&format!("jwks = '{}'", issuer.url()), cors, &[]);
    let preflight = Request::new("OPTIONS", "/mesh/post")
        .header("Origin", "https://app.example")
        .header("Access-Control-Request-Method", "GET")
        .header("Access-Control-Request-Headers", "authorization,x-mesh-query");
    let reply = site.server.send(&preflight);
    let allowed = reply.header("access-control-allow-headers").unwrap_or_default().to_owned();
    assert!(allowed.split(", ").any(|name| name == "Authorization"), "{allowed}");
    // A foreign name is accepted, because a foreign page has no bearer.
    let read = bearer(Request::get("/mesh/post/1", TITLE), &issuer.token(&json!({"sub": "1"})));
    let mut connection = site.server.connect();
    connection.write(&read.bytes_for("mesh.example"));
    assert_eq!(connection.read(false).unwrap().status, 200);
}
