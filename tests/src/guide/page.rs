//! Which blocks has a page, and what is each of them?

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{root, shell};

/// A page, its addresses with ports that are free.
#[derive(Debug)]
pub struct Page {
    /// Its path in the repository.
    pub name: String,
    /// What is fenced or hidden in it, in order.
    pub blocks: Vec<Block>,
    /// The ports of the page, and those that are taken for them.
    ports: BTreeMap<u16, u16>,
}

/// One block of a page.
#[derive(Debug)]
pub struct Block {
    /// The line on which it begins.
    pub line: usize,
    /// What is done with it.
    pub kind: Kind,
    /// What stands in it.
    pub text: String,
}

/// What is done with a block.
#[derive(Debug, PartialEq, Eq)]
pub enum Kind {
    /// Commands that have to succeed.
    Script,
    /// Commands, with what they print.
    Session,
    /// A program for an interpreter.
    Program(&'static str),
    /// What the block before has printed.
    Output {
        /// Blanks between its tokens mean nothing.
        json: bool,
    },
    /// More of what an open stream prints.
    Stream,
    /// A file.
    File(String),
    /// A file of settings.
    Settings(String),
    /// A query to ask of the server.
    Query,
    /// A module in TypeScript.
    TypeScript,
    /// Any of these, on a PostgreSQL that is started for the page.
    Postgres(Box<Self>),
    /// A doc test.
    Rust,
    /// Nothing, for a reason.
    NotRun(String),
    /// Nothing that is known; a fault.
    Unknown(String),
}

impl Page {
    /// Reads a page by its path in the repository.
    #[must_use]
    pub fn read(name: &str) -> Self {
        let text = fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut page = Self { name: name.to_owned(), blocks: Vec::new(), ports: BTreeMap::new() };
        let text = page.with_free_ports(&text);
        page.blocks = blocks(&text);
        page
    }

    /// The port that was taken for one of the page.
    pub(super) fn port(&self, of_page: u16) -> u16 {
        self.ports.get(&of_page).copied().unwrap_or_else(free_port)
    }

    fn with_free_ports(&mut self, text: &str) -> String {
        const HOST: &str = "127.0.0.1:";
        let mut out = String::with_capacity(text.len());
        let mut parts = text.split(HOST);
        out.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let (number, rest) = part.split_at(digits);
            out.push_str(HOST);
            match number.parse() {
                Ok(port) if port != 0 => {
                    out.push_str(&self.ports.entry(port).or_insert_with(free_port).to_string());
                }
                _ => out.push_str(number),
            }
            out.push_str(rest);
        }
        // Commands without an address mean this one.
        self.ports.entry(4000).or_insert_with(free_port);
        out
    }

    /// A command as it is run here: the program is built already.
    #[expect(clippy::unused_self, reason = "a page says how its commands are read")]
    pub(super) fn command(&self, text: &str) -> String {
        text.replace("cargo run --release -p mesh-server -- ", "mesh-server ")
            .replace("cargo run -p mesh-server -- ", "mesh-server ")
            .replace("target/release/mesh-server ", "mesh-server ")
    }

    /// The commands of a script: each that goes on has a step of its own, all others stay together.
    pub(super) fn commands(&self, text: &str) -> Vec<String> {
        let mut commands: Vec<String> = Vec::new();
        let (mut whole, mut continued) = (false, false);
        for line in self.command(text).lines() {
            let begins = !continued && shell::goes_on(line);
            match commands.last_mut() {
                Some(last) if !begins && (!whole || continued) => {
                    last.push('\n');
                    last.push_str(line);
                }
                _ => commands.push(line.to_owned()),
            }
            if !continued {
                whole = begins;
            }
            continued = line.ends_with('\\');
        }
        commands
    }
}

/// A text with another address in the place of each URL of a PostgreSQL.
pub(super) fn with_postgres(text: &str, url: &str) -> String {
    const SCHEME: &str = "postgres://";
    let mut parts = text.split(SCHEME);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'')).unwrap_or(part.len());
        out.push_str(url);
        out.push_str(part.get(end..).unwrap_or_default());
    }
    out
}

/// A port that nobody has. It is used some time later, so it is none of those that the system gives to whoever asks
/// for any, other tests among them.
fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let ports = 10_000_u32..30_000;
    let start = std::process::id().wrapping_mul(101);
    for _ in ports.clone() {
        let offset = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % (ports.end - ports.start);
        let port = u16::try_from(ports.start + offset).unwrap_or_default();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("no port is free")
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut note: Option<String> = None;
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let bare = line.trim_start();
        if let Some(begin) = bare.strip_prefix("<!--") {
            let mut comment = begin.to_owned();
            while !comment.contains("-->") {
                let Some((_, more)) = lines.next() else { break };
                comment.push('\n');
                comment.push_str(more);
            }
            let comment = comment.split("-->").next().unwrap_or_default().trim();
            match comment.strip_prefix("setup\n") {
                Some(commands) => {
                    blocks.push(Block { line: at + 1, kind: Kind::Script, text: commands.to_owned() });
                }
                None => note = Some(comment.to_owned()),
            }
            continue;
        }
        let Some(language) = bare.strip_prefix("```") else {
            if !bare.is_empty() {
                note = None;
            }
            continue;
        };
        let indent = line.len() - bare.len();
        let mut inner = String::new();
        for (_, line) in lines.by_ref() {
            if line.trim() == "```" {
                break;
            }
            inner.push_str(line.get(indent..).unwrap_or_default());
            inner.push('\n');
        }
        let kind = kind(language.trim(), note.take().as_deref(), &inner);
        blocks.push(Block { line: at + 1, kind, text: inner });
    }
    blocks
}

fn kind(language: &str, note: Option<&str>, text: &str) -> Kind {
    let named = |prefix| note.and_then(|note| note.strip_prefix(prefix)).map(|name| name.trim().to_owned());
    if let Some(why) = named("not run:") {
        return if why.is_empty() {
            Kind::Unknown("a block left out for no reason".to_owned())
        } else {
            Kind::NotRun(why)
        };
    }
    if let Some(name) = named("file:") {
        return Kind::File(name);
    }
    match note {
        Some("postgres") => return Kind::Postgres(Box::new(kind(language, None, text))),
        Some("query") => return Kind::Query,
        Some("stream") => return Kind::Stream,
        Some("output") => return Kind::Output { json: language == "json" },
        _ => {}
    }
    match language.split(',').next().unwrap_or_default() {
        "sh" | "bash" => Kind::Script,
        "console" => Kind::Session,
        "json" | "text" => Kind::Output { json: language == "json" },
        "toml" => {
            let first = text.lines().next().unwrap_or_default();
            let name = first.strip_prefix("# ").filter(|name| name.ends_with(".toml") && !name.contains(' '));
            Kind::Settings(name.unwrap_or("mesh.toml").to_owned())
        }
        "python" => Kind::Program("python3"),
        "js" => Kind::Program("node"),
        "ts" => Kind::TypeScript,
        "rust" => Kind::Rust,
        other => Kind::Unknown(other.to_owned()),
    }
}

/// The commands of a terminal session, and what is shown below each.
pub(super) fn dialog(text: &str) -> Result<Vec<(String, Option<String>)>, String> {
    let mut steps: Vec<(String, Option<String>)> = Vec::new();
    let mut continued = false;
    for line in text.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push((command.to_owned(), None));
            continued = command.ends_with('\\');
            continue;
        }
        let Some((command, output)) = steps.last_mut() else {
            return Err(format!("a command begins with `$ `, not so: {line}"));
        };
        if continued {
            command.push('\n');
            command.push_str(line);
            continued = line.ends_with('\\');
        } else {
            let output = output.get_or_insert_default();
            output.push_str(line);
            output.push('\n');
        }
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "Text\n\n```sh\necho 1\n```\n<!-- setup\necho 2\n-->\n\n<!-- file: a.json -->\n```json\n{}\n```\n\
        <!-- not run: needs a cloud -->\n\n```sh\nfly\n```\n<!-- a remark -->\nText\n```toml\n# own.toml\n```\n";

    #[test]
    fn a_block_is_what_its_language_and_the_comment_above_say() {
        let found: Vec<(usize, Kind, String)> =
            blocks(PAGE).into_iter().map(|block| (block.line, block.kind, block.text)).collect();
        let expected = [
            (3, Kind::Script, "echo 1\n"),
            (6, Kind::Script, "echo 2"),
            (11, Kind::File("a.json".to_owned()), "{}\n"),
            (16, Kind::NotRun("needs a cloud".to_owned()), "fly\n"),
            (21, Kind::Settings("own.toml".to_owned()), "# own.toml\n"),
        ];
        assert_eq!(found, expected.map(|(line, kind, text)| (line, kind, text.to_owned())));
        assert!(matches!(kind("", None, ""), Kind::Unknown(_)));
        assert!(matches!(kind("sh", Some("not run:"), ""), Kind::Unknown(_)));
    }

    #[test]
    fn a_postgres_takes_the_place_of_another() {
        let text = "a postgres://u@h/b?x=1 b\nc = \"postgres://h/d\"";
        assert_eq!(with_postgres(text, "U"), "a U b\nc = \"U\"");
    }

    #[test]
    fn equal_addresses_stay_equal_and_others_differ() {
        let mut page = Page { name: String::new(), blocks: Vec::new(), ports: BTreeMap::new() };
        let text = page.with_free_ports("127.0.0.1:4000/a 127.0.0.1:4001 127.0.0.1:4000, 127.0.0.1:0");
        let (first, second) = (page.port(4000), page.port(4001));
        assert_ne!(first, second);
        assert_eq!(text, format!("127.0.0.1:{first}/a 127.0.0.1:{second} 127.0.0.1:{first}, 127.0.0.1:0"));
    }

    #[test]
    fn what_goes_on_is_a_step_of_its_own() {
        let page = Page { name: String::new(), blocks: Vec::new(), ports: BTreeMap::new() };
        let text = "a=1\nb\nmesh-server serve \\\n  --docs\nc\nmesh-server demo\n";
        let commands = page.commands(text);
        assert_eq!(commands, ["a=1\nb", "mesh-server serve \\\n  --docs", "c", "mesh-server demo"]);
        let steps = dialog("$ a \\\n  b\n1\n2\n$ c\n").unwrap();
        assert_eq!(steps, [("a \\\n  b".to_owned(), Some("1\n2\n".to_owned())), ("c".to_owned(), None)]);
    }
}
