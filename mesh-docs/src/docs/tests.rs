//! The routes of the protocol, and the allowlist of entities.

use std::future::Future;
use std::task::{Context as TaskContext, Poll, Waker};

use expect_test::{Expect, expect};
use http::header::HeaderMap;
use mesh_plan::memory::Tables;
use mesh_plan::{Context, Value};
use mesh_schema::{Document, Schema};
use mesh_wire::ErrorKind;
use serde_json::Value as Json;

use super::*;
use crate::{Offers, Sql, Theme};

const SCHEMA: &str = r#"{
  "entities": {
    "user": {"fields": ["id", "first", "last"], "types": {"id": "integer", "first": "string", "last": "string"},
             "computed": {"name": {"from": ["first", "last"], "template": "{first} {last}"}}},
    "post": {"fields": ["id", "title", "picture", "authorId"],
             "types": {"id": "integer", "title": "string", "picture": "string", "authorId": "integer"},
             "search": {"fields": ["title"]},
             "uploads": {"picture": {"maxBytes": 100, "contentTypes": ["image/png"]}}},
    "log": {"fields": ["line"], "table": "internal_log", "idField": null}
  },
  "joins": {
    "post.author": {"entity": "user", "type": "one", "on": "users.id = posts.authorId"},
    "user.posts": {"entity": "post", "type": "many", "on": "users.id = posts.authorId"}
  }
}"#;

fn text(value: &str) -> Value {
    value.into()
}

fn mesh() -> Mesh {
    let schema: Schema = Document::parse(SCHEMA).unwrap().load(None).unwrap();
    let tables = Tables::new()
        .with("users", ["id", "first", "last"], [vec![1.into(), text("Ada"), text("Byron")]])
        .with(
            "posts",
            ["id", "title", "picture", "authorId"],
            [
                vec![1.into(), text("One"), Value::Null, 1.into()],
                vec![2.into(), text("</script>"), Value::Null, 1.into()],
            ],
        )
        .with("internal_log", ["line"], [vec![text("secret")]]);
    Mesh::builder(schema).default_resolver(tables).build().unwrap()
}

fn run<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    match future.as_mut().poll(&mut TaskContext::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("memory never waits"),
    }
}

fn send(
    docs: &Docs,
    method: &Method,
    path: &str,
    fields: &[(&str, &str)],
    body: &str,
) -> Result<Response<Bytes>, Error> {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        headers.insert(HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
    }
    let context = Context::default();
    let call = docs.call(method, path).expect("a path of the surface")?;
    run(docs.answer(call, &Visitor::new(&headers, &context), body.as_bytes(), Instant::now))
}

fn get(docs: &Docs, path: &str) -> Response<Bytes> {
    send(docs, &Method::GET, path, &[], "").unwrap()
}

fn execute(docs: &Docs, body: &str) -> Result<Json, String> {
    let json = [("content-type", "application/json")];
    let reply = send(docs, &Method::POST, "/docs/execute", &json, body).map_err(|error| error.to_string())?;
    let mut reply: Json = serde_json::from_slice(reply.body()).unwrap();
    let duration = reply["meta"]["durationMs"].take();
    assert!(duration.is_number(), "{duration}");
    Ok(reply)
}

fn check(docs: &Docs, body: &str, expected: &Expect) {
    let shown = execute(docs, body).map_or_else(|error| error, |reply| reply.to_string());
    expected.assert_eq(&shown);
}

#[test]
fn introspection_is_exact() {
    let docs = Docs::new(mesh(), Options::default().title("Blog"));
    let schema: Json = serde_json::from_slice(get(&docs, "/docs/schema").body()).unwrap();
    assert_eq!(schema["title"], "Blog");
    assert_eq!(
        schema["profiles"].to_string(),
        r#"["batch","buckets","caching","computed","docs","json","keys","params","relational","search"]"#
    );
    expect![[r#"{"formats":["json","ql"],"controls":["$select","$where","$orderBy","$page","$distinct","$groupBy","$aggregate","$having"],"filterOperators":["eq","ne","gt","gte","lt","lte","in","nin","like","ilike","isNull","isNotNull","has","hasAny","hasAll"],"aggregateFunctions":["count","sum","avg","min","max"],"pagination":{"style":"keyset","defaultFirst":50,"maxFirst":200}}"#]].assert_eq(&schema["query"].to_string());
    let entities: Vec<_> = schema["entities"].as_array().unwrap().iter().map(Json::to_string).collect();
    expect![[r#"
        {"name":"log","fields":[{"name":"line","kind":"scalar","nullable":true}],"joins":[],"listCapable":true,"idField":null}
        {"name":"post","fields":[{"name":"id","kind":"scalar","type":"integer","nullable":true},{"name":"title","kind":"scalar","type":"string","nullable":true},{"name":"picture","kind":"scalar","type":"string","nullable":true},{"name":"authorId","kind":"scalar","type":"integer","nullable":true}],"joins":[{"name":"author","entity":"user","type":"one"}],"listCapable":true,"idField":"id","search":true,"uploads":[{"field":"picture","maxBytes":100,"contentTypes":["image/png"]}]}
        {"name":"user","fields":[{"name":"id","kind":"scalar","type":"integer","nullable":true},{"name":"first","kind":"scalar","type":"string","nullable":true},{"name":"last","kind":"scalar","type":"string","nullable":true},{"name":"name","kind":"computed"}],"joins":[{"name":"posts","entity":"post","type":"many"}],"listCapable":true,"idField":"id"}"#]].assert_eq(&entities.join("\n"));
    assert!(!schema.to_string().contains("internal_log"));
}

#[test]
fn introspection_contains_descriptions() {
    let schema = SCHEMA
        .replacen(
            r#""fields": ["line"],"#,
            r#""fields": ["line"], "description": "What happened", "descriptions": {"line": "One event"},"#,
            1,
        )
        .replacen(r#""computed""#, r#""descriptions": {"name": "For letters"}, "computed""#, 1);
    let schema: Schema = Document::parse(&schema).unwrap().load(None).unwrap();
    let docs =
        Docs::new(Mesh::builder(schema).default_resolver(Tables::new()).build().unwrap(), Options::default());
    let schema: Json = serde_json::from_slice(get(&docs, "/docs/schema").body()).unwrap();
    assert_eq!(schema["entities"][0]["description"], "What happened");
    assert_eq!(schema["entities"][0]["fields"][0]["description"], "One event");
    assert_eq!(schema["entities"][2]["fields"][3]["description"], "For letters");
    assert_eq!(schema["entities"][1].get("description"), None);
}

#[test]
fn introspection_names_the_writes_of_the_caller() {
    let schema = SCHEMA.replacen(
        r#""fields": ["id", "title""#,
        r#""writable": {"create": true, "update": ["title", "authorId"]}, "fields": ["id", "title""#,
        1,
    );
    let mesh = || {
        let schema: Schema = Document::parse(&schema).unwrap().load(None).unwrap();
        Mesh::builder(schema).default_resolver(Tables::new()).build().unwrap()
    };
    let writes = |mutations: bool| {
        let offers = Offers { mutations, ..Offers::default() };
        let docs = Docs::new(mesh(), Options::default().offers(offers));
        let schema: Json = serde_json::from_slice(get(&docs, "/docs/schema").body()).unwrap();
        let entities = schema["entities"].as_array().unwrap().iter();
        let all = entities.flat_map(|entity| {
            let joins = entity["joins"].as_array().unwrap().iter();
            std::iter::once(entity["writes"].to_string()).chain(joins.map(|join| join["writes"].to_string()))
        });
        all.collect::<Vec<_>>().join("\n")
    };
    expect![[r#"
        null
        {"create":["id","title","picture","authorId"],"update":["title","authorId"],"delete":false}
        ["set"]
        null
        ["create"]"#]]
    .assert_eq(&writes(true));
    assert_eq!(writes(false), ["null"; 5].join("\n"));
}

#[test]
fn execute_returns_data_and_metadata() {
    let docs = Docs::new(mesh(), Options::default().sql(Sql::Hidden));
    let nested = r#"{"query": "{ user name posts { title author { first } } }", "format": "ql", "id": 1}"#;
    check(
        &docs,
        nested,
        &expect![[
            r#"{"data":{"name":"Ada Byron","posts":[{"title":"One","author":{"first":"Ada"}},{"title":"</script>","author":{"first":"Ada"}}]},"meta":{"durationMs":null,"rows":5,"plan":{"entity":"user","fields":["name"],"joins":[{"path":"user.posts","entity":"post","type":"many","fields":["title"]},{"path":"user.posts.author","entity":"user","type":"one","fields":["first"]}]}}}"#
        ]],
    );
    check(
        &docs,
        r#"{"query": "{ post title }", "format": "ql", "check": true}"#,
        &expect![[
            r#"{"data":null,"meta":{"durationMs":null,"rows":0,"plan":{"entity":"post","fields":["title"],"joins":[]}}}"#
        ]],
    );
    check(
        &docs,
        r#"{"query": "{ post titel }", "format": "ql", "check": true}"#,
        &expect![[
            r#"{"data":null,"meta":{"durationMs":null,"rows":0,"fault":{"message":"Field 'titel' not found on entity 'post'; did you mean 'title'?","path":"post","line":1,"column":8}}}"#
        ]],
    );
    check(
        &docs,
        r#"{"query": "{ post ", "format": "ql", "check": true}"#,
        &expect![[
            r#"{"data":null,"meta":{"durationMs":null,"rows":0,"fault":{"message":"Expected a name or '}', found the end of the query","path":"post","line":1,"column":8}}}"#
        ]],
    );
}

#[test]
fn hidden_entities_do_not_exist() {
    let docs = Docs::new(mesh(), Options::default().entities(["post", "nowhere"]));
    let schema: Json = serde_json::from_slice(get(&docs, "/docs/schema").body()).unwrap();
    assert_eq!(schema["entities"].as_array().unwrap().len(), 1);
    assert_eq!(schema["entities"][0]["joins"], Json::Array(Vec::new()));
    let refused = |query: &str| {
        let body = serde_json::json!({"query": query}).to_string();
        let error = execute(&docs, &body).unwrap_err();
        assert!(!error.contains("did you mean"), "{error}");
        error
    };
    assert_eq!(refused(r#"{"log": {"$select": {"line": true}}}"#), "Entity 'log' not found");
    assert_eq!(refused(r#"{"logg": {"$select": {"line": true}}}"#), "Entity 'logg' not found");
    let field = "Field 'author' not found on entity 'post'";
    for query in [
        r#"{"post": {"$select": {"author": {"$select": {"nonsense": true}}}}}"#,
        r#"{"post": {"$select": {"author": true}}}"#,
        r#"{"post": {"$select": {"a": {"$relation": "author", "$select": {"first": true}}}}}"#,
        r#"{"post": {"$select": {"id": true}, "$orderBy": [{"field": "author.first", "direction": "asc"}]}}"#,
        r#"{"post": {"$select": {"id": true}, "$where": {"and": [{"relation": "author", "op": "some"}]}}}"#,
    ] {
        assert_eq!(refused(query), field, "{query}");
    }
    assert_eq!(
        refused(r#"{"post": {"$select": {"autho": true}}}"#),
        "Field 'autho' not found on entity 'post'"
    );
    assert!(execute(&docs, r#"{"query": "{ post id title }", "format": "ql"}"#).is_ok());
}

#[test]
fn page_escapes_text_and_loads_only_local_files() {
    let title = r#"</title><script>alert("1")</script>"#;
    let docs = Docs::new(mesh(), Options::default().title(title).theme(Theme::Light).path("try/it/"));
    let reply = get(&docs, "/try/it");
    let policy = reply.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    let html = String::from_utf8(reply.body().to_vec()).unwrap();
    assert!(html.contains(r#"data-theme="light""#) && !html.contains("<script>"), "{html}");
    for quoted in html.split('"').filter(|part| part.contains("assets/")) {
        assert_eq!(get(&docs, quoted).status(), 200, "{quoted}");
    }
    assert!(!html.contains("http:") && !html.contains("https:"), "{html}");
}

#[test]
fn files_are_cached_forever_and_the_page_is_revalidated() {
    let docs = Docs::new(mesh(), Options::default());
    let path = format!("/docs/assets/{}", crate::assets::SCRIPT.path());
    let policy = |path: &str| get(&docs, path).headers()[CACHE_CONTROL].to_str().unwrap().to_owned();
    assert!(policy(&path).contains("immutable"));
    assert_eq!(policy("/docs"), "no-cache");
    for path in [&path, "/docs", "/docs/schema"] {
        let tag = get(&docs, path).headers()[ETAG].to_str().unwrap().to_owned();
        let plain = tag.trim_matches('"');
        // The server adds the encoding to the tag of a compressed body.
        for known in [
            format!("\"x\", W/{tag}"),
            format!("\"{plain}-br\""),
            format!("\"{plain}-gzip\""),
            "*".to_owned(),
        ] {
            let again = send(&docs, &Method::GET, path, &[("if-none-match", &known)], "").unwrap();
            assert_eq!((again.status().as_u16(), again.body().len()), (304, 0), "{path} {known}");
            assert!(known == "*" || known.contains(again.headers()[ETAG].to_str().unwrap()), "{known}");
        }
        let other = send(&docs, &Method::GET, path, &[("if-none-match", "\"x-br\"")], "").unwrap();
        assert_eq!(other.status(), 200);
        let head = send(&docs, &Method::HEAD, path, &[], "").unwrap();
        assert_eq!(head.headers()[CONTENT_LENGTH], get(&docs, path).body().len().to_string().as_str());
        assert!(head.body().is_empty());
    }
}

#[test]
fn other_paths_and_methods_are_refused() {
    let docs = Docs::new(mesh(), Options::default());
    for path in ["/mesh/post", "/", "/document", "/docs2/schema"] {
        assert!(docs.call(&Method::GET, path).is_none(), "{path}");
    }
    for path in ["/docs/nothing", "/docs/assets/app.js", "/docs/schema/x"] {
        assert!(
            matches!(docs.call(&Method::GET, path), Some(Err(error)) if error.kind == ErrorKind::NotFound),
            "{path}"
        );
    }
    let wrong = [(Method::POST, "/docs"), (Method::GET, "/docs/execute"), (Method::PUT, "/docs/schema")];
    for (method, path) in wrong {
        assert!(
            matches!(docs.call(&method, path), Some(Err(error)) if error.kind == ErrorKind::MethodNotAllowed),
            "{path}"
        );
    }
    let allow = send(&docs, &Method::OPTIONS, "/docs/execute", &[], "").unwrap();
    assert_eq!((allow.status().as_u16(), allow.headers()[ALLOW].to_str().unwrap()), (204, "POST, OPTIONS"));
    let root = Docs::new(mesh(), Options::default().path("/"));
    assert!(root.call(&Method::GET, "/").is_some() && root.call(&Method::GET, "/schema").is_some());
    assert!(root.call(&Method::GET, "/mesh/post").is_none());
}
