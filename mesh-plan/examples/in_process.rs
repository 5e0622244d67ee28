//! Reads inside a program, without HTTP: `cargo run -p mesh-plan --example in_process`.
//!
//! It needs neither a server nor a certain runtime.

#![expect(clippy::print_stdout, reason = "the example prints the answers")]

use std::error::Error;

use futures_util::FutureExt as _;
use mesh_plan::{Context, Mesh, Request, memory::Tables};
use mesh_ql::Format;
use mesh_schema::{FieldType, JoinDocument, Schema};

fn library() -> Result<Mesh, Box<dyn Error>> {
    let schema = Schema::builder()
        .entity("author", |it| it.field("id", FieldType::Integer).field("name", FieldType::String))
        .entity("book", |it| it.field("id", FieldType::Integer).field("title", FieldType::String))
        .relation("author.books", JoinDocument::many("book", "books.author = authors.id"))
        .relation("book.author", JoinDocument::one("author", "authors.id = books.author"))
        .build()?;
    let tables = Tables::new()
        .with("authors", ["id", "name"], [vec![1.into(), "Ada".into()], vec![2.into(), "Bo".into()]])
        .with(
            "books",
            ["id", "title", "author"],
            [
                vec![1.into(), "Notes".into(), 1.into()],
                vec![2.into(), "More notes".into(), 1.into()],
                vec![3.into(), "Boats".into(), 2.into()],
            ],
        );
    Ok(Mesh::builder(schema).default_resolver(tables).build()?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mesh = library()?;
    let plan = mesh.plan(&Request::point(Format::Ql, "{ author name books { title } }", "1"))?;
    // The plan shows what the resolver fetches.
    println!("{plan}");
    // Reads of tables in memory are ready. With other resolvers, await them in your runtime.
    let body = mesh.read(&plan, &Context::default()).now_or_never().ok_or("tables are never pending")??;
    println!("{}", String::from_utf8_lossy(&body.bytes));

    let notes = r#"{"book": {"$select": {"title": true, "author": {"$select": {"name": true}}},
        "$where": {"field": "title", "op": "like", "value": "%notes"}}}"#;
    let plan = mesh.plan(&Request::collection(Format::Json, notes))?;
    let body = mesh.read(&plan, &Context::default()).now_or_never().ok_or("tables are never pending")??;
    println!("{}", String::from_utf8_lossy(&body.bytes));

    // A query is checked before anything is fetched.
    let wrong = mesh.plan(&Request::collection(Format::Ql, "{ book titel }"));
    println!("{}", wrong.err().ok_or("there is no such field")?);
    Ok(())
}
