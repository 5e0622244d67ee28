//! What does the playground look like? Pictures of its main views over the sample blog, for the README.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use mesh_tests::{Browser, Server};
use serde_json::{Value, json};

use crate::steps::Steps;

/// Where the pictures lie.
const FOLDER: &str = "mesh-docs/screenshots";
const WIDTH: u32 = 1280;
const HEIGHT: u32 = 800;
const EDITOR: &str = ".query-editor .cm-content";

/// A query that shows much of what there is.
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

/// Takes all pictures.
pub(crate) fn run(root: &Path) -> ExitCode {
    match take(root) {
        Ok(count) => {
            eprintln!("{count} pictures are in {FOLDER}");
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
    fs::create_dir_all(&folder).map_err(|error| format!("cannot make {FOLDER}: {error}"))?;
    let program = build(root)?;
    let mut demo = Command::new(program);
    demo.args(["demo", "--listen", "127.0.0.1:0"]).stderr(Stdio::null());
    let server = Server::try_spawn(&mut demo, None)?;
    let browser = Browser::open(WIDTH, HEIGHT).ok_or("no browser to take pictures with")?;
    let page = Page { browser, url: format!("http://{}/docs", server.address) };
    let mut count = 0;
    for theme in ["dark", "light"] {
        page.begin(theme);
        for (name, view) in VIEWS {
            view(&page);
            // Cursors blink and completions fade in.
            std::thread::sleep(std::time::Duration::from_millis(400));
            let file = folder.join(format!("{name}-{theme}.png"));
            fs::write(&file, page.browser.screenshot())
                .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
            count += 1;
        }
    }
    Ok(count)
}

/// Builds the server and tells where its program is.
fn build(root: &Path) -> Result<PathBuf, String> {
    let built = Steps::new(root.to_owned()).cargo("build mesh-server", "build --quiet -p mesh-server");
    if built.failed() {
        return Err("mesh-server does not build".to_owned());
    }
    let own = std::env::current_exe().map_err(|error| format!("where am I? {error}"))?;
    Ok(own.with_file_name(format!("mesh-server{}", std::env::consts::EXE_SUFFIX)))
}

struct Page {
    browser: Browser,
    url: String,
}

/// A name, and how to come to what it shows.
type View = (&'static str, fn(&Page));

/// What is pictured, one after the other on the same page.
const VIEWS: [View; 5] = [
    ("query", |page| {
        page.hold(QUERY);
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
        page.hold(&QUERY.replace("\"rating\": true", "\"ratng\": true"));
        page.browser.wait_for(".cm-lintRange-error", "ratng");
        let place = "const {x, y, width, height} =
                document.querySelector('.cm-lintRange-error').getBoundingClientRect();
            return {type: 'mouseMoved', x: x + width / 2, y: y + height / 2}";
        let place = page.browser.run(place, &Value::Null);
        page.browser.devtools("Input.dispatchMouseEvent", &place);
        page.browser.wait_for(".cm-tooltip-lint", "did you mean");
    }),
    ("narrow", |page| {
        page.hold(QUERY);
        page.browser.resize(360, 740);
        page.browser.click(".pane-switch button:nth-child(2)");
    }),
];

impl Page {
    /// Loads the page anew in that theme.
    fn begin(&self, theme: &str) {
        self.browser.resize(WIDTH, HEIGHT);
        self.browser.visit(&self.url);
        self.browser.run("localStorage.clear()", &Value::Null);
        self.browser.visit(&self.url);
        self.browser.wait_for(EDITOR, "$select");
        if self.browser.count(&format!("html[data-theme={theme}]")) == 0 {
            self.browser.click("[data-testid=theme]");
        }
    }

    /// Puts a query into the editor, as a share link does.
    fn hold(&self, query: &str) {
        let script = "location.hash = '#q=' + btoa(JSON.stringify([arguments[0], 'json', '']))
            .replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')";
        self.browser.run(script, &json!(query));
        self.browser.wait("the query is there", |browser| {
            let first = query.split('"').nth(5).unwrap_or_default();
            browser.text(EDITOR).contains(first)
        });
    }
}
