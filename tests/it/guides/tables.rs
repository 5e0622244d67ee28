//! Queries in the tables of guides, sent to the sample data.

use std::fs;

use mesh_tests::guide::root;
use mesh_tests::{Request, Server, command};

/// Returns the last cell of each table row, without headings and separators.
fn cells(page: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| ") && line.ends_with(" |"));
    let cells = rows.map(|row| row.trim_end_matches(" |").rsplit(" | ").next().unwrap().to_owned());
    cells.filter(|cell| cell != "here").collect()
}

#[test]
fn every_query_of_the_migration_guide_is_answered() {
    let server = Server::spawn(&mut command(&["demo", "--listen", "127.0.0.1:0", "--log", "off"]));
    let mut sent = 0;
    for cell in cells("docs/migrating.md") {
        // A dash marks a row without a query.
        if cell.starts_with('–') {
            continue;
        }
        let mut parts = cell.split('`');
        let (Some(path), Some(" with "), Some(query)) = (parts.nth(1), parts.next(), parts.next()) else {
            panic!("no path and query: {cell}");
        };
        let mut request = Request::get(&server.path(path), query);
        if !query.starts_with("{\"") {
            request = request.header("X-Mesh-Format", "ql");
        }
        let reply = server.send(&request);
        assert_eq!(reply.status, 200, "{cell}: {}", reply.text());
        let body = reply.json();
        let found =
            body.get("items").map_or_else(|| !body.is_null(), |items| !items.as_array().unwrap().is_empty());
        assert!(found, "{cell}: nothing is found: {body}");
        sent += 1;
    }
    assert!(sent > 30, "{sent} rows");
}
