//! Parsing of the part `policies`.

use super::Reader;
use super::json::Node;
use crate::Entries;
use crate::policy::{
    CONDITION_DEPTH, ConditionDocument, Constant, ListedDocument, OPERATORS, OperandDocument, RoleDocument,
    RuleDocument, SessionValue,
};

const LISTED: [&str; 3] = ["fields", "$where", "writable"];
const CONDITION: [&str; 6] = ["field", "op", "value", "and", "or", "not"];

impl<'t> Reader<'t> {
    /// Parses the roles. A role that cannot be parsed has no permissions.
    pub(super) fn policies(&mut self, node: Node<'t>) -> Option<Entries<RoleDocument>> {
        self.parts("policies", node, Self::role).map(|roles| roles.into_iter().collect())
    }

    fn role(&mut self, path: &str, node: Node<'t>) -> RoleDocument {
        if node.boolean() == Some(true) {
            return RoleDocument::All;
        }
        if !node.is_object() {
            self.json.wrong(path, "an object of entities, or true for a role without limits", node);
            return RoleDocument::Entities(Entries::new());
        }
        RoleDocument::Entities(self.map(path, node, Self::rule))
    }

    fn rule(&mut self, path: &str, node: Node<'t>) -> Option<RuleDocument> {
        if node.boolean() == Some(true) {
            return Some(RuleDocument::All);
        }
        let mut listed = ListedDocument::default();
        for (key, node) in self.json.object(path, node)? {
            let inner = format!("{path}.{key}");
            self.json.enter(&inner, node);
            match key.as_str() {
                "fields" => listed.fields = Some(self.json.texts(&inner, node)),
                "$where" => listed.condition = Some(self.condition(&inner, node, CONDITION_DEPTH)?),
                "writable" => listed.writable = self.writable(&inner, node),
                _ => self.json.unknown(path, &key, node, &LISTED),
            }
        }
        Some(RuleDocument::Listed(listed))
    }

    fn condition(&mut self, path: &str, node: Node<'t>, depth: usize) -> Option<ConditionDocument> {
        let Some(depth) = depth.checked_sub(1) else {
            self.json.fault(path, format!("A condition is nested at most {CONDITION_DEPTH} deep"));
            return None;
        };
        let entries = self.json.object(path, node)?;
        if let [(key, inner_node)] = entries.as_slice() {
            let inner = format!("{path}.{key}");
            match key.as_str() {
                "and" => return self.conditions(&inner, *inner_node, depth).map(ConditionDocument::And),
                "or" => return self.conditions(&inner, *inner_node, depth).map(ConditionDocument::Or),
                "not" => {
                    let part = self.condition(&inner, *inner_node, depth)?;
                    return Some(ConditionDocument::Not(Box::new(part)));
                }
                _ => {}
            }
        }
        self.comparison(path, entries)
    }

    fn conditions(&mut self, path: &str, node: Node<'t>, depth: usize) -> Option<Vec<ConditionDocument>> {
        let items = self.json.list(path, node)?;
        if items.is_empty() {
            self.json.fault(path, "Expected at least one condition");
            return None;
        }
        let read = |(index, node)| self.condition(&format!("{path}[{index}]"), node, depth);
        items.into_iter().enumerate().map(read).collect()
    }

    fn comparison(&mut self, path: &str, entries: Vec<(String, Node<'t>)>) -> Option<ConditionDocument> {
        let (mut field, mut op, mut value) = (None, None, None);
        for (key, node) in entries {
            let inner = format!("{path}.{key}");
            self.json.enter(&inner, node);
            match key.as_str() {
                "field" => field = Some(self.json.text(&inner, node)?),
                "op" => op = Some(self.json.text(&inner, node)?),
                "value" => value = Some(node),
                "and" | "or" | "not" => {
                    self.json.fault(&inner, format!("'{key}' must be the only key of its object"));
                    return None;
                }
                _ => self.json.unknown(path, &key, node, &CONDITION),
            }
        }
        self.required(path, &[(field.is_some(), "field"), (op.is_some(), "op")]);
        let (field, op) = (field?, op?);
        if !OPERATORS.contains(&op.as_str()) {
            self.json.unknown_word(&format!("{path}.op"), "operator", &op, &OPERATORS);
            return None;
        }
        let value = self.operand(&format!("{path}.value"), &op, value)?;
        Some(ConditionDocument::Compare { field, op, value })
    }

    fn operand(&mut self, path: &str, op: &str, node: Option<Node<'t>>) -> Option<OperandDocument> {
        match (op, node) {
            ("isNull" | "isNotNull", None) => Some(OperandDocument::None),
            ("isNull" | "isNotNull", Some(_)) => {
                self.json.fault(path, format!("'{op}' takes no value"));
                None
            }
            (_, None) => {
                self.json.fault(path, format!("'{op}' needs a value"));
                None
            }
            ("in" | "nin", Some(node)) => {
                let items = self.json.list(path, node)?;
                let read = |(index, node)| self.constant(&format!("{path}[{index}]"), node);
                items.into_iter().enumerate().map(read).collect::<Option<_>>().map(OperandDocument::Many)
            }
            ("like" | "ilike", Some(node)) => {
                let pattern = self.json.text(path, node)?;
                Some(OperandDocument::One(Constant::Text(pattern)))
            }
            (_, Some(node)) if node.is_object() => self.session(path, node).map(OperandDocument::Session),
            (_, Some(node)) => self.constant(path, node).map(OperandDocument::One),
        }
    }

    fn session(&mut self, path: &str, node: Node<'t>) -> Option<SessionValue> {
        let entries = self.json.object(path, node)?;
        let [(key, node)] = entries.as_slice() else {
            self.json.fault(path, "Expected {\"session\": name}");
            return None;
        };
        if key != "session" {
            self.json.unknown_word(path, "key", key, &["session"]);
            return None;
        }
        let name = self.json.text(path, *node)?;
        let value = SessionValue::parse(&name);
        if value.is_none() {
            self.json.unknown_word(path, "session value", &name, &SessionValue::ALL.map(SessionValue::name));
        }
        value
    }

    fn constant(&mut self, path: &str, node: Node<'t>) -> Option<Constant> {
        let constant = node.scalar().and_then(|value| match value {
            serde_json::Value::Bool(value) => Some(Constant::Boolean(value)),
            serde_json::Value::Number(number) => {
                number.as_i64().map(Constant::Integer).or_else(|| number.as_f64().map(Constant::Number))
            }
            serde_json::Value::String(text) => Some(Constant::Text(text)),
            _ => None,
        });
        if constant.is_none() {
            let hint = if node.is_null() { "; use 'isNull' to find NULL" } else { "" };
            self.json.enter(path, node);
            self.json.fault(path, format!("Expected text, a number, true or false{hint}"));
        }
        constant
    }
}
