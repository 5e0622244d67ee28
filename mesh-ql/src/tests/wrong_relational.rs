//! Messages and positions of errors in relation conditions, aliases, pages and parameters.

use expect_test::{Expect, expect};

use super::check_refusals;
use crate::{Format, Limits, parse};

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
fn relation_conditions() {
    check(expect![[r#"
            "$where": {"relation": "posts"}
                A condition needs 'op' @ 2:11 (user)
            "$where": {"relation": 1, "op": "some"}
                'relation' must be a string, not a number @ 2:24 (user)
            "$where": {"relation": "posts", "op": "any"}
                Unknown operator of relations 'any'; expected 'some', 'none' or 'every' @ 2:39 (user)
            "$where": {"relation": "posts", "op": "eq"}
                Unknown operator of relations 'eq'; expected 'some', 'none' or 'every' @ 2:39 (user)
            "$where": {"relation": "posts", "op": "every"}
                Operator 'every' needs 'where' @ 2:11 (user)
            "$where": {"relation": "posts", "op": "some", "where": null}
                '$where' must be made of filter objects, not null @ 2:56 (user)
            "$where": {"relation": "posts", "op": "some", "where": {}}
                The filter object is empty; write 'field' or 'relation' with 'op', or 'and', 'or', 'not' @ 2:56 (user)
            "$where": {"relation": "posts", "op": "some", "value": 1}
                A condition on a relation has the keys 'relation', 'op' and 'where' only @ 2:47 (user)
            "$where": {"relation": "posts", "op": "some", "field": "id"}
                A condition on a relation has the keys 'relation', 'op' and 'where' only @ 2:56 (user)
            "$where": {"relation": "posts", "op": "some", "at": "/a"}
                A condition on a relation has the keys 'relation', 'op' and 'where' only @ 2:53 (user)
            "$where": {"field": "id", "op": "some", "value": 1}
                Unknown operator 'some'; expected 'eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'like', 'ilike', 'isNull', 'isNotNull', 'has', 'hasAny' or 'hasAll' @ 2:33 (user)
            "$where": {"field": "id", "op": "eq", "value": 1, "where": {"field": "id", "op": "isNull"}}
                'where' needs 'relation', whose records it filters @ 2:51 (user)
            "$groupBy": ["id"], "$having": {"relation": "posts", "op": "some"}
                Unknown key 'relation'; expected 'aggregate', 'field', 'op', 'value', 'and', 'or' or 'not' @ 2:33 (user)
            "$groupBy": ["id"], "$having": {"field": "id", "at": "/a", "op": "eq", "value": 1}
                Unknown key 'at'; expected 'aggregate', 'field', 'op', 'value', 'and', 'or' or 'not' @ 2:48 (user)
        "#]]);
}

#[test]
fn json_paths() {
    check(expect![[r#"
            "$where": {"field": "meta", "at": "a", "op": "eq", "value": 1}
                'a' is not a JSON Pointer; write '/key/0', with '~1' for a slash in a key and '~0' for a tilde @ 2:35 (user)
            "$where": {"field": "meta", "at": "/~2", "op": "eq", "value": 1}
                '/~2' is not a JSON Pointer; write '/key/0', with '~1' for a slash in a key and '~0' for a tilde @ 2:35 (user)
            "$where": {"field": "meta", "at": 0, "op": "eq", "value": 1}
                'at' must be a string, not a number @ 2:35 (user)
            "$where": {"at": "/a", "op": "eq", "value": 1}
                'at' needs 'field', a field of type json @ 2:18 (user)
            "$orderBy": [{"field": "meta", "at": "/a", "direction": "asc"}]
                Unknown key 'at'; expected 'field', 'aggregate', 'relation', 'search', 'direction' or 'nulls' @ 2:32 (user)
        "#]]);
}

#[test]
fn aliases() {
    let table = expect![[r#"
        {"user": {"$select": {"a b": {"$field": "id"}}}}
            Alias 'a b' is malformed; write a letter or '_', then up to 63 letters, digits or '_' @ 1:23 (user)
        {"user": {"$select": {"a": {"$field": "id", "$select": {"id": true}}}}}
            An alias of a field has the keys '$field' and 'at' only; found '$select' @ 1:45 (user)
        {"user": {"$select": {"a": {"$field": 1}}}}
            '$field' must be a string, not a number @ 1:39 (user)
        {"user": {"$select": {"a": {"$field": "id", "at": "x"}}}}
            'x' is not a JSON Pointer; write '/key/0', with '~1' for a slash in a key and '~0' for a tilde @ 1:51 (user)
        {"user": {"$select": {"a": {"at": "/x"}}}}
            'at' needs '$field', a field of type json @ 1:28 (user)
        {"user": {"$select": {"a": {"$select": {"id": true}, "$field": "id"}}}}
            Unknown key '$field'; expected '$select', '$where', '$orderBy', '$page', '$distinct', '$groupBy', '$aggregate' or '$having' @ 1:54 (user.a)
        {"user": {"$select": {"a-b": {"$relation": "posts", "$select": {"id": true}}}}}
            Alias 'a-b' is malformed; write a letter or '_', then up to 63 letters, digits or '_' @ 1:23 (user)
        {"user": {"$select": {"a": {"$relation": null, "$select": {"id": true}}}}}
            '$relation' must be a string, not null @ 1:42 (user.a)
        {"user": {"$select": {"a": {"$relation": "posts"}}}}
            '$select' is missing @ 1:28 (user.a)
        {"user": {"$select": {"a": {"$relation": "posts", "$select": {"n": true}, "$aggregate": {"n": {"fn": "count"}}}}}}
            Alias 'n' is also selected; choose another alias @ 1:90 (user.a)
        {"user": {"$relation": "posts", "$select": {"id": true}}}
            Unknown key '$relation'; expected '$select', '$where', '$orderBy', '$page', '$distinct', '$groupBy', '$aggregate' or '$having' @ 1:11 (user)
    "#]];
    check_refusals(Format::Json, &table, str::to_owned);
}

#[test]
fn aggregated_relations() {
    let table = expect![[r#"
        {"user": {"$select": {"posts": {"$select": {"id": true}, "$groupBy": ["id"]}}}}
            '$groupBy' of a relation needs '$aggregate' @ 1:58 (user.posts)
        {"user": {"$select": {"posts": {"$select": {"id": true}, "$aggregate": {"n": {"fn": "count"}}, "$orderBy": [{"aggregate": "n", "direction": "asc"}]}}}}
            '$orderBy' requires '$groupBy' here; without it, the aggregates of a relation are a single object @ 1:96 (user.posts)
        {"user": {"$select": {"posts": {"$select": {"id": true}, "$aggregate": {"n": {"fn": "count"}}, "$page": {"first": 1}}}}}
            '$page' requires '$groupBy' here; without it, the aggregates of a relation are a single object @ 1:96 (user.posts)
        {"user": {"$select": {"posts": {"$select": {"id": true}, "$aggregate": {"n": {"fn": "count"}}, "$having": {"aggregate": "n", "op": "gt", "value": 1}}}}}
            '$having' requires '$groupBy' here; without it, the aggregates of a relation are a single object @ 1:96 (user.posts)
        {"user": {"$select": {"posts": {"$select": {"id": true}, "$aggregate": {"n": {"fn": "count"}}, "$distinct": ["id"]}}}}
            '$distinct' cannot be combined with '$groupBy' or '$aggregate' @ 1:96 (user.posts)
    "#]];
    check_refusals(Format::Json, &table, str::to_owned);
    let groups = r#"{"user": {"$select": {"posts": {"$select": {"id": true}, "$aggregate": {"n": {"fn": "count"}},
        "$groupBy": ["id"], "$page": {"first": 1}}}}}"#;
    assert!(parse(Format::Json, groups, &Limits::default()).is_ok());
}

#[test]
fn orders_and_pages() {
    check(expect![[r#"
            "$orderBy": [{"relation": "posts", "direction": "asc"}]
                An entry of '$orderBy' has either 'field', or the alias of an 'aggregate', or 'relation' with 'aggregate': {fn, field}, or 'search' @ 2:14 (user)
            "$orderBy": [{"relation": "posts", "aggregate": "n", "direction": "asc"}]
                An entry of '$orderBy' has either 'field', or the alias of an 'aggregate', or 'relation' with 'aggregate': {fn, field}, or 'search' @ 2:14 (user)
            "$orderBy": [{"aggregate": {"fn": "count"}, "direction": "asc"}]
                An entry of '$orderBy' has either 'field', or the alias of an 'aggregate', or 'relation' with 'aggregate': {fn, field}, or 'search' @ 2:14 (user)
            "$orderBy": [{"relation": "posts", "aggregate": {"fn": "max"}, "direction": "asc"}]
                Function 'max' of 'aggregate' needs 'field' @ 2:49 (user)
            "$orderBy": [{"relation": "posts", "aggregate": {"field": "id"}, "direction": "asc"}]
                The value of 'aggregate' needs 'fn' @ 2:49 (user)
            "$orderBy": [{"relation": "a", "aggregate": {"fn": "count"}, "direction": "asc"}, {"relation": "a", "aggregate": {"fn": "count"}, "direction": "desc"}]
                '$orderBy' has the same aggregate of 'a' twice @ 2:96 (user)
            "$page": {"first": 1, "last": 1}
                '$page' cannot combine 'first' or 'after' with 'last' or 'before'; use one of the two pairs @ 2:23 (user)
            "$page": {"last": 1, "after": null}
                '$page' cannot combine 'first' or 'after' with 'last' or 'before'; use one of the two pairs @ 2:11 (user)
            "$page": {"first": 1, "before": null}
                '$page' cannot combine 'first' or 'after' with 'last' or 'before'; use one of the two pairs @ 2:23 (user)
            "$page": {"before": "abc"}
                'before' needs 'last', the size of the page @ 2:10 (user)
            "$page": {"last": 0}
                'last' must be a whole number from 1 to the bound `page_max` (200), not 0 @ 2:19 (user)
            "$page": {"last": 1, "before": 1}
                'before' must be a cursor (a string) or null, not a number @ 2:32 (user)
            "$page": {"total": false}
                'total' must be exactly true, not false @ 2:20 (user)
            "$page": {"totals": true}
                Unknown key 'totals'; did you mean 'total'? @ 2:11 (user)
        "#]]);
}

#[test]
fn parameters() {
    check(expect![[r#"
            "$where": {"field": "id", "op": "eq", "value": {"$param": "a b"}}
                Parameter 'a b' is malformed; write a letter or '_', then up to 63 letters, digits or '_' @ 2:59 (user)
            "$where": {"field": "id", "op": "eq", "value": {"$param": 1}}
                '$param' must be a string, not a number @ 2:59 (user)
            "$where": {"field": "id", "op": "eq", "value": {}}
                A value to compare with must be a string, a number or a boolean, or {"$param": name} @ 2:48 (user)
            "$where": {"field": "id", "op": "eq", "value": {"param": "a"}}
                A value to compare with must be a string, a number or a boolean, or {"$param": name}; found the key 'param' @ 2:49 (user)
            "$where": {"field": "id", "op": "eq", "value": {"$param": "a", "type": "integer"}}
                A value to compare with must be a string, a number or a boolean, or {"$param": name}; found the key 'type' @ 2:64 (user)
            "$where": {"field": "id", "op": "isNull", "value": {"$param": "a"}}
                Operator 'isNull' takes no 'value' @ 2:43 (user)
            "$page": {"first": {"$param": ""}}
                Parameter '' is malformed; write a letter or '_', then up to 63 letters, digits or '_' @ 2:31 (user)
            "$page": {"total": {"$param": "a"}}
                'total' must be exactly true, not an object @ 2:20 (user)
        "#]]);
}

#[test]
fn relation_conditions_and_sorts_are_bounded() {
    let refused = |controls: &str, limits: &Limits| {
        let error = parse(Format::Json, &wrap(controls), limits).map(|_| ());
        error.map_err(|error| error.message)
    };
    let some = |filter: &str| format!(r#"{{"relation": "posts", "op": "some"{filter}}}"#);
    let nested =
        |levels: usize| (1..levels).fold(some(""), |inner, _| some(&format!(r#", "where": {inner}"#)));
    let limits = Limits { depth: 2, relation_conditions: 3, aggregate_sorts: 1, ..Limits::default() };
    let filter = |filters: &[String]| format!(r#""$where": {{"and": [{}]}}"#, filters.join(", "));
    assert_eq!(refused(&filter(&[nested(2), nested(1)]), &limits), Ok(()));
    let deep = refused(&filter(&[nested(3)]), &limits).unwrap_err();
    assert!(deep.contains("bound `depth` (2)"), "{deep}");
    let many = refused(&filter(&[nested(2), nested(2)]), &limits).unwrap_err();
    assert!(many.contains("bound `relation_conditions` (3)"), "{many}");
    let key = |name: &str| {
        format!(r#"{{"relation": "{name}", "aggregate": {{"fn": "count"}}, "direction": "asc"}}"#)
    };
    let order = |keys: &[&str]| {
        format!(r#""$orderBy": [{}]"#, keys.iter().map(|name| key(name)).collect::<Vec<_>>().join(", "))
    };
    assert_eq!(refused(&order(&["a"]), &limits), Ok(()));
    let sorts = refused(&order(&["a", "b"]), &limits).unwrap_err();
    assert!(sorts.contains("bound `aggregate_sorts` (1)"), "{sorts}");
}

#[test]
fn wrong_searches() {
    let text = |controls: &str| match parse(Format::Json, &wrap(controls), &Limits::default()) {
        Ok(_) => "ok".to_owned(),
        Err(error) => error.to_string(),
    };
    let shown = [
        r#""$where": {"and": [{"search": "a"}, {"or": [{"search": {"$param": "q"}}, {"field": "a", "op": "isNull"}]}]}"#,
        r#""$orderBy": [{"search": "relevance"}, {"field": "id", "direction": "desc"}]"#,
        r#""$where": {"search": 1}"#,
        r#""$where": {"search": {"param": "q"}}"#,
        r#""$where": {"search": "a", "op": "eq"}"#,
        r#""$where": {"field": "a", "search": "a"}"#,
        r#""$where": {"not": {"and": [{"search": "a"}]}}"#,
        r#""$where": {"not": {"relation": "a", "op": "some", "where": {"search": "a"}}}"#,
        r#""$having": {"search": "a"}"#,
        r#""$orderBy": [{"search": "rank"}]"#,
        r#""$orderBy": [{"search": "relevance", "direction": "desc"}]"#,
        r#""$orderBy": [{"nulls": "last", "search": "relevance"}]"#,
        r#""$orderBy": [{"search": "relevance", "field": "a"}]"#,
        r#""$orderBy": [{"field": "id", "direction": "desc"}, {"search": "relevance"}]"#,
        r#""$orderBy": [{"search": "relevance"}, {"search": "relevance"}]"#,
    ];
    let shown = shown.map(|controls| format!("{controls}\n    {}\n", text(controls)));
    expect![[r#"
        "$where": {"and": [{"search": "a"}, {"or": [{"search": {"$param": "q"}}, {"field": "a", "op": "isNull"}]}]}
            ok
        "$orderBy": [{"search": "relevance"}, {"field": "id", "direction": "desc"}]
            ok
        "$where": {"search": 1}
            'search' must be a string, not a number (in user, line 2, column 22)
        "$where": {"search": {"param": "q"}}
            'search' must be a string, or {"$param": name}; found the key 'param' (in user, line 2, column 23)
        "$where": {"search": "a", "op": "eq"}
            'search' must be the only key of its object; found 'op' too (in user, line 2, column 27)
        "$where": {"field": "a", "search": "a"}
            'search' must be the only key of its object (in user, line 2, column 26)
        "$where": {"not": {"and": [{"search": "a"}]}}
            'search' cannot be below 'not'; exclude words with '-' in the text (in user, line 2, column 29)
        "$where": {"not": {"relation": "a", "op": "some", "where": {"search": "a"}}}
            'search' cannot be below 'not'; exclude words with '-' in the text (in user, line 2, column 61)
        "$having": {"search": "a"}
            Unknown key 'search'; expected 'aggregate', 'field', 'op', 'value', 'and', 'or' or 'not' (in user, line 2, column 13)
        "$orderBy": [{"search": "rank"}]
            Unknown order of a search 'rank'; expected 'relevance' (in user, line 2, column 25)
        "$orderBy": [{"search": "relevance", "direction": "desc"}]
            An order by 'search' has neither 'direction' nor 'nulls': the best match is first (in user, line 2, column 51)
        "$orderBy": [{"nulls": "last", "search": "relevance"}]
            An order by 'search' has neither 'direction' nor 'nulls': the best match is first (in user, line 2, column 24)
        "$orderBy": [{"search": "relevance", "field": "a"}]
            An entry of '$orderBy' has either 'field', or the alias of an 'aggregate', or 'relation' with 'aggregate': {fn, field}, or 'search' (in user, line 2, column 14)
        "$orderBy": [{"field": "id", "direction": "desc"}, {"search": "relevance"}]
            An order by 'search' must be the first entry of '$orderBy' (in user, line 2, column 52)
        "$orderBy": [{"search": "relevance"}, {"search": "relevance"}]
            An order by 'search' must be the first entry of '$orderBy' (in user, line 2, column 39)
    "#]].assert_eq(&shown.concat());
}
