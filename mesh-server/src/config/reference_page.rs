//! The reference page of the guides, `docs/reference.md`, written from the code.

use std::fmt::Write as _;

use expect_test::expect_file;
use mesh_plan::{Mesh, Request};
use mesh_ql::FilterOp;
use mesh_schema::{FieldType, Schema};
use mesh_wire::{Code, ErrorKind, WireError};

use crate::config::Config;
use crate::config::print::{EffectiveSettings, PrintedValue};

fn defaults() -> EffectiveSettings {
    Config::load(Vec::new(), [], None).effective
}

/// The answer to a request that exceeds a limit, and the section of SPEC.md.
fn exceeded(limit: &str) -> [String; 2] {
    let wire = |error: WireError| format!("{} `{}`", error.status.as_u16(), error.kind.name());
    let (answer, section) = match limit {
        "query_bytes" | "depth" | "fields" => ("400 `ValidationError`".to_owned(), "§3.5"),
        "page_max" | "filter_depth" | "filter_nodes" | "in_values" | "group_keys" | "aggregates" => {
            ("400 `ValidationError`".to_owned(), "§3.11")
        }
        "page_default" => ("–".to_owned(), "§3.10"),
        "rows" => (format!("400 `ValidationError`, `{}`", Code::ResultTooLarge.name()), "§3.11"),
        "header_bytes" => (format!("{}, or 414", wire(WireError::headers_too_large(0))), "§12.2"),
        "body_bytes" => (wire(WireError::payload_too_large(0)), "§12.2"),
        "connections" => ("the next one waits".to_owned(), ""),
        "requests" => (wire(WireError::unavailable(1)), "§12.1"),
        "login_per_minute" | "per_address" | "per_session" => (wire(WireError::rate_limit(1)), "§12.6"),
        other => panic!("{other} has no answer yet"),
    };
    [answer, section.to_owned()]
}

/// Returns what an error means and what to do about it.
fn kind(kind: ErrorKind) -> [&'static str; 2] {
    match kind {
        ErrorKind::Transport => [
            "the request cannot be read; 413, 414, 415 and 431 for its sizes and its type",
            "correct the request",
        ],
        ErrorKind::Validation => [
            "the query or write does not fit the schema, or exceeds a limit",
            "correct the query: `message` says what is wrong, `path`, `line` and `column` say where",
        ],
        ErrorKind::Integrity => {
            ["the token or the signature is missing, invalid or not sufficient", "see the codes below"]
        }
        ErrorKind::Resolver => {
            ["the data could not be read", "see the server's log; its lines have the `requestId`"]
        }
        ErrorKind::Internal => ["an unexpected failure", "see the server's log, and report the failure"],
        ErrorKind::NotFound => [
            "there is nothing at the path; for writes and uploads, there is no such record",
            "correct the path; it includes the base path",
        ],
        ErrorKind::MethodNotAllowed => [
            "the path does not accept the method, or its profile is off",
            "see `Allow` for the accepted methods",
        ],
        ErrorKind::Conflict => [
            "a rule of the database forbids the write",
            "change the values, or the records that refer to this one",
        ],
        ErrorKind::RateLimit => ["too many requests", "try again after the seconds in `Retry-After`"],
        ErrorKind::Unavailable => [
            "the server is overloaded or stopping, or its database is unavailable",
            "try again after the seconds in `Retry-After`",
        ],
    }
}

/// Returns the error of a code, what the code means and what to do about it.
fn code(code: Code) -> (WireError, [&'static str; 2]) {
    let texts = match code {
        Code::CursorMismatch => [
            "the cursor belongs to another query, or was altered",
            "start again at the first page; only `first` and `$select` may differ between pages",
        ],
        Code::ResultTooLarge => [
            "the answer would have more objects than `limits.rows`",
            "read smaller pages with `$page`, at the root or on a relation",
        ],
        Code::SumOverflow => {
            ["a sum of integers exceeds 64 bits", "sum fewer records, by a filter or in groups"]
        }
        Code::Timeout => [
            "the read exceeded `request_timeout`",
            "check with `mesh-server explain` whether an index is missing",
        ],
        Code::QueryIdUnknown => {
            ["the query id is not registered", "register the query again, or send it as text"]
        }
        Code::TokenMissing => ["`X-Mesh-Token` is missing", "log in"],
        Code::TokenInvalid => [
            "the token belongs to another deployment, or was altered",
            "log in; check that all servers have the same secret",
        ],
        Code::TokenExpired => ["the session has expired", "log in again"],
        Code::TokenRevoked => ["the session was logged out", "log in again"],
        Code::SignatureMissing => [
            "the signature is missing, or lacks the required timestamp and nonce",
            "sign the request, with timestamp and nonce",
        ],
        Code::Replayed => [
            "the nonce was used before, or the clocks are too far apart",
            "sign again; synchronize the clock",
        ],
        Code::BadCredentials => {
            ["there is no such account, or the password is wrong", "check login and password"]
        }
        Code::SignatureInvalid => [
            "the signature does not match the request",
            "sign exactly what is sent; the key is the text of the signing token",
        ],
        Code::ContentHashMissing => {
            ["an upload's statement has no `contentHash`", "add the file's SHA-256 to the statement"]
        }
        Code::ContentHashMismatch => {
            ["the file does not match the stated hash", "send the file that was hashed"]
        }
        Code::QueryNotAllowed => [
            "only registered queries are answered, or registration is closed",
            "send the id of a registered query",
        ],
        Code::Forbidden => {
            ["the session is valid but lacks the permission", "use a session with another role"]
        }
        other => panic!("{} has no description yet", other.name()),
    };
    let error = match code {
        Code::CursorMismatch | Code::ResultTooLarge | Code::SumOverflow => WireError::validation(""),
        Code::Timeout => WireError::timeout(),
        Code::QueryIdUnknown => WireError::query_id_unknown(),
        code => WireError::integrity(code, ""),
    };
    (error, texts)
}

/// Returns a value of a type, as a filter writes it.
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

/// Whether fields of a type can be filtered by an operator, according to the planner.
fn takes(ty: FieldType, op: FilterOp) -> bool {
    let schema =
        Schema::builder().entity("thing", |thing| thing.field("id", FieldType::Integer).field("value", ty));
    let mesh = Mesh::builder(schema.build().unwrap()).build().unwrap();
    let value = match op {
        FilterOp::IsNull | FilterOp::IsNotNull => String::new(),
        FilterOp::In | FilterOp::Nin => format!(r#","value":[{}]"#, sample(ty)),
        _ => format!(r#","value":{}"#, sample(ty)),
    };
    let filter = format!(r#"{{"field":"value","op":"{}"{value}}}"#, op.name());
    let query = format!(r#"{{"thing":{{"$select":{{"id":true}},"$where":{filter}}}}}"#);
    mesh.plan(&Request::collection(mesh_ql::Format::Json, &query)).is_ok()
}

/// Writes a table of settings; `columns` adds to the columns that every setting has.
fn table<'a>(page: &mut String, paths: impl Iterator<Item = (&'a str, String)>) {
    let settings = defaults();
    for (path, columns) in paths {
        let setting = &settings.0[path];
        let default = match &setting.value {
            PrintedValue::Toml(value) => format!("`{value}`"),
            PrintedValue::Unset | PrintedValue::Secret => String::new(),
        };
        let name = path.strip_prefix("limits.").unwrap_or(path);
        let _ = writeln!(page, "| `{name}` | {default} | {}{columns} |", setting.description.trim());
    }
}

fn page() -> String {
    let settings = defaults();
    let (limits, others): (Vec<&str>, Vec<&str>) =
        settings.0.keys().partition(|path| path.starts_with("limits."));
    let mut page = "# Settings, limits, errors and operators\n\nThis page is generated by `cargo xtask reference`. \
        The rules themselves are in [SPEC.md](../SPEC.md).\n\n\
        ## Settings\n\nA setting can be written in the configuration file, where the part before the last dot is the \
        section, or as an environment variable: `MESH_` and the path in capitals, with `__` for each dot, as in \
        `MESH_LIMITS__PAGE_MAX`. Flags override variables, and variables override the file. Times need a unit (`500ms`, \
        `10s`, `15m`); sizes may have one (`64KiB`, `1MiB`).\n\n\
        | setting | default | meaning |\n|---|---|---|\n"
        .to_owned();
    table(&mut page, others.into_iter().map(|path| (path, String::new())));
    page.push_str(
        "\n## Limits\n\nEach limit is a setting of the section `[limits]`. The error message names the limit that was exceeded.\n\n\
        | setting | default | limits | when exceeded | SPEC |\n|---|---|---|---|---|\n",
    );
    let columns =
        |path: &str| exceeded(&path["limits.".len()..]).map(|column| format!(" | {column}")).concat();
    table(&mut page, limits.into_iter().map(|path| (path, columns(path))));
    let (depth, filter) = (mesh_ql::Limits::MAX_DEPTH, mesh_ql::Limits::MAX_FILTER_DEPTH);
    let _ = write!(
        page,
        "\n`depth` can be at most {depth}, and `filter_depth` at most {filter}. `request_timeout` limits the time of a request.\n\n\
         ## Errors\n\nAn error's body is `{{error, message, requestId}}`, with `code`, `path`, `line` and `column` where they apply. \
         `error` is one of:\n\n| `error` | status | when | what to do |\n|---|---|---|---|\n"
    );
    for each in ErrorKind::ALL {
        let [when, what] = kind(each);
        let status = match each {
            ErrorKind::Integrity => "401, 403".to_owned(),
            each => each.status().as_u16().to_string(),
        };
        let _ = writeln!(page, "| `{}` | {status} | {when} | {what} |", each.name());
    }
    page.push_str("\n`code` identifies causes that a program may want to handle:\n\n| `code` | error | when | what to do |\n|---|---|---|---|\n");
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
    page.push_str("\n## Operators\n\nWhich types can be filtered by which operators (SPEC §3.7). Computed fields cannot be filtered.\n\n| type |");
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
fn page_is_current() {
    expect_file![concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference.md")].assert_eq(&page());
}

/// The table of the README names settings in full, or in the row of their section with a leading dot.
#[test]
fn readme_names_every_setting_and_no_other() {
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
    let known: Vec<&str> = defaults().0.into_keys().collect();
    assert_eq!(named, known);
}
