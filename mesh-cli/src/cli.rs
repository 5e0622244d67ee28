//! The command line: commands with their help, and exit statuses.

mod args;
mod client;
mod commands;
mod failure;
mod output;
mod server;
mod settings;
mod temp_folder;
mod terminal;
mod usage_hints;

use std::backtrace::{Backtrace, BacktraceStatus};
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

use args::SchemaOutputArgs;
use commands::{
    api_key, check, completions, demo, explain, files, hash_password, health, introspect, json_schema, mcp,
    openapi, policy_test, query, serve, types, upload,
};

/// Serve a database as a read API that returns exactly the requested JSON
#[derive(Debug, Parser)]
#[command(name = "mesh-server", version, arg_required_else_help = true)]
#[command(after_help = "Examples:
  mesh-server demo                                  serve a sample blog
  mesh-server serve --database sqlite:blog.db       serve your database

Every setting of 'serve' can also be written in a TOML file (--config) or as an environment variable: \
MESH_ and the setting's path in capitals, with '__' for each dot, as in MESH_LIMITS__PAGE_MAX=100. Flags override \
variables, and variables override the file.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve a database over HTTP
    #[command(after_help = "Examples:
  mesh-server serve --database sqlite:blog.db
  mesh-server serve --config mesh.toml --listen 0.0.0.0:8080 --log-format json
  mesh-server serve --config mesh.toml --print-config

Without a schema document, entities and relations are inferred from the database. When the server is ready, it prints \
'listening on http://ADDR:PORT/BASE' to standard output; the log goes to standard error. The schema is reloaded when \
its file changes, and on SIGHUP.")]
    Serve(serve::ServeArgs),
    /// Serve a sample blog and print example calls
    #[command(after_help = "Examples:
  mesh-server demo
  mesh-server demo --listen 127.0.0.1:0 --database sample.db

Without --database the sample data is deleted when the server stops.")]
    Demo(demo::DemoArgs),
    /// Infer a schema document from a database
    #[command(after_help = "Examples:
  mesh-server introspect --database sqlite:blog.db
  mesh-server introspect --database sqlite:blog.db -o schema.json

Edit the document to rename or hide fields, then pass it to 'serve' with --schema.")]
    Introspect(introspect::IntrospectArgs),
    /// Check configuration, schema and database, and report all faults
    #[command(after_help = "Examples:
  mesh-server check --config mesh.toml
  mesh-server check --schema schema.json --database sqlite:blog.db

The exit status is 0 without faults and 1 with faults.")]
    Check(check::CheckArgs),
    /// Show the plan of a query and its SQL, without running it
    #[command(after_help = "Examples:
  mesh-server explain --database sqlite:blog.db '{ post title author { name } }'
  mesh-server explain --schema schema.json --id 7 '{\"post\": {\"$select\": {\"title\": true}}}'
  mesh-server explain --schema schema.json --role editor --user 7 --claim teamIds=1,2 '{ post title }'

With --role, the query is planned as the policies of the schema show it to that role: 'policy' marks the conditions that \
they add, and hidden names are refused as they are for clients. The value of a claim is text, or values between commas; \
JSON is accepted as well, such as '[1]' for a list of one.")]
    Explain(explain::ExplainArgs),
    /// Run expectations about policies from a file: what roles may read and write
    #[command(after_help = "Examples:
  mesh-server policy-test policies.toml --schema schema.json --database sqlite:blog.db
  mesh-server policy-test policies.toml --config mesh.toml --json

The file is TOML, with a [[case]] for each expectation:

  [sessions.ada]
  role = \"author\"
  user = 1

  [[case]]
  as = \"ada\"
  query = \"{ post id title }\"
  ids = [1, 2]

  [[case]]
  as = \"ada\"
  write = \"PUT /post/3\"
  body = { title = \"x\" }
  denied = { status = 404 }

Writes change nothing: on SQLite they run on a temporary copy of the file, on other databases in transactions \
that are rolled back, which still take generated ids. The exit status is 0 if all expectations hold, 1 if one does not, and 2 for \
a wrong file. docs/policies.md describes the file.")]
    PolicyTest(policy_test::PolicyTestArgs),
    /// Serve tools for an agent on standard input and output
    #[command(after_help = "Examples:
  mesh-server mcp --database sqlite:blog.db
  mesh-server mcp --config mesh.toml --role editor --user 7 --claim teamIds=1,2
  mesh-server mcp --config mesh.toml --role editor --writes

The client is a program that speaks the Model Context Protocol, such as an editor or an assistant, and starts this command. \
It can describe the schema, check, run and explain queries, and run those of 'persisted.preload'. With --role, it can do what \
the policies of the schema allow to that role; a schema with policies requires it. The log goes to standard error. \
docs/agents.md has more, also about the same tools over HTTP.")]
    Mcp(mcp::McpArgs),
    /// Send a query to a server and print the answer
    #[command(after_help = "Examples:
  mesh-server query '{ post title author { name } }'
  mesh-server query --id 7 '{ post title comments { body author { name } } }'
  mesh-server query --all '{\"user\": {\"$select\": {\"name\": true}, \"$page\": {\"first\": 100}}}'
  mesh-server query --login ada@example.org '{ post title }'
  mesh-server query --table '{ user id name role }'
  mesh-server query --export csv -o posts.csv '{ post id title author { name } }'

With --login, the password is taken from the variable MESH_PASSWORD or prompted for.")]
    Query(query::QueryArgs),
    /// Send a file to a field of a record
    #[command(after_help = "Examples:
  mesh-server upload user 7 avatar me.png
  mesh-server upload --login ada@example.org user 7 avatar me.png --meta '{\"caption\": \"Me\"}'

With --login, the password is taken from the variable MESH_PASSWORD or prompted for. The signature covers the hash of \
the file, so the server accepts exactly these bytes.")]
    Upload(upload::UploadArgs),
    /// List or remove stored files that no record references
    #[command(after_help = "Examples:
  mesh-server files --config mesh.toml
  mesh-server files --config mesh.toml --older-than 7d --remove

Each line has a file's key, its size in bytes and its age. Only columns that the schema declares for uploads are \
searched: keys in other columns do not count. Servers may keep running.")]
    Files(files::FilesArgs),
    /// Write TypeScript or Python types of a schema, and a client
    #[command(after_help = "Examples:
  mesh-server types --database sqlite:blog.db -o src/mesh.ts
  mesh-server types --database sqlite:blog.db --lang python -o blog.py
  mesh-server types --schema schema.json --role editor -o src/mesh.ts
  mesh-server types --database sqlite:blog.db -o src/mesh.ts --react

With -o, the client that the types use is written next to the file, as mesh-client.ts or mesh_client.py; without it, only the \
types are printed. With --react, hooks that show records and lists as they change are written as mesh-react.ts.")]
    Types(types::TypesArgs),
    /// Write an OpenAPI 3.1 description of the server with these settings
    #[command(after_help = "Examples:
  mesh-server openapi --database sqlite:blog.db
  mesh-server openapi --config mesh.toml -o openapi.json")]
    Openapi(SchemaOutputArgs),
    /// Write a JSON Schema of queries, for completion in editors
    #[command(after_help = "Examples:
  mesh-server json-schema --database sqlite:blog.db -o query.schema.json

Configure your editor to use it; in VS Code, with the setting json.schemas, for example for *.query.json.")]
    JsonSchema(SchemaOutputArgs),
    /// Print a completion script for a shell
    #[command(after_help = "Examples:
  mesh-server completions bash
  mesh-server completions fish

Save it where the shell looks for completions, such as ~/.local/share/bash-completion/completions/mesh-server, \
_mesh-server in a folder of zsh's fpath, or ~/.config/fish/completions/mesh-server.fish.")]
    Completions(completions::CompletionsArgs),
    /// Check whether a running server is ready
    #[command(after_help = "Examples:
  mesh-server health
  mesh-server health --config mesh.toml

It requests /readyz at 'admin.listen' or, if that is not set, at 'listen', on this machine. The exit status is 0 if the \
server is ready, else 1, as the health checks of containers expect.")]
    Health(health::HealthArgs),
    /// Create, list and revoke API keys
    #[command(after_help = "Examples:
  mesh-server api-key --config mesh.toml --role reader
  mesh-server api-key --config mesh.toml --role editor --owner 7 --expires 90d
  mesh-server api-key --config mesh.toml --role reader --create-table
  mesh-server api-key list --config mesh.toml
  mesh-server api-key revoke 1a2b3c4d5e6f --config mesh.toml

The key is printed to standard output once; the table 'api_keys.table' has its hash only. Clients send it as \
'Authorization: Bearer mk_…'.")]
    ApiKey(api_key::ApiKeyArgs),
    /// Print the hash of a password, for the table of accounts
    #[command(after_help = "Examples:
  mesh-server hash-password
  printf %s \"$PASSWORD\" | mesh-server hash-password

The password is prompted for, or is the first line of standard input. The hash is argon2id with a random salt.")]
    HashPassword,
}

/// Runs the command of the process's arguments. The exit status is 0 for success, 1 if a check found faults or a request
/// failed, and 2 for wrong usage or a fault at start.
pub(crate) fn run() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        let trace = Backtrace::capture();
        match trace.status() {
            BacktraceStatus::Captured => output::print_stderr(format_args!("{panic}\n{trace}")),
            _ => output::print_stderr(panic),
        }
    }));
    let result = match Cli::try_parse().unwrap_or_else(|error| usage_hints::add_hint(error).exit()).command {
        Command::Serve(args) => serve::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Introspect(args) => introspect::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::PolicyTest(args) => policy_test::run(&args),
        Command::Mcp(args) => mcp::run(&args),
        Command::Query(args) => query::run(&args),
        Command::Types(args) => types::run(&args),
        Command::Openapi(args) => openapi::run(&args),
        Command::JsonSchema(args) => json_schema::run(&args),
        Command::Completions(args) => completions::run(&args, Cli::command()),
        Command::Health(args) => health::run(&args),
        Command::ApiKey(args) => api_key::run(&args),
        Command::HashPassword => hash_password::run(),
        Command::Upload(args) => upload::run(&args),
        Command::Files(args) => files::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::report(&failure);
            ExitCode::from(failure.status)
        }
    }
}

#[cfg(test)]
mod tests;
