//! `mesh-server serve`: a database over HTTP, until a signal ends it.

use std::io::{self, IsTerminal};
use std::num::NonZero;

use mesh_docs::Sql;
use mesh_server::{Check, Current, Server, Timeouts, Tls, Workers};
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::cli::args::ServeArgs;
use crate::cli::failure::Failure;
use crate::cli::failure::faults_at_start;
use crate::cli::output::print;
use crate::cli::server::admin;
use crate::cli::server::app_factory::Parts;
use crate::cli::server::data_source::Source;
use crate::cli::server::log_writer::{Logging, Sink};
use crate::cli::server::schema_reload::Reload;
use crate::cli::settings::settings_and_print;
use crate::config::{Config, DocsAuth, LogFormat};

/// Files that are kept for databases, uploads and the like, out of those that may be open.
const FILES_KEPT: usize = 256;
/// Those of one more thread: what its runtime waits by, and its connection to a database in a file.
const FILES_OF_THREAD: usize = 6;

pub(crate) fn run(args: &ServeArgs) -> Result<(), Failure> {
    let (config, printed) = settings_and_print(args.settings(), args.config.as_deref())
        .map_err(|faults| faults_at_start(&faults))?;
    if args.print_config {
        return print(printed.trim_end());
    }
    if config.database.is_none() {
        return Err(Failure::start(
            "no database to serve: name one, as in `mesh-server serve --database sqlite:blog.db`, or try `mesh-server demo`",
        ));
    }
    if !args.allow_open_docs {
        refuse_open_docs(&config)?;
    }
    let _logging = start_log(&config)?;
    let source = Source::open(&config).map_err(|faults| faults_at_start(&faults))?;
    serve(&config, source, |_| Ok(()))
}

/// A playground for everybody, or one that shows SQL, is for the own machine only.
fn refuse_open_docs(config: &Config) -> Result<(), Failure> {
    let docs = &config.docs;
    if !docs.enabled || config.listen.ip().is_loopback() {
        return Ok(());
    }
    let fault = match (docs.auth, docs.sql) {
        (DocsAuth::Open, _) => "the playground is open to everybody (docs.auth = \"false\")",
        (DocsAuth::Admin, Sql::Dev) => "the playground shows SQL (docs.sql = \"dev\")",
        (DocsAuth::Admin, Sql::Hidden) => return Ok(()),
    };
    Err(Failure::start(format!(
        "{fault}, and {} is not a loopback address: set docs.auth = \"admin\" and docs.sql = \"false\", or give \
         --allow-open-docs if that is what you want",
        config.listen
    )))
}

/// Serves a source until SIGTERM or SIGINT. `ready` is called with the server's URL.
pub(crate) fn serve(
    config: &Config,
    source: Source,
    ready: impl FnOnce(&str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    for note in &source.notes {
        tracing::info!("{note}");
    }
    let entities = source.schema.entities().count();
    // Threads that are not pinned share the connections with this one.
    let threads_started = threads(config) - usize::from(!config.pin_threads);
    let workers =
        Workers::builder(threads_started).pinned(config.pin_threads).on_park(mesh_sqlite::before_park);
    let workers = workers.start().map_err(Failure::start)?;
    let runtime = runtime().map_err(Failure::start)?;
    runtime.block_on(async {
        let parts = Parts::open(config, source.database).await?;
        let app = parts.app(source.schema)?;
        let recovered = app.recover_uploads().await;
        recovered.map_err(|error| Failure::start(format!("cannot tidy the stored files: {error}")))?;
        let current = Current::new(app);
        let mut server = Server::new(current.clone())
            .max_connections(connections(config.limits.connections, threads(config)))
            .shutdown_timeout(config.shutdown_timeout)
            .workers(workers)
            .timeouts(Timeouts { idle: config.idle_timeout, ..Timeouts::default() });
        let mut scheme = "http";
        if let Some((certificate, key)) = config.tls.files() {
            server = server
                .tls(Tls::open(certificate, key).map_err(|error| Failure::start(format!("[tls]: {error}")))?);
            scheme = "https";
        }
        let listener = TcpListener::bind(config.listen)
            .await
            .map_err(|error| Failure::start(cannot_listen(config.listen, &error)))?;
        let address = listener.local_addr().map_err(Failure::start)?;
        let url = format!("{scheme}://{address}{}", config.base);
        // The handlers stand before anybody is told that the server is ready.
        let stop = stop_signal().map_err(Failure::start)?;
        admin::listen(config, parts.admin(), &current).await?;
        let health = parts.health().clone();
        tokio::spawn(Reload::new(parts, current).run());
        tracing::info!(entities, "serving at {url}");
        print(format_args!("listening on {url}"))?;
        ready(&url)?;
        let stop = async move {
            stop.await;
            health.set("server", Check::Failed("it is stopping".to_owned()));
        };
        // As a task of its own it takes turns with the connections that it accepts.
        let served = tokio::spawn(server.serve(listener, stop)).await;
        served.map_err(Failure::start)?;
        // A snapshot that is still open would keep the log of the database from being emptied.
        mesh_sqlite::before_park();
        tracing::info!("stopped");
        Ok(())
    })
}

/// As many threads as are wanted, at least this one.
fn threads(config: &Config) -> usize {
    match config.threads {
        0 => std::thread::available_parallelism().map_or(1, NonZero::get),
        wanted => wanted,
    }
}

/// The runtime of this thread, which accepts connections and serves its share of them.
fn runtime() -> io::Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().thread_name("mesh").on_thread_park(mesh_sqlite::before_park).build()
}

/// As many connections as are wanted, or as leave some of the files that the system lets this process open: a
/// database that cannot be opened is worse for all than a client that waits to be accepted.
fn connections(wanted: usize, threads: usize) -> usize {
    let Some(files) = open_files() else { return wanted };
    let most =
        files.saturating_sub((files / 8).max(FILES_KEPT) + FILES_OF_THREAD * threads).max(files / 2).max(1);
    if wanted > most {
        tracing::warn!(
            "at most {most} connections at a time, not the {wanted} of 'limits.connections': this process may \
             open {files} files; raise that limit (`ulimit -n`, or LimitNOFILE of systemd)"
        );
    }
    wanted.min(most)
}

/// How many files this process may have open, where the system says so.
fn open_files() -> Option<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Done when the process is told to stop.
#[cfg(unix)]
fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Done when the process is told to stop.
#[cfg(not(unix))]
fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}

/// Logs to standard error as the settings say.
///
/// The last lines are written when the value that is returned is dropped.
pub(crate) fn start_log(config: &Config) -> Result<Logging, Failure> {
    let filter = EnvFilter::try_new(&config.log).map_err(|error| {
        Failure::start(format!("the log filter '{}' is not understood: {error}", config.log))
    })?;
    // As any other line, for what is written past the log waits for whoever reads it.
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    if filter.max_level_hint() == Some(LevelFilter::OFF) {
        return Ok(Logging(None));
    }
    let sink = Sink::to(io::stderr(), config.log_format).map_err(Failure::start)?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(sink.clone())
        .with_ansi(io::stderr().is_terminal());
    let started = match config.log_format {
        LogFormat::Pretty => log.with_target(false).compact().try_init(),
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    };
    started.map_err(Failure::start)?;
    Ok(Logging(Some(sink)))
}

/// Why there is no listener; most often another server has the port.
fn cannot_listen(address: std::net::SocketAddr, error: &io::Error) -> String {
    let hint = match error.kind() {
        io::ErrorKind::AddrInUse => "; another program has this port: stop it, or choose one with --listen",
        _ => "",
    };
    format!("cannot listen on {address}: {error}{hint}")
}
