//! JSON documents, and pointers into them.

use super::dice::Dice;

/// PostgreSQL's types of columns with JSON.
pub(crate) const JSON_TYPES: [&str; 3] = ["json", "text", "jsonb"];
/// The index of the type whose documents the database writes in its own form.
const BINARY_JSON: usize = 2;

const DOCUMENTS: [&str; 15] = [
    r#"{"a":[1,"é"]}"#,
    "[]",
    "1.5",
    "\"x\"",
    "true",
    "null",
    r#"{"a":{"b":1,"b":"x"},"b":[]}"#,
    r#"{"a":{"b":1},"a":[true,false,null,"1"]}"#,
    r#"{"":0,"x/y":"a","~":true,"0":"x","k\"1.b":2.5}"#,
    r#"[[1,-3],{"a":"é","0":true}]"#,
    "[9007199254740993,9007199254740992.0,18446744073709551615,1e300,0.1000000000000000055]",
    r#"["\u00e9","\ud83d\ude00","\\u0000","\\\ud83d\ude00"]"#,
    r#"{"a":["\u0000"],"b":1}"#,
    r#"{"a":["x","a",1,0,true,null,2.5,"",["a"],{"b":"a"}],"b":["\u0061","é"]}"#,
    r#"["x",1,2.5,false,"1",-3.0,["a"]]"#,
];
/// Documents as PostgreSQL writes them.
const BINARY_DOCUMENTS: [&str; 11] = [
    r#"{"a": [1, "é"]}"#,
    "1.5",
    "\"x\"",
    "true",
    "null",
    r#"{"a": {"b": "x"}, "b": []}"#,
    r#"{"": 0, "0": "x", "~": true, "x/y": "a"}"#,
    r#"[[1, -3], {"0": true, "a": "é"}]"#,
    "[9007199254740993, 9007199254740992.0, 18446744073709551615, 0.10, 2.5]",
    r#"{"a": ["x", "a", 1, 0, true, null, 2.5, "", ["a"], {"b": "a"}], "b": ["a", "é"]}"#,
    r#"["x", 1, 2.5, false, "1", -3.0, ["a"]]"#,
];
pub(crate) const POINTERS: [&str; 24] = [
    "", "/", "/a", "/b", "/a/0", "/a/1", "/a/2", "/a/3", "/a/b", "/a/0/b", "/0", "/1", "/2", "/3", "/4",
    "/5", "/00", "/-1", "/-", "/0/1", "/1/a", "/x~1y", "/~0", "/k\"1.b",
];

/// Returns a document for a column of the type with index `form` in [`JSON_TYPES`].
pub(crate) fn random(dice: &mut Dice, form: usize) -> &'static str {
    if form == BINARY_JSON { dice.pick(&BINARY_DOCUMENTS) } else { dice.pick(&DOCUMENTS) }
}
