//! Columns of every type.

use mesh_tests::MariaDb;

use super::Served;
use crate::Settings;

const TYPES: &str = r#"
CREATE TABLE things (
    id int PRIMARY KEY, tiny tinyint, flag tinyint(1), huge bigint unsigned, price decimal(10,2), single float, whole double,
    one bit(1), bits bit(8), born year, name varchar(20) COLLATE utf8mb4_general_ci, code char(4) CHARACTER SET latin1,
    kind enum('small', 'it''s big'), tags set('a', 'b'), day date, moment datetime(3), stamp timestamp NULL, clock time,
    raw varbinary(4), doc json, ident uuid, spot point
);
INSERT INTO things VALUES
    (1, -5, 1, 18446744073709551615, 12.50, 0.1, 0.1, 1, 5, 2024, 'Été', 'ab', 'it''s big', 'a,b', '2024-05-01',
     '2024-05-01 10:00:00.250', '2024-05-01 10:00:00', '12:30:00', x'00ff', '{"a": [1, 2]}',
     'F47AC10B-58CC-4372-A567-0E02B2C3D479', POINT(1, 2)),
    (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SET sql_mode = '';
INSERT INTO things (id, day, moment) VALUES (3, '0000-00-00', '0000-00-00 00:00:00');
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_of_all_types_are_read() {
    let Some(server) = MariaDb::start() else { return };
    server.execute(TYPES);
    let served = Served::open(&server, &Settings::default()).await;
    let query = "{ thing tiny flag huge price single whole one bits born name code kind tags day moment stamp clock raw doc ident }";
    assert_eq!(
        served.point("1", query).await.unwrap(),
        r#"{"tiny":-5,"flag":true,"huge":"18446744073709551615","price":"12.5","single":0.1,"whole":0.1,"one":true,"bits":5,"born":2024,"name":"Été","code":"ab","kind":"it's big","tags":"a,b","day":"2024-05-01","moment":"2024-05-01T10:00:00.25","stamp":"2024-05-01T10:00:00Z","clock":"12:30:00","raw":"AP8=","doc":{"a": [1, 2]},"ident":"f47ac10b-58cc-4372-a567-0e02b2c3d479"}"#
    );
    let dates = served.point("3", "{ thing day moment }").await.unwrap();
    assert_eq!(dates, r#"{"day":null,"moment":null}"#, "dates without a month are none");
    let notes = served.database.contents(&[]).await.unwrap().notes;
    assert!(notes.iter().any(|note| note.contains("'things.spot'")), "{notes:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_are_compared_in_the_type_of_their_column() {
    let Some(server) = MariaDb::start() else { return };
    server.execute(TYPES);
    let served = Served::open(&server, &Settings::default()).await;
    let found = async |condition: &str| {
        let query = format!(r#"{{"thing": {{"$select": {{"id": true}}, "$where": {condition}}}}}"#);
        let body = served.collection(&query).await.unwrap();
        let body: serde_json::Value = serde_json::from_str(&body).unwrap();
        body["items"].as_array().unwrap().len()
    };
    for (condition, count) in [
        (r#"{"field": "tiny", "op": "eq", "value": -5}"#, 1),
        (r#"{"field": "flag", "op": "eq", "value": true}"#, 1),
        (r#"{"field": "huge", "op": "gt", "value": 9223372036854775807}"#, 1),
        (r#"{"field": "price", "op": "eq", "value": "12.5"}"#, 1),
        (r#"{"field": "single", "op": "eq", "value": 0.1}"#, 1),
        // The collation of the column ignores case and accents.
        (r#"{"field": "name", "op": "eq", "value": "ete"}"#, 1),
        (r#"{"field": "name", "op": "like", "value": "ét%"}"#, 0),
        (r#"{"field": "name", "op": "ilike", "value": "éT%"}"#, 1),
        (r#"{"field": "code", "op": "in", "value": ["ab", "x"]}"#, 1),
        (r#"{"field": "kind", "op": "eq", "value": "it's big"}"#, 1),
        (r#"{"field": "kind", "op": "gt", "value": "it"}"#, 1),
        (r#"{"field": "day", "op": "gte", "value": "2024-05-01"}"#, 1),
        (r#"{"field": "moment", "op": "eq", "value": "2024-05-01T12:00:00.25+02:00"}"#, 1),
        (r#"{"field": "stamp", "op": "eq", "value": "2024-05-01T10:00:00Z"}"#, 1),
        (r#"{"field": "clock", "op": "eq", "value": "12:30:00"}"#, 1),
        (r#"{"field": "ident", "op": "eq", "value": "f47ac10b-58cc-4372-a567-0e02b2c3d479"}"#, 1),
        (r#"{"field": "doc", "at": "/a/1", "op": "eq", "value": 2}"#, 1),
        (r#"{"field": "doc", "at": "/a", "op": "hasAll", "value": [2, 1]}"#, 1),
        (r#"{"not": {"field": "doc", "at": "/a", "op": "hasAny", "value": ["1"]}}"#, 1),
        (r#"{"not": {"field": "doc", "op": "has", "value": 1}}"#, 0),
    ] {
        assert_eq!(found(condition).await, count, "{condition}");
    }
}
