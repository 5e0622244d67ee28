//! Faults of exports. `SPEC §16`

use mesh_tests::kit::http::{Request, Response};

use super::{Fault, NO_FAULT, error, put, reply, set};

const NDJSON: &str = "application/x-ndjson";
const CSV: &str = "text/csv";

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "exports are pages",
        must_fail: &[
            "16.1-ndjson",
            "16.1-weights",
            "16.1-page",
            "16.2-lists",
            "16.2-csv",
            "16.2-empty-text",
            "16.2-list-in-csv",
            "16.3-head",
            "16.4-by-head",
        ],
        on_request: &|request, _| {
            if asks_for(request, NDJSON) || asks_for(request, CSV) {
                set(request, "Accept", None);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "only an Accept of one type is understood",
        must_fail: &["16.1-weights"],
        may_fail: &["10.6-weights"],
        on_request: &|request, _| {
            if request.header_value("Accept").is_some_and(|accept| accept.contains(", ")) {
                set(request, "Accept", None);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "exports that are off are not acceptable",
        must_fail: &["16.1-off"],
        on_response: &|request, response, _| {
            if asks_for(request, CSV)
                && response.status == 200
                && has_media_type(response, "application/json")
            {
                *response = error(406, "TransportError");
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "everything is exported",
        must_fail: &["16.1-other-types"],
        may_fail: &["10.6-other-types"],
        on_request: &|request, _| {
            if request
                .header_value("Accept")
                .is_some_and(|accept| ["application/json", "*/*"].contains(&accept))
            {
                set(request, "Accept", Some(NDJSON.to_owned()));
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "faults of exports are empty exports",
        must_fail: &["16.1-page", "16.1-unknown-field", "16.2-list-in-csv"],
        on_response: &|request, response, _| {
            if (asks_for(request, NDJSON) || asks_for(request, CSV)) && response.status == 400 {
                response.status = 200;
                response.body.clear();
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "the last line of NDJSON is missing",
        must_fail: &["16.1-ndjson", "16.1-weights", "16.2-lists"],
        on_response: &|_, response, _| {
            edit_lines(response, NDJSON, |text| {
                let end = text.trim_end().rfind('\n').map_or(0, |end| end + 1);
                text[..end].to_owned()
            })
        },
        ..NO_FAULT
    },
    Fault {
        name: "CSV has no line of names",
        must_fail: &["16.2-csv", "16.2-empty-text"],
        on_response: &|_, response, _| {
            edit_lines(response, CSV, |text| {
                text.split_once("\r\n").map_or_else(String::new, |(_, rest)| rest.to_owned())
            })
        },
        ..NO_FAULT
    },
    Fault {
        name: "NULL is empty text in CSV",
        must_fail: &["16.2-csv", "16.2-empty-text"],
        on_response: &|_, response, _| {
            edit_lines(response, CSV, |text| text.replace(",\r\n", ",\"\"\r\n").replace(",,", ",\"\","))
        },
        ..NO_FAULT
    },
    Fault {
        name: "text of CSV is not quoted",
        must_fail: &["16.2-csv", "16.2-empty-text"],
        on_response: &|_, response, _| edit_lines(response, CSV, |text| text.replace('"', "")),
        ..NO_FAULT
    },
    Fault {
        name: "exports may be cached",
        must_fail: &["16.3-head"],
        on_response: &|_, response, _| {
            if has_media_type(response, CSV) {
                put(response, "cache-control", Some("no-cache"));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "exports are not attachments",
        must_fail: &["16.3-head"],
        on_response: &|_, response, _| put(response, "content-disposition", None),
        may_fail: &["9."],
        ..NO_FAULT
    },
    Fault {
        name: "exports have tags",
        must_fail: &["16.3-head"],
        on_response: &|_, response, _| {
            if has_media_type(response, CSV) {
                put(response, "etag", Some("\"1\""));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "exports need no token",
        must_fail: &["16.4-token"],
        on_response: &|request, response, _| {
            if asks_for(request, NDJSON) && response.status == 401 {
                *response = reply(200, &serde_json::Value::Null);
            }
        },
        ..NO_FAULT
    },
];

fn asks_for(request: &Request, media_type: &str) -> bool {
    request.header_value("Accept").is_some_and(|accept| accept.contains(media_type))
}

fn has_media_type(response: &Response, media_type: &str) -> bool {
    response.header("content-type").is_some_and(|found| found.starts_with(media_type))
}

/// Changes the text of an export.
fn edit_lines(response: &mut Response, media_type: &str, edit: impl Fn(&str) -> String) {
    if response.status == 200 && has_media_type(response, media_type) {
        response.body = edit(&String::from_utf8_lossy(&response.body)).into_bytes();
    }
}
