//! The committed page matches its sources and is accessible.

use std::path::{Path, PathBuf};
use std::process::Command;

use mesh_tests::{TempDir, node_tools};

use super::page::{CONTROL, Page, RELEASE, blog};

/// Returns the folder of the page's sources.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../mesh-docs/ui")
}

#[test]
fn the_page_has_no_accessibility_violations() {
    let Some(page) = Page::open(blog) else { return };
    let page = page.ready();
    let browser = &page.browser;
    let check = |what: &str| page.assert_accessible(what);
    browser.choose("[data-testid=entity]", "post");
    page.tick("post.comments");
    browser.click("[data-testid=add-condition]");
    browser.choose(".condition select[aria-label=Operator]", "ne");
    browser.click(".filter-lone .add");
    browser.choose(".filter-items > :nth-child(2) select[aria-label=Operator]", "isNotNull");
    browser.click("[data-testid=add-order]");
    page.run();
    browser.wait_for("[data-testid=status]", "objects");
    for theme in ["light", "dark"] {
        browser.wait("the theme", |browser| browser.count(&format!("html[data-theme={theme}]")) == 1);
        for tab in ["json", "table", "plan", "sql", "request", "watch"] {
            browser.click(&format!("#result-panel-{tab}"));
            check(&format!("{tab}, {theme}"));
        }
        browser.click("#side-panel-saved");
        check(&format!("saved, {theme}"));
        browser.click("#side-panel-schema");
        browser.type_into("body", &format!("{CONTROL}k{RELEASE}"));
        browser.wait("the palette", |browser| browser.count("dialog") == 1);
        check(&format!("palette, {theme}"));
        browser.click("dialog button[aria-label=Close]");
        browser.click("[data-testid=copy-as]");
        check(&format!("menu, {theme}"));
        browser.click("[data-testid=copy-as]");
        browser.click("[data-testid=theme]");
    }
    browser.click("[data-testid=mode-data]");
    browser.wait("rows", |browser| browser.count("[data-testid=rows] tbody td.linked") > 0);
    browser.click("[data-testid=rows] tbody td.counted button");
    browser.click("[data-testid=rows] tbody td.linked button");
    browser.wait("a record", |browser| browser.count("[data-testid=record] dd") > 0);
    for theme in ["light", "dark"] {
        browser.wait("the theme", |browser| browser.count(&format!("html[data-theme={theme}]")) == 1);
        for (width, height) in [(1280, 800), (360, 740), (768, 900), (1440, 900)] {
            browser.resize(width, height);
            check(&format!("rows and a record, {width} pixels, {theme}"));
        }
        browser.click("[data-testid=theme]");
    }
    browser.click("[data-testid=mode-diagram]");
    browser.click("#box-post");
    for theme in ["light", "dark"] {
        browser.wait("the theme", |browser| browser.count(&format!("html[data-theme={theme}]")) == 1);
        for (width, height) in [(360, 740), (768, 900), (1280, 800), (1440, 900)] {
            browser.resize(width, height);
            check(&format!("the diagram, {width} pixels, {theme}"));
        }
        browser.click("[data-testid=theme]");
    }
    browser.click("[data-testid=mode-query]");
    for theme in ["light", "dark"] {
        browser.wait("the theme", |browser| browser.count(&format!("html[data-theme={theme}]")) == 1);
        for (width, height) in [(360, 740), (768, 900), (1280, 800), (1440, 900)] {
            browser.resize(width, height);
            check(&format!("{width} pixels, {theme}"));
        }
        browser.click("[data-testid=theme]");
    }
}

#[test]
fn the_committed_files_match_the_sources() {
    let Some(tools) = node_tools() else { return };
    let made = TempDir::new();
    let node = |arguments: &[&str]| {
        let output = Command::new("node").args(arguments).current_dir(&tools).output().expect("node runs");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    node(&["build.mjs", &made.path().display().to_string()]);
    let committed = sources().join("../assets");
    let mut names: Vec<_> =
        std::fs::read_dir(&committed).unwrap().map(|file| file.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["app.css", "app.js", "icon.svg", "pictures.js", "shared.js"]);
    for name in names {
        let same =
            std::fs::read(committed.join(&name)).unwrap() == std::fs::read(made.path().join(&name)).unwrap();
        assert!(same, "{name:?} is not what the sources give: run `npm run build` in mesh-docs/ui");
    }
    let size = "const { gzipSync } = require('node:zlib'), { readFileSync } = require('node:fs');
        const size = ['app.js', 'shared.js', 'pictures.js', 'app.css'].reduce((sum, name) => sum + gzipSync(readFileSync('../assets/' + name)).length, 0);
        if (size > 260_000) throw new Error(size + ' bytes, compressed');";
    node(&["-e", size]);
    node(&["node_modules/typescript/bin/tsc", "--noEmit"]);
    node(&["test.mjs"]);
}
