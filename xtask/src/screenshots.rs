//! `cargo xtask screenshots`: screenshots of the playground's main views over the sample blog in both themes, and a recording of
//! the first minute, for the README and the guides.

mod picture;
mod recording;

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use mesh_tests::{Browser, Server};
use serde_json::{Value, json};

use self::picture::Picture;
use crate::steps;

/// Directory of the screenshots.
const FOLDER: &str = "mesh-docs/screenshots";
const WIDTH: u32 = 1280;
const HEIGHT: u32 = 800;
const EDITOR: &str = ".query-editor .cm-content";

/// A query that uses most controls.
const QUERY: &str = r#"{
  "post": {
    "$select": {
      "id": true,
      "title": true,
      "rating": true,
      "author": { "$select": { "name": true } },
      "comments": {
        "$select": { "body": true },
        "$page": { "first": 2 }
      }
    },
    "$where": { "field": "status", "op": "eq", "value": "published" },
    "$orderBy": [{ "field": "rating", "direction": "desc" }],
    "$page": { "first": 20 }
  }
}
"#;

/// A query of groups.
const GROUPS: &str = r#"{
  "post": {
    "$select": { "status": true },
    "$groupBy": ["status"],
    "$aggregate": { "count": { "fn": "count" } }
  }
}
"#;

/// Takes all screenshots.
pub(crate) fn run(root: &Path) -> ExitCode {
    match take(root) {
        Ok(count) => {
            eprintln!("wrote {count} screenshots to {FOLDER}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn take(root: &Path) -> Result<usize, String> {
    let folder = root.join(FOLDER);
    fs::create_dir_all(&folder).map_err(|error| format!("cannot create {FOLDER}: {error}"))?;
    let program = steps::build_server(root)?;
    let mut demo = Command::new(program);
    demo.args(["demo", "--listen", "127.0.0.1:0"]).stderr(Stdio::null());
    let server = Server::try_spawn(&mut demo, None)?;
    let browser =
        Browser::open(WIDTH, HEIGHT).ok_or("no browser found; install Chromium and ChromeDriver")?;
    let page = Page { browser, url: format!("http://{}/docs", server.address) };
    let mut count = 0;
    for theme in ["dark", "light"] {
        page.load(theme);
        for (name, view) in VIEWS {
            view(&page);
            page.settle();
            let picture = Picture::from_png(&page.browser.screenshot())?.to_png()?;
            write(&folder, &format!("{name}-{theme}.png"), &picture)?;
            count += 1;
        }
        write(&folder, &format!("first-minute-{theme}.gif"), &recording::record(&page, theme)?)?;
        count += 1;
    }
    Ok(count)
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), String> {
    let file = folder.join(name);
    fs::write(&file, bytes).map_err(|error| format!("cannot write {}: {error}", file.display()))
}

struct Page {
    browser: Browser,
    url: String,
}

/// The name of a view, and a function that navigates to it.
type View = (&'static str, fn(&Page));

/// The views, in the order in which they are visited on one page.
const VIEWS: [View; 9] = [
    ("query", |page| {
        page.set_query(QUERY);
        page.browser.click("[data-testid=run]");
        page.browser.wait_for("[data-testid=status]", "objects");
        page.browser.click("#result-panel-json");
    }),
    ("table", |page| {
        page.browser.click("#result-panel-table");
        page.browser.wait_for("[data-testid=table]", "author");
    }),
    ("sql", |page| {
        page.browser.click("#result-panel-sql");
        page.browser.click("[data-testid=explain]");
        page.browser.wait_for(".query-plan", "SEARCH");
    }),
    ("editor", |page| {
        page.browser.click("#result-panel-plan");
        page.set_query(&QUERY.replace("\"rating\": true", "\"ratng\": true"));
        page.browser.wait_for(".cm-lintRange-error", "ratng");
        let script = "const {x, y, width, height} =
                document.querySelector('.cm-lintRange-error').getBoundingClientRect();
            return {type: 'mouseMoved', x: x + width / 2, y: y + height / 2}";
        let position = page.browser.run(script, &Value::Null);
        page.browser.devtools("Input.dispatchMouseEvent", &position);
        page.browser.wait_for(".cm-tooltip-lint", "did you mean");
    }),
    ("plan", |page| {
        page.set_query(QUERY);
        page.browser.click("[data-testid=run]");
        page.browser.wait_for("[data-testid=status]", "objects");
        page.browser.click("#result-panel-plan");
        page.browser.click("[data-testid=explain-plan]:not([disabled])");
        page.browser.wait("steps", |browser| browser.count(".plan-steps li") > 0);
    }),
    ("chart", |page| {
        page.set_query(GROUPS);
        page.browser.click("[data-testid=run]");
        page.browser.wait("groups", |browser| browser.count("#result-panel-chart") == 1);
        page.browser.click("#result-panel-chart");
        page.browser.wait("bars", |browser| browser.count("[data-testid=chart] .bar") > 0);
    }),
    ("data", |page| {
        page.browser.click("[data-testid=mode-data]");
        page.browser.choose("[data-testid=browse-entity]", "post");
        page.browser.wait_for("[data-testid=position]", "1 to");
        page.browser.click("[data-testid=rows] tbody tr:nth-child(3) td:nth-child(1)");
        page.browser.wait("the record", |browser| browser.count("[data-testid=record] dd") > 0);
    }),
    ("diagram", |page| {
        page.browser.click("[data-testid=mode-diagram]");
        page.browser.wait("boxes", |browser| browser.count(".entity-box") > 0);
        page.browser.click("[data-testid=fit]");
        page.browser.click("#box-post");
    }),
    ("narrow", |page| {
        page.browser.click("[data-testid=mode-query]");
        page.set_query(QUERY);
        page.browser.resize(360, 740);
        page.browser.click(".pane-switch button:nth-child(2)");
    }),
];

impl Page {
    /// Waits until nothing moves: completions fade in.
    fn settle(&self) {
        let script = "const done = arguments[arguments.length - 1];
            const moving = () => document.getAnimations().filter((it) => it.playState === 'running').map((it) => it.finished);
            requestAnimationFrame(() => Promise.allSettled(moving()).then(() => requestAnimationFrame(() => setTimeout(done, 200))));";
        self.browser.run_async(script);
    }

    /// Loads the page with empty storage and switches to the theme.
    fn load(&self, theme: &str) {
        self.browser.resize(WIDTH, HEIGHT);
        self.browser.visit(&self.url);
        self.browser.run("localStorage.clear()", &Value::Null);
        self.browser.visit(&self.url);
        self.browser.wait_for(EDITOR, "$select");
        if self.browser.count(&format!("html[data-theme={theme}]")) == 0 {
            self.browser.click("[data-testid=theme]");
        }
    }

    /// Puts a query into the editor through a share link.
    fn set_query(&self, query: &str) {
        let script = "location.hash = '#q=' + btoa(JSON.stringify([arguments[0], 'json', '']))
            .replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')";
        self.browser.run(script, &json!(query));
        self.browser.wait("the query is there", |browser| {
            let first = query.split('"').nth(5).unwrap_or_default();
            browser.text(EDITOR).contains(first)
        });
    }
}
