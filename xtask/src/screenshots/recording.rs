//! The recording of the first minute: clicks that lead from the schema to a result and its SQL.

use serde_json::{Value, json};

use super::Page;
use super::picture::{Picture, to_gif};

const WIDTH: u32 = 1280;
const HEIGHT: u32 = 720;
/// How long a frame of a movement is shown. This and the other durations are in hundredths of a second.
const MOVE: u16 = 5;
/// How long the page is shown after a click.
const HOLD: u16 = 110;
/// How long the last frame is shown.
const END: u16 = 320;
/// Frames of a movement of the pointer.
const STEPS: u32 = 7;

/// Draws a pointer over the page, which screenshots do not contain.
const POINTER: &str = "const pointer = document.createElement('img');
    pointer.id = 'pointer';
    pointer.alt = '';
    pointer.src = 'data:image/svg+xml,' + encodeURIComponent('<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"22\" height=\"28\" viewBox=\"0 0 22 28\"><path d=\"M3 2v19l5-4 3 8 4-1.6-3.2-7.6H19z\" fill=\"#111\" stroke=\"#fff\" stroke-width=\"1.6\"/></svg>');
    Object.assign(pointer.style, {position: 'fixed', zIndex: 99, left: '560px', top: '400px', pointerEvents: 'none'});
    document.body.append(pointer);";

/// Records the page in a theme, and returns the file.
pub(super) fn record(page: &Page, theme: &str) -> Result<Vec<u8>, String> {
    page.load(theme);
    page.browser.resize(WIDTH, HEIGHT);
    page.browser.run(POINTER, &Value::Null);
    let mut recording = Recording { page, frames: Vec::new() };
    recording.hold(HOLD)?;
    recording.click("#tree-post .start")?;
    page.browser.wait("a query of posts", |browser| browser.count("#tree-post[aria-expanded=true]") == 1);
    recording.hold(HOLD)?;
    for path in ["post.status", "post.comments", "post.comments.body"] {
        recording.click(&format!("input[data-path='{path}']"))?;
        recording.hold(HOLD / 2)?;
    }
    recording.click("[data-testid=run]")?;
    page.browser.wait_for("[data-testid=status]", "objects");
    recording.hold(2 * HOLD)?;
    recording.click("#result-panel-table")?;
    page.browser.wait_for("[data-testid=table]", "title");
    recording.hold(2 * HOLD)?;
    recording.click("#result-panel-sql")?;
    page.browser.wait_for("[data-testid=explain]", "");
    recording.hold(HOLD)?;
    recording.click("[data-testid=explain]")?;
    page.browser.wait("the query plan", |browser| browser.count(".query-plan") > 0);
    recording.hold(END)?;
    to_gif(&recording.frames)
}

struct Recording<'p> {
    page: &'p Page,
    frames: Vec<(Picture, u16)>,
}

impl Recording<'_> {
    /// Adds the current view as a frame.
    fn hold(&mut self, delay: u16) -> Result<(), String> {
        self.page.settle();
        self.frames.push((Picture::from_png(&self.page.browser.screenshot())?, delay));
        Ok(())
    }

    /// Moves the pointer to an element and clicks it.
    fn click(&mut self, selector: &str) -> Result<(), String> {
        let browser = &self.page.browser;
        browser.wait(selector, |browser| browser.count(selector) > 0);
        let step = "const {selector, part} = arguments[0], pointer = document.getElementById('pointer');
            document.querySelector(selector).scrollIntoView({block: 'nearest', behavior: 'instant'});
            const {x, y, width, height} = document.querySelector(selector).getBoundingClientRect();
            window.from ??= [pointer.offsetLeft, pointer.offsetTop];
            const to = [x + Math.min(width / 2, 40), y + height / 2], ease = part * part * (3 - 2 * part);
            pointer.style.left = `${window.from[0] + (to[0] - window.from[0]) * ease}px`;
            pointer.style.top = `${window.from[1] + (to[1] - window.from[1]) * ease}px`;
            if (part === 1) delete window.from;";
        for at in 1..=STEPS {
            let part = f64::from(at) / f64::from(STEPS);
            browser.run(step, &json!({"selector": selector, "part": part}));
            self.frames.push((Picture::from_png(&browser.screenshot())?, MOVE));
        }
        // A click of the driver would scroll the element into view and move the pointer of the page.
        browser.run("document.querySelector(arguments[0]).click()", &json!(selector));
        Ok(())
    }
}
