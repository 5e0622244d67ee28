//! The development tasks of this repository. `cargo xtask` lists them.

#![expect(clippy::print_stdout, reason = "figures are the output of a command")]

mod arguments;
mod bench;
mod conformance;
mod crates;
mod dist;
mod files;
mod fuzz;
mod missing;
mod optional;
mod pages;
mod screenshots;
mod soak;
mod steps;
mod test;
mod tidy;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use steps::Steps;

const HELP: &str = "\
The development tasks of this repository.

Usage: cargo xtask <COMMAND>

Commands:
  test [--all | PATTERN]
                       Build the server and run the tests that need no other program; --all adds engines, clusters, the
                       browser, type checkers, packages, the judge of the conformance cases, and examples of the
                       documentation; PATTERN is a part of the names of tests
  check                Check formatting, lints, tidy rules, documentation, packages, and each feature on its own
  conformance [OPTIONS]
                       Run the cases in tests/conformance against this server, or against --target URL; see
                       `cargo xtask conformance --help`
  soak [traffic|attacks|differential|laws] [--minutes N | --seconds N]
                       Send mixed traffic to a server, attack it beside honest traffic, and compare random queries
                       with a simple resolver; in release mode, one minute each by default, ten for the attacks
  fuzz [--seconds N] [--stable] [TARGET]
                       Run the fuzz targets for 60 seconds each, with `cargo fuzz` if installed, else with random
                       mutations
  bench [OPTIONS]      Measure the server against hand-written servers; see docs/performance.md
                       [--workload w1,w2,...|reads|forms|relational|cache|growth|starve|all] [--seconds N] [--rounds N]
                       [--only limit,joined,mesh,constant,graphql] [--journal wal|delete] [--json] [--no-build]
                       [--size 1MB,124MB,10GB] [--requests N]
  bench alternatives   Measure the server beside async-graphql, PostGraphile, Datasette and PostgREST's statement
                       [--workload w1,w2,w3,w4] [--seconds N] [--rounds N] [--no-build]
  bench caching        Measure what nginx as a cache saves: hits, revalidations, and purges [OPTIONS]
  bench cancel         Measure the time until an abandoned read has left the database [--no-build]
  bench figures        Run all benchmarks, for the figures of the documentation; takes about an hour [--rounds N]
  bench events         Measure event streams: 5,000 of one record and of 50 lists, 10,000 idle [--no-build]
  bench memory         Measure the memory of an idle connection, an event stream and a cached plan [--no-build]
  bench overload       Measure goodput under overload, and memory with 10,000 connections [--no-build]
  bench parts          Run the micro-benchmarks of parsing, planning, shaping, cursors, signatures and bearers [--seconds N]
                       [--json]
  bench postgres       Measure the server over PostgreSQL against hand-written ones, or (--scale) with replicas
                       [--workload w1,w2,...] [--seconds N] [--rounds N] [--no-build]; see docs/performance.md
  bench signed         Compare reads that are signed by many sessions with hand-written ones [--rounds N] [--no-build]
  bench uploads        Measure an upload of 256 MiB (--full: 2 GiB) against cp and sha256sum [--no-build]
  dist                 Build what is released, in target/release-files: static programs in archives, a Debian package,
                       checksums, a bill of materials (CycloneDX) and a Homebrew formula; for this machine, and for
                       other architectures if they can be built [--target TARGET]... [--url URL of the files]
                       [--repository URL of the project, for a manifest for cargo binstall]
  reference            Update the tables of docs/reference.md from the code
  screenshots          Take the screenshots of the playground that the README shows
  tidy                 Check the repository rules that the compiler cannot check

Options:
  -h, --help           Print this

Examples:
  cargo xtask check
  cargo xtask test
  cargo xtask test events::
  cargo xtask soak --minutes 10
  cargo xtask conformance --target http://127.0.0.1:8080/mesh --level L1
  cargo xtask conformance --help
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // The options of `conformance` have their own help.
    let asks_for_help = arguments.iter().any(|argument| matches!(*argument, "-h" | "--help" | "help"));
    if asks_for_help && arguments.first() != Some(&"conformance") {
        return help();
    }
    match arguments.as_slice() {
        [] => help(),
        ["test", options @ ..] => with(test::parse_options(options), test::run),
        ["check"] => check(),
        ["tidy"] => Steps::new(root()).check("tidy", tidy::run).finish(),
        ["bench", options @ ..] => bench::run(&root(), options),
        ["dist", options @ ..] => with(dist::parse_options(options), dist::run),
        ["reference"] => reference(),
        ["screenshots"] => screenshots::run(&root()),
        ["conformance", options @ ..] => with(conformance::parse_options(options), conformance::run),
        ["soak", options @ ..] => with(soak::parse_options(options), soak::run),
        ["fuzz", options @ ..] => with(fuzz::parse_options(options), fuzz::run),
        [name @ ("check" | "tidy" | "reference" | "screenshots"), ..] => {
            misuse(&format!("'{name}' takes no arguments"))
        }
        [name, ..] => misuse(&format!("there is no command '{name}'")),
    }
}

/// Runs a command with its options, if they are valid.
fn with<T>(options: Result<T, String>, run: fn(&Path, &T) -> ExitCode) -> ExitCode {
    options.map_or_else(|why| misuse(&why), |options| run(&root(), &options))
}

fn help() -> ExitCode {
    // A closed pipe, as with `| head`, is not an error.
    let _ = io::stdout().write_all(HELP.as_bytes());
    ExitCode::SUCCESS
}

fn misuse(why: &str) -> ExitCode {
    eprintln!("error: {why}; `cargo xtask` lists the commands");
    ExitCode::from(2)
}

/// Returns the workspace directory.
fn root() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    manifest.and_then(|folder| folder.parent().map(PathBuf::from)).unwrap_or_else(|| PathBuf::from("."))
}

fn check() -> ExitCode {
    let steps = Steps::new(root())
        .cargo("fmt", "fmt --all --check")
        .check("tidy", tidy::run)
        .cargo(
            "clippy",
            "clippy --quiet --workspace --all-targets --features mesh-cli/s3,mesh-tests/s3 -- -D warnings",
        )
        .cargo_with("doc", "doc --quiet --workspace --no-deps", &[("RUSTDOCFLAGS", "-D warnings")]);
    dist::steps(&root(), crates::steps(&root(), advisories(steps))).record_skipped().finish()
}

/// Checks licenses, sources and security advisories with cargo-deny.
fn advisories(mut steps: Steps) -> Steps {
    let deny = |arguments: &str| {
        let output = steps::command(&root(), &format!("deny --log-level error {arguments}"), &[]).output();
        output.is_ok_and(|output| output.status.success())
    };
    if !deny("--version") {
        return steps.skip("deny", "install cargo-deny with `cargo install --locked cargo-deny`");
    }
    steps = steps.cargo("deny", "deny --log-level error check bans licenses sources");
    if deny("fetch db") {
        return steps.cargo("advisories", "deny --offline --log-level error check advisories");
    }
    steps.skip("advisories", "`cargo deny fetch db` failed")
}

/// Updates the tables of the reference page. A test compares the page with the code and updates it if `UPDATE_EXPECT` is set.
fn reference() -> ExitCode {
    let command = "test --quiet -p mesh-cli config::reference";
    Steps::new(root()).show(command, &[("UPDATE_EXPECT", "1")])
}
