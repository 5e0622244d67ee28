//! Faults of pages, cursors, aggregates, limits and caching.

use super::{
    Fault, NO_FAULT, edit_ok, edit_relations, edit_root, error, is_point, put, reply, segments, set,
};
use serde_json::{Value, json};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "lists have no hasNextPage",
        must_fail: &["5.2-envelope", "5.2-more", "5.2-exactly-full"],
        may_fail: &["3.10-", "3.12-count", "3.14-", "5.2-", "5.4-", "6-", "8.1-"],
        on_response: &|_, response, _| {
            edit_ok(response, |body| {
                if let Some(info) = body.get_mut("pageInfo").and_then(Value::as_object_mut) {
                    info.remove("hasNextPage");
                }
            });
        },
        ..NO_FAULT
    },
    Fault {
        name: "hasNextPage is never true",
        must_fail: &["5.2-more", "5.4-walk", "3.10-default", "3.10-joined-rows"],
        may_fail: &["3.10-", "3.14-", "5.4-", "8.1-"],
        on_response: &|_, response, _| {
            edit_ok(response, |body| {
                if let Some(info) = body.get_mut("pageInfo") {
                    info["hasNextPage"] = false.into();
                }
            });
        },
        ..NO_FAULT
    },
    Fault {
        name: "hasNextPage is true for every full page",
        must_fail: &["5.2-exactly-full"],
        may_fail: &["3.10-", "3.12-", "3.14-walk", "5.2-", "5.4-", "5.4-walk", "6-"],
        on_response: &|request, response, _| {
            let query = request.header_value("X-Mesh-Query").and_then(mesh_tests::kit::encoding::from_base64);
            let query: Value = serde_json::from_slice(&query.unwrap_or_default()).unwrap_or_default();
            let root = query.as_object().and_then(|query| query.values().next());
            let first = root.and_then(|root| root["$page"]["first"].as_u64());
            edit_ok(response, |body| {
                if body["items"].as_array().map(|items| items.len() as u64) == first && first.is_some() {
                    body["pageInfo"]["hasNextPage"] = true.into();
                }
            });
        },
        ..NO_FAULT
    },
    Fault {
        name: "empty lists have cursors",
        must_fail: &["5.2-empty", "5.4-behind-the-end"],
        on_response: &|_, response, _| {
            edit_ok(response, |body| {
                if body["items"] == json!([]) && body.get("pageInfo").is_some() {
                    body["pageInfo"]["startCursor"] = "".into();
                    body["pageInfo"]["endCursor"] = "".into();
                }
            });
        },
        ..NO_FAULT
    },
    Fault {
        name: "lists have an outer object",
        must_fail: &["5.2-envelope", "5.2-ql"],
        may_fail: &["1", "2.", "3.", "4-", "5.", "6-", "7.4-", "7.9-", "8.1-", "9.4-"],
        on_response: &|_, response, _| {
            edit_ok(response, |body| {
                if body.get("pageInfo").is_some() {
                    *body = json!({"data": body.take()});
                }
            });
        },
        ..NO_FAULT
    },
    Fault {
        name: "another default page size",
        must_fail: &["3.10-default"],
        may_fail: &["11-", "3.11-bytes-exact", "6-", "7.4-", "7.9-", "8."],
        on_request: &|request, _| {
            let is_list = !is_point(request) && segments(request).len() < 2;
            edit_root(request, |node| {
                if is_list && node.len() == 1 && node.contains_key("$select") {
                    node.insert("$page".to_owned(), json!({"first": 30}));
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "oversized pages are truncated silently",
        must_fail: &["3.10-too-large", "3.10-relation-too-large"],
        may_fail: &["3.10-first-huge"],
        on_request: &|request, _| {
            let clamp = |node: &mut serde_json::Map<String, Value>| {
                if let Some(page) = node.get_mut("$page")
                    && page["first"].as_f64().is_some_and(|first| first > 200.0)
                {
                    page["first"] = 200.into();
                }
            };
            edit_root(request, clamp);
            edit_relations(request, |_, node| clamp(node));
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "pages count joined rows",
        must_fail: &["3.10-joined-rows", "3.10-nested-pages"],
        may_fail: &["3.10-", "3.11-result-", "5.4-select-may-change"],
        on_request: &|request, _| {
            edit_root(request, |node| {
                let joins = node.get("$select").and_then(Value::as_object);
                let joins = joins.is_some_and(|select| select.values().any(Value::is_object));
                if let Some(page) = node.get_mut("$page").filter(|_| joins)
                    && let Some(first) = page["first"].as_u64().filter(|first| *first > 1)
                {
                    page["first"] = (first - 1).into();
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "pages of relations are not applied",
        must_fail: &["3.10-relation-per-parent", "3.10-relation-default", "3.10-relation-order-and-page"],
        may_fail: &["3.10-", "3.6-to-one-page"],
        on_request: &|request, _| {
            edit_relations(request, |_, node| {
                node.remove("$page");
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "pages of relations apply to all parents together",
        must_fail: &["3.10-relation-per-parent", "3.10-relation-through-page"],
        may_fail: &["3.10-"],
        on_response: &|request, response, _| {
            let query = request.header_value("X-Mesh-Query").and_then(mesh_tests::kit::encoding::from_base64);
            let query: Value = serde_json::from_slice(&query.unwrap_or_default()).unwrap_or_default();
            let root = query.as_object().and_then(|query| query.values().next());
            let select = root.and_then(|root| root["$select"].as_object()).cloned().unwrap_or_default();
            edit_ok(response, |body| {
                for (name, _) in select.iter().filter(|(_, node)| node.get("$page").is_some()) {
                    for item in
                        body.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten().skip(1)
                    {
                        item[name] = json!([]);
                    }
                }
            });
        },
        ..NO_FAULT
    },
    Fault {
        name: "altered cursors are accepted",
        must_fail: &["5.4-altered", "5.4-altered-at-start", "5.4-cut", "5.4-garbage", "5.4-empty"],
        on_request: &|request, memory| {
            edit_root(request, |node| {
                let after = node.get("$page").and_then(|page| page["after"].as_str()).map(str::to_owned);
                if after.is_some_and(|after| !memory.has_issued_cursor(&after)) {
                    node["$page"]["after"] = Value::Null;
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "cursors of other queries are accepted",
        must_fail: &[
            "5.4-other-order",
            "5.4-other-filter",
            "5.4-other-entity",
            "5.4-other-nulls",
            "5.4-other-grouping",
        ],
        may_fail: &["5.4-"],
        on_response: &|_, response, _| {
            if String::from_utf8_lossy(&response.body).contains("CURSOR_MISMATCH") {
                *response = reply(200, &json!({"items": []}));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "pages include the row of the cursor",
        must_fail: &["5.4-walk", "5.4-walk-ties", "5.4-walk-mixed", "3.14-walk-groups"],
        may_fail: &["5.4-", "3.14-"],
        on_response: &|request, response, _| {
            let query = request.header_value("X-Mesh-Query").and_then(mesh_tests::kit::encoding::from_base64);
            let body = request.body.clone().unwrap_or_default();
            let query = String::from_utf8_lossy(&query.unwrap_or(body)).into_owned();
            if query.contains("after") && !query.contains("\"after\":null") {
                edit_ok(response, |body| {
                    if let Some(items) =
                        body.get_mut("items").and_then(Value::as_array_mut).filter(|items| !items.is_empty())
                    {
                        let first = items[0].clone();
                        items.insert(0, first);
                        items.pop();
                    }
                });
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "cursors use another alphabet",
        must_fail: &["5.4-form", "5.2-envelope"],
        may_fail: &["5.2-", "5.4-", "3.14-"],
        on_response: &|_, response, _| {
            edit_ok(response, |body| {
                for name in ["startCursor", "endCursor"] {
                    if let Some(cursor) = body["pageInfo"][name].as_str() {
                        body["pageInfo"][name] = format!("{cursor}==").into();
                    }
                }
            });
        },
        ..NO_FAULT
    },
    Fault {
        name: "sums of no rows are zero",
        must_fail: &["3.12-no-rows"],
        on_response: &|_, response, _| {
            edit_ok(response, |body| {
                for item in body.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten() {
                    if item["s"].is_null() && item.get("s").is_some() {
                        item["s"] = 0.into();
                    }
                }
            });
        },
        ..NO_FAULT
    },
    Fault {
        name: "groups of NULL are omitted",
        must_fail: &["3.12-group-null", "3.13-distinct-null"],
        may_fail: &["3.12-", "3.13-", "3.14-"],
        on_response: &|request, response, _| {
            let query = request.header_value("X-Mesh-Query").and_then(mesh_tests::kit::encoding::from_base64);
            let query = String::from_utf8_lossy(&query.unwrap_or_default()).into_owned();
            if query.contains("$groupBy") || query.contains("$distinct") {
                edit_ok(response, |body| {
                    if let Some(items) = body.get_mut("items").and_then(Value::as_array_mut) {
                        items.retain(|item| item.get("role") != Some(&Value::Null));
                    }
                });
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "large results are truncated silently",
        must_fail: &["3.11-result-too-large", "3.11-bytes"],
        may_fail: &["3.11-bytes-", "11-answer-too-large"],
        on_response: &|_, response, _| {
            if String::from_utf8_lossy(&response.body).contains("RESULT_TOO_LARGE") {
                *response = reply(200, &json!({"items": []}));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "exceeded limits are 500",
        must_fail: &["3.5-too-deep", "3.11-filter-too-deep", "3.11-in-too-long"],
        may_fail: &["3.5-", "3.11-", "3.10-", "4-deep", "11-answer-too-large"],
        on_response: &|_, response, _| {
            if response.status == 400 && String::from_utf8_lossy(&response.body).contains("bound") {
                *response = error(500, "InternalError");
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "entity tags are weak",
        must_fail: &["12.3-etag"],
        may_fail: &["12.3-", "9.7-"],
        on_response: &|_, response, _| {
            if let Some(tag) = response.header("etag").map(|tag| format!("W/{tag}")) {
                put(response, "etag", Some(&tag));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "If-None-Match is ignored",
        must_fail: &["12.3-not-modified", "12.3-list-of-tags", "12.3-star"],
        may_fail: &["12.3-", "12.3-vary-not-modified", "12.4-tag", "9.7-"],
        on_request: &|request, _| {
            set(request, "If-None-Match", None);
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "the entity tag does not depend on the shape",
        must_fail: &["12.3-tag-of-shape"],
        may_fail: &["12.3-", "12.4-", "9.7-"],
        on_response: &|_, response, _| {
            if response.header("etag").is_some() {
                put(response, "etag", Some("\"same\""));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "Vary is missing",
        must_fail: &["12.3-vary", "12.3-vary-not-modified"],
        may_fail: &["12.5-vary", "9.7-"],
        on_response: &|_, response, _| put(response, "vary", None),
        ..NO_FAULT
    },
    Fault {
        name: "errors are cacheable",
        must_fail: &["12.3-errors-not-stored"],
        may_fail: &["12.1-", "12.6-", "2.11-"],
        on_response: &|_, response, _| {
            if response.status >= 400 {
                put(response, "cache-control", None);
            }
        },
        ..NO_FAULT
    },
];
