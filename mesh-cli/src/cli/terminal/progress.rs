//! Progress on the terminal while a command waits.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work that takes no longer than this is not shown.
const DELAY: Duration = Duration::from_secs(1);
/// Time between two frames of a spinner.
const FRAME: Duration = Duration::from_millis(100);

/// A spinner on standard error until it is dropped. It appears after a second, and only on a terminal.
pub(crate) struct Spinner(ProgressBar);

impl Spinner {
    /// Starts a spinner beside a message.
    pub(crate) fn start(message: impl Into<String>) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden())
            .with_style(style("{spinner} {msg} ({elapsed})").tick_chars("|/-\\ "))
            .with_message(message.into());
        let shown = bar.clone();
        std::thread::spawn(move || {
            std::thread::sleep(DELAY);
            if !shown.is_finished() {
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.enable_steady_tick(FRAME);
            }
        });
        Self(bar)
    }

    /// Replaces the message.
    pub(crate) fn set_message(&self, message: impl Into<String>) {
        self.0.set_message(message.into());
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Returns a progress bar for `bytes` bytes on standard error. It is hidden unless standard error is a terminal.
pub(crate) fn bytes_bar(bytes: u64) -> ProgressBar {
    let template = "[{bar:30}] {percent:>3} % {bytes} of {total_bytes} {binary_bytes_per_sec}";
    ProgressBar::new(bytes).with_style(style(template).progress_chars("##."))
}

/// Parses a template. The templates are constants; an invalid one would show the default style.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_valid() {
        for template in ["{spinner} {msg} ({elapsed})", "[{bar:30}] {percent:>3} % {bytes} of {total_bytes}"]
        {
            assert!(ProgressStyle::with_template(template).is_ok());
        }
    }

    #[test]
    fn short_work_shows_nothing() {
        let spinner = Spinner::start("working");
        assert!(spinner.0.is_hidden());
        drop(spinner);
    }
}
