//! How is the part `policies` read?

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
    /// The roles; one that cannot be read is there all the same, and may do nothing.
    pub(super) fn policies(&mut self, node: Node<'t>) -> Option<Entries<RoleDocument>> {
        self.parts("policies", node, Self::role).map(|roles| roles.into_iter().collect())
    }

    fn role(&mut self, place: &str, node: Node<'t>) -> RoleDocument {
        if node.boolean() == Some(true) {
            return RoleDocument::All;
        }
        if !node.is_object() {
            self.json.wrong(place, "an object of entities, or true for a role without limits", node);
            return RoleDocument::Entities(Entries::new());
        }
        RoleDocument::Entities(self.map(place, node, Self::rule))
    }

    fn rule(&mut self, place: &str, node: Node<'t>) -> Option<RuleDocument> {
        if node.boolean() == Some(true) {
            return Some(RuleDocument::All);
        }
        let mut listed = ListedDocument::default();
        for (key, node) in self.json.object(place, node)? {
            let inner = format!("{place}.{key}");
            self.json.enter(&inner, node);
            match key.as_str() {
                "fields" => listed.fields = Some(self.json.texts(&inner, node)),
                "$where" => listed.condition = Some(self.condition(&inner, node, CONDITION_DEPTH)?),
                "writable" => listed.writable = self.writable(&inner, node),
                _ => self.json.unknown(place, &key, node, &LISTED),
            }
        }
        Some(RuleDocument::Listed(listed))
    }

    fn condition(&mut self, place: &str, node: Node<'t>, depth: usize) -> Option<ConditionDocument> {
        let Some(depth) = depth.checked_sub(1) else {
            self.json.fault(place, format!("A condition is nested at most {CONDITION_DEPTH} deep"));
            return None;
        };
        let entries = self.json.object(place, node)?;
        if let [(key, inner_node)] = entries.as_slice() {
            let inner = format!("{place}.{key}");
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
        self.comparison(place, entries)
    }

    fn conditions(&mut self, place: &str, node: Node<'t>, depth: usize) -> Option<Vec<ConditionDocument>> {
        let items = self.json.list(place, node)?;
        if items.is_empty() {
            self.json.fault(place, "Expected at least one condition");
            return None;
        }
        let read = |(index, node)| self.condition(&format!("{place}[{index}]"), node, depth);
        items.into_iter().enumerate().map(read).collect()
    }

    fn comparison(&mut self, place: &str, entries: Vec<(String, Node<'t>)>) -> Option<ConditionDocument> {
        let (mut field, mut op, mut value) = (None, None, None);
        for (key, node) in entries {
            let inner = format!("{place}.{key}");
            self.json.enter(&inner, node);
            match key.as_str() {
                "field" => field = Some(self.json.text(&inner, node)?),
                "op" => op = Some(self.json.text(&inner, node)?),
                "value" => value = Some(node),
                "and" | "or" | "not" => {
                    self.json.fault(&inner, format!("'{key}' stands alone in its object"));
                    return None;
                }
                _ => self.json.unknown(place, &key, node, &CONDITION),
            }
        }
        self.required(place, &[(field.is_some(), "field"), (op.is_some(), "op")]);
        let (field, op) = (field?, op?);
        if !OPERATORS.contains(&op.as_str()) {
            self.json.unknown_word(&format!("{place}.op"), "operator", &op, &OPERATORS);
            return None;
        }
        let value = self.operand(&format!("{place}.value"), &op, value)?;
        Some(ConditionDocument::Compare { field, op, value })
    }

    fn operand(&mut self, place: &str, op: &str, node: Option<Node<'t>>) -> Option<OperandDocument> {
        match (op, node) {
            ("isNull" | "isNotNull", None) => Some(OperandDocument::None),
            ("isNull" | "isNotNull", Some(_)) => {
                self.json.fault(place, format!("'{op}' takes no value"));
                None
            }
            (_, None) => {
                self.json.fault(place, format!("'{op}' needs a value"));
                None
            }
            ("in" | "nin", Some(node)) => {
                let items = self.json.list(place, node)?;
                let read = |(index, node)| self.constant(&format!("{place}[{index}]"), node);
                items.into_iter().enumerate().map(read).collect::<Option<_>>().map(OperandDocument::Many)
            }
            ("like" | "ilike", Some(node)) => {
                let pattern = self.json.text(place, node)?;
                Some(OperandDocument::One(Constant::Text(pattern)))
            }
            (_, Some(node)) if node.is_object() => self.session(place, node).map(OperandDocument::Session),
            (_, Some(node)) => self.constant(place, node).map(OperandDocument::One),
        }
    }

    fn session(&mut self, place: &str, node: Node<'t>) -> Option<SessionValue> {
        let entries = self.json.object(place, node)?;
        let [(key, node)] = entries.as_slice() else {
            self.json.fault(place, "Expected {\"session\": name}");
            return None;
        };
        if key != "session" {
            self.json.unknown_word(place, "key", key, &["session"]);
            return None;
        }
        let name = self.json.text(place, *node)?;
        let value = SessionValue::parse(&name);
        if value.is_none() {
            self.json.unknown_word(place, "session value", &name, &SessionValue::ALL.map(SessionValue::name));
        }
        value
    }

    fn constant(&mut self, place: &str, node: Node<'t>) -> Option<Constant> {
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
            self.json.enter(place, node);
            self.json.fault(place, format!("Expected text, a number, true or false{hint}"));
        }
        constant
    }
}
