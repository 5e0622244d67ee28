//! A policy of the application: `cargo run -p mesh-server --example own_policy`.
//!
//! `doc`, a doctor of ward A, sees the patients of that ward with their diagnoses; `desk` sees the names of all
//! patients. Hidden fields do not exist for a session. The password of both is `ward`.

use std::error::Error;

use mesh_server::mesh_integrity::{
    Authenticator, BoxFuture, Credentials, Gate, Identity, Keys, LoginError, Secret,
};
use mesh_server::mesh_plan::policy::{Access, Condition, SessionValue};
use mesh_server::mesh_plan::{Mesh, memory::Tables};
use mesh_server::mesh_schema::{Entity, FieldType, Schema};
use mesh_server::{App, Integrity, Server};
use tokio::net::TcpListener;

/// Called once for each role and entity, not for each request. Conditions, such as the ward of the session, express what
/// differs between users of a role.
fn policy(role: &str, entity: &Entity) -> Access {
    match (role, entity.key.as_str()) {
        ("doctor", "patient") => Access::all().when(Condition::equal("ward", SessionValue::Tenant)),
        ("reception", "patient") => Access::all().except(["diagnosis"]),
        _ => Access::none(),
    }
}

struct Staff;

impl Authenticator for Staff {
    fn authenticate<'a>(&'a self, sent: &'a Credentials) -> BoxFuture<'a, Result<Identity, LoginError>> {
        Box::pin(async move {
            let text =
                |field| sent.get(field).and_then(|it| it.as_str()).ok_or(LoginError::Missing { field });
            match (text("login")?, text("password")?) {
                ("doc", "ward") => Ok(Identity::new("1").with_role("doctor").with_tenant("A")),
                ("desk", "ward") => Ok(Identity::new("2").with_role("reception")),
                _ => Err(LoginError::Wrong),
            }
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let columns = ["id", "name", "ward", "diagnosis"];
    let schema = Schema::builder()
        .entity("patient", |patient| {
            let patient = patient.field("id", FieldType::Integer);
            columns.iter().skip(1).fold(patient, |patient, name| patient.field(name, FieldType::String))
        })
        .build()?;
    let tables = Tables::new().with(
        "patients",
        columns,
        [
            vec![1.into(), "Ines".into(), "A".into(), "Measles".into()],
            vec![2.into(), "Tom".into(), "B".into(), "Gout".into()],
        ],
    );
    let mesh = Mesh::builder(schema).policy(policy).default_resolver(tables).build()?;
    // A deployment reads its secret from a file; `openssl rand -hex 32` creates one.
    let secret = Secret::new("only an example: anybody can read this one")?;
    let mut app = App::builder(mesh);
    app.options.authenticator.integrity = Some(Integrity::new(Gate::new(Keys::new(&secret)), Staff));
    let app = app.build()?;

    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:4000".to_owned());
    let listener = TcpListener::bind(address).await?;
    eprintln!("listening on http://{}", listener.local_addr()?);
    Server::new(app).serve(listener, std::future::pending()).await?;
    Ok(())
}
