//! Serves data that is in no database: `cargo run -p mesh-server --example own_resolver`.
//!
//! A resolver is an async function from a plan to flat rows. Mesh filters, sorts, pages and nests them.

use std::collections::HashMap;
use std::error::Error;

use mesh_server::mesh_plan::{Context, Mesh, Plan, ResolveError, Rows, Value};
use mesh_server::mesh_schema::{FieldType, JoinDocument, Schema};
use mesh_server::{App, Server};
use tokio::net::TcpListener;

type Record = HashMap<&'static str, Value>;

fn posts() -> Vec<Record> {
    let post = |id: i64, title| Record::from([("id", id.into()), ("title", Value::from(title))]);
    vec![post(1, "Hello"), post(2, "Goodbye")]
}

fn comments() -> Vec<Record> {
    let comment = |id: i64, post: i64, text| {
        Record::from([("id", id.into()), ("post_id", post.into()), ("text", Value::from(text))])
    };
    vec![comment(1, 1, "Welcome"), comment(2, 1, "Hi there"), comment(3, 2, "Stay")]
}

/// Returns all records. A resolver that fetches fewer, such as those that satisfy the plan's filter, declares what it has
/// done with `Rows::applied`.
async fn resolve(plan: Plan, _: Context) -> Result<Rows, ResolveError> {
    let mut rows = Rows::new(&plan);
    for post in posts() {
        rows.root().push_with(|column| post.get(column).cloned().unwrap_or_default());
    }
    // There is a table only if the query selects comments. Its columns are those that the plan needs.
    if let Some(table) = rows.table("comments") {
        for comment in comments() {
            table.push_with(|column| comment.get(column).cloned().unwrap_or_default());
        }
    }
    Ok(rows)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let schema = Schema::builder()
        .entity("post", |post| post.field("id", FieldType::Integer).field("title", FieldType::String))
        .entity("comment", |comment| comment.field("id", FieldType::Integer).field("text", FieldType::String))
        .relation("post.comments", JoinDocument::many("comment", "comments.post_id = posts.id"))
        .build()?;
    let app = App::builder(Mesh::builder(schema).resolver("post", resolve).build()?).build()?;
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:4000".to_owned());
    let listener = TcpListener::bind(address).await?;
    eprintln!("listening on http://{}", listener.local_addr()?);
    Server::new(app).serve(listener, std::future::pending()).await?;
    Ok(())
}
