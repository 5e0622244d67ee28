//! How does Mesh live in a server that is there already? Under a base path beside its routes: `cargo run --example mounted`.

use std::convert::Infallible;
use std::error::Error;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use mesh_server::mesh_plan::{Context, Mesh, Plan, ResolveError, Rows, Target, Value};
use mesh_server::mesh_schema::{FieldType, Schema};
use mesh_server::mesh_wire::Base;
use mesh_server::{App, Body};

/// The one planet there is.
async fn planets(plan: Plan, _: Context) -> Result<Rows, ResolveError> {
    let mut rows = Rows::new(&plan);
    if matches!(plan.target(), Target::Collection | Target::Point(Value::Integer(3))) {
        rows.root().push_with(|column| match column {
            "id" => 3.into(),
            "name" => "Earth".into(),
            _ => Value::Null,
        });
    }
    Ok(rows)
}

/// Hands Mesh what lies under its base path, and keeps the rest.
async fn route(app: App, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
    let path = request.uri().path();
    let (status, text) = match path {
        "/" => (StatusCode::OK, "Read planets at /api/mesh/planet\n"),
        "/health" => (StatusCode::OK, "ok\n"),
        _ => match path.strip_prefix(app.base().as_str()) {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => return Ok(app.handle(request).await),
            _ => (StatusCode::NOT_FOUND, "Nothing is here\n"),
        },
    };
    let mut response = Response::new(Body::from(Bytes::from_static(text.as_bytes())));
    *response.status_mut() = status;
    Ok(response)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let schema = Schema::builder()
        .entity("planet", |planet| planet.field("id", FieldType::Integer).field("name", FieldType::String))
        .build()
        .map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    let mesh = Mesh::builder(schema).resolver("planet", planets).build();
    let base = Base::parse("/api/mesh").map_err(|error| error.to_string())?;
    let app = App::new(mesh).at(base);

    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:4000".to_owned());
    let listener = tokio::net::TcpListener::bind(address).await?;
    eprintln!("listening on http://{}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        let app = app.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| route(app.clone(), request));
            let mut server = http1::Builder::new();
            server.timer(TokioTimer::new());
            if let Err(error) = server.serve_connection(TokioIo::new(stream), service).await {
                eprintln!("connection: {error}");
            }
        });
    }
}
