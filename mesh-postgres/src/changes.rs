//! The change feed: notices of triggers, or the position of the write-ahead log if there are none.
//!
//! With the triggers of [`triggers`] a notice names the record. Without them the position of the log is polled a few
//! times a second while there are listeners; if it has moved, anything may have changed. Behind a pooler, which cannot
//! pass notices on, the position is always polled. A connection that was lost counts as a change of anything.

mod triggers;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use mesh_plan::{Change, Changes};
use tokio::sync::mpsc;
use tokio_postgres::AsyncMessage;

use crate::catalog::rows;
use crate::changes::triggers::CHANNEL;
use crate::database::Database;
use crate::error::with_causes;
use crate::pool::{Pool, PoolError};
use crate::replicas::Replicas;

/// How often the position of the log is looked at where there are no triggers.
const INTERVAL: Duration = Duration::from_millis(200);
/// How long to wait before connecting again, at first and at most.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

impl Database {
    /// Tells `changes` of writes to the database. The future never ends; it has to be spawned.
    pub fn watch(&self, changes: Changes) -> impl Future<Output = ()> + Send + 'static {
        watch(Arc::clone(&self.listening), Arc::clone(&self.replicas), changes)
    }
}

async fn watch(pool: Arc<Pool>, replicas: Arc<Replicas>, changes: Changes) {
    let mut wait = BACKOFF.0;
    let mut first = true;
    loop {
        match Listener::connect(&pool).await {
            Ok(mut listener) => {
                wait = BACKOFF.0;
                // Whatever was written before this connection listened was heard by nobody.
                if !std::mem::take(&mut first) {
                    replicas.has_written(listener.link.client()).await;
                }
                changes.notify(Change::anything());
                let error = listener.run(&replicas, &changes).await;
                tracing::warn!("changes of the database are not heard for a moment: {error}");
            }
            Err(error) => tracing::warn!("changes of the database cannot be heard: {error}"),
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(BACKOFF.1);
    }
}

/// A connection that hears notices.
struct Listener {
    link: super::pool::Link,
    notices: mpsc::UnboundedReceiver<String>,
    has_triggers: bool,
}

impl Listener {
    async fn connect(pool: &Pool) -> Result<Self, String> {
        let (sender, notices) = mpsc::unbounded_channel();
        let hear = move |message| {
            if let AsyncMessage::Notification(notice) = message {
                // Where nobody listens any more, the connection ends soon.
                let _ = sender.send(notice.payload().to_owned());
            }
        };
        let link = pool.connect_with(hear).await.map_err(|error: PoolError| with_causes(&error))?;
        if pool.has_pooler() {
            return Ok(Self { link, notices, has_triggers: false });
        }
        let listening = link.client().batch_execute(&format!("LISTEN {CHANNEL}")).await;
        listening.map_err(|error| with_causes(&error))?;
        let triggers =
            rows(link.client(), "SELECT 1 FROM pg_catalog.pg_trigger WHERE tgname = 'mesh_changes' LIMIT 1");
        let has_triggers = !triggers.await.map_err(|error| with_causes(&error))?.is_empty();
        Ok(Self { link, notices, has_triggers })
    }

    /// Hears until the connection ends.
    async fn run(&mut self, replicas: &Replicas, changes: &Changes) -> String {
        let mut position = None;
        loop {
            let notice = if self.has_triggers {
                self.notices.recv().await
            } else {
                changes.wanted().await;
                match self.has_moved(&mut position).await {
                    Ok(true) => Some("[]".to_owned()),
                    Ok(false) => {
                        tokio::time::sleep(INTERVAL).await;
                        continue;
                    }
                    Err(error) => return error,
                }
            };
            let Some(notice) = notice else { return "the connection ended".to_owned() };
            // Whoever reads because of the notice has to see what it is about.
            replicas.has_written(self.link.client()).await;
            changes.notify(change(&notice));
            while let Ok(notice) = self.notices.try_recv() {
                changes.notify(change(&notice));
            }
        }
    }

    async fn has_moved(&self, seen: &mut Option<String>) -> Result<bool, String> {
        let found = rows(self.link.client(), "SELECT pg_current_wal_lsn()").await;
        let found = found.map_err(|error| with_causes(&error))?;
        let now = found.first().and_then(|row| row.get(0)).map(str::to_owned);
        let before = std::mem::replace(seen, now.clone());
        Ok(before.is_some() && before != now)
    }
}

/// What a notice of the triggers says.
fn change(notice: &str) -> Change {
    let parts: Vec<String> = serde_json::from_str(notice).unwrap_or_default();
    match parts.as_slice() {
        [entity, id] => Change::record(entity.as_str(), id.as_str()),
        [entity] => Change::entity(entity.as_str()),
        _ => Change::anything(),
    }
}
