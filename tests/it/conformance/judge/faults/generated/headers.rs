//! Faults of the headers of responses: a header that the specification promises is missing, or has another value.

use mesh_tests::kit::http::{Request, Response};

use crate::conformance::judge::faults::{Fault, NO_FAULT, put};

/// The promised headers by kind of answer.
const PROMISED: &[(&str, &[&str])] = &[
    (
        "answers",
        &["content-type", "etag", "vary", "cache-control", "x-request-id", "content-security-policy"],
    ),
    ("answers to other origins", &["access-control-allow-origin", "access-control-expose-headers"]),
    (
        "preflights",
        &["access-control-allow-origin", "access-control-allow-headers", "access-control-allow-methods"],
    ),
    ("answers of creates", &["content-type", "location", "x-request-id"]),
    ("answers without a body", &["x-request-id"]),
    ("answers of 304", &["etag", "x-request-id"]),
    ("files", &["content-type", "etag", "x-content-type-options", "content-disposition", "x-request-id"]),
    ("parts of files", &["content-range"]),
    ("refused ranges", &["content-range"]),
    ("streams", &["content-type", "cache-control", "x-request-id"]),
    ("refusals by 401", &["www-authenticate", "cache-control", "x-request-id", "content-type"]),
    ("refusals by 405", &["allow", "cache-control", "x-request-id", "content-type"]),
    ("refusals for now", &["retry-after", "cache-control", "x-request-id", "content-type"]),
    ("failures", &["cache-control", "x-request-id", "content-type"]),
    ("other refusals", &["cache-control", "x-request-id", "content-type"]),
];

/// Returns two faults for each promised header.
pub(super) fn faults() -> Vec<Fault> {
    let all = PROMISED.iter().flat_map(|(kind, names)| names.iter().map(move |name| (*kind, *name)));
    let pair = |(kind, name): (&'static str, &'static str)| {
        let missing = Fault {
            name: format!("{kind} have no {name}").leak(),
            on_response: Box::leak(Box::new(move |request: &Request, response: &mut Response, _: &_| {
                if kinds(request, response).contains(&kind) {
                    put(response, name, None);
                }
            })),
            ..NO_FAULT
        };
        let other = Fault {
            name: format!("{kind} have another {name}").leak(),
            on_response: Box::leak(Box::new(move |request: &Request, response: &mut Response, _: &_| {
                if kinds(request, response).contains(&kind) && response.header(name).is_some() {
                    put(response, name, Some("other"));
                }
            })),
            ..NO_FAULT
        };
        [missing, other]
    };
    all.flat_map(pair).collect()
}

/// Returns the kinds of an answer.
fn kinds(request: &Request, response: &Response) -> Vec<&'static str> {
    let is_file = request.target.contains("/files/");
    let mut kinds = vec![match response.status {
        200 if response.is_event_stream() => "streams",
        200 if is_file => "files",
        200 => "answers",
        206 => "parts of files",
        201 => "answers of creates",
        204 if request.method == "OPTIONS" => "preflights",
        204 => "answers without a body",
        304 => "answers of 304",
        401 => "refusals by 401",
        405 => "refusals by 405",
        416 => "refused ranges",
        429 | 503 => "refusals for now",
        500 => "failures",
        _ => "other refusals",
    }];
    if response.header("access-control-allow-origin").is_some() && response.status < 500 {
        kinds.push("answers to other origins");
    }
    kinds
}
