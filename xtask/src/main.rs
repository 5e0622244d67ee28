//! Which chores has this repository, and how is each done? `cargo xtask` lists them.

#![expect(clippy::print_stdout, reason = "figures are the output of a command")]

mod bench;
mod conformance;
mod crates;
mod fuzz;
mod missing;
mod pages;
mod screenshots;
mod soak;
mod steps;
mod tidy;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use steps::Steps;

const HELP: &str = "\
The chores of this repository.

Usage: cargo xtask <COMMAND>

Commands:
  test                 Build the server and run every test, those in documentation included
  check                Formatting, lints, tidy, documentation, packages, and every feature of every crate alone
  conformance          Judge a server by the cases in tests/conformance; ours, unless --target URL is given
      [--level L1|L2|L3|L4] [--profile NAME]... [--case ID]... [--profile-file FILE] [--program FILE]
      [--format pretty|tap|junit|json] [--report FILE.html]
  soak [traffic|differential] [--minutes N | --seconds N]
                       Mixed traffic against a server, then random queries held against a simple resolver; in
                       release, for a minute each unless told otherwise
  fuzz [--seconds N] [--stable] [TARGET]
                       Run the fuzz targets, 60 seconds each: by `cargo fuzz` where it is, else by random changes
  bench [OPTIONS]      Measure the server against code written by hand; see docs/performance.md
                       [--workload w1,w2,...|reads|cache|growth|starve|all] [--seconds N] [--rounds N]
                       [--only limit,mesh,constant,graphql] [--journal wal|delete] [--json] [--no-build]
                       [--size 1MB,124MB,10GB] [--requests N]
  bench events         Measure streams of changes: 5,000 of one record, 10,000 that wait [--no-build]
  bench overload       Measure answers in time against what is offered, and memory with 10,000 connections [--no-build]
  bench parts          Measure parsing, planning, shaping, cursors and signatures alone [--seconds N] [--json]
  bench postgres       Measure the server over PostgreSQL against one written by hand, and with replicas
                       [--seconds N] [--rounds N] [--no-build]; see docs/scale.md
  bench uploads        Measure an upload of 256 MiB, or of 2 GiB, against cp and sha256sum [--full] [--no-build]
  reference            Write docs/reference.md, the limits, errors and operators, from the code
  screenshots          Take the pictures of the playground that the README shows
  tidy                 Check the rules of the house that no compiler knows

Options:
  -h, --help           Print this

Examples:
  cargo xtask check
  cargo xtask test
  cargo xtask soak --minutes 10
  cargo xtask conformance --target http://127.0.0.1:8080/mesh --level L1
";

/// What `test` does not run, and how to get it.
const LEFT_OUT: &[(&str, &str)] = &[
    ("mixed traffic and random queries for a long time", "cargo xtask soak"),
    ("the fuzz targets guided by coverage", "cargo xtask fuzz"),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if arguments.iter().any(|argument| matches!(*argument, "-h" | "--help" | "help")) {
        return help();
    }
    match arguments.as_slice() {
        [] => help(),
        ["test"] => test(),
        ["check"] => check(),
        ["tidy"] => Steps::new(root()).inside("tidy", tidy::run).finish(),
        ["bench", options @ ..] => bench::run(&root(), options),
        ["reference"] => reference(),
        ["screenshots"] => screenshots::run(&root()),
        ["conformance", options @ ..] => match conformance::options(options) {
            Ok(options) => conformance::run(&root(), &options),
            Err(why) => misuse(&why),
        },
        ["soak", options @ ..] => match soak::options(options) {
            Ok(options) => soak::run(&root(), &options),
            Err(why) => misuse(&why),
        },
        ["fuzz", options @ ..] => match fuzz::options(options) {
            Ok(options) => fuzz::run(&root(), &options),
            Err(why) => misuse(&why),
        },
        [name @ ("test" | "check" | "tidy" | "reference" | "screenshots"), ..] => {
            misuse(&format!("'{name}' takes no arguments"))
        }
        [name, ..] => misuse(&format!("there is no command '{name}'")),
    }
}

fn help() -> ExitCode {
    // A closed pipe, as with `| head`, is no failure of ours.
    let _ = io::stdout().write_all(HELP.as_bytes());
    ExitCode::SUCCESS
}

fn misuse(why: &str) -> ExitCode {
    eprintln!("error: {why}; `cargo xtask` lists the commands");
    ExitCode::from(2)
}

/// The workspace's folder.
fn root() -> PathBuf {
    let own = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    own.and_then(|own| own.parent().map(PathBuf::from)).unwrap_or_else(|| PathBuf::from("."))
}

/// The tests in `tests/` start the server's binary, so it is built first. The summary of the test run ends
/// the output, so what was left out is said before it.
fn test() -> ExitCode {
    let steps = Steps::new(root())
        .cargo("build mesh-server", "build --quiet -p mesh-server")
        .cargo("mesh-uploads, s3", "test --quiet -p mesh-uploads --features s3 --test s3")
        .cargo("mesh-server, otlp", "test --quiet -p mesh-server --features otlp --lib otlp");
    if steps.failed() {
        return steps.finish();
    }
    // Its report is worth a look of its own, though the tests run the cases too.
    if conformance::run(&root(), &conformance::Options::default()) != ExitCode::SUCCESS {
        eprintln!("failed: conformance");
        return ExitCode::FAILURE;
    }
    for (what, how) in LEFT_OUT {
        eprintln!("left out: {what}; get it with `{how}`");
    }
    for what in missing::left_out(&root()) {
        eprintln!("left out: {what}");
    }
    for block in pages::left_out(&root()) {
        eprintln!("left out: a command in {block}");
    }
    steps.show("test --workspace --no-fail-fast", &[])
}

fn check() -> ExitCode {
    let steps = Steps::new(root())
        .cargo("fmt", "fmt --all --check")
        .inside("tidy", tidy::run)
        .cargo("clippy", "clippy --quiet --workspace --all-targets -- -D warnings")
        .cargo(
            "clippy, s3 and otlp",
            "clippy --quiet -p mesh-uploads -p mesh-server --features s3,mesh-server/otlp --all-targets -- -D warnings",
        )
        .cargo_with("doc", "doc --quiet --workspace --no-deps", &[("RUSTDOCFLAGS", "-D warnings")]);
    crates::steps(&root(), advisories(steps)).finish()
}

/// What is known against packages of others is kept on the network, and read by a tool of its own. Where one of the
/// two is out of reach, the rest of the checks says nothing of them.
fn advisories(mut steps: Steps) -> Steps {
    let deny = |arguments: &str| {
        let output = steps::command(&root(), &format!("deny --log-level error {arguments}"), &[]).output();
        output.is_ok_and(|output| output.status.success())
    };
    if !deny("--version") {
        eprintln!("left out: advisories against packages; get them with `cargo install --locked cargo-deny`");
        return steps;
    }
    steps = steps.cargo("deny", "deny --log-level error check bans licenses sources");
    if deny("fetch db") {
        return steps.cargo("advisories", "deny --offline --log-level error check advisories");
    }
    eprintln!("left out: advisories against packages; their list is out of reach (`cargo deny fetch db`)");
    steps
}

/// The page is held by a test, which writes it when it is told to.
fn reference() -> ExitCode {
    let command = "test --quiet -p mesh-server --bin mesh-server config::reference";
    Steps::new(root()).show(command, &[("UPDATE_EXPECT", "1")])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_can_be_had() {
        for (_, how) in LEFT_OUT {
            assert!(HELP.contains(how.trim_start_matches("cargo xtask ")), "{how}");
        }
    }
}
