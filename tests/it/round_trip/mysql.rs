//! Types of MariaDB.

use mesh_tests::MariaDb;

use super::engine::{ColumnType, Key};

const TYPES: &[ColumnType] = &[
    ColumnType::new("bit(1)", &["0", "1"]),
    ColumnType::new("tinyint", &["0", "-128", "127"]),
    ColumnType::new("tinyint unsigned zerofill", &["0", "7", "255"]),
    ColumnType::new("mediumint unsigned", &["0", "16777215"]),
    ColumnType::new("int", &["0", "-2147483648", "2147483647"]).random("floor(rand() * 1e9)"),
    ColumnType::new("bigint", &["0", "9007199254740993", "-9223372036854775808", "9223372036854775807"]),
    ColumnType::new(
        "bigint unsigned",
        &["0", "9223372036854775807", "9223372036854775808", "14695981039346656037", "18446744073709551615"],
    )
    .random("floor(rand() * 9e18) * 2 + 1"),
    ColumnType::new("bigint(20) unsigned zerofill", &["5", "18446744073709551614"]),
    ColumnType::new("bit(8)", &["b'0'", "b'101'", "255"]),
    ColumnType::new("bit(64)", &["1", "9223372036854775808", "18446744073709551615"]),
    ColumnType::new("year", &["1901", "2024", "2155", "0"]),
    ColumnType::new("decimal(10,3)", &["0", "1.5", "-9999999.999", "0.001"]),
    ColumnType::new(
        "decimal(65,30)",
        &["0", "12345678901234567890123456789012345.000000000000000000000000000001"],
    ),
    ColumnType::new(
        "float",
        &[
            "0",
            "0.1",
            "16777216",
            "3.4028234663852886e38",
            "-3.4028234663852886e38",
            "1e-45",
            "1.17549435e-38",
        ],
    )
    .random("exp(rand() * 160 - 80)"),
    ColumnType::new("float(7,4)", &["0", "999.0001", "-12.3456"]),
    ColumnType::new("double", &["0", "0.1", "1.7976931348623157e308", "5e-324", "9007199254740993"])
        .random("exp(rand() * 1000 - 500)"),
    ColumnType::new(
        "varchar(100)",
        &["''", "'a'", "'B'", "'é'", "'a,b/c%20?#$x'", "' '", "'''\"\\\\'", "'\t\n'", "'𝄞'"],
    )
    .random("md5(rand())"),
    ColumnType::new("char(4)", &["'a'", "'abcd'", "'b c'"]),
    ColumnType::new("varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", &["'a'", "'B'", "'é '"]),
    ColumnType::new("varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", &["'a'", "'A'"]),
    ColumnType::new("varchar(20) CHARACTER SET latin1", &["'a'", "'ä€'"]),
    ColumnType::new("varchar(20) CHARACTER SET utf8mb3 COLLATE utf8mb3_unicode_ci", &["'a'", "'ß'"]),
    ColumnType::new("varchar(20) CHARACTER SET utf16", &["'a'", "'𝄞'"]),
    ColumnType::new("text", &["''", "'a'", "repeat('é', 1000)"]).key(Key::Impossible),
    ColumnType::new("enum('sad','happy','it''s, so')", &["'sad'", "'happy'", "'it''s, so'"]),
    ColumnType::new("set('a','b','c')", &["''", "'a'", "'a,c'"]),
    ColumnType::new("binary(4)", &["'ab'", "x'00ff80'", "'abcd'"]).no_operators(),
    ColumnType::new("varbinary(8)", &["''", "'a'", "x'00ff'", "x'c3'"]).no_operators(),
    ColumnType::new("blob", &["''", "x'00ff80'"]).no_operators().key(Key::Impossible),
    ColumnType::new("date", &["'2024-02-29'", "'9999-12-31'", "'1000-01-01'", "'0000-01-01'"]),
    ColumnType::new("datetime", &["'2024-02-29 12:30:00'", "'0000-01-01 00:00:00'", "'9999-12-31 23:59:59'"]),
    ColumnType::new(
        "datetime(6)",
        &["'2024-02-29 12:30:00.000001'", "'2024-02-29 12:30:00.5'", "'1969-12-31'"],
    ),
    ColumnType::new(
        "timestamp",
        &["'2024-02-29 12:30:00'", "'1970-01-01 00:00:01'", "'2038-01-19 03:14:07'"],
    ),
    ColumnType::new("time", &["'08:00:00'", "'-838:59:59'", "'838:59:59'", "'00:00:00'"]),
    ColumnType::new("time(6)", &["'08:00:00.000001'", "'-01:00:00.5'"]),
    ColumnType::new("json", &["'{\"a\": [1, 2.50]}'", "'[]'"]).incomparable(Key::Impossible),
    ColumnType::new(
        "uuid",
        &["'f81d4fae-7dec-11d0-a765-00a0c91e6bf6'", "'00000000-0000-0000-0000-000000000000'"],
    )
    .random("uuid()")
    .equality(),
    ColumnType::new("inet4", &["'10.0.0.1'", "'255.255.255.255'"]),
    ColumnType::new("inet6", &["'::1'", "'::ffff:10.0.0.1'", "'2001:db8::ff00:42:8329'"]),
];

/// Values that the database accepts but are no dates.
const INCOMPLETE: &[ColumnType] = &[
    ColumnType::new("date", &["'0000-00-00'", "'2024-00-01'", "'2024-05-00'", "'2024-05-01'"]).reads_null(),
    ColumnType::new("datetime(3)", &["'0000-00-00'", "'2024-00-00 10:00:00.5'", "'2024-05-01 10:00'"])
        .reads_null(),
    ColumnType::new("timestamp", &["'0000-00-00'", "'2024-05-01 10:00'"]).reads_null(),
];

#[test]
fn values_of_mariadb_are_found_walked_and_written_as_they_were_read() {
    let Some(mariadb) = MariaDb::start() else { return };
    super::check(&mariadb, TYPES, "");
}

#[test]
fn incomplete_dates_of_mariadb_are_walked() {
    let Some(mariadb) = MariaDb::start() else { return };
    super::check(&mariadb, INCOMPLETE, "SET sql_mode = '';");
}
