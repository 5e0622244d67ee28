//! Types of PostgreSQL.

use mesh_tests::Cluster;

use super::engine::{ColumnType, Key};

const TYPES: &[ColumnType] = &[
    ColumnType::new("boolean", &["true", "false"]),
    ColumnType::new("smallint", &["0", "-32768", "32767"]),
    ColumnType::new("integer", &["0", "-2147483648", "2147483647"]).random("(random() * 1e9)::int"),
    ColumnType::new("bigint", &["0", "9007199254740993", "-9223372036854775808", "9223372036854775807"]),
    ColumnType::new(
        "double precision",
        &[
            "0",
            "0.1",
            "1.7976931348623157e308",
            "5e-324",
            "9007199254740993",
            "'NaN'",
            "'Infinity'",
            "'-Infinity'",
        ],
    )
    .random("exp(random() * 1000 - 500)")
    .reads_null(),
    ColumnType::new(
        "text",
        &["''", "'a'", "'B'", "'é'", "'a,b/c%20?#$x'", "' '", "'''\"\\'", "E'\\t\\n'", "'𝄞'"],
    )
    .random("md5(random()::text)"),
    ColumnType::new("varchar(10)", &["'a'", "'a '"]),
    ColumnType::new("char(4)", &["'a'", "'abcd'", "'b c'"]),
    ColumnType::new("\"char\"", &["'a'", "'b'"]),
    ColumnType::new("name", &["'a'", "'A b'"]),
    ColumnType::new("text COLLATE nocase", &["'a'", "'B'"]),
    ColumnType::new("citext", &["'a'", "'B'", "'É'"]),
    ColumnType::new("uuid", &["'f81d4fae-7dec-11d0-a765-00a0c91e6bf6'"])
        .random("gen_random_uuid()")
        .equality(),
    ColumnType::new("bytea", &["'\\x'", "'\\x00ff'", "'abc'"]).no_operators(),
    ColumnType::new("timestamp(0)", &["'2024-02-29 12:30:00'"]),
    ColumnType::new("mood", &["'sad'", "'happy'"]),
    ColumnType::new("other.mood", &["'glad'", "'it''s, \"so\"'"]),
    ColumnType::new("positive", &["1", "2147483647"]),
    ColumnType::new("other.code", &["'a'", "'B'"]),
    ColumnType::new("json", &["'{\"a\": [1, 2.50]}'", "'[]'"]).incomparable(Key::Impossible),
];

/// Types that the tables use.
const PREPARE: &str = "
CREATE SCHEMA ext; CREATE SCHEMA other;
CREATE EXTENSION citext; CREATE EXTENSION ltree SCHEMA ext; CREATE EXTENSION isn SCHEMA ext; CREATE EXTENSION hstore;
CREATE EXTENSION cube; CREATE EXTENSION seg SCHEMA other;
CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE TYPE other.mood AS ENUM ('glad', 'it''s, \"so\"');
CREATE TYPE spot AS (x integer, y text);
CREATE DOMAIN positive AS integer CHECK (VALUE > 0);
CREATE DOMAIN other.code AS citext; 
CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
SET search_path = public, ext, other;
CREATE DOMAIN path_of_tree AS ltree;
";

#[test]
fn values_of_postgresql_are_found_walked_and_written_as_they_were_read() {
    let Some(cluster) = Cluster::start() else { return };
    super::check(&cluster, TYPES, PREPARE);
}
