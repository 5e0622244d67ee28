//! Usage errors and help texts.

use mesh_tests::{Database, Server, TempDir, run};

use super::{assert_fails, stdout};

#[test]
fn wrong_usage_has_status_2_and_a_suggestion() {
    let blog = Database::blog();
    let dir = TempDir::new();
    assert_fails(&run(&["serve", "--databse", &blog.url()]), 2, &["--databse", "--database"]);
    assert_fails(&run(&["serv"]), 2, &["serv", "serve"]);
    assert_fails(&run(&[]), 2, &[]);
    assert_fails(&run(&["serve"]), 2, &["database"]);
    assert_fails(&run(&["introspect"]), 2, &["--database"]);
    assert_fails(&run(&["introspect", "--database", &blog.url(), "--schemas", "public"]), 2, &["PostgreSQL"]);
    assert_fails(
        &run(&["serve", "--database", &blog.url(), "--schemas", "public"]),
        2,
        &["'schemas'", "PostgreSQL"],
    );
    let replicas = dir.write("replicas.toml", "replicas = [\"sqlite:other.db\"]\nschemas = [\"public\"]");
    let database = &blog.url();
    assert_fails(
        &run(&["check", "--database", database, "--config", &replicas]),
        1,
        &["'replicas' applies only to PostgreSQL", "'schemas' applies", "2 faults"],
    );
    let other = Database::new("CREATE TABLE notes (id INTEGER PRIMARY KEY)");
    let file = other.url().replace("sqlite:", "");
    assert_fails(
        &run(&["demo", "--listen", "127.0.0.1:0", "--database", &file]),
        2,
        &["not a sample database"],
    );
    let missing = dir.path().join("nosuch.db").display().to_string();
    for name in ["serve", "introspect"] {
        assert_fails(&run(&[name, "--database", &format!("sqlite:{missing}")]), 2, &["nosuch.db"]);
        assert!(!std::path::Path::new(&missing).exists(), "{name} makes no database");
    }
    let text =
        dir.write("text.db", "this is no database at all, only a text that is long enough to be read as one");
    assert_fails(
        &run(&["serve", "--listen", "127.0.0.1:0", "--database", &format!("sqlite:{text}")]),
        2,
        &["text.db"],
    );
    assert_fails(&run(&["serve", "--database", "mysql://a/b"]), 2, &["mysql"]);
    assert_fails(&run(&["serve", "--database", &blog.url(), "--schema", "nosuch.json"]), 2, &["nosuch.json"]);
    assert_fails(&run(&["serve", "--config", "nosuch.toml"]), 2, &["nosuch.toml"]);
    assert_fails(&run(&["serve", "--database", &blog.url(), "--listen", "nonsense"]), 2, &["nonsense"]);
    assert_fails(&run(&["serve", "--database", &blog.url(), "--threads", "many"]), 2, &["many"]);
    assert_fails(
        &run(&["explain", "--database", &blog.url(), "--format", "xml", "{ post id }"]),
        2,
        &["xml"],
    );

    let taken = Server::with_database(&blog);
    let address = taken.address.to_string();
    assert_fails(&run(&["serve", "--database", &blog.url(), "--listen", &address]), 2, &[&address]);
}

#[test]
fn every_command_has_help_with_an_example() {
    let help = stdout(&run(&["--help"]));
    let commands = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names: Vec<&str> = commands
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(names.contains(&"serve") && names.contains(&"hash-password"), "{names:?}");
    for name in names {
        let output = run(&[name, "--help"]);
        assert_eq!(output.status.code(), Some(0), "{name}");
        assert!(
            stdout(&output).contains(&format!("mesh-server {name}")) && stdout(&output).contains("Example"),
            "{name}"
        );
    }
}
