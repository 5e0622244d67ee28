//! Options and exit statuses of the program.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::server::{BODY, Later, Server, certificate};

/// A folder that is removed when this value is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name =
            format!("mesh-conformance-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn at(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mesh-conformance")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Checks the exit status and returns what was printed.
#[track_caller]
fn said(arguments: &[&str], status: i32) -> (String, String) {
    let output = run(arguments);
    let printed = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(status), "{printed:?}");
    printed
}

#[test]
fn dead_target_ends_the_run_with_status_2_and_one_line() {
    for url in ["http://127.0.0.1:1/mesh", "http://nosuch.invalid/mesh", "https://127.0.0.1:1/mesh"] {
        let (out, error) = said(&["--target", url, "--level", "L1"], 2);
        assert!(out.is_empty() && error.lines().count() == 1, "{out}{error}");
        assert!(error.starts_with("error: no server can be tested: cannot connect to "), "{error}");
    }
    let (_, error) = said(&[], 2);
    assert!(error.contains("--target URL"), "{error}");
}

#[test]
fn target_that_dies_during_the_run_ends_it_with_status_2() {
    let server = Server::start(BODY, 40, Later::Die, None);
    let (_, error) = said(&["--target", &server.url(), "--level", "L1", "--serial"], 2);
    assert!(error.contains("no server can be tested: cannot connect to"), "{error}");
}

#[test]
fn https_servers_are_trusted_by_the_certificates_of_a_file() {
    let folder = Folder::new();
    let (config, file) = certificate(&folder.0);
    let server = Server::start(BODY, usize::MAX, Later::Answer, Some(config));
    let url = format!("https://{}/mesh", server.address);
    let case = ["--target", url.as_str(), "--case", "3.3-order-of-keys"];
    let (out, _) = said(&[&case[..], &["--ca-file", &file.display().to_string()]].concat(), 1);
    assert!(out.contains("curl -i --path-as-is -H 'X-Mesh-Query") && out.contains(&url), "{out}");
    let (_, error) = said(&case, 2);
    assert!(error.contains("certificate"), "{error}");
    let (_, error) = said(&[&case[..], &["--ca-file", &folder.at("none.pem")]].concat(), 2);
    assert!(error.contains("cannot read certificates"), "{error}");
}

#[test]
fn serial_run_sends_one_request_at_a_time() {
    let server = Server::new(BODY);
    let (out, _) = said(&["--target", &server.url(), "--level", "L1", "--serial", "--format", "json"], 1);
    assert_eq!(server.most.load(Ordering::SeqCst), 1);
    let report: Value = serde_json::from_str(&out).unwrap();
    assert!(report["cases"].as_array().unwrap().len() > 100, "{}", report["counts"]);
}

#[test]
fn fail_fast_ends_the_run_after_the_first_failure() {
    let server = Server::new(BODY);
    let arguments = ["--target", &server.url(), "--level", "L1", "--fail-fast", "--format", "json"];
    let report: Value = serde_json::from_str(&said(&arguments, 1).0).unwrap();
    let cases = report["cases"].as_array().unwrap();
    assert_eq!(report["counts"]["fail"], 1);
    assert_eq!(
        (cases.last().unwrap()["grade"].as_str(), &report["partial"]),
        (Some("fail"), &Value::from(true))
    );
}

#[test]
fn silent_server_is_given_up_after_the_timeout() {
    let server = Server::start(BODY, 0, Later::Wait, None);
    let (_, error) = said(&["--target", &server.url(), "--timeout", "0.2"], 2);
    assert!(error.contains("no answer within 200ms"), "{error}");
}

#[test]
fn kit_is_exported_with_everything_that_an_implementer_needs() {
    let folder = Folder::new();
    said(&["export", &folder.at("kit")], 0);
    let kit = Path::new(&folder.at("kit")).to_owned();
    for name in [
        "README.md",
        "SPEC.md",
        "profile.toml",
        "fixture/schema.json",
        "fixture/sqlite.sql",
        "cases/case.schema.json",
    ] {
        assert!(kit.join(name).is_file(), "{name}");
    }
    let cases = mesh_conformance::case::load(&kit).unwrap();
    assert_eq!(cases.len(), said(&["list"], 0).0.lines().count());
}

#[test]
fn servers_are_compared_in_a_page() {
    let (folder, server) = (Folder::new(), Server::new(BODY));
    let mut files = Vec::new();
    for case in ["3.3-", "2.1-"] {
        let (out, _) = said(&["--target", &server.url(), "--case", case, "--format", "json"], 1);
        files.push(folder.at(&format!("{case}.json")));
        std::fs::write(files.last().unwrap(), out).unwrap();
    }
    let page = folder.at("page.html");
    said(&["compare", &files[0], &files[1], "-o", &page], 0);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("3.3-order-of-keys") && page.contains("not run"), "{page}");
    assert_eq!(page.matches(&server.address.to_string()).count(), 2);
    std::fs::write(&files[1], "{}").unwrap();
    assert!(said(&["compare", &files[0], &files[1]], 2).1.contains("not a report"));
}

#[test]
fn help_has_examples_that_are_valid_options() {
    let (help, _) = said(&["--help"], 0);
    let examples: Vec<&str> =
        help.lines().filter_map(|line| line.trim().strip_prefix("mesh-conformance ")).collect();
    assert!(examples.len() >= 6, "{help}");
    for example in examples.iter().filter(|example| example.starts_with("--")) {
        let words: Vec<&str> = example.split_whitespace().take_while(|word| *word != ">").collect();
        // The files and servers of the examples do not exist, which is another error than a wrong option.
        let error = text(&run(&words).stderr);
        assert!(!error.contains("Usage:"), "{example}: {error}");
    }
}
