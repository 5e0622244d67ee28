//! Comments of a database are descriptions for clients.

use mesh_tests::{Cluster, Request, Server};

const TABLES: &str = "
CREATE TABLE posts (id integer PRIMARY KEY, title text NOT NULL, subtitle text);
COMMENT ON TABLE posts IS 'Articles of the blog';
COMMENT ON COLUMN posts.subtitle IS 'Below the headline';
";

#[test]
fn introspection_has_the_comments_of_tables_and_columns() {
    let Some(cluster) = Cluster::start() else { return };
    let server = Server::start(&["--database", &cluster.database("comments", TABLES), "--docs"]);
    let post = server.send(&Request::new("GET", "/docs/schema")).json()["entities"][0].clone();
    assert_eq!(post["description"], "Articles of the blog");
    let fields = post["fields"].as_array().unwrap();
    assert_eq!(fields[2]["description"], "Below the headline");
    let nullable: Vec<_> = fields.iter().map(|field| field["nullable"].as_bool()).collect();
    assert_eq!(nullable, [Some(false), Some(false), Some(true)]);
    assert_eq!(fields[1].get("description"), None);
}
