//! Files for tools contain what a role can see and write, and nothing else.

use mesh_tests::{TempDir, run};
use serde_json::{Value, json};

/// A schema with roles that see decreasing parts of it.
fn schema(dir: &TempDir, policies: Option<Value>) -> String {
    let mut document = json!({
        "entities": {
            "post": {"fields": ["id", "title", "ownerId"], "types": {"id": "integer"}, "writable": ["title", "ownerId"]},
            "person": {"fields": ["id", "nick", "mail"], "computed": {"card": {"from": ["nick", "mail"], "template": "{nick}"}}},
        },
        "joins": {"post.owner": {"entity": "person", "on": "persons.id = posts.owner_id", "type": "one"}},
    });
    if let Some(policies) = policies {
        document["policies"] = policies;
    }
    dir.write("schema.json", &document.to_string())
}

fn policies() -> Value {
    json!({
        "admin": true,
        "author": {"post": {"writable": ["title"]}, "person": {"fields": ["id", "nick"]}},
        "*": {"post": {"fields": ["id", "title"]}},
    })
}

#[track_caller]
fn written(command: &str, schema: &str, role: &str) -> String {
    let output = run(&[command, "--schema", schema, "--role", role]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn invisible_names_are_in_no_file() {
    let dir = TempDir::new();
    let schema = schema(&dir, Some(policies()));
    for command in ["types", "openapi", "json-schema"] {
        let whole = run(&[command, "--schema", &schema]).stdout;
        assert_eq!(written(command, &schema, "admin").as_bytes(), whole, "{command}");
        for (role, seen, hidden) in [
            ("admin", &["mail", "card", "ownerId", "owner"][..], &[][..]),
            ("author", &["nick", "ownerId", "owner"], &["mail", "card"]),
            ("*", &["title"], &["person", "nick", "mail", "card", "ownerId", "owner"]),
        ] {
            let text = written(command, &schema, role);
            // Each name as a key: bare in types, in quotes in JSON.
            let has =
                |name: &str| text.contains(&format!("{name}: ")) || text.contains(&format!("\"{name}\": "));
            for name in seen {
                assert!(has(name), "{command} --role {role} has no {name}: {text}");
            }
            for name in hidden {
                assert!(!has(name), "{command} --role {role} has {name}: {text}");
            }
        }
    }
}

#[test]
fn role_can_write_what_its_policy_lists() {
    let dir = TempDir::new();
    let schema = schema(&dir, Some(policies()));
    for (role, writable) in [("admin", "\"title\" | \"ownerId\""), ("author", "\"title\""), ("*", "never")] {
        let text = written("types", &schema, role);
        assert!(
            text.contains(&format!("    creatable: {writable};\n    updatable: {writable};\n")),
            "{role}: {text}"
        );
    }
    let config = dir.write("mesh.toml", &format!("schema = \"{schema}\"\n[mutations]\nenabled = true\n"));
    let described = |role: &str| -> Value {
        let output = run(&["openapi", "--config", &config, "--role", role]);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    assert!(described("author")["components"]["schemas"]["post.created"]["properties"]["ownerId"].is_null());
    assert!(described("admin")["components"]["schemas"]["post.updated"]["properties"]["ownerId"].is_object());
    assert!(described("*")["paths"]["/mesh/post"]["post"].is_null());
}

#[test]
fn unlisted_role_is_a_fault() {
    let dir = TempDir::new();
    let path = schema(&dir, Some(policies()));
    let refused = |path: &str, role: &str| {
        let output = run(&["json-schema", "--schema", path, "--role", role]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(
        refused(&path, "auhtor"),
        "error: the policies have no role 'auhtor'; did you mean 'author'?\n"
    );
    assert_eq!(
        refused(&path, "guest"),
        "error: the policies have no role 'guest'; for roles that are not listed, pass --role '*'\n"
    );
    let closed = schema(&dir, Some(json!({"admin": true})));
    assert_eq!(
        refused(&closed, "guest"),
        "error: the policies have no role 'guest'; roles that are not listed can see nothing\n"
    );
    let open = schema(&dir, None);
    assert_eq!(
        refused(&open, "admin"),
        "error: --role admin: the schema has no policies, so every role can see all of it\n"
    );
}
