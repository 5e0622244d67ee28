//! The generated Python types and the client, checked by mypy and pyright and run against servers.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use mesh_tests::{Database, PythonTools, Server, TempDir, run};
use serde_json::Value;

use super::shop::{guarded, shop};

/// The secret that the issuer of bearers shares with the server.
const SECRET: &str = "the secret of an issuer, 32 bytes or more";

/// Returns the folder of the programs.
pub(super) fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/python")
}

/// Creates a folder with a program and the modules that it imports, each generated with some arguments.
fn project(program: &str, modules: &[(&str, &[&str])]) -> TempDir {
    let folder = TempDir::new();
    for (name, arguments) in modules {
        let output = folder.path().join(name).display().to_string();
        let done = run(&[&["types", "--lang", "python", "-o", &output], *arguments].concat());
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    std::fs::copy(programs().join(program), folder.path().join(program)).unwrap();
    let settings = r#"{"typeCheckingMode": "strict", "pythonVersion": "3.10"}"#;
    let _ = folder.write("pyrightconfig.json", settings);
    folder
}

/// Runs mypy and pyright on some files, and returns what each of them reports.
pub(super) fn checked(tools: &PythonTools, folder: &TempDir, files: &[&str]) -> [(bool, String); 2] {
    let mut mypy = Command::new(&tools.mypy);
    mypy.args(["--strict", "--python-version", "3.10", "--no-color-output"]).args(files);
    let mut pyright = Command::new("node");
    pyright.arg(&tools.pyright).args(["-p", "."]).args(files);
    [mypy, pyright].map(|mut command| {
        let output = command.current_dir(folder.path()).output().expect("a type checker runs");
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    })
}

#[track_caller]
pub(super) fn python(tools: &PythonTools, folder: &TempDir, arguments: &[&str]) -> String {
    let mut command = Command::new(&tools.python);
    command.args(["-W", "always::ResourceWarning"]).args(arguments).current_dir(folder.path());
    let output = command.output().expect("python runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn client_and_types_pass_strict_checks_and_the_client_reads_writes_signs_and_streams() {
    let Some(tools) = PythonTools::find() else { return };
    let (database, schema) = shop();
    database
        .connect()
        .execute_batch("INSERT INTO invoices VALUES (1, 12.5, 9007199254740993, NULL)")
        .unwrap();
    let guarded = guarded();
    let url = database.url();
    let folder = project(
        "client.py",
        &[
            ("blog.py", &["--schema", &schema, "--database", &url]),
            ("signed.py", &["--config", &guarded.config]),
        ],
    );
    for (passed, said) in checked(&tools, &folder, &["mesh_client.py", "blog.py", "signed.py", "client.py"]) {
        assert!(passed, "{said}");
    }
    let open = database.dir.write("open.toml", "[mutations]\nenabled = true\n[export]\nenabled = true\n");
    let bearers = database.dir.write("bearers.toml", &format!("[bearer]\nsecret = \"{SECRET}\"\n"));
    let served = ["--schema", &schema, "--database", &url];
    let open = Server::start(&[&["--config", &open], &served[..]].concat());
    let bearers = Server::start(&[&["--config", &bearers], &served[..]].concat());
    let signed = guarded.start();
    let at = |server: &Server| format!("http://{}{}", server.address, server.base);
    let said = python(&tools, &folder, &["client.py", &at(&open), &at(&signed), &at(&bearers), SECRET]);
    assert_eq!(said, "all well\n");
}

#[test]
fn each_invalid_line_has_an_error_of_its_own() {
    let Some(tools) = PythonTools::find() else { return };
    let (database, schema) = shop();
    let guarded = guarded();
    let folder = project(
        "wrong.py",
        &[
            ("blog.py", &["--schema", &schema, "--database", &database.url()]),
            ("signed.py", &["--config", &guarded.config]),
        ],
    );
    let program = std::fs::read_to_string(programs().join("wrong.py")).unwrap();
    let marked = program.lines().enumerate().filter(|(_, line)| line.ends_with("# wrong"));
    let wrong: BTreeSet<usize> = marked.map(|(index, _)| index + 1).collect();
    for (_, said) in checked(&tools, &folder, &["wrong.py"]) {
        // `wrong.py:7: error: …` of mypy, and `  /folder/wrong.py:7:9 - error: …` of pyright.
        let line = |text: &str| text.split("wrong.py:").nth(1)?.split(':').next()?.parse().ok();
        let errors = said.lines().filter(|text| text.contains("error: "));
        let lines: BTreeSet<usize> = errors.filter_map(line).collect();
        assert_eq!(lines, wrong, "{said}");
    }
}

#[test]
fn unusual_names_yield_valid_types() {
    let Some(tools) = PythonTools::find() else { return };
    let database = Database::new(
        r#"CREATE TABLE details (id INTEGER PRIMARY KEY, "unit price" REAL, class TEXT, "it's ""so\""" TEXT, str TEXT);
           CREATE TABLE "größe" (id INTEGER PRIMARY KEY, "Länge" INTEGER, "ﬁx" TEXT);
           CREATE TABLE "日本" (id INTEGER PRIMARY KEY, "名前" TEXT, "😀" TEXT);
           CREATE TABLE "2nd" (id INTEGER PRIMARY KEY, "1st" TEXT);
           CREATE TABLE "class" (id INTEGER PRIMARY KEY, "import" TEXT, post_id INTEGER REFERENCES post (id),
             any_id INTEGER REFERENCES "any" (id));
           CREATE TABLE post (id INTEGER PRIMARY KEY, "post" TEXT);
           CREATE TABLE post_entity (id INTEGER PRIMARY KEY, post_id INTEGER REFERENCES post (id));
           CREATE TABLE "any" (id INTEGER PRIMARY KEY, "any" JSON);
           CREATE TABLE mesh (id INTEGER PRIMARY KEY, mesh_id INTEGER REFERENCES mesh (id), mesh TEXT);
           CREATE TABLE "int" (id INTEGER PRIMARY KEY, "int" TEXT, "list" TEXT);
           CREATE TABLE e (id INTEGER PRIMARY KEY);
           CREATE TABLE "Ⓐ" (id INTEGER PRIMARY KEY);
           CREATE TABLE "a.b" (id INTEGER PRIMARY KEY);
           CREATE TABLE "a b" (id INTEGER PRIMARY KEY);
           CREATE TABLE "***" (id INTEGER PRIMARY KEY);"#,
    );
    let described = run(&["introspect", "--database", &database.url()]);
    let mut document: Value = serde_json::from_slice(&described.stdout).unwrap();
    let entities = document["entities"].as_object_mut().unwrap();
    for entity in entities.values_mut() {
        entity["writable"] = true.into();
    }
    // Names that inference does not give.
    let fields = [
        "id",
        "class",
        "class_",
        "self",
        "new",
        "some",
        "_id",
        "__x",
        "E",
        "Post",
        "Any",
        "unit price",
        "Å \"\\",
    ];
    let columns: serde_json::Map<String, Value> = fields
        .iter()
        .map(|field| ((*field).to_owned(), if *field == "id" { "id" } else { "class" }.into()))
        .collect();
    let details =
        serde_json::json!({"table": "details", "fields": fields, "columns": columns, "writable": true});
    entities.insert("Details".to_owned(), details);
    let schema = database.dir.write("schema.json", &document.to_string());
    let module = ["--database", &database.url(), "--schema", &schema];
    let folder = project("members.py", &[("names.py", &module)]);
    for (passed, said) in checked(&tools, &folder, &["names.py", "members.py"]) {
        assert!(passed, "{said}");
    }
    assert_eq!(python(&tools, &folder, &["members.py"]), "all well\n");
}

#[test]
fn types_are_written_to_standard_output_or_next_to_the_client() {
    let blog = Database::blog();
    let output = run(&["types", "--lang", "python", "--database", &blog.url()]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("\"\"\"The entities of a Mesh schema"), "{text}");
    let _ = blog.dir.write("__init__.py", "");
    let module = blog.dir.path().join("blog.py").display().to_string();
    let output = run(&["types", "--lang", "python", "--database", &blog.url(), "-o", &module]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(&module).unwrap();
    assert!(text.contains("\nfrom . import mesh_client as mesh\n"), "{text}");
    let output = run(&["types", "--lang", "python", "--react", "--database", &blog.url(), "-o", &module]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--react applies only to TypeScript"));
    let clash = blog.dir.path().join("mesh_client.py").display().to_string();
    let output = run(&["types", "--lang", "python", "--database", &blog.url(), "-o", &clash]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("choose another name"));
}
