//! Messages for common mistakes, which state how to correct them.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Output, Stdio};

use mesh_tests::{Database, Server, TempDir, command, run};

/// Returns the output of a command that ended with this status.
#[track_caller]
fn said(output: &Output, status: i32) -> String {
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(status), "{said}");
    said
}

/// `check` reports exactly these faults and their number, and `serve` refuses to start.
#[track_caller]
fn assert_faults(database: &Database, settings: &str, faults: &[&str]) {
    let config = database.dir.write("mesh.toml", &format!("database = \"{}\"\n{settings}", database.url()));
    let checked = said(&run(&["check", "--config", &config]), 1);
    let lines: Vec<_> = checked.lines().collect();
    let (last, found) = lines.split_last().unwrap();
    assert_eq!(
        *last,
        if faults.len() == 1 { "1 fault".to_owned() } else { format!("{} faults", faults.len()) }
    );
    assert_eq!(found.len(), faults.len(), "{checked}");
    for (found, fault) in found.iter().zip(faults) {
        assert!(found.contains(fault), "{fault} expected in: {checked}");
    }
    let served = said(&run(&["serve", "--config", &config, "--listen", "127.0.0.1:0", "--log", "off"]), 2);
    assert!(served.starts_with("error: ") && served.contains(faults[0]), "{served}");
}

#[test]
fn check_finds_faults_that_prevent_the_start() {
    let blog = Database::blog();
    blog.connect().execute_batch("CREATE TABLE accounts (id INTEGER PRIMARY KEY, hash TEXT)").unwrap();
    let secret = "secret = \"0123456789abcdef0123456789abcdef\"\n";
    let columns =
        "[integrity.users]\ntable = \"accounts\"\nlogin = \"id\"\npassword = \"hash\"\nrole = \"\"\n";
    let integrity = |secret: &str| format!("[integrity]\nenabled = true\n{secret}{columns}");
    assert_faults(&blog, &integrity(""), &["'integrity.enabled' needs a secret"]);
    assert_faults(&blog, &integrity("secret = \"short\"\n"), &["needs at least 32"]);
    let accounts = format!("[integrity]\nenabled = true\n{secret}[integrity.users]\ntable = \"people\"\n");
    assert_faults(&blog, &accounts, &["'integrity.users': there is no table 'people' of accounts"]);
    let several = integrity("") + "[uploads]\nenabled = true\nstore = \"/srv/files\"\n";
    assert_faults(&blog, &several, &["'integrity.enabled'", "'uploads.store' must be 'file:FOLDER'"]);
    let queries = blog.dir.write("queries.json", r#"[{"query": "{ post titel }", "format": "ql"}]"#);
    let loaded = format!("[persisted]\nenabled = true\npreload = \"{queries}\"\n");
    assert_faults(&blog, &loaded, &["query 1: Field 'titel' not found on entity 'post'"]);
}

#[test]
fn check_shows_every_fault_in_one_run() {
    let blog = Database::blog();
    let dir = &blog.dir;
    let schema = dir.write("schema.json", r#"{"entities": {"post": {"fields": ["id", "titel", "rank"]}}}"#);
    dir.write("queries.json", "{}");
    let settings = |database: &str| {
        format!(
            "database = \"{database}\"\nschema = \"{schema}\"\nthread = 1\ndocs.theme = \"drak\"\n\
             persisted.preload = \"queries.json\"\n\
             [tls]\ncert = \"cert.pem\"\nkey = \"key.pem\"\n\
             [uploads]\nenabled = true\nstore = \"ftp:files\"\n\
             [integrity]\nenabled = true\nsecret = \"short\"\nprevious_secrets = [\"old\", \"older\"]\n\
             users.role = \"rank\"\n"
        )
    };
    let check =
        |database: &str| said(&run(&["check", "--config", &dir.write("mesh.toml", &settings(database))]), 1);
    let expected = [
        "there is no setting 'thread'",
        "'docs.theme' must be 'system' or 'dark' or 'light'",
        "no column 'titel'",
        "no column 'rank'",
        "[tls]: ",
        "'integrity.secret': ",
        "'integrity.previous_secrets': ",
        "'integrity.previous_secrets': ",
        "'integrity.users': the table 'users' of accounts has no column 'email' for the login",
        "'integrity.users': the table 'users' of accounts has no column 'password_hash' for the password",
        "'integrity.users': the table 'users' of accounts has no column 'rank' for the role",
        "'uploads.store' must be",
        "queries.json: not an array of {query, format?, params?, name?, description?}",
        "13 faults",
    ];
    let shown = check(&blog.url());
    assert_eq!(shown.lines().count(), expected.len(), "{shown}");
    for (line, fault) in shown.lines().zip(expected) {
        assert!(line.contains(fault), "{fault} expected in: {shown}");
    }

    // A database that cannot be opened hides only the faults that depend on it.
    dir.write("schema.json", r#"{"entities": {"post": {"fields": ["id", "id"]}}}"#);
    let shown = check("sqlite:missing.db");
    for fault in
        ["'thread'", "'docs.theme'", "missing.db", "schema.json:1:", "'integrity.secret'", "queries.json"]
    {
        assert!(shown.contains(fault), "{fault} expected in: {shown}");
    }
    assert!(!shown.contains("integrity.users"), "{shown}");

    // Consequences of the faulty settings are not reported in addition.
    let file = dir.write("faulty.toml", "database = 7\n[integrity]\nenabled = true\nsecret = 7\n");
    let shown = said(&run(&["check", "--config", &file]), 1);
    assert_eq!(shown.lines().count(), 3, "{shown}");
    let file = dir.write("misspelled.toml", "databse = \"sqlite:data.db\"\n");
    assert!(said(&run(&["check", "--config", &file]), 1).ends_with("\n1 fault\n"));
}

#[test]
fn every_preloaded_query_with_a_fault_is_shown() {
    let blog = Database::blog();
    let queries = r#"[{"query": "{ post titel }", "format": "ql"}, {"query": "{ post title }", "format": "ql"}, {"query": "{}", "format": "xml"}]"#;
    blog.dir.write("queries.json", queries);
    assert_faults(
        &blog,
        "[persisted]\npreload = \"queries.json\"\n",
        &["query 1: Field 'titel' not found on entity 'post'", "query 3: 'format' must be"],
    );
}

#[test]
fn columns_without_a_name_have_a_note() {
    let database = Database::new(r#"CREATE TABLE odd (id INTEGER PRIMARY KEY, "" TEXT)"#);
    let note = "odd.\"\": omitted: a column without a name cannot be referred to";
    for arguments in [&["check", "--database"][..], &["introspect", "--database"]] {
        let shown = said(&run(&[arguments, &[&database.url()]].concat()), 0);
        assert!(shown.contains(&format!("note: {note}\n")), "{arguments:?}: {shown}");
    }
    let log = std::fs::File::create(database.dir.path().join("log")).unwrap();
    let server = Server::spawn(
        command(&["serve", "--listen", "127.0.0.1:0", "--database", &database.url()]).stderr(log),
    );
    drop(server);
    let log = std::fs::read_to_string(database.dir.path().join("log")).unwrap();
    assert!(log.contains(note), "{log}");
}

#[test]
fn check_creates_nothing() {
    let blog = Database::blog();
    let folder = blog.dir.path().join("files");
    let config = format!(
        "database = \"{}\"\n[persisted]\nenabled = true\n[uploads]\nenabled = true\nstore = \"file:{}\"\n",
        blog.url(),
        folder.display()
    );
    let config = blog.dir.write("mesh.toml", &config);
    let output = run(&["check", "--config", &config]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // SQLite may have created files beside the database.
    let names = std::fs::read_dir(blog.dir.path()).unwrap().map(|file| file.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| !name.starts_with("data.db-"));
    names.sort();
    assert_eq!(names, ["data.db", "mesh.toml"]);
}

#[test]
fn empty_documents_and_empty_databases_have_different_messages() {
    let dir = TempDir::new();
    let empty = dir.write("empty.json", "\n");
    assert!(
        said(&run(&["check", "--schema", &empty]), 1).contains("empty.json:1:1: document: The text is empty")
    );
    let nothing = dir.write("nothing.json", r#"{"entities": {}}"#);
    assert!(
        said(&run(&["check", "--schema", &nothing]), 0)
            .contains("warning: there is nothing to serve: the schema has no entities")
    );
    let database = Database::new("");
    assert!(said(&run(&["check", "--database", &database.url()]), 0).contains("the database has no tables"));
}

#[test]
fn wrong_urls_get_a_hint() {
    let ask = |url: &str| said(&run(&["query", "--url", url, "{ post title }"]), 1);
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let refused = ask(&format!("http://{free}/mesh"));
    assert!(refused.ends_with("; is the server running there?\n"), "{refused}");

    let server = Server::with_database(&Database::blog());
    let private = ask(&format!("https://{}/mesh", server.address));
    assert!(private.ends_with("does not speak TLS; does its URL begin with http://?\n"), "{private}");

    // The reply of a TLS server to plain text.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mesh", listener.local_addr().unwrap());
    let answers = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let _ = connection.read(&mut [0; 1024]);
        let _ = connection.write_all(&[21, 3, 3, 0, 2, 2, 70]);
    });
    let plain = ask(&url);
    answers.join().unwrap();
    assert!(plain.ends_with("does its URL begin with https://?\n"), "{plain}");

    let bare = run(&["query", "--url", "127.0.0.1:4000/mesh", "{ post title }"]);
    let wanted =
        "error: '127.0.0.1:4000/mesh' is not a valid endpoint: it must begin with http:// or https://\n";
    assert_eq!(said(&bare, 2), wanted);
}

#[test]
fn missing_arguments_are_named() {
    assert_eq!(
        said(&run(&["query", " "]), 2),
        "error: the query is empty; write one such as '{ post title }'\n"
    );
    let output = command(&["query", "--login", "ada", "{ post title }"])
        .env_remove("MESH_PASSWORD")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(said(&output, 2), "error: no password was given; type it, or set MESH_PASSWORD\n");
    let named = said(&run(&["serve", "blog.db"]), 2);
    assert!(named.contains("pass the database as '--database sqlite:blog.db'"), "{named}");
}

#[test]
fn guide_quotes_the_messages_of_the_commands() {
    let page = include_str!("../../../docs/own-database.md");
    let dir = TempDir::new();
    dir.write("orchard.sql", "CREATE TABLE trees (tag TEXT PRIMARY KEY);\n");
    for file in ["missing.db", "orchard.sql"] {
        let database = format!("sqlite:{file}");
        let checked = command(&["check", "--database", &database]).current_dir(dir.path()).output().unwrap();
        let checked = said(&checked, 1);
        let message = checked.lines().next().unwrap();
        assert!(page.contains(&format!("| `{message}` |")), "the guide lacks: {message}");
    }
}
