//! Credentials checked by the application: `cargo run -p mesh-server --example own_login`.
//!
//! Guests of a hotel log in with room and code and see the bookings of their room.

use std::error::Error;

use mesh_server::mesh_integrity::{
    Authenticator, BoxFuture, Credentials, Gate, Identity, Keys, LoginError, Secret,
};
use mesh_server::mesh_plan::{Context, Mesh, Plan, ResolveError, Rows, Value};
use mesh_server::mesh_schema::{FieldType, Schema};
use mesh_server::{App, Integrity, Server};
use tokio::net::TcpListener;

/// Guest, room and code.
const CODES: [(i64, &str, &str); 2] = [(1, "101", "4711"), (2, "102", "1234")];

struct Rooms;

impl Authenticator for Rooms {
    fn authenticate<'a>(&'a self, sent: &'a Credentials) -> BoxFuture<'a, Result<Identity, LoginError>> {
        Box::pin(async move {
            let text =
                |field| sent.get(field).and_then(|it| it.as_str()).ok_or(LoginError::Missing { field });
            let (room, code) = (text("room")?, text("code")?);
            // A real application stores hashes; see `mesh_integrity::passwords` for logins with passwords.
            let known = CODES.iter().find(|(_, own, _)| *own == room);
            let (guest, ..) = known.filter(|(_, _, own)| *own == code).ok_or(LoginError::Wrong)?;
            let mut identity = Identity::new(guest.to_string()).with_role("guest").with_tenant(room);
            // Part of the login reply, next to the token.
            identity.extra.insert("checkout".to_owned(), "11:00".into());
            Ok(identity)
        })
    }

    /// Failed logins are counted per room.
    fn account<'a>(&'a self, sent: &'a Credentials) -> BoxFuture<'a, Result<Option<String>, LoginError>> {
        let room = sent.get("room").and_then(|room| room.as_str()).map(str::to_owned);
        Box::pin(async { Ok(room) })
    }
}

/// Returns the bookings of the guest's room, which is part of the signed token.
async fn bookings(plan: Plan, context: Context) -> Result<Rows, ResolveError> {
    let room = context.principal.as_ref().and_then(|principal| principal.tenant.clone());
    let mut rows = Rows::new(&plan);
    for (id, of, _) in CODES.iter().filter(|(_, of, _)| Some(*of) == room.as_deref()) {
        rows.root().push_with(|column| if column == "id" { (*id).into() } else { Value::from(*of) });
    }
    Ok(rows)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let schema = Schema::builder()
        .entity("booking", |it| it.field("id", FieldType::Integer).field("room", FieldType::String))
        .build()?;
    // A deployment reads its secret from a file; `openssl rand -hex 32` creates one.
    let secret = Secret::new("only an example: anybody can read this one")?;
    let mut integrity = Integrity::new(Gate::new(Keys::new(&secret)), Rooms);
    integrity.login_per_minute = 5;
    let mesh = Mesh::builder(schema).resolver("booking", bookings).build()?;
    let mut app = App::builder(mesh);
    app.options.authenticator.integrity = Some(integrity);
    let app = app.build()?;

    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:4000".to_owned());
    let listener = TcpListener::bind(address).await?;
    eprintln!("listening on http://{}", listener.local_addr()?);
    Server::new(app).serve(listener, std::future::pending()).await?;
    Ok(())
}
