//! A headless Chromium, driven over WebDriver.

#![expect(clippy::indexing_slicing, reason = "indexing a JSON value returns null for a missing member")]

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mesh_conformance::http::{Connection, Request, Response};
use serde_json::{Value, json};

use crate::fixture::TempDir;
use crate::parts::Part;
use crate::wait::{skip, wait_for, wait_until};

/// Names or paths of the driver and of the browser.
const DRIVERS: [&str; 2] = ["chromedriver", "/usr/lib/chromium/chromedriver"];
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// The number of attempts to start the driver before the start counts as failed.
const STARTS: usize = 5;
/// Errors of an element that is replaced or moved while the driver looks at it; the page may be rendered at any time.
const UNSETTLED: [&str; 3] =
    ["stale element reference", "element click intercepted", "element not interactable"];
/// The member under which WebDriver returns the id of an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A browser with one page, closed when this value is dropped.
#[derive(Debug)]
pub struct Browser {
    driver: Child,
    address: SocketAddr,
    session: String,
    /// The directory for temporary files, of which a browser leaves some behind.
    _files: TempDir,
}

impl Browser {
    /// Starts a browser with a window of that size. Returns `None` if no browser is installed; fails the test instead
    /// if `MESH_REQUIRE_SERVICES` is set.
    #[must_use]
    pub fn open(width: u32, height: u32) -> Option<Self> {
        if Part::Browser.is_left_out() {
            return None;
        }
        let Some((driver, browser)) = find(&DRIVERS).zip(find(&BROWSERS)) else {
            skip("Chromium", "install Debian's chromium and chromium-driver");
            return None;
        };
        let files = TempDir::new();
        let (driver, port) = start(&driver, files.path());
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let window = format!("--window-size={width},{height}");
        let arguments = [
            "--headless=new",
            // The tests may run as root, in a container with little shared memory.
            "--no-sandbox",
            "--disable-dev-shm-usage",
            "--disable-gpu",
            "--hide-scrollbars",
            "--force-prefers-reduced-motion",
            "--lang=en-US",
            &window,
        ];
        let options = json!({
            "binary": browser,
            "args": arguments,
            "perfLoggingPrefs": {"enableNetwork": true, "enablePage": false},
        });
        let wanted = json!({
            "browserName": "chrome",
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
            "goog:chromeOptions": options,
        });
        let mut browser = Self { driver, address, session: String::new(), _files: files };
        let made = browser.send("POST", "/session", &json!({"capabilities": {"alwaysMatch": wanted}}));
        let id = made.get("sessionId").and_then(Value::as_str);
        browser.session = id.unwrap_or_else(|| panic!("no session: {made}")).to_owned();
        browser.resize(width, height);
        browser.call("POST", "/timeouts", &json!({"script": 60_000}));
        Some(browser)
    }

    /// Loads a page.
    pub fn visit(&self, url: &str) {
        self.call("POST", "/url", &json!({"url": url}));
    }

    /// Sets the size of the viewport, independent of the window.
    pub fn resize(&self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.devtools("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Sends a command of the Chrome DevTools Protocol.
    pub fn devtools(&self, command: &str, parameters: &Value) -> Value {
        self.call("POST", "/goog/cdp/execute", &json!({"cmd": command, "params": parameters}))
    }

    /// Runs a script in the page and returns its result; the argument is `arguments[0]` in the script.
    pub fn run(&self, script: &str, argument: &Value) -> Value {
        self.call("POST", "/execute/sync", &json!({"script": script, "args": [argument]}))
    }

    /// Runs a script that calls its last argument with the result when it is done.
    pub fn run_async(&self, script: &str) -> Value {
        self.call("POST", "/execute/async", &json!({"script": script, "args": []}))
    }

    /// Waits for an element that matches a CSS selector and clicks it.
    pub fn click(&self, selector: &str) {
        self.call_element("POST", selector, "click", &json!({}));
    }

    /// Types into an element.
    pub fn type_into(&self, selector: &str, text: &str) {
        self.call_element("POST", selector, "value", &json!({"text": text}));
    }

    /// Sets the value of a field or select and dispatches its `change` event.
    pub fn choose(&self, selector: &str, value: &str) {
        self.find(selector);
        let script = "const [selector, value] = arguments[0]; const it = document.querySelector(selector);
             it.value = value; it.dispatchEvent(new Event('change', {bubbles: true}));";
        self.run(script, &json!([selector, value]));
    }

    /// Returns the visible text of an element.
    #[must_use]
    pub fn text(&self, selector: &str) -> String {
        let text = self.call_element("GET", selector, "text", &Value::Null);
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Returns the number of elements that match a selector.
    #[must_use]
    pub fn count(&self, selector: &str) -> u64 {
        let script = "return document.querySelectorAll(arguments[0]).length";
        self.run(script, &json!(selector)).as_u64().unwrap_or_default()
    }

    /// Waits until a condition holds; fails the test with its description after a fixed time.
    pub fn wait(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        wait_until(what, || holds(self));
    }

    /// Waits until the text of an element contains `text`.
    pub fn wait_for(&self, selector: &str, text: &str) {
        wait_for(&format!("{selector} shows {text:?}"), || {
            let shown = self.text(selector);
            if shown.contains(text) { Ok(()) } else { Err(shown) }
        });
    }

    /// Takes a screenshot as PNG.
    #[must_use]
    pub fn screenshot(&self) -> Vec<u8> {
        let image = self.call("GET", "/screenshot", &Value::Null);
        STANDARD.decode(image.as_str().unwrap_or_default()).expect("an image in base64")
    }

    /// Returns the warnings and errors of the console since the last call.
    #[must_use]
    pub fn console_errors(&self) -> Vec<String> {
        let entries = self.call("POST", "/se/log", &json!({"type": "browser"}));
        let entries = entries.as_array().cloned().unwrap_or_default();
        let bad = |entry: &&Value| matches!(entry["level"].as_str(), Some("SEVERE" | "WARNING"));
        entries.iter().filter(bad).map(|entry| entry["message"].to_string()).collect()
    }

    /// Returns the URLs of all requests since the last call.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        let entries = self.call("POST", "/se/log", &json!({"type": "performance"}));
        let entries = entries.as_array().cloned().unwrap_or_default();
        let messages = entries.iter().filter_map(|entry| {
            let message: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
            Some(message["message"].clone())
        });
        messages
            .filter(|message| message["method"] == "Network.requestWillBeSent")
            .filter_map(|message| Some(message["params"]["request"]["url"].as_str()?.to_owned()))
            .collect()
    }

    /// Waits for an element that matches a selector and returns its id.
    fn find(&self, selector: &str) -> String {
        wait_for(&format!("the page has an element {selector}"), || {
            let found = self.call("POST", "/elements", &json!({"using": "css selector", "value": selector}));
            found[0][ELEMENT].as_str().map(str::to_owned).ok_or("no such element")
        })
    }

    /// Waits for an element that matches a selector and calls one of its operations, on the element that has replaced it
    /// if it is gone by then.
    fn call_element(&self, method: &str, selector: &str, operation: &str, body: &Value) -> Value {
        wait_for(&format!("{operation} of {selector}"), || {
            let path = format!("/session/{}/element/{}/{operation}", self.session, self.find(selector));
            self.try_send(method, &path, body).map_err(|error| {
                let is_unsettled = error["error"].as_str().is_some_and(|kind| UNSETTLED.contains(&kind));
                assert!(is_unsettled, "{method} {path}: {error}");
                error
            })
        })
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        self.send(method, &format!("/session/{}{path}", self.session), body)
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        self.try_send(method, path, body).unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    /// Sends a command to the driver and returns the value of the reply, or its error.
    fn try_send(&self, method: &str, path: &str, body: &Value) -> Result<Value, Value> {
        let reply = self.request(method, path, body).expect("the driver answers").json();
        let value = reply["value"].clone();
        if value.get("error").is_some() { Err(value) } else { Ok(value) }
    }

    /// Sends a request to the driver, which accepts `localhost` as host only.
    fn request(&self, method: &str, path: &str, body: &Value) -> Option<Response> {
        let mut request = Request::new(method, path).header("Connection", "close");
        if method == "POST" {
            request = request.header("Content-Type", "application/json").body(body.to_string());
        }
        let mut connection = Connection::open(&self.address.to_string()).ok()?;
        connection.write(&request.bytes_for("localhost"));
        connection.read(false)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            let _ = self.request("DELETE", &format!("/session/{}", self.session), &Value::Null);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// Returns the path of the first program that exists.
fn find(names: &[&str]) -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = std::env::split_paths(&path).collect();
    names.iter().find_map(|name| {
        let here = folders.iter().map(|folder| folder.join(name)).find(|file| file.is_file());
        here.or_else(|| Some(Path::new(name).to_owned()).filter(|file| file.is_absolute() && file.is_file()))
            .map(|file| file.display().to_string())
    })
}

/// Starts the driver on a free port, with a directory for temporary files. On a busy machine it sometimes exits before it
/// has a port, so it is started again.
fn start(program: &str, files: &Path) -> (Child, u16) {
    let mut printed = String::new();
    for _ in 0..STARTS {
        let mut driver = Command::new(program)
            .arg("--port=0")
            .env("TMPDIR", files)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the driver starts");
        let mut output = BufReader::new(driver.stdout.take().expect("a pipe"));
        match port(&mut output) {
            Ok(port) => {
                // The output is drained, because the driver blocks when the pipe is full.
                std::thread::spawn(move || output.read_to_end(&mut Vec::new()));
                return (driver, port);
            }
            Err(text) => printed = text,
        }
        let _ = driver.kill();
        let _ = driver.wait();
    }
    panic!("the driver did not start: {printed}")
}

/// Reads the port from the output of the driver, or returns the output if it ends without one.
fn port(output: &mut impl BufRead) -> Result<u16, String> {
    let mut printed = String::new();
    while output.read_line(&mut printed).expect("the driver's output") > 0 {
        let last = printed.lines().last().unwrap_or_default();
        if let Some((_, port)) = last.split_once("started successfully on port ") {
            return Ok(port.trim_end_matches(['.', ' ']).parse().expect("a port"));
        }
    }
    Err(printed)
}
