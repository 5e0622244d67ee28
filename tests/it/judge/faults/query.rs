//! Faults of selections, filters, orders and groups: what a query says and a server does otherwise.

use serde_json::{Value, json};

use super::{Fault, NONE, edit, edit_filters, edit_relations, edit_root, edit_text, is_point, reply, set};

/// What may stand in a read node besides the selection.
const CONTROLS: [&str; 7] = ["$where", "$orderBy", "$page", "$distinct", "$groupBy", "$aggregate", "$having"];

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "unknown keys of a node are dropped in silence",
        must: &["3.2-unknown-key", "3.2-key-without-dollar", "3.2-nested-unknown-key"],
        before: |request, _| {
            let keep = |name: &String| name == "$select" || CONTROLS.contains(&name.as_str());
            edit_root(request, |node| {
                if node.contains_key("$select") {
                    node.retain(|name, _| keep(name));
                }
            });
            edit_relations(request, |_, node| node.retain(|name, _| keep(name)));
            None
        },
        ..NONE
    },
    Fault {
        name: "a selection without its wrapping is taken",
        must: &["3.2-unwrapped"],
        before: |request, _| {
            edit(request, |query| {
                let root = query.as_object_mut().and_then(|query| query.values_mut().next());
                let bare = |node: &&mut Value| {
                    node.as_object().is_some_and(|node| !node.is_empty() && !node.contains_key("$select"))
                };
                if let Some(node) = root.filter(bare) {
                    *node = json!({"$select": node.take()});
                }
            });
            None
        },
        ..NONE
    },
    Fault {
        name: "any value selects a field",
        must: &["3.3-field-false", "3.3-field-number", "3.3-field-text", "3.3-field-null"],
        related: &["3.3-field-", "3.3-relation-as-field"],
        before: |request, _| {
            edit_root(request, |node| {
                if let Some(select) = node.get_mut("$select").and_then(Value::as_object_mut) {
                    select
                        .values_mut()
                        .filter(|value| !value.is_object())
                        .for_each(|value| *value = true.into());
                }
            });
            None
        },
        ..NONE
    },
    Fault {
        name: "the order of a selection is lost",
        must: &["3.3-order-of-keys", "3.3-order-with-relations"],
        related: &["13.5-order-of-keys", "3.12-group-order-of-keys", "2.7-as-get"],
        before: |request, _| {
            edit_root(request, |node| {
                if let Some(select) = node.get_mut("$select").and_then(Value::as_object_mut) {
                    select.sort_keys();
                }
            });
            None
        },
        ..NONE
    },
    Fault {
        name: "commas separate in the short format",
        must: &["4-comma"],
        before: |request, _| {
            if request.header("X-Mesh-Format") == Some("ql") {
                edit_text(request, |text| text.contains(',').then(|| text.replace(',', " ")));
            }
            None
        },
        ..NONE
    },
    Fault {
        name: "text behind a query of the short format is ignored",
        must: &["4-trailing", "4-extra-brace"],
        before: |request, _| {
            if request.header("X-Mesh-Format") == Some("ql") {
                edit_text(request, |text| {
                    let mut depth = 0;
                    let end = text.find(|c| {
                        depth += i32::from(c == '{') - i32::from(c == '}');
                        depth == 0 && c == '}'
                    })?;
                    Some(text[..=end].to_owned())
                });
            }
            None
        },
        ..NONE
    },
    Fault {
        name: "the short format needs inner braces",
        must: &["4-no-inner-braces"],
        related: &["4-", "2.5-ql", "2.7-ql", "2.10-put-ql"],
        before: |request, _| {
            let text = request.header("X-Mesh-Query").and_then(mesh_tests::kit::wire::from_base64);
            let text = String::from_utf8_lossy(&text.unwrap_or_default()).into_owned();
            let words: Vec<&str> = text.split_whitespace().collect();
            let is_ql = request.header("X-Mesh-Format") == Some("ql");
            let bare = is_ql
                && words.first() == Some(&"{")
                && words.get(2).is_some_and(|word| *word != "{" && *word != "}");
            bare.then(|| super::error(400, "ValidationError"))
        },
        ..NONE
    },
    Fault {
        name: "controls on a record are dropped in silence",
        needs: "L2",
        must: &["3.6-point-where", "3.6-point-page", "3.6-posted-point", "3.6-point-having"],
        related: &["3.6-point-", "3.8-null-"],
        before: |request, _| {
            if is_point(request) {
                edit_root(request, |node| node.retain(|name, _| !CONTROLS.contains(&name.as_str())));
            }
            None
        },
        ..NONE
    },
    Fault {
        name: "controls on a relation to one are dropped in silence",
        needs: "L2",
        must: &["3.6-to-one-where", "3.6-to-one-orderby", "3.6-to-one-page"],
        before: |request, _| {
            edit_relations(request, |name, node| {
                if name == "author" {
                    node.retain(|name, _| !CONTROLS.contains(&name.as_str()));
                }
            });
            None
        },
        ..NONE
    },
    Fault {
        name: "grouping of relations is dropped in silence",
        needs: "L2",
        must: &[
            "3.6-relation-groupby",
            "3.6-relation-distinct",
            "3.6-relation-aggregate",
            "3.6-relation-having",
        ],
        before: |request, _| {
            edit_relations(request, |_, node| {
                node.retain(|name, _| {
                    !["$groupBy", "$distinct", "$aggregate", "$having"].contains(&name.as_str())
                });
            });
            None
        },
        ..NONE
    },
    Fault {
        name: "filters are not applied",
        needs: "L2",
        must: &["3.7-eq-text", "3.7-in", "3.8-and", "5.2-empty", "3.12-group-filtered"],
        related: &["3.", "5.2-", "5.4-", "12.", "13.5-"],
        before: |request, _| {
            edit_root(request, |node| {
                node.remove("$where");
            });
            None
        },
        ..NONE
    },
    Fault {
        name: "filters of relations are not applied",
        needs: "L2",
        must: &["3.10-relation-filter", "3.10-relation-filter-order-page"],
        related: &["3.6-to-one-where"],
        before: |request, _| {
            edit_relations(request, |_, node| {
                node.remove("$where");
            });
            None
        },
        ..NONE
    },
    Fault {
        name: "ne matches NULL",
        needs: "L2",
        must: &["3.7-ne"],
        related: &["3.7-null-ne"],
        before: |request, _| {
            edit_filters(request, |filter| {
                if filter["op"] == "ne" && !filter["value"].is_null() {
                    let is_null = json!({"field": filter["field"], "op": "isNull"});
                    *filter = json!({"or": [filter.take(), is_null]});
                }
            });
            None
        },
        ..NONE
    },
    Fault {
        name: "nin matches NULL",
        needs: "L2",
        must: &["3.7-nin"],
        related: &["3.11-nin"],
        before: |request, _| {
            edit_filters(request, |filter| {
                if filter["op"] == "nin" && filter["field"] == "likes" {
                    let is_null = json!({"field": filter["field"], "op": "isNull"});
                    *filter = json!({"or": [filter.take(), is_null]});
                }
            });
            None
        },
        ..NONE
    },
    Fault {
        name: "an empty list filters nothing",
        needs: "L2",
        must: &["3.7-in-empty"],
        before: |request, _| {
            edit_filters(request, |filter| {
                if filter["op"] == "in" && filter["value"] == json!([]) {
                    filter["op"] = "nin".into();
                }
            });
            None
        },
        ..NONE
    },
    Fault {
        name: "like does not mind letter case",
        needs: "L2",
        must: &["3.7-like-any", "3.7-like-case"],
        before: |request, _| {
            edit_filters(request, |filter| {
                if filter["op"] == "like" {
                    filter["op"] = "ilike".into();
                }
            });
            None
        },
        ..NONE
    },
    Fault {
        name: "ilike minds letter case",
        needs: "L2",
        must: &["3.7-ilike", "3.7-ilike-lower"],
        before: |request, _| {
            edit_filters(request, |filter| {
                if filter["op"] == "ilike" {
                    filter["op"] = "like".into();
                }
            });
            None
        },
        ..NONE
    },
    Fault {
        name: "patterns have no escapes",
        needs: "L2",
        must: &["3.7-like-escaped-underscore", "3.7-like-escaped-escape"],
        related: &["3.7-like-escaped-"],
        before: |request, _| {
            edit_filters(request, |filter| {
                if let Some(pattern) = filter["value"].as_str().filter(|pattern| pattern.contains('\\')) {
                    filter["value"] = pattern.replace('\\', "").into();
                }
            });
            None
        },
        ..NONE
    },
    Fault {
        name: "null as a value means isNull",
        needs: "L2",
        must: &["3.7-null-value"],
        related: &["3.7-null-"],
        before: |request, _| {
            edit_filters(request, |filter| {
                if filter.get("value") == Some(&Value::Null) {
                    *filter = json!({"field": filter["field"], "op": "isNull"});
                }
            });
            None
        },
        ..NONE
    },
    Fault {
        name: "not is dropped",
        needs: "L2",
        must: &["3.8-not", "3.8-nested"],
        related: &["3.8-not-list", "3.8-leaf-and-combinator"],
        before: |request, _| {
            edit_filters(request, |filter| {
                if let Some(inner) = filter.get_mut("not").filter(|_| true) {
                    *filter = inner.take();
                }
            });
            None
        },
        ..NONE
    },
    Fault {
        name: "or means and",
        needs: "L2",
        must: &["3.8-or", "3.8-nested"],
        related: &["3.8-"],
        before: |request, _| {
            edit_filters(request, |filter| {
                if let Some(all) = filter.get_mut("or") {
                    *filter = json!({"and": all.take()});
                }
            });
            None
        },
        ..NONE
    },
    Fault {
        name: "an integer takes any number",
        needs: "L2",
        must: &["3.7-fraction-for-integer"],
        before: |request, _| {
            edit_filters(request, |filter| {
                if let Some(value) = filter["value"].as_f64().filter(|value| value.fract() != 0.0)
                    && filter["field"] == "likes"
                {
                    filter["value"] = (value.trunc() as i64).into();
                }
            });
            None
        },
        ..NONE
    },
    Fault {
        name: "text is taken for numbers and booleans",
        needs: "L2",
        must: &["3.7-text-for-integer", "3.7-text-for-boolean"],
        before: |request, _| {
            edit_filters(request, |filter| {
                let field = filter["field"].as_str().unwrap_or_default();
                if let Some(text) = filter["value"].as_str().filter(|_| ["likes", "pinned"].contains(&field))
                {
                    filter["value"] = serde_json::from_str(text).unwrap_or_default();
                }
            });
            None
        },
        ..NONE
    },
    Fault {
        name: "NULL stands first",
        needs: "L2",
        must: &["3.9-nulls-last-asc", "3.9-nulls-last-desc"],
        related: &["3.9-", "3.14-", "3.13-distinct-desc", "5.4-walk-", "5.4-other-nulls"],
        before: |request, _| {
            edit_root(request, |node| {
                for key in node.get_mut("$orderBy").and_then(Value::as_array_mut).into_iter().flatten() {
                    if key.get("nulls").is_none() && key["direction"].as_str().is_some() {
                        key["nulls"] = "first".into();
                    }
                }
            });
            None
        },
        ..NONE
    },
    Fault {
        name: "nulls is not looked at",
        needs: "L2",
        must: &["3.9-nulls-first-asc", "3.9-nulls-first-desc", "5.4-walk-nulls-first", "5.4-other-nulls"],
        related: &["3.9-", "5.4-walk-"],
        before: |request, _| {
            edit_root(request, |node| {
                for key in node.get_mut("$orderBy").and_then(Value::as_array_mut).into_iter().flatten() {
                    key.as_object_mut().map(|key| key.remove("nulls"));
                }
            });
            None
        },
        ..NONE
    },
    Fault {
        name: "ties go the other way",
        needs: "L2",
        must: &["3.9-ties-asc", "3.9-ties-desc"],
        related: &["3.9-", "5.4-walk-"],
        before: |request, _| {
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
        ..NONE
    },
    Fault {
        name: "ties always go up",
        needs: "L2",
        must: &["3.9-ties-desc"],
        related: &["3.9-", "5.4-walk-"],
        before: |request, _| {
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
        ..NONE
    },
    Fault {
        name: "orders are not applied",
        needs: "L2",
        must: &["3.9-desc", "3.9-two-keys", "3.12-order-by-aggregate", "5.4-other-order"],
        related: &["3.", "5.4-", "13.5-"],
        before: |request, _| {
            edit_root(request, |node| {
                node.remove("$orderBy");
            });
            None
        },
        ..NONE
    },
    Fault {
        name: "orders of relations are not applied",
        needs: "L2",
        must: &["3.9-of-children", "3.9-children-through", "3.10-relation-order-and-page"],
        related: &["3.10-", "3.6-to-one-orderby"],
        before: |request, _| {
            edit_relations(request, |_, node| {
                node.remove("$orderBy");
            });
            None
        },
        ..NONE
    },
    Fault {
        name: "$distinct is not applied",
        needs: "L2",
        must: &["3.13-distinct", "3.13-distinct-pairs"],
        related: &["3.13-", "3.14-walk-distinct", "3.8-", "3.6-point-distinct", "13.5-refused-in-distinct"],
        before: |request, _| {
            edit_root(request, |node| {
                node.remove("$distinct");
            });
            None
        },
        ..NONE
    },
    Fault {
        name: "$having is not applied",
        needs: "L2",
        must: &["3.12-having", "3.12-having-key", "3.14-walk-having"],
        related: &["3.12-having-", "3.11-having-", "3.8-null-having", "3.6-point-having"],
        before: |request, _| {
            edit_root(request, |node| {
                node.remove("$having");
            });
            None
        },
        ..NONE
    },
    Fault {
        name: "aliases of any form are taken",
        needs: "L2",
        must: &["3.8-alias-digit", "3.8-alias-quote", "3.8-alias-long"],
        related: &["3.8-alias-"],
        before: |request, _| {
            let text = request.header("X-Mesh-Query").and_then(mesh_tests::kit::wire::from_base64)?;
            let query: Value = serde_json::from_slice(&text).ok()?;
            let aliases = query.as_object()?.values().next()?.get("$aggregate")?.as_object()?;
            let is_right = |alias: &String| {
                let first = alias.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
                first && alias.len() <= 64 && alias.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            };
            (!aliases.keys().all(is_right)).then(|| reply(200, &json!({"items": []})))
        },
        ..NONE
    },
    Fault {
        name: "the format of a posted query is not looked at",
        must: &["2.7-ql", "2.7-format-unknown"],
        related: &["4-deep", "2.7-"],
        before: |request, _| {
            let body = request.body.as_deref().and_then(|body| serde_json::from_slice::<Value>(body).ok());
            if let Some(mut body) = body.filter(|body| body.get("format").is_some()) {
                body.as_object_mut().unwrap().remove("format");
                request.body = Some(body.to_string().into_bytes());
                set(request, "X-Mesh-Format", None);
            }
            None
        },
        ..NONE
    },
];
