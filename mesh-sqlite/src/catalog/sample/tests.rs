//! Tests of the detection of time forms, and of its time limit.

use std::time::{Duration, Instant};

use mesh_schema::{Catalog, TimeForm};
use rusqlite::Connection;

use super::super::read;

fn made_by(sql: &str) -> (Catalog, Vec<String>) {
    let mut connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(sql).unwrap();
    read(&mut connection, &[]).unwrap()
}

/// Returns the form and the notes of a column of this type with these values.
fn form(ty: &str, values: &str) -> (Option<TimeForm>, Vec<String>) {
    let (catalog, notes) = made_by(&format!("CREATE TABLE t (at {ty}); INSERT INTO t (at) VALUES {values};"));
    (catalog.tables[0].columns[0].time_form, notes)
}

#[test]
fn time_forms_are_found_by_sampling() {
    let text = |separator, fraction, zulu| Some(TimeForm::Text { separator, fraction, zulu });
    let cases = [
        ("DATETIME", "('2024-05-01T12:30:00')", text('T', 0, false)),
        ("DATETIME", "(NULL), ('2024-05-01 12:30:00')", text(' ', 0, false)),
        ("TIMESTAMP", "('2024-05-01T12:30:00.000Z')", text('T', 3, true)),
        ("TIMESTAMP", "('2024-05-01 12:30:00.123456')", text(' ', 6, false)),
        ("DATE", "('2024-05-01 12:30:00Z')", text(' ', 0, true)),
        ("DATETIME", "(1714566600)", Some(TimeForm::UnixSeconds)),
        ("DATETIME", "(-100000000000)", Some(TimeForm::UnixSeconds)),
        ("DATETIME", "(100000000001)", Some(TimeForm::UnixMillis)),
        ("DATETIME", "(-9223372036854775808)", Some(TimeForm::UnixMillis)),
        ("DATETIME", "(1714566600.25)", Some(TimeForm::UnixSeconds)),
        ("DATETIME", "(1714566600000.5)", Some(TimeForm::UnixMillis)),
        ("DATE", "('2024-05-01')", None),
        ("DATETIME", "('2024-05-01')", None),
        ("DATETIME", "(NULL)", None),
        ("TEXT", "('2024-05-01T12:30:00')", None),
    ];
    for (ty, values, expected) in cases {
        assert_eq!(form(ty, values), (expected, vec![]), "{ty} {values}");
    }
}

#[test]
fn unknown_time_forms_are_noted() {
    let unknown = [
        "2024-05-01T12:30",
        "2024-05-01T12:30:00+02:00",
        "2024-05-01T12:30:00.",
        "2024-05-01T12:30:00.1234567890",
        "2024-05-01_12:30:00",
        "2024-05-01T12:30:00.1a",
        "2024-05-01T12:30:00Zs",
        "May 1st",
        "2024-5-1",
        "",
        "2024-05-01T",
    ];
    let note = "The time form of column 't.at' is unknown";
    for value in unknown {
        assert_eq!(form("DATETIME", &format!("('{value}')")), (None, vec![note.to_owned()]), "{value}");
    }
    assert_eq!(form("DATETIME", "(x'00ff')"), (None, vec![note.to_owned()]));
}

#[test]
fn the_most_frequent_time_form_is_used() {
    let (found, notes) = form(
        "DATETIME",
        "(1714566600), ('2024-05-01 12:30:00.5Z'), ('2024-05-02 12:30:00.7Z'), ('soon'), (2)",
    );
    assert_eq!(found, Some(TimeForm::UnixSeconds));
    let expected = "Column 't.at' has several time forms: Unix seconds (2 of 5), YYYY-MM-DD HH:MM:SS.sZ (2 of 5), \
                    an unknown form (1 of 5). Comparisons convert them, without an index";
    assert_eq!(notes, [expected]);

    let (found, notes) = form("DATETIME", "('2024-05-01'), ('2024-05-01T00:00:00')");
    assert_eq!(found, Some(TimeForm::Text { separator: 'T', fraction: 0, zulu: false }));
    assert_eq!(notes.len(), 1);
}

#[test]
fn a_sample_is_bounded() {
    // A time is in the row `time` of 30,000 rows.
    let rows = |time: u32| {
        format!(
            "CREATE TABLE t (at DATETIME);
             WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
             INSERT INTO t SELECT iif(i = {time}, 1, NULL) FROM n;"
        )
    };
    let form = |sql: &str| made_by(sql).0.tables[0].columns[0].time_form;
    assert_eq!([1, 10_000, 20_001, 30_000].map(|time| form(&rows(time))), [Some(TimeForm::UnixSeconds); 4]);
    assert_eq!([10_001, 20_000].map(|time| form(&rows(time))), [None; 2]);
}

#[test]
fn a_slow_view_delays_the_start_only_briefly() {
    let mut connection = Connection::open_in_memory().unwrap();
    connection
        .execute_batch(
            "CREATE TABLE t (at DATETIME, until DATETIME); INSERT INTO t VALUES (1, 2);
             CREATE VIEW slow AS SELECT at, until FROM t WHERE 0 < (
               WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n);",
        )
        .unwrap();
    let start = Instant::now();
    let (catalog, notes) = read(&mut connection, &[]).unwrap();
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    assert_eq!(catalog.tables[0].columns[0].time_form, Some(TimeForm::UnixSeconds));
    assert_eq!(catalog.tables[1].columns.len(), 2);
    let expected = [
        "The time form of column 'slow.at' is unknown: sampling took too long",
        "The time form of column 'slow.until' is unknown: sampling took too long",
    ];
    assert_eq!(notes, expected);
    // No late interrupt affects the next statement.
    let count: i64 = connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap();
    assert_eq!(count, 1);
}

#[test]
fn a_view_that_fails_during_sampling_is_kept() {
    let (catalog, notes) = made_by(
        "CREATE TABLE t (at DATETIME, j JSON); INSERT INTO t VALUES (1, '{'), (2, '{}');
         CREATE VIEW v AS SELECT at FROM t WHERE json_extract(j, '$.a') IS NULL;",
    );
    assert_eq!(catalog.tables[1].name, "v");
    assert_eq!(notes, ["The time form of column 'v.at' is unknown: malformed JSON"]);
}

#[test]
fn a_column_that_is_configured_as_time_is_sampled() {
    let mut connection = Connection::open_in_memory().unwrap();
    connection
        .execute_batch("CREATE TABLE t (a TEXT); INSERT INTO t VALUES ('2024-05-01 12:30:00')")
        .unwrap();
    let mut form =
        |times: &[(String, String)]| read(&mut connection, times).unwrap().0.tables[0].columns[0].time_form;
    assert_eq!(form(&[]), None);
    let blank = TimeForm::Text { separator: ' ', fraction: 0, zulu: false };
    assert_eq!(form(&[("T".to_owned(), "A".to_owned())]), Some(blank));
}
