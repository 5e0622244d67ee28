//! Health checks and metrics of the database, and the listener for them.

use mesh_server::{Admin, Check, Current, Exposition, Health, Metrics};
use tokio::net::TcpListener;

use crate::cli::failure::{Failure, WithContext as _};
use crate::cli::server::database::Database;
use crate::config::Config;

/// Builds the health checks and metrics of a server.
pub(crate) fn admin(database: Option<&Database>) -> Admin {
    let (health, metrics) = (Health::default(), Metrics::default());
    health.set("schema", Check::Passed);
    if let Some(database) = database.cloned() {
        let probed = database.clone();
        health.probe("database", move || Box::pin(check(probed.clone())));
        metrics.add(move |out| expose(&database, out));
    }
    Admin { health, metrics }
}

/// Checks that the database can be read. The cause goes to the log only, because it may name files and hosts.
async fn check(database: Database) -> Check {
    match database.ping().await {
        Ok(()) => Check::Passed,
        Err(error) => {
            tracing::warn!("the database cannot be read: {error}");
            if database.answers_without_primary() {
                return Check::Warned(
                    "the primary does not respond; reads are answered by others".to_owned(),
                );
            }
            Check::Failed("the database cannot be read; see the log".to_owned())
        }
    }
}

fn expose(database: &Database, out: &mut Exposition) {
    let usage = database.usage();
    let connections = [(&[("state", "idle")][..], usage.idle as f64)];
    out.gauge("mesh_pool_connections", "Idle connections to the database.", &connections);
    let slots = [(&[("state", "free")][..], usage.free as f64), (&[("state", "all")], usage.slots as f64)];
    out.gauge("mesh_pool_slots", "Reads that can run at a time; for SQLite, long reads.", &slots);
    out.counter("mesh_pool_waits_total", "Reads that waited for a slot.", &[(&[], usage.waits as f64)]);
    let waited = usage.waited.as_secs_f64();
    out.counter("mesh_pool_wait_seconds_total", "Time that reads waited for a slot.", &[(&[], waited)]);
    out.gauge("mesh_answers_cached", "Answers kept in memory.", &[(&[], usage.answers as f64)]);
    out.counter("mesh_answer_hits_total", "Reads answered from memory.", &[(&[], usage.hits as f64)]);
    out.gauge("mesh_answers_cached_bytes", "Bytes of answers kept in memory.", &[(&[], usage.bytes as f64)]);
}

/// Serves health checks and metrics at `admin.listen`, if that is set.
pub(crate) async fn listen(config: &Config, admin: &Admin, current: &Current) -> Result<(), Failure> {
    let Some(address) = config.admin.listen else { return Ok(()) };
    let listener = TcpListener::bind(address).await;
    let listener = listener.context(format_args!("cannot listen on {address} ('admin.listen')"))?;
    let address = listener.local_addr()?;
    tracing::info!("health and metrics at http://{address}");
    // The listener runs until the process ends, so that the stopping server can be observed.
    tokio::spawn(admin.clone().serve(current.clone(), listener, std::future::pending()));
    Ok(())
}
