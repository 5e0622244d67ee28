//! Faults of stored files: ranges, types, and incomplete uploads.

use mesh_tests::kit::http::Request;

use super::{Fault, NO_FAULT, edit_header, put, set};
use crate::conformance::judge::proxy::TRUNCATED_MARK;

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "suffix ranges count from the start",
        must_fail: &["9.7-range-suffix"],
        may_fail: &["9.7-range-"],
        on_request: &|request, _| {
            edit_header(request, "Range", |range| range.replace("bytes=-", "bytes=0-"));
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "ranges exclude their end",
        must_fail: &["9.7-range", "9.7-range-first"],
        may_fail: &["9.7-"],
        on_response: &|_, response, _| {
            if response.status == 206 {
                response.body.pop();
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "ranges past the end are the whole file",
        must_fail: &["9.7-range-after-the-end", "9.7-range-no-suffix"],
        on_response: &|_, response, _| {
            if response.status == 416 {
                response.status = 200;
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "If-Range is ignored",
        must_fail: &["9.7-if-range-other"],
        on_request: &|request, _| {
            set(request, "If-Range", None);
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "a range with If-Range is never honored",
        must_fail: &["9.7-if-range-same"],
        on_request: &|request, _| {
            if request.header_value("If-Range").is_some() {
                set(request, "Range", None);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "ranges of any unit are bytes",
        must_fail: &["9.7-range-other-unit"],
        on_request: &|request, _| {
            edit_header(request, "Range", |range| range.replace("lines=", "bytes="));
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "every file is an attachment",
        must_fail: &["9.7-inline"],
        may_fail: &["9.7-"],
        on_response: &|request, response, _| {
            if request.target.contains("/files/") && response.status == 200 {
                put(response, "content-disposition", Some("attachment"));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "the announced length of a body is not looked at",
        must_fail: &["9.6-declared-too-large"],
        corrupts_data: true,
        on_request: &|request, _| {
            set(request, "Content-Length", None);
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "a broken upload is kept",
        must_fail: &["9.4-disconnect"],
        corrupts_data: true,
        on_request: &|request, _| {
            complete(request);
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "the types of files are compared with case",
        must_fail: &["9.6-type-parameters"],
        on_request: &|request, _| {
            let body = String::from_utf8_lossy(request.body.as_deref().unwrap_or_default()).into_owned();
            body.contains("Content-Type: Image/PNG").then(|| super::error(415, "TransportError"))
        },
        ..NO_FAULT
    },
];

/// Completes the form of an upload that was interrupted.
fn complete(request: &mut Request) {
    let is_broken = request.header_value(TRUNCATED_MARK).is_some();
    let boundary = request.header_value("Content-Type").and_then(|media| media.split_once("boundary="));
    let boundary = boundary.map(|(_, boundary)| boundary.to_owned());
    if let (true, Some(boundary), Some(body)) = (is_broken, boundary, &mut request.body) {
        body.extend(format!("\r\n--{boundary}--\r\n").into_bytes());
        set(request, TRUNCATED_MARK, None);
        super::edit_statement(request, |query| {
            query.as_object_mut().unwrap().remove("contentHash");
        });
    }
}
