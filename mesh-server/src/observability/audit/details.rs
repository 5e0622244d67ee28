//! What handlers add to the entry of their request.

use std::collections::HashSet;

use http::Method;
use mesh_docs::ViewAs;
use mesh_plan::{Fields, WriteTarget};
use serde_json::{Map, Value};

use super::json::{Members, REPLACEMENT, clipped, text};

/// The maximum number of field names in an entry.
const MAX_FIELDS: usize = 64;
/// The maximum number of bytes of field values in an entry. Larger values are left out.
const MAX_VALUES: usize = 16 << 10;

/// The event of a request to a write route that is a read.
pub(crate) const READ: &str = "read";

/// The details that handlers add to the entry of their request.
#[derive(Debug, Default)]
pub(crate) struct AuditDetails {
    /// Whether the values of fields are logged.
    with_values: bool,
    /// The event, if the route does not decide it.
    pub(crate) event: Option<&'static str>,
    /// The entity that is written.
    pub(crate) entity: Option<String>,
    /// The id of the record.
    pub(crate) id: Option<String>,
    /// The ids of the records that a write of several records has created.
    pub(crate) ids: Vec<String>,
    /// The number of records to create, if the request contains a list of records.
    pub(crate) count: Option<usize>,
    /// The names of the written fields, and their values if those are logged.
    pub(crate) fields: Vec<String>,
    pub(crate) values: Option<Value>,
    /// The number of bytes of these values.
    value_bytes: usize,
    /// The methods and the details of the steps of a batch.
    pub(crate) steps: Vec<(Method, Self)>,
    /// The account of a login attempt.
    pub(crate) account: Option<String>,
    /// The id of a registered query.
    pub(crate) query: Option<String>,
    /// The session that the data was viewed as.
    pub(crate) view: Option<ViewAs>,
}

impl AuditDetails {
    /// Creates empty details of a log with or without the values of fields.
    pub(crate) fn new(with_values: bool) -> Self {
        Self { with_values, ..Self::default() }
    }

    /// Sets the entity and the record of a write.
    pub(crate) fn set_target(&mut self, target: &WriteTarget<'_>) {
        let (entity, id) = match target {
            WriteTarget::Create { entity } => (entity, None),
            WriteTarget::Update { entity, id }
            | WriteTarget::Merge { entity, id }
            | WriteTarget::Delete { entity, id }
            | WriteTarget::Attach { entity, id, .. }
            | WriteTarget::Connect { entity, id, .. }
            | WriteTarget::Disconnect { entity, id, .. }
            | WriteTarget::Remove { entity, id, .. } => (entity, Some(id)),
        };
        self.entity = Some((*entity).to_owned());
        self.id = id.map(|id| id.to_text(1).into_owned());
    }

    /// Sets the fields of a write.
    pub(crate) fn set_fields(&mut self, fields: &Fields<'_>) {
        self.set_bounded(fields, MAX_FIELDS, MAX_VALUES);
    }

    /// Sets the names of the first `names_max` fields, and the values of all fields if they have at most `values_max` bytes.
    fn set_bounded(&mut self, fields: &Fields<'_>, names_max: usize, values_max: usize) {
        self.fields = fields.iter().take(names_max).map(|(name, _)| clipped(name).to_owned()).collect();
        let bytes = bytes_of(fields);
        if self.with_values && bytes <= values_max {
            self.values = Some(values_of(fields));
            self.value_bytes = bytes;
        }
    }

    /// Sets the fields of a write of several records.
    pub(crate) fn set_records(&mut self, records: &[Fields<'_>]) {
        self.count = Some(records.len());
        let mut names = HashSet::new();
        let all = records.iter().flat_map(Fields::iter).map(|(name, _)| name);
        let distinct = all.filter(|name| names.insert(*name)).take(MAX_FIELDS);
        self.fields = distinct.map(|name| clipped(name).to_owned()).collect();
        if self.with_values && records.iter().map(bytes_of).sum::<usize>() <= MAX_VALUES {
            self.values = Some(records.iter().map(values_of).collect());
        }
    }

    /// Sets the session that the data is viewed as, and the body of the request as the values.
    pub(crate) fn set_view(&mut self, view: ViewAs, body: &[u8]) {
        self.event = Some("viewAs");
        self.view = Some(view);
        let body = std::str::from_utf8(body).ok().filter(|body| !body.is_empty() && body.len() <= MAX_VALUES);
        self.values = body.filter(|_| self.with_values).map(value_of);
    }

    /// Adds a step of a batch, which is a read if it has no target.
    pub(crate) fn add_step(
        &mut self,
        method: &Method,
        entity: &str,
        target: Option<&WriteTarget<'_>>,
        fields: Option<&Fields<'_>>,
    ) {
        let mut step = Self::new(self.with_values);
        target.into_iter().for_each(|target| step.set_target(target));
        if let Some(fields) = fields {
            // The bounds apply to the whole entry.
            let names: usize = self.steps.iter().map(|(_, step)| step.fields.len()).sum();
            let bytes: usize = self.steps.iter().map(|(_, step)| step.value_bytes).sum();
            step.set_bounded(fields, MAX_FIELDS.saturating_sub(names), MAX_VALUES.saturating_sub(bytes));
        }
        step.entity.get_or_insert_with(|| entity.to_owned());
        self.steps.push((method.clone(), step));
    }

    /// Returns the details as members of a JSON object.
    pub(super) fn members(&self) -> Map<String, Value> {
        let mut members = Members::default();
        members.add("entity", self.entity.as_deref().map(text));
        members.add("id", self.id.as_deref().map(text));
        members.add("count", self.count);
        members.add("ids", list(&self.ids));
        members.add("fields", list(&self.fields));
        members.add("values", self.values.clone());
        members.add("account", self.account.as_deref().map(text));
        members.add("query", self.query.as_deref().map(text));
        members.add("as", self.view.as_ref().map(members_of));
        let steps = self.steps.iter().map(|(method, step)| {
            let mut members = Members::default();
            members.add("method", method.as_str());
            members.0.extend(step.members());
            members.0
        });
        if !self.steps.is_empty() {
            members.add("steps", steps.collect::<Value>());
        }
        members.0
    }
}

/// Returns the length of the names and values of a write.
fn bytes_of(fields: &Fields<'_>) -> usize {
    fields.iter().map(|(name, value)| name.len() + value.len()).sum()
}

/// Returns the values of a write as a JSON object.
fn values_of(fields: &Fields<'_>) -> Value {
    fields.iter().map(|(name, value)| (name.replace('\0', REPLACEMENT), value_of(value))).collect()
}

/// Returns a session as a JSON object, with the names of its claims.
fn members_of(view: &ViewAs) -> Value {
    let principal = view.principal();
    let mut members = Members::default();
    members.add("role", text(view.role()));
    members.add("user", Some(principal.user.as_str()).filter(|user| !user.is_empty()).map(text));
    members.add("tenant", principal.tenant.as_deref().map(text));
    let claims = principal.claims.iter().take(MAX_FIELDS).map(|(name, _)| clipped(name).to_owned());
    members.add("claims", list(&claims.collect::<Vec<_>>()));
    members.0.into()
}

/// Returns a JSON array of texts, unless it is empty.
fn list(texts: &[String]) -> Option<Value> {
    (!texts.is_empty()).then(|| texts.iter().map(|text| text.replace('\0', REPLACEMENT)).collect())
}

/// Returns a value in a form that databases accept as JSON, on one line. A value that they do not accept becomes a string.
fn value_of(json: &str) -> Value {
    let mut value = serde_json::from_str(json).unwrap_or_else(|_| Value::from(json));
    remove_null_characters(&mut value);
    value
}

/// Replaces null characters.
fn remove_null_characters(value: &mut Value) {
    match value {
        Value::String(text) if text.contains('\0') => *text = text.replace('\0', REPLACEMENT),
        Value::Array(values) => values.iter_mut().for_each(remove_null_characters),
        Value::Object(members) => {
            let cleaned = std::mem::take(members).into_iter().map(|(name, mut value)| {
                remove_null_characters(&mut value);
                (name.replace('\0', REPLACEMENT), value)
            });
            *members = cleaned.collect();
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::json::MAX_TEXT;
    use super::*;

    #[test]
    fn fields_are_logged_by_name_and_on_demand_by_value() {
        let fields = Fields::parse(
            br#"{"title": "a\nb", "tags": [1,
            2]}"#,
        );
        let fields = fields.unwrap();
        let mut details = AuditDetails::new(false);
        details.set_fields(&fields);
        assert_eq!(
            (details.fields.as_slice(), &details.values),
            (&["title", "tags"].map(str::to_owned)[..], &None)
        );
        let mut details = AuditDetails::new(true);
        details.set_fields(&fields);
        assert_eq!(details.values.as_ref().unwrap().to_string(), r#"{"title":"a\nb","tags":[1,2]}"#);
        let odd = br#"{"a": "\u0000", "b": {"\u0000": ["\u0000"]}, "c": "\ud800", "d": 1e999}"#;
        details.set_fields(&Fields::parse(odd).unwrap());
        let expected = serde_json::json!({
            "a": REPLACEMENT, "b": {REPLACEMENT: [REPLACEMENT]}, "c": "\"\\ud800\"", "d": "1e999"
        });
        assert_eq!(details.values, Some(expected), "databases accept what clients send");
    }

    #[test]
    fn what_clients_send_is_bounded() {
        let body = serde_json::json!({"title": "x".repeat(MAX_VALUES), "y".repeat(2_000): 1}).to_string();
        let mut details = AuditDetails::new(true);
        details.set_fields(&Fields::parse(body.as_bytes()).unwrap());
        assert_eq!(details.values, None);
        assert!(details.fields.iter().all(|name| name.len() <= MAX_TEXT));
        assert_eq!(clipped(&"é".repeat(300)).len(), MAX_TEXT);
    }

    #[test]
    fn the_steps_of_a_batch_are_bounded_together() {
        let members = |count: usize| (0..count).map(|n| (format!("f{n}"), Value::from("x".repeat(300))));
        let body = Value::Object(members(40).collect()).to_string();
        let fields = Fields::parse(body.as_bytes()).unwrap();
        let mut details = AuditDetails::new(true);
        for _ in 0..3 {
            details.add_step(&Method::PUT, "post", None, Some(&fields));
        }
        let counts: Vec<_> = details.steps.iter().map(|(_, step)| step.fields.len()).collect();
        assert_eq!(counts, [40, 24, 0]);
        assert_eq!(details.steps.iter().filter(|(_, step)| step.values.is_some()).count(), 1);
    }
}
