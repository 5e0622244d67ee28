//! What can be typed after `mesh-server`? Commands, flags, and the examples that help shows.

mod files;
mod schema_output;

use std::io::{self, Read};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::config::Flags;
pub(crate) use files::FilesArgs;
pub(crate) use schema_output::{CompletionsArgs, DescribedArgs, TypesArgs};

/// Bytes of a query that are read from standard input at most, far above what a server takes.
const INPUT_BYTES: u64 = 16 << 20;

/// Read APIs that return exactly the JSON shape asked for.
#[derive(Debug, Parser)]
#[command(name = "mesh-server", version, arg_required_else_help = true)]
#[command(after_help = "Examples:
  mesh-server demo                                  try it, with sample data
  mesh-server serve --database sqlite:blog.db       serve a database you have

Every setting of 'serve' may also stand in a TOML file (--config) or in an environment variable: \
MESH_ and the setting's path in capitals, '__' between levels, as in MESH_LIMITS__PAGE_MAX=100. A flag is \
stronger than a variable, a variable stronger than the file.")]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve a database over HTTP
    #[command(after_help = "Examples:
  mesh-server serve --database sqlite:blog.db
  mesh-server serve --config mesh.toml --listen 0.0.0.0:8080 --log-format json
  mesh-server serve --config mesh.toml --print-config

Without a schema the entities and relations are inferred from the database. When the server is ready it prints \
'listening on http://ADDR:PORT/BASE' to standard output; the log goes to standard error. A change of the schema file, or \
SIGHUP, has a new schema take the place of the old one.")]
    Serve(ServeArgs),
    /// Serve a sample blog and print calls to try on it
    #[command(after_help = "Examples:
  mesh-server demo
  mesh-server demo --listen 127.0.0.1:0 --database sample.db

Without --database the sample data is gone when the server stops.")]
    Demo(DemoArgs),
    /// Write the schema document that is inferred from a database
    #[command(after_help = "Examples:
  mesh-server introspect --database sqlite:blog.db
  mesh-server introspect --database sqlite:blog.db -o schema.json

Edit the document to rename or to hide fields, then give it to 'serve' with --schema.")]
    Introspect(IntrospectArgs),
    /// Check configuration, schema and database, and report every fault at once
    #[command(after_help = "Examples:
  mesh-server check --config mesh.toml
  mesh-server check --schema schema.json --database sqlite:blog.db

The exit status is 0 when all is well and 1 when there are faults.")]
    Check(CheckArgs),
    /// Show the plan of a query and its SQL, without running it
    #[command(after_help = "Examples:
  mesh-server explain --database sqlite:blog.db '{ post title author { name } }'
  mesh-server explain --schema schema.json --id 7 '{\"post\": {\"$select\": {\"title\": true}}}'")]
    Explain(ExplainArgs),
    /// Ask a server and print the JSON that it answers
    #[command(after_help = "Examples:
  mesh-server query '{ post title author { name } }'
  mesh-server query --id 7 '{ post title comments { body author { name } } }'
  mesh-server query --all '{\"user\": {\"$select\": {\"name\": true}, \"$page\": {\"first\": 100}}}'
  mesh-server query --login ada@example.org '{ post title }'
  mesh-server query --table '{ user id name role }'

With --login the password is asked for, or taken from the variable MESH_PASSWORD.")]
    Query(QueryArgs),
    /// Send a file to a field of a record
    #[command(after_help = "Examples:
  mesh-server upload user 7 avatar me.png
  mesh-server upload --login ada@example.org user 7 avatar me.png --meta '{\"caption\": \"Me\"}'

With --login the password is asked for, or taken from the variable MESH_PASSWORD. The file's \
hash is part of what is signed, so the server takes these bytes and no others.")]
    Upload(UploadArgs),
    /// List stored files that no record refers to, and remove them if told to
    #[command(after_help = "Examples:
  mesh-server files --config mesh.toml
  mesh-server files --config mesh.toml --older-than 7d --remove

Each line is a file's key, its length in bytes and its age. Only columns that the schema gives to uploads are looked at: a \
key that stands elsewhere counts as no record. Servers may go on meanwhile.")]
    Files(FilesArgs),
    /// Write types of what queries select, and a client, for programs in TypeScript
    #[command(after_help = "Examples:
  mesh-server types --database sqlite:blog.db -o src/mesh.ts
  mesh-server types --schema schema.json --lang typescript
  mesh-server types --schema schema.json --role editor -o src/mesh.ts

With -o the client that the types build on is written beside the file, as mesh-client.ts; without, only the \
types are printed.")]
    Types(TypesArgs),
    /// Write a description of the server in OpenAPI 3.1, of what its settings turn on
    #[command(after_help = "Examples:
  mesh-server openapi --database sqlite:blog.db
  mesh-server openapi --config mesh.toml -o openapi.json")]
    Openapi(DescribedArgs),
    /// Write the JSON Schema of queries, by which editors complete them
    #[command(after_help = "Examples:
  mesh-server json-schema --database sqlite:blog.db -o query.schema.json

Tell the editor which files it is for; in VS Code by the setting json.schemas, say for *.query.json.")]
    JsonSchema(DescribedArgs),
    /// Print a script by which a shell completes commands and flags
    #[command(after_help = "Examples:
  mesh-server completions bash
  mesh-server completions fish

Save it where the shell looks, such as ~/.local/share/bash-completion/completions/mesh-server, a folder of zsh's \
fpath as _mesh-server, or ~/.config/fish/completions/mesh-server.fish.")]
    Completions(CompletionsArgs),
    /// Ask a running server whether it can do its work, by its own settings
    #[command(after_help = "Examples:
  mesh-server health
  mesh-server health --config mesh.toml

It asks /readyz at 'admin.listen', or else at 'listen', on this machine. The exit status is 0 when the server is ready, \
else 1: for the health check of a container, which needs no other program then.")]
    Health(HealthArgs),
    /// Print the hash of a password, for the table of accounts
    #[command(after_help = "Examples:
  mesh-server hash-password
  printf %s \"$PASSWORD\" | mesh-server hash-password

The password is typed unseen, or is the first line of standard input. The hash is argon2id, with salt of its own.")]
    HashPassword,
}

/// What `serve` takes.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// TOML file with settings [variable: MESH_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    source: SourceArgs,
    /// Address and port to listen on; port 0 picks a free one [default: 127.0.0.1:4000]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Path that all routes lie under; '' is the root [default: /mesh]
    #[arg(long, value_name = "PATH")]
    base: Option<String>,
    /// Threads that serve; 0 is one per core [default: 0]
    #[arg(long, value_name = "N")]
    threads: Option<String>,
    /// Print the settings in effect, with where each comes from and without secrets, and end
    #[arg(long)]
    pub(crate) print_config: bool,
    /// Offer the playground
    #[arg(long)]
    docs: bool,
    /// Offer the playground to everybody, or with SQL, on an address that is not loopback
    #[arg(long)]
    pub(crate) allow_open_docs: bool,
    /// Offer write routes, for what the schema document says is writable
    #[arg(long)]
    mutations: bool,
    #[command(flatten)]
    log: LogArgs,
}

impl ServeArgs {
    /// The settings among the flags.
    pub(crate) fn settings(&self) -> Flags {
        let own = given([("listen", &self.listen), ("base", &self.base), ("threads", &self.threads)]);
        let switches = [("docs.enabled", self.docs), ("mutations.enabled", self.mutations)];
        let switches = switches.into_iter().filter(|(_, on)| *on).map(|(path, _)| (path, "true".to_owned()));
        own.chain(switches).chain(self.source.settings()).chain(self.log.settings()).collect()
    }
}

/// What `demo` takes.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Address and port to listen on; port 0 picks a free one [default: 127.0.0.1:4000]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Keep the sample data in this file; it is filled if it does not exist yet
    #[arg(long, value_name = "FILE")]
    pub(crate) database: Option<PathBuf>,
    #[command(flatten)]
    log: LogArgs,
}

impl DemoArgs {
    /// The settings among the flags; the database is a file of the demo's own and not among them.
    pub(crate) fn settings(&self) -> Flags {
        given([("listen", &self.listen)]).chain(self.log.settings()).collect()
    }
}

/// What `introspect` takes.
#[derive(Debug, Args)]
pub(crate) struct IntrospectArgs {
    /// Database to look at, such as sqlite:blog.db or postgres://user@host/db
    #[arg(long, value_name = "URL")]
    pub(crate) database: String,
    /// Schemas of a PostgreSQL database to look at [default: the one that names without a schema mean]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) schema: Vec<String>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// What `check` takes.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// TOML file with settings [variable: MESH_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    source: SourceArgs,
    /// Print the statements that make PostgreSQL tell of changes, and with 'run' carry them out
    #[arg(long, value_name = "run", num_args = 0..=1, default_missing_value = "print", value_parser = ["print", "run"])]
    pub(crate) install_triggers: Option<String>,
}

impl CheckArgs {
    /// The settings among the flags.
    pub(crate) fn settings(&self) -> Flags {
        self.source.settings().collect()
    }
}

/// What `explain` takes.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// TOML file with settings [variable: MESH_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    source: SourceArgs,
    /// The query.
    #[command(flatten)]
    pub(crate) text: TextArgs,
    /// Explain the point read of this id instead of the collection read
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) id: Option<String>,
}

impl ExplainArgs {
    /// The settings among the flags.
    pub(crate) fn settings(&self) -> Flags {
        self.source.settings().collect()
    }
}

/// What `query` takes.
#[derive(Debug, Args)]
pub(crate) struct QueryArgs {
    /// Where the server is, its base path included
    #[arg(long, value_name = "BASE", default_value = "http://127.0.0.1:4000/mesh")]
    pub(crate) url: String,
    /// The query.
    #[command(flatten)]
    pub(crate) text: TextArgs,
    /// Read the record with this id instead of the collection
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) id: Option<String>,
    /// Follow the cursors and print the items of all pages
    #[arg(long, conflicts_with = "id")]
    pub(crate) all: bool,
    /// Print a table, what is nested as JSON
    #[arg(long)]
    pub(crate) table: bool,
    /// Trust servers that the certificates in this PEM file vouch for, rather than those that the system trusts
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// Log in under this name, sign what is asked, and log out
    #[arg(long, value_name = "NAME")]
    pub(crate) login: Option<String>,
}

/// What `upload` takes.
#[derive(Debug, Args)]
pub(crate) struct UploadArgs {
    /// Where the server is, its base path included
    #[arg(long, value_name = "BASE", default_value = "http://127.0.0.1:4000/mesh")]
    pub(crate) url: String,
    /// Trust servers that the certificates in this PEM file vouch for, rather than those that the system trusts
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// Log in under this name first
    #[arg(long, value_name = "NAME")]
    pub(crate) login: Option<String>,
    /// Further fields of the record to write, as a JSON object
    #[arg(long, value_name = "JSON")]
    pub(crate) meta: Option<String>,
    /// Content type of the file; left out, it is told from the file's name
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) content_type: Option<String>,
    /// Entity of the record
    pub(crate) entity: String,
    /// Id of the record
    #[arg(allow_negative_numbers = true)]
    pub(crate) id: String,
    /// Field that takes the file
    pub(crate) field: String,
    /// The file
    pub(crate) file: PathBuf,
}

/// What `health` takes.
#[derive(Debug, Args)]
pub(crate) struct HealthArgs {
    /// TOML file with settings [variable: MESH_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Address that the server listens on [default: 127.0.0.1:4000]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
}

impl HealthArgs {
    /// The settings among the flags.
    pub(crate) fn settings(&self) -> Flags {
        given([("listen", &self.listen)]).collect()
    }
}

/// Where data and schema come from.
#[derive(Debug, Args)]
struct SourceArgs {
    /// Database with the data, such as sqlite:blog.db or postgres://user@host/db
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Schema document; without one the schema is inferred from the database
    #[arg(long, value_name = "FILE")]
    schema: Option<String>,
}

impl SourceArgs {
    fn settings(&self) -> impl Iterator<Item = (&'static str, String)> {
        given([("database", &self.database), ("schema", &self.schema)])
    }
}

/// What is logged, and how.
#[derive(Debug, Args)]
struct LogArgs {
    /// What to log: a level, or levels by part as in mesh_server=debug [default: info]
    #[arg(long, value_name = "FILTER")]
    log: Option<String>,
    /// How log lines look [default: pretty]
    #[arg(long, value_name = "FORMAT", value_parser = ["pretty", "json"])]
    log_format: Option<String>,
}

impl LogArgs {
    fn settings(&self) -> impl Iterator<Item = (&'static str, String)> {
        given([("log", &self.log), ("log_format", &self.log_format)])
    }
}

/// The flags that were given, by the path of their setting.
fn given<const N: usize>(
    flags: [(&'static str, &Option<String>); N],
) -> impl Iterator<Item = (&'static str, String)> {
    flags.map(|(path, text)| Some((path, text.clone()?))).into_iter().flatten()
}

/// A query and the format it is in.
#[derive(Debug, Args)]
pub(crate) struct TextArgs {
    /// Format of the query; left out, it is told from the query itself
    #[arg(long)]
    format: Option<QueryFormat>,
    /// The query, or '-' to read it from standard input
    query: String,
}

impl TextArgs {
    /// The format and the text of the query; `input` is read where the query is `-`.
    pub(crate) fn resolve(&self, input: impl Read) -> io::Result<(QueryFormat, String)> {
        let text = if self.query == "-" {
            let mut text = String::new();
            input.take(INPUT_BYTES).read_to_string(&mut text)?;
            text
        } else {
            self.query.clone()
        };
        if !text.trim_start().starts_with('{') {
            let why = match text.trim().is_empty() {
                true => "there is no query; write one such as '{ post title }'",
                false => {
                    "a query begins with a brace, as in '{ post title }'; the name of an entity alone is none"
                }
            };
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        Ok((self.format.unwrap_or_else(|| QueryFormat::of(&text)), text))
    }
}

/// The two query formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum QueryFormat {
    /// A JSON object, with filters, order and pages
    Json,
    /// Braces and names, selection only
    Ql,
}

impl QueryFormat {
    /// The only format that the text can be in: in QL a name follows the first brace, in JSON it never does.
    /// `SPEC §4`
    pub(crate) fn of(text: &str) -> Self {
        let blank = [' ', '\t', '\r', '\n'];
        let inner = text.trim_start_matches(blank).strip_prefix('{');
        let first = inner.and_then(|inner| inner.trim_start_matches(blank).chars().next());
        match first {
            Some(letter) if letter.is_ascii_alphabetic() || letter == '_' => Self::Ql,
            _ => Self::Json,
        }
    }
}

impl From<QueryFormat> for mesh_ql::Format {
    fn from(format: QueryFormat) -> Self {
        match format {
            QueryFormat::Json => Self::Json,
            QueryFormat::Ql => Self::Ql,
        }
    }
}

#[cfg(test)]
mod tests;
