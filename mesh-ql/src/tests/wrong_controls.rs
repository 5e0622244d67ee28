//! Messages and positions of errors in controls.

use expect_test::{Expect, expect};

use super::check_refusals;
use crate::{Filter, Format, Limits, OrParam, Page, Spanned, parse};

/// Checks the errors of queries with these controls, which begin on the second line.
#[track_caller]
fn check(table: Expect) {
    check_refusals(Format::Json, &table, wrap);
}

const HEAD: &str = "{\"user\": {\"$select\": {\"id\": true},\n";

fn wrap(controls: &str) -> String {
    format!("{HEAD}{controls}\n}}}}")
}

#[test]
fn conditions() {
    check(expect![[r#"
            "$where": null
                '$where' must be a filter object, not null @ 2:11 (user)
            "$where": []
                '$where' must be a filter object, not an array @ 2:11 (user)
            "$where": {}
                The filter object is empty; write 'field' or 'relation' with 'op', or 'and', 'or', 'not' @ 2:11 (user)
            "$where": {"field": "id"}
                A condition needs 'op' @ 2:11 (user)
            "$where": {"op": "eq", "value": 1}
                A condition of '$where' needs 'field' or 'relation' @ 2:11 (user)
            "$where": {"field": 1, "op": "eq", "value": 1}
                'field' must be a string, not a number @ 2:21 (user)
            "$where": {"field": null, "op": "eq", "value": 1}
                'field' must be a string, not null @ 2:21 (user)
            "$where": {"field": "id", "op": "isnull"}
                Unknown operator 'isnull'; did you mean 'isNull'? @ 2:33 (user)
            "$where": {"field": "id", "op": "equals", "value": 1}
                Unknown operator 'equals'; expected 'eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'like', 'ilike', 'isNull', 'isNotNull', 'has', 'hasAny' or 'hasAll' @ 2:33 (user)
            "$where": {"field": "id", "op": "\u0065quals", "value": 1}
                Unknown operator 'equals'; expected 'eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'like', 'ilike', 'isNull', 'isNotNull', 'has', 'hasAny' or 'hasAll' @ 2:33 (user)
            "$where": {"field": "id", "op": 1, "value": 1}
                'op' must be a string, not a number @ 2:33 (user)
            "$where": {"field": "id", "op": "eq"}
                Operator 'eq' needs 'value' @ 2:11 (user)
        "#]]);
}

#[test]
fn operands() {
    check(expect![[r#"
            "$where": {"field": "id", "op": "eq", "value": null}
                null cannot be compared; use the operator 'isNull' or 'isNotNull' @ 2:48 (user)
            "$where": {"value": [1, 2], "field": "id", "op": "eq"}
                Operator 'eq' takes one value, not an array @ 2:21 (user)
            "$where": {"field": "id", "op": "eq", "value": {"a": 1}}
                A value to compare with must be a string, a number or a boolean, or {"$param": name}; found the key 'a' @ 2:49 (user)
            "$where": {"field": "id", "op": "in", "value": 1}
                Operator 'in' needs an array as 'value' @ 2:48 (user)
            "$where": {"field": "meta", "op": "has", "value": ["x"]}
                Operator 'has' takes one value, not an array @ 2:51 (user)
            "$where": {"field": "meta", "op": "hasAny", "value": "x"}
                Operator 'hasAny' needs an array as 'value' @ 2:54 (user)
            "$where": {"field": "meta", "op": "hasAll", "value": []}
                Operator 'hasAll' needs at least one value @ 2:54 (user)
            "$where": {"field": "meta", "op": "hasAny", "value": ["x", null]}
                null cannot be compared; use the operator 'isNull' or 'isNotNull' @ 2:60 (user)
            "$where": {"field": "id", "op": "in"}
                Operator 'in' needs 'value' @ 2:11 (user)
            "$where": {"field": "id", "op": "in", "value": [1, null]}
                null cannot be compared; use the operator 'isNull' or 'isNotNull' @ 2:52 (user)
            "$where": {"field": "id", "op": "in", "value": [1, [2]]}
                A value to compare with must be a string, a number or a boolean, not an array @ 2:52 (user)
            "$where": {"field": "id", "op": "nin", "value": ["a", {}]}
                A value to compare with must be a string, a number or a boolean, or {"$param": name} @ 2:55 (user)
            "$where": {"field": "id", "op": "isNull", "value": true}
                Operator 'isNull' takes no 'value' @ 2:43 (user)
            "$where": {"field": "id", "op": "isNotNull", "value": [null]}
                null cannot be compared; use the operator 'isNull' or 'isNotNull' @ 2:56 (user)
            "$where": {"value": null, "op": "like", "field": "id"}
                null cannot be compared; use the operator 'isNull' or 'isNotNull' @ 2:21 (user)
        "#]]);
}

#[test]
fn buckets() {
    check(expect![[r#"
        "$groupBy": [{}]
            A bucket of '$groupBy' needs 'field', 'by' and 'as' @ 2:14 (user)
        "$groupBy": [1]
            '$groupBy' must list field names and buckets, not a number @ 2:14 (user)
        "$groupBy": [{"field": "at", "by": "month"}]
            A bucket of '$groupBy' needs 'field', 'by' and 'as' @ 2:14 (user)
        "$groupBy": [{"field": "at", "by": "monat", "as": "m"}]
            Unknown unit of time 'monat'; expected 'year', 'quarter', 'month', 'week', 'day', 'hour' or 'minute' @ 2:36 (user)
        "$groupBy": [{"field": "at", "by": "month", "as": "1"}]
            Alias '1' is malformed; write a letter or '_', then up to 63 letters, digits or '_' @ 2:51 (user)
        "$groupBy": [{"field": "at", "by": "month", "as": "m", "timezone": "UTC"}]
            Unknown key 'timezone'; expected 'field', 'by', 'as' or 'zone' @ 2:56 (user)
        "$groupBy": [{"field": "at", "by": "hour", "as": "m", "zone": "UTC"}]
            'zone' cannot be used with 'hour', only with days and longer units @ 2:63 (user)
        "$groupBy": ["m", {"field": "at", "by": "hour", "as": "m"}]
            '$groupBy' names 'm' twice @ 2:55 (user)
        "$groupBy": [{"field": "at", "by": "day", "as": "a"}], "$aggregate": {"a": {"fn": "count"}}
            Alias 'a' is that of a bucket too; choose another alias @ 2:71 (user)
        "$distinct": [{"field": "at", "by": "day", "as": "a"}]
            '$distinct' must list field names, not an object @ 2:15 (user)
    "#]]);
}

#[test]
fn filter_trees() {
    check(expect![[r#"
            "$where": {"field": "id", "op": "eq", "val": 1}
                Unknown key 'val'; expected 'field', 'at', 'relation', 'op', 'value', 'where', 'search', 'and', 'or' or 'not' @ 2:39 (user)
            "$where": {"field": "id", "op": "eq", "value": 1, "value": 1}
                Key 'value' occurs twice in one object @ 2:51 (user)
            "$where": {"aggregate": "n", "op": "eq", "value": 1}
                '$where' compares fields only; filter by 'aggregate' in '$having' @ 2:12 (user)
            "$where": {"and": []}
                'and' is empty; it needs at least one filter object @ 2:19 (user)
            "$where": {"or": {}}
                'or' must be an array of filter objects, not an object @ 2:18 (user)
            "$where": {"and": [1]}
                '$where' must be made of filter objects, not a number @ 2:20 (user)
            "$where": {"and": [{"field": "id", "op": "isNull"}, []]}
                '$where' must be made of filter objects, not an array @ 2:53 (user)
            "$where": {"not": [{"field": "id", "op": "isNull"}]}
                '$where' must be made of filter objects, not an array @ 2:19 (user)
            "$where": {"not": {"field": "id", "op": "isNull"}, "op": "eq"}
                'not' must be the only key of its object; found 'op' too @ 2:52 (user)
            "$where": {"field": "id", "and": []}
                'and' must be the only key of its object @ 2:27 (user)
            "$having": {"aggregate": "n", "op": "eq", "value": 1}
                '$having' needs '$groupBy' or '$aggregate'; filter rows with '$where' @ 2:1 (user)
            "$groupBy": ["role"], "$having": {"aggregate": "n", "field": "role", "op": "eq", "value": 1}
                A condition has either 'field' or 'aggregate', not both @ 2:53 (user)
            "$groupBy": ["role"], "$having": {"op": "eq", "value": 1}
                A condition of '$having' needs 'aggregate' or 'field' @ 2:34 (user)
        "#]]);
}

#[test]
fn orders() {
    check(expect![[r#"
            "$orderBy": null
                '$orderBy' must be an array of {field, direction}, not null @ 2:13 (user)
            "$orderBy": {"field": "id", "direction": "asc"}
                '$orderBy' must be an array of {field, direction}, not an object @ 2:13 (user)
            "$orderBy": ["id"]
                An entry of '$orderBy' must be an object {field, direction}, not a string @ 2:14 (user)
            "$orderBy": [{"direction": "asc"}]
                An entry of '$orderBy' needs 'field' @ 2:14 (user)
            "$orderBy": [{"field": "id"}]
                An entry of '$orderBy' needs 'direction': 'asc' or 'desc' @ 2:14 (user)
            "$orderBy": [{"field": "id", "direction": "descending"}]
                Unknown direction 'descending'; did you mean 'desc'? @ 2:43 (user)
            "$orderBy": [{"field": "id", "direction": "up"}]
                Unknown direction 'up'; expected 'asc' or 'desc' @ 2:43 (user)
            "$orderBy": [{"field": "id", "direction": "asc", "nulls": "lats"}]
                Unknown position of nulls 'lats'; did you mean 'last'? @ 2:59 (user)
            "$orderBy": [{"field": "id", "direction": "asc", "null": "last"}]
                Unknown key 'null'; did you mean 'nulls'? @ 2:50 (user)
            "$orderBy": [{"field": "id", "aggregate": "n", "direction": "asc"}]
                An entry of '$orderBy' has either 'field' or 'aggregate', not both @ 2:43 (user)
            "$orderBy": [{"field": "id", "direction": "asc"}, {"direction": "desc", "field": "id"}]
                '$orderBy' names field 'id' twice @ 2:82 (user)
        "#]]);
}

#[test]
fn pages() {
    check(expect![[r#"
            "$page": null
                '$page' must be an object {first, after}, not null @ 2:10 (user)
            "$page": 5
                '$page' must be an object {first, after}, not a number @ 2:10 (user)
            "$page": {"limit": 5}
                Unknown key 'limit'; expected 'first', 'after', 'last', 'before', 'skip' or 'total' @ 2:11 (user)
            "$page": {"frist": 5}
                Unknown key 'frist'; did you mean 'first'? @ 2:11 (user)
            "$page": {"first": 0}
                'first' must be a whole number from 1 to the bound `page_max` (200), not 0 @ 2:20 (user)
            "$page": {"first": -1}
                'first' must be a whole number from 1 to the bound `page_max` (200), not -1 @ 2:20 (user)
            "$page": {"first": 1.5}
                'first' must be a whole number from 1 to the bound `page_max` (200), not 1.5 @ 2:20 (user)
            "$page": {"first": 201}
                'first' must be a whole number from 1 to the bound `page_max` (200), not 201 @ 2:20 (user)
            "$page": {"first": 1e99}
                'first' must be a whole number from 1 to the bound `page_max` (200), not 1e99 @ 2:20 (user)
            "$page": {"first": 18446744073709551615}
                'first' must be a whole number from 1 to the bound `page_max` (200), not 1.8446744073709552e19 @ 2:20 (user)
            "$page": {"first": "5"}
                'first' must be a whole number from 1 to the bound `page_max` (200), not a string @ 2:20 (user)
            "$page": {"first": null}
                'first' must be a whole number from 1 to the bound `page_max` (200), not null @ 2:20 (user)
            "$page": {"first": {}}
                'first' must be a whole number from 1 to the bound `page_max` (200), or {"$param": name} @ 2:20 (user)
            "$page": {"last": {"param": "n"}}
                'last' must be a whole number from 1 to the bound `page_max` (200), or {"$param": name}; found the key 'param' @ 2:20 (user)
            "$page": {"after": 5}
                'after' must be a cursor (a string) or null, not a number @ 2:20 (user)
            "$page": {"after": {}}
                'after' must be a cursor (a string) or null, or {"$param": name} @ 2:20 (user)
            "$page": {"skip": -1}
                'skip' must be a whole number from 0 to the bound `skip` (10000), not -1 @ 2:19 (user)
            "$page": {"skip": 0.5}
                'skip' must be a whole number from 0 to the bound `skip` (10000), not 0.5 @ 2:19 (user)
            "$page": {"skip": 10001}
                'skip' must be a whole number from 0 to the bound `skip` (10000), not 10001 @ 2:19 (user)
            "$page": {"skip": null}
                'skip' must be a whole number from 0 to the bound `skip` (10000), not null @ 2:19 (user)
            "$page": {"skip": {"param": "n"}}
                'skip' must be a whole number from 0 to the bound `skip` (10000), or {"$param": name}; found the key 'param' @ 2:20 (user)
            "$page": {"first": 1, "skip": 1, "after": null}
                '$page' cannot combine 'skip' with 'after', 'last' or 'before'; combine it with 'first' @ 2:23 (user)
            "$page": {"skip": 1, "after": "abc"}
                '$page' cannot combine 'skip' with 'after', 'last' or 'before'; combine it with 'first' @ 2:11 (user)
            "$page": {"last": 1, "skip": 1}
                '$page' cannot combine 'skip' with 'after', 'last' or 'before'; combine it with 'first' @ 2:22 (user)
            "$page": {"last": 1, "before": null, "skip": 0}
                '$page' cannot combine 'skip' with 'after', 'last' or 'before'; combine it with 'first' @ 2:38 (user)
            "$page": {"first": 5, "first": 5}
                Key 'first' occurs twice in one object @ 2:23 (user)
        "#]]);
}

#[test]
fn field_lists() {
    check(expect![[r#"
            "$distinct": null
                '$distinct' must be an array of field names, not null @ 2:14 (user)
            "$distinct": []
                '$distinct' is empty; leave it out instead @ 2:14 (user)
            "$distinct": "id"
                '$distinct' must be an array of field names, not a string @ 2:14 (user)
            "$distinct": ["id", 1]
                '$distinct' must list field names, not a number @ 2:21 (user)
            "$distinct": ["id", "id"]
                '$distinct' names 'id' twice @ 2:21 (user)
            "$groupBy": [ ]
                '$groupBy' is empty; leave it out instead @ 2:13 (user)
            "$groupBy": ["a\"b\\", "a\"b\\"]
                '$groupBy' names 'a"b\' twice @ 2:24 (user)
            "$groupBy": ["id"], "$distinct": ["id"]
                '$distinct' cannot be combined with '$groupBy' or '$aggregate' @ 2:21 (user)
        "#]]);
}

#[test]
fn aggregates() {
    check(expect![[r#"
            "$aggregate": null
                '$aggregate' must be an object of aliases, not null @ 2:15 (user)
            "$aggregate": []
                '$aggregate' must be an object of aliases, not an array @ 2:15 (user)
            "$aggregate": {}
                '$aggregate' is empty; leave it out instead @ 2:15 (user)
            "$aggregate": {"n": "count"}
                The value of alias 'n' must be an object {fn, field}, not a string @ 2:21 (user)
            "$aggregate": {"n": {}}
                The value of alias 'n' needs 'fn' @ 2:21 (user)
            "$aggregate": {"n": {"fn": "cuont"}}
                Unknown function 'cuont'; did you mean 'count'? @ 2:28 (user)
            "$aggregate": {"n": {"fn": "median", "field": "id"}}
                Unknown function 'median'; expected 'count', 'sum', 'avg', 'min' or 'max' @ 2:28 (user)
            "$aggregate": {"n": {"function": "count"}}
                Unknown key 'function'; expected 'fn', 'field' or 'distinct' @ 2:22 (user)
            "$aggregate": {"n": {"fn": "sum"}}
                Function 'sum' of alias 'n' needs 'field' @ 2:21 (user)
            "$aggregate": {"n": {"fn": "sum", "field": "*"}}
                Function 'sum' needs a field; '*' is allowed only in 'count' @ 2:44 (user)
            "$aggregate": {"n": {"fn": "count", "field": null}}
                'field' must be a string, not null @ 2:46 (user)
            "$aggregate": {"n": {"fn": "count", "field": "id", "distinct": 1}}
                'distinct' must be true or false, not a number @ 2:64 (user)
            "$aggregate": {"n": {"fn": "count", "distinct": true}}
                'distinct' requires 'field', whose distinct values are aggregated @ 2:37 (user)
            "$aggregate": {"n": {"fn": "count"}, "n": {"fn": "count"}}
                Key 'n' occurs twice in one object @ 2:38 (user)
            "$aggregate": {"": {"fn": "count"}}
                Alias '' is malformed; write a letter or '_', then up to 63 letters, digits or '_' @ 2:16 (user)
            "$aggregate": {"1n": {"fn": "count"}}
                Alias '1n' is malformed; write a letter or '_', then up to 63 letters, digits or '_' @ 2:16 (user)
            "$aggregate": {"n\" from x": {"fn": "count"}}
                Alias 'n" from x' is malformed; write a letter or '_', then up to 63 letters, digits or '_' @ 2:16 (user)
            "$aggregate": {"größe": {"fn": "count"}}
                Alias 'größe' is malformed; write a letter or '_', then up to 63 letters, digits or '_' @ 2:16 (user)
            "$aggregate": {"m": {"fn": "count"}, "id": {"fn": "count"}}
                Alias 'id' is also selected; choose another alias @ 2:38 (user)
            "$aggregate": {"n": {"fn": "count"}}, "$distinct": ["id"]
                '$distinct' cannot be combined with '$groupBy' or '$aggregate' @ 2:39 (user)
        "#]]);
}

/// Each bound itself is accepted, and one more is refused.
#[test]
fn bounds() {
    let list =
        |count: usize, item: &dyn Fn(usize) -> String| (0..count).map(item).collect::<Vec<_>>().join(",");
    let leaf = |_| r#"{"field":"a","op":"isNull"}"#.to_owned();
    let filter_depth =
        |n: usize| format!(r#""$where":{}{}{}"#, "{\"not\":".repeat(n - 1), leaf(0), "}".repeat(n - 1));
    let filter_nodes = |n: usize| format!(r#""$where":{{"and":[{}]}}"#, list(n - 1, &leaf));
    let having_nodes = |n: usize| format!(r#""$groupBy":["a"],"$having":{{"or":[{}]}}"#, list(n - 1, &leaf));
    let in_values =
        |n: usize| format!(r#""$where":{{"field":"a","op":"in","value":[{}]}}"#, list(n, &|i| i.to_string()));
    let group_keys = |n: usize| format!(r#""$groupBy":[{}]"#, list(n, &|i| format!("\"f{i}\"")));
    let distinct = |n: usize| format!(r#""$distinct":[{}]"#, list(n, &|i| format!("\"f{i}\"")));
    let order_key = |i| format!(r#"{{"field":"f{i}","direction":"asc"}}"#);
    let order = |n: usize| format!(r#""$orderBy":[{}]"#, list(n, &order_key));
    let aggregates =
        |n: usize| format!(r#""$aggregate":{{{}}}"#, list(n, &|i| format!(r#""n{i}":{{"fn":"count"}}"#)));
    let page = |n: usize| format!(r#""$page":{{"first":{n}}}"#);
    let skip = |n: usize| format!(r#""$page":{{"skip":{n}}}"#);
    let cases: [(usize, &dyn Fn(usize) -> String); 10] = [
        (8, &filter_depth),
        (64, &filter_nodes),
        (64, &having_nodes),
        (200, &in_values),
        (8, &group_keys),
        (8, &distinct),
        (8, &order),
        (16, &aggregates),
        (200, &page),
        (10_000, &skip),
    ];
    let mut shown = String::new();
    for (bound, control) in cases {
        let most = wrap(&control(bound));
        assert!(parse(Format::Json, &most, &Limits::default()).is_ok(), "{most}");
        let error = parse(Format::Json, &wrap(&control(bound + 1)), &Limits::default()).unwrap_err();
        shown.push_str(&format!("{}\n", super::show(&error)));
    }
    expect![[r#"
        '$where' is nested deeper than the bound `filter_depth` (8) allows @ 2:66 (user)
        '$where' has more conditions and combinators than the bound `filter_nodes` (64) allows @ 2:1782 (user)
        '$having' has more conditions and combinators than the bound `filter_nodes` (64) allows @ 2:1799 (user)
        The array has more values than the bound `in_values` (200) allows @ 2:732 (user)
        '$groupBy' has more entries than the bound `group_keys` (8) allows @ 2:53 (user)
        '$distinct' has more entries than the bound `group_keys` (8) allows @ 2:54 (user)
        '$orderBy' has more entries than the bound `group_keys` (8) allows @ 2:277 (user)
        '$aggregate' has more entries than the bound `aggregates` (16) allows @ 2:341 (user)
        'first' must be a whole number from 1 to the bound `page_max` (200), not 201 @ 2:18 (user)
        'skip' must be a whole number from 0 to the bound `skip` (10000), not 10001 @ 2:17 (user)
    "#]]
    .assert_eq(&shown);
}

#[test]
fn depth_of_a_filter_counts_enclosing_combinators_only() {
    let leaf = r#"{"field": "id", "op": "isNull"}"#;
    let pairs = vec![format!(r#"{{"and": [{leaf}, {{"not": {leaf}}}]}}"#); 9].join(", ");
    let limits = Limits { filter_depth: 4, ..Limits::default() };
    let wide = wrap(&format!(r#""$where": {{"or": [{pairs}]}}"#));
    assert_eq!(parse(Format::Json, &wide, &limits).map(|_| ()), Ok(()));
    let deep = wrap(&format!(r#""$where": {{"or": [{pairs}, {{"and": [{{"not": {{"not": {leaf}}}}}]}}]}}"#));
    let error = parse(Format::Json, &deep, &limits).unwrap_err();
    assert!(error.message.contains("bound `filter_depth` (4)"), "{error}");
}

#[test]
fn unusual_controls_are_accepted() {
    let read = |controls: &str| {
        parse(Format::Json, &wrap(controls), &Limits::default()).expect(controls).root.controls
    };
    let first = |size: u32| Some(Spanned::from(OrParam::Value(size)));
    let page = |first| Some(Page { first, ..Page::default() }.into());
    assert_eq!(read(r#""$orderBy": []"#).present().next(), None);
    assert_eq!(read(r#""$page": {}"#).page, page(None));
    assert_eq!(read(r#""$page": {"after": null, "first": 5.0}"#).page, page(first(5)));
    assert_eq!(read(r#""$page": {"first": 2e1}"#).page, page(first(20)));
    assert_eq!(read(r#""$aggregate": {"n": {"fn": "count", "field": "*"}}"#).aggregates[0].field, None);
    let filter = read(r#""$where": {"value": "\u0000", "op": "eq", "field": ""}"#).filter;
    assert!(matches!(filter.unwrap().value, Filter::Condition(_)), "keys in any order, any texts");
    let empty = read(r#""$where": {"field": "id", "op": "in", "value": []}"#).filter;
    assert!(matches!(empty.unwrap().value, Filter::Condition(_)), "an empty list is a list");
    let counted = r#"{"user": {"$select": {}, "$aggregate": {"n": {"fn": "count"}}}}"#;
    assert!(parse(Format::Json, counted, &Limits::default()).is_ok());
}
