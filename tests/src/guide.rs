//! Runs the code blocks of documentation pages in order, as a reader would paste them.
//!
//! Each page runs in its own folder, with one shell and the built program as `mesh-server`. The language of a block
//! decides what is done with it:
//!
//! | block | action |
//! |---|---|
//! | `sh` | run; every command has to succeed |
//! | `console` | text after `$ ` is run, the lines below are its expected output |
//! | `json`, `text` | compared with the output of the previous block |
//! | `toml` | written as `mesh.toml`, and checked by `mesh-server check` |
//! | `python`, `js` | run by `python3` and `node` |
//! | `ts` | compiled by TypeScript, strictly, and run |
//! | `rust` | a doc test of the crate that includes the page |
//!
//! In an expected output `…` matches anything: a part of a line, or any lines if it is alone on a line.
//! `mesh-server serve` and `demo` keep running, as in another terminal, until another server takes their port; so do
//! `curl -N` and commands that end in `&`. Each port of an address `127.0.0.1:PORT` is replaced by a free port.
//!
//! An HTML comment above a block, which readers do not see, overrides this:
//!
//! | comment | action |
//! |---|---|
//! | `<!-- file: NAME -->` | written to that file |
//! | `<!-- postgres -->`, `<!-- mysql -->` | run with the URL of a test database in place of the URL in the block |
//! | `<!-- query -->` | sent to the running server, which has to answer with success |
//! | `<!-- stream -->` | compared with the next output of the last `curl -N` |
//! | `<!-- not run: WHY -->` | nothing; the reason is printed |
//! | `<!-- setup … -->` | the lines of the comment are run, to prepare what a reader already has |

mod compare;
mod page;
mod shell;

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};

pub use page::{Block, Engine, Kind, Page};

use crate::fixture::TempDir;
use crate::mariadb::MariaDb;
use crate::postgres::Cluster;
use crate::wait::skip;
use shell::Shell;

/// Returns the root of the repository, which paths of pages are relative to.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The state that the blocks of a page share.
struct Run<'p> {
    page: &'p Page,
    folder: TempDir,
    shell: Shell,
    /// The output of the last command, for a block that shows it.
    output: Option<String>,
    /// Whether a program was skipped. If the page shows its output, the blocks below depend on it.
    is_left_out: bool,
    /// Whether the blocks below are skipped, too.
    is_ended: bool,
    /// A PostgreSQL cluster and its URL, started by the first block that needs it.
    cluster: Option<(Cluster, String)>,
    /// A server of MariaDB and its URL, started by the first block that needs it.
    mariadb: Option<(MariaDb, String)>,
}

/// The tables of the databases.
const TABLES: &str = "
CREATE TABLE users (id integer PRIMARY KEY, name text NOT NULL);
CREATE TABLE posts (id integer PRIMARY KEY, title text NOT NULL, author_id integer REFERENCES users (id));
INSERT INTO users VALUES (1, 'Ada');
INSERT INTO posts VALUES (1, 'Rust at dawn', 1);
";

impl Page {
    /// Runs all blocks in order. The first failure fails the test and is reported with its line.
    pub fn run(&self) {
        self.run_then(|_| {});
    }

    /// Runs all blocks and then `check`, while everything that the page has started is still running.
    pub fn run_then(&self, check: impl FnOnce(&Site<'_>)) {
        let folder = TempDir::new();
        let shell = Shell::start(&folder, self.port(4000));
        let mut run = Run {
            page: self,
            folder,
            shell,
            output: None,
            is_left_out: false,
            is_ended: false,
            cluster: None,
            mariadb: None,
        };
        for block in &self.blocks {
            if let Err(why) = run.block(block) {
                panic!("{}, line {}: {why}", self.name, block.line);
            }
            if run.is_ended {
                eprintln!(
                    "skipped: {} from line {}: it depends on a program that was left out",
                    self.name, block.line
                );
                break;
            }
        }
        check(&Site { run: RefCell::new(run) });
    }
}

/// The running servers and files of a page whose blocks were run.
pub struct Site<'p> {
    run: RefCell<Run<'p>>,
}

impl Site<'_> {
    /// Returns the free port that replaces a port of the page.
    #[must_use]
    pub fn port(&self, of_page: u16) -> u16 {
        self.run.borrow().page.port(of_page)
    }

    /// Returns the folder of the page's files.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.run.borrow().folder.path().join("page")
    }

    /// Runs a command in the page's shell; fails the test if the command fails.
    pub fn run_checked(&self, command: &str) -> String {
        self.run.borrow_mut().shell.run_checked(command).unwrap_or_else(|why| panic!("{why}"))
    }
}

impl Run<'_> {
    fn block(&mut self, block: &Block) -> Result<(), String> {
        self.run_as(&block.kind, &block.text, block.line)
    }

    fn run_as(&mut self, kind: &Kind, text: &str, line: usize) -> Result<(), String> {
        match kind {
            Kind::NotRun(why) => eprintln!("skipped: {}, line {line}: {why}", self.page.name),
            Kind::Database(engine, kind) => {
                let url = match engine {
                    Engine::Postgres => self.postgres(),
                    Engine::MySql => self.mysql(),
                };
                let Some(url) = url else {
                    // The rest of the page is about a server over this database, unless another one runs.
                    self.is_ended = *engine == Engine::MySql;
                    return Ok(());
                };
                let mut text = page::with_url(text, *engine, &url);
                if *engine == Engine::Postgres {
                    // On another port, so that the previous server keeps running.
                    let serve = format!("mesh-server serve --listen 127.0.0.1:{}", self.page.port(4009));
                    text = text.replace("mesh-server serve", &serve);
                }
                self.run_as(kind, &text, line)?;
            }
            // Run as a doc test; another test checks that a crate includes the page.
            Kind::Rust => {}
            Kind::File(name) => self.write(name, text)?,
            Kind::Settings(name) => {
                self.write(name, text)?;
                self.shell.run_checked(&format!("mesh-server check --config '{name}'"))?;
            }
            Kind::Script => {
                let commands = self.page.commands(text);
                let mut printed = String::new();
                for command in &commands {
                    printed.push_str(&self.shell.run_checked(command)?);
                }
                self.output = Some(printed);
            }
            Kind::Session => self.session(text)?,
            Kind::Program(interpreter) => {
                // The extension makes Node treat the file as a module, which allows top-level `await`.
                let file = if *interpreter == "node" { ".program.mjs" } else { ".program" };
                self.write(file, text)?;
                self.output = Some(self.shell.run_checked(&format!("{interpreter} {file}"))?);
            }
            Kind::TypeScript => self.typescript(text)?,
            Kind::Query => {
                self.write(".query", text)?;
                self.shell.run_checked("mesh-server query - < .query")?;
            }
            Kind::Stream => self.shell.stream(text)?,
            Kind::Output { json } => {
                let Some(output) = self.output.take() else {
                    if self.is_left_out {
                        self.is_ended = true;
                        return Ok(());
                    }
                    return Err("no command was run before this output".to_owned());
                };
                compare::compare(text, &output, *json)?;
            }
            Kind::Unknown(language) => {
                return Err(format!(
                    "blocks of '{language}' cannot be run; write `<!-- file: NAME -->` or `<!-- not run: WHY -->` above"
                ));
            }
        }
        Ok(())
    }

    /// Runs commands and compares their outputs. A command may fail if the page shows its output.
    fn session(&mut self, text: &str) -> Result<(), String> {
        for (command, expected) in page::session_steps(text)? {
            let shown = expected.as_deref();
            if shell::is_stream(&command) {
                self.shell.background(&command)?;
                self.shell.stream(shown.unwrap_or_default())?;
                continue;
            }
            let command = self.page.command(&command);
            let printed = match shown {
                Some(_) => self.shell.run(&command)?.0,
                None => self.shell.run_checked(&command)?,
            };
            match shown {
                Some(expected) => {
                    compare::compare(expected, &printed, false).map_err(|why| format!("{command}\n{why}"))?
                }
                None => self.output = Some(printed),
            }
        }
        Ok(())
    }

    /// Compiles and runs a module. Skipped if the compiler is not installed.
    fn typescript(&mut self, text: &str) -> Result<(), String> {
        let compiler = root().join("mesh-docs/ui/node_modules/typescript/bin/tsc");
        if !compiler.exists() {
            skip("TypeScript", "run `npm ci` in mesh-docs/ui");
            (self.output, self.is_left_out) = (None, true);
            return Ok(());
        }
        self.write("program.ts", text)?;
        self.write("package.json", r#"{"type": "module"}"#)?;
        let options = "--strict --target es2022 --module nodenext --lib es2022,dom --outDir .compiled";
        let compiler = compiler.display();
        self.shell.run_checked(&format!("node '{compiler}' {options} program.ts"))?;
        self.output = Some(self.shell.run_checked("node .compiled/program.js")?);
        Ok(())
    }

    /// Returns the URL of the page's PostgreSQL database, or `None` if PostgreSQL is not installed.
    fn postgres(&mut self) -> Option<String> {
        if self.cluster.is_none() {
            let cluster = Cluster::start()?;
            let url = cluster.database("blog", TABLES);
            self.cluster = Some((cluster, url));
        }
        self.cluster.as_ref().map(|(_, url)| url.clone())
    }

    /// Returns the URL of the page's database of MariaDB, or `None` if MariaDB is not installed.
    fn mysql(&mut self) -> Option<String> {
        if self.mariadb.is_none() {
            let server = MariaDb::start()?;
            let url = server.database("blog", TABLES);
            self.mariadb = Some((server, url));
        }
        self.mariadb.as_ref().map(|(_, url)| url.clone())
    }

    fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let path = self.folder.path().join("page").join(name);
        let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
        folder.and_then(|()| fs::write(&path, text)).map_err(|error| format!("cannot write {name}: {error}"))
    }
}
