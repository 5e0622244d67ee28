//! Mesh in an axum application, next to its routes: `cargo run -p mesh-server --example in_axum`.

use std::error::Error;
use std::net::SocketAddr;

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use axum::http::HeaderValue;
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::get;
use mesh_server::mesh_plan::{Mesh, memory::Tables};
use mesh_server::mesh_schema::{FieldType, Schema};
use mesh_server::mesh_wire::BasePath;
use mesh_server::{App, AppBuilder, ClientAddress};
use tokio::net::TcpListener;

fn planets() -> Result<AppBuilder, Box<dyn Error>> {
    let schema = Schema::builder()
        .entity("planet", |planet| planet.field("id", FieldType::Integer).field("name", FieldType::String))
        .build()?;
    let rows = [vec![3.into(), "Earth".into()], vec![4.into(), "Mars".into()]];
    let tables = Tables::new().with("planets", ["id", "name"], rows);
    Ok(App::builder(Mesh::builder(schema).default_resolver(tables).build()?))
}

/// Middleware of the application, which also wraps Mesh. It passes the client's address on for rate limits.
async fn around(ConnectInfo(peer): ConnectInfo<SocketAddr>, mut request: Request, next: Next) -> Response {
    request.extensions_mut().insert(ClientAddress(peer.ip()));
    let mut response = next.run(request).await;
    response.headers_mut().insert("x-served-by", HeaderValue::from_static("observatory"));
    response
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // The base path is what clients see. A nested service is passed the rest of the path, so it must restore the prefix.
    let base = BasePath::parse("/api/mesh")?;
    let mut app = planets()?;
    app.options.base_path = base.clone();
    let mesh = app.build()?.into_service().with_stripped_prefix(base);
    let router = Router::new()
        .route("/health", get(async || "ok\n"))
        .nest_service("/api/mesh", mesh)
        .layer(middleware::from_fn(around));

    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:4000".to_owned());
    let listener = TcpListener::bind(address).await?;
    eprintln!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, router.into_make_service_with_connect_info::<SocketAddr>()).await?;
    Ok(())
}
