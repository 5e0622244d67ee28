//! The lifetime of a server process: listen, serve, stop on a signal.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use mesh_server::{Check, Current, Server, Tls, Workers};
use tokio::net::TcpListener;

use crate::cli::failure::{Failure, WithContext as _};
use crate::cli::output::print;
use crate::cli::server::app_factory::AppFactory;
use crate::cli::server::data_source::DataSource;
use crate::cli::server::schema_reload::SchemaReload;
use crate::cli::server::{admin, audit, purge};
use crate::config::Config;

/// File descriptors reserved for databases, uploads and the like.
const RESERVED_FILES: usize = 256;
/// File descriptors of one thread: its event queue, and its connection to a database in a file.
const FILES_PER_THREAD: usize = 6;

/// Serves a data source until SIGTERM or SIGINT. `ready` is called with the server's URL.
pub(crate) fn serve(
    config: &Config,
    source: DataSource,
    ready: impl FnOnce(&str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    for note in &source.notes {
        tracing::info!("{note}");
    }
    let entities = source.schema.entities().count();
    let threads = config.thread_count();
    // They share the connections with this thread.
    let workers = Workers::start(threads - 1, mesh_sqlite::before_park)?;
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().thread_name("mesh").on_thread_park(mesh_sqlite::before_park).build();
    runtime?.block_on(async {
        let factory = AppFactory::open(config, source.database).await?;
        let app = factory.app(source.schema)?;
        app.recover_uploads().await.context("cannot clean up the stored files")?;
        let current = Current::new(app);
        let mut server = Server::new(current.clone());
        server.max_connections = connections(config.limits.connections, threads);
        server.shutdown_timeout = config.shutdown_timeout;
        server.workers = Some(workers);
        let mut scheme = "http";
        if let Some((certificate, key)) = config.tls.files() {
            server.tls = Some(Tls::open(certificate, key).context("[tls]")?);
            scheme = "https";
        }
        let listener =
            TcpListener::bind(config.listen).await.map_err(|error| cannot_listen(config.listen, &error))?;
        let address = listener.local_addr()?;
        let url = format!("{scheme}://{address}{}", config.base);
        // Signals are handled before the server announces that it is ready.
        let stop = stop_signal()?;
        admin::listen(config, &factory.admin, &current).await?;
        let (health, audit) = (factory.admin.health.clone(), factory.options.audit.clone());
        purge::start(config, &factory, &current);
        let stopped = Arc::new(OnceLock::new());
        let stop_time = Arc::clone(&stopped);
        tokio::spawn(SchemaReload::new(factory, current).run());
        if let Some(warning) = exposure(config, address, entities) {
            tracing::warn!("{warning}");
        }
        tracing::info!(entities, "serving at {url}");
        print(format_args!("listening on {url}"))?;
        ready(&url)?;
        let stop = async move {
            stop.await;
            let _ = stop_time.set(Instant::now());
            health.set("server", Check::Failed("it is stopping".to_owned()));
        };
        // A separate task is scheduled fairly with the connections that it accepts.
        tokio::spawn(server.serve(listener, stop)).await??;
        if let Some(audit) = &audit {
            audit::flush(audit, *stopped.get_or_init(Instant::now), config.shutdown_timeout);
        }
        // An open snapshot would prevent the write-ahead log from being truncated.
        mesh_sqlite::before_park();
        tracing::info!("stopped");
        Ok(())
    })
}

/// Returns a warning if other machines can send requests without a credential.
fn exposure(config: &Config, address: SocketAddr, entities: usize) -> Option<String> {
    let actions = if config.mutations.enabled { "read and write" } else { "read" };
    (!address.ip().is_loopback() && !config.identifies_callers()).then(|| {
        format!(
            "{address} is not a loopback address, and requests need no credential: every client that reaches it can {actions} \
             what the schema serves, as far as policies allow (entities: {entities}); set [integrity], [bearer] or [api_keys] \
             to change this"
        )
    })
}

/// Returns the limit of connections, lowered so that the process has file descriptors left for the database: a client
/// that waits to be accepted is better than a database that cannot be opened.
fn connections(wanted: usize, threads: usize) -> usize {
    let Some(files) = max_open_files() else { return wanted };
    let reserved = (files / 8).max(RESERVED_FILES) + FILES_PER_THREAD * threads;
    let max = files.saturating_sub(reserved).max(files / 2).max(1);
    if wanted > max {
        tracing::warn!(
            "connections are limited to {max} instead of the {wanted} of 'limits.connections', because this process may \
             open only {files} files; raise that limit (`ulimit -n`, or LimitNOFILE of systemd)"
        );
    }
    wanted.min(max)
}

/// Returns how many files this process may open, on systems with `/proc`.
fn max_open_files() -> Option<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Returns a future that completes on SIGTERM or SIGINT.
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

/// Returns a future that completes on Ctrl-C.
#[cfg(not(unix))]
fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}

fn cannot_listen(address: SocketAddr, error: &io::Error) -> Failure {
    let hint = match error.kind() {
        io::ErrorKind::AddrInUse => {
            "; another program uses this port: stop it, or choose a port with --listen"
        }
        _ => "",
    };
    Failure::usage_error(format!("cannot listen on {address}: {error}{hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_without_credentials_warns_at_an_open_address() {
        let warning = |config: &Config, ip: [u8; 4]| exposure(config, SocketAddr::from((ip, 4000)), 5);
        let mut config = Config::default();
        assert_eq!(warning(&config, [127, 0, 0, 1]), None);
        let open = warning(&config, [0, 0, 0, 0]).unwrap();
        assert!(
            open.starts_with("0.0.0.0:4000 ") && open.contains("can read what the schema serves"),
            "{open}"
        );
        config.mutations.enabled = true;
        assert!(
            warning(&config, [0, 0, 0, 0]).unwrap().contains("can read and write what the schema serves")
        );
        config.integrity.enabled = true;
        assert_eq!(warning(&config, [0, 0, 0, 0]), None);
    }
}
