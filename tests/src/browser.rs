//! A headless Chromium, driven over WebDriver.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use thirtyfour::error::{WebDriverErrorInner as Fault, WebDriverResult};
use thirtyfour::{
    BrowserLogEntry, By, ChromeCapabilities, ChromiumLikeCapabilities, LoggingPrefsLogLevel, WebDriver,
    WebElement,
};
use tokio::runtime::{Builder, Runtime};

use crate::fixture::TempDir;
use crate::parts::Part;
use crate::wait::{skip, wait_for, wait_until};

/// Names or paths of the driver and of the browser.
const DRIVERS: [&str; 2] = ["chromedriver", "/usr/lib/chromium/chromedriver"];
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// The number of attempts to start the driver before the start counts as failed.
const STARTS: usize = 5;

/// A browser with one page, closed when this value is dropped.
#[derive(Debug)]
pub struct Browser {
    session: WebDriver,
    /// Waits for the replies of the driver, so that tests are plain functions.
    runtime: Runtime,
    _driver: Driver,
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
        // The client of the driver is built with TLS where other crates ask for it; it does not open without a provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let files = TempDir::new();
        let driver = Driver::start(&driver, files.path());
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let url = format!("http://127.0.0.1:{}", driver.port);
        let options = options(&browser, width, height).expect("options in JSON");
        let session = runtime.block_on(WebDriver::new(url, options)).expect("a session");
        let browser = Self { session, runtime, _driver: driver, _files: files };
        browser.resize(width, height);
        Some(browser)
    }

    /// Loads a page.
    pub fn visit(&self, url: &str) {
        self.reply(url, self.session.goto(url));
    }

    /// Sets the size of the viewport, independent of the window.
    pub fn resize(&self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.devtools("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Sends a command of the Chrome DevTools Protocol.
    pub fn devtools(&self, command: &str, parameters: &Value) -> Value {
        self.reply(command, self.session.cdp().send_raw(command, parameters))
    }

    /// Runs a script in the page and returns its result; the argument is `arguments[0]` in the script.
    pub fn run(&self, script: &str, argument: &Value) -> Value {
        self.reply(script, self.session.execute(script, vec![argument.clone()])).json().clone()
    }

    /// Runs a script that calls its last argument with the result when it is done.
    pub fn run_async(&self, script: &str) -> Value {
        self.reply(script, self.session.execute_async(script, Vec::new())).json().clone()
    }

    /// Waits for an element that matches a CSS selector and clicks it.
    pub fn click(&self, selector: &str) {
        self.with(selector, "click", async |element| element.click().await);
    }

    /// Types into an element.
    pub fn type_into(&self, selector: &str, text: &str) {
        self.with(selector, "typing into", async |element| element.send_keys(text).await);
    }

    /// Sets the value of a field or select and dispatches its `change` event.
    pub fn choose(&self, selector: &str, value: &str) {
        let script = "const [it, value] = arguments; it.value = value; it.dispatchEvent(new Event('change', {bubbles: true}))";
        self.with(selector, "choice in", async |element| {
            self.session.execute(script, vec![element.to_json()?, json!(value)]).await
        });
    }

    /// Returns the visible text of an element.
    #[must_use]
    pub fn text(&self, selector: &str) -> String {
        self.with(selector, "text of", async |element| element.text().await)
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
        self.reply("a screenshot", self.session.screenshot_as_png())
    }

    /// Returns the warnings and errors of the console since the last call.
    #[must_use]
    pub fn console_errors(&self) -> Vec<String> {
        let entries = self.reply("the console", self.session.browser_log());
        let is_bad = |entry: &BrowserLogEntry| matches!(entry.level.as_str(), "SEVERE" | "WARNING");
        entries.into_iter().filter(is_bad).map(|entry| entry.message).collect()
    }

    /// Returns the URLs of all requests since the last call.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        let entries = self.reply("the log of requests", self.session.get_log("performance"));
        let url = |entry: BrowserLogEntry| {
            let logged: Value = serde_json::from_str(&entry.message).ok()?;
            let message = logged.get("message").filter(|it| it["method"] == "Network.requestWillBeSent")?;
            message.pointer("/params/request/url")?.as_str().map(str::to_owned)
        };
        entries.into_iter().filter_map(url).collect()
    }

    /// Waits for the reply of the driver; fails the test with its error.
    #[track_caller]
    fn reply<T>(&self, what: &str, call: impl Future<Output = WebDriverResult<T>>) -> T {
        self.runtime.block_on(call).unwrap_or_else(|error| panic!("{what}: {error}"))
    }

    /// Waits for an element that matches a selector and uses it. As the page may be rendered at any time, this is tried
    /// again with the element that has replaced it, and while another element covers it.
    fn with<T>(
        &self,
        selector: &str,
        what: &str,
        mut use_it: impl AsyncFnMut(WebElement) -> WebDriverResult<T>,
    ) -> T {
        wait_for(&format!("{what} {selector}"), || {
            let result =
                self.runtime.block_on(async { use_it(self.session.find(By::Css(selector)).await?).await });
            result.inspect_err(|error| {
                let is_unsettled = matches!(
                    error.as_inner(),
                    Fault::NoSuchElement(_)
                        | Fault::StaleElementReference(_)
                        | Fault::ElementClickIntercepted(_)
                        | Fault::ElementNotInteractable(_)
                );
                assert!(is_unsettled, "{what} {selector}: {error}");
            })
        })
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.runtime.block_on(self.session.clone().quit());
    }
}

/// Returns the options of the browser.
fn options(browser: &str, width: u32, height: u32) -> WebDriverResult<ChromeCapabilities> {
    let mut options = ChromeCapabilities::new();
    options.set_binary(browser)?;
    for argument in [
        "--headless=new",
        // The tests may run as root, in a container with little shared memory.
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--hide-scrollbars",
        "--force-prefers-reduced-motion",
        "--lang=en-US",
        &format!("--window-size={width},{height}"),
    ] {
        options.add_arg(argument)?;
    }
    options.set_logging_prefs("browser", LoggingPrefsLogLevel::All)?;
    options.set_logging_prefs("performance", LoggingPrefsLogLevel::All)?;
    options
        .add_experimental_option("perfLoggingPrefs", json!({"enableNetwork": true, "enablePage": false}))?;
    Ok(options)
}

/// A running `chromedriver`, ended when this value is dropped.
#[derive(Debug)]
struct Driver {
    process: Child,
    port: u16,
}

impl Driver {
    /// Starts the driver on a free port, with a directory for temporary files. On a busy machine it sometimes exits before
    /// it has a port, so it is started again.
    fn start(program: &str, files: &Path) -> Self {
        let mut printed = String::new();
        for _ in 0..STARTS {
            let mut process = Command::new(program)
                .arg("--port=0")
                .env("TMPDIR", files)
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .expect("the driver starts");
            let mut output = BufReader::new(process.stdout.take().expect("a pipe"));
            let mut driver = Self { process, port: 0 };
            match port(&mut output) {
                Ok(port) => {
                    // The output is drained, because the driver blocks when the pipe is full.
                    std::thread::spawn(move || output.read_to_end(&mut Vec::new()));
                    driver.port = port;
                    return driver;
                }
                Err(text) => printed = text,
            }
        }
        panic!("the driver did not start: {printed}")
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the path of the first program that exists.
fn find(names: &[&str]) -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = std::env::split_paths(&path).collect();
    let mut files = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    files.find(|file| file.is_file()).map(|file| file.display().to_string())
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
