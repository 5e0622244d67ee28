//! A server of signed reads on axum, made of the parts of Mesh: `cargo run -p mesh-server --example own_server`.
//!
//! Log in as `ada` with the password `pw`, and sign each read.

use std::error::Error;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::Response;
use axum::http::request::Parts;
use mesh_server::mesh_integrity::{
    Authenticator, BoxFuture, Credentials, Gate, Identity, Keys, LoginError, Secret,
};
use mesh_server::mesh_plan::{Context, Error as PlanError, Mesh, RecordId, memory::Tables};
use mesh_server::mesh_schema::{FieldType, Schema};
use mesh_server::mesh_wire::{BasePath, Profiles, Route, WireError, response};
use mesh_server::{Integrity, Queries, RequestAuthenticator, RequestParts, Signed, Target};
use tokio::net::TcpListener;

struct Accounts;

impl Authenticator for Accounts {
    fn authenticate<'a>(&'a self, sent: &'a Credentials) -> BoxFuture<'a, Result<Identity, LoginError>> {
        let known = sent.get("login").is_some_and(|it| it == "ada") && sent["password"] == "pw";
        Box::pin(async move { if known { Ok(Identity::new("ada")) } else { Err(LoginError::Wrong) } })
    }
}

struct Site {
    mesh: Arc<Mesh>,
    integrity: Integrity,
    authenticator: RequestAuthenticator,
    queries: Queries,
}

impl Site {
    /// Answers a login, or a read of a collection or a record.
    async fn reply(&self, parts: RequestParts<'_>, body: &[u8]) -> Result<Response<Bytes>, WireError> {
        let profiles = Profiles { integrity: true, ..Profiles::default() };
        let route = Route::parse(&BasePath::default(), &profiles, parts.head.method, parts.path)?;
        let target = match &route {
            Route::Collection { entity } => Target::at(entity, None),
            Route::Point { entity, id } => Target::at(entity, Some(RecordId::Segment(id))),
            Route::Login => {
                let sent = serde_json::from_slice(body);
                let sent = sent.map_err(|error| WireError::transport(error.to_string()))?;
                let issued = self.integrity.login(parts, &sent).await?;
                return Ok(response::written(&parts.head, None, Some(issued.to_json().into())));
            }
            _ => return Err(WireError::not_found()),
        };
        let caller = self.authenticator.authenticate(parts, Signed::Read).await?;
        let query = self.queries.in_headers(&parts).await?;
        let plan = self.queries.plan(&parts, &caller, query, target)?;
        let context = Context::new(parts.head.request_id.as_str()).with_principal(caller.principal());
        let body = self.mesh.read(&plan, &context).await.map_err(PlanError::Resolve)?;
        Ok(response::read(&parts.head, body.bytes, body.digest))
    }
}

async fn answer(State(site): State<Arc<Site>>, head: Parts, body: Bytes) -> Response<Body> {
    let request_id = mesh_server::request_id(&head.headers);
    let parts = RequestParts::new(&head, &request_id);
    let reply = site.reply(parts, &body).await;
    reply.unwrap_or_else(|error| response::error(&parts.head, &error)).map(Body::from)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let schema = Schema::builder()
        .entity("planet", |it| it.field("id", FieldType::Integer).field("name", FieldType::String))
        .build()?;
    let rows = [vec![3.into(), "Earth".into()], vec![4.into(), "Mars".into()]];
    let tables = Tables::new().with("planets", ["id", "name"], rows);
    let mesh = Arc::new(Mesh::builder(schema).default_resolver(tables).build()?);
    // A deployment reads its secret from a file; `openssl rand -hex 32` creates one.
    let secret = Secret::new("only an example: anybody can read this one")?;
    let integrity = Integrity::new(Gate::new(Keys::new(&secret)), Accounts);
    let mut authenticator = RequestAuthenticator::default();
    authenticator.integrity = Some(integrity.clone());
    let site = Site { queries: Queries::new(Arc::clone(&mesh)), mesh, integrity, authenticator };
    let router = Router::new().fallback(answer).with_state(Arc::new(site));
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:4000".to_owned());
    let listener = TcpListener::bind(address).await?;
    eprintln!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, router).await?;
    Ok(())
}
