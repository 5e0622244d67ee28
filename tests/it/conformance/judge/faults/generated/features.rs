//! Faults of servers that refuse what they must accept: a feature is missing, or a bound is one too low.

use mesh_tests::kit::encoding;
use mesh_tests::kit::http::Request;
use serde_json::Value;

use crate::conformance::judge::faults::{Fault, NO_FAULT, error, is_point, is_upload, segments};

/// A feature, and whether a request with this query uses it.
type Feature = (&'static str, fn(&Request, &str) -> bool);

/// Features, with functions that detect their use in a request and the text of its query.
const FEATURES: &[Feature] = &[
    ("padding in base64", |request, _| {
        request.header_value("X-Mesh-Query").is_some_and(|query| query.ends_with('='))
    }),
    ("blanks behind a query", |_, text| text.ends_with(' ')),
    ("unused bits in base64", |request, _| {
        let query = request.header_value("X-Mesh-Query").unwrap_or_default();
        let again = encoding::from_base64(query).map(encoding::base64_unpadded);
        again.is_none_or(|again| again != query.trim_end_matches('='))
    }),
    ("QL", |request, _| request.header_value("X-Mesh-Format") == Some("ql")),
    ("the name of the default format", |request, _| request.header_value("X-Mesh-Format") == Some("json")),
    ("other URL parameters", |request, _| request.target.contains('?')),
    ("escapes in the path", |request, _| request.target.contains('%')),
    ("a parameter of the media type", |request, _| {
        request.header_value("Content-Type").is_some_and(|kind| kind.starts_with("application/json;"))
    }),
    ("escapes in a query", |_, text| text.contains("\\u")),
    ("line breaks in a query", |_, text| text.contains('\n')),
    ("tabs in a query", |_, text| text.contains('\t')),
    ("repeated fields in QL", |_, text| text.contains("name name") || text.contains("id id")),
    ("lists without controls", |request, text| {
        request.method == "GET" && !is_point(request) && text.matches('$').count() == 1
    }),
    ("the shape of a connected record", |request, text| {
        request.method == "PUT" && segments(request).len() == 3 && !text.is_empty()
    }),
    ("posted collection reads", |request, _| posts_read(request) && !is_point(request)),
    ("posted point reads", |request, _| posts_read(request) && is_point(request)),
    ("ids that are text", |request, _| {
        segments(request).get(1).is_some_and(|id| id.chars().any(char::is_alphabetic) && id.len() < 4)
    }),
    ("headers that are not known", |request, _| request.header_value("X-Mesh-Version").is_some()),
    ("headers of half the bound", |request, _| {
        let bytes: usize = request.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        (16_000..32_700).contains(&bytes)
    }),
    ("the largest page", |_, text| text.contains("\"first\":200")),
    ("the smallest page", |_, text| text.contains("\"first\":1}") || text.contains("\"first\":1,")),
    ("after with null", |_, text| text.contains("\"after\":null")),
    ("an empty $page", |_, text| text.contains("\"$page\":{}")),
    ("an empty $orderBy", |_, text| text.contains("\"$orderBy\":[]")),
    ("an empty list of values", |_, text| text.contains("\"value\":[]")),
    ("the longest list of values", |_, text| longest_list(text, "value") == 200),
    ("the most group keys", |_, text| longest_list(text, "$groupBy") >= 8),
    ("the most aggregates", |_, text| text.matches("\"fn\"").count() == 16),
    ("the longest alias", |_, text| {
        text.split('"').any(|word| {
            word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        })
    }),
    ("count without a field", |_, text| text.contains("{\"fn\":\"count\"}")),
    ("count of everything", |_, text| text.contains("\"*\"")),
    ("distinct aggregates", |_, text| text.contains("\"distinct\":true")),
    ("group keys that are not selected", |_, text| {
        text.contains("\"$groupBy\"") && text.contains("\"$select\":{},")
    }),
    ("grouping without aggregates", |_, text| {
        text.contains("\"$groupBy\"") && !text.contains("\"$aggregate\"")
    }),
    ("relations in lists of relations", |_, text| text.matches("\"$select\"").count() > 3),
    ("two controls in one read", |_, text| text.contains("\"$where\"") && text.contains("\"$orderBy\"")),
    ("conditions with some", |_, text| text.contains("\"op\":\"some\"")),
    ("conditions with none", |_, text| text.contains("\"op\":\"none\"")),
    ("conditions with every", |_, text| text.contains("\"op\":\"every\"")),
    ("conditions on relations in one another", |_, text| text.matches("\"relation\"").count() > 1),
    ("paths", |_, text| has_path(text)),
    ("paths of several hops", |_, text| fields_of(text).any(|field| field.matches('.').count() > 1)),
    ("paths below relations", |_, text| {
        text.split("\"$select\"").skip(2).any(|part| fields_of(part).any(|field| field.contains('.')))
    }),
    ("orders by aggregates of relations", |_, text| text.contains("\"aggregate\":{")),
    ("aliases of fields", |_, text| text.contains("{\"$field\":")),
    ("aliases of relations", |_, text| text.contains("\"$relation\":")),
    ("aggregates of relations", |_, text| has_aggregated_relation(text)),
    ("groups of relations", |_, text| has_aggregated_relation(text) && text.contains("\"$groupBy\"")),
    ("places in JSON values", |_, text| text.contains("\"at\":\"")),
    ("places behind paths", |_, text| text.contains("\"at\":\"") && has_path(text)),
    ("totals", |_, text| text.contains("\"total\":true")),
    ("backward pages", |_, text| text.contains("\"last\":")),
    ("the largest backward page", |_, text| text.contains("\"last\":200")),
    ("before with null", |_, text| text.contains("\"before\":null")),
    ("before with a cursor", |_, text| text.contains("\"before\":\"")),
    ("logins by name", |request, _| request.target.ends_with("/auth")),
];

/// Returns a fault for each feature.
pub(super) fn faults() -> Vec<Fault> {
    let fault = |(name, uses): &Feature| {
        let uses = *uses;
        Fault {
            name: format!("{name}: refused").leak(),
            on_request: Box::leak(Box::new(move |request: &mut Request, _: &_| {
                uses(request, &text_of(request)).then(|| error(400, "ValidationError"))
            })),
            ..NO_FAULT
        }
    };
    FEATURES.iter().map(fault).collect()
}

fn posts_read(request: &Request) -> bool {
    request.method == "POST" && request.target == "/mesh"
}

/// Returns the length of the longest list that is the value of a member.
fn longest_list(text: &str, member: &str) -> usize {
    let start = format!("\"{member}\":[");
    let lists = text.split(&start).skip(1).map(|rest| rest.split(']').next().unwrap_or_default());
    lists.map(|list| list.matches(',').count() + 1).max().unwrap_or_default()
}

/// Returns the names of fields in the controls of a query.
fn fields_of(text: &str) -> impl Iterator<Item = &str> {
    text.split("\"field\":\"").skip(1).filter_map(|rest| rest.split('"').next())
}

/// Returns whether a filter or an order names a path.
pub(crate) fn has_path(text: &str) -> bool {
    fields_of(text).any(|field| field.contains('.'))
}

/// Returns whether a read node below the root has aggregates.
pub(crate) fn has_aggregated_relation(text: &str) -> bool {
    let query: Value = serde_json::from_str(text).unwrap_or_default();
    let root = query.as_object().and_then(|query| query.values().next());
    root.is_some_and(|root| root["$select"].to_string().contains("\"$aggregate\""))
}

/// Returns the text of the query, from the header or the body.
pub(crate) fn text_of(request: &Request) -> String {
    if is_upload(request) {
        return String::new();
    }
    let header = request.header_value("X-Mesh-Query").and_then(encoding::from_base64);
    let text = header.map(|text| String::from_utf8_lossy(&text).into_owned());
    let body = || request.body.as_deref().and_then(|body| serde_json::from_slice::<Value>(body).ok());
    text.or_else(|| Some(body()?.get("query")?.as_str()?.to_owned())).unwrap_or_default()
}
