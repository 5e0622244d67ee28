//! Variables of the server that would change the meaning of statements.

use mesh_tests::{MariaDb, Request, Server, TempDir};
use serde_json::json;

/// Values for new sessions that would change results or let writes through that are refused.
const HOSTILE: &str = "SET GLOBAL foreign_key_checks = 0; SET GLOBAL unique_checks = 0; SET GLOBAL check_constraint_checks = 0;
    SET GLOBAL sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES'; SET GLOBAL time_zone = '+05:00';
    SET GLOBAL autocommit = 0; SET GLOBAL completion_type = 'RELEASE'; SET GLOBAL tx_isolation = 'SERIALIZABLE';
    SET GLOBAL sql_select_limit = 1; SET GLOBAL sql_safe_updates = 1; SET GLOBAL sql_auto_is_null = 1;
    SET GLOBAL sql_big_selects = 0; SET GLOBAL max_sort_length = 64; SET GLOBAL default_regex_flags = 'EXTENDED,DUPNAMES';
    SET GLOBAL old_mode = 'ZERO_DATE_TIME_CAST'; SET GLOBAL character_set_connection = latin1; SET GLOBAL div_precision_increment = 0;
    SET GLOBAL explicit_defaults_for_timestamp = 0; SET GLOBAL tx_read_only = 1";

#[test]
fn variables_of_the_server_do_not_change_what_reads_and_writes_mean() {
    let Some(mariadb) = MariaDb::start() else { return };
    mariadb.execute(
        "CREATE TABLE parents (id int PRIMARY KEY);
        CREATE TABLE children (id int PRIMARY KEY, parent_id int, n int CHECK (n > 0), at timestamp NOT NULL, body text,
            FOREIGN KEY (parent_id) REFERENCES parents (id));
        SET time_zone = '+00:00';
        INSERT INTO children VALUES (1, NULL, 1, '2024-05-01 10:00:00', CONCAT(REPEAT('a', 1000), 'c')),
            (2, NULL, 1, '2024-05-01 10:00:00', CONCAT(REPEAT('a', 1000), 'b')), (3, NULL, 1, '2024-05-01 10:00:00', 'a')",
    );
    mariadb.execute(HOSTILE);
    let folder = TempDir::new();
    let fields = ["id", "parentId", "n", "at", "body"];
    let entity = json!({"table": "children", "fields": fields, "columns": {"parentId": "parent_id"}, "writable": true});
    let schema = folder.write("schema.json", &json!({"entities": {"child": entity}}).to_string());
    let server = Server::start(&["--database", &mariadb.url(), "--schema", &schema, "--mutations"]);
    for (body, status) in [
        (r#"{"parentId": 99}"#, 409),
        (r#"{"n": 0}"#, 409),
        (r#"{"n": 99999999999}"#, 400),
        (r#"{"n": 7, "body": "a\\b\"c"}"#, 200),
    ] {
        let reply = server.send(&Request::json("PUT", "/mesh/child/3", body));
        assert_eq!(reply.status, status, "{body}: {}", reply.text());
    }
    let query = r#"{"child":{"$select":{"id":true,"n":true,"at":true},"$orderBy":[{"field":"body","direction":"asc"}]}}"#;
    let at = "2024-05-01T10:00:00Z";
    assert_eq!(
        server.get("/child", query).json()["items"],
        json!([{"id": 3, "n": 7, "at": at}, {"id": 2, "n": 1, "at": at}, {"id": 1, "n": 1, "at": at}])
    );
    assert_eq!(mariadb.query("SELECT n FROM children WHERE id = 3").as_deref().map(str::trim), Some("7"));
}
