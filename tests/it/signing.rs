//! Do the recipes of the page about signing work as they stand there? Each is run where its tool is installed.

use std::process::{Command, Stdio};

use crate::signed::{Deployment, PASSWORD};

const PAGE: &str = include_str!("../../docs/signing.md");
const PRINTED: &str =
    "{\"title\":\"Rust at dawn\"}\n{\"title\":\"Slow bread\"}\n{\"title\":\"A map\"}\n{\"loggedOut\":true}\n";

/// The one block of code in a language.
fn recipe(language: &str) -> &'static str {
    let fence = format!("\n```{language}\n");
    let mut blocks = PAGE.split(&fence).skip(1);
    let block = blocks.next().and_then(|block| block.split("\n```\n").next());
    assert!(blocks.next().is_none(), "one recipe in {language}");
    block.expect("a recipe")
}

fn is_installed(tool: &str) -> bool {
    let mut command = Command::new(tool);
    let status = command.arg(if tool == "openssl" { "version" } else { "--version" });
    let status = status.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Runs a recipe against a server, or says that its tools are missing.
fn try_out(language: &str, interpreter: &str, tools: &[&str]) {
    if let Some(missing) = tools.iter().find(|tool| !is_installed(tool)) {
        eprintln!("not tried: {missing} is not installed");
        return;
    }
    let deployment = Deployment::new("");
    let server = deployment.start();
    let script = deployment.database.dir.write("recipe", recipe(language));
    let output = Command::new(interpreter)
        .arg(script)
        .env("BASE", format!("http://{}{}", server.address, server.base))
        .env("LOGIN", "ada@example.org")
        .env("PASSWORD", PASSWORD)
        .env("no_proxy", "*")
        .stdin(Stdio::null())
        .output()
        .expect("the interpreter runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), PRINTED, "{said}");
    assert!(output.status.success(), "{said}");
}

#[test]
fn the_shell_recipe_works() {
    try_out("sh", "sh", &["curl", "openssl"]);
}

#[test]
fn the_python_recipe_works() {
    try_out("python", "python3", &["python3"]);
}

#[test]
fn the_javascript_recipe_works() {
    try_out("js", "node", &["node"]);
}
