//! The command that makes, lists and revokes keys, and the table that it fills.

use std::fs::{self, File};

use mesh_tests::kit::encoding;
use mesh_tests::{Database, Request, Server, command, run, wait_until};
use serde_json::json;

use super::{Site, get, why, with_key};

#[test]
fn the_table_is_not_served_unless_a_document_says_so() {
    for site in Site::both() {
        let (status, _, said) = site.command(&["--role", "reader"]);
        assert_eq!(status, 2, "{said}");
        assert!(said.contains("no table 'api_keys'") && said.contains("--create-table"), "{said}");
        let missing = run(&["serve", "--listen", "127.0.0.1:0", "--config", &site.config]);
        assert_eq!(missing.status.code(), Some(2));
        let check = run(&["check", "--config", &site.config]);
        let said = String::from_utf8_lossy(&check.stderr).into_owned();
        assert!(check.status.code() == Some(1) && said.contains("CREATE TABLE"), "{said}");
        let (_, create) = said.split_once("or with\n").unwrap();
        site.execute(create.split_once(';').unwrap().0);
        let key = site.key(&["--role", "reader"]);

        let inferred = Server::start(&["--config", &site.config]);
        let names = get(&inferred, &key, r#"{"post":{"$select":{"id":true}}}"#);
        assert_eq!(names.status, 200, "{}", names.text());
        let path = Request::get("/mesh/apiKey", r#"{"apiKey":{"$select":{"hash":true}}}"#);
        assert_eq!(why(&inferred.send(&with_key(path, &key))), (400, "ValidationError".to_owned()));
        let check = run(&["check", "--config", &site.config]);
        let said = String::from_utf8_lossy(&check.stderr).into_owned();
        assert!(said.contains("api_keys: not served, because 'api_keys.table' names this table"), "{said}");

        let document =
            json!({"entities": {"key": {"table": "api_keys", "fields": ["hash"], "idField": "hash"}}});
        let document = site.files.dir.write("keys.json", &document.to_string());
        let check = run(&["check", "--config", &site.config, "--schema", &document]);
        let said = String::from_utf8_lossy(&check.stderr).into_owned();
        assert!(check.status.success() && said.contains("serves the table 'api_keys' as 'key'"), "{said}");
        let log = site.files.dir.path().join("log");
        let mut serve = command(&["serve", "--listen", "127.0.0.1:0", "--log", "warn"]);
        serve.args(["--config", &site.config, "--schema", &document]);
        drop(Server::spawn(serve.stderr(File::create(&log).unwrap())));
        assert!(fs::read_to_string(&log).unwrap().contains("serves the table 'api_keys' as 'key'"));
    }
}

#[test]
fn keys_are_listed_and_revoked_by_their_id() {
    for site in Site::both() {
        let key = site.key(&["--role", "reader"]);
        site.key(&["--role", "editor", "--owner", "7", "--expires", "1s"]);
        wait_until("a key has expired", || site.command(&["list"]).1.contains("expired"));
        let (status, list, said) = site.command(&["list"]);
        assert_eq!(status, 0, "{said}");
        let lines: Vec<Vec<&str>> = list.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["id", "owner", "role", "expires", "state"]);
        let line = |role: &str| lines.iter().find(|line| line.contains(&role)).unwrap();
        let id = line("reader")[0];
        let hash = encoding::sha256(&key);
        assert_eq!((id.len(), &line("reader")[1..]), (12, &["reader", "never", "valid"][..]));
        assert!(hash.starts_with(id));
        assert_eq!(line("editor")[1..3], ["7", "editor"]);
        assert_eq!(line("editor")[4], "expired");
        assert!(!list.contains(&key[3..]) && !said.contains(&key[3..]));

        for (arguments, status, words) in [
            (&["revoke", &key][..], 2, &["not the key itself", id][..]),
            (&["revoke", "abc"], 2, &["6 or more hex digits"]),
            (&["revoke", "xyzxyz"], 2, &["6 or more hex digits"]),
            (&["revoke", "000000000000"], 1, &["there is no API key 000000000000"]),
            (&["--role", ""], 2, &["--role must not be empty"]),
            (&["--role", "x", "--expires", "soon"], 2, &["soon"]),
            (&["--role", "x", "list"], 2, &["leave out the subcommand"]),
            (&[], 2, &["--role <ROLE>"]),
        ] {
            let (code, out, said) = site.command(arguments);
            assert_eq!((code, out.as_str()), (status, ""), "{arguments:?}: {said}");
            assert!(words.iter().all(|word| said.contains(word)), "{arguments:?}: {said}");
            assert!(!said.contains(&key[3..]), "{said}");
        }
        assert_eq!(site.command(&["revoke", &hash]).0, 0, "the whole hash");
        assert_eq!(site.command(&["revoke", id]).0, 1, "it is gone");
        site.execute(
            "INSERT INTO api_keys VALUES ('abcdef0000000000000000000000000000000000000000000000000000000000', NULL, 'a', NULL),
             ('abcdef1111111111111111111111111111111111111111111111111111111111', NULL, 'b', NULL), ('short', NULL, 'c', NULL)",
        );
        let (code, _, said) = site.command(&["revoke", "abcdef"]);
        assert!(code == 1 && said.contains("2 API keys begin with abcdef"), "{said}");
        let (_, _, said) = site.command(&["list"]);
        assert!(said.contains("which match no key: 1"), "{said}");
    }
    let unset = Database::blog();
    let output = run(&["api-key", "--role", "x", "--database", &unset.url()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("'api_keys.table' is not set"));
    assert_eq!(run(&["api-key", "--role", "x"]).status.code(), Some(2));
}
