//! Requests with bearers to an application, without sockets.

mod routes;
mod site;
