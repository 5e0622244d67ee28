//! The example of the README, served to a client over HTTP.

#[allow(dead_code, reason = "the test does not run `main`")]
#[path = "../examples/postgres_in_axum.rs"]
mod postgres_in_axum;

use mesh_tests::{Cluster, Connection, Request};
use tokio::net::TcpListener;

#[test]
fn the_readme_shows_the_example() {
    let code = include_str!("../examples/postgres_in_axum.rs").split_once("\n\n").unwrap().1;
    assert!(include_str!("../README.md").contains(code));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_axum_handler_answers_reads() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(
        "CREATE TABLE users (id integer PRIMARY KEY, name text NOT NULL);
         CREATE TABLE posts (id integer PRIMARY KEY, title text NOT NULL, author_id integer NOT NULL REFERENCES users);
         INSERT INTO users VALUES (1, 'Ada'), (2, 'Bo'); INSERT INTO posts VALUES (1, 'Dawn', 1), (2, 'Bread', 2);",
    );
    let router = postgres_in_axum::router(&cluster.url()).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move { axum::serve(listener, router).await });
    for (path, expected) in [("/post/2", r#"{"title":"Bread","author":{"name":"Bo"}}"#), ("/post/99", "null")]
    {
        let response = Connection::connect(address).send(&Request::new("GET", path));
        assert_eq!((response.status, response.text().as_str()), (200, expected));
        assert_eq!(response.header("content-type"), Some("application/json"));
    }
    serving.abort();
}
