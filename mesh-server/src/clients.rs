//! Limits on the resources that clients can hold: connections, requests, uploads, event streams and unread replies.
//! `SPEC §12.6`

mod counts;
mod effect_count;
mod unread_replies;

use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Arc;

use mesh_integrity::SessionId;
use mesh_wire::WireError;
#[cfg(feature = "compression")]
use tokio::sync::Semaphore;

use crate::rates::client_address::{ClientAddress, counted_address};
pub(crate) use counts::{CountGuard, Counts};
use effect_count::EffectCount;
pub(crate) use effect_count::EffectGuard;
pub(crate) use unread_replies::{UnreadReplies, UnreadReply};

/// Seconds after which a client should try again to open a stream or to begin an upload.
const LONG_RETRY_AFTER: u32 = 5;
/// The share of the connections that is reserved for addresses with few of them, as a divisor.
const RESERVE_DIVISOR: usize = 4;
/// The share of the connections up to which an address may use the reserve, as a divisor.
const RESERVE_ACCESS_DIVISOR: usize = 16;

/// Limits on the resources that clients may hold at a time, for [`crate::AppOptions::client_limits`]. Clones share the
/// counts, so pass clones of one value to applications that replace each other. A limit of 0 counts as 1.
///
/// ```
/// use mesh_server::ClientLimits;
///
/// let mut limits = ClientLimits::default();
/// limits.connections_per_address = 50;
/// limits.streams_per_address = 10;
/// ```
#[derive(Clone, Debug)]
pub struct ClientLimits {
    /// The maximum number of requests of all clients that wait for a database, a resolver or a handler of the application, 500 by
    /// default. Further requests are refused at once, since they would only wait longer. Reads that a back end answers without
    /// waiting do not count.
    pub requests: usize,
    /// The maximum number of open connections of one client address, 2,500 by default; in IPv6, of each /64 network. Connections
    /// of trusted proxies do not count; each request in progress that a proxy forwards counts as a connection of the client.
    pub connections_per_address: usize,
    /// The maximum number of uploads of one client address whose bytes are being received, 20 by default. Each takes up to
    /// 24 MiB of the 512 MiB of memory that the unfinished files of a bucket may use.
    pub uploads_per_address: usize,
    /// The maximum number of exports of one client address, 4 by default.
    pub exports_per_address: usize,
    /// The maximum number of open event streams of one client address, 100 by default.
    pub streams_per_address: usize,
    /// The maximum number of open event streams of one session, 20 by default.
    pub streams_per_session: usize,
    /// The number of bytes of replies that may wait for their readers, 64 MiB by default. While there are more, the connections
    /// with the slowest readers are closed.
    pub unread_bytes: usize,
    pub(crate) effects: EffectCount,
    /// Permits for the large replies that may be compressed at a time.
    #[cfg(feature = "compression")]
    pub(crate) compressions: Arc<Semaphore>,
    waiting: Arc<Counts<()>>,
    connections: Arc<Counts<IpAddr>>,
    uploads: Arc<Counts<IpAddr>>,
    exports: Arc<Counts<IpAddr>>,
    address_streams: Arc<Counts<IpAddr>>,
    session_streams: Arc<Counts<SessionId>>,
    pub(crate) unread: Arc<UnreadReplies>,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self {
            requests: 500,
            connections_per_address: 2_500,
            uploads_per_address: 20,
            exports_per_address: 4,
            streams_per_address: 100,
            streams_per_session: 20,
            unread_bytes: 64 << 20,
            effects: EffectCount::default(),
            #[cfg(feature = "compression")]
            compressions: Arc::new(Semaphore::new(crate::pipeline::compress::MAX_AT_A_TIME)),
            waiting: Arc::default(),
            connections: Arc::default(),
            uploads: Arc::default(),
            exports: Arc::default(),
            address_streams: Arc::default(),
            session_streams: Arc::default(),
            unread: Arc::default(),
        }
    }
}

impl ClientLimits {
    /// Counts a request that waits until the returned value is dropped.
    ///
    /// # Errors
    /// 503 if the maximum number of requests is already waiting. Another request would only wait behind them, and hold
    /// memory until its client gives up.
    pub(crate) fn begin_wait(&self) -> Result<CountGuard<()>, WireError> {
        self.waiting.acquire((), self.requests).ok_or_else(WireError::unavailable)
    }

    /// Counts a connection of a peer until the returned value is dropped. `open` is the number of other open connections,
    /// and `max` the limit for all.
    ///
    /// Returns `None` if the address has used up its share. The last quarter of all connections is reserved for addresses
    /// that hold few, so that one address cannot use up the connections of a small server.
    pub(crate) fn acquire_connection(
        &self,
        peer: IpAddr,
        open: usize,
        max: usize,
    ) -> Option<CountGuard<IpAddr>> {
        let is_reserve = open >= max - max / RESERVE_DIVISOR;
        let share = if is_reserve { (max / RESERVE_ACCESS_DIVISOR).max(1) } else { usize::MAX };
        self.connections.acquire(counted_address(peer), self.connections_per_address.min(share))
    }

    /// Counts a request that a trusted proxy forwards for a client.
    ///
    /// # Errors
    /// 429 if the client has as many requests under way as it may have connections.
    pub(crate) fn start_forwarded(&self, client: IpAddr) -> Result<CountGuard<IpAddr>, WireError> {
        let guard = self.connections.acquire(counted_address(client), self.connections_per_address);
        guard.ok_or_else(|| WireError::rate_limit(WireError::RETRY_AFTER))
    }

    /// Counts an upload until the returned value is dropped.
    ///
    /// # Errors
    /// 429 if the address has reached its limit of uploads under way.
    pub(crate) fn begin_upload(
        &self,
        address: Option<IpAddr>,
    ) -> Result<Option<CountGuard<IpAddr>>, WireError> {
        let message = "Too many concurrent uploads from this address; retry later";
        acquire(&self.uploads, address.map(counted_address), self.uploads_per_address, message)
    }

    /// Counts an export until the returned value is dropped.
    ///
    /// # Errors
    /// 429 if the address has reached its limit of exports.
    pub(crate) fn begin_export(
        &self,
        address: Option<IpAddr>,
    ) -> Result<Option<CountGuard<IpAddr>>, WireError> {
        let message = "Too many concurrent exports from this address; retry later";
        acquire(&self.exports, address.map(counted_address), self.exports_per_address, message)
    }

    /// Returns the number of requests that wait.
    pub(crate) fn waiting_requests(&self) -> usize {
        self.waiting.max_count()
    }

    /// Returns the largest numbers of connections, uploads and event streams that any one address has.
    pub(crate) fn max_per_address(&self) -> [usize; 3] {
        [self.connections.max_count(), self.uploads.max_count(), self.address_streams.max_count()]
    }

    /// Counts an event stream until the returned value is dropped.
    ///
    /// # Errors
    /// 429 if the address or the session has reached its limit of streams.
    pub(crate) fn open_stream(
        &self,
        address: Option<IpAddr>,
        session: Option<SessionId>,
    ) -> Result<StreamGuard, WireError> {
        let message = "Too many event streams from this address; close one or retry later";
        let address = address.map(counted_address);
        let address = acquire(&self.address_streams, address, self.streams_per_address, message)?;
        let message = "Too many event streams in this session; close one or retry later";
        let session = acquire(&self.session_streams, session, self.streams_per_session, message)?;
        Ok(StreamGuard { _address: address, _session: session })
    }
}

/// Adds one to the count of a key, if there is one, or refuses with a message.
fn acquire<K: Copy + Eq + Hash>(
    counts: &Arc<Counts<K>>,
    key: Option<K>,
    max: usize,
    message: &'static str,
) -> Result<Option<CountGuard<K>>, WireError> {
    let Some(key) = key else { return Ok(None) };
    let refused = || WireError { message: message.into(), ..WireError::rate_limit(LONG_RETRY_AFTER) };
    counts.acquire(key, max).map(Some).ok_or_else(refused)
}

/// An open event stream of an address and a session.
pub(crate) struct StreamGuard {
    _address: Option<CountGuard<IpAddr>>,
    _session: Option<CountGuard<SessionId>>,
}

/// The sender of a request.
#[derive(Clone, Copy)]
pub(crate) struct Peer {
    pub(crate) address: ClientAddress,
    /// Whether the request arrived over a connection of [`crate::Server`].
    pub(crate) is_connected: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADA: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const BO: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    /// Opens connections until one is refused.
    fn connect_all(
        limits: &ClientLimits,
        peer: IpAddr,
        open: &mut Vec<CountGuard<IpAddr>>,
        max: usize,
    ) -> usize {
        let before = open.len();
        while open.len() < max {
            let Some(guard) = limits.acquire_connection(peer, open.len(), max) else { break };
            open.push(guard);
        }
        open.len() - before
    }

    #[test]
    fn one_address_cannot_use_up_all_connections() {
        let mut open = Vec::new();
        let limits = ClientLimits::default();
        assert_eq!(connect_all(&limits, ADA, &mut open, 200), 150);
        assert_eq!(connect_all(&limits, BO, &mut open, 200), 12);
        open.truncate(100);
        assert_eq!(connect_all(&limits, ADA, &mut open, 200), 50, "closed connections no longer count");
    }

    #[test]
    fn the_limit_of_an_address_is_exact() {
        let mut open = Vec::new();
        let limits = ClientLimits { connections_per_address: 7, ..ClientLimits::default() };
        assert_eq!(connect_all(&limits, ADA, &mut open, 10_000), 7);
        assert_eq!(connect_all(&limits, BO, &mut open, 10_000), 7);
        assert_eq!(limits.start_forwarded(ADA).err().and_then(|error| error.retry_after), Some(1));
        open.pop();
        assert!(limits.start_forwarded(BO).is_ok());
    }

    #[test]
    fn small_servers_reserve_nothing() {
        for max in 1..4 {
            assert_eq!(connect_all(&ClientLimits::default(), ADA, &mut Vec::new(), max), max);
        }
    }

    #[test]
    fn streams_are_counted_by_network_and_by_session() {
        let limits =
            ClientLimits { streams_per_address: 3, streams_per_session: 2, ..ClientLimits::default() };
        let open = |address: &str, session: u8| {
            limits.open_stream(Some(address.parse().unwrap()), Some(SessionId([session; 16])))
        };
        let first = [open("2001:db8::1", 1), open("2001:db8::2", 1)];
        assert!(first.iter().all(Result::is_ok));
        assert!(open("2001:db8::3", 1).is_err(), "the session has two");
        let _third = open("2001:db8::3", 2).unwrap();
        assert!(open("2001:db8::4", 3).is_err(), "the network has three");
        assert!(open("2001:db8:0:1::1", 3).is_ok());
        drop(first);
        assert!(open("2001:db8::4", 1).is_ok());
    }
}
