//! Queries with parameters in place of their literals.

use mesh_ql::ParamValues;
use serde_json::{Map, Value as Json, json};

/// A query with parameters.
pub(crate) struct Parameterized {
    pub(crate) node: Json,
    /// The values of the literals.
    pub(crate) values: ParamValues,
    /// Other values of the same kinds.
    pub(crate) decoys: ParamValues,
}

/// Replaces all literals with parameters. `cursor` is the value of the cursor, if the root has one.
pub(crate) fn parameterized(node: &Json, cursor: &Json) -> Parameterized {
    let mut found = Found::default();
    let mut node = node.clone();
    // The page and its cursor have separate names, so that the other names are the same on all pages.
    if let Some(place) = node.get_mut("$page").and_then(|page| page.get_mut("skip")) {
        found.values.insert("skip".to_owned(), place.clone());
        found.decoys.insert("skip".to_owned(), json!(2));
        *place = json!({"$param": "skip"});
    }
    for key in ["after", "before"] {
        if let Some(place) = node.get_mut("$page").and_then(|page| page.get_mut(key)) {
            found.values.insert("cursor".to_owned(), cursor.clone());
            found.decoys.insert("cursor".to_owned(), Json::Null);
            *place = json!({"$param": "cursor"});
        }
    }
    found.replace(&mut node);
    let parse = |values: Map<String, Json>| ParamValues::parse(&Json::Object(values).to_string()).unwrap();
    Parameterized { node, values: parse(found.values), decoys: parse(found.decoys) }
}

#[derive(Default)]
struct Found {
    count: usize,
    values: Map<String, Json>,
    decoys: Map<String, Json>,
}

impl Found {
    fn add(&mut self, value: Json, decoy: Json) -> Json {
        let name = format!("p{}", self.count);
        self.count += 1;
        self.values.insert(name.clone(), value);
        self.decoys.insert(name.clone(), decoy);
        json!({"$param": name})
    }

    fn replace(&mut self, json: &mut Json) {
        let Json::Object(members) = json else {
            if let Json::Array(list) = json {
                list.iter_mut().for_each(|item| self.replace(item));
            }
            return;
        };
        for (key, value) in members {
            match (key.as_str(), &*value) {
                // Every second list is one parameter.
                ("value", Json::Array(list)) if self.count.is_multiple_of(2) => {
                    let decoys = list.iter().skip(usize::from(list.len() > 1)).map(decoy).collect();
                    *value = self.add(value.clone(), decoys);
                }
                ("value", Json::Array(list)) => {
                    *value = list.iter().map(|item| self.add(item.clone(), decoy(item))).collect();
                }
                ("value", _) | ("first" | "last" | "skip", Json::Number(_)) => {
                    *value = self.add(value.clone(), decoy(value));
                }
                _ => self.replace(value),
            }
        }
    }
}

/// Returns another value of the same kind.
fn decoy(value: &Json) -> Json {
    match value {
        Json::Bool(value) => json!(!value),
        Json::String(text) if text.starts_with("20") => json!("2024-02-29"),
        Json::String(text) if text.parse::<f64>().is_ok() => json!("7"),
        Json::String(text) => json!(format!("{text}a")),
        Json::Number(number) if number.is_i64() => json!(2),
        Json::Number(_) => json!(0.5),
        other => other.clone(),
    }
}
