//! The audit log of a server, in a file or in a table of its database.

use std::collections::VecDeque;
use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use mesh_backend::audit::AuditTable;
use mesh_server::{AuditEntry, AuditFile, AuditLog, AuditSink, Metrics};
use tokio::runtime::{Builder, Runtime};

use crate::cli::failure::{Failure, WithContext as _};
use crate::cli::server::database::{Database, connect};
use crate::config::Config;

/// How long entries are collected before they are written to a table: each write to a SQLite file makes its cached
/// responses stale.
const TABLE_DELAY: Duration = Duration::from_millis(250);
/// Maximum number of entries that one statement inserts.
const MAX_ROWS: usize = 1_000;
/// The minimum time that a stopping server waits for the log.
const MIN_FLUSH: Duration = Duration::from_secs(1);

/// Opens the log that the settings name, and starts its thread.
pub(crate) async fn start(
    config: &Config,
    database: Option<&Database>,
    metrics: &Metrics,
) -> Result<Option<AuditLog>, Failure> {
    let settings = &config.audit;
    let mut log = if let Some(path) = settings.file() {
        AuditLog::start(AuditFile::open(Path::new(path)).context("cannot write the audit log")?)?
    } else if let Some(name) = settings.table() {
        AuditLog::start(table(name, config, database).await?)?
    } else {
        return Ok(None);
    };
    log.values = settings.values;
    let source = log.clone();
    metrics.add(move |out| source.write_metrics(out));
    Ok(Some(log))
}

/// Waits for the log to be written, until `timeout` after the server began to stop but for at least [`MIN_FLUSH`].
pub(crate) fn flush(log: &AuditLog, stopped: Instant, timeout: Duration) {
    let left = timeout.saturating_sub(stopped.elapsed()).max(MIN_FLUSH);
    match log.flush(left) {
        0 => {}
        lost => tracing::warn!("{lost} entries of the audit log could not be written before the end"),
    }
}

/// Checks the table, and returns the sink that writes to it.
async fn table(name: &str, config: &Config, database: Option<&Database>) -> Result<TableSink, Failure> {
    let database =
        database.ok_or_else(|| Failure::usage_error("a table as 'audit.store' needs a database"))?;
    database.audit_table(name).await?;
    Ok(TableSink { name: name.to_owned(), config: config.clone(), open: None })
}

/// A sink that writes to a table.
struct TableSink {
    name: String,
    config: Config,
    /// Opened by the first write, on the thread of the log: a runtime must not be dropped within another one.
    open: Option<(Runtime, AuditTable)>,
}

impl AuditSink for TableSink {
    fn write(&mut self, entries: &mut VecDeque<AuditEntry>) -> Result<(), Box<dyn Error + Send + Sync>> {
        while !entries.is_empty() {
            let count = entries.len().min(MAX_ROWS);
            let rows: Vec<&str> = entries.iter().take(count).map(|entry| entry.json.as_str()).collect();
            self.append(&format!("[{}]", rows.join(",")))?;
            entries.drain(..count);
        }
        Ok(())
    }

    fn delay(&self) -> Duration {
        TABLE_DELAY
    }
}

impl TableSink {
    fn append(&mut self, rows: &str) -> Result<(), Box<dyn Error + Send + Sync>> {
        let (runtime, table) = match &mut self.open {
            Some(open) => open,
            none => {
                let runtime = Builder::new_current_thread().enable_all().build()?;
                let table = runtime.block_on(open(&self.name, &self.config))?;
                none.insert((runtime, table))
            }
        };
        runtime.block_on(table.append(rows))
    }
}

/// Opens the table on a connection of its own.
async fn open(name: &str, config: &Config) -> Result<AuditTable, Box<dyn Error + Send + Sync>> {
    let mut settings = config.clone();
    settings.limits.database_connections = 1;
    settings.replicas.clear();
    let database = connect(config.database.as_deref().unwrap_or_default(), &settings).await;
    let database = database.map_err(|failure| failure.to_string())?;
    Ok(database.audit_table(name).await?)
}
