//! `docs/attacks.md`, which is made from the tests: the documentation of a test that tries an attack ends with
//! `Attack OF WHOM: WHAT.` With `UPDATE_EXPECT=1`, this test writes the page.

use std::collections::BTreeSet;
use std::fs;

use expect_test::expect_file;
use mesh_tests::guide::root;

#[test]
fn the_page_of_attacks_is_current() {
    let mut rows = BTreeSet::new();
    let mut open =
        vec![root().join("tests/it"), root().join("mesh-server/tests"), root().join("mesh-integrity/src")];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        for attack in fs::read_to_string(&path).unwrap_or_default().split("\n/// Attack ").skip(1) {
            let (text, test) = attack.split_once(".\n#[").expect("a test after its documentation");
            let text = text.replace("\n/// ", " ").replacen(": ", " | ", 1);
            let name = test.split("fn ").nth(1).and_then(|test| test.split('(').next()).unwrap();
            let path = path.strip_prefix(root()).unwrap().display();
            rows.insert(format!("| {text} | `{path}::{name}` |\n"));
        }
    }
    let page = root().join("docs/attacks.md");
    let text = fs::read_to_string(&page).unwrap();
    let head = text.split_inclusive("|---|---|---|\n").next().unwrap();
    expect_file![page].assert_eq(&format!("{head}{}", rows.into_iter().collect::<String>()));
}
