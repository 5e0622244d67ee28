//! The Compose and Kubernetes examples of `docs/deploy`: their files fit together, and the server starts with them.

mod monitoring;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use mesh_tests::{Cluster, Database, Moto, Request, Server, TempDir, command, run, skip, wait_until};
use serde_json::Value;

/// The hash of `correct horse`, at low cost.
const HASH: &str =
    "$argon2id$v=19$m=64,t=1,p=1$GItD1fQ32lMZTXGkoQpEUw$TF1TCtzU44/RidGjD5+uUoqmN4ysh0RRp4V+0EMp3Xo";

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/deploy")
}

fn text(file: &str) -> String {
    std::fs::read_to_string(examples().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Returns a program of the Python packages that `.ci/run` installs. Returns `None` if it is not installed.
fn python_tool(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.exists());
    if found.is_none() {
        skip(name, "run `pip install kubernetes-validate`, and add its folder to PATH");
    }
    found
}

/// Returns a YAML file as JSON. Returns `None` if the Python package that parses it is not installed.
fn yaml(file: &str) -> Option<Value> {
    // The package `kubernetes-validate` needs PyYAML, so the interpreter beside it has it.
    let python = python_tool("kubernetes-validate")?.with_file_name("python3");
    let script = "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))";
    let output = Command::new(python).args(["-c", script]).arg(examples().join(file)).output().unwrap();
    assert!(output.status.success(), "{file}: {}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

#[test]
fn compose_file_refers_to_files_services_and_variables_that_exist() {
    let Some(compose) = yaml("compose/compose.yaml") else { return };
    let services = compose["services"].as_object().unwrap();
    for (name, service) in services {
        for volume in texts(&service["volumes"]) {
            let (source, _) = volume.split_once(':').unwrap();
            let exists = match source.strip_prefix("./") {
                // The user creates this folder.
                Some("certificates") => true,
                Some(file) => examples().join("compose").join(file).exists(),
                None => source == "." || compose["volumes"].get(source).is_some(),
            };
            assert!(exists, "{name}: {volume}");
        }
        for needed in service["depends_on"].as_object().into_iter().flatten().map(|(name, _)| name) {
            assert!(services.contains_key(needed), "{name} depends on {needed}");
        }
    }
    let source = text("compose/compose.yaml");
    let used: BTreeSet<_> = source.split("${").skip(1).filter_map(|rest| rest.split(":?}").next()).collect();
    let example = text("compose/example.env");
    let given: BTreeSet<_> = example
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| Some(line.split_once('=')?.0))
        .collect();
    assert_eq!(used, given);
}

#[test]
fn kubernetes_accepts_the_manifest() {
    let Some(validate) = python_tool("kubernetes-validate") else { return };
    let manifest = examples().join("kubernetes/mesh.yaml");
    let output = Command::new(validate).arg("--strict").arg(manifest).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn settings_of_the_manifest_are_valid() {
    let manifest = text("kubernetes/mesh.yaml");
    let (_, rest) = manifest.split_once("mesh.toml: |\n").unwrap();
    let (settings, _) = rest.split_once("\n---").unwrap();
    let folder = TempDir::new();
    let secret = folder.write("secret", "the secret of these tests, 32 bytes or more");
    let settings = settings.replace("/secrets/secret", &secret).replace("\n    ", "\n");
    let database = Database::new("CREATE TABLE users (id INTEGER PRIMARY KEY, email, password_hash, role);");
    let config = folder.write("mesh.toml", settings.trim_start());
    let output = run(&["check", "--config", &config, "--database", &database.url()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn nginx_accepts_the_configuration() {
    let folder = TempDir::new();
    let pair = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::create_dir(folder.path().join("certificates")).unwrap();
    let _ = folder.write("certificates/cert.pem", &pair.cert.pem());
    let _ = folder.write("certificates/key.pem", &pair.signing_key.serialize_pem());
    // The name exists in the network of the example only, and the nginx of Debian 12 has only the older form of `http2`.
    let config = text("compose/nginx.conf").replace("server mesh:4000", "server 127.0.0.1:4000");
    let config =
        config.replace("listen 8443 ssl;", "listen 127.0.0.1:8443 ssl http2;").replace("http2 on;", "");
    let config = folder.write("nginx.conf", &format!("pid nginx.pid;\n{config}"));
    let prefix = folder.path().display().to_string();
    let test = Command::new("nginx").args(["-t", "-e", "stderr", "-p", &prefix, "-c", &config]).output();
    let Ok(output) = test else { return skip("nginx", "install Debian's nginx") };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn server_of_the_compose_file_serves_its_database_and_its_store() {
    let (Some(cluster), Some(moto)) = (Cluster::start(), Moto::start()) else { return };
    assert_eq!(moto.send(&Request::new("PUT", "/mesh")).status, 200, "the bucket is made");
    let account = format!("INSERT INTO accounts (email, password_hash) VALUES ('ada', '{HASH}');");
    let url = cluster.database("mesh", &format!("{}\n{account}", text("compose/blog.sql")));
    let config = examples().join("compose/mesh.toml").display().to_string();
    let mut serve = command(&["serve", "--log", "off", "--config", &config, "--listen", "127.0.0.1:0"]);
    serve.env("MESH_DATABASE", &url).env("MESH_ADMIN__LISTEN", "127.0.0.1:0");
    serve.env("MESH_INTEGRITY__SECRET", "the secret of these tests, 32 bytes or more");
    moto.configure(&mut serve, moto.address);
    let server = Server::spawn(serve.stderr(Stdio::inherit()));
    let base = format!("http://{}{}", server.address, server.base);
    let mut query =
        command(&["query", "--url", &base, "--login", "ada", "--id", "1", "{ post title cover }"]);
    let output = query.env("MESH_PASSWORD", "correct horse").output().unwrap();
    let answer = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(answer.trim(), r#"{"title":"Rust at dawn","cover":null}"#, "{output:?}");
    // The server sweeps its store when it starts.
    wait_until("the store is used", || moto.requests().iter().any(|line| line.contains("/mesh")));
}
