//! Does every page say what is so? Its commands, outputs, settings and programs are run as they stand there.

mod proxies;
mod tables;

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};

use mesh_tests::guide::{Kind, Page, root};

/// A page, and the programs that it asks of a reader.
macro_rules! pages {
    ($($test:ident: $page:literal $(, $program:literal)*;)*) => {
        $(#[test]
        fn $test() {
            if are_installed(&[$($program),*]) {
                Page::read($page).run();
            }
        })*

        /// Beside these, the pages that have a test of more than their blocks.
        const PAGES: &[&str] = &["docs/deployment.md", $($page),*];
    };
}

pages! {
    readme: "README.md", "curl", "openssl", "node";
    conformance: "tests/conformance/README.md";
    deploy: "docs/deploy/README.md";
    events: "docs/events.md", "curl", "sqlite3", "node";
    guides: "docs/README.md";
    integrity_crate: "mesh-integrity/README.md";
    migrating: "docs/migrating.md", "curl";
    own_database: "docs/own-database.md", "sqlite3";
    performance: "docs/performance.md";
    persisted: "docs/persisted.md", "curl", "openssl";
    plan_crate: "mesh-plan/README.md";
    playground_crate: "mesh-docs/README.md";
    policies: "docs/policies.md", "sqlite3";
    ql_crate: "mesh-ql/README.md";
    quick_start: "docs/quick-start.md", "curl", "sqlite3", "openssl";
    reference: "docs/reference.md";
    resolvers: "docs/resolvers.md";
    scale: "docs/scale.md";
    schema_crate: "mesh-schema/README.md";
    server_crate: "mesh-server/README.md", "sqlite3";
    signing: "docs/signing.md", "curl", "openssl", "python3", "node", "sqlite3";
    uploads: "docs/uploads.md", "curl", "sqlite3";
    uploads_crate: "mesh-uploads/README.md";
    wire_crate: "mesh-wire/README.md";
    writes: "docs/writes.md", "curl", "sqlite3";
}

/// Whether programs are there. A page without them is passed over with a line, unless that must not be.
fn are_installed(programs: &[&str]) -> bool {
    let missing = programs.iter().find(|program| {
        let version = match **program {
            "openssl" | "caddy" => "version",
            "nginx" => "-v",
            _ => "--version",
        };
        let mut command = Command::new(program);
        let status =
            command.arg(version).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        !status.is_ok_and(|status| status.success())
    });
    let Some(missing) = missing else { return true };
    assert!(
        std::env::var_os("MESH_REQUIRE_SERVICES").is_none_or(|value| value != "1"),
        "{missing} is not installed, but MESH_REQUIRE_SERVICES says that it must be"
    );
    eprintln!("passed over: {missing} is not installed");
    false
}

/// The pages of the repository that tell somebody how to use it.
fn pages() -> BTreeSet<String> {
    let mut pages = BTreeSet::from(["README.md".to_owned(), "tests/conformance/README.md".to_owned()]);
    let mut folders = vec!["docs".to_owned()];
    for entry in fs::read_dir(root()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if root().join(&name).join("README.md").is_file() {
            pages.insert(format!("{name}/README.md"));
        }
    }
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{folder}/{}", entry.file_name().into_string().unwrap());
            if entry.file_type().unwrap().is_dir() {
                folders.push(name);
            } else if name.ends_with(".md") {
                pages.insert(name);
            }
        }
    }
    pages
}

#[test]
fn no_page_is_forgotten() {
    let listed: BTreeSet<String> = PAGES.iter().map(|page| (*page).to_owned()).collect();
    assert_eq!(pages(), listed);
}

#[test]
fn rust_on_a_page_is_a_doc_test() {
    let included = |page: &str| {
        let (folder, name) = page.rsplit_once('/').unwrap_or(("", page));
        let own = fs::read_to_string(root().join(folder).join("src/lib.rs")).unwrap_or_default();
        let guides = fs::read_to_string(root().join("mesh-server/src/guides.rs")).unwrap_or_default();
        own.contains(&format!("include_str!(\"../{name}\")")) || guides.contains(&format!("\"../../{page}\""))
    };
    for page in pages() {
        let has_rust = Page::read(&page).blocks.iter().any(|block| block.kind == Kind::Rust);
        assert!(!has_rust || included(&page), "{page} has Rust that nothing compiles");
    }
}

#[test]
fn links_between_pages_lead_somewhere() {
    for page in pages() {
        let text = fs::read_to_string(root().join(&page)).unwrap();
        let folder = root().join(&page).parent().unwrap().to_owned();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            if link.contains("://") {
                continue;
            }
            let target = if path.is_empty() { root().join(&page) } else { folder.join(path) };
            assert!(target.exists(), "{page}: nothing is at {link}");
            if !heading.is_empty() {
                let text = fs::read_to_string(&target).unwrap();
                let named =
                    text.lines().filter(|line| line.starts_with('#')).any(|line| anchor(line) == heading);
                assert!(named, "{page}: no heading is at {link}");
            }
        }
    }
}

/// How a heading is linked to.
fn anchor(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}
