//! Types of PostgreSQL.

use mesh_tests::Cluster;

use super::engine::{ColumnType, Key};

const TYPES: &[ColumnType] = &[
    ColumnType::new("boolean", &["true", "false"]),
    ColumnType::new("smallint", &["0", "-32768", "32767"]),
    ColumnType::new("integer", &["0", "-2147483648", "2147483647"]).random("(random() * 1e9)::int"),
    ColumnType::new("bigint", &["0", "9007199254740993", "-9223372036854775808", "9223372036854775807"]),
    ColumnType::new(
        "real",
        &[
            "0",
            "1.1",
            "-3.4028235e38",
            "3.4028235e38",
            "1e-45",
            "16777217",
            "'NaN'",
            "'Infinity'",
            "'-Infinity'",
        ],
    )
    .random("random() * 1e10")
    .reads_null(),
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
        "numeric",
        &[
            "0",
            "1.50",
            "1.25",
            "-123456789012345678901234567890.5",
            "1e-20",
            "1e40",
            "'NaN'",
            "'Infinity'",
            "'-Infinity'",
        ],
    )
    .random("(random() * 1e12)::numeric / 7")
    .shown("trim_scale(v)"),
    ColumnType::new("numeric(6, 2)", &["0", "1.10", "'NaN'"]),
    ColumnType::new("money", &["0", "-12.34", "92233720368547758.07"]),
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
    ColumnType::new(
        "date",
        &[
            "'2024-02-29'",
            "'infinity'",
            "'-infinity'",
            "'0001-01-01'",
            "'0001-12-31 BC'",
            "'4714-11-24 BC'",
            "'10000-01-01'",
            "'5874897-12-31'",
        ],
    )
    .random("date '2000-01-01' + (random() * 10000)::int"),
    ColumnType::new(
        "timestamp",
        &[
            "'2024-02-29 12:30:00'",
            "'2024-02-29 12:30:00.123456'",
            "'infinity'",
            "'-infinity'",
            "'0001-12-31 23:59:59 BC'",
            "'294276-12-31 23:59:59.999999'",
            "'4714-11-24 BC'",
        ],
    )
    .random("timestamp '2000-01-01' + random() * interval '20 years'"),
    ColumnType::new(
        "timestamptz",
        &[
            "'2024-02-29 12:30:00+02'",
            "'2024-02-29 12:30:00.5Z'",
            "'infinity'",
            "'-infinity'",
            "'0044-03-15 BC'",
            "'10000-01-01'",
        ],
    )
    .random("now() + random() * interval '20 years'"),
    ColumnType::new("timestamp(0)", &["'2024-02-29 12:30:00'"]),
    ColumnType::new("time", &["'00:00'", "'12:30:00.123456'", "'24:00'"]),
    ColumnType::new("timetz", &["'00:00+00'", "'12:30:00.123456+02'", "'24:00-15:59:59'"]),
    ColumnType::new(
        "interval",
        &["'0'", "'1 year 2 months -3 days 04:05:06.7'", "'-1 day'", "'1 month'", "'99 hours'"],
    ),
    ColumnType::new("bit(4)", &["B'0000'", "B'1010'"]),
    ColumnType::new("bit varying", &["B''", "B'1'", "B'10'"]),
    ColumnType::new("oid", &["0", "4294967295"]),
    ColumnType::new("xid8", &["'0'", "'18446744073709551615'"]),
    ColumnType::new("pg_lsn", &["'0/0'", "'FFFFFFFF/FFFFFFFF'"]),
    ColumnType::new("tid", &["'(0,1)'", "'(4294967295,65535)'"]),
    ColumnType::new("inet", &["'10.0.0.1'", "'10.0.0.0/8'", "'::1'", "'2001:db8::/32'"]),
    ColumnType::new("cidr", &["'10.0.0.0/8'", "'::/0'"]),
    ColumnType::new("macaddr", &["'08:00:2b:01:02:03'"]),
    ColumnType::new("macaddr8", &["'08:00:2b:01:02:03:04:05'"]),
    ColumnType::new("int4range", &["'[1,5)'", "'empty'", "'(,)'"]),
    ColumnType::new("numrange", &["'[1.5,2]'"]),
    ColumnType::new("tstzrange", &["'[2024-01-01 00:00+02,infinity)'"]),
    ColumnType::new("daterange", &["'[2024-01-01,)'", "'[0044-03-15 BC,infinity]'"]),
    ColumnType::new("int4multirange", &["'{[1,5),[7,9)}'", "'{}'"]),
    ColumnType::new("mood", &["'sad'", "'happy'"]),
    ColumnType::new("other.mood", &["'glad'", "'it''s, \"so\"'"]),
    ColumnType::new("positive", &["1", "2147483647"]),
    ColumnType::new("other.code", &["'a'", "'B'"]),
    ColumnType::new("ltree", &["'top'", "'top.a'", "'Top.science'"]),
    ColumnType::new("path_of_tree", &["'top'", "'top.a'"]),
    ColumnType::new("isbn13", &["'978-0-393-04002-9'"]),
    ColumnType::new("issn", &["'1436-4522'"]),
    ColumnType::new("hstore", &["'a=>1'", "'a=>1,b=>NULL'", "''"]),
    ColumnType::new("cube", &["'(1,2),(3,4)'", "'(0.1)'"]),
    ColumnType::new("seg", &["'1.5'", "'1 .. 2'", "'< 3'"]),
    ColumnType::new("jsonb", &["'{\"a\": [1, 2.50]}'", "'null'", "'\"x\"'"])
        .incomparable(Key::Hidden)
        .reads_null(),
    ColumnType::new("json", &["'{\"a\": [1, 2.50]}'", "'[]'"]).incomparable(Key::Impossible),
    ColumnType::new("integer[]", &["'{1,2,NULL}'", "'{}'", "'{{1},{2}}'"]).incomparable(Key::Hidden),
    ColumnType::new("text[]", &["'{a,\"b,c\",NULL,\"NULL\"}'"]).incomparable(Key::Hidden),
    ColumnType::new("spot", &["'(1,a)'"]).incomparable(Key::Hidden),
    ColumnType::new("xml", &["'<a/>'"]).incomparable(Key::Impossible),
    ColumnType::new("point", &["'(1,2)'", "'(0.1,-3)'"]).incomparable(Key::Impossible),
    ColumnType::new("polygon", &["'((0,0),(1,1),(1,0))'"]).incomparable(Key::Impossible),
    ColumnType::new("jsonpath", &["'$.a'"]).incomparable(Key::Impossible),
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
