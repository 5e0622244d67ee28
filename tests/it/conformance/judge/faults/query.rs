//! Faults of selections and of misplaced controls.

pub(super) mod params;

use super::{Fault, NO_FAULT, edit, edit_relations, edit_root, edit_text, is_point};
use serde_json::{Value, json};

/// The controls of a read node besides the selection.
const CONTROLS: [&str; 7] = ["$where", "$orderBy", "$page", "$distinct", "$groupBy", "$aggregate", "$having"];

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "unknown keys of a node are ignored silently",
        must_fail: &["3.2-unknown-key", "3.2-key-without-dollar", "3.2-nested-unknown-key"],
        on_request: &|request, _| {
            let keep = |name: &String| name == "$select" || CONTROLS.contains(&name.as_str());
            edit_root(request, |node| {
                if node.contains_key("$select") {
                    node.retain(|name, _| keep(name));
                }
            });
            edit_relations(request, |_, node| node.retain(|name, _| keep(name)));
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "a selection without $select is accepted",
        must_fail: &["3.2-unwrapped"],
        on_request: &|request, _| {
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
        ..NO_FAULT
    },
    Fault {
        name: "any value selects a field",
        must_fail: &["3.3-field-false", "3.3-field-number", "3.3-field-text", "3.3-field-null"],
        may_fail: &["3.3-field-", "3.3-relation-as-field"],
        on_request: &|request, _| {
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
        ..NO_FAULT
    },
    Fault {
        name: "the order of a selection is lost",
        must_fail: &["3.3-order-of-keys", "3.3-order-with-relations"],
        may_fail: &[
            "13.5-order-of-keys",
            "2.7-as-get",
            "3.12-group-order-of-keys",
            "6-",
            "9.1-",
            "9.2-",
            "9.3-",
        ],
        on_request: &|request, _| {
            edit_root(request, |node| {
                if let Some(select) = node.get_mut("$select").and_then(Value::as_object_mut) {
                    select.sort_keys();
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "QL accepts commas",
        must_fail: &["4-comma"],
        on_request: &|request, _| {
            if request.header_value("X-Mesh-Format") == Some("ql") {
                edit_text(request, |text| text.contains(',').then(|| text.replace(',', " ")));
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "text after a QL query is ignored",
        must_fail: &["4-trailing", "4-extra-brace"],
        on_request: &|request, _| {
            if request.header_value("X-Mesh-Format") == Some("ql") {
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
        ..NO_FAULT
    },
    Fault {
        name: "QL requires inner braces",
        must_fail: &["4-no-inner-braces"],
        may_fail: &["11-", "13.5-", "2.10-put-ql", "2.5-ql", "2.7-ql", "4-", "7.4-", "7.9-"],
        on_request: &|request, _| {
            let text = request.header_value("X-Mesh-Query").and_then(mesh_tests::kit::encoding::from_base64);
            let text = String::from_utf8_lossy(&text.unwrap_or_default()).into_owned();
            let words: Vec<&str> = text.split_whitespace().collect();
            let is_ql = request.header_value("X-Mesh-Format") == Some("ql");
            let bare = is_ql
                && words.first() == Some(&"{")
                && words.get(2).is_some_and(|word| *word != "{" && *word != "}");
            bare.then(|| super::error(400, "ValidationError"))
        },
        ..NO_FAULT
    },
    Fault {
        name: "controls on a record are ignored silently",
        must_fail: &["3.6-point-where", "3.6-point-page", "3.6-posted-point", "3.6-point-having"],
        may_fail: &["3.6-point-", "3.8-null-"],
        on_request: &|request, _| {
            if is_point(request) {
                edit_root(request, |node| node.retain(|name, _| !CONTROLS.contains(&name.as_str())));
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "controls on a to-one relation are ignored silently",
        must_fail: &["3.6-to-one-where", "3.6-to-one-orderby", "3.6-to-one-page"],
        on_request: &|request, _| {
            edit_relations(request, |name, node| {
                if name == "author" {
                    node.retain(|name, _| !CONTROLS.contains(&name.as_str()));
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "grouping of relations is ignored silently",
        must_fail: &[
            "3.6-relation-groupby",
            "3.6-relation-distinct",
            "3.6-relation-aggregate",
            "3.6-relation-having",
        ],
        on_request: &|request, _| {
            edit_relations(request, |_, node| {
                node.retain(|name, _| {
                    !["$groupBy", "$distinct", "$aggregate", "$having"].contains(&name.as_str())
                });
            });
            None
        },
        ..NO_FAULT
    },
];
