//! The servers of a URL.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mesh_backend::pool::Purpose;
use mysql_async::prelude::Queryable as _;
use mysql_async::{Conn, DriverError, Error, Opts, OptsBuilder};
use parking_lot::Mutex;

use super::PoolError;

/// The time limit for opening a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The time limit if there are other servers.
const FAILOVER_TIMEOUT: Duration = Duration::from_secs(1);
/// The time for which a server that could not be reached is tried after the others.
const AVOID_TIME: Duration = Duration::from_secs(1);

/// Whether a server of a cluster has the data of the cluster.
const IS_READY: &str = "SHOW GLOBAL STATUS LIKE 'wsrep_ready'";

/// The servers of a URL. Clones share their state.
#[derive(Clone)]
pub(crate) struct Hosts {
    hosts: Arc<[Host]>,
    /// Whether a server without TLS is accepted.
    pub(super) is_plain_allowed: bool,
    /// The number of connections that were opened for reads.
    opened: Arc<AtomicUsize>,
}

/// A server.
struct Host {
    opts: Opts,
    /// The last time at which the server could not be reached.
    failed_at: Mutex<Option<Instant>>,
}

impl Hosts {
    pub(super) fn new(hosts: impl IntoIterator<Item = Opts>, is_plain_allowed: bool) -> Self {
        let hosts = hosts.into_iter().map(|opts| Host { opts, failed_at: Mutex::default() }).collect();
        Self { hosts, is_plain_allowed, opened: Arc::default() }
    }

    pub(super) fn has_several(&self) -> bool {
        self.hosts.len() > 1
    }

    /// Returns the options of the first server.
    #[cfg(test)]
    pub(super) fn first(&self) -> &Opts {
        &self.hosts[0].opts
    }

    /// Opens a connection: for reads to each server in turn, for writes to the first server of the URL. Servers that
    /// cannot be reached are skipped. Also returns the index of the server.
    pub(crate) async fn open(&self, purpose: Purpose, init: &[String]) -> Result<(usize, Conn), PoolError> {
        let mut failed = PoolError::TimedOut;
        for index in self.order(purpose) {
            let Some(host) = self.hosts.get(index) else { continue };
            let limit = if self.has_several() { FAILOVER_TIMEOUT } else { CONNECT_TIMEOUT };
            let opening = async {
                let mut conn = self.open_host(index, init).await?;
                let is_ready = !self.has_several() || is_ready(&mut conn).await?;
                Ok::<_, Error>((conn, is_ready))
            };
            failed = match tokio::time::timeout(limit, opening).await {
                Ok(Ok((conn, true))) => {
                    host.failed_at.lock().take();
                    return Ok((index, conn));
                }
                Ok(Ok((_, false))) => {
                    PoolError::NoHost("the database is not connected to its cluster".into())
                }
                Ok(Err(error)) => PoolError::Refused(error),
                Err(_) => PoolError::TimedOut,
            };
            host.failed_at.lock().replace(Instant::now());
        }
        Err(failed)
    }

    /// Opens a connection to a server.
    pub(super) async fn open_host(&self, index: usize, init: &[String]) -> Result<Conn, Error> {
        let host = self.hosts.get(index).ok_or(DriverError::PoolDisconnected)?;
        // The connection's owner decides which statements are kept.
        let builder = || {
            let builder = OptsBuilder::from_opts(host.opts.clone());
            builder.init(init.to_vec()).stmt_cache_size(0)
        };
        match Conn::new(builder()).await {
            // The server has no TLS.
            Err(Error::Driver(DriverError::NoClientSslFlagFromServer)) if self.is_plain_allowed => {
                Conn::new(builder().ssl_opts(None)).await
            }
            opened => opened,
        }
    }

    /// Returns the servers in the order in which they are tried.
    fn order(&self, purpose: Purpose) -> Vec<usize> {
        let first = match purpose {
            Purpose::Read => self.opened.fetch_add(1, Ordering::Relaxed) % self.hosts.len().max(1),
            Purpose::Write => 0,
        };
        let mut order: Vec<usize> = (0..self.hosts.len()).collect();
        order.rotate_left(first);
        let is_avoided = |index: &usize| {
            let failed_at = self.hosts.get(*index).and_then(|host| *host.failed_at.lock());
            failed_at.is_some_and(|at| at.elapsed() < AVOID_TIME)
        };
        // The sort is stable, so the others stay in order.
        order.sort_by_key(is_avoided);
        order
    }
}

/// Returns whether a server can be used. A server of a cluster can be used only while it is connected to most of the
/// others.
async fn is_ready(conn: &mut Conn) -> Result<bool, Error> {
    let status: Option<(String, String)> = conn.query_first(IS_READY).await?;
    Ok(status.is_none_or(|(_, value)| value == "ON"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_take_each_server_in_turn_and_writes_the_first_that_can_be_reached() {
        let opts = ["a", "b", "c"].map(|host| OptsBuilder::default().ip_or_hostname(host).into());
        let hosts = Hosts::new(opts, true);
        let order = |purpose| hosts.order(purpose);
        assert_eq!([(); 3].map(|()| order(Purpose::Read)), [[0, 1, 2], [1, 2, 0], [2, 0, 1]]);
        assert_eq!(order(Purpose::Write), [0, 1, 2]);
        hosts.hosts[0].failed_at.lock().replace(Instant::now());
        assert_eq!([(); 2].map(|()| order(Purpose::Read)), [[1, 2, 0], [1, 2, 0]]);
        assert_eq!(order(Purpose::Write), [1, 2, 0]);
        hosts.hosts[0].failed_at.lock().replace(Instant::now() - AVOID_TIME);
        assert_eq!(order(Purpose::Write), [0, 1, 2]);
    }
}
