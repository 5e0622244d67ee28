//! What handlers add to the entry of their request.

use std::collections::HashSet;

use http::Method;
use mesh_docs::ViewAs;
use mesh_plan::{Fields, WriteTarget};
use serde_json::Value;

use super::json::{Json, Members, REPLACEMENT, clipped};

/// The maximum number of field names in an entry.
const MAX_FIELDS: usize = 64;
/// The maximum number of bytes of field values in an entry. Larger values are left out.
const MAX_VALUES: usize = 16 << 10;

/// The event of a request to a write route that is a read.
pub(crate) const READ: &str = "read";

/// The details that handlers add to the entry of their request.
#[derive(Debug, Default)]
pub(crate) struct AuditDetails {
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
    pub(crate) values: Option<String>,
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
    pub(crate) fn set_fields(&mut self, fields: &Fields<'_>, with_values: bool) {
        self.set_bounded(fields, MAX_FIELDS, with_values.then_some(MAX_VALUES));
    }

    /// Sets the names of the first `names_max` fields, and the values of all fields if they have at most `values_max` bytes.
    fn set_bounded(&mut self, fields: &Fields<'_>, names_max: usize, values_max: Option<usize>) {
        self.fields = fields.iter().take(names_max).map(|(name, _)| clipped(name).to_owned()).collect();
        let is_short = values_max.is_some_and(|most| bytes_of(fields) <= most);
        self.values = is_short.then(|| values_of(fields));
    }

    /// Sets the session that the data is viewed as, and the body of the request as the values.
    pub(crate) fn set_view(&mut self, view: ViewAs, body: &[u8], with_values: bool) {
        self.event = Some("viewAs");
        self.view = Some(view);
        let body = std::str::from_utf8(body).ok().filter(|body| !body.is_empty() && body.len() <= MAX_VALUES);
        self.values = body.filter(|_| with_values).map(|body| value_of(body).to_string());
    }

    /// Adds a step of a batch, which is a read if it has no target.
    pub(crate) fn add_step(
        &mut self,
        method: &Method,
        entity: &str,
        target: Option<&WriteTarget<'_>>,
        fields: Option<&Fields<'_>>,
        with_values: bool,
    ) {
        let mut step = Self::default();
        target.into_iter().for_each(|target| step.set_target(target));
        if let Some(fields) = fields {
            // The bounds apply to the whole entry.
            let names = self.steps.iter().map(|(_, step)| step.fields.len()).sum();
            let values =
                self.steps.iter().filter_map(|(_, step)| step.values.as_ref()).map(String::len).sum();
            let values_max = with_values.then(|| MAX_VALUES.saturating_sub(values));
            step.set_bounded(fields, MAX_FIELDS.saturating_sub(names), values_max);
        }
        step.entity.get_or_insert_with(|| entity.to_owned());
        self.steps.push((method.clone(), step));
    }

    /// Writes the details as members of a JSON object.
    pub(super) fn write(&self, members: &mut Members) {
        members.optional("entity", self.entity.as_deref());
        members.optional("id", self.id.as_deref());
        if let Some(count) = self.count {
            members.raw("count", count);
        }
        if !self.ids.is_empty() {
            members.raw("ids", list_of(&self.ids));
        }
        if !self.fields.is_empty() {
            members.raw("fields", list_of(&self.fields));
        }
        if let Some(values) = &self.values {
            members.raw("values", values);
        }
        members.optional("account", self.account.as_deref());
        members.optional("query", self.query.as_deref());
        if let Some(view) = &self.view {
            members.raw("as", members_of(view));
        }
        if !self.steps.is_empty() {
            let step = |(method, details): &(Method, Self)| {
                let mut members = Members::default();
                members.text("method", method.as_str());
                details.write(&mut members);
                members.into_object()
            };
            let steps = self.steps.iter().map(step).collect::<Vec<_>>();
            members.raw("steps", format_args!("[{}]", steps.join(",")));
        }
    }

    /// Sets the fields of a write of several records.
    pub(crate) fn set_records(&mut self, records: &[Fields<'_>], with_values: bool) {
        self.count = Some(records.len());
        let mut names = HashSet::new();
        let all = records.iter().flat_map(Fields::iter).map(|(name, _)| name);
        self.fields = all
            .filter(|name| names.insert(*name))
            .take(MAX_FIELDS)
            .map(|name| clipped(name).to_owned())
            .collect();
        let is_short = with_values && records.iter().map(bytes_of).sum::<usize>() <= MAX_VALUES;
        self.values =
            is_short.then(|| format!("[{}]", records.iter().map(values_of).collect::<Vec<_>>().join(",")));
    }
}

/// Returns the length of the names and values of a write.
fn bytes_of(fields: &Fields<'_>) -> usize {
    fields.iter().map(|(name, value)| name.len() + value.len()).sum()
}

/// Returns the values of a write as a JSON object.
fn values_of(fields: &Fields<'_>) -> String {
    let member = |(name, value): (&str, &str)| format!("{}:{}", Json(name), value_of(value));
    format!("{{{}}}", fields.iter().map(member).collect::<Vec<_>>().join(","))
}

/// Returns a session as a JSON object, with the names of its claims.
fn members_of(view: &ViewAs) -> String {
    let principal = view.principal();
    let mut members = Members::default();
    members.text("role", view.role());
    members.optional("user", Some(principal.user.as_str()).filter(|user| !user.is_empty()));
    members.optional("tenant", principal.tenant.as_deref());
    let claims: Vec<_> =
        principal.claims.iter().take(MAX_FIELDS).map(|(name, _)| clipped(name).to_owned()).collect();
    if !claims.is_empty() {
        members.raw("claims", list_of(&claims));
    }
    members.into_object()
}

/// Returns the text of a JSON array of strings.
fn list_of(texts: &[String]) -> String {
    format!("[{}]", texts.iter().map(|text| Json(text).to_string()).collect::<Vec<_>>().join(","))
}

/// Returns a value in a form that databases accept as JSON, on one line. A value that they do not accept becomes a string.
fn value_of(json: &str) -> Value {
    let mut value = serde_json::from_str(json).unwrap_or_else(|_| Value::from(json));
    remove_null_characters(&mut value);
    value
}

/// Replaces null characters, which texts in PostgreSQL cannot contain.
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
        let mut details = AuditDetails::default();
        details.set_fields(&fields, false);
        assert_eq!(
            (details.fields.as_slice(), details.values.as_deref()),
            (&["title", "tags"].map(str::to_owned)[..], None)
        );
        details.set_fields(&fields, true);
        assert_eq!(details.values.as_deref(), Some(r#"{"title":"a\nb","tags":[1,2]}"#));
        let odd = br#"{"a": "\u0000", "b": {"\u0000": ["\u0000"]}, "c": "\ud800", "d": 1e999}"#;
        details.set_fields(&Fields::parse(odd).unwrap(), true);
        let values: Value = serde_json::from_str(details.values.as_deref().unwrap()).unwrap();
        let expected = serde_json::json!({
            "a": REPLACEMENT, "b": {REPLACEMENT: [REPLACEMENT]}, "c": "\"\\ud800\"", "d": "1e999"
        });
        assert_eq!(values, expected, "databases accept what clients send");
    }

    #[test]
    fn what_clients_send_is_bounded() {
        let body = serde_json::json!({"title": "x".repeat(MAX_VALUES), "y".repeat(2_000): 1}).to_string();
        let mut details = AuditDetails::default();
        details.set_fields(&Fields::parse(body.as_bytes()).unwrap(), true);
        assert_eq!(details.values, None);
        assert!(details.fields.iter().all(|name| name.len() <= MAX_TEXT));
        assert_eq!(clipped(&"é".repeat(300)).len(), MAX_TEXT);
    }

    #[test]
    fn the_steps_of_a_batch_are_bounded_together() {
        let members = |count: usize| (0..count).map(|n| (format!("f{n}"), Value::from("x".repeat(300))));
        let body = Value::Object(members(40).collect()).to_string();
        let fields = Fields::parse(body.as_bytes()).unwrap();
        let mut details = AuditDetails::default();
        for _ in 0..3 {
            details.add_step(&Method::PUT, "post", None, Some(&fields), true);
        }
        let counts: Vec<_> = details.steps.iter().map(|(_, step)| step.fields.len()).collect();
        assert_eq!(counts, [40, 24, 0]);
        assert_eq!(details.steps.iter().filter(|(_, step)| step.values.is_some()).count(), 1);
    }
}
