//! Faults of the check of the host that a request names.

use mesh_tests::kit::http::Request;

use super::super::proxy::ProxyState;
use super::{Fault, NO_FAULT, error, segments, set};

/// The host name of the server.
const OWN: &str = "mesh.example";

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "several hosts are accepted",
        must_fail: &["2.13-several-hosts", "2.13-same-host-twice"],
        on_request: &|request, _| {
            set(request, "Host", None);
            if let Some(hosts) = &mut request.hosts {
                hosts.truncate(1);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "a host that is given twice counts once",
        must_fail: &["2.13-same-host-twice"],
        on_request: &|request, _| {
            if let Some(hosts) = &mut request.hosts {
                hosts.dedup();
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "requests without a host are accepted",
        must_fail: &["2.13-no-host"],
        on_request: &|request, _| {
            request.hosts = request.hosts.take().filter(|hosts| !hosts.is_empty());
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "every host is accepted",
        must_fail: &[
            "2.13-other-host",
            "2.13-similar-host",
            "2.13-empty-host",
            "2.13-host-port",
            "2.13-url-other-host",
            "2.13-url-and-other-host",
            "2.13-every-route",
            "2.13-docs",
        ],
        on_request: &|request, state| {
            call_by_name(request, state);
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "the own name is refused",
        must_fail: &["2.13-host"],
        on_request: &|request, _| {
            let is_own = request.hosts.as_deref().is_some_and(|hosts| hosts == [OWN]);
            (is_own && request.target.starts_with('/')).then(|| error(421, "TransportError"))
        },
        ..NO_FAULT
    },
    Fault {
        name: "other hosts are refused with 400",
        must_fail: &["2.13-other-host", "2.13-every-route", "2.13-docs"],
        may_fail: &["2.13-"],
        on_response: &|_, response, _| {
            if response.status == 421 {
                *response = error(400, "TransportError");
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "hosts are compared by their beginning",
        must_fail: &["2.13-similar-host"],
        on_request: &|request, state| {
            if host_of(request).starts_with(OWN) && request.target.starts_with('/') {
                call_by_name(request, state);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "hosts are compared by their end",
        must_fail: &["2.13-similar-host"],
        on_request: &|request, state| {
            if host_of(request).ends_with(OWN) && request.target.starts_with('/') {
                call_by_name(request, state);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "an empty host is no other host",
        must_fail: &["2.13-empty-host"],
        on_request: &|request, state| {
            if request.hosts.is_some() && ["", ":80"].contains(&host_of(request)) {
                call_by_name(request, state);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "the port of a host counts",
        must_fail: &["2.13-host-port"],
        on_request: &|request, _| host_of(request).contains(':').then(|| error(421, "TransportError")),
        ..NO_FAULT
    },
    Fault {
        name: "the case of a host counts",
        must_fail: &["2.13-host-case"],
        on_request: &|request, _| {
            host_of(request)
                .contains(|character: char| character.is_ascii_uppercase())
                .then(|| error(421, "TransportError"))
        },
        ..NO_FAULT
    },
    Fault {
        name: "only the host of the header counts",
        must_fail: &["2.13-url-other-host"],
        on_request: &|request, _| {
            request.target = path_of(&request.target).to_owned();
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "only the host of the request line counts, if there is one",
        must_fail: &["2.13-url-and-other-host"],
        on_request: &|request, _| {
            if request.target.starts_with("http://mesh.example") {
                request.hosts = Some(vec![OWN.to_owned()]);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "a request line has no host",
        must_fail: &["2.13-url"],
        may_fail: &["2.13-url-"],
        on_request: &|request, _| (!request.target.starts_with('/')).then(|| error(400, "TransportError")),
        ..NO_FAULT
    },
    Fault {
        name: "the host counts for reads of records only",
        must_fail: &["2.13-every-route", "2.13-docs"],
        on_request: &|request, state| {
            let is_read = request.method == "GET" && segments(request).len() == 2;
            let is_path = request.target.starts_with('/');
            if is_path && (!is_read || request.target.starts_with("/docs")) {
                call_by_name(request, state);
            }
            None
        },
        ..NO_FAULT
    },
];

/// Replaces the host of a request by the host name of the server.
fn call_by_name(request: &mut Request, state: &ProxyState) {
    if state.has_settings("named") && request.hosts.as_ref().is_some_and(|hosts| hosts.len() == 1) {
        request.hosts = Some(vec![OWN.to_owned()]);
        request.target = path_of(&request.target).to_owned();
    }
}

/// Returns the host that a case has chosen for a request, or the host name of the server if there is not exactly one.
fn host_of(request: &Request) -> &str {
    match request.hosts.as_deref() {
        Some([host]) => host,
        _ => OWN,
    }
}

fn path_of(target: &str) -> &str {
    let rest = target.strip_prefix("http://").unwrap_or(target);
    rest.find('/').map_or(target, |slash| &rest[slash..])
}
