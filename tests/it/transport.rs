//! Routes, headers, bodies, sizes and caching follow the wire contract.

mod queries;
mod replies;
mod routes;
mod sizes;

use mesh_tests::Request;

use crate::support::refusals::Case;

const TRANSPORT: &str = "TransportError";
const POST: &str = r#"{"post":{"$select":{"id":true,"title":true}}}"#;
const FIRST: &str = r#"{"id":1,"title":"Rust at dawn"}"#;

fn bad(name: &str, request: Request) -> Case {
    Case::new(name, request, 400, TRANSPORT)
}

fn plain(method: &str, path: &str) -> Request {
    Request::new(method, &format!("/mesh{path}"))
}

fn get(path: &str) -> Request {
    Request::get(&format!("/mesh{path}"), POST)
}
