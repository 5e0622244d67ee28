//! Passwords from the terminal, without echo, or from standard input. They are never arguments, because other users of
//! the machine can see arguments.

use std::io::{self, BufRead, IsTerminal};

use console::Term;

/// The longest accepted password.
const MAX_BYTES: u64 = 64 * 1024;

/// Reads a password: prompts for it if standard input is a terminal, else takes the first line.
pub(crate) fn read_password(prompt: &str) -> io::Result<String> {
    let input = io::stdin();
    let text = if input.is_terminal() {
        let terminal = Term::stderr();
        terminal.write_str(prompt)?;
        terminal.read_secure_line()?
    } else {
        let mut text = String::new();
        io::Read::take(input.lock(), MAX_BYTES).read_line(&mut text)?;
        text
    };
    let text = text.trim_end_matches(['\r', '\n']);
    if text.is_empty() { Err(io::Error::other("no password was given")) } else { Ok(text.to_owned()) }
}
