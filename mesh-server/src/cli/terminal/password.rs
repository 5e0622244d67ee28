//! How is a password asked for? From the terminal without showing it, or as a line of standard input; never as
//! an argument, which other users of the machine could see.

use std::io::{self, BufRead, IsTerminal, Write};
use std::process::{Command, Stdio};

/// No longer password is read.
const MAX_BYTES: u64 = 64 * 1024;

/// Reads one.
pub(crate) fn read(prompt: &str) -> io::Result<String> {
    let input = io::stdin();
    if !input.is_terminal() {
        return line();
    }
    let mut out = io::stderr();
    write!(out, "{prompt}")?;
    out.flush()?;
    let hidden = Hidden::begin();
    let password = line();
    drop(hidden);
    writeln!(out)?;
    password
}

fn line() -> io::Result<String> {
    let mut text = String::new();
    io::Read::take(io::stdin().lock(), MAX_BYTES).read_line(&mut text)?;
    let length = text.trim_end_matches(['\r', '\n']).len();
    text.truncate(length);
    if text.is_empty() { Err(io::Error::other("no password was given")) } else { Ok(text) }
}

/// As long as this lives, the terminal does not show what is typed, where it can be told so.
struct Hidden;

impl Hidden {
    fn begin() -> Option<Self> {
        stty("-echo").then_some(Self)
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        stty("echo");
    }
}

fn stty(mode: &str) -> bool {
    let told = Command::new("stty").arg(mode).stdout(Stdio::null()).stderr(Stdio::null()).status();
    told.is_ok_and(|status| status.success())
}
