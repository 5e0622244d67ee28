//! `cargo xtask bench`: compares the server with hand-written servers. Builds them, creates the data, verifies that their
//! results are equal, puts load on them, and reports ratios.

mod alternatives;
mod caching;
mod cancel;
mod events;
mod load;
mod machine;
mod memory;
mod options;
mod overload;
mod parts;
mod peer;
mod postgres;
mod report;
mod request;
mod sample;
mod sqlite;
mod trend;
mod uploads;
mod workload;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use mesh_tests::Cluster;

use crate::steps;
use load::{Load, Loader};
use machine::cores::Cores;
use machine::wake_lock::WakeLock;
use options::Options;
use peer::Peer;
use report::Report;
use request::{Kind, fetch_json, file_of};
use workload::read::Engine;
use workload::{READ, Workload};

/// Programs and files of a run.
pub(crate) struct Setup {
    /// The measured server.
    server: PathBuf,
    /// Directory of the programs of `xtask/bench`.
    peers: PathBuf,
    /// Directory of data and requests.
    folder: PathBuf,
    /// The schema document of the sample.
    schema: PathBuf,
    cores: Cores,
    /// Keeps idle cores awake during the measurements.
    wake_lock: WakeLock,
}

/// The sections of `bench figures`: title, arguments, and whether the section takes the options of `bench`, such as `--rounds`.
const FIGURES: [(&str, &[&str], bool); 18] = [
    ("Reads", &["--workload", "reads"], true),
    ("Other forms of reads, writes, and an export", &["--workload", "forms"], true),
    ("Groups, related records, pages and parameters", &["--workload", "relational"], true),
    ("By persisted id, and signed", &["--workload", "persisted,signed"], true),
    ("Signed by many sessions, and bound to one use", &["signed"], true),
    ("From the response cache", &["--workload", "cache"], true),
    ("With nginx in front", &["caching"], true),
    ("Growth", &["--workload", "growth"], true),
    ("Light reads beside full scans", &["--workload", "starve"], true),
    ("PostgreSQL", &["postgres"], true),
    ("PostgreSQL with servers and replicas", &["postgres", "--scale"], true),
    ("What one could use instead", &["alternatives"], true),
    ("Overload, idle memory and the time to stop", &["overload", "--no-build"], false),
    ("Memory of connections, streams and plans", &["memory", "--no-build"], false),
    ("Uploads", &["uploads", "--full", "--no-build"], false),
    ("Event streams", &["events", "--no-build"], false),
    ("Reads that are given up", &["cancel", "--no-build"], false),
    ("Parts", &["parts"], false),
];

/// Runs all benchmarks and prints their results below headings in Markdown.
fn figures(root: &Path, options: &[&str]) -> Result<bool, String> {
    prepare(root, &Options::parse(options)?)?;
    let mut all_met = true;
    for (title, arguments, takes_options) in FIGURES {
        println!("\n### {title}\n");
        let options = if takes_options { &[options, &["--no-build"]].concat()[..] } else { &[] };
        let met = dispatch(root, &[arguments, options].concat());
        all_met &= met.unwrap_or_else(|why| {
            println!("error: {why}");
            false
        });
    }
    Ok(all_met)
}

/// Runs a benchmark. The exit code is 1 if a target is missed and 2 if the benchmark fails.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> ExitCode {
    match dispatch(root, arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(2)
        }
    }
}

/// Returns whether all targets were met.
fn dispatch(root: &Path, arguments: &[&str]) -> Result<bool, String> {
    match arguments {
        ["figures", rest @ ..] => figures(root, rest),
        ["caching", rest @ ..] => caching::run(root, rest),
        ["cancel", rest @ ..] => cancel::run(root, rest),
        ["events", rest @ ..] => events::run(root, rest),
        ["uploads", rest @ ..] => uploads::run(root, rest),
        ["alternatives", rest @ ..] => alternatives::run(root, rest),
        ["postgres", rest @ ..] => postgres::run(root, rest),
        ["memory", rest @ ..] => memory::run(root, rest),
        ["overload", rest @ ..] => overload::run(root, rest),
        ["parts", rest @ ..] => parts::run(root, rest),
        ["signed", rest @ ..] => workload::signed::run(root, rest),
        _ => Options::parse(arguments).and_then(|options| measure(root, &options)),
    }
}

fn measure(root: &Path, options: &Options) -> Result<bool, String> {
    let setup = prepare(root, options)?;
    let mut report = Report::new(&setup, Engine::Sqlite);
    compare(&setup, &Source::Sqlite(&options.journal), options, &mut report)?;
    Ok(report.print(options))
}

/// The database of a run.
pub(crate) enum Source<'a> {
    /// The sample in a journal mode.
    Sqlite(&'a str),
    /// A cluster with the sample.
    Postgres(&'a Cluster),
}

impl Source<'_> {
    fn engine(&self) -> Engine {
        match self {
            Self::Sqlite(_) => Engine::Sqlite,
            Self::Postgres(_) => Engine::Postgres,
        }
    }

    /// Starts a server.
    fn start(&self, setup: &Setup, kind: Kind, workload: &Workload) -> Result<Peer, String> {
        match self {
            Self::Sqlite(journal) => {
                let mut data = setup.data(workload.posts, journal)?;
                if workload.read.is_write() {
                    data = setup.copy(&data)?;
                }
                sqlite::start(setup, &data, kind, workload)
            }
            Self::Postgres(cluster) => postgres::start(setup, &cluster.url(), kind, workload),
        }
    }
}

/// Measures the workloads. A workload and those that it is the baseline of are measured together.
fn compare(setup: &Setup, source: &Source<'_>, options: &Options, report: &mut Report) -> Result<(), String> {
    let mut groups: Vec<Vec<&Workload>> = Vec::new();
    for workload in &options.workloads {
        match groups.iter_mut().find(|group| group.iter().any(|one| one.name == workload.baseline)) {
            Some(group) => group.push(workload),
            None => groups.push(vec![workload]),
        }
    }
    groups.iter().try_for_each(|group| compare_group(setup, source, options, group, report))
}

/// Measures workloads in rounds, in each of which all servers are measured one after the other.
fn compare_group(
    setup: &Setup,
    source: &Source<'_>,
    options: &Options,
    workloads: &[&Workload],
    report: &mut Report,
) -> Result<(), String> {
    let mut measured: Vec<(&Workload, Kind, Option<Server<'_>>)> = Vec::new();
    for workload in workloads {
        eprintln!("{}: {}", workload.name, workload.what);
        if let (true, Source::Sqlite(journal)) = (workload.is_memory(), source) {
            let data = setup.data(workload.posts, journal)?;
            report.set_memory(memory::measure(setup, &data, workload, options.requests)?);
            continue;
        }
        let kinds = workload.kinds(source.engine());
        let kinds: Vec<Kind> = kinds.into_iter().filter(|kind| options.wants(*kind)).collect();
        verify(setup, source, workload, &kinds)?;
        for kind in kinds {
            // Each round of writes starts with an unchanged database.
            let is_kept = !workload.read.is_write();
            let server = is_kept.then(|| Server::start(setup, source, workload, kind)).transpose()?;
            measured.push((workload, kind, server));
        }
    }
    for round in 1..=options.rounds {
        for (workload, kind, server) in &mut measured {
            let seen = match server {
                Some(server) => server.measure(options.seconds),
                None => Server::start(setup, source, workload, *kind)?.measure(options.seconds),
            }?;
            eprintln!("  round {round}: {} {kind:<9} {seen}", workload.name);
            report.add(workload, *kind, seen);
        }
        // Reversed, so that no server always follows the same other one.
        measured.reverse();
    }
    Ok(())
}

/// A server that is ready to be measured.
struct Server<'a> {
    peer: Peer,
    workload: &'a Workload,
    kind: Kind,
    loader: Loader<'a>,
    setup: &'a Setup,
}

impl<'a> Server<'a> {
    /// Starts a server and fills the caches of system, database and server.
    fn start(
        setup: &'a Setup,
        source: &Source<'_>,
        workload: &'a Workload,
        kind: Kind,
    ) -> Result<Self, String> {
        let peer = source.start(setup, kind, workload)?;
        let mut prepared = workload.clone();
        if kind == Kind::Mesh {
            prepared.prepare(peer.address())?;
        }
        let file = setup.requests(&prepared, kind)?;
        let loader = Loader::new(setup, &file, peer.address(), workload.connections)
            .with_placement(workload.placement);
        if workload.records > READ.records {
            loader.send_each_once()?;
        }
        loader.run(1.0)?;
        Ok(Self { peer, workload, kind, loader, setup })
    }

    /// Puts load on the server, and measures its processor time and memory.
    fn measure(&mut self, seconds: f64) -> Result<Load, String> {
        let scans = self
            .workload
            .with_scans
            .then(|| load::start_scans(self.setup, self.peer.address()))
            .transpose()?;
        let before = self.peer.cpu_seconds()?;
        let mut load = self.loader.run(seconds)?;
        load.cpu_micros = (self.peer.cpu_seconds()? - before) * 1e6 / load.requests.max(1) as f64;
        load.resident = self.peer.resident()?;
        drop(scans);
        if load.errors > 0 {
            return Err(format!("{} failed {} of {} requests", self.kind, load.errors, load.requests));
        }
        Ok(load)
    }
}

/// Verifies that all servers return equal results.
fn verify(setup: &Setup, source: &Source<'_>, workload: &Workload, kinds: &[Kind]) -> Result<(), String> {
    let mut answers: Vec<(Kind, Vec<serde_json::Value>)> = Vec::new();
    for kind in kinds.iter().filter(|kind| kind.is_comparable()) {
        let peer = source.start(setup, *kind, workload)?;
        let mut workload = workload.clone();
        if *kind == Kind::Mesh {
            workload.prepare(peer.address())?;
        }
        let requests = workload.requests(*kind);
        let asked = requests.iter().step_by((requests.len() / 20).max(1)).take(20);
        let answered = asked.map(|request| {
            let body = fetch_json(peer.address(), request).map_err(|error| format!("{kind}: {error}"))?;
            Ok::<_, String>(workload.comparable(*kind, body))
        });
        answers.push((*kind, answered.collect::<Result<_, _>>()?));
    }
    let Some(((first, expected), rest)) = answers.split_first() else { return Ok(()) };
    for (kind, answered) in rest {
        for (place, (one, other)) in expected.iter().zip(answered).enumerate() {
            if one != other {
                let (one, other) = differing(&one.to_string(), &other.to_string());
                return Err(format!(
                    "{}: {first} and {kind} differ in answer {place}:\n{one}\n{other}",
                    workload.name
                ));
            }
        }
    }
    Ok(())
}

/// Returns the parts of two texts around their first difference.
fn differing(one: &str, other: &str) -> (String, String) {
    let same = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    let part = |text: &str| text.chars().skip(same.saturating_sub(60)).take(160).collect();
    (part(one), part(other))
}

/// The arguments that build the measured server.
const SERVER: &str = "build --quiet --profile dist -p mesh-cli";

/// Returns the folder of build outputs.
fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

fn cargo(root: &Path, arguments: &str) -> Result<(), String> {
    eprintln!("cargo {arguments}");
    let status = steps::command(root, arguments, &[]).status();
    let status = status.map_err(|error| format!("cannot start cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`cargo {arguments}` failed")) }
}

/// Returns the path of the measured server, which is built unless the only argument is `--no-build`.
fn server(root: &Path, arguments: &[&str]) -> Result<PathBuf, String> {
    match arguments {
        [] => cargo(root, SERVER)?,
        ["--no-build"] => {}
        [other, ..] => return Err(format!("this benchmark takes `--no-build`, not '{other}'")),
    }
    Ok(target(root).join("dist").join("mesh-server"))
}

/// Builds the servers.
fn prepare(root: &Path, options: &Options) -> Result<Setup, String> {
    let folder = target(root).join("bench");
    let manifest = Path::new("xtask").join("bench").join("Cargo.toml");
    let peers = format!(
        "build --quiet --release --locked --manifest-path {} --target-dir {}",
        manifest.display(),
        folder.display()
    );
    if !options.no_build {
        cargo(root, SERVER)?;
        cargo(root, &peers)?;
    } else if !folder.join("release").is_dir() {
        return Err("the servers of the benchmark are not built: run it once without `--no-build`".into());
    }
    Ok(Setup {
        server: target(root).join("dist").join("mesh-server"),
        peers: folder.join("release"),
        folder,
        schema: root.join("xtask").join("bench").join("schema.json"),
        cores: Cores::detect(),
        // Starts after the builds, which keep the cores busy anyway.
        wake_lock: WakeLock::acquire(),
    })
}

impl Setup {
    /// Writes the file of a workload's requests, each terminated by a NUL byte.
    fn requests(&self, workload: &Workload, kind: Kind) -> Result<PathBuf, String> {
        let path = self.folder.join(format!("{}-{kind}.requests", workload.name));
        let written = std::fs::write(&path, file_of(workload.requests(kind)));
        written.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        Ok(path)
    }
}
