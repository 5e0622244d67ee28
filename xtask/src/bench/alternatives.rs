//! `cargo xtask bench alternatives`: mesh-server compared with alternative servers, for the four reads.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::options::Options;
use super::peer::alternatives::folder;
use super::report::Report;
use super::request::Kind;
use super::workload::read::Engine;
use super::{Setup, Source, compare, postgres, prepare};

const FILES: [(&str, &str); 2] = [
    ("package.json", include_str!("../../bench/others/package.json")),
    ("postgraphile.js", include_str!("../../bench/others/postgraphile.js")),
];
const DATASETTE: &str = "datasette==0.65.5";

/// Runs the benchmark. Servers that cannot be installed are left out.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> Result<bool, String> {
    let mut options = Options::parse(arguments)?;
    let setup = prepare(root, &options)?;
    let (node, python) = install(&setup)?;
    let mut kinds = vec![Kind::Mesh, Kind::GraphQl];
    kinds.extend(python.then_some(Kind::Datasette));
    options.workloads.iter_mut().for_each(|workload| workload.targets = &[]);
    let run = |title: &str, source: &Source<'_>, engine: Engine, kinds: Vec<Kind>| {
        let mut options = options.clone();
        options.workloads.iter_mut().for_each(|workload| workload.peers = kinds.clone().leak());
        println!("{title}\n");
        let mut report = Report::new(&setup, engine);
        compare(&setup, source, &options, &mut report)?;
        report.print_times(&kinds);
        Ok::<_, String>(report.print(&options))
    };
    run("SQLite:", &Source::Sqlite(&options.journal), Engine::Sqlite, kinds)?;
    let mut kinds = vec![Kind::Mesh, Kind::PostgRest];
    kinds.extend(node.then_some(Kind::PostGraphile));
    let cluster = postgres::sample(&setup.cores)?;
    run("PostgreSQL:", &Source::Postgres(&cluster), Engine::Postgres, kinds)
}

/// Installs the programs with the clients of their registries. Returns whether PostGraphile and whether Datasette is installed.
fn install(setup: &Setup) -> Result<(bool, bool), String> {
    let folder = folder(setup);
    fs::create_dir_all(&folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    for (name, text) in FILES {
        fs::write(folder.join(name), text).map_err(|error| format!("cannot write {name}: {error}"))?;
    }
    let succeeds = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&folder).stdout(Stdio::null());
        let done = command.status().is_ok_and(|status| status.success());
        if !done {
            eprintln!("note: `{program} {}` failed", arguments.join(" "));
        }
        done
    };
    let node = folder.join("node_modules/postgraphile").exists()
        || succeeds("npm", &["install", "--no-audit", "--no-fund", "--loglevel=error"]);
    let python = folder.join("datasette/bin/datasette").exists()
        || (succeeds("python3", &["-m", "venv", "datasette"])
            && succeeds("datasette/bin/pip", &["install", "--quiet", DATASETTE]));
    Ok((node, python))
}
