//! Output of commands at a terminal and for programs.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};

use mesh_tests::{Database, Server, TempDir, program, run, skip, wait_until, without_settings};
use serde_json::{Value, json};

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs the program at a terminal with these variables and returns both outputs together; `None` if there is no `script`.
fn at_terminal(arguments: &[&str], variables: &[(&str, &str)]) -> Option<String> {
    at_recorded_terminal("/dev/null", arguments, variables)
}

/// Also writes the outputs to a file while the program runs.
fn at_recorded_terminal(file: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Option<String> {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    let words = std::iter::once(program().to_str().unwrap()).chain(arguments.iter().copied()).map(quoted);
    let line = words.collect::<Vec<_>>().join(" ");
    let mut script = without_settings("script");
    script.args(["-q", "-e", "-f", "-c", &line, file]).stdin(Stdio::null());
    script.env_remove("NO_COLOR").env("TERM", "xterm").envs(variables.iter().copied());
    let Ok(output) = script.output() else {
        skip("script", "install Debian's bsdutils");
        return None;
    };
    Some(stdout(&output).replace("\r\n", "\n"))
}

fn url(server: &Server) -> String {
    format!("http://{}{}", server.address, server.base)
}

#[test]
fn output_is_colored_at_a_terminal_unless_no_color_is_set() {
    let blog = Database::blog();
    let server = Server::with_database(&blog);
    let (url, database) = (url(&server), blog.url());
    let query = ["query", "--url", &url, "--id", "1", "{ post title likes }"];
    let plain = run(&query);
    assert_eq!(stdout(&plain), "{\"title\":\"Rust at dawn\",\"likes\":5}\n", "one line without a terminal");
    let Some(colored) = at_terminal(&query, &[]) else { return };
    let wanted = "{\n  \x1b[36m\"title\"\x1b[0m: \x1b[32m\"Rust at dawn\"\x1b[0m,\n  \x1b[36m\"likes\"\x1b[0m: \x1b[33m5\x1b[0m\n}\n";
    assert_eq!(colored, wanted);
    for variables in [[("NO_COLOR", "1")], [("TERM", "dumb")]] {
        let indented = at_terminal(&query, &variables).unwrap();
        assert_eq!(indented, "{\n  \"title\": \"Rust at dawn\",\n  \"likes\": 5\n}\n", "{variables:?}");
    }
    assert_eq!(at_terminal(&query, &[("NO_COLOR", "")]).unwrap(), wanted, "an empty variable is ignored");

    let explain = ["explain", "--database", &database, "{ post title comments { text } }"];
    let colored = at_terminal(&explain, &[]).unwrap();
    assert!(colored.contains("\x1b[36m-- post.comments\x1b[0m\nSELECT"), "{colored}");
    let (first, colors) = colored.split_once("\x1b[").unwrap();
    let bare = colors.split("\x1b[").map(|part| part.split_once('m').unwrap().1);
    assert_eq!(
        format!("{first}{}", bare.collect::<String>()),
        stdout(&run(&explain)),
        "only colors are added"
    );
    assert!(!stdout(&run(&explain)).contains('\x1b'));
}

#[test]
fn control_characters_in_values_are_escaped() {
    let database = Database::new("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT);");
    database.connect().execute("INSERT INTO notes VALUES (1, ?)", ["\u{1b}[2J\u{9b}5m"]).unwrap();
    let server = Server::with_database(&database);
    let url = url(&server);
    for table in [&[][..], &["--table"]] {
        let arguments = [&["query", "--url", &url, "{ note text }"], table].concat();
        let Some(seen) = at_terminal(&arguments, &[("NO_COLOR", "1")]) else { return };
        assert!(!seen.contains('\x1b') && !seen.contains('\u{9b}'), "{seen:?}");
    }
}

#[test]
fn lists_are_printed_as_tables() {
    let server = Server::with_database(&Database::blog());
    let url = url(&server);
    let ask = |more: &[&str]| run(&[&["query", "--url", &url, "--table"], more].concat());
    let output = ask(&["{ post title likes published tags { label } }"]);
    let wanted = "\
title         likes  published  tags
------------- ------ ---------- --------------------------------------
Rust at dawn      5  true       [{\"label\":\"code\"},{\"label\":\"travel\"}]
Slow bread        7  false      [{\"label\":\"food\"}]
A map                true       [{\"label\":\"travel\"}]
Bicycle           7             [{\"label\":\"code\"},{\"label\":\"travel\"}]
";
    assert_eq!(stdout(&output), wanted, "{}", stderr(&output));
    assert_eq!(stdout(&ask(&["--id", "3", "{ post title likes }"])), "title  likes\n------ ------\nA map\n");
    let none = ask(&["--id", "99", "{ post title }"]);
    assert_eq!((stdout(&none), none.status.code()), (String::new(), Some(0)));
    assert!(stderr(&none).contains("no records were found"));

    let pages = r#"{"post": {"$select": {"id": true}, "$page": {"first": 3}}}"#;
    assert!(stderr(&ask(&[pages])).contains("--all"));
    let all = ask(&["--all", pages]);
    assert_eq!(stdout(&all), "id\n---\n 1\n 2\n 3\n 4\n");
    assert!(!stderr(&all).contains("--all"));
    let groups = r#"{"user": {"$select": {"role": true}, "$groupBy": ["role"], "$aggregate": {"n": {"fn": "count"}}}}"#;
    assert_eq!(stdout(&ask(&[groups])), "role    n\n------- --\nadmin   1\neditor  2\n        1\n");
}

#[test]
fn errors_show_an_excerpt_of_the_query() {
    let blog = Database::blog();
    let server = Server::with_database(&blog);
    let (url, database) = (url(&server), blog.url());
    let cases = [
        (
            "{ post { title author { nam } } }",
            "1 | { post { title author { nam } } }",
            "  |                         ^^^",
        ),
        ("{ post ", "1 | { post ", "  |        ^"),
        ("{ pots title }", "1 | { pots title }", "  |   ^^^^"),
        (
            "{\"post\": {\n  \"$select\": {\"title\": true},\n  \"$where\": {\"field\": \"likes\", \"op\": \"like\", \"value\": \"1\"}\n}}",
            "3 |   \"$where\": {\"field\": \"likes\", \"op\": \"like\", \"value\": \"1\"}",
            "  |                                      ^^^^^^",
        ),
        (
            "{\"post\": {\"$select\": {\"title\": yes}}}",
            "1 | {\"post\": {\"$select\": {\"title\": yes}}}",
            "  |                                ^^^",
        ),
    ];
    for (query, line, marks) in cases {
        for arguments in [&["query", "--url", &url, query][..], &["explain", "--database", &database, query]]
        {
            let output = run(arguments);
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(1), "{said}");
            let mut lines = said.lines().skip_while(|said| *said != line);
            assert_eq!((lines.next(), lines.next()), (Some(line), Some(marks)), "{arguments:?}: {said}");
        }
    }
    // With --all the query is printed again for each page, but the typed text is shown.
    let output = run(&["query", "--url", &url, "--all", "{  post   titel }"]);
    assert!(stderr(&output).contains("1 | {  post   titel }\n  |           ^^^^^"), "{}", stderr(&output));
    // Errors that are not about the query show no excerpt.
    let output = run(&["query", "--url", &format!("http://{}/elsewhere", server.address), "{ post title }"]);
    assert!(output.status.code() == Some(1) && !stderr(&output).contains('^'), "{}", stderr(&output));
}

#[test]
fn long_wait_shows_progress() {
    if at_terminal(&["--version"], &[]).is_none() {
        return;
    }
    let folder = TempDir::new();
    let record = folder.write("record", "");
    let slow = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mesh", slow.local_addr().unwrap());
    let shown = record.clone();
    let answering = std::thread::spawn(move || {
        let (mut client, _) = slow.accept().unwrap();
        let _ = client.read(&mut [0; 4096]);
        wait_until("the progress line", || std::fs::read_to_string(&shown).unwrap().contains("(1s)"));
        let body = json!({"items": [], "pageInfo": Value::Null}).to_string();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n";
        let _ = write!(client, "{head}Content-Length: {}\r\n\r\n{body}", body.len());
    });
    let query = ["query", "--url", &url, "{ post title }"];
    let seen = at_recorded_terminal(&record, &query, &[("NO_COLOR", "1")]).unwrap();
    answering.join().unwrap();
    assert!(seen.contains(&format!("waiting for {url} (1s)")), "{seen:?}");
    assert!(seen.contains("\r\x1b[2K{"), "the line is cleared before the answer: {seen:?}");
}

#[test]
fn completion_scripts_complete_commands_and_flags() {
    for (shell, check) in [("bash", &["-n"][..]), ("zsh", &["-n"]), ("fish", &["--no-execute"])] {
        let output = run(&["completions", shell]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let script = stdout(&output);
        for word in ["introspect", "json-schema", "allow-open-docs"] {
            assert!(script.contains(word), "{word} expected for {shell}");
        }
        // Each shell has to accept its script.
        let child = Command::new(shell).args(check).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let Ok(mut child) = child else {
            skip(shell, &format!("install Debian's {shell}"));
            continue;
        };
        let _ = child.stdin.take().unwrap().write_all(script.as_bytes());
        let checked = child.wait_with_output().unwrap();
        assert!(checked.status.success(), "{shell}: {}", stderr(&checked));
    }
    let completed = "source /dev/stdin; COMP_WORDS=(mesh-server ser); COMP_CWORD=1; _mesh__server mesh-server ser mesh-server; echo \"${COMPREPLY[@]}\"";
    let mut bash = Command::new("bash");
    bash.args(["-c", completed]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = bash.spawn().expect("bash runs");
    let script = run(&["completions", "bash"]).stdout;
    child.stdin.take().unwrap().write_all(&script).unwrap();
    let said = child.wait_with_output().unwrap();
    assert_eq!(stdout(&said), "serve\n", "{}", stderr(&said));
}
