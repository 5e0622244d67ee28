//! Registered queries as tools, whose arguments are the parameters of the query. `SPEC §19`

use std::sync::Arc;

use mesh_docs::outline::cleaned;
use mesh_plan::persisted::PersistedQuery;
use mesh_plan::plan::Parameter;
use mesh_plan::{Mesh, Principal, Request};
use mesh_schema::FieldType;
use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use super::QueryTool;
use crate::app::build_error::BuildError;

/// The maximum number of characters in a name.
const NAME: usize = 64;
/// Digits of a query's id in a derived name.
const DIGITS: usize = 8;
/// The maximum number of characters in a description.
const DESCRIPTION: usize = 500;
/// The argument with the id of the record to read.
pub(crate) const ID: &str = "id";

/// A query that is a tool.
#[derive(Clone, Debug)]
pub(crate) struct PreparedQuery {
    pub(crate) tool: Tool,
    pub(crate) query: Arc<PersistedQuery>,
    /// Whether the query can also read a single record by its id.
    pub(crate) takes_id: bool,
}

impl PreparedQuery {
    /// Prepares the tool of a query.
    pub(super) fn new(mesh: &Mesh, tool: &QueryTool) -> Result<Self, BuildError> {
        let QueryTool { name, description, query } = tool;
        let invalid = |why: String| BuildError::Tool { name: name.clone(), why };
        let request = Request::collection(query.format(), query.text());
        let parameters = mesh.parameters(&request).map_err(|error| invalid(error.to_string()))?;
        let parsed = mesh_ql::parse(query.format(), query.text(), &mesh.limits().query);
        let parsed = parsed.map_err(|error| invalid(error.to_string()))?;
        let name = match name.as_str() {
            "" => derived_name(&parsed.entity.value, query),
            name => name.to_owned(),
        };
        if name.len() > NAME || !name.chars().all(is_allowed) {
            return Err(BuildError::ToolName(name));
        }
        let description = match description.as_str() {
            "" => format!("Runs the query {}", query.text()),
            description => description.to_owned(),
        };
        let mut takes_id = parsed.root.controls == mesh_ql::Controls::default();
        takes_id &= parameters.iter().all(|parameter| parameter.name != ID);
        let declared = serde_json::to_value(query.params()).unwrap_or_default();
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for parameter in &parameters {
            let declaration = declared.get(&parameter.name);
            let default = declaration.and_then(|declaration| declaration.get("default"));
            let mut schema = schema(parameter, declaration);
            if let Some(default) = default {
                schema.insert("default".to_owned(), default.clone());
            } else {
                required.push(parameter.name.clone());
            }
            properties.insert(parameter.name.clone(), schema.into());
        }
        if takes_id {
            let about = "Read only the record with this id";
            properties
                .insert(ID.to_owned(), json!({"type": ["string", "integer", "array"], "description": about}));
        }
        let annotations = ToolAnnotations::new().read_only(true).open_world(false);
        let tool = super::tool(name, cleaned(&description, DESCRIPTION), properties.into(), &required);
        Ok(Self { tool: tool.with_annotations(annotations), query: Arc::new(query.clone()), takes_id })
    }

    /// Returns whether a principal could have registered the query. Otherwise it is hidden from it. `SPEC §8.4`
    pub(crate) fn is_visible(&self, mesh: &Mesh, principal: Option<&Principal>) -> bool {
        let request = Request::collection(self.query.format(), self.query.text());
        mesh.check(&request.with_principal(principal)).is_ok()
    }

    pub(crate) fn name(&self) -> &str {
        &self.tool.name
    }
}

/// Derives a name from the entity and the id of a query. Names of entities may be longer than names of tools, and may
/// contain letters that names of tools must not contain.
fn derived_name(entity: &str, query: &PersistedQuery) -> String {
    let letters = entity.chars().map(|c| if is_allowed(c) { c } else { '_' });
    let entity: String = letters.take(NAME - 1 - DIGITS).collect();
    let id = query.id().to_string();
    let digits = id.trim_start_matches("q_").get(..DIGITS).unwrap_or_default();
    format!("{entity}_{digits}")
}

fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// Returns the JSON Schema of a parameter: by its declaration, or else by its position in the query.
fn schema(parameter: &Parameter, declaration: Option<&Value>) -> Map<String, Value> {
    let declared = declaration.and_then(|declaration| declaration.get("type")?.as_str());
    let value = of_type(declared.and_then(|name| name.parse::<FieldType>().ok()).or(parameter.ty));
    let schema = if parameter.is_list { json!({"type": "array", "items": value}) } else { value };
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

fn of_type(ty: Option<FieldType>) -> Value {
    match ty {
        Some(FieldType::Integer) => json!({"type": "integer"}),
        Some(FieldType::Number) => json!({"type": "number"}),
        Some(FieldType::Boolean) => json!({"type": "boolean"}),
        Some(FieldType::Bigint | FieldType::Unsigned | FieldType::Decimal) => {
            json!({"type": ["string", "number"]})
        }
        Some(FieldType::Datetime) => json!({"type": "string", "format": "date-time"}),
        Some(FieldType::Date) => json!({"type": "string", "format": "date"}),
        Some(FieldType::Uuid) => json!({"type": "string", "format": "uuid"}),
        Some(FieldType::String | FieldType::Binary) => json!({"type": "string"}),
        Some(FieldType::Json) | None => json!({}),
    }
}
