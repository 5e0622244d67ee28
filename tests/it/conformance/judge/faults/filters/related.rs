//! Faults of relational queries: conditions, paths and orders by related records, aliases, aggregates, totals and backward
//! pages.

use mesh_tests::kit::http::Request;
use serde_json::{Map, Value, json};

use crate::conformance::judge::faults::generated::text_of;
use crate::conformance::judge::faults::{
    Fault, NO_FAULT, deep, edit_filters, edit_ok, edit_relations, edit_root,
};

pub(in crate::conformance::judge::faults) const FAULTS: &[Fault] = &[
    Fault {
        name: "conditions on relations ignore where",
        must_fail: &["14.1-some", "14.1-none", "14.1-to-one-some", "14.1-through-some", "14.1-nested"],
        may_fail: &["14.", "19.1-condition-on-relation"],
        on_request: &|request, _| {
            edit_conditions(request, |condition| {
                if condition["op"] != "every" {
                    condition.as_object_mut()?.remove("where");
                }
                None
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "NULL satisfies every",
        must_fail: &["14.1-every-null", "14.1-every-not-null", "14.1-to-one-every-null"],
        may_fail: &["14.1-"],
        on_request: &|request, _| {
            edit_conditions(request, |condition| {
                if condition["op"] == "every" && condition.get("where").is_some() {
                    condition["op"] = "none".into();
                    condition["where"] = json!({"not": condition["where"].take()});
                }
                None
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "an empty set does not satisfy every",
        must_fail: &["14.1-every", "14.1-to-one-every", "14.1-through-every", "14.1-self-every"],
        may_fail: &["14.1-"],
        on_request: &|request, _| {
            edit_conditions(request, |condition| {
                let exists = json!({"relation": condition["relation"], "op": "some"});
                (condition["op"] == "every").then(|| json!({"and": [condition, exists]}))
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "an empty set does not satisfy none",
        must_fail: &["14.1-none", "14.1-none-null", "14.1-to-one-none-where"],
        may_fail: &["14.1-"],
        on_request: &|request, _| {
            edit_conditions(request, |condition| {
                let exists = json!({"relation": condition["relation"], "op": "some"});
                (condition["op"] == "none").then(|| json!({"and": [condition, exists]}))
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "several related records satisfy one where together",
        must_fail: &["14.1-same-record"],
        on_request: &|request, _| {
            edit_conditions(request, |condition| {
                let all = condition["where"]["and"].as_array().filter(|_| condition["op"] == "some")?;
                let one =
                    |part: &Value| json!({"relation": condition["relation"], "op": "some", "where": part});
                Some(json!({"and": all.iter().map(one).collect::<Vec<_>>()}))
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "an order by a path is of the records that have a value there",
        must_fail: &["14.2-order-desc", "14.2-order-nulls-first", "14.2-order-null-hop", "14.2-walk"],
        may_fail: &["14."],
        on_request: &|request, _| {
            edit_root(request, |root| {
                let paths = keys(root, "field").filter(|path| path.contains('.'));
                let there = paths.map(|path| json!({"field": path, "op": "isNotNull"}));
                restrict(root, there.collect());
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "an order by an aggregate is of the records that have related ones",
        must_fail: &["14.3-count", "14.3-count-asc", "14.3-max", "14.3-walk"],
        may_fail: &["14."],
        on_request: &|request, _| {
            edit_root(request, |root| {
                let there = keys(root, "relation").map(|name| json!({"relation": name, "op": "some"}));
                restrict(root, there.collect());
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "aggregates in an order ignore distinct",
        must_fail: &["14.3-count-distinct"],
        on_request: &|request, _| {
            edit_aggregates(request, |aggregate| {
                aggregate.remove("distinct");
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "aggregates in an order count NULL",
        must_fail: &["14.3-count-field"],
        may_fail: &["14.3-count-distinct"],
        on_request: &|request, _| {
            edit_aggregates(request, |aggregate| {
                if aggregate.get("fn") == Some(&json!("count")) {
                    aggregate.remove("field");
                    aggregate.remove("distinct");
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "fields keep their own names",
        must_fail: &["14.4-field", "14.4-field-beside", "14.4-computed", "14.4-list", "14.4-order-of-keys"],
        may_fail: &["14."],
        on_request: &|request, _| {
            edit_root(request, |root| {
                let select = root.get_mut("$select").and_then(Value::as_object_mut);
                if let Some(select) = select {
                    *select = std::mem::take(select)
                        .into_iter()
                        .map(|(alias, value)| match value["$field"].as_str() {
                            Some(name) => (name.to_owned(), true.into()),
                            None => (alias, value),
                        })
                        .collect();
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "a relation that is read twice has the same controls",
        must_fail: &["14.4-twice", "14.4-own-orders"],
        may_fail: &["14."],
        on_request: &|request, _| {
            edit_root(request, |root| {
                let Some(select) = root.get_mut("$select").and_then(Value::as_object_mut) else { return };
                let first = select.values().find(|node| node.get("$relation").is_some()).cloned();
                for node in select.values_mut() {
                    if let Some(first) =
                        first.as_ref().filter(|first| first["$relation"] == node["$relation"])
                    {
                        node.clone_from(first);
                    }
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "aggregates of relations are of all related records",
        must_fail: &["14.5-where", "14.5-where-none", "14.5-where-relation", "14.5-groups-where"],
        on_request: &|request, _| {
            edit_relations(request, |_, node| {
                if node.contains_key("$aggregate") {
                    node.remove("$where");
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "the aggregates of a relation are a list",
        must_fail: &["14.5-object", "14.5-list", "14.5-empty"],
        may_fail: &["14."],
        on_response: &|request, response, _| {
            if text_of(request).contains("\"$aggregate\"") {
                edit_ok(response, |body| {
                    deep(body, "", &|name, value| {
                        let is_aggregate = value.get("n").is_some() && value.get("id").is_none();
                        if ["posts", "comments", "tags", "team", "works"].contains(&name) && is_aggregate {
                            *value = json!([value.take()]);
                        }
                    })
                });
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "places are compared as text",
        must_fail: &["14.8-number", "14.8-fraction", "14.8-boolean", "14.8-boolean-not-text"],
        may_fail: &["14.8-", "19.1-json-place"],
        on_request: &|request, _| {
            edit_filters(request, |filter| {
                let is_scalar = filter["value"].is_number() || filter["value"].is_boolean();
                if filter.get("at").is_some() && is_scalar {
                    filter["value"] = filter["value"].to_string().into();
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "a place is NULL if storage has NULL",
        must_fail: &["14.8-is-null", "14.8-is-not-null", "14.8-root-null", "14.8-structure-is-there"],
        may_fail: &["14.8-"],
        on_request: &|request, _| {
            edit_filters(request, |filter| {
                if filter["op"] == "isNull" || filter["op"] == "isNotNull" {
                    let _ = filter.as_object_mut().and_then(|filter| filter.remove("at"));
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "indexes of places begin with 1",
        must_fail: &["14.8-index", "14.8-second-index", "14.8-index-of-root"],
        may_fail: &["14.8-"],
        on_request: &|request, _| {
            edit_filters(request, |filter| {
                let shifted = filter.get("at").and_then(Value::as_str).and_then(|at| {
                    let (start, index) = at.rsplit_once('/')?;
                    Some(format!("{start}/{}", index.parse::<i64>().ok()? - 1))
                });
                if let Some(shifted) = shifted {
                    filter["at"] = shifted.into();
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "the total is the size of the page",
        must_fail: &["14.6-records", "14.6-where", "14.6-groups", "14.6-distinct", "14.6-second-page"],
        may_fail: &["14."],
        on_response: &|_, response, _| {
            edit_ok(response, |body| {
                let size = body.get("items").and_then(Value::as_array).map(Vec::len);
                if let Some(total) = page_info(body, "totalCount") {
                    *total = size.into();
                }
            });
        },
        ..NO_FAULT
    },
    Fault {
        name: "every list has a total",
        must_fail: &["14.6-not-asked"],
        on_response: &|_, response, _| {
            edit_ok(response, |body| {
                if let Some(info) = body.get_mut("pageInfo").and_then(Value::as_object_mut) {
                    info.entry("totalCount").or_insert_with(|| 1.into());
                }
            });
        },
        ..NO_FAULT
    },
    Fault {
        name: "the last records are in reverse order",
        must_fail: &["14.7-last", "14.7-before", "14.7-walk", "14.7-last-order"],
        may_fail: &["14.", "19.1-last"],
        on_response: &|request, response, _| {
            if text_of(request).contains("\"last\":") {
                edit_ok(response, |body| {
                    if let Some(items) = body.get_mut("items").and_then(Value::as_array_mut) {
                        items.reverse();
                    }
                });
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "last means first",
        must_fail: &["14.7-last", "14.7-last-smallest", "14.7-before-null"],
        may_fail: &["14.", "19.1-last"],
        on_request: &|request, _| {
            edit_root(request, |root| {
                let page = root.get_mut("$page").and_then(Value::as_object_mut);
                if let Some(page) = page.filter(|page| page.len() == 1 || page.get("before").is_some())
                    && let Some(size) = page.remove("last")
                {
                    page.remove("before");
                    page.insert("first".to_owned(), size);
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "a relation has its first records in place of its last",
        must_fail: &["14.7-relation", "14.7-relation-per-parent", "14.5-groups-last"],
        may_fail: &["14.7-relation-"],
        on_request: &|request, _| {
            edit_relations(request, |_, node| {
                let page = node.get_mut("$page").and_then(Value::as_object_mut);
                if let Some(size) = page.and_then(|page| page.remove("last")) {
                    node["$page"] = json!({"first": size});
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "hasNextPage of a backward page is false",
        must_fail: &["14.7-before", "14.7-before-first"],
        on_response: &|request, response, _| {
            if text_of(request).contains("\"before\":") {
                edit_ok(response, |body| {
                    if let Some(more) = page_info(body, "hasNextPage") {
                        *more = false.into();
                    }
                });
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "there is always a previous page",
        must_fail: &["14.7-last-all", "14.7-last-exact", "14.7-before", "14.7-walk"],
        may_fail: &["14."],
        on_response: &|_, response, _| {
            edit_ok(response, |body| {
                if let Some(more) = page_info(body, "hasPreviousPage") {
                    *more = true.into();
                }
            });
        },
        ..NO_FAULT
    },
    Fault {
        name: "cursors of forward pages do not work backward",
        must_fail: &["14.7-turn", "14.7-before-first"],
        may_fail: &["14."],
        on_request: &|request, state| {
            let cursors = |name: &str| {
                let text = text_of(request);
                let (_, rest) = text.split_once(&format!("\"{name}\":\""))?;
                rest.split('"').next().map(str::to_owned)
            };
            if let Some(cursor) = cursors("before").filter(|cursor| !state.is_marked(cursor)) {
                edit_root(request, |root| {
                    if let Some(before) = root.get_mut("$page").and_then(|page| page.get_mut("before")) {
                        *before = format!("{cursor}x").into();
                    }
                });
            }
            None
        },
        on_response: &|request, response, state| {
            if text_of(request).contains("\"last\":") {
                edit_ok(response, |body| {
                    for name in ["startCursor", "endCursor"] {
                        if let Some(cursor) = body.get("pageInfo").and_then(|info| info[name].as_str()) {
                            state.mark(cursor);
                        }
                    }
                });
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "introspection lists no profiles",
        must_fail: &["14-profiles"],
        may_fail: &["19-profiles"],
        on_response: &|_, response, _| {
            edit_ok(response, |body| {
                if let Some(profiles) = body.get_mut("profiles") {
                    *profiles = json!([]);
                }
            });
        },
        ..NO_FAULT
    },
];

/// Edits or replaces all conditions on relations, the innermost first.
fn edit_conditions(request: &mut Request, edit: impl Fn(&mut Value) -> Option<Value> + Copy) {
    edit_filters(request, |filter| {
        if filter.get("relation").is_some()
            && let Some(other) = edit(filter)
        {
            *filter = other;
        }
    });
}

/// Edits the aggregates of relations in the order of the root.
fn edit_aggregates(request: &mut Request, edit: impl Fn(&mut Map<String, Value>)) {
    edit_root(request, |root| {
        let keys = root.get_mut("$orderBy").and_then(Value::as_array_mut);
        for key in keys.into_iter().flatten() {
            if let Some(aggregate) = key.get_mut("aggregate").and_then(Value::as_object_mut) {
                edit(aggregate);
            }
        }
    });
}

/// Returns a member of the page info of a response, if it has one.
fn page_info<'b>(body: &'b mut Value, name: &str) -> Option<&'b mut Value> {
    body.get_mut("pageInfo")?.get_mut(name)
}

/// Returns the values of a member of the keys of an order, such as the names of their fields.
fn keys<'r>(root: &'r Map<String, Value>, member: &'r str) -> impl Iterator<Item = &'r str> {
    let keys = root.get("$orderBy").and_then(Value::as_array);
    keys.into_iter().flatten().filter_map(move |key| key[member].as_str())
}

/// Adds conditions to the filter of a root.
fn restrict(root: &mut Map<String, Value>, mut all: Vec<Value>) {
    if !all.is_empty() && !root.contains_key("$groupBy") && !root.contains_key("$distinct") {
        all.extend(root.remove("$where"));
        root.insert("$where".to_owned(), json!({"and": all}));
    }
}
