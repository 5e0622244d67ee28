//! How is data served that lies in no database? By a resolver: `cargo run -p mesh-server --example own_resolver`.
//!
//! A resolver is an async function from a plan to flat rows; the service nests them.

use std::collections::HashMap;
use std::error::Error;

use mesh_server::mesh_plan::{Context, Mesh, Plan, ResolveError, Rows, Target, Value};
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

/// Ids and the page size are honored here. A whole resolver heeds filter, order and `after` as well, or leaves
/// them to `memory::Tables`, as the example `two_sources` does.
async fn resolve(plan: Plan, _: Context) -> Result<Rows, ResolveError> {
    let mut rows = Rows::new(&plan);
    let wanted = |post: &&Record| match plan.target() {
        Target::Point(id) => post.get("id") == Some(id),
        Target::Collection => true,
    };
    // One more than the page holds tells that another page follows.
    let most = plan.node().page.as_ref().map_or(usize::MAX, |page| page.first as usize + 1);
    for post in posts().iter().filter(wanted).take(most) {
        rows.root().push_with(|column| post.get(column).cloned().unwrap_or_default());
    }
    // There is a table for what was asked for only; its columns are the fields asked for and the join's key.
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
    let app = App::new(Mesh::builder(schema).resolver("post", resolve).build());
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:4000".to_owned());
    let listener = TcpListener::bind(address).await?;
    eprintln!("listening on http://{}", listener.local_addr()?);
    Server::new(app).serve(listener, std::future::pending()).await;
    Ok(())
}
