//! Parsing of the `policies` part of a document.

use super::Reader;
use super::json::Node;
use crate::Entries;
use crate::policy::{
    CONDITION_DEPTH, ConditionDocument, Constant, InheritingDocument, ListedDocument, OPERATORS,
    OperandDocument, QUANTIFIERS, RoleDocument, RuleDocument, SessionValue,
};

impl<'t> Reader<'t> {
    /// Parses a role. A role that cannot be parsed has no permissions.
    pub(super) fn role(&mut self, node: &Node<'t>) -> RoleDocument {
        if node.boolean() == Some(true) {
            return RoleDocument::All;
        }
        if !node.is_object() {
            self.json.wrong_kind(node, "an object of entities, or true for a role without limits");
            return RoleDocument::Entities(Entries::new());
        }
        let mut inherits = None;
        let mut rules = Entries::new();
        for (key, node) in self.json.object(node).unwrap_or_default() {
            if key == "$inherits" {
                inherits = Some(self.json.texts(&node));
            } else if let Some(rule) = self.rule(&node) {
                rules.push(key, rule);
            }
        }
        match inherits {
            Some(inherits) => RoleDocument::Inheriting(InheritingDocument { inherits, rules }),
            None => RoleDocument::Entities(rules),
        }
    }

    fn rule(&mut self, node: &Node<'t>) -> Option<RuleDocument> {
        if node.boolean() == Some(true) {
            return Some(RuleDocument::All);
        }
        let keys = ["fields", "except", "$where", "$check", "$set", "$setOnCreate", "writable"];
        let [fields, except, visible, check, set, set_on_create, writable] =
            self.json.members(node, keys, 0)?;
        if let (Some(_), Some(except)) = (&fields, &except) {
            self.json.fault(&except.path, "'except' cannot be combined with 'fields'");
        }
        let mut condition = |node: Option<Node<'t>>| match node {
            Some(node) => self.condition(&node, CONDITION_DEPTH).map(Some),
            None => Some(None),
        };
        let (condition, check) = (condition(visible)?, condition(check)?);
        Some(RuleDocument::Listed(Box::new(ListedDocument {
            fields: fields.map(|node| self.json.texts(&node)),
            except: except.map(|node| self.json.texts(&node)).unwrap_or_default(),
            condition,
            check,
            set: self.presets(set),
            set_on_create: self.presets(set_on_create),
            writable: self.writable(writable),
        })))
    }

    /// Parses the values of fields that a role cannot choose.
    fn presets(&mut self, node: Option<Node<'t>>) -> Entries<OperandDocument> {
        let Some(fields) = node.and_then(|node| self.json.object(&node)) else { return Entries::new() };
        let mut value = |node: &Node<'t>| match node.is_object() {
            true => self.session_value(node).map(OperandDocument::Session),
            false => self.constant(node).map(OperandDocument::One),
        };
        fields.into_iter().filter_map(|(field, node)| Some((field, value(&node)?))).collect()
    }

    fn condition(&mut self, node: &Node<'t>, depth: usize) -> Option<ConditionDocument> {
        let Some(depth) = depth.checked_sub(1) else {
            self.json.fault(&node.path, format!("A condition is nested at most {CONDITION_DEPTH} deep"));
            return None;
        };
        let keys = ["field", "op", "value", "relation", "where", "and", "or", "not"];
        let [field, op, value, relation, related, and, or, not] = self.json.members(node, keys, 0)?;
        let compares = [&field, &op, &value, &relation, &related].iter().any(|member| member.is_some());
        match (and, or, not) {
            (None, None, None) if relation.is_some() || related.is_some() => {
                if let Some(member) = field.or(value) {
                    let key = member.path.rsplit('.').next().unwrap_or_default();
                    self.json.fault(&member.path, format!("'{key}' cannot be combined with 'relation'"));
                    return None;
                }
                self.relation(node, [relation, op, related], depth)
            }
            (None, None, None) => self.comparison(node, [field, op, value]),
            (Some(and), None, None) if !compares => self.conditions(&and, depth).map(ConditionDocument::And),
            (None, Some(or), None) if !compares => self.conditions(&or, depth).map(ConditionDocument::Or),
            (None, None, Some(not)) if !compares => {
                self.condition(&not, depth).map(|part| ConditionDocument::Not(Box::new(part)))
            }
            (and, or, not) => {
                let path = and.or(or).or(not)?.path;
                let key = path.rsplit('.').next().unwrap_or_default();
                let message = format!("'{key}' must be the only key of its object");
                self.json.fault(path, message);
                None
            }
        }
    }

    fn conditions(&mut self, node: &Node<'t>, depth: usize) -> Option<Vec<ConditionDocument>> {
        let items = self.json.list(node)?;
        if items.is_empty() {
            self.json.fault(&node.path, "Expected at least one condition");
            return None;
        }
        items.iter().map(|item| self.condition(item, depth)).collect()
    }

    /// Parses a condition on related records.
    fn relation(
        &mut self,
        node: &Node<'t>,
        [relation, op, related]: [Option<Node<'t>>; 3],
        depth: usize,
    ) -> Option<ConditionDocument> {
        for (key, _) in [("relation", &relation), ("op", &op)].iter().filter(|(_, it)| it.is_none()) {
            self.json.fault(&node.path, format!("'{key}' is missing"));
        }
        let relation = self.json.text(&relation?)?;
        let parse = |name: &str| QUANTIFIERS.into_iter().find(|op| *op == name);
        let op = self.json.name(&op?, "operator of relations", parse, &QUANTIFIERS)?;
        if op == "every" && related.is_none() {
            self.json.fault(format!("{}.where", node.path), "'every' needs a condition");
            return None;
        }
        let condition = match related {
            Some(node) => Some(Box::new(self.condition(&node, depth)?)),
            None => None,
        };
        Some(ConditionDocument::Related { relation, op: op.to_owned(), condition })
    }

    fn comparison(
        &mut self,
        node: &Node<'t>,
        [field, op, value]: [Option<Node<'t>>; 3],
    ) -> Option<ConditionDocument> {
        for (key, _) in [("field", &field), ("op", &op)].iter().filter(|(_, member)| member.is_none()) {
            self.json.fault(&node.path, format!("'{key}' is missing"));
        }
        let field = self.json.text(&field?)?;
        let op = self.json.name(
            &op?,
            "operator",
            |name| OPERATORS.into_iter().find(|op| *op == name),
            &OPERATORS,
        )?;
        let value = self.operand(&node.path, op, value)?;
        Some(ConditionDocument::Compare { field, op: op.to_owned(), value })
    }

    /// Parses the value of a comparison, whose object is at `path`.
    fn operand(&mut self, path: &str, op: &str, node: Option<Node<'t>>) -> Option<OperandDocument> {
        match (op, node) {
            ("isNull" | "isNotNull", None) => Some(OperandDocument::None),
            ("isNull" | "isNotNull", Some(node)) if node.is_null() => Some(OperandDocument::None),
            ("isNull" | "isNotNull", Some(node)) => {
                self.json.fault(node.path, format!("'{op}' takes no value"));
                None
            }
            (_, None) => {
                self.json.fault(format!("{path}.value"), format!("'{op}' needs a value"));
                None
            }
            ("in" | "nin", Some(node)) if node.is_object() => match self.session_value(&node)? {
                claim @ SessionValue::Claim(_) => Some(OperandDocument::Session(claim)),
                value => {
                    let message = format!("'{op}' takes a list or a claim, and '{value}' is neither");
                    self.json.fault(node.path, message);
                    None
                }
            },
            ("in" | "nin" | "hasAny" | "hasAll", Some(node)) => {
                let items = self.json.list(&node)?;
                let constants = items.iter().map(|item| self.constant(item)).collect::<Option<_>>();
                constants.map(OperandDocument::Many)
            }
            ("like" | "ilike", Some(node)) => {
                self.json.text(&node).map(|pattern| OperandDocument::One(Constant::Text(pattern)))
            }
            (_, Some(node)) if node.is_object() => self.session_value(&node).map(OperandDocument::Session),
            (_, Some(node)) => self.constant(&node).map(OperandDocument::One),
        }
    }

    /// Parses `{"session": name}`.
    fn session_value(&mut self, node: &Node<'t>) -> Option<SessionValue> {
        let [session] = self.json.members(node, ["session"], 1)?;
        self.json.name(&session?, "session value", |name| name.parse().ok(), &SessionValue::NAMES)
    }

    fn constant(&mut self, node: &Node<'t>) -> Option<Constant> {
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
            self.json.fault(&node.path, format!("Expected text, a number, true or false{hint}"));
        }
        constant
    }
}
