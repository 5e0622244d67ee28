//! Messages and positions of errors: both syntaxes, read nodes and selections.

use expect_test::{Expect, expect};

use super::{check_refusals, show};
use crate::{Format, Limits, Query, parse};

#[track_caller]
fn json(table: Expect) {
    check_refusals(Format::Json, &table, str::to_owned);
}

#[track_caller]
fn ql(table: Expect) {
    check_refusals(Format::Ql, &table, str::to_owned);
}

#[test]
fn json_syntax() {
    json(expect![[r#"
            nonsense
                Expected a JSON value @ 1:1
            { user id }
                Expected a key in double quotes; for a query in QL, send X-Mesh-Format: ql, or set 'format' in a posted body @ 1:3
            {"user"
                The query ends inside an object @ 1:8
            {"user
                The query ends inside a string @ 1:7
            {"user" 1}
                Expected ':' after a key @ 1:9
            {"user": {"$select": {"id": true}}} {}
                Unexpected text after the end of the query @ 1:37
            {"user": {"$select": {"id": true},}}
                Expected a key after ',' @ 1:35 (user)
            {"user": {"$select": {"id": tru}}}
                Expected a JSON value @ 1:29 (user)
            {"user": {"$select": {"id": true
                The query ends inside an object @ 1:33 (user)
            {"us	er": {}}
                A control character in a string must be written as an escape @ 1:5
            {"us\x": {}}
                Unknown or incomplete escape in a string @ 1:5
            {"\ud800": {}}
                The escape is half of a surrogate pair, which is not a character @ 1:3
            {"user": {"$page": {"first": 1e999}}}
                The number does not fit a 64-bit float @ 1:30 (user)
            {"user": {"$page": {"first": 01}}}
                Malformed number '01' @ 1:30 (user)
        "#]]);
}

#[test]
fn root() {
    json(expect![[r#"
            null
                A query must be an object with one key, the entity, not null @ 1:1
            []
                A query must be an object with one key, the entity, not an array @ 1:1
            "user"
                A query must be an object with one key, the entity, not a string @ 1:1
            {}
                The query names no entity; write the entity key as its only root key @ 1:1
            {"user": true}
                The value of entity 'user' must be an object with '$select', not true @ 1:10 (user)
            {"user": null}
                The value of entity 'user' must be an object with '$select', not null @ 1:10 (user)
            {"$select": {"id": true}}
                '$select' is not allowed at the root; it belongs inside the entity's object @ 1:2
            {"user": {"$select": {"id": true}}, "post": {}}
                'post' is a second root key; a query must have only one, the entity key @ 1:37
            {"user": {"$select": {"id": true}}, "$page": {}}
                '$page' is not allowed at the root; it belongs inside the entity's object @ 1:37
            {"user": {"$select": {"id": true}}, "\u0075ser": {}}
                Key 'user' occurs twice in one object @ 1:37
        "#]]);
}

#[test]
fn read_nodes() {
    json(expect![[r#"
            {"user": {}}
                '$select' is missing @ 1:10 (user)
            {"user": {"$page": {"first": 1}}}
                '$select' is missing @ 1:10 (user)
            {"user": {"id": true}}
                Unknown key 'id'; fields and relations belong inside '$select' @ 1:11 (user)
            {"user": {"select": {"id": true}}}
                Unknown key 'select'; did you mean '$select'? @ 1:11 (user)
            {"user": {"$select": {"id": true}, "$orderby": []}}
                Unknown key '$orderby'; did you mean '$orderBy'? @ 1:36 (user)
            {"user": {"$select": {"id": true}, "$sort": []}}
                Unknown key '$sort'; expected '$select', '$where', '$orderBy', '$page', '$distinct', '$groupBy', '$aggregate' or '$having' @ 1:36 (user)
            {"user": {"$select": {"id": true}, "$select": {"id": true}}}
                Key '$select' occurs twice in one object @ 1:36 (user)
            {"user": {"$select": ["id"]}}
                '$select' must be an object of names, not an array @ 1:22 (user)
            {"user": {"$select": null}}
                '$select' must be an object of names, not null @ 1:22 (user)
            {"user": {"$select": {}}}
                '$select' is empty; this is allowed only with '$aggregate' @ 1:22 (user)
            {"user": {"$select": { } , "$groupBy": ["role"]}}
                '$select' is empty; this is allowed only with '$aggregate' @ 1:22 (user)
            {"user": {"$select": {"id": 1}}}
                The value of field 'id' must be exactly true, or an object with '$select' for a relation, not a number @ 1:29 (user)
            {"user": {"$select": {"id": false}}}
                The value of field 'id' must be exactly true, or an object with '$select' for a relation, not false @ 1:29 (user)
            {"user": {"$select": {"id": "true"}}}
                The value of field 'id' must be exactly true, or an object with '$select' for a relation, not a string @ 1:29 (user)
            {"user": {"$select": {"id": null}}}
                The value of field 'id' must be exactly true, or an object with '$select' for a relation, not null @ 1:29 (user)
            {"user": {"$select": {"id": [ true ]}}}
                The value of field 'id' must be exactly true, or an object with '$select' for a relation, not an array @ 1:29 (user)
            {"user": {"$select": {"id": true, "id": true}}}
                Key 'id' occurs twice in one object @ 1:35 (user)
            {"user": {"$select": {"posts": {"$select": {"id": true, "$page": {}}}}}}
                '$page' belongs next to '$select', not inside it @ 1:57 (user.posts)
            {"user": {"$select": {"posts": {"$select": {"comments": {"title": true}}}}}}
                Unknown key 'title'; fields and relations belong inside '$select' @ 1:58 (user.posts.comments)
            {"user": {"$select": {"posts": {}}}}
                '$select' is missing @ 1:32 (user.posts)
        "#]]);
}

#[test]
fn ql_braces() {
    ql(expect![[r#"
            user id
                Expected '{', found 'user' @ 1:1
            {
                Expected the name of an entity, found the end of the query @ 1:2
            { }
                Expected the name of an entity, found '}' @ 1:3
            { user
                Expected a name or '}', found the end of the query @ 1:7 (user)
            { user }
                The selection of 'user' is empty; name at least one field or relation @ 1:8 (user)
            { user { } }
                The selection of 'user' is empty; name at least one field or relation @ 1:10 (user)
            { user { id }
                Expected '}', found the end of the query @ 1:14
            { user { id } x }
                Expected '}', found 'x' @ 1:15
            { user id
                Expected a name or '}', found the end of the query @ 1:10 (user)
            { user id } }
                Expected the end of the query, found '}' @ 1:13
        "#]]);
}

#[test]
fn ql_tokens() {
    ql(expect![[r#"
            { user id, name }
                Expected a name or '}', found ',' @ 1:10 (user)
            { user posts { } }
                The selection of 'posts' is empty; name at least one field or relation @ 1:16 (user.posts)
            { user posts { id }
                Expected a name or '}', found the end of the query @ 1:20 (user)
            { user $page }
                Expected a name or '}', found '$'; controls can be written only in the JSON format @ 1:8 (user)
            { user posts(first: 1) { id } }
                Expected a name or '}', found '('; controls can be written only in the JSON format @ 1:13 (user)
            { user 1d }
                Expected a name or '}', found '1d' @ 1:8 (user)
            { user größe }
                Expected a name or '}', found 'ö' @ 1:10 (user)
            {"user": {"$select": {"id": true}}}
                Expected the name of an entity, found a string (is the query in the JSON format?) @ 1:2
            { user id }
                Expected the name of an entity, found ' ' @ 1:2
        "#]]);
}

#[test]
fn ql_names() {
    ql(expect![[r#"
            { user posts { id } posts { name } }
                'posts' is selected twice @ 1:21 (user)
            { user posts { author author { id } } }
                'author' is selected both as a field and as a relation @ 1:23 (user.posts)
            { user posts { id } posts }
                'posts' is selected both as a field and as a relation @ 1:21 (user)
        "#]]);
}

#[test]
fn blank_texts() {
    for (format, what) in [
        (Format::Json, "The query ends where a value is expected"),
        (Format::Ql, "Expected '{', found the end of the query"),
    ] {
        let error = |text| show(&parse(format, text, &Limits::default()).unwrap_err());
        assert_eq!(error(""), format!("{what} @ 1:1"));
        assert_eq!(error(" \n\t "), format!("{what} @ 2:3"));
    }
}

#[test]
fn bounds_of_selections() {
    let limits = Limits { query_bytes: 80, depth: 1, fields: 3, ..Limits::default() };
    let cases = [
        (Format::Ql, "{ user a b c }"),
        (Format::Ql, "{ user a a a a a b { c } }"),
        (Format::Ql, "{ user a b c d }"),
        (Format::Ql, "{ user a { b { c } } }"),
        (Format::Ql, "{ user                                                                          a }"),
        (Format::Ql, "{ user                                                                       a }"),
        (Format::Json, r#"{"u":{"$select":{"a":true,"b":{"$select":{"c":true}}}}}"#),
        (Format::Json, r#"{"u":{"$select":{"a":true,"b":{"$select":{"c":true,"d":true}}}}}"#),
        (Format::Json, r#"{"u":{"$select":{"a":{"$select":{"b":{"$select":{"c":true}}}}}}}"#),
    ];
    let outcome = |(format, text)| match parse(format, text, &limits) {
        Ok(Query { entity, .. }) => format!("{entity}\n"),
        Err(error) => format!("{}\n", show(&error)),
    };
    let text: String = cases.map(outcome).concat();
    expect![[r#"
        user
        user
        The query selects more fields and relations than the bound `fields` (3) allows @ 1:14 (user)
        Relation 'b' is nested deeper than the bound `depth` (1) allows @ 1:12 (user.a)
        The query has 83 bytes, more than the bound `query_bytes` (80) allows @ 1:1
        user
        u
        The query selects more fields and relations than the bound `fields` (3) allows @ 1:52 (u.b)
        Relation 'b' is nested deeper than the bound `depth` (1) allows @ 1:34 (u.a)
    "#]]
    .assert_eq(&text);
}

#[test]
fn relations_are_counted_in_the_whole_query() {
    let limits = Limits { relations: 3, ..Limits::default() };
    let cases = [
        (Format::Ql, "{ user a { x b { x } } c { x } }"),
        (Format::Ql, "{ user a { x b { x } } c { x d { x } } }"),
        (Format::Ql, "{ user a { x } b { x } c { x } d }"),
        (Format::Ql, "{ user a { x } b { x } c { x } d { x } }"),
        (
            Format::Json,
            r#"{"u":{"$select":{"a":{"$select":{"x":true,"b":{"$select":{"x":true}}}},
                "c":{"$select":{"x":true}},"d":{"$select":{"x":true}}}}}"#,
        ),
    ];
    let outcome = |(format, text)| match parse(format, text, &limits) {
        Ok(Query { entity, .. }) => format!("{entity}\n"),
        Err(error) => format!("{}\n", show(&error)),
    };
    let text: String = cases.map(outcome).concat();
    expect![[r#"
        user
        The query selects more relations than the bound `relations` (3) allows @ 1:30 (user.c)
        user
        The query selects more relations than the bound `relations` (3) allows @ 1:32 (user)
        The query selects more relations than the bound `relations` (3) allows @ 2:44 (u)
    "#]]
    .assert_eq(&text);
}

#[test]
fn columns_count_characters_of_the_line() {
    let error = |format, text| show(&parse(format, text, &Limits::default()).unwrap_err());
    let json = "{\n  \"user\": {\n    \"$select\": {\n      \"größe 😀\": true \"id\"\n";
    assert_eq!(error(Format::Json, json), "Expected ',' or '}' @ 4:23 (user)");
    let ql = "{\n\tuser 😀 }";
    assert_eq!(error(Format::Ql, ql), "Expected a name or '}', found '😀' @ 2:7 (user)");
}

#[test]
fn long_names_are_shortened_and_control_characters_escaped() {
    let long = format!("{{\"user\": {{\"{}\": 1}}}}", "x".repeat(1_000));
    let error = parse(Format::Json, &long, &Limits::default()).unwrap_err();
    assert!(
        error.message.contains(&format!("'{}…'", "x".repeat(64))) && error.message.len() < 160,
        "{error}"
    );
    let error = parse(Format::Json, "{\"user\": {\"a\\n\\u0000b\": 1}}", &Limits::default()).unwrap_err();
    assert!(error.message.contains("'a\\n\\u{0}b'"), "{error}");
}

#[test]
fn display_says_where() {
    let error = parse(Format::Ql, "{ user posts { } }", &Limits::default()).unwrap_err();
    expect!["The selection of 'posts' is empty; name at least one field or relation (in user.posts, line 1, column 16)"]
        .assert_eq(&error.to_string());
    let error = parse(Format::Ql, "{ user a }", &Limits { query_bytes: 3, ..Limits::default() }).unwrap_err();
    expect!["The query has 10 bytes, more than the bound `query_bytes` (3) allows (line 1, column 1)"]
        .assert_eq(&error.to_string());
}
