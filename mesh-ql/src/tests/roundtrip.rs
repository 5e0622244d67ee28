//! Round trips: printing and parsing are inverse to each other, within each format and between both formats.

use expect_test::expect;
use proptest::prelude::*;

use super::tree::{WIDE, query, selection_query};
use crate::{Format, Limits, parse, print_json, print_ql};

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn printed_json_parses_to_the_same_query(query in query()) {
        prop_assert_eq!(&parse(Format::Json, &print_json(&query), &WIDE).unwrap(), &query);
        prop_assert_eq!(&parse(Format::Json, &serde_json::to_string_pretty(&query).unwrap(), &WIDE).unwrap(), &query);
    }

    #[test]
    fn printed_ql_parses_to_the_same_query(query in selection_query()) {
        let ql = print_ql(&query).unwrap();
        prop_assert_eq!(&parse(Format::Ql, &ql, &WIDE).unwrap(), &query);
        let items = ql.strip_prefix("{ ").and_then(|ql| ql.strip_prefix(&*query.entity)).unwrap();
        let braced = format!("{{ {} {{{items} }}", query.entity);
        prop_assert_eq!(&parse(Format::Ql, &braced, &WIDE).unwrap(), &query, "inner braces mean the same");
    }

    #[test]
    fn json_to_ql_to_json(query in selection_query()) {
        let json = print_json(&query);
        let ql = print_ql(&parse(Format::Json, &json, &WIDE).unwrap()).unwrap();
        prop_assert_eq!(print_json(&parse(Format::Ql, &ql, &WIDE).unwrap()), json);
    }

    #[test]
    fn ql_is_refused_as_json_and_json_as_ql(query in selection_query()) {
        prop_assert!(parse(Format::Json, &print_ql(&query).unwrap(), &WIDE).is_err());
        prop_assert!(parse(Format::Ql, &print_json(&query), &WIDE).is_err());
    }
}

#[test]
fn printed_text() {
    let text = r#"{"user":{
        "$having":{"and":[{"aggregate":"n","op":"gt","value":1},{"not":{"field":"role","op":"isNull"}}]},
        "$aggregate":{"n":{"fn":"count","field":"*"},"s":{"fn":"sum","field":"age","distinct":true}},
        "$groupBy":["role",{"as":"m","by":"month","zone":"Europe/Berlin","field":"at"}],"$page":{"after":null,"first":5.0},
        "$orderBy":[{"field":"role","direction":"asc","nulls":"last"},{"aggregate":"n","direction":"desc","nulls":"first"}],
        "$where":{"or":[{"value":[1,1.0,1e30,"a\u0000"],"op":"in","field":"age"},{"field":"a","op":"eq","value":-0.5}]},
        "$select":{"role":true}}}"#;
    let query = parse(Format::Json, text, &Limits::default()).unwrap();
    expect![[r#"{"user":{"$select":{"role":true},"$where":{"or":[{"field":"age","op":"in","value":[1,1.0,1e+30,"a\u0000"]},{"field":"a","op":"eq","value":-0.5}]},"$orderBy":[{"field":"role","direction":"asc"},{"aggregate":"n","direction":"desc","nulls":"first"}],"$page":{"first":5},"$groupBy":["role",{"field":"at","by":"month","as":"m","zone":"Europe/Berlin"}],"$aggregate":{"n":{"fn":"count"},"s":{"fn":"sum","field":"age","distinct":true}},"$having":{"and":[{"aggregate":"n","op":"gt","value":1},{"not":{"field":"role","op":"isNull"}}]}}}"#]].assert_eq(&print_json(&query));
    expect!["QL cannot express '$where' (in user); use JSON"]
        .assert_eq(&print_ql(&query).unwrap_err().to_string());
}

#[test]
fn null_is_no_value_for_operators_that_take_none() {
    for op in ["isNull", "isNotNull"] {
        let query = |value: &str| {
            format!(r#"{{"user":{{"$select":{{"id":true}},"$where":{{"field":"id","op":"{op}"{value}}}}}}}"#)
        };
        let parsed = |value: &str| parse(Format::Json, &query(value), &Limits::default()).unwrap();
        assert_eq!(parsed(r#","value":null"#), parsed(""));
        assert_eq!(print_json(&parsed(r#","value":null"#)), query(""));
    }
}

#[test]
fn ql_refuses_controls_and_other_names() {
    let refuse = |json: &str| print_ql(&parse(Format::Json, json, &Limits::default()).unwrap()).unwrap_err();
    let shown = [
        refuse(r#"{"user-x":{"$select":{"id":true}}}"#),
        refuse(r#"{"user":{"$select":{"id":true,"posts":{"$select":{"":true}}}}}"#),
        refuse(r#"{"user":{"$select":{"id":true,"posts":{"$select":{"id":true},"$page":{}}}}}"#),
        refuse(r#"{"user":{"$select":{"größe":true}}}"#),
    ];
    expect![[r#"
        QL cannot express the name 'user-x'; use JSON
        QL cannot express the name '' (in user.posts); use JSON
        QL cannot express '$page' (in user.posts); use JSON
        QL cannot express the name 'größe' (in user); use JSON
    "#]]
    .assert_eq(&shown.map(|error| format!("{error}\n")).concat());
}

#[test]
fn ql_braces_at_the_root_are_optional() {
    let print = |ql: &str| print_ql(&parse(Format::Ql, ql, &Limits::default()).unwrap()).unwrap();
    expect!["{ user id name posts { id } }"].assert_eq(&print("{ user id name posts { id } }"));
    expect!["{ user id name posts { id } }"].assert_eq(&print("{user{id name id posts{id}}}"));
    expect!["{ user posts { id } }"].assert_eq(&print("{user posts{id}}"));
    expect!["{ user user { user } }"].assert_eq(&print("\r\n\t{ user { user { user } } } "));
}
