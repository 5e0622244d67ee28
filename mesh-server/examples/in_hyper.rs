//! Mesh as the service of a hyper server: `cargo run -p mesh-server --example in_hyper`.

use std::convert::Infallible;
use std::error::Error;

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use mesh_server::mesh_plan::{Mesh, memory::Tables};
use mesh_server::mesh_schema::{FieldType, Schema};
use mesh_server::{App, Body, ClientAddress, MeshService};
use tokio::net::{TcpListener, TcpStream};

fn planets() -> Result<App, Box<dyn Error>> {
    let schema = Schema::builder()
        .entity("planet", |planet| planet.field("id", FieldType::Integer).field("name", FieldType::String))
        .build()?;
    let rows = [vec![3.into(), "Earth".into()], vec![4.into(), "Mars".into()]];
    let tables = Tables::new().with("planets", ["id", "name"], rows);
    Ok(App::builder(Mesh::builder(schema).default_resolver(tables).build()?).build()?)
}

/// Answers the server's own route. Mesh answers all other paths, unknown ones with 404.
async fn answer(mesh: MeshService, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
    match request.uri().path() {
        "/health" => Ok(Response::new(Body::from(Bytes::from_static(b"ok\n")))),
        _ => mesh.call(request).await,
    }
}

async fn serve(mesh: MeshService, stream: TcpStream, peer: ClientAddress) {
    let service = service_fn(move |mut request: Request<Incoming>| {
        // For rate limits by address.
        request.extensions_mut().insert(peer);
        answer(mesh.clone(), request)
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new());
    if let Err(error) = server.serve_connection(TokioIo::new(stream), service).await {
        eprintln!("connection: {error}");
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mesh = planets()?.into_service();
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:4000".to_owned());
    let listener = TcpListener::bind(address).await?;
    eprintln!("listening on http://{}", listener.local_addr()?);
    loop {
        let (stream, peer) = listener.accept().await?;
        tokio::spawn(serve(mesh.clone(), stream, ClientAddress(peer.ip())));
    }
}
