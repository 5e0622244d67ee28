//! Does a page of the documentation say what is so? Its blocks are run in order, as a reader would paste them.
//!
//! Each page has a folder of its own, one shell, and the built program as `mesh-server`. What a block is follows
//! from its language:
//!
//! | block | what is done |
//! |---|---|
//! | `sh` | run; every command has to succeed |
//! | `console` | what follows `$ ` is run, the lines below are its output |
//! | `json`, `text` | the output of the block before |
//! | `toml` | written as `mesh.toml`, and checked by `mesh-server check` |
//! | `python`, `js` | run by `python3` and `node` |
//! | `ts` | compiled by TypeScript, strictly, and run |
//! | `rust` | a doc test, wherever the page is included in documentation |
//!
//! In an output `…` stands for anything: a part of a line, or lines where it stands alone. `mesh-server serve` and
//! `demo` are started and go on, as in another terminal, until another one takes their port; so do `curl -N`, and
//! whatever ends in `&`. Each address `127.0.0.1:PORT` of a page becomes one with a free port.
//!
//! An HTML comment above a block, which readers do not see, says what else it is:
//!
//! | comment | what is done |
//! |---|---|
//! | `<!-- file: NAME -->` | written to that file |
//! | `<!-- postgres -->` | done with a PostgreSQL in the place of the one that the block names |
//! | `<!-- query -->` | asked of the running server, which has to answer it |
//! | `<!-- stream -->` | what the last `curl -N` prints next |
//! | `<!-- not run: WHY -->` | nothing; the reason is printed |
//! | `<!-- setup … -->` | the comment's own lines are run, for what a reader has at hand |

mod compare;
mod page;
mod shell;

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};

pub use page::{Block, Kind, Page};

use crate::fixture::TempDir;
use crate::postgres::Cluster;
use shell::Shell;

/// The folder that pages are named from.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What the blocks of a page share: a folder, a shell, and the output of the last command.
struct Run<'p> {
    page: &'p Page,
    folder: TempDir,
    shell: Shell,
    /// What the last command printed, to be compared with a block of its own.
    output: Option<String>,
    /// A PostgreSQL, once some block wants one.
    cluster: Option<(Cluster, String)>,
}

/// What lies in it.
const TABLES: &str = "
CREATE TABLE users (id integer PRIMARY KEY, name text NOT NULL);
CREATE TABLE posts (id integer PRIMARY KEY, title text NOT NULL, author_id integer REFERENCES users (id));
INSERT INTO users VALUES (1, 'Ada');
INSERT INTO posts VALUES (1, 'Rust at dawn', 1);
";

impl Page {
    /// Runs all blocks in order; fails the test at the first that is not so, naming its line.
    pub fn run(&self) {
        self.run_and(|_| {});
    }

    /// The same, and then more, with all that the page has started still running.
    pub fn run_and(&self, more: impl FnOnce(&Site<'_>)) {
        let folder = TempDir::new();
        let shell = Shell::start(&folder, self.port(4000));
        let mut run = Run { page: self, folder, shell, output: None, cluster: None };
        for block in &self.blocks {
            if let Err(why) = run.block(block) {
                panic!("{}, line {}: {why}", self.name, block.line);
            }
        }
        more(&Site { run: RefCell::new(run) });
    }
}

/// What a page has built, for tests that go on from there.
pub struct Site<'p> {
    run: RefCell<Run<'p>>,
}

impl Site<'_> {
    /// The port that a port of the page became.
    #[must_use]
    pub fn port(&self, of_page: u16) -> u16 {
        self.run.borrow().page.port(of_page)
    }

    /// The folder of the page's files.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.run.borrow().folder.path().join("page")
    }

    /// Runs a command in the page's shell; fails the test where it fails.
    pub fn must(&self, command: &str) -> String {
        self.run.borrow_mut().shell.must(command).unwrap_or_else(|why| panic!("{why}"))
    }
}

impl Run<'_> {
    fn block(&mut self, block: &Block) -> Result<(), String> {
        self.do_as(&block.kind, &block.text, block.line)
    }

    fn do_as(&mut self, kind: &Kind, text: &str, line: usize) -> Result<(), String> {
        match kind {
            Kind::NotRun(why) => eprintln!("left out: {}, line {line}: {why}", self.page.name),
            Kind::Postgres(kind) => {
                let Some(url) = self.postgres() else { return Ok(()) };
                // A port of its own, so that the server of before goes on.
                let serve = format!("mesh-server serve --listen 127.0.0.1:{}", self.page.port(4009));
                let text = page::with_postgres(text, &url).replace("mesh-server serve", &serve);
                self.do_as(kind, &text, line)?;
            }
            // Compiled and run as documentation; a test makes sure that the page is part of one.
            Kind::Rust => {}
            Kind::File(name) => self.write(name, text)?,
            Kind::Settings(name) => {
                self.write(name, text)?;
                self.shell.must(&format!("mesh-server check --config '{name}'"))?;
            }
            Kind::Script => {
                let commands = self.page.commands(text);
                let mut printed = String::new();
                for command in &commands {
                    printed.push_str(&self.shell.must(command)?);
                }
                self.output = Some(printed);
            }
            Kind::Session => self.session(text)?,
            Kind::Program(interpreter) => {
                // Node takes a file for a module, in which `await` and `import` stand anywhere, by its name.
                let file = if *interpreter == "node" { ".program.mjs" } else { ".program" };
                self.write(file, text)?;
                self.output = Some(self.shell.must(&format!("{interpreter} {file}"))?);
            }
            Kind::TypeScript => self.typescript(text)?,
            Kind::Query => {
                self.write(".query", text)?;
                self.shell.must("mesh-server query - < .query")?;
            }
            Kind::Stream => self.shell.stream(text)?,
            Kind::Output { json } => {
                let Some(output) = self.output.take() else {
                    return Err("nothing was run that this could be the output of".to_owned());
                };
                compare::compare(text, &output, *json)?;
            }
            Kind::Unknown(language) => {
                return Err(format!(
                    "it is not known how to run '{language}'; say `<!-- file: NAME -->` or `<!-- not run: WHY -->` above"
                ));
            }
        }
        Ok(())
    }

    /// Commands with their outputs. A failure is fine where the page shows what it prints.
    fn session(&mut self, text: &str) -> Result<(), String> {
        for (command, expected) in page::dialog(text)? {
            let shown = expected.as_deref();
            if shell::streams(&command) {
                self.shell.background(&command)?;
                self.shell.stream(shown.unwrap_or_default())?;
                continue;
            }
            let command = self.page.command(&command);
            let printed = match shown {
                Some(_) => self.shell.run(&command)?.0,
                None => self.shell.must(&command)?,
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

    /// A module, which has to compile and to run. It is passed over where the compiler was not fetched.
    fn typescript(&mut self, text: &str) -> Result<(), String> {
        let compiler = root().join("mesh-docs/ui/node_modules/typescript/bin/tsc");
        if !compiler.exists() {
            if std::env::var_os("MESH_REQUIRE_SERVICES").is_some_and(|value| value == "1") {
                return Err(
                    "TypeScript is not there, but MESH_REQUIRE_SERVICES says that it must be".to_owned()
                );
            }
            eprintln!("passed over: TypeScript is not there; get it with `npm ci` in mesh-docs/ui");
            return Ok(());
        }
        self.write("program.ts", text)?;
        self.write("package.json", r#"{"type": "module"}"#)?;
        let options = "--strict --target es2022 --module nodenext --lib es2022,dom --outDir .compiled";
        let compiler = compiler.display();
        self.shell.must(&format!("node '{compiler}' {options} program.ts"))?;
        self.output = Some(self.shell.must("node .compiled/program.js")?);
        Ok(())
    }

    /// Where the page's PostgreSQL is, or nowhere where there is none on this machine.
    fn postgres(&mut self) -> Option<String> {
        if self.cluster.is_none() {
            let cluster = Cluster::start()?;
            let url = cluster.database("blog", TABLES);
            self.cluster = Some((cluster, url));
        }
        self.cluster.as_ref().map(|(_, url)| url.clone())
    }

    fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let path = self.folder.path().join("page").join(name);
        let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
        folder.and_then(|()| fs::write(&path, text)).map_err(|error| format!("cannot write {name}: {error}"))
    }
}
