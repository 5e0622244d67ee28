//! The sample database is complete and consistent.

use mesh_sqlite::rusqlite::types::Value;

use super::*;

fn sample() -> Connection {
    let mut connection = Connection::open_in_memory().unwrap();
    create(&mut connection).unwrap();
    connection
}

fn count(connection: &Connection, sql: &str) -> i64 {
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// Every row of every table as text.
fn dump(connection: &Connection) -> Vec<String> {
    let mut rows = Vec::new();
    for table in ["users", "posts", "comments", "tags", "post_tags"] {
        let mut select = connection.prepare(&format!("SELECT * FROM {table} ORDER BY 1, 2")).unwrap();
        let columns = select.column_count();
        let found = select
            .query_map([], |row| (0..columns).map(|at| row.get::<_, Value>(at)).collect::<Result<Vec<_>>>());
        rows.extend(found.unwrap().map(|row| format!("{table} {:?}", row.unwrap())));
    }
    rows
}

#[test]
fn tables_have_the_documented_rows() {
    let connection = sample();
    for (table, rows) in [("users", 40), ("posts", 150), ("comments", 400), ("tags", 20), ("post_tags", 450)]
    {
        assert_eq!(count(&connection, &format!("SELECT count(*) FROM {table}")), rows, "{table}");
    }
}

#[test]
fn posts_are_indexed() {
    let connection = sample();
    let bread = "SELECT count(*) FROM posts_fts WHERE posts_fts MATCH 'bread'";
    assert!(count(&connection, bread) > 1);
    connection
        .execute_batch("INSERT INTO posts_fts (posts_fts, rank) VALUES ('integrity-check', 1)")
        .unwrap();
}

#[test]
fn references_have_targets() {
    let connection = sample();
    assert_eq!(count(&connection, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
    assert_eq!(count(&connection, "SELECT count(*) FROM pragma_foreign_key_list('post_tags')"), 2);
    assert_eq!(count(&connection, "SELECT count(*) FROM users WHERE manager_id >= id"), 0);
}

#[test]
fn second_creation_fails_and_changes_nothing() {
    let mut connection = sample();
    let before = dump(&connection);
    create(&mut connection).unwrap_err();
    assert_eq!(before, dump(&connection));
}

#[test]
fn visible_texts_are_distinct() {
    let connection = sample();
    assert_eq!(count(&connection, "SELECT count(DISTINCT title) FROM posts"), 150);
    assert_eq!(count(&connection, "SELECT count(DISTINCT body) FROM posts"), 150);
    let distinct = "SELECT count(*) FROM (SELECT DISTINCT post_id, body FROM comments)";
    assert_eq!(count(&connection, distinct), 400);
    assert!(count(&connection, "SELECT count(DISTINCT body) FROM comments") > 300);
}

#[test]
fn dates_are_ordered_and_well_formed() {
    let connection = sample();
    let none = |sql: &str| assert_eq!(count(&connection, sql), 0, "{sql}");
    for (table, column) in [
        ("users", "created_at"),
        ("posts", "created_at"),
        ("posts", "published_at"),
        ("comments", "created_at"),
    ] {
        none(&format!(
            "SELECT count(*) FROM {table} WHERE {column} IS NOT datetime({column})
             OR {column} NOT BETWEEN '2024-01-01' AND '2026-10-01'"
        ));
    }
    none("SELECT count(*) FROM posts WHERE published_at <= created_at");
    none("SELECT count(*) FROM posts WHERE (status = 'draft') <> (published_at IS NULL)");
    none(
        "SELECT count(*) FROM posts p JOIN users u ON u.id = p.author_id WHERE u.created_at >= p.created_at",
    );
    none(
        "SELECT count(*) FROM comments c JOIN posts p ON p.id = c.post_id
          WHERE p.published_at IS NULL OR c.created_at <= p.published_at",
    );
    none(
        "SELECT count(*) FROM comments c JOIN users u ON u.id = c.author_id WHERE u.created_at >= c.created_at",
    );
    none("SELECT count(*) FROM comments c JOIN posts p ON p.id = c.post_id WHERE c.author_id = p.author_id");
    none("SELECT count(*) FROM posts a JOIN posts b ON a.id < b.id WHERE a.created_at >= b.created_at");
}

#[test]
fn every_kind_of_row_exists() {
    let connection = sample();
    for sql in [
        "SELECT count(*) FROM users WHERE bio IS NULL",
        "SELECT count(*) FROM users WHERE manager_id IS NULL AND role = 'admin'",
        "SELECT count(*) FROM posts WHERE status = 'draft'",
        "SELECT count(*) FROM posts WHERE status = 'archived'",
        "SELECT count(*) FROM posts WHERE status = 'published'",
        "SELECT count(*) FROM posts WHERE pinned",
        "SELECT count(*) FROM posts WHERE rating IS NULL AND status = 'published'",
        "SELECT count(*) FROM posts WHERE metadata IS NULL",
        "SELECT count(*) FROM posts WHERE json_type(metadata, '$.cover') = 'null'",
        "SELECT count(*) FROM posts WHERE typeof(rating) = 'real' AND rating BETWEEN 2.5 AND 5",
        "SELECT count(*) FROM posts p WHERE published_at IS NOT NULL
         AND NOT EXISTS (SELECT 1 FROM comments c WHERE c.post_id = p.id)",
    ] {
        assert!(count(&connection, sql) > 0, "{sql}");
    }
    let unused = "SELECT count(*) FROM tags WHERE id NOT IN (SELECT tag_id FROM post_tags)";
    assert_eq!(count(&connection, unused), 0);
    assert_eq!(
        count(
            &connection,
            "SELECT count(*) FROM posts WHERE metadata IS NOT NULL AND NOT json_valid(metadata)"
        ),
        0
    );
    let silent = "SELECT count(*) FROM users WHERE role IN ('author', 'editor', 'admin')
                  AND id NOT IN (SELECT author_id FROM posts)";
    assert_eq!(count(&connection, silent), 0);
}
