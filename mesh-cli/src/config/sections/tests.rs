//! Settings of the optional sections.

use super::*;
use crate::config::reader::LoadedConfig;
use crate::config::{Config, SettingsFile};

fn load(environment: &[(&str, &str)], file: &str) -> LoadedConfig {
    let environment = environment.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    let file = SettingsFile { path: "mesh.toml".into(), text: file.to_owned() };
    Config::load(Vec::new(), environment, Some(&file))
}

fn faults(file: &str) -> Vec<String> {
    load(&[], file).config.unwrap_err().iter().map(ToString::to_string).collect()
}

#[test]
#[expect(clippy::too_many_lines, reason = "one file with every setting in it")]
fn file_sets_every_value_of_optional_sections() {
    let config = load(
        &[],
        r#"
        [integrity]
        enabled = true
        secret = "0123456789abcdef0123456789abcdef"
        previous_secrets = ["one", "two"]
        ttl = "1h"
        binding = "require"
        replay_window = "30s"
        [integrity.users]
        table = "people"
        id = "uid"
        login = "name"
        password = "hash"
        role = ""
        tenant = "org"
        [persisted]
        enabled = false
        registration = "closed"
        only = false
        preload = "queries.json"
        max_entries = 5
        [uploads]
        enabled = true
        store = "s3://bucket/prefix"
        path = "media"
        max_bytes = "1GiB"
        content_types = ["image/png", "image/jpeg"]
        [events]
        enabled = false
        heartbeat = "5s"
        [mutations]
        enabled = true
        [docs]
        enabled = true
        path = "/play"
        title = "Blog"
        theme = "light"
        auth = "admin"
        sql = "false"
        entities = ["post"]
        [api_keys]
        table = "keys"
        [cors]
        origins = ["https://app.example"]
        [state]
        store = "memory"
        path = "blog.state"
        "#,
    )
    .config
    .unwrap();
    let integrity = Integrity {
        enabled: true,
        secret: Some(SecretText("0123456789abcdef0123456789abcdef".to_owned())),
        secret_file: None,
        previous_secrets: vec![SecretText("one".to_owned()), SecretText("two".to_owned())],
        ttl: HOUR,
        binding: Binding::Require,
        replay_window: 30 * SECOND,
        users: Users {
            table: "people".to_owned(),
            id: "uid".to_owned(),
            login: "name".to_owned(),
            password: "hash".to_owned(),
            role: String::new(),
            tenant: "org".to_owned(),
        },
    };
    assert_eq!(config.integrity, integrity);
    assert_eq!(
        config.persisted,
        Persisted {
            enabled: false,
            registration: Some(Registration::Closed),
            only: false,
            preload: Some("queries.json".into()),
            max_entries: 5
        }
    );
    assert_eq!(
        config.uploads,
        Uploads {
            enabled: true,
            store: "s3://bucket/prefix".to_owned().into(),
            path: "media".to_owned(),
            max_bytes: 1 << 30,
            content_types: vec!["image/png".to_owned(), "image/jpeg".to_owned()]
        }
    );
    assert_eq!(config.events, Events { enabled: false, heartbeat: 5 * SECOND });
    assert!(config.mutations.enabled);
    let docs = Docs {
        enabled: true,
        path: "/play".to_owned(),
        title: "Blog".to_owned(),
        theme: Theme::Light,
        auth: DocsAuth::Admin,
        sql: Sql::Hidden,
        entities: vec!["post".to_owned()],
        view_as: Vec::new(),
    };
    assert_eq!(config.docs, docs);
    assert_eq!(config.cors.origins, ["https://app.example"]);
    assert_eq!(config.state, State { store: Store::Memory, path: Some("blog.state".into()) });
}

#[test]
fn unquoted_choices_and_variables_are_accepted() {
    let environment = [
        ("MESH_DOCS__ENTITIES", "post, user,"),
        ("MESH_EVENTS__ENABLED", "false"),
        ("MESH_INTEGRITY__PREVIOUS_SECRETS", "a,b"),
    ];
    let config = load(&environment, "[docs]\nauth = false\nsql = false").config.unwrap();
    assert_eq!(config.docs.entities, ["post", "user"]);
    assert_eq!((config.docs.auth, config.docs.sql), (DocsAuth::Open, Sql::Hidden));
    assert!(!config.events.enabled);
    assert_eq!(config.integrity.previous_secrets.len(), 2);
}

#[test]
fn messages_do_not_contain_secrets() {
    let wrong = faults(
        "[integrity]\nsecret = 1234567\nenabled = 'yes'\nprevious_secrets = [7654321]\n[uploads]\npath = 'a/b'\n\
         [docs]\npath = '/'\nentities = [1]\ntheme = 'drak'\n[persisted]\nregistration = 'opened'\n[cors]\norigins = ['app.example']",
    );
    expect_test::expect![[r#"
        mesh.toml:2: 'integrity.secret' must be a quoted string
        mesh.toml:3: 'integrity.enabled' must be true or false, not 'yes'
        mesh.toml:4: 'integrity.previous_secrets' must be a list of quoted strings
        mesh.toml:6: 'uploads.path' must be one segment of a path, such as 'files', not 'a/b'
        mesh.toml:8: 'docs.path' must not be the root
        mesh.toml:9: 'docs.entities' must be a list of quoted strings, not a list with 1
        mesh.toml:10: 'docs.theme' must be 'system' or 'dark' or 'light', not 'drak'; did you mean 'dark'?
        mesh.toml:12: 'persisted.registration' must be 'open' or 'signed' or 'closed', not 'opened'; did you mean 'open'?
        mesh.toml:14: 'cors.origins' is invalid: 'app.example' is not an origin; write a scheme and a host, such as 'https://app.example', or '*'"#]]
    .assert_eq(&wrong.join("\n"));
    let both = faults("[integrity]\nsecret = 'hush-hush'\nsecret_file = 'f'");
    assert_eq!(
        both,
        [
            "mesh.toml:2: 'integrity.secret' and 'integrity.secret_file' are mutually exclusive; set only one of them"
        ]
    );
    assert!(!format!("{:?}", load(&[], "[integrity]\nsecret = 'hush-hush'")).contains("hush"));
}

#[test]
fn playground_path_must_differ_from_the_base() {
    let wrong = faults("base = '/api'\n[docs]\npath = '/api/'");
    assert_eq!(wrong, ["mesh.toml:3: 'docs.path' must not be the base path '/api' or a path above it"]);
}
