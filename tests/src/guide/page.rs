//! Parsing of documentation pages into blocks.

use std::collections::BTreeMap;
use std::fs;

use super::{root, shell};
use crate::port::free_port;

/// A page with its ports replaced by free ones.
#[derive(Debug)]
pub struct Page {
    /// The path in the repository.
    pub name: String,
    /// The fenced and hidden blocks in order.
    pub blocks: Vec<Block>,
    /// The ports of the page and the free ports that replace them.
    ports: BTreeMap<u16, u16>,
}

/// One block of a page.
#[derive(Debug)]
pub struct Block {
    /// The line on which the block begins.
    pub line: usize,
    /// What is done with the block.
    pub kind: Kind,
    /// The content.
    pub text: String,
}

/// The kind of a block.
#[derive(Debug, PartialEq, Eq)]
pub enum Kind {
    /// Commands that have to succeed.
    Script,
    /// Commands with their outputs.
    Session,
    /// A program for an interpreter.
    Program(&'static str),
    /// The output of the previous block.
    Output {
        /// Whether white space between tokens is ignored.
        json: bool,
    },
    /// Further output of the open stream.
    Stream,
    /// A file.
    File(String),
    /// A settings file.
    Settings(String),
    /// A query for the running server.
    Query,
    /// A TypeScript module.
    TypeScript,
    /// A block that runs against a database server of the page.
    Database(Engine, Box<Self>),
    /// A doc test.
    Rust,
    /// Not run, with the reason.
    NotRun(String),
    /// An unknown language, which is an error.
    Unknown(String),
}

/// The kind of a database server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// PostgreSQL.
    Postgres,
    /// MariaDB.
    MySql,
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

    /// Returns the free port that replaces a port of the page.
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
        // The default port of commands that name no address.
        self.ports.entry(4000).or_insert_with(free_port);
        out
    }

    /// Replaces `cargo run` by the program that is built already.
    #[expect(clippy::unused_self, reason = "commands are read in the context of a page")]
    pub(super) fn command(&self, text: &str) -> String {
        text.replace("cargo run --release -- ", "mesh-server ")
            .replace("target/release/mesh-server ", "mesh-server ")
    }

    /// Splits a script into steps: each command that starts a server is a step, other commands stay together.
    pub(super) fn commands(&self, text: &str) -> Vec<String> {
        let mut commands: Vec<String> = Vec::new();
        let (mut is_server, mut continued) = (false, false);
        for line in self.command(text).lines() {
            let starts_server = !continued && shell::is_server(line);
            match commands.last_mut() {
                Some(last) if !starts_server && (!is_server || continued) => {
                    last.push('\n');
                    last.push_str(line);
                }
                _ => commands.push(line.to_owned()),
            }
            if !continued {
                is_server = starts_server;
            }
            continued = line.ends_with('\\');
        }
        commands
    }
}

/// Replaces each URL of a database in a text.
pub(super) fn with_url(text: &str, engine: Engine, url: &str) -> String {
    let scheme = match engine {
        Engine::Postgres => "postgres://",
        Engine::MySql => "mysql://",
    };
    let mut parts = text.split(scheme);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'')).unwrap_or(part.len());
        out.push_str(url);
        out.push_str(part.get(end..).unwrap_or_default());
    }
    out
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
            Kind::Unknown("not run, without a reason,".to_owned())
        } else {
            Kind::NotRun(why)
        };
    }
    if let Some(name) = named("file:") {
        return Kind::File(name);
    }
    match note {
        Some("postgres") => return Kind::Database(Engine::Postgres, Box::new(kind(language, None, text))),
        Some("mysql") => return Kind::Database(Engine::MySql, Box::new(kind(language, None, text))),
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

/// Splits a terminal session into commands and the output shown below each.
pub(super) fn session_steps(text: &str) -> Result<Vec<(String, Option<String>)>, String> {
    let mut steps: Vec<(String, Option<String>)> = Vec::new();
    let mut continued = false;
    for line in text.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push((command.to_owned(), None));
            continued = command.ends_with('\\');
            continue;
        }
        let Some((command, output)) = steps.last_mut() else {
            return Err(format!("a command begins with `$ `, unlike this line: {line}"));
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
    fn language_and_comment_decide_the_kind_of_a_block() {
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
    fn urls_of_databases_are_replaced() {
        let text = "a postgres://u@h/b?x=1 b\nc = \"postgres://h/d\" mysql://e";
        assert_eq!(with_url(text, Engine::Postgres, "U"), "a U b\nc = \"U\" mysql://e");
    }

    #[test]
    fn equal_ports_stay_equal_and_others_differ() {
        let mut page = Page { name: String::new(), blocks: Vec::new(), ports: BTreeMap::new() };
        let text = page.with_free_ports("127.0.0.1:4000/a 127.0.0.1:4001 127.0.0.1:4000, 127.0.0.1:0");
        let (first, second) = (page.port(4000), page.port(4001));
        assert_ne!(first, second);
        assert_eq!(text, format!("127.0.0.1:{first}/a 127.0.0.1:{second} 127.0.0.1:{first}, 127.0.0.1:0"));
    }

    #[test]
    fn each_server_is_a_separate_step() {
        let page = Page { name: String::new(), blocks: Vec::new(), ports: BTreeMap::new() };
        let text = "a=1\nb\nmesh-server serve \\\n  --docs\nc\nmesh-server demo\n";
        let commands = page.commands(text);
        assert_eq!(commands, ["a=1\nb", "mesh-server serve \\\n  --docs", "c", "mesh-server demo"]);
        let steps = session_steps("$ a \\\n  b\n1\n2\n$ c\n").unwrap();
        assert_eq!(steps, [("a \\\n  b".to_owned(), Some("1\n2\n".to_owned())), ("c".to_owned(), None)]);
    }
}
