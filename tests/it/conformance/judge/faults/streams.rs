//! Faults of event streams.

use mesh_tests::kit::http::Request;

use super::{Fault, NO_FAULT, error, reply, segments, set};

const TYPE: &str = "text/event-stream";

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "streams have no heartbeat",
        must_fail: &["10.3-heartbeat"],
        on_line: Some(&|line| (!line.starts_with(':')).then(|| line.to_owned())),
        ..NO_FAULT
    },
    Fault {
        name: "streams do not say when to retry",
        must_fail: &["10.3-retry"],
        on_line: Some(&|line| (!line.starts_with("retry:")).then(|| line.to_owned())),
        ..NO_FAULT
    },
    Fault {
        name: "streams say to retry in seconds",
        must_fail: &["10.3-retry"],
        on_line: Some(&|line| Some(line.replace("retry: 2000", "retry: 2"))),
        ..NO_FAULT
    },
    Fault {
        name: "events have no id",
        must_fail: &["10.3-id"],
        may_fail: &["10.3-resume"],
        on_line: Some(&|line| (!line.starts_with("id:")).then(|| line.to_owned())),
        ..NO_FAULT
    },
    Fault {
        name: "updates have another name",
        must_fail: &["10.1-stream", "10.2-change", "10.2-nested", "10.2-deleted", "10.2-missing"],
        may_fail: &["10."],
        on_line: Some(&|line| Some(line.replace("event: update", "event: message"))),
        ..NO_FAULT
    },
    Fault {
        name: "errors of a stream have another name",
        must_fail: &["10.4-logout", "10.4-expiry"],
        may_fail: &["10.4-"],
        on_line: Some(&|line| Some(line.replace("event: error", "event: update"))),
        ..NO_FAULT
    },
    Fault {
        name: "events have an outer object",
        must_fail: &["10.1-stream", "10.1-ql", "10.2-change", "10.2-two-streams"],
        may_fail: &["10."],
        on_line: Some(&|line| {
            let data = line.strip_prefix("data: ");
            Some(data.map_or_else(|| line.to_owned(), |data| format!("data: {{\"data\":{data}}}")))
        }),
        ..NO_FAULT
    },
    Fault {
        name: "a deleted record is an empty object in streams",
        must_fail: &["10.2-deleted", "10.2-missing"],
        on_line: Some(&|line| Some(line.replace("data: null", "data: {}"))),
        ..NO_FAULT
    },
    Fault {
        name: "the id of an event depends on more than its data",
        must_fail: &["10.3-id"],
        may_fail: &["10.3-resume"],
        on_line: Some(&|line| {
            let is_id = line.starts_with("id:");
            let noise = mesh_tests::kit::encoding::random(6);
            Some(if is_id { format!("{line}{noise}") } else { line.to_owned() })
        }),
        ..NO_FAULT
    },
    Fault {
        name: "streams do not end with their session",
        must_fail: &["10.4-logout", "10.4-expiry"],
        on_line: Some(&|line| (!line.contains("\"TOKEN_")).then(|| line.to_owned())),
        ..NO_FAULT
    },
    Fault {
        name: "lists have no streams",
        must_fail: &[
            "10.6-page",
            "10.6-ql",
            "10.6-groups",
            "10.6-weights",
            "10.6-changes",
            "10.6-leaves",
            "10.6-nested",
            "10.6-not-in-list",
            "10.6-resume",
            "10.6-by-head",
            "10.6-logout",
        ],
        on_request: &|request, _| {
            if asks_for_list(request) {
                set(request, "Accept", None);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "only an Accept of one type asks for a stream",
        must_fail: &["10.6-weights"],
        on_request: &|request, _| {
            if request.header_value("Accept").is_some_and(|accept| accept.contains(", ")) {
                set(request, "Accept", None);
            }
            None
        },
        may_fail: &["16.1-weights"],
        ..NO_FAULT
    },
    Fault {
        name: "every list is streamed to clients that accept a stream",
        must_fail: &["10.6-other-types"],
        on_request: &|request, _| {
            let accepts = request.header_value("Accept").unwrap_or_default().to_owned();
            if accepts.starts_with("*/*") || accepts.contains(TYPE) {
                set(request, "Accept", Some(TYPE.to_owned()));
            }
            None
        },
        may_fail: &["16."],
        ..NO_FAULT
    },
    Fault {
        name: "lists are not acceptable as streams",
        must_fail: &[
            "10.6-page",
            "10.6-ql",
            "10.6-groups",
            "10.6-weights",
            "10.6-changes",
            "10.6-leaves",
            "10.6-nested",
            "10.6-not-in-list",
            "10.6-resume",
            "10.6-invalid",
            "10.6-no-query",
            "10.6-off",
            "10.6-by-head",
            "10.6-unsigned",
            "10.6-logout",
        ],
        on_request: &|request, _| {
            let wants =
                asks_for_list(request) && !request.header_value("Accept")?.starts_with("application/json,");
            wants.then(|| error(406, "TransportError"))
        },
        ..NO_FAULT
    },
    Fault {
        name: "faults of lists are empty streams",
        must_fail: &["10.6-invalid", "10.6-no-query", "10.6-unsigned"],
        on_response: &|request, response, _| {
            if asks_for_list(request) && response.status >= 400 {
                *response = reply(200, &serde_json::Value::Null);
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "streams of lists have no information about the page",
        must_fail: &["10.6-page", "10.6-ql", "10.6-leaves"],
        on_line: Some(&|line| {
            let end = line.find(",\"pageInfo\":").filter(|_| line.starts_with("data: {\"items\":"));
            Some(end.map_or_else(|| line.to_owned(), |end| format!("{}}}", &line[..end])))
        }),
        ..NO_FAULT
    },
    Fault {
        name: "streams of lists do not filter",
        must_fail: &["10.6-page", "10.6-groups", "10.6-leaves"],
        may_fail: &["10.6-"],
        on_request: &|request, _| {
            if asks_for_list(request) {
                super::edit_root(request, |root| drop(root.remove("$where")));
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "streams of lists do not resume",
        must_fail: &["10.6-resume"],
        on_request: &|request, _| {
            if asks_for_list(request) {
                set(request, "Last-Event-ID", None);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "streams of lists do not end with their session",
        must_fail: &["10.6-logout"],
        may_fail: &["10.4-"],
        on_line: Some(&|line| (!line.contains("\"TOKEN_REVOKED\"")).then(|| line.to_owned())),
        ..NO_FAULT
    },
];

/// Returns whether a request may ask for a stream of a list.
fn asks_for_list(request: &Request) -> bool {
    segments(request).len() == 1 && request.header_value("Accept").is_some_and(|accept| accept.contains(TYPE))
}
