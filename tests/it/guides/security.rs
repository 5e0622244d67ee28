//! The attacks that SECURITY.md lists, with the tests that try them.

use std::fs;

use mesh_tests::guide::root;

#[test]
fn every_attack_names_a_test_that_exists() {
    let page = fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let section = page.split("## Attacks that the tests try").nth(1).expect("the section of attacks");
    let section = section.split("\n## ").next().unwrap();
    let rows: Vec<_> =
        section.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| attack")).collect();
    assert!(rows.len() > 30, "{} attacks", rows.len());
    for row in rows {
        let tests = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        let names: Vec<_> = tests.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "{row}");
        for name in names {
            let (path, test) = name.split_once("::").unwrap_or((name, ""));
            let source =
                fs::read_to_string(root().join(path)).unwrap_or_else(|_| panic!("no file {path}: {row}"));
            assert!(source.contains(&format!("fn {test}")), "{path} has no {test}: {row}");
        }
    }
}
