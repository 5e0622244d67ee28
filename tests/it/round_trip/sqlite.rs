//! Types of SQLite.

use mesh_tests::Database;

use super::engine::ColumnType;

const TYPES: &[ColumnType] = &[
    ColumnType::new("INTEGER", &["0", "-9223372036854775807", "9223372036854775807"]).random("random()"),
    ColumnType::new("TEXT", &["'a'", "'B'", "'é'", "'a,b/c%20?#$x'"]).random("hex(randomblob(8))"),
];

#[test]
fn values_of_sqlite_are_found_walked_and_written_as_they_were_read() {
    super::check(&Database::new(""), TYPES, "");
}
