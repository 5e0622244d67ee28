//! Documentation pages: their commands, outputs, settings and programs are run as printed.

mod cache;
mod proxies;
mod security;
mod tables;

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};

use mesh_tests::guide::{Kind, Page, root};
use mesh_tests::{Part, skip};

/// Defines a test for each page, with the programs that the page requires.
macro_rules! pages {
    ($($test:ident: $page:literal $(, $program:literal)*;)*) => {
        $(#[test]
        fn $test() {
            if are_installed(&[$($program),*]) {
                Page::read($page).run();
            }
        })*

        /// All pages; `docs/deployment.md` has a separate test.
        const PAGES: &[&str] = &["docs/deployment.md", $($page),*];
    };
}

pages! {
    readme: "README.md", "curl", "openssl", "node";
    agents: "docs/agents.md", "curl", "sqlite3";
    api_keys: "docs/api-keys.md", "curl", "sqlite3";
    attacks: "docs/attacks.md";
    audit: "docs/audit.md", "curl", "sqlite3";
    backend_crate: "mesh-backend/README.md";
    caching: "docs/caching.md", "curl", "sqlite3", "nginx";
    cli_crate: "mesh-cli/README.md";
    conformance: "tests/conformance/README.md";
    comparison: "docs/comparison.md";
    deploy: "docs/deploy/README.md";
    events: "docs/events.md", "curl", "sqlite3", "node";
    export: "docs/export.md", "curl", "sqlite3";
    guides: "docs/README.md";
    identity: "docs/identity.md", "curl", "openssl", "sqlite3";
    integrity_crate: "mesh-integrity/README.md";
    migrating: "docs/migrating.md", "curl";
    mysql: "docs/mysql.md";
    mysql_crate: "mesh-mysql/README.md";
    own_database: "docs/own-database.md", "sqlite3";
    performance: "docs/performance.md";
    persisted: "docs/persisted.md", "curl", "openssl";
    plan_crate: "mesh-plan/README.md";
    planner: "docs/planner.md", "sqlite3";
    playground_crate: "mesh-docs/README.md";
    policies: "docs/policies.md", "sqlite3";
    ql_crate: "mesh-ql/README.md";
    postgres: "docs/postgres.md";
    postgres_crate: "mesh-postgres/README.md";
    python: "docs/python.md", "python3", "sqlite3";
    queries: "docs/queries.md";
    quick_start: "docs/quick-start.md", "curl", "sqlite3", "openssl";
    reference: "docs/reference.md";
    resolvers: "docs/resolvers.md";
    scale: "docs/scale.md";
    schema_crate: "mesh-schema/README.md";
    server_crate: "mesh-server/README.md", "sqlite3";
    signing: "docs/signing.md", "curl", "openssl", "python3", "node", "sqlite3";
    sql_crate: "mesh-sql/README.md";
    sqlite_crate: "mesh-sqlite/README.md";
    tutorial: "docs/tutorial.md", "curl", "openssl", "sqlite3", "node", "nginx";
    uploads: "docs/uploads.md", "curl", "sqlite3";
    uploads_crate: "mesh-uploads/README.md";
    wire_crate: "mesh-wire/README.md";
    writes: "docs/writes.md", "curl", "sqlite3";
}

/// Returns whether the programs are installed; otherwise the page is skipped.
fn are_installed(programs: &[&str]) -> bool {
    if programs.contains(&"nginx") && Part::Tools.is_left_out() {
        return false;
    }
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
    skip(missing, &format!("install {missing}"));
    false
}

/// Finds the pages of user documentation in the repository.
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
fn every_page_has_a_test() {
    let listed: BTreeSet<String> = PAGES.iter().map(|page| (*page).to_owned()).collect();
    assert_eq!(pages(), listed);
}

#[test]
fn rust_blocks_are_doc_tests() {
    let included = |page: &str| {
        let (folder, name) = page.rsplit_once('/').unwrap_or(("", page));
        let library = fs::read_to_string(root().join(folder).join("src/lib.rs")).unwrap_or_default();
        let guides = fs::read_to_string(root().join("mesh-server/src/lib.rs")).unwrap_or_default();
        library.contains(&format!("include_str!(\"../{name}\")"))
            || guides.contains(&format!("\"../../{page}\""))
    };
    for page in pages() {
        let has_rust = Page::read(&page).blocks.iter().any(|block| block.kind == Kind::Rust);
        assert!(!has_rust || included(&page), "{page} has Rust blocks, but no crate includes the page");
    }
}

#[test]
fn links_between_pages_resolve() {
    for page in pages() {
        let text = fs::read_to_string(root().join(&page)).unwrap();
        let folder = root().join(&page).parent().unwrap().to_owned();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            if link.contains("://") {
                continue;
            }
            let target = if path.is_empty() { root().join(&page) } else { folder.join(path) };
            assert!(target.exists(), "{page}: {link} does not exist");
            if !heading.is_empty() {
                let text = fs::read_to_string(&target).unwrap();
                let named =
                    text.lines().filter(|line| line.starts_with('#')).any(|line| anchor(line) == heading);
                assert!(named, "{page}: {link} has no such heading");
            }
        }
    }
}

/// Returns the link fragment of a heading.
fn anchor(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}
