//! Faults of filters, orders and groups.

pub(super) mod related;

use super::{Fault, NO_FAULT, edit_filters, edit_relations, edit_root, reply, set};
use serde_json::{Value, json};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "filters are not applied",
        must_fail: &["3.7-eq-text", "3.7-in", "3.8-and", "5.2-empty", "3.12-group-filtered"],
        may_fail: &["11-", "12.", "13.5-", "3.", "5.2-", "5.4-", "6-", "8.1-", "9.4-"],
        on_request: &|request, _| {
            edit_root(request, |node| {
                node.remove("$where");
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "filters of relations are not applied",
        must_fail: &["3.10-relation-filter", "3.10-relation-filter-order-page"],
        may_fail: &["3.11-", "3.6-to-one-where", "3.7-"],
        on_request: &|request, _| {
            edit_relations(request, |_, node| {
                node.remove("$where");
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "ne matches NULL",
        must_fail: &["3.7-ne"],
        may_fail: &["3.7-", "3.7-null-ne"],
        on_request: &|request, _| {
            edit_filters(request, |filter| {
                if filter["op"] == "ne" && !filter["value"].is_null() {
                    let is_null = json!({"field": filter["field"], "op": "isNull"});
                    *filter = json!({"or": [filter.take(), is_null]});
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "nin matches NULL",
        must_fail: &["3.7-nin"],
        may_fail: &["3.11-nin"],
        on_request: &|request, _| {
            edit_filters(request, |filter| {
                if filter["op"] == "nin" && filter["field"] == "likes" {
                    let is_null = json!({"field": filter["field"], "op": "isNull"});
                    *filter = json!({"or": [filter.take(), is_null]});
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "an empty list matches everything",
        must_fail: &["3.7-in-empty"],
        may_fail: &["3.8-"],
        on_request: &|request, _| {
            edit_filters(request, |filter| {
                if filter["op"] == "in" && filter["value"] == json!([]) {
                    filter["op"] = "nin".into();
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "like ignores case",
        must_fail: &["3.7-like-any", "3.7-like-case"],
        on_request: &|request, _| {
            edit_filters(request, |filter| {
                if filter["op"] == "like" {
                    filter["op"] = "ilike".into();
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "ilike is case-sensitive",
        must_fail: &["3.7-ilike", "3.7-ilike-lower"],
        may_fail: &["3.7-", "3.8-"],
        on_request: &|request, _| {
            edit_filters(request, |filter| {
                if filter["op"] == "ilike" {
                    filter["op"] = "like".into();
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "patterns have no escapes",
        must_fail: &["3.7-like-escaped-underscore", "3.7-like-escaped-escape"],
        may_fail: &["3.7-like-escaped-"],
        on_request: &|request, _| {
            edit_filters(request, |filter| {
                if let Some(pattern) = filter["value"].as_str().filter(|pattern| pattern.contains('\\')) {
                    filter["value"] = pattern.replace('\\', "").into();
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "null as a value means isNull",
        must_fail: &["3.7-null-value"],
        may_fail: &["3.7-null-"],
        on_request: &|request, _| {
            edit_filters(request, |filter| {
                if filter.get("value") == Some(&Value::Null) {
                    *filter = json!({"field": filter["field"], "op": "isNull"});
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "not is ignored",
        must_fail: &["3.8-not", "3.8-nested"],
        may_fail: &["3.7-", "3.8-", "3.8-leaf-and-combinator", "3.8-not-list", "6-"],
        on_request: &|request, _| {
            edit_filters(request, |filter| {
                if let Some(inner) = filter.get_mut("not").filter(|_| true) {
                    *filter = inner.take();
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "or means and",
        must_fail: &["3.8-or", "3.8-nested"],
        may_fail: &["3.8-", "6-"],
        on_request: &|request, _| {
            edit_filters(request, |filter| {
                if let Some(all) = filter.get_mut("or") {
                    *filter = json!({"and": all.take()});
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "an integer field accepts any number",
        must_fail: &["3.7-fraction-for-integer"],
        on_request: &|request, _| {
            edit_filters(request, |filter| {
                if let Some(value) = filter["value"].as_f64().filter(|value| value.fract() != 0.0)
                    && filter["field"] == "likes"
                {
                    filter["value"] = (value.trunc() as i64).into();
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "text is accepted as a number or boolean",
        must_fail: &["3.7-text-for-integer", "3.7-text-for-boolean"],
        on_request: &|request, _| {
            edit_filters(request, |filter| {
                let field = filter["field"].as_str().unwrap_or_default();
                if let Some(text) = filter["value"].as_str().filter(|_| ["likes", "pinned"].contains(&field))
                {
                    filter["value"] = serde_json::from_str(text).unwrap_or_default();
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "NULL sorts first",
        must_fail: &["3.9-nulls-last-asc", "3.9-nulls-last-desc"],
        may_fail: &["3.13-distinct-desc", "3.14-", "3.9-", "5.4-other-nulls", "5.4-walk-", "6-"],
        on_request: &|request, _| {
            edit_root(request, |node| {
                for key in node.get_mut("$orderBy").and_then(Value::as_array_mut).into_iter().flatten() {
                    if key.get("nulls").is_none() && key["direction"].as_str().is_some() {
                        key["nulls"] = "first".into();
                    }
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "nulls is ignored",
        must_fail: &[
            "3.9-nulls-first-asc",
            "3.9-nulls-first-desc",
            "5.4-walk-nulls-first",
            "5.4-other-nulls",
        ],
        may_fail: &["3.9-", "5.4-walk-"],
        on_request: &|request, _| {
            edit_root(request, |node| {
                for key in node.get_mut("$orderBy").and_then(Value::as_array_mut).into_iter().flatten() {
                    key.as_object_mut().map(|key| key.remove("nulls"));
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "ties are ordered in the opposite direction",
        must_fail: &["3.9-ties-asc", "3.9-ties-desc"],
        may_fail: &["3.9-", "5.4-walk-", "6-"],
        on_request: &|request, _| {
            edit_root(request, |node| {
                let grouped = node.contains_key("$groupBy") || node.contains_key("$distinct");
                let has_id = !node.get("$orderBy").unwrap_or(&Value::Null).to_string().contains("\"id\"");
                let id = node.get("$select").and_then(|select| select.get("id")).is_some();
                if let Some(keys) = node
                    .get_mut("$orderBy")
                    .and_then(Value::as_array_mut)
                    .filter(|_| !grouped && has_id && id)
                    && let Some(last) = keys.last()
                {
                    let other = if last["direction"] == "asc" { "desc" } else { "asc" };
                    keys.push(json!({"field": "id", "direction": other}));
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "ties are always ascending",
        must_fail: &["3.9-ties-desc"],
        may_fail: &["3.9-", "5.4-walk-"],
        on_request: &|request, _| {
            edit_root(request, |node| {
                let grouped = node.contains_key("$groupBy") || node.contains_key("$distinct");
                let id = node.get("$select").and_then(|select| select.get("id")).is_some();
                if let Some(keys) =
                    node.get_mut("$orderBy").and_then(Value::as_array_mut).filter(|_| !grouped && id)
                    && keys.last().is_some_and(|last| last["direction"] == "desc")
                    && !keys.iter().any(|key| key["field"] == "id")
                {
                    keys.push(json!({"field": "id", "direction": "asc"}));
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "orders are not applied",
        must_fail: &["3.9-desc", "3.9-two-keys", "3.12-order-by-aggregate", "5.4-other-order"],
        may_fail: &["13.5-", "3.", "5.4-", "6-"],
        on_request: &|request, _| {
            edit_root(request, |node| {
                node.remove("$orderBy");
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "orders of relations are not applied",
        must_fail: &["3.9-of-children", "3.9-children-through", "3.10-relation-order-and-page"],
        may_fail: &["3.10-", "3.6-to-one-orderby"],
        on_request: &|request, _| {
            edit_relations(request, |_, node| {
                node.remove("$orderBy");
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "$distinct is not applied",
        must_fail: &["3.13-distinct", "3.13-distinct-pairs"],
        may_fail: &[
            "13.5-refused-in-distinct",
            "3.13-",
            "3.14-walk-distinct",
            "3.6-point-distinct",
            "3.8-",
            "6-",
        ],
        on_request: &|request, _| {
            edit_root(request, |node| {
                node.remove("$distinct");
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "$having is not applied",
        must_fail: &["3.12-having", "3.12-having-key", "3.14-walk-having"],
        may_fail: &["3.12-having-", "3.11-having-", "3.8-null-having", "3.6-point-having"],
        on_request: &|request, _| {
            edit_root(request, |node| {
                node.remove("$having");
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "aliases are not validated",
        must_fail: &["3.8-alias-digit", "3.8-alias-quote", "3.8-alias-long"],
        may_fail: &["3.8-alias-"],
        on_request: &|request, _| {
            let text =
                request.header_value("X-Mesh-Query").and_then(mesh_tests::kit::encoding::from_base64)?;
            let query: Value = serde_json::from_slice(&text).ok()?;
            let aliases = query.as_object()?.values().next()?.get("$aggregate")?.as_object()?;
            let is_right = |alias: &String| {
                let first = alias.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
                first && alias.len() <= 64 && alias.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            };
            (!aliases.keys().all(is_right)).then(|| reply(200, &json!({"items": []})))
        },
        ..NO_FAULT
    },
    Fault {
        name: "the format of a posted query is ignored",
        must_fail: &["2.7-ql", "2.7-format-unknown"],
        may_fail: &["13.2-", "2.7-", "4-deep", "8."],
        on_request: &|request, _| {
            let body = request.body.as_deref().and_then(|body| serde_json::from_slice::<Value>(body).ok());
            if let Some(mut body) = body.filter(|body| body.get("format").is_some()) {
                body.as_object_mut().unwrap().remove("format");
                request.body = Some(body.to_string().into_bytes());
                set(request, "X-Mesh-Format", None);
            }
            None
        },
        ..NO_FAULT
    },
];
