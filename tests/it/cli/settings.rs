//! Settings files, variables and flags.

use mesh_tests::{Database, Server, TempDir, command, run};

use super::{assert_fails, assert_finds, stderr, stdout};

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

/// Opening a pipe blocks until another program writes to it.
#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_a_file_is_refused() {
    let blog = Database::blog();
    let pipe = blog.dir.path().join("pipe").display().to_string();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let url = blog.url();
    let settings = |text: &str| blog.dir.write("mesh.toml", text);
    let secret = "integrity.enabled = true\nintegrity.secret_file = ";
    let jwks = format!("bearer.jwks = 'file:{pipe}'\n");
    for (arguments, file) in [
        (&["--database", &pipe][..], String::new()),
        (&["--database", &url, "--schema", &pipe], String::new()),
        (&["--database", &url], format!("{secret}'{pipe}'\n")),
        (&["--database", &url], format!("persisted.preload = '{pipe}'\n")),
        (&["--database", &url], format!("tls.cert = '{pipe}'\ntls.key = '{pipe}'\n")),
        (&["--database", &url], jwks),
        (
            &["--database", &format!("mysql://x@127.0.0.1:1/x?ssl-mode=verify-ca&ssl-ca={pipe}")],
            String::new(),
        ),
        (
            &["--database", &format!("postgres://x@127.0.0.1:1/x?sslmode=verify-full&sslrootcert={pipe}")],
            String::new(),
        ),
    ] {
        let output = run(&[&["check", "--config", &settings(&file)], arguments].concat());
        let said = format!("{}{}", stdout(&output), stderr(&output));
        assert!(output.status.code().is_some_and(|code| code > 0), "{arguments:?} {file}: {said}");
        assert!(said.contains("not a regular file"), "{arguments:?} {file}: {said}");
    }
    let served = run(&["serve", "--listen", "127.0.0.1:0", "--config", &pipe]);
    assert_fails(&served, 2, &["pipe", "not a regular file"]);
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
fn paths_of_a_file_are_relative_to_it_and_paths_of_flags_to_the_working_directory() {
    let dir = TempDir::new();
    let conf = dir.path().join("conf");
    std::fs::create_dir_all(conf.join("data")).unwrap();
    std::fs::create_dir(dir.path().join("work")).unwrap();
    let blog = Database::blog();
    blog.connect().execute("VACUUM INTO ?1", [conf.join("data/blog.db").display().to_string()]).unwrap();
    dir.write("conf/schema.json", r#"{"entities": {"post": {"fields": ["id", "title"]}}}"#);
    dir.write("work/schema.json", r#"{"entities": {"post": {"fields": ["id", "likes"]}}}"#);
    dir.write("conf/queries.json", r#"[{"query": "{ post title }", "format": "ql"}]"#);
    dir.write(
        "conf/mesh.toml",
        "database = \"sqlite:data/blog.db\"\nschema = \"schema.json\"\npersisted.preload = \"queries.json\"\n\
         state.path = \"data/state.db\"\n[uploads]\nenabled = true\nstore = \"file:files\"\n",
    );
    let work = dir.path().join("work");
    let run = |arguments: &[&str]| command(arguments).current_dir(&work).output().unwrap();
    for config in ["../conf/mesh.toml".to_owned(), conf.join("mesh.toml").display().to_string()] {
        let checked = run(&["check", "--config", &config]);
        assert!(checked.status.success(), "{}", stderr(&checked));
    }
    // The flag's schema is the one of the working directory, which lacks the field of the preloaded query.
    assert_finds(
        &run(&["check", "--config", "../conf/mesh.toml", "--schema", "schema.json"]),
        &["Field 'title' not found"],
    );
    let variable = command(&["check"])
        .current_dir(&work)
        .envs([("MESH_CONFIG", "../conf/mesh.toml"), ("MESH_SCHEMA", "schema.json")])
        .output()
        .unwrap();
    assert_finds(&variable, &["Field 'title' not found"]);

    let mut serve =
        command(&["serve", "--config", "../conf/mesh.toml", "--listen", "127.0.0.1:0", "--log", "off"]);
    let server = Server::spawn(serve.current_dir(&work));
    assert_eq!(server.get("/post/1", r#"{"post":{"$select":{"title":true}}}"#).status, 200);
    assert!(conf.join("files").is_dir() && conf.join("data/state.db").is_file());

    // Printed settings mean the same in every folder.
    let printed = run(&["serve", "--config", "../conf/mesh.toml", "--print-config"]);
    dir.write("printed.toml", &stdout(&printed));
    let again = run(&["serve", "--config", "../printed.toml", "--print-config"]);
    let values = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.split(" # ").next().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(values(&stdout(&printed)), values(&stdout(&again)));
    let state = format!("path = \"{}/../conf/data/state.db\"", work.canonicalize().unwrap().display());
    assert!(values(&stdout(&printed)).contains(&state), "{state}: {}", stdout(&printed));
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
