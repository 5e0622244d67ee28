//! Faults of bounds: each bound is one too low, or one too high.

use mesh_tests::kit::http::Request;
use serde_json::Value;

use super::checks::accepted;
use super::features::text_of;
use crate::conformance::judge::faults::{Fault, NO_FAULT, error};
use crate::conformance::judge::proxy::ProxyState;

/// A bound: its name, its value, the status of a request that exceeds it, and a function that measures a request.
type Bound = (&'static str, u64, u16, fn(&Request) -> u64);

/// The bounds that cases test.
const BOUNDS: &[Bound] = &[
    ("the bytes of a query", 65_536, 400, |request| text_of(request).len() as u64),
    ("the bytes of a body", 1 << 20, 413, |request| match request.header_value("Content-Length") {
        Some(length) => length.parse().unwrap_or_default(),
        None => request.body.as_ref().map_or(0, Vec::len) as u64,
    }),
    ("the length of a request id", 128, 400, |request| {
        request.header_value("X-Request-Id").map_or(0, str::len) as u64
    }),
    ("the length of a nonce", 64, 401, |request| {
        request.header_value("X-Mesh-Nonce").map_or(0, str::len) as u64
    }),
    ("the depth of relations", 10, 400, |request| match parsed(request) {
        Value::Null => deepest_braces(&text_of(request)).saturating_sub(2),
        query => depth(root(&query)),
    }),
    ("the number of fields", 1_000, 400, |request| fields(root(&parsed(request)))),
    ("the number of relations", 200, 400, |request| relations(root(&parsed(request)))),
    ("the depth of a filter", 8, 400, |request| {
        all(request, "$where").iter().map(filter_depth).max().unwrap_or(0)
    }),
    ("the nodes of a filter", 64, 400, |request| all(request, "$where").iter().map(nodes).max().unwrap_or(0)),
    ("the depth of a filter of groups", 8, 400, |request| {
        all(request, "$having").iter().map(filter_depth).max().unwrap_or(0)
    }),
    ("the nodes of a filter of groups", 64, 400, |request| {
        all(request, "$having").iter().map(nodes).max().unwrap_or(0)
    }),
    ("the values of in", 200, 400, |request| values(request, "in")),
    ("the values of nin", 200, 400, |request| values(request, "nin")),
    ("the size of a page", 200, 400, |request| {
        root(&parsed(request))["$page"]["first"].as_u64().unwrap_or(0)
    }),
    ("the size of a page of a relation", 200, 400, |request| {
        let query = parsed(request);
        let children = root(&query)["$select"].as_object().into_iter().flat_map(|select| select.values());
        children.filter_map(|child| child["$page"]["first"].as_u64()).max().unwrap_or(0)
    }),
    ("the size of a backward page", 200, 400, |request| {
        root(&parsed(request))["$page"]["last"].as_u64().unwrap_or(0)
    }),
    ("the size of a backward page of a relation", 200, 400, |request| {
        children(root(&parsed(request)))
            .filter_map(|child| child["$page"]["last"].as_u64())
            .max()
            .unwrap_or(0)
    }),
    ("the number of conditions on relations", 8, 400, |request| {
        let text = text_of(request);
        ["some", "none", "every"]
            .map(|op| text.matches(&format!("\"op\":\"{op}\"")).count() as u64)
            .iter()
            .sum()
    }),
    ("the number of orders by aggregates", 4, 400, |request| {
        text_of(request).matches("\"aggregate\":{").count() as u64
    }),
    ("the number of group keys", 8, 400, |request| length(&root(&parsed(request))["$groupBy"])),
    ("the number of aggregates", 16, 400, |request| length(&root(&parsed(request))["$aggregate"])),
    ("the length of an alias", 64, 400, |request| {
        let query = parsed(request);
        let aliases = root(&query)["$aggregate"].as_object().into_iter().flat_map(|all| all.keys());
        aliases.map(String::len).max().unwrap_or(0) as u64
    }),
    ("the bytes of an image", 4_096, 413, |request| file_length(request, "/image")),
    ("the bytes of a file", 65_536, 413, |request| file_length(request, "/file")),
];

/// Returns the faults of each bound.
pub(super) fn faults() -> Vec<Fault> {
    let pair = |(name, bound, status, measure): &Bound| {
        let (bound, status, measure) = (*bound, *status, *measure);
        let low = Fault {
            name: format!("the bound on {name} is one too low").leak(),
            on_request: Box::leak(Box::new(move |request: &mut Request, _: &ProxyState| {
                let kind = if status == 400 { "ValidationError" } else { "TransportError" };
                (measure(request) == bound).then(|| error(status, kind))
            })),
            ..NO_FAULT
        };
        let high = Fault {
            name: format!("the bound on {name} is one too high").leak(),
            on_request: Box::leak(Box::new(move |request: &mut Request, _: &ProxyState| {
                (measure(request) == bound + 1).then(|| {
                    let mut response = accepted(request);
                    let id = request.header_value("X-Request-Id").unwrap_or("of-the-proxy").to_owned();
                    response.headers.push(("x-request-id".to_owned(), id));
                    response
                })
            })),
            ..NO_FAULT
        };
        [low, high]
    };
    let mut faults: Vec<Fault> = BOUNDS.iter().flat_map(pair).collect();
    faults.push(Fault {
        name: "the bytes of a query are counted as characters",
        must_fail: &["3.5-bytes-not-characters"],
        on_request: &|request, _| {
            let text = text_of(request);
            (text.len() > 65_536 && text.chars().count() <= 65_536).then(|| accepted(request))
        },
        ..NO_FAULT
    });
    faults
}

fn parsed(request: &Request) -> Value {
    let text = text_of(request);
    if text.len() > 40_000 { Value::Null } else { serde_json::from_str(&text).unwrap_or_default() }
}

fn root(query: &Value) -> &Value {
    query.as_object().and_then(|query| query.values().next()).unwrap_or(&Value::Null)
}

fn length(list: &Value) -> u64 {
    list.as_array().map_or_else(|| list.as_object().map_or(0, serde_json::Map::len), Vec::len) as u64
}

fn children(node: &Value) -> impl Iterator<Item = &Value> {
    node["$select"].as_object().into_iter().flat_map(|select| select.values())
}

fn depth(node: &Value) -> u64 {
    children(node).filter(|child| child.is_object()).map(|child| depth(child) + 1).max().unwrap_or(0)
}

fn fields(node: &Value) -> u64 {
    children(node).map(|child| 1 + fields(child)).sum()
}

fn relations(node: &Value) -> u64 {
    children(node).filter(|child| child.is_object()).map(|child| 1 + relations(child)).sum()
}

fn deepest_braces(text: &str) -> u64 {
    let (mut depth, mut most) = (0_u64, 0);
    for character in text.chars() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        most = most.max(depth);
    }
    most
}

/// Returns the control of the root and of its relations.
fn all(request: &Request, name: &str) -> Vec<Value> {
    let query = parsed(request);
    let nodes = std::iter::once(root(&query)).chain(children(root(&query)));
    nodes.filter_map(|node| node.get(name).cloned()).collect()
}

fn inner(filter: &Value) -> Vec<&Value> {
    let lists = ["and", "or"].iter().filter_map(|name| filter[*name].as_array()).flatten();
    lists.chain(filter.get("not")).chain(filter.get("where")).collect()
}

fn filter_depth(filter: &Value) -> u64 {
    1 + inner(filter).into_iter().map(filter_depth).max().unwrap_or(0)
}

fn nodes(filter: &Value) -> u64 {
    1 + inner(filter).into_iter().map(nodes).sum::<u64>()
}

fn values(request: &Request, op: &str) -> u64 {
    let of_op = all(request, "$where").into_iter().filter(|leaf| leaf["op"] == op);
    of_op.map(|leaf| length(&leaf["value"])).max().unwrap_or(0)
}

/// Returns the length of an uploaded file, which each of these cases sends as a single part.
fn file_length(request: &Request, field: &str) -> u64 {
    let boundary = request.header_value("Content-Type").and_then(|media| media.split_once("boundary="));
    let is_field = request.target.ends_with(field);
    let (Some((_, boundary)), Some(body), true) = (boundary, request.body.as_deref(), is_field) else {
        return 0;
    };
    let text: String = body.iter().map(|byte| char::from(*byte)).collect();
    let content =
        text.split_once("\r\n\r\n").and_then(|(_, rest)| rest.split_once(&format!("\r\n--{boundary}")));
    content.map_or(0, |(content, _)| content.len() as u64)
}
