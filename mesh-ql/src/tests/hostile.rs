//! Hostile texts: parsing never panics, overflows the stack or takes more than linear time.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::tree::{WIDE, query, selection_query};
use crate::{Format, Limits, parse, print_json, print_ql};

/// Half the default stack of a thread: unbounded recursion overflows it.
const SMALL_STACK: usize = 1024 * 1024;

fn on_small_stack(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(SMALL_STACK).spawn(work).unwrap().join().unwrap();
}

const NO_LIMITS: Limits = Limits { depth: usize::MAX, filter_depth: usize::MAX, ..WIDE };

fn refused(format: Format, text: &str, bound: &str) {
    let error = parse(format, text, &NO_LIMITS).unwrap_err();
    assert!(error.message.contains(bound), "{error}");
}

#[test]
fn endless_nesting_is_refused_at_the_bound() {
    on_small_stack(|| {
        const MANY: usize = 100_000;
        let user = r#"{"user":{"$select":{"id":true},"#;
        refused(
            Format::Json,
            &format!(r#"{{"u":{}"#, r#"{"$select":{"a":"#.repeat(MANY)),
            "bound `depth` (32)",
        );
        refused(
            Format::Json,
            &format!(r#"{user}"$where":{}"#, r#"{"not":"#.repeat(MANY)),
            "bound `filter_depth` (32)",
        );
        refused(
            Format::Json,
            &format!(r#"{user}"$where":{}"#, r#"{"and":["#.repeat(MANY)),
            "bound `filter_depth` (32)",
        );
        let arrays = "[".repeat(MANY);
        refused(Format::Json, &arrays, "must be an object");
        refused(Format::Json, &format!(r#"{user}"$where":{{"value":{arrays}"#), "A value to compare with");
        refused(Format::Json, &format!(r#"{user}"$orderBy":{arrays}"#), "must be an object");
        refused(Format::Json, &format!(r#"{user}"$distinct":{arrays}"#), "must list field names");
        refused(Format::Json, &"{".repeat(1024 * 1024), "double quotes");
        refused(Format::Ql, &"{".repeat(1024 * 1024), "Expected the name of an entity");
        refused(Format::Ql, &format!("{{ user {}", "a { ".repeat(MANY)), "bound `depth` (32)");
        refused(Format::Ql, &format!("{{ user a {}", "}".repeat(MANY)), "the end of the query");
    });
}

#[test]
fn nesting_up_to_the_largest_bounds_is_parsed() {
    on_small_stack(|| {
        let leaf = r#"{"field":"a","op":"in","value":["b"]}"#;
        let depth = Limits::MAX_DEPTH;
        let below = Limits::MAX_FILTER_DEPTH - 1;
        let filter = format!("{}{leaf}{}", r#"{"and":["#.repeat(below), "]}".repeat(below));
        let node = format!(r#"{{"$select":{{"id":true}},"$where":{filter}}}"#);
        let node = format!("{}{node}{}", r#"{"$select":{"a":"#.repeat(depth), "}}".repeat(depth));
        let text = format!(r#"{{"user":{node}}}"#);
        let query = parse(Format::Json, &text, &WIDE).unwrap();
        assert_eq!(print_json(&query), text);
        let ql = format!("{{ user  {}id{} }}", "a { ".repeat(depth), " }".repeat(depth));
        assert!(parse(Format::Ql, &ql, &WIDE).is_ok());
    });
}

#[test]
fn wide_texts_take_linear_time() {
    let fields = |name: &dyn Fn(usize) -> String| (0..10_000).map(name).collect::<Vec<_>>();
    let json = |names: Vec<String>| {
        let entries: Vec<String> = names.iter().map(|name| format!("\"{name}\":true")).collect();
        format!(r#"{{"user":{{"$select":{{{}}}}}}}"#, entries.join(","))
    };
    refused(Format::Json, &json(fields(&|_| "id".to_owned())), "Key 'id' occurs twice");
    let same =
        parse(Format::Ql, &format!("{{ user {} }}", fields(&|_| "id".to_owned()).join(" ")), &NO_LIMITS);
    assert_eq!(same.unwrap().root.select.len(), 1);
    let distinct = fields(&|i| format!("f{i}"));
    let ql = format!("{{ user {} }}", distinct.join(" "));
    assert_eq!(parse(Format::Ql, &ql, &NO_LIMITS), parse(Format::Json, &json(distinct), &NO_LIMITS));
    assert!(parse(Format::Ql, &ql, &NO_LIMITS).is_ok());
}

/// Checks that at most one format accepts the text, and that errors point into it.
fn check(text: &str) -> Result<(), TestCaseError> {
    let outcomes = Format::ALL.map(|format| parse(format, text, &Limits::default()));
    prop_assert!(
        outcomes.iter().filter(|outcome| outcome.is_ok()).count() <= 1,
        "both formats accept {:?}",
        text
    );
    for error in outcomes.iter().filter_map(|outcome| outcome.as_ref().err()) {
        let (line, column) = (error.position.line as usize, error.position.column as usize);
        prop_assert!(
            error.span.start <= error.span.end && error.span.end as usize <= text.len(),
            "{error:?} in {text:?}"
        );
        let pointed = text.split('\n').nth(line - 1);
        prop_assert!(
            pointed.is_some_and(|pointed| column - 1 <= pointed.chars().count()),
            "{} in {:?}",
            error,
            text
        );
    }
    Ok(())
}

const PIECES: [&str; 31] = [
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    " ",
    "\n",
    "user",
    "\"user\"",
    "\"$select\"",
    "\"$where\"",
    "\"$page\"",
    "\"first\"",
    "\"$orderBy\"",
    "\"$distinct\"",
    "\"$aggregate\"",
    "\"field\"",
    "\"op\"",
    "\"eq\"",
    "\"value\"",
    "\"and\"",
    "\"not\"",
    "true",
    "null",
    "1",
    "-1e9",
    "\"\\u00e9\\\"\"",
    "\"ü\"",
    "\\",
    "\"",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text(text in "(?s).{0,60}") {
        check(&text)?;
    }

    #[test]
    fn any_pieces(pieces in vec(select(&PIECES[..]), 0..30)) {
        check(&pieces.concat())?;
    }

    #[test]
    fn corrupted_json(query in query(), at in any::<Index>(), piece in select(&PIECES[..]), drop in 0_usize..3) {
        check(&corrupt(&print_json(&query), at, piece, drop))?;
    }

    #[test]
    fn corrupted_ql(query in selection_query(), at in any::<Index>(), piece in select(&PIECES[..]), drop in 0_usize..3) {
        check(&corrupt(&print_ql(&query).unwrap(), at, piece, drop))?;
    }
}

/// Replaces some characters of the text.
fn corrupt(text: &str, at: Index, piece: &str, drop: usize) -> String {
    let characters: Vec<char> = text.chars().collect();
    let at = at.index(characters.len());
    let head: String = characters[..at].iter().collect();
    let tail: String = characters.iter().skip(at + drop).collect();
    head + piece + &tail
}
