//! Which bounds, errors and operators are there? The page of the guides that lists them, written from the code.

use std::fmt::Write as _;

use expect_test::expect_file;
use mesh_plan::{Mesh, Request};
use mesh_ql::FilterOp;
use mesh_schema::{FieldType, Schema};
use mesh_wire::{Code, ErrorKind, WireError};

use super::{Config, load};

/// A setting's default, what it bounds, what passing it is answered with, and the paragraph.
#[allow(clippy::too_many_lines, reason = "a table is as long as it is")]
fn limits() -> Vec<(&'static str, String, &'static str, String, &'static str)> {
    let limits = Config::default().limits;
    let refused = "400 `ValidationError`".to_owned();
    let wire = |error: WireError| format!("{} `{}`", error.status.as_u16(), error.kind.name());
    let code = |code: Code, error: &str| format!("400 `{error}`, `{}`", code.name());
    vec![
        ("query_bytes", limits.query_bytes.to_string(), "bytes of a query's text", refused.clone(), "§3.5"),
        ("depth", limits.depth.to_string(), "levels of nested relations", refused.clone(), "§3.5"),
        (
            "fields",
            limits.fields.to_string(),
            "selected fields and relations of a query",
            refused.clone(),
            "§3.5",
        ),
        ("page_max", limits.page_max.to_string(), "`first` of a page", refused.clone(), "§3.11"),
        (
            "page_default",
            limits.page_default.to_string(),
            "records of a page that says no `first`",
            "–".to_owned(),
            "§3.10",
        ),
        ("filter_depth", limits.filter_depth.to_string(), "levels of a filter", refused.clone(), "§3.11"),
        (
            "filter_nodes",
            limits.filter_nodes.to_string(),
            "combinators and conditions of a filter",
            refused.clone(),
            "§3.11",
        ),
        ("in_values", limits.in_values.to_string(), "values of `in` or `nin`", refused.clone(), "§3.11"),
        (
            "group_keys",
            limits.group_keys.to_string(),
            "fields of `$groupBy` or `$distinct`, keys of `$orderBy`",
            refused.clone(),
            "§3.11",
        ),
        ("aggregates", limits.aggregates.to_string(), "entries of `$aggregate`", refused, "§3.11"),
        (
            "rows",
            limits.rows.to_string(),
            "objects of one answer",
            code(Code::ResultTooLarge, "ValidationError"),
            "§3.11",
        ),
        (
            "header_bytes",
            limits.header_bytes.to_string(),
            "bytes of request line and headers",
            format!("{}, or 414", wire(WireError::headers_too_large(0))),
            "§12.2",
        ),
        (
            "body_bytes",
            limits.body_bytes.to_string(),
            "bytes of a JSON body",
            wire(WireError::payload_too_large(0)),
            "§12.2",
        ),
        (
            "connections",
            limits.connections.to_string(),
            "connections open at a time",
            "the next one waits".to_owned(),
            "",
        ),
        (
            "requests",
            limits.requests.to_string(),
            "requests that wait for a database or a resolver at a time",
            wire(WireError::unavailable(1)),
            "§12.1",
        ),
        (
            "login_per_minute",
            limits.login_per_minute.to_string(),
            "attempts to log in, per account and per address",
            wire(WireError::rate_limit(1)),
            "§12.6",
        ),
        ("per_address", "off".to_owned(), "requests of one address", wire(WireError::rate_limit(1)), "§12.6"),
        ("per_session", "off".to_owned(), "requests of one session", wire(WireError::rate_limit(1)), "§12.6"),
    ]
}

/// What an error means, and what to do about it.
fn kind(kind: ErrorKind) -> [&'static str; 2] {
    match kind {
        ErrorKind::Transport => [
            "the request cannot be read; 413, 414, 415 and 431 for its sizes and its type",
            "correct the request",
        ],
        ErrorKind::Validation => [
            "the query, or a write, does not fit the schema or a bound",
            "correct the query: `message` names what, `path`, `line` and `column` say where",
        ],
        ErrorKind::Integrity => {
            ["token or signature is missing or wrong, or does not permit this", "see the codes below"]
        }
        ErrorKind::Resolver => {
            ["the data could not be read", "look into the server's log, under `requestId`"]
        }
        ErrorKind::Internal => ["something failed that should not", "the same, and report it"],
        ErrorKind::NotFound => [
            "nothing is at the path; in writes and uploads, there is no such record",
            "correct the path; mind the base path",
        ],
        ErrorKind::MethodNotAllowed => [
            "the path does not take the method, or only in a profile that is off",
            "`Allow` says what it takes",
        ],
        ErrorKind::Conflict => {
            ["a rule of the database forbids the write", "change the values, or what refers to the record"]
        }
        ErrorKind::RateLimit => ["too many requests", "wait as long as `Retry-After` says"],
        ErrorKind::Unavailable => [
            "the server is busy, is stopping, or has lost its database",
            "wait as long as `Retry-After` says, and try again",
        ],
    }
}

/// Which error a code is of, what it means, and what to do about it.
fn code(code: Code) -> (WireError, [&'static str; 2]) {
    let words = match code {
        Code::CursorMismatch => [
            "the cursor is of another query, or was altered",
            "begin again with the first page; `first` and `$select` may differ between pages, nothing else",
        ],
        Code::ResultTooLarge => [
            "the answer would hold more objects than `limits.rows`",
            "ask for less with `$page`, at the root or on a relation",
        ],
        Code::SumOverflow => {
            ["a sum of integers leaves 64 bits", "sum fewer records, by a filter or in groups"]
        }
        Code::Timeout => [
            "the read took longer than `request_timeout`, and was stopped",
            "look at it with `mesh-server explain`: is an index missing?",
        ],
        Code::QueryIdUnknown => {
            ["the query id is not registered", "register the query again, or send it as text"]
        }
        Code::TokenMissing => ["there is no `X-Mesh-Token`", "log in"],
        Code::TokenInvalid => [
            "the token is of another deployment, or was altered",
            "log in; do all servers have the same secret?",
        ],
        Code::TokenExpired => ["the session's time is over", "log in again"],
        Code::TokenRevoked => ["the session was logged out", "log in again"],
        Code::SignatureMissing => [
            "there is no signature, or a plain one where bound ones are required",
            "sign; send timestamp and nonce",
        ],
        Code::Replayed => {
            ["the nonce was used before, or the clocks are too far apart", "sign anew; set the clock"]
        }
        Code::BadCredentials => ["no such account, or another password", "try another password"],
        Code::SignatureInvalid => [
            "the signature is of something else",
            "sign exactly what is sent, with the text of the signing token as the key",
        ],
        Code::ContentHashMissing => {
            ["an upload's statement has no `contentHash`", "add the file's SHA-256 to the statement"]
        }
        Code::ContentHashMismatch => {
            ["the file is not the one whose hash was stated", "send the file that was hashed"]
        }
        Code::QueryNotAllowed => {
            ["only registered queries may be run, or nobody may register", "send the id of one that is known"]
        }
        Code::Forbidden => ["the session is good, but may not do this", "ask with another role"],
        other => panic!("{} has no words yet", other.name()),
    };
    let error = match code {
        Code::CursorMismatch | Code::ResultTooLarge | Code::SumOverflow => WireError::validation(""),
        Code::Timeout => WireError::timeout(),
        Code::QueryIdUnknown => WireError::query_id_unknown(),
        code => WireError::integrity(code, ""),
    };
    (error, words)
}

/// A value of a type, as a filter has it.
fn sample(ty: FieldType) -> &'static str {
    match ty {
        FieldType::String => r#""a""#,
        FieldType::Integer | FieldType::Bigint | FieldType::Number | FieldType::Decimal => "1",
        FieldType::Boolean => "true",
        FieldType::Datetime => r#""2024-01-02T03:04:05Z""#,
        FieldType::Date => r#""2024-01-02""#,
        FieldType::Json => "{}",
        FieldType::Binary => r#""AA==""#,
        FieldType::Uuid => r#""00000000-0000-0000-0000-000000000000""#,
    }
}

/// Whether fields of a type can be filtered by an operator: the planner is asked.
fn takes(ty: FieldType, op: FilterOp) -> bool {
    let schema =
        Schema::builder().entity("thing", |thing| thing.field("id", FieldType::Integer).field("value", ty));
    let mesh = Mesh::builder(schema.build().unwrap()).build();
    let value = match op {
        FilterOp::IsNull | FilterOp::IsNotNull => String::new(),
        FilterOp::In | FilterOp::Nin => format!(r#","value":[{}]"#, sample(ty)),
        _ => format!(r#","value":{}"#, sample(ty)),
    };
    let filter = format!(r#"{{"field":"value","op":"{}"{value}}}"#, op.name());
    let query = format!(r#"{{"thing":{{"$select":{{"id":true}},"$where":{filter}}}}}"#);
    mesh.plan(&Request::collection(mesh_ql::Format::Json, &query)).is_ok()
}

fn page() -> String {
    let mut page = "# Limits, errors and operators\n\nThis page is written from the code by `cargo xtask reference`. \
        The rules themselves are in [SPEC.md](../SPEC.md), the other settings in the [README](../README.md#settings).\n\n\
        ## Limits\n\nEach is a setting of the section `[limits]`; sizes may have a unit (`64KiB`). A message names the bound that was passed.\n\n\
        | setting | default | bounds | passing it | SPEC |\n|---|---|---|---|---|\n"
        .to_owned();
    for (name, default, what, status, paragraph) in limits() {
        let _ = writeln!(page, "| `{name}` | {default} | {what} | {status} | {paragraph} |");
    }
    let (depth, filter) = (mesh_ql::Limits::MAX_DEPTH, mesh_ql::Limits::MAX_FILTER_DEPTH);
    let _ = write!(
        page,
        "\n`depth` can be {depth} at most, and `filter_depth` {filter}. `request_timeout` ({} s unless set) bounds the time of a request.\n\n\
         ## Errors\n\nAn error's body is `{{error, message, requestId}}`, with `code`, `path`, `line` and `column` where they apply. \
         `error` is one of:\n\n| `error` | status | when | what to do |\n|---|---|---|---|\n",
        Config::default().request_timeout.as_secs()
    );
    for each in ErrorKind::ALL {
        let [when, what] = kind(each);
        let status = match each {
            ErrorKind::Integrity => "401, 403".to_owned(),
            each => each.status().as_u16().to_string(),
        };
        let _ = writeln!(page, "| `{}` | {status} | {when} | {what} |", each.name());
    }
    page.push_str("\n`code` tells causes apart that a program may want to handle:\n\n| `code` | of | when | what to do |\n|---|---|---|---|\n");
    for each in Code::ALL {
        let (error, [when, what]) = code(each);
        let _ = writeln!(
            page,
            "| `{}` | {} `{}` | {when} | {what} |",
            each.name(),
            error.status.as_u16(),
            error.kind.name()
        );
    }
    page.push_str("\n## Operators\n\nWhich fields can be filtered by which operator (SPEC §3.7). A computed field by none.\n\n| type |");
    for op in FilterOp::ALL {
        let _ = write!(page, " `{}` |", op.name());
    }
    page.push_str("\n|---|");
    page.push_str(&":-:|".repeat(FilterOp::ALL.len()));
    for ty in FieldType::ALL {
        let _ = write!(page, "\n| `{}` |", ty.name());
        for op in FilterOp::ALL {
            page.push_str(if takes(ty, op) { " yes |" } else { " |" });
        }
    }
    page.push('\n');
    page
}

#[test]
fn the_page_is_what_the_code_says() {
    expect_file![concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference.md")].assert_eq(&page());
}

#[test]
fn every_limit_is_on_the_page() {
    let mut known: Vec<&str> =
        load::names().into_iter().filter_map(|name| name.strip_prefix("limits.")).collect();
    let mut listed: Vec<&str> = limits().into_iter().map(|(name, ..)| name).collect();
    known.sort_unstable();
    listed.sort_unstable();
    assert_eq!(listed, known);
}

/// The settings that the table of the README names: in full, or in a row of their section with a dot before.
#[test]
fn the_readme_names_every_setting_and_no_other() {
    let readme = include_str!("../../../README.md");
    let table = readme.split("| setting | default | meaning |").nth(1).unwrap().split("\n\n").next().unwrap();
    let mut named = Vec::new();
    for row in table.lines().filter(|row| row.starts_with("| `")) {
        let (first, meaning) = row.split_once(" | ").unwrap();
        let names: Vec<&str> = first.split('`').skip(1).step_by(2).collect();
        let section = names[0].rsplit_once('.').map_or("", |(section, _)| section);
        let parts = names
            .iter()
            .copied()
            .chain(meaning.split('`').skip(1).step_by(2).filter(|word| word.starts_with('.')));
        named.extend(
            parts.map(
                |name| {
                    if name.starts_with('.') { format!("{section}{name}") } else { name.to_owned() }
                },
            ),
        );
    }
    named.sort_unstable();
    let known: Vec<&str> = load::names().into_iter().collect();
    assert_eq!(named, known);
}
