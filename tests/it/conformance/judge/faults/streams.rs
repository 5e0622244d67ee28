//! Faults of event streams.

use super::{Fault, NO_FAULT};

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
];
