//! Types of SQLite, whose columns hold values of any type.

use mesh_tests::Database;

use super::engine::{ColumnType, Key};

/// Hides the stored form of values: a record that is created again with the value that was read has the form of the column.
const MEANING: &str = "v IS NULL";

const TYPES: &[ColumnType] = &[
    ColumnType::new("INTEGER", &["0", "-9223372036854775807", "9223372036854775807"]).random("random()"),
    ColumnType::new("INT /* and others */", &["7", "'n/a'", "5.5", "''", "x'41'", "1e300"])
        .key(Key::Single)
        .shown(MEANING),
    ColumnType::new("REAL", &["0.5", "-1e-300", "1e300", "9007199254740993", "9e999"])
        .random("random() / 7.0")
        .reads_null()
        .key(Key::Impossible),
    ColumnType::new("REAL /* and others */", &["0.5", "'n/a'", "x'ff'"]).key(Key::Single).shown(MEANING),
    ColumnType::new("TEXT", &["'a'", "'B'", "'é'", "'a,b/c%20?#$x'", "'7'", "'true'", "' '", "'2024-05-01'"])
        .random("hex(randomblob(8))"),
    ColumnType::new("TEXT COLLATE NOCASE", &["'a'", "'B'", "'É'", "'é'", "'ß'"]),
    ColumnType::new("TEXT COLLATE RTRIM", &["'a'", "'b  '", "' '"]).key(Key::Single),
    // Latin-1, and bytes.
    ColumnType::new("TEXT /* and others */", &["'caf'", "CAST(x'636166e9' AS TEXT)", "x'00ff'", "'AP9='"])
        .key(Key::Single)
        .shown(MEANING),
    ColumnType::new("", &["7", "'8'", "1.5", "'x'", "x'41'", "'007'"]).key(Key::Single).shown(MEANING),
    ColumnType::new("NUMERIC", &["7", "1.5", "1e-7", "1e21", "0.1 + 0.2", "-9223372036854775808"])
        .random("random() / 7.0")
        .key(Key::Single),
    ColumnType::new("DECIMAL(10,2) /* and others */", &["1.5", "'n/a'", "'1.5x'"])
        .key(Key::Single)
        .shown(MEANING),
    ColumnType::new("BOOLEAN", &["0", "1"]),
    ColumnType::new("BOOLEAN /* and others */", &["0", "'true'", "'t'", "7", "0.5"])
        .key(Key::Single)
        .shown(MEANING),
    ColumnType::new(
        "UUID",
        &["'f81d4fae-7dec-11d0-a765-00a0c91e6bf6'", "'00000000-0000-0000-0000-000000000000'"],
    )
    .equality(),
    ColumnType::new("GUID", &["x'f81d4fae7dec11d0a76500a0c91e6bf6'", "x'00000000000000000000000000000000'"])
        .random("randomblob(16)")
        .equality(),
    ColumnType::new(
        "UUID /* and others */",
        &[
            "x'f81d4fae7dec11d0a76500a0c91e6bf6'",
            "'00000000-0000-0000-0000-0000000000AB'",
            "'f81d4fae7dec11d0a76500a0c91e6bf7'",
            "x'41'",
            "7",
        ],
    )
    .equality()
    .key(Key::Single)
    .shown(MEANING),
    ColumnType::new("DATETIME", &["'2024-05-01 12:30:00'", "'1969-12-31 23:59:59'", "'9999-12-31 23:59:59'"])
        .random("datetime(abs(random()) % 4000000000, 'unixepoch')"),
    ColumnType::new(
        "DATETIME /* in milliseconds */",
        &["'2024-05-01T12:30:00.000Z'", "'1969-12-31T23:59:59.999Z'"],
    ),
    ColumnType::new("TIMESTAMP", &["0", "1714566600", "-1", "4102444800"])
        .random("abs(random()) % 4000000000"),
    ColumnType::new(
        "DATETIME /* in several forms */",
        &[
            "'2024-05-01 12:30:00'",
            "'2024-05-01 12:30:00.123456'",
            "'2024-05-02T12:30:00.5Z'",
            "'2024-05-02T12:30:01+02:00'",
            "'2024-05-03'",
            "1714566601",
            "1714566602250",
            "2460310.25",
            "'soon'",
            "'2016-12-31 23:59:60'",
            "x'41'",
            "9e15",
        ],
    )
    .key(Key::Single)
    .shown(MEANING),
    ColumnType::new("DATE", &["'2024-05-01'", "'0000-01-01'", "'9999-12-31'"]),
    ColumnType::new("DATE /* in seconds */", &["0", "1714521600"]).key(Key::Single).shown(MEANING),
    ColumnType::new(
        "DATE /* in several forms */",
        &["'2024-05-01'", "'2024-05-02 10:00:00'", "1714780800", "'never'"],
    )
    .key(Key::Single)
    .shown(MEANING),
    ColumnType::new("BLOB", &["x''", "x'00ff'", "x'616263'"]).random("randomblob(8)").no_operators(),
];

#[test]
fn values_of_sqlite_are_found_walked_and_written_as_they_were_read() {
    super::check(&Database::new(""), TYPES, "");
}
