//! Operations of the playground for tests.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mesh_tests::{Browser, Database, Server, command, node_tools};
use serde_json::{Value, json};

pub(super) const EDITOR: &str = ".query-editor .cm-content";
/// The codes of keys in WebDriver.
pub(super) const CONTROL: char = '\u{e009}';
pub(super) const RELEASE: char = '\u{e000}';
const BACKSPACE: char = '\u{e003}';
pub(super) const ENTER: char = '\u{e007}';
pub(super) const ESCAPE: char = '\u{e00c}';

/// Serializes the tests with a browser, to save memory.
fn lock() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A loaded page with its schema.
pub(super) struct Page {
    pub(super) browser: Browser,
    pub(super) server: Server,
    _turn: MutexGuard<'static, ()>,
}

impl Page {
    pub(super) fn open(server: impl FnOnce() -> Server) -> Option<Self> {
        Self::open_in(server, 1440, 900)
    }

    /// Opens the page and reads the three tags of the blog.
    pub(super) fn with_tags() -> Option<Self> {
        let page = Self::open(blog)?.ready();
        page.browser.choose("[data-testid=entity]", "tag");
        page.wait_for_query("\"tag\"");
        page.run();
        page.browser.wait_for("[data-testid=status]", "3 objects");
        Some(page)
    }

    pub(super) fn open_in(server: impl FnOnce() -> Server, width: u32, height: u32) -> Option<Self> {
        let turn = lock();
        let browser = Browser::open(width, height)?;
        let page = Self { browser, server: server(), _turn: turn };
        page.browser.visit(&page.url(""));
        page.browser.wait("the page is there", |browser| browser.count(".panes") == 1);
        Some(page)
    }

    pub(super) fn url(&self, more: &str) -> String {
        format!("http://{}/docs{more}", self.server.address)
    }

    /// Returns the text of the editor.
    pub(super) fn query(&self) -> String {
        let script = "return [...document.querySelectorAll('.query-editor .cm-line')]
            .map((line) => line.textContent).join('\\n')";
        self.browser.run(script, &Value::Null).as_str().unwrap_or_default().to_owned()
    }

    /// Replaces the text of the editor by typing. The editor closes brackets, so only opening ones are typed.
    pub(super) fn type_query(&self, text: &str) {
        self.browser.type_into(EDITOR, &format!("{CONTROL}a{RELEASE}{BACKSPACE}"));
        self.browser.wait("the editor is empty", |_| {
            self.query().starts_with("Type a query") || self.query().is_empty()
        });
        self.browser.type_into(EDITOR, text);
    }

    pub(super) fn wait_for_query(&self, part: &str) {
        self.browser.wait(&format!("{part:?} in the query"), |_| self.query().contains(part));
    }

    pub(super) fn run(&self) {
        self.browser.click("[data-testid=run]");
    }

    /// Waits until the page is loaded and has a schema.
    pub(super) fn ready(self) -> Self {
        self.wait_for_query("$select");
        self
    }

    /// Loads the page again and waits for the new one.
    pub(super) fn reload(&self) {
        self.browser.run("window.isOld = true; location.reload()", &Value::Null);
        self.browser.wait("the page is loaded again", |browser| {
            let is_new = "return window.isOld === undefined && document.querySelector('.panes') !== null";
            browser.run(is_new, &Value::Null) == Value::Bool(true)
        });
    }

    pub(super) fn tick(&self, path: &str) {
        self.browser.click(&format!("input[data-path='{path}']"));
    }

    /// Asserts that the console has no errors and that no other host was contacted.
    pub(super) fn assert_clean(&self) {
        assert_eq!(self.browser.console_errors(), [""; 0]);
        self.assert_no_foreign_requests();
    }

    /// Asserts that axe finds nothing in the page as it is shown. Does nothing without the tools of Node.
    pub(super) fn assert_accessible(&self, what: &str) {
        self.assert_part_is_accessible("html", what);
    }

    /// Asserts that axe finds nothing in the element that matches a selector.
    fn assert_part_is_accessible(&self, part: &str, what: &str) {
        let Some(tools) = node_tools() else { return };
        if self.browser.run("return window.axe === undefined", &Value::Null) == Value::Bool(true) {
            let axe = std::fs::read_to_string(tools.join("node_modules/axe-core/axe.min.js")).unwrap();
            self.browser.run(&axe, &Value::Null);
        }
        let script = format!(
            "const done = arguments[arguments.length - 1];
            const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
            axe.run('{part}', {{runOnly: tags, resultTypes: ['violations']}})
                .then(({{violations}}) => done(violations.map(({{id, nodes}}) =>
                    `${{id}}: ${{nodes.map((node) => node.target.join(' ')).join(', ')}}`)));"
        );
        assert_eq!(self.browser.run_async(&script), json!([]), "{what}");
    }

    /// Asserts that axe finds nothing in an element at the widths of telephones, tablets and screens, in both themes.
    pub(super) fn assert_accessible_at_all_widths(&self, part: &str, what: &str) {
        for theme in ["light", "dark"] {
            for (width, height) in [(360, 740), (768, 1024), (1280, 800), (1920, 1080)] {
                self.browser.resize(width, height);
                self.assert_part_is_accessible(part, &format!("{what}, {width} pixels, {theme}"));
            }
            // The script works also if a dialog covers the button.
            self.browser.run("document.querySelector('[data-testid=theme]').click()", &Value::Null);
        }
    }

    pub(super) fn assert_no_foreign_requests(&self) {
        let own = format!("http://{}/", self.server.address);
        let requests = self.browser.requests();
        assert!(!requests.is_empty());
        let foreign: Vec<_> =
            requests.iter().filter(|url| !url.starts_with(&own) && !url.starts_with("data:")).collect();
        assert!(foreign.is_empty(), "{foreign:?}");
    }
}

pub(super) fn blog() -> Server {
    let database = Database::blog_with_posts(60);
    serve(&database, &["--docs"])
}

pub(super) fn serve(database: &Database, arguments: &[&str]) -> Server {
    let url = database.url();
    let mut all = vec!["serve", "--listen", "127.0.0.1:0", "--log", "off", "--database", &url];
    all.extend_from_slice(arguments);
    Server::try_spawn(&mut command(&all), Some(Arc::clone(&database.dir))).unwrap()
}
