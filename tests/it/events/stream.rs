//! A client of event streams.

use std::net::SocketAddr;

use mesh_tests::PATIENCE;
use mesh_tests::kit::http::{Exchange, Request};
use mesh_tests::kit::stream::{self, Event, Next};

/// An open stream.
pub(crate) struct Stream {
    events: stream::Stream,
}

impl Stream {
    /// Opens a stream. Any other response is an error with its status and body.
    pub(crate) fn try_open(address: SocketAddr, request: &Request) -> Result<Self, (u16, String)> {
        let exchange = Exchange::begin(&address.to_string(), request).unwrap();
        if exchange.head.is_event_stream() {
            return Ok(Self { events: stream::Stream::new(exchange) });
        }
        let response = exchange.finish().unwrap();
        Err((response.status, response.text()))
    }

    /// Returns the reconnection time, which the server sends once.
    pub(crate) fn retry(&self) -> Option<&str> {
        self.events.retries.first().map(String::as_str)
    }

    /// Returns the next event.
    #[track_caller]
    pub(crate) fn event(&mut self) -> Event {
        match self.events.next(PATIENCE) {
            Next::Event(event) => event,
            other => panic!("an event expected, got {other:?}"),
        }
    }

    /// Returns the data of the next event, which must be an update.
    #[track_caller]
    pub(crate) fn data(&mut self) -> String {
        let event = self.event();
        assert_eq!(event.kind, "update", "{event:?}");
        assert_eq!(self.events.unknown_lines, [""; 0]);
        event.data
    }

    /// Asserts that the server completes the body without another event.
    #[track_caller]
    pub(crate) fn assert_ends(&mut self) {
        let next = self.events.next(PATIENCE);
        assert!(matches!(next, Next::End), "the end of the body expected, got {next:?}");
    }
}
