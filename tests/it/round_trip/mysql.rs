//! Types of MySQL and MariaDB.

use mesh_tests::MariaDb;

use super::engine::ColumnType;

const TYPES: &[ColumnType] = &[
    ColumnType::new("int", &["0", "-2147483648", "2147483647"]).random("floor(rand() * 1e9)"),
    ColumnType::new("varchar(100)", &["'a'", "'B'", "'é'", "'a,b/c%20?#$x'"]).random("md5(rand())"),
];

#[test]
fn values_of_mariadb_are_found_walked_and_written_as_they_were_read() {
    let Some(mariadb) = MariaDb::start() else { return };
    super::check(&mariadb, TYPES, "");
}
