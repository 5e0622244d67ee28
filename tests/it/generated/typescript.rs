//! The generated TypeScript types and the client, compiled and run against a server.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use mesh_tests::{Cluster, Database, Server, TempDir, node_tools, run};
use serde_json::Value;

use super::shop::{guarded, shop};
use crate::support::sessions::Deployment;

/// Returns the folder of the programs and their compiler settings.
pub(super) fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/typescript")
}

/// Creates a TypeScript project with the generated files and the programs of these tests.
fn project(schema: &str, database: &Database, guarded: &Deployment) -> TempDir {
    let folder = TempDir::new();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let url = database.url();
    for arguments in [
        &["--schema", schema, "--database", &url, "-o", &at("mesh.ts"), "--react"][..],
        &["--config", &guarded.config, "--lang", "typescript", "-o", &at("signed.ts")],
    ] {
        let output = run(&[&["types"], arguments].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    for file in std::fs::read_dir(programs()).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
    }
    let _ = folder.write("package.json", r#"{"type": "module"}"#);
    folder
}

#[track_caller]
pub(super) fn node(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("node").args(arguments).current_dir(folder).output().expect("node runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{arguments:?}: {said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// The oldest supported compiler and the newest one, as packages of the tools, with arguments.
pub(super) const COMPILERS: [(&str, &[&str]); 2] =
    [("typescript-5-0", &[]), ("typescript", &["--erasableSyntaxOnly"])];

/// Arguments for a browser, whose library is in the settings, and for Node without the library of browsers.
const ENVIRONMENTS: [&[&str]; 2] = [&[], &["--lib", "es2022", "--types", "node", "--skipLibCheck"]];

pub(super) fn compiler(tools: &Path, name: &str) -> String {
    tools.join("node_modules").join(name).join("bin/tsc").display().to_string()
}

#[test]
fn programs_compile_with_the_oldest_and_the_newest_compiler_for_browsers_and_for_node() {
    let Some(tools) = node_tools() else { return };
    let (database, schema) = shop();
    let folder = project(&schema, &database, &guarded());
    std::os::unix::fs::symlink(tools.join("node_modules"), folder.path().join("node_modules")).unwrap();
    for (name, options) in COMPILERS {
        for environment in ENVIRONMENTS {
            // Each wrong line has a `@ts-expect-error` comment, which is an error itself if the line compiles.
            let tsc = compiler(&tools, name);
            node(folder.path(), &[&[tsc.as_str(), "-p", "."], options, environment].concat());
        }
    }
}

#[test]
fn each_invalid_line_has_an_error_of_its_own() {
    let Some(tools) = node_tools() else { return };
    let (database, schema) = shop();
    let folder = project(&schema, &database, &guarded());
    let tsc = compiler(&tools, "typescript");
    let wrong = std::fs::read_to_string(programs().join("wrong.ts")).unwrap();
    let count = wrong.matches("@ts-expect-error").count();
    let _ = folder.write("wrong.ts", &wrong.replace("@ts-expect-error", "wrong"));
    let output =
        Command::new("node").args([&tsc, "-p", ".", "--pretty", "false"]).current_dir(folder.path()).output();
    let said = String::from_utf8_lossy(&output.unwrap().stdout).into_owned();
    let lines: BTreeSet<_> =
        said.lines().filter_map(|line| line.strip_prefix("wrong.ts(")?.split(',').next()).collect();
    assert_eq!(lines.len(), count, "{said}");
    // Errors name the position, the nearest name, and the rule.
    for words in [
        "'titel' does not exist",
        "did you mean 'title'?",
        "$having needs $groupBy or $aggregate",
        "the alias is also selected",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn editors_complete_names_paths_conditions_and_aliases() {
    let Some(tools) = node_tools() else { return };
    let blog = Database::blog();
    let folder = TempDir::new();
    let types = folder.path().join("mesh.ts").display().to_string();
    let output = run(&["types", "--database", &blog.url(), "-o", &types]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let editor = programs().with_file_name("editor");
    for (from, name) in [(&editor, "editor.ts"), (&editor, "completions.mjs"), (&programs(), "tsconfig.json")]
    {
        std::fs::copy(from.join(name), folder.path().join(name)).unwrap();
    }
    let _ = folder.write("package.json", r#"{"type": "module"}"#);
    for (name, _) in COMPILERS {
        let package = tools.join("node_modules").join(name).display().to_string();
        assert_eq!(node(folder.path(), &["completions.mjs", &package]), "30 places\n", "{name}");
    }
}

#[test]
fn the_client_reads_signs_pages_and_streams() {
    let Some(tools) = node_tools() else { return };
    let (database, schema) = shop();
    let guarded = guarded();
    let folder = project(&schema, &database, &guarded);
    let build = "const { buildSync } = require(process.argv[1]), { gzipSync } = require('node:zlib');
        const made = (entry, more) => buildSync({entryPoints: [entry], bundle: true, format: 'esm', target: 'es2022', ...more});
        made('client.ts', {outfile: 'client.mjs'});
        const [small] = made('mesh-client.ts', {minify: true, write: false}).outputFiles;
        console.log(gzipSync(small.contents).length);";
    let esbuild = tools.join("node_modules/esbuild").display().to_string();
    let size = node(folder.path(), &["-e", build, &esbuild]);
    assert!(
        size.trim().parse::<usize>().unwrap() < 3_700,
        "{size} bytes, compressed; the README says how many"
    );

    let mutations =
        database.dir.write("mesh.toml", "[mutations]\nenabled = true\n[export]\nenabled = true\n");
    let open = Server::start(&["--config", &mutations, "--schema", &schema, "--database", &database.url()]);
    let signed = guarded.start();
    let at = |server: &Server| format!("http://{}{}", server.address, server.base);
    let said = node(folder.path(), &["client.mjs", &at(&open), &at(&signed)]);
    assert_eq!(said, "all well\n");
}

#[test]
fn unusual_names_yield_valid_types() {
    let database = Database::new(
        r#"CREATE TABLE "order details" (id INTEGER PRIMARY KEY, "unit price" REAL, "it's ""so""" TEXT, "class" TEXT);
           CREATE TABLE "größe" (id INTEGER PRIMARY KEY, "Länge" INTEGER);
           CREATE TABLE "日本" (id INTEGER PRIMARY KEY, "名前" TEXT);
           CREATE TABLE "2nd" (id INTEGER PRIMARY KEY, "1st" TEXT);
           CREATE TABLE query (id INTEGER PRIMARY KEY);
           CREATE TABLE entities (id INTEGER PRIMARY KEY);
           CREATE TABLE result (id INTEGER PRIMARY KEY);
           CREATE TABLE record (id INTEGER PRIMARY KEY, error_id INTEGER REFERENCES error (id));
           CREATE TABLE error (id INTEGER PRIMARY KEY, promise_id INTEGER REFERENCES error (id));
           CREATE TABLE "Ⓐ" (id INTEGER PRIMARY KEY);
           CREATE TABLE "a.b" (id INTEGER PRIMARY KEY);
           CREATE TABLE "a b" (id INTEGER PRIMARY KEY);
           CREATE TABLE "***" (id INTEGER PRIMARY KEY);"#,
    );
    let Some(tools) = node_tools() else { return };
    let folder = TempDir::new();
    let output = folder.path().join("names.ts").display().to_string();
    let done = run(&["types", "--database", &database.url(), "-o", &output]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    std::fs::copy(programs().join("tsconfig.json"), folder.path().join("tsconfig.json")).unwrap();
    let _ = folder.write("package.json", r#"{"type": "module"}"#);
    node(folder.path(), &[&compiler(&tools, "typescript"), "-p", "."]);
}

/// Returns the generated `required` of the entity `thing`, whose fields are all writable.
fn required(database: &str) -> String {
    let output = run(&["introspect", "--database", database]);
    let mut document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let fields = document["entities"]["thing"]["fields"].clone();
    document["entities"]["thing"]["writable"] = fields;
    let folder = TempDir::new();
    let schema = folder.write("schema.json", &document.to_string());
    let output = run(&["types", "--database", database, "--schema", &schema]);
    let types = String::from_utf8(output.stdout).unwrap();
    let entity = types.split("fields: Thing;").nth(1).unwrap();
    entity.split("required: ").nth(1).unwrap().split(';').next().unwrap().to_owned()
}

#[test]
fn new_record_needs_the_fields_that_nothing_else_provides() {
    let database = Database::new(
        "CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT NOT NULL, note TEXT, kind TEXT NOT NULL DEFAULT 'x',
           twice TEXT NOT NULL GENERATED ALWAYS AS (name || name) VIRTUAL);",
    );
    assert_eq!(required(&database.url()), r#""name""#);
    let keyed =
        Database::new("CREATE TABLE things (code TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID;");
    assert_eq!(required(&keyed.url()), r#""code" | "n""#);
    let Some(cluster) = Cluster::start() else { return };
    let statements = "CREATE DOMAIN kind AS text DEFAULT 'x';
        CREATE TABLE things (id bigserial PRIMARY KEY, counted integer GENERATED ALWAYS AS IDENTITY, name text NOT NULL,
          note text, at timestamptz NOT NULL DEFAULT now(), kind kind NOT NULL,
          twice text NOT NULL GENERATED ALWAYS AS (name || name) STORED);";
    assert_eq!(required(&cluster.database("provided", statements)), r#""name""#);
    let filling = "CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN NEW.name := coalesce(NEW.name, 'x'); RETURN NEW; END $$;
        CREATE TRIGGER fill BEFORE INSERT ON things FOR EACH ROW EXECUTE FUNCTION fill();";
    assert_eq!(required(&cluster.database("filled", &format!("{statements}{filling}"))), "never");
}

#[test]
fn types_are_written_to_standard_output_or_next_to_the_client() {
    let blog = Database::blog();
    let output = run(&["types", "--database", &blog.url()]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("// The types of a Mesh schema") && text.ends_with("}\n"), "{text}");
    let clash = blog.dir.path().join("mesh-client.ts").display().to_string();
    let output = run(&["types", "--database", &blog.url(), "-o", &clash]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("choose another name"));
    let output = run(&["types", "--database", &blog.url(), "--lang", "typescrip"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("typescript"));
}
