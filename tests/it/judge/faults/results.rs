//! Faults of pages, cursors, values and caching.

use serde_json::{Value, json};

use super::{Fault, NONE, deep, edit_ok, edit_relations, edit_root, error, is_point, put, reply, set};

/// What leads to one record in the fixture.
const TO_ONE: [&str; 7] = ["author", "manager", "profile", "boss", "country", "post", "user"];

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "empty lists as null",
        must: &["5.3-many-empty"],
        related: &["5.3-", "3.10-", "10.", "2.", "1-"],
        after: |_, response, _| {
            edit_ok(response, |body| {
                deep(body, "items", &|name, value| {
                    if name != "items" && name != "details" && *value == json!([]) {
                        *value = Value::Null;
                    }
                });
            });
        },
        ..NONE
    },
    Fault {
        name: "relations to one that lead nowhere as empty objects",
        must: &["5.3-one-missing", "5.3-one-unique", "5.3-self-one"],
        related: &["5.3-", "4-relations"],
        after: |_, response, _| {
            edit_ok(response, |body| {
                deep(body, "", &|name, value| {
                    if TO_ONE.contains(&name) && value.is_null() {
                        *value = json!({});
                    }
                });
            });
        },
        ..NONE
    },
    Fault {
        name: "relations to one as lists",
        must: &["5.3-one", "5.3-self-one", "5.3-there-and-back"],
        related: &["5.3-", "4-relations", "1-core", "5.4-select-may-change"],
        after: |_, response, _| {
            edit_ok(response, |body| {
                deep(body, "", &|name, value| {
                    if TO_ONE.contains(&name) && value.is_object() {
                        *value = json!([value.take()]);
                    }
                });
            });
        },
        ..NONE
    },
    Fault {
        name: "relations without $page have one page",
        needs: "L2",
        must: &["3.10-relation-all"],
        related: &["3.11-result-", "3.2-duplicate-"],
        before: |request, _| {
            edit_relations(request, |name, node| {
                if !TO_ONE.contains(&name)
                    && !node.contains_key("$page")
                    && name != "team"
                    && name != "colour"
                {
                    let of_lists =
                        ["posts", "comments", "tags", "reports", "cities", "others", "bucketmates"];
                    if of_lists.contains(&name) {
                        node.insert("$page".to_owned(), json!({}));
                    }
                }
            });
            None
        },
        ..NONE
    },
    Fault {
        name: "booleans as numbers",
        must: &["5.5-boolean", "5.5-types-usual"],
        related: &["5.5-", "3.9-boolean", "3.12-", "3.13-"],
        after: |_, response, _| {
            edit_ok(response, |body| {
                deep(body, "", &|name, value| {
                    if let Some(flag) = value.as_bool().filter(|_| name != "hasNextPage") {
                        *value = u8::from(flag).into();
                    }
                });
            });
        },
        ..NONE
    },
    Fault {
        name: "64-bit integers as numbers",
        must: &["5.5-bigint-text", "5.5-types-usual"],
        related: &["5.5-", "3.12-bigint"],
        after: |_, response, _| {
            edit_ok(response, |body| {
                deep(body, "", &|name, value| {
                    let digits = value.as_str().and_then(|text| text.parse::<i64>().ok());
                    if let Some(number) = digits.filter(|_| ["big", "lo", "hi", "s"].contains(&name)) {
                        *value = number.into();
                    }
                });
            });
        },
        ..NONE
    },
    Fault {
        name: "decimals as numbers",
        must: &["5.5-types-usual", "5.5-types-low"],
        related: &["5.5-types-"],
        after: |_, response, _| {
            edit_ok(response, |body| {
                deep(body, "", &|name, value| {
                    let number =
                        value.as_str().filter(|_| name == "amount").and_then(|text| text.parse::<f64>().ok());
                    if let Some(number) = number {
                        *value = number.into();
                    }
                });
            });
        },
        ..NONE
    },
    Fault {
        name: "times as they are stored",
        must: &["5.5-stored-blank"],
        related: &["5.5-", "3.12-min-max-time", "6-columns"],
        after: |_, response, _| {
            edit_ok(response, |body| {
                deep(body, "", &|name, value| {
                    if let Some(time) = value.as_str().filter(|_| ["createdAt", "lo", "hi"].contains(&name)) {
                        *value = time.replace('T', " ").into();
                    }
                });
            });
        },
        ..NONE
    },
    Fault {
        name: "JSON columns as text",
        must: &["5.5-json-nested", "5.5-types-usual"],
        related: &["5.5-types-"],
        after: |_, response, _| {
            edit_ok(response, |body| {
                deep(body, "", &|name, value| {
                    if name == "details" && !value.is_null() {
                        *value = value.to_string().into();
                    }
                });
            });
        },
        ..NONE
    },
    Fault {
        name: "hidden columns can be selected",
        must: &["6-hidden-column"],
        related: &["6-injection", "12.1-hidden-name", "3.12-hidden"],
        before: |request, _| {
            let text = request.header("X-Mesh-Query").and_then(mesh_tests::kit::wire::from_base64)?;
            let text = String::from_utf8_lossy(&text).into_owned();
            text.contains("\"password_hash\":true").then(|| reply(200, &json!({"password_hash": "x"})))
        },
        ..NONE
    },
    Fault {
        name: "lists without hasNextPage",
        needs: "L2",
        must: &["5.2-envelope", "5.2-more", "5.2-exactly-full"],
        related: &["5.2-", "5.4-", "3.10-", "3.12-count", "3.14-", "6-"],
        after: |_, response, _| {
            edit_ok(response, |body| {
                if let Some(info) = body.get_mut("pageInfo").and_then(Value::as_object_mut) {
                    info.remove("hasNextPage");
                }
            });
        },
        ..NONE
    },
    Fault {
        name: "hasNextPage is never true",
        needs: "L2",
        must: &["5.2-more", "5.4-walk", "3.10-default", "3.10-joined-rows"],
        related: &["5.4-", "3.10-", "3.14-"],
        after: |_, response, _| {
            edit_ok(response, |body| {
                if let Some(info) = body.get_mut("pageInfo") {
                    info["hasNextPage"] = false.into();
                }
            });
        },
        ..NONE
    },
    Fault {
        name: "a full page promises another",
        needs: "L2",
        must: &["5.2-exactly-full"],
        related: &["5.4-walk", "3.14-walk", "3.10-", "3.12-", "5.2-"],
        after: |request, response, _| {
            let query = request.header("X-Mesh-Query").and_then(mesh_tests::kit::wire::from_base64);
            let query: Value = serde_json::from_slice(&query.unwrap_or_default()).unwrap_or_default();
            let root = query.as_object().and_then(|query| query.values().next());
            let first = root.and_then(|root| root["$page"]["first"].as_u64());
            edit_ok(response, |body| {
                if body["items"].as_array().map(|items| items.len() as u64) == first && first.is_some() {
                    body["pageInfo"]["hasNextPage"] = true.into();
                }
            });
        },
        ..NONE
    },
    Fault {
        name: "empty lists with cursors",
        needs: "L2",
        must: &["5.2-empty", "5.4-behind-the-end"],
        after: |_, response, _| {
            edit_ok(response, |body| {
                if body["items"] == json!([]) && body.get("pageInfo").is_some() {
                    body["pageInfo"]["startCursor"] = "".into();
                    body["pageInfo"]["endCursor"] = "".into();
                }
            });
        },
        ..NONE
    },
    Fault {
        name: "lists in a wrapping",
        needs: "L2",
        must: &["5.2-envelope", "5.2-ql"],
        related: &["1", "2.", "3.", "4-", "5.", "6-"],
        after: |_, response, _| {
            edit_ok(response, |body| {
                if body.get("pageInfo").is_some() {
                    *body = json!({"data": body.take()});
                }
            });
        },
        ..NONE
    },
    Fault {
        name: "another default page size",
        needs: "L2",
        must: &["3.10-default"],
        before: |request, _| {
            let is_list = !is_point(request);
            edit_root(request, |node| {
                if is_list && node.len() == 1 && node.contains_key("$select") {
                    node.insert("$page".to_owned(), json!({"first": 30}));
                }
            });
            None
        },
        ..NONE
    },
    Fault {
        name: "pages over the bound are cut in silence",
        needs: "L2",
        must: &["3.10-too-large", "3.10-relation-too-large"],
        related: &["3.10-first-huge"],
        before: |request, _| {
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
        ..NONE
    },
    Fault {
        name: "pages count joined rows",
        needs: "L2",
        must: &["3.10-joined-rows", "3.10-nested-pages"],
        related: &["3.10-", "3.11-result-", "5.4-select-may-change"],
        before: |request, _| {
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
        ..NONE
    },
    Fault {
        name: "pages of relations are not applied",
        needs: "L2",
        must: &["3.10-relation-per-parent", "3.10-relation-default", "3.10-relation-order-and-page"],
        related: &["3.10-", "3.6-to-one-page"],
        before: |request, _| {
            edit_relations(request, |_, node| {
                node.remove("$page");
            });
            None
        },
        ..NONE
    },
    Fault {
        name: "pages of relations are for all parents together",
        needs: "L2",
        must: &["3.10-relation-per-parent", "3.10-relation-through-page"],
        related: &["3.10-"],
        after: |request, response, _| {
            let query = request.header("X-Mesh-Query").and_then(mesh_tests::kit::wire::from_base64);
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
        ..NONE
    },
    Fault {
        name: "cursors that were altered are read",
        needs: "L2",
        must: &["5.4-altered", "5.4-altered-at-start", "5.4-cut", "5.4-garbage", "5.4-empty"],
        before: |request, memory| {
            edit_root(request, |node| {
                let after = node.get("$page").and_then(|page| page["after"].as_str()).map(str::to_owned);
                if after.is_some_and(|after| !memory.knows_cursor(&after)) {
                    node["$page"]["after"] = Value::Null;
                }
            });
            None
        },
        ..NONE
    },
    Fault {
        name: "cursors of other queries are read",
        needs: "L2",
        must: &[
            "5.4-other-order",
            "5.4-other-filter",
            "5.4-other-entity",
            "5.4-other-nulls",
            "5.4-other-grouping",
        ],
        related: &["5.4-"],
        after: |_, response, _| {
            if String::from_utf8_lossy(&response.body).contains("CURSOR_MISMATCH") {
                *response = reply(200, &json!({"items": []}));
            }
        },
        ..NONE
    },
    Fault {
        name: "pages begin with the row that the cursor names",
        needs: "L2",
        must: &["5.4-walk", "5.4-walk-ties", "5.4-walk-mixed", "3.14-walk-groups"],
        related: &["5.4-", "3.14-"],
        after: |request, response, _| {
            let query = request.header("X-Mesh-Query").and_then(mesh_tests::kit::wire::from_base64);
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
        ..NONE
    },
    Fault {
        name: "cursors of another alphabet",
        needs: "L2",
        must: &["5.4-form", "5.2-envelope"],
        related: &["5.4-", "3.14-"],
        after: |_, response, _| {
            edit_ok(response, |body| {
                for name in ["startCursor", "endCursor"] {
                    if let Some(cursor) = body["pageInfo"][name].as_str() {
                        body["pageInfo"][name] = format!("{cursor}==").into();
                    }
                }
            });
        },
        ..NONE
    },
    Fault {
        name: "sums of nothing as zero",
        needs: "L2",
        must: &["3.12-no-rows"],
        after: |_, response, _| {
            edit_ok(response, |body| {
                for item in body.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten() {
                    if item["s"].is_null() && item.get("s").is_some() {
                        item["s"] = 0.into();
                    }
                }
            });
        },
        ..NONE
    },
    Fault {
        name: "groups of NULL are left out",
        needs: "L2",
        must: &["3.12-group-null", "3.13-distinct-null"],
        related: &["3.12-", "3.13-", "3.14-"],
        after: |request, response, _| {
            let query = request.header("X-Mesh-Query").and_then(mesh_tests::kit::wire::from_base64);
            let query = String::from_utf8_lossy(&query.unwrap_or_default()).into_owned();
            if query.contains("$groupBy") || query.contains("$distinct") {
                edit_ok(response, |body| {
                    if let Some(items) = body.get_mut("items").and_then(Value::as_array_mut) {
                        items.retain(|item| item.get("role") != Some(&Value::Null));
                    }
                });
            }
        },
        ..NONE
    },
    Fault {
        name: "large answers are cut in silence",
        needs: "L2",
        must: &["3.11-result-too-large"],
        after: |_, response, _| {
            if String::from_utf8_lossy(&response.body).contains("RESULT_TOO_LARGE") {
                *response = reply(200, &json!({"items": []}));
            }
        },
        ..NONE
    },
    Fault {
        name: "bounds that answer 500",
        needs: "L2",
        must: &["3.5-too-deep", "3.11-filter-too-deep", "3.11-in-too-long"],
        related: &["3.5-", "3.11-", "3.10-", "4-deep"],
        after: |_, response, _| {
            if response.status == 400 && String::from_utf8_lossy(&response.body).contains("bound") {
                *response = error(500, "InternalError");
            }
        },
        ..NONE
    },
    Fault {
        name: "weak tags",
        needs: "caching",
        must: &["12.3-etag"],
        related: &["12.3-"],
        after: |_, response, _| {
            if let Some(tag) = response.header("etag").map(|tag| format!("W/{tag}")) {
                put(response, "etag", Some(&tag));
            }
        },
        ..NONE
    },
    Fault {
        name: "If-None-Match is not looked at",
        needs: "caching",
        must: &["12.3-not-modified", "12.3-list-of-tags", "12.3-star"],
        related: &["12.3-vary-not-modified", "12.4-tag"],
        before: |request, _| {
            set(request, "If-None-Match", None);
            None
        },
        ..NONE
    },
    Fault {
        name: "one tag for all shapes",
        needs: "caching",
        must: &["12.3-tag-of-shape"],
        related: &["12.3-", "12.4-"],
        after: |_, response, _| {
            if response.header("etag").is_some() {
                put(response, "etag", Some("\"same\""));
            }
        },
        ..NONE
    },
    Fault {
        name: "no Vary",
        needs: "caching",
        must: &["12.3-vary", "12.3-vary-not-modified"],
        related: &["12.5-vary"],
        after: |_, response, _| put(response, "vary", None),
        ..NONE
    },
    Fault {
        name: "errors that may be stored",
        needs: "caching",
        must: &["12.3-errors-not-stored"],
        after: |_, response, _| {
            if response.status >= 400 {
                put(response, "cache-control", None);
            }
        },
        ..NONE
    },
];
