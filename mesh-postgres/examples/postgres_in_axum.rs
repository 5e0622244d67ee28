//! Serves reads of a PostgreSQL database from a handler of axum: `cargo run -p mesh-postgres --example postgres_in_axum`.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use mesh_plan::{Context, Mesh, Request};
use mesh_postgres::{Database, Settings};
use mesh_ql::Format;

async fn read_post(mesh: &Mesh, id: &str) -> Result<Bytes, mesh_plan::Error> {
    let plan = mesh.plan(&Request::point(Format::Ql, "{ post { title author { name } } }", id))?;
    Ok(mesh.read(&plan, &Context::default()).await?.bytes)
}

async fn post(State(mesh): State<Arc<Mesh>>, Path(id): Path<String>) -> Response {
    match read_post(&mesh, &id).await {
        Ok(json) => ([(CONTENT_TYPE, "application/json")], json).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

pub(crate) async fn router(url: &str) -> Result<Router, Box<dyn std::error::Error>> {
    let database = Database::connect(url, &Settings::default()).await?;
    let catalog = database.contents(&[]).await?.catalog;
    let document = mesh_schema::infer(&catalog).document;
    let schema = document.load(Some(&catalog)).map_err(|faults| format!("{faults:?}"))?;
    let mesh = Mesh::builder(schema).default_resolver(database).build()?;
    Ok(Router::new().route("/post/{id}", get(post)).with_state(Arc::new(mesh)))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    axum::serve(listener, router("postgres://ada@localhost/blog").await?).await?;
    Ok(())
}
