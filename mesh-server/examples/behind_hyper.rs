//! Mesh behind a connection of hyper, without [`mesh_server::Server`]:
//! `cargo run --release -p mesh-server --example behind_hyper -- blog.db schema.json 127.0.0.1:4000`. Measurements compare it
//! with `mesh-server serve`.

use std::error::Error;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use mesh_server::mesh_plan::Mesh;
use mesh_server::mesh_schema::Document;
use mesh_server::{App, ClientAddress};
use mesh_sqlite::Database;
use tokio::net::TcpListener;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [database, schema, address] = &arguments[..] else { return Err("DATABASE SCHEMA ADDRESS".into()) };
    let database = Database::open(database)?;
    let schema = Document::parse(&std::fs::read_to_string(schema)?)?;
    let schema = schema.load(Some(&database.contents(&[])?.catalog))?;
    let service =
        App::builder(Mesh::builder(schema).default_resolver(database).build()?).build()?.into_service();

    // Requests that arrive together share a transaction, which ends before the thread waits.
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().on_thread_park(mesh_sqlite::before_park).build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(address).await?;
        eprintln!("listening on http://{}", listener.local_addr()?);
        loop {
            let (stream, peer) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let service = service.clone();
            let answer =
                hyper::service::service_fn(move |mut request: http::Request<hyper::body::Incoming>| {
                    request.extensions_mut().insert(ClientAddress(peer.ip()));
                    hyper::service::Service::call(&service, request)
                });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
        }
    })
}
