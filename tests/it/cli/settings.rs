//! Settings files, variables and flags.

use mesh_tests::{Database, Server, command, run};

use super::{assert_fails, stderr, stdout};

#[test]
fn unknown_key_suggests_the_nearest() {
    let blog = Database::blog();
    let config = |text: &str| {
        let file = blog.dir.write("mesh.toml", text);
        run(&["serve", "--listen", "127.0.0.1:0", "--database", &blog.url(), "--config", &file])
    };
    assert_fails(&config("[limits]\npage_maximum = 7\n"), 2, &["page_maximum", "page_max"]);
    assert_fails(&config("[limit]\npage_max = 7\n"), 2, &["limit", "limits"]);
    assert_fails(&config("databse = \"x\"\n"), 2, &["databse", "database"]);
    assert_fails(&config("[limits]\npage_max = \"many\"\n"), 2, &["page_max", "many"]);
    assert_fails(&config("[limits]\npage_max = -1\n"), 2, &["page_max"]);
    assert_fails(&config("[limits\n"), 2, &["mesh.toml"]);
    // Both at once.
    assert_fails(&config("lisen = 1\n[limits]\ndept = 7\n"), 2, &["lisen", "listen", "dept", "depth"]);
    let file = blog.dir.write("check.toml", "lisen = 1\n[limits]\ndept = 7\n");
    let output = run(&["check", "--config", &file]);
    let said = format!("{}{}", stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("lisen") && said.contains("dept"), "{said}");
}

#[test]
fn flag_overrides_variable_overrides_file() {
    let blog = Database::blog();
    let text =
        format!("database = '{}'\nbase = \"/file\"\n[limits]\npage_max = 3\npage_default = 3\n", blog.url());
    let file = blog.dir.write("mesh.toml", &text);
    let start = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut all = vec!["serve", "--config", &file, "--listen", "127.0.0.1:0", "--log", "off"];
        all.extend_from_slice(arguments);
        Server::spawn(command(&all).envs(variables.iter().copied()))
    };
    assert_eq!(start(&[], &[]).base, "/file");
    assert_eq!(start(&[], &[("MESH_BASE", "/variable")]).base, "/variable");
    assert_eq!(start(&["--base", "/flag"], &[("MESH_BASE", "/variable")]).base, "/flag");
    let count = |server: &Server| {
        server.get("/post", r#"{"post":{"$select":{"id":true}}}"#).json()["items"].as_array().unwrap().len()
    };
    assert_eq!(count(&start(&[], &[])), 3);
    assert_eq!(count(&start(&[], &[("MESH_LIMITS__PAGE_DEFAULT", "1")])), 1);

    let variables = [
        ("MESH_DATABASE", blog.url()),
        ("MESH_LISTEN", "127.0.0.1:0".to_owned()),
        ("MESH_LOG", "off".to_owned()),
    ];
    assert_eq!(count(&Server::spawn(command(&["serve"]).envs(variables.clone()))), 4, "no flag at all");
    let wrong = command(&["serve"]).envs(variables).env("MESH_LIMITS__DEPTH", "deep").output().unwrap();
    assert_fails(&wrong, 2, &["MESH_LIMITS__DEPTH", "deep"]);
}

#[test]
fn unknown_variable_is_a_warning() {
    let blog = Database::blog();
    let file = blog.dir.path().join("log");
    let log = std::fs::File::create(&file).unwrap();
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--database", &blog.url()];
    let server = Server::spawn(command(&arguments).env("MESH_LISTN", "x").stderr(log));
    assert_eq!(server.get("/post/1", r#"{"post":{"$select":{"id":true}}}"#).status, 200);
    drop(server);
    let said = std::fs::read_to_string(&file).unwrap();
    assert!(said.contains("MESH_LISTN"), "{said}");
}
