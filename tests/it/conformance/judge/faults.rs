//! The injected faults, each with the cases that must detect it.

mod errors;
mod exact;
mod export;
mod failures;
mod files;
mod filters;
mod generated;
mod hosts;
mod integrity;
mod pages;
mod profiles;
mod query;
mod results;
mod streams;
mod transport;
mod writes;

use mesh_tests::kit::encoding;
use mesh_tests::kit::http::{Request, Response};
use mesh_tests::kit::profile::Profile;
use serde_json::{Map, Value, json};

use super::proxy::ProxyState;
use super::recording::Recording;

/// Modifies a request or answers it.
pub(crate) type OnRequest = dyn Fn(&mut Request, &ProxyState) -> Option<Response> + Sync;

/// Modifies a response, given the original request.
pub(crate) type OnResponse = dyn Fn(&Request, &mut Response, &ProxyState) + Sync;

/// Modifies a line of an event stream, or leaves it out.
pub(crate) type OnLine = dyn Fn(&str) -> Option<String> + Sync;

/// A fault, which violates one rule.
#[derive(Clone, Copy)]
pub(crate) struct Fault {
    /// The wrong behavior.
    pub(crate) name: &'static str,
    /// Cases that must fail.
    pub(crate) must_fail: &'static [&'static str],
    /// Prefixes of the ids of other cases that may fail, because they depend on the rule.
    pub(crate) may_fail: &'static [&'static str],
    /// What it does to requests.
    pub(crate) on_request: &'static OnRequest,
    /// What it does to responses.
    pub(crate) on_response: &'static OnResponse,
    /// What it does to the lines of event streams; `None` leaves a line out.
    pub(crate) on_line: Option<&'static OnLine>,
    /// What it does when it loads schema documents.
    pub(crate) on_load: Option<OnLoad>,
    /// Whether servers store data that they should refuse, so that no other fault can be tested with the same servers.
    pub(crate) corrupts_data: bool,
}

/// A fault of a loader of schema documents.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnLoad {
    AcceptsAll,
    RefusesAll,
    ReportsFirst,
}

/// A fault that changes nothing, the base of all others.
pub(crate) const NO_FAULT: Fault = Fault {
    name: "none",
    must_fail: &[],
    may_fail: &[],
    on_request: &|_, _| None,
    on_response: &|_, _, _| {},
    on_line: None,
    on_load: None,
    corrupts_data: false,
};

/// Returns the hand-written faults, apart from those of profiles that the reference server does not claim.
pub(crate) fn hand_written() -> Vec<Fault> {
    let tables = [
        transport::FAULTS,
        errors::FAULTS,
        query::FAULTS,
        filters::FAULTS,
        filters::related::FAULTS,
        results::FAULTS,
        pages::FAULTS,
        integrity::FAULTS,
        profiles::FAULTS,
        streams::FAULTS,
        exact::FAULTS,
        failures::FAULTS,
        files::FAULTS,
        hosts::FAULTS,
        writes::FAULTS,
        writes::merge::FAULTS,
        writes::more::FAULTS,
        writes::more::LISTS,
    ];
    let profile = Profile::reference().unwrap();
    let optional = [
        ("keys", writes::keys::FAULTS.to_vec()),
        ("params", query::params::FAULTS.to_vec()),
        ("bearer", integrity::bearer::faults()),
        ("export", export::FAULTS.to_vec()),
        ("batch", writes::more::BATCH.to_vec()),
    ];
    let claimed =
        optional.into_iter().filter(|(name, _)| profile.claims_profile(name)).flat_map(|(_, table)| table);
    tables.into_iter().flatten().copied().chain(claimed).collect()
}

/// Returns the changes that make the reference server behave like one without an optional profile.
pub(crate) fn without(profile: &str) -> Fault {
    let on_request: &OnRequest = match profile {
        "relational" => &|request, _| {
            let text = generated::text_of(request);
            let forms = ["\"relation\"", "\"$relation\"", "\"$field\"", "\"at\"", "\"total\"", "\"last\""];
            let is_relational = forms.iter().any(|form| text.contains(form)) || generated::has_path(&text);
            (is_relational || generated::has_aggregated_relation(&text))
                .then(|| error(400, "ValidationError"))
        },
        "params" => &|request, _| {
            generated::text_of(request).contains("\"$param\"").then(|| error(400, "ValidationError"))
        },
        _ => &|_, _| None,
    };
    Fault { name: "without a profile", on_request, ..NO_FAULT }
}

/// Returns the faults that are generated from tables and from the responses in a recording.
pub(crate) fn generate(recording: &Recording) -> Vec<Fault> {
    generated::all(recording)
}

/// Returns a JSON response.
pub(crate) fn reply(status: u16, body: &Value) -> Response {
    let headers = vec![
        ("content-type".to_owned(), "application/json; charset=utf-8".to_owned()),
        ("x-request-id".to_owned(), "of-the-proxy".to_owned()),
        ("cache-control".to_owned(), "no-store".to_owned()),
    ];
    Response { status, headers, body: body.to_string().into_bytes() }
}

/// Returns an error response.
pub(crate) fn error(status: u16, kind: &str) -> Response {
    reply(status, &json!({"error": kind, "message": "of the proxy", "requestId": "of-the-proxy"}))
}

/// Sets or removes a header of a request.
pub(crate) fn set(request: &mut Request, name: &str, value: Option<String>) {
    request.headers.retain(|(header, _)| !header.eq_ignore_ascii_case(name));
    if let Some(value) = value {
        request.add_header(name, value);
    }
}

/// Sets or removes a header of a response.
pub(crate) fn put(response: &mut Response, name: &str, value: Option<&str>) {
    response.headers.retain(|(header, _)| header != name);
    response.headers.extend(value.map(|value| (name.to_owned(), value.to_owned())));
}

/// Changes the value of a header that a request has.
pub(crate) fn edit_header(request: &mut Request, name: &str, change: impl Fn(&str) -> String) {
    let mut headers = std::mem::take(&mut request.headers);
    for (header, value) in &mut headers {
        if header.eq_ignore_ascii_case(name)
            && let Ok(text) = std::str::from_utf8(value)
        {
            *value = change(text).into_bytes();
        }
    }
    request.headers = headers;
}

/// Edits the text of the query in the header or the body.
pub(crate) fn edit_text(request: &mut Request, edit: impl Fn(&str) -> Option<String>) {
    let count = request.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("X-Mesh-Query")).count();
    if let Some(text) =
        request.header_value("X-Mesh-Query").and_then(encoding::from_base64).filter(|_| count == 1)
        && let Some(edited) = edit(&String::from_utf8_lossy(&text))
    {
        set(request, "X-Mesh-Query", Some(encoding::base64(edited)));
    }
    let body = request.body.as_deref().and_then(|body| serde_json::from_slice::<Value>(body).ok());
    if let Some(mut body) = body
        && let Some(edited) = body.get("query").and_then(Value::as_str).and_then(edit)
    {
        body["query"] = edited.into();
        request.body = Some(body.to_string().into_bytes());
    }
}

/// Edits the query as JSON, unless it is the statement of an upload. The request is not modified if `edit` changes
/// nothing.
pub(crate) fn edit(request: &mut Request, edit: impl Fn(&mut Value)) {
    if !is_upload(request) {
        edit_statement(request, edit);
    }
}

/// Edits the query or statement as JSON.
pub(crate) fn edit_statement(request: &mut Request, edit: impl Fn(&mut Value)) {
    edit_text(request, |text| {
        let before: Value = serde_json::from_str(text).ok().filter(|_| text.len() < 20_000)?;
        let mut after = before.clone();
        edit(&mut after);
        // Compared as text, because the order of members is significant.
        let (before, after) = (before.to_string(), after.to_string());
        (after != before).then_some(after)
    });
}

/// Edits the root node of a query.
pub(crate) fn edit_root(request: &mut Request, edit_node: impl Fn(&mut Map<String, Value>)) {
    edit(request, |query| {
        let root = query.as_object_mut().and_then(|query| query.values_mut().next());
        if let Some(node) = root.and_then(Value::as_object_mut) {
            edit_node(node);
        }
    });
}

/// Edits the nodes of all relations.
pub(crate) fn edit_relations(
    request: &mut Request,
    edit_node: impl Fn(&str, &mut Map<String, Value>) + Copy,
) {
    fn walk(node: &mut Map<String, Value>, edit_node: impl Fn(&str, &mut Map<String, Value>) + Copy) {
        let Some(select) = node.get_mut("$select").and_then(Value::as_object_mut) else { return };
        for (name, child) in select {
            if let Some(child) = child.as_object_mut() {
                edit_node(name, child);
                walk(child, edit_node);
            }
        }
    }
    edit_root(request, |root| walk(root, edit_node));
}

/// Edits all filters of the root and of relations, and those of conditions on relations, the innermost first.
pub(crate) fn edit_filters(request: &mut Request, edit_filter: impl Fn(&mut Value) + Copy) {
    fn walk(filter: &mut Value, edit_filter: impl Fn(&mut Value) + Copy) {
        for name in ["and", "or"] {
            if let Some(all) = filter.get_mut(name).and_then(Value::as_array_mut) {
                all.iter_mut().for_each(|one| walk(one, edit_filter));
            }
        }
        for name in ["not", "where"] {
            if let Some(inner) = filter.get_mut(name) {
                walk(inner, edit_filter);
            }
        }
        edit_filter(filter);
    }
    edit_root(request, |root| {
        if let Some(filter) = root.get_mut("$where") {
            walk(filter, edit_filter);
        }
    });
    edit_relations(request, |_, node| {
        if let Some(filter) = node.get_mut("$where") {
            walk(filter, edit_filter);
        }
    });
}

/// Edits the JSON body of a response with a matching status.
pub(crate) fn edit_body(response: &mut Response, is_right: impl Fn(u16) -> bool, edit: impl Fn(&mut Value)) {
    if is_right(response.status)
        && let Ok(mut body) = serde_json::from_slice::<Value>(&response.body)
    {
        edit(&mut body);
        response.body = body.to_string().into_bytes();
    }
}

/// Edits the body of a response with status 200.
pub(crate) fn edit_ok(response: &mut Response, edit: impl Fn(&mut Value)) {
    edit_body(response, |status| status == 200, edit);
}

/// Edits the body of an error response.
pub(crate) fn edit_error(response: &mut Response, edit: impl Fn(&mut Value)) {
    edit_body(response, |status| status >= 400, edit);
}

/// Edits every nested value, the innermost first, given the name of its member.
pub(crate) fn deep(value: &mut Value, name: &str, edit: &impl Fn(&str, &mut Value)) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| deep(item, name, edit)),
        Value::Object(members) => members.iter_mut().for_each(|(name, member)| deep(member, name, edit)),
        _ => {}
    }
    edit(name, value);
}

/// Returns the segments of the path after the base path.
pub(crate) fn segments(request: &Request) -> Vec<&str> {
    let path = request.target.split('?').next().unwrap_or_default();
    path.trim_start_matches("/mesh").split('/').filter(|segment| !segment.is_empty()).collect()
}

/// Returns whether a request reads one record.
pub(crate) fn is_point(request: &Request) -> bool {
    let posted = request.body.as_deref().and_then(|body| serde_json::from_slice::<Value>(body).ok());
    segments(request).len() == 2 || posted.is_some_and(|body| body.get("id").is_some())
}

/// Returns whether a request uploads a file.
pub(crate) fn is_upload(request: &Request) -> bool {
    request.header_value("Content-Type").is_some_and(|kind| kind.starts_with("multipart/"))
}
