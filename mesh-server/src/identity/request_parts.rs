//! The parts of a request by which its caller is identified and its query is found.

use std::net::IpAddr;
use std::time::Instant;

use http::HeaderMap;
use http::request::Parts;
use mesh_wire::{MeshHeaders, RequestHead, RequestId};
use ring::rand::{SecureRandom as _, SystemRandom};

/// The parts of a request by which [`crate::RequestAuthenticator`] identifies its caller and [`crate::Queries`] finds its
/// query.
#[derive(Clone, Copy, Debug)]
pub struct RequestParts<'r> {
    /// Method, headers and id.
    pub head: RequestHead<'r>,
    /// The headers of the protocol.
    pub headers: MeshHeaders<'r>,
    /// The path as the client sent it.
    pub path: &'r str,
    /// The client's address, for limits of invalid credentials and failed logins.
    pub address: Option<IpAddr>,
    /// The time until which credentials are looked up.
    pub deadline: Option<Instant>,
}

/// Returns the id of a request: the client's, or else a random one. `SPEC §2.11`
pub fn request_id(headers: &HeaderMap) -> RequestId {
    let mut random = [0; 16];
    // Without random numbers all ids are equal; they are no secrets.
    let _ = SystemRandom::new().fill(&mut random);
    RequestId::from_headers(headers, random)
}

impl<'r> RequestParts<'r> {
    /// Returns the parts of a request without an address and a deadline.
    pub fn new(head: &'r Parts, request_id: &'r RequestId) -> Self {
        Self {
            head: RequestHead { method: &head.method, headers: &head.headers, request_id },
            headers: MeshHeaders::scan(&head.headers),
            path: head.uri.path(),
            address: None,
            deadline: None,
        }
    }

    /// Awaits `work` until the deadline. Returns `None` if the deadline passes first.
    pub(crate) async fn before_deadline<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        match self.deadline {
            Some(deadline) => tokio::time::timeout_at(deadline.into(), work).await.ok(),
            None => Some(work.await),
        }
    }
}
