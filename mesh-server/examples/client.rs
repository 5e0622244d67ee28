//! A client in Rust: `cargo run -p mesh-server --example client -- http://127.0.0.1:4000/mesh`.
//!
//! The server must have posts, as `mesh-server demo` and the example `blog` do. For the latter, add a login and its password
//! as arguments. With a title as a third argument, the client creates a post and deletes it again, if the server allows
//! writes (`--mutations`). `client/http.rs` sends the requests; mesh-wire does the rest.

#![expect(clippy::print_stdout, reason = "the example prints what it receives")]

#[path = "client/http.rs"]
mod http;

use std::pin::pin;

use futures_util::TryStreamExt as _;
use mesh_ql::build::{asc, query};
use mesh_server::mesh_wire::client::{self, Client, Endpoint, StreamEvent};
use serde::Deserialize;
use serde_json::{Map, json};

use self::http::{BoxError, Http};

#[derive(Deserialize)]
struct Post {
    id: u64,
    title: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let mut arguments = std::env::args().skip(1);
    let at = Endpoint::parse(&arguments.next().unwrap_or_else(|| "http://127.0.0.1:4000/mesh".to_owned()))?;
    let http = Http::new();
    let logged_in = arguments.len() > 0;
    let client = match (arguments.next(), arguments.next()) {
        (Some(login), Some(password)) => {
            let credentials = [("login", login), ("password", password)];
            let credentials = credentials.map(|(name, text)| (name.to_owned(), text.into()));
            http.log_in(at.clone(), &Map::from_iter(credentials)).await?
        }
        _ => Client::new(at.clone()),
    };

    // A list, page by page.
    let post = query("post").fields(["id", "title"]);
    let list = post.clone().order_by(asc("id")).first(2).build();
    let mut pages = pin!(http.pages(client.pages(list)));
    let mut last = None;
    while let Some(page) = pages.try_next().await? {
        for post in page.items::<Post>()? {
            println!("{}. {}", post.id, post.title);
            last = Some(post);
        }
    }

    // One record. The id of the query is sent in its place; the query is registered if the server does not have it.
    let last = last.ok_or("there is no post")?.id.to_string();
    let reads = client.clone().with_persisted_queries();
    let again: Post = http.fetch(reads.point(&post.clone().build(), &last)).await?;
    println!("the last one again: {}", again.title);

    // The first event of a stream of changes.
    let mut seen = pin!(http.watch(client.watch(&query("post").field("title").build(), &last)));
    match seen.try_next().await? {
        Some(StreamEvent::Update(record)) => println!("watched: {record}"),
        Some(StreamEvent::Failed(error)) => println!("watching failed: {error}"),
        None => {}
    }

    // A new record. The reply has the shape of the query.
    if let Some(title) = arguments.next() {
        let create = client.create("post", &json!({ "title": title })).select(&post.build());
        let Post { id, title } = http.fetch(create).await?;
        http.run(client.delete("post", id.to_string())).await?;
        println!("made and deleted: {title}");
    }
    if logged_in {
        client::result(http.send(client.sign(client::logout(&at)?)?).await?)?;
    }
    Ok(())
}
