//! Faults of values and relations.

use super::{Fault, NO_FAULT, deep, edit_ok, edit_relations, reply};
use serde_json::{Value, json};

/// The to-one relations of the fixture.
const TO_ONE: [&str; 7] = ["author", "manager", "profile", "boss", "country", "post", "user"];

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "empty lists are null",
        must_fail: &["5.3-many-empty"],
        may_fail: &["1-", "10.", "11-", "13.1-", "2.", "3.10-", "3.7-", "5.3-", "6-", "8.5-"],
        on_response: &|_, response, _| {
            edit_ok(response, |body| {
                deep(body, "items", &|name, value| {
                    if name != "items" && name != "details" && *value == json!([]) {
                        *value = Value::Null;
                    }
                });
            });
        },
        ..NO_FAULT
    },
    Fault {
        name: "missing to-one relations are empty objects",
        must_fail: &["5.3-one-missing", "5.3-one-unique", "5.3-self-one"],
        may_fail: &["5.3-", "4-relations"],
        on_response: &|_, response, _| {
            edit_ok(response, |body| {
                deep(body, "", &|name, value| {
                    if TO_ONE.contains(&name) && value.is_null() {
                        *value = json!({});
                    }
                });
            });
        },
        ..NO_FAULT
    },
    Fault {
        name: "to-one relations are lists",
        must_fail: &["5.3-one", "5.3-self-one", "5.3-there-and-back"],
        may_fail: &["1-core", "13.2-", "13.5-", "4-relations", "5.3-", "5.4-select-may-change"],
        on_response: &|_, response, _| {
            edit_ok(response, |body| {
                deep(body, "", &|name, value| {
                    if TO_ONE.contains(&name) && value.is_object() {
                        *value = json!([value.take()]);
                    }
                });
            });
        },
        ..NO_FAULT
    },
    Fault {
        name: "relations without $page are paged",
        must_fail: &["3.10-relation-all"],
        may_fail: &["3.11-result-", "3.2-duplicate-", "3.6-relation-", "6-"],
        on_request: &|request, _| {
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
        ..NO_FAULT
    },
    Fault {
        name: "booleans are numbers",
        must_fail: &["5.5-boolean", "5.5-types-usual"],
        may_fail: &["13.1-", "3.12-", "3.13-", "3.9-boolean", "5.5-", "6-", "7.5-"],
        on_response: &|_, response, _| {
            edit_ok(response, |body| {
                deep(body, "", &|name, value| {
                    if let Some(flag) = value.as_bool().filter(|_| name != "hasNextPage") {
                        *value = u8::from(flag).into();
                    }
                });
            });
        },
        ..NO_FAULT
    },
    Fault {
        name: "64-bit integers are numbers",
        must_fail: &["5.5-bigint-text", "5.5-types-usual"],
        may_fail: &["5.5-", "3.12-bigint"],
        on_response: &|_, response, _| {
            edit_ok(response, |body| {
                deep(body, "", &|name, value| {
                    let digits = value.as_str().and_then(|text| text.parse::<i64>().ok());
                    if let Some(number) = digits.filter(|_| ["big", "lo", "hi", "s"].contains(&name)) {
                        *value = number.into();
                    }
                });
            });
        },
        ..NO_FAULT
    },
    Fault {
        name: "decimals are numbers",
        must_fail: &["5.5-types-usual", "5.5-types-low"],
        may_fail: &["5.5-types-"],
        on_response: &|_, response, _| {
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
        ..NO_FAULT
    },
    Fault {
        name: "times are not normalized",
        must_fail: &["5.5-stored-blank"],
        may_fail: &["5.5-", "3.12-min-max-time", "6-columns"],
        on_response: &|_, response, _| {
            edit_ok(response, |body| {
                deep(body, "", &|name, value| {
                    if let Some(time) = value.as_str().filter(|_| ["createdAt", "lo", "hi"].contains(&name)) {
                        *value = time.replace('T', " ").into();
                    }
                });
            });
        },
        ..NO_FAULT
    },
    Fault {
        name: "JSON columns are text",
        must_fail: &["5.5-json-nested", "5.5-types-usual"],
        may_fail: &["5.5-types-"],
        on_response: &|_, response, _| {
            edit_ok(response, |body| {
                deep(body, "", &|name, value| {
                    if name == "details" && !value.is_null() {
                        *value = value.to_string().into();
                    }
                });
            });
        },
        ..NO_FAULT
    },
    Fault {
        name: "hidden columns can be selected",
        must_fail: &["6-hidden-column"],
        may_fail: &["6-injection", "12.1-hidden-name", "3.12-hidden"],
        on_request: &|request, _| {
            let text =
                request.header_value("X-Mesh-Query").and_then(mesh_tests::kit::encoding::from_base64)?;
            let text = String::from_utf8_lossy(&text).into_owned();
            text.contains("\"password_hash\":true").then(|| reply(200, &json!({"password_hash": "x"})))
        },
        ..NO_FAULT
    },
];
