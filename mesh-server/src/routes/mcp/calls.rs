//! Tool calls, which pass the same stages as any other request.

use std::time::Instant;

use mesh_docs::outline;
use mesh_plan::backend::Trace;
use mesh_plan::{Context, JsonBody, Request};
use mesh_ql::{Format, ParamValues};
use mesh_schema::nearest;
use mesh_wire::request::{PostedId, decode_batch, parse_params};
use mesh_wire::{Code, WireError, response};
use rmcp::model::{JsonObject, Tool};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::identity::caller::Caller;
use crate::mcp::{BuiltIn, PreparedQuery, PreparedTools};
use crate::pipeline::authenticate;
use crate::pipeline::context::RequestContext;
use crate::pipeline::query::{self, RequestQuery, Target};
use crate::pipeline::read;
use crate::routes::batch;

/// The maximum number of characters of an unknown tool's name in a message.
const NAME: usize = 64;

/// The tools of one caller.
pub(super) struct CallerTools<'c, 'r> {
    pub(super) cx: &'c RequestContext<'r>,
    pub(super) tools: &'c PreparedTools,
    pub(super) caller: &'c Caller,
}

/// The reason why a call has no result.
pub(super) enum Fault {
    /// There is no such tool for the caller.
    UnknownTool(String),
    /// The call failed.
    Error(Box<WireError>),
}

impl<E: Into<WireError>> From<E> for Fault {
    fn from(error: E) -> Self {
        Self::Error(Box::new(error.into()))
    }
}

/// The arguments of [`BuiltIn::Describe`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DescribeArguments {
    entity: Option<String>,
    after: Option<String>,
    first: Option<usize>,
}

/// The arguments of the tools that take a query.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QueryArguments {
    query: Value,
    format: Option<String>,
    id: Option<Value>,
    params: Option<Value>,
}

/// The arguments of [`BuiltIn::Write`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteArguments {
    steps: Vec<Value>,
}

/// A query with the id and the parameters of its read.
struct QueryCall {
    format: Format,
    text: String,
    id: Option<PostedId>,
    params: Option<ParamValues>,
}

impl CallerTools<'_, '_> {
    /// Returns the tools that the caller can use.
    pub(super) fn list(&self) -> Vec<Tool> {
        let limits = self.cx.shared.mesh.limits();
        let built_in = self.built_in().map(|tool| tool.describe(&self.tools.options, limits));
        let queries = self.tools.queries.iter().filter(|query| self.can_see(query));
        built_in.chain(queries.map(|query| query.tool.clone())).collect()
    }

    /// Runs a tool and returns the text of its result.
    pub(super) async fn call(&self, name: &str, arguments: JsonObject) -> Result<String, Fault> {
        if let Some(tool) = self.built_in().find(|tool| tool.name() == name) {
            return match tool {
                BuiltIn::Describe => self.describe(parsed(arguments)?),
                BuiltIn::Check => self.check(&self.query_call(parsed(arguments)?)?),
                BuiltIn::Run => self.run(self.query_call(parsed(arguments)?)?).await,
                BuiltIn::Explain => self.explain(self.query_call(parsed(arguments)?)?).await,
                BuiltIn::Write => self.write(parsed(arguments)?).await,
            };
        }
        match self.tools.queries.iter().find(|query| query.name() == name && self.can_see(query)) {
            Some(query) => self.run_registered(query, arguments).await,
            None => Err(Fault::UnknownTool(self.unknown(name))),
        }
    }

    /// Returns the text of an error for agents.
    pub(super) fn error_text(&self, error: &WireError) -> String {
        self.error_body(error).to_string()
    }

    fn error_body(&self, error: &WireError) -> Value {
        serde_json::from_slice(response::error(&self.cx.head, error).body()).unwrap_or_default()
    }

    fn built_in(&self) -> impl Iterator<Item = BuiltIn> {
        let registered = self.cx.shared.queries.persisted.as_ref();
        self.tools.built_in(registered.is_some_and(|persisted| persisted.requires_registered()))
    }

    fn can_see(&self, query: &PreparedQuery) -> bool {
        query.is_visible(&self.cx.shared.mesh, self.caller.principal().as_deref())
    }

    fn unknown(&self, name: &str) -> String {
        let known = self.list();
        let hint = hint(name, known.iter().map(|tool| &*tool.name));
        format!("There is no tool '{}'{hint}", outline::cleaned(name, NAME))
    }

    fn describe(&self, arguments: DescribeArguments) -> Result<String, Fault> {
        let DescribeArguments { entity, after, first } = arguments;
        let schema = self.cx.shared.mesh.schema_for(self.caller.principal().as_deref());
        let writes = self.tools.options.writes;
        let described = match entity {
            Some(key) => outline::entity(&schema, &key, writes).ok_or_else(|| {
                let hint = hint(&key, outline::names(&schema));
                WireError::validation(format!("There is no entity '{}'{hint}", outline::cleaned(&key, NAME)))
            })?,
            None => {
                let first = first.unwrap_or(BuiltIn::DEFAULT_ENTITIES).clamp(1, BuiltIn::MAX_ENTITIES);
                outline::page(&schema, after.as_deref(), first, writes)
            }
        };
        Ok(described.to_string())
    }

    fn check(&self, call: &QueryCall) -> Result<String, Fault> {
        let principal = self.caller.principal();
        let (format, text) = (call.format, call.text.as_str());
        let request = match &call.id {
            Some(id) => Request::point(format, text, query::record_id(id)),
            None => Request::collection(format, text),
        };
        let request = request.with_params(call.params.as_ref()).with_principal(principal.as_deref());
        let checked = match self.cx.shared.mesh.check(&request) {
            Ok(parameters) if parameters.is_empty() => json!({"valid": true}),
            Ok(parameters) => json!({"valid": true, "parameters": parameters}),
            Err(error) => json!({"valid": false, "error": self.error_body(&error.into())}),
        };
        Ok(checked.to_string())
    }

    async fn run(&self, call: QueryCall) -> Result<String, Fault> {
        let context = self.cx.resolver_context(self.caller);
        self.result(&self.read(call, &context).await?.0)
    }

    async fn explain(&self, call: QueryCall) -> Result<String, Fault> {
        let trace = self.tools.options.sql.then(|| std::sync::Arc::new(Trace::new().with_query_plans()));
        let context = self.cx.resolver_context(self.caller).with_trace(trace.clone());
        let start = Instant::now();
        let (body, plan) = self.read(call, &context).await?;
        let statements = trace.map(|trace| trace.take());
        Ok(mesh_docs::explanation(start.elapsed(), &plan, body.rows, statements.as_deref()).to_string())
    }

    async fn read(&self, call: QueryCall, context: &Context) -> Result<(JsonBody, mesh_plan::Plan), Fault> {
        let QueryCall { format, text, id, params } = call;
        let plan = self.plan(RequestQuery::new(format, text, id, params))?;
        Ok((read::execute(self.cx, context, &plan).await?, plan))
    }

    fn plan(&self, query: RequestQuery<'_>) -> Result<mesh_plan::Plan, WireError> {
        self.cx.shared.queries.plan(&self.cx.parts(), self.caller, query, Target::default())
    }

    async fn run_registered(
        &self,
        query: &PreparedQuery,
        mut arguments: JsonObject,
    ) -> Result<String, Fault> {
        let id = if query.takes_id { arguments.shift_remove(crate::mcp::ID) } else { None };
        let id = id.map(|id| posted_id(&id)).transpose()?;
        let params = self.params(&Value::Object(arguments))?;
        let plan = self.plan(RequestQuery::registered(query.query.clone(), id, params))?;
        let context = self.cx.resolver_context(self.caller);
        self.result(&read::execute(self.cx, &context, &plan).await?)
    }

    async fn write(&self, WriteArguments { steps }: WriteArguments) -> Result<String, Fault> {
        self.cx.audit(|details| details.event = Some("write"));
        authenticate::allow_write(self.cx, self.caller)?;
        let body = json!({"steps": steps}).to_string();
        let steps = decode_batch(self.cx.head.headers, body.as_bytes()).map_err(WireError::of_write)?;
        let options = &self.tools.options;
        let bounds = Some((options.rows, options.bytes));
        let results = batch::run(self.cx, self.caller, steps, bounds).await.map_err(WireError::of_write)?;
        Ok(String::from_utf8_lossy(&results).into_owned())
    }

    fn query_call(&self, arguments: QueryArguments) -> Result<QueryCall, Fault> {
        let QueryArguments { query, format, id, params } = arguments;
        let text = match query {
            Value::String(text) => text,
            query @ Value::Object(_) => query.to_string(),
            _ => return Err(invalid("'query' must be an object or a string").into()),
        };
        let format = match format {
            Some(format) => format.parse().map_err(|_| invalid("'format' must be \"json\" or \"ql\""))?,
            None => Format::detect(&text),
        };
        let id = id.filter(|id| !id.is_null()).map(|id| posted_id(&id)).transpose()?;
        let params = params.filter(|params| !params.is_null());
        let params = params.map(|params| self.params(&params)).transpose()?;
        Ok(QueryCall { format, text, id, params })
    }

    fn params(&self, params: &Value) -> Result<ParamValues, WireError> {
        let bound = self.cx.shared.mesh.limits().query.query_bytes;
        parse_params(&params.to_string(), "'params'", bound)
    }

    /// Returns the text of a result. A result that is too large is refused, because a part could be mistaken for the whole.
    fn result(&self, body: &JsonBody) -> Result<String, Fault> {
        let options = &self.tools.options;
        let bound = if body.rows > options.rows {
            format!("{} objects", options.rows)
        } else if body.bytes.len() > options.bytes {
            format!("{} bytes", options.bytes)
        } else {
            return Ok(String::from_utf8_lossy(&body.bytes).into_owned());
        };
        let message = format!(
            "The result has {} objects and {} bytes, and {bound} are allowed: select fewer fields, set a smaller 'first' in \
             '$page', also of relations, or aggregate",
            body.rows,
            body.bytes.len()
        );
        Err(WireError::validation(message).with_code(Code::ResultTooLarge).into())
    }
}

/// Returns a hint at the known name that is nearest to an unknown one, if one is near.
fn hint<'k>(unknown: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    nearest(unknown, known).map(|near| format!("; did you mean '{near}'?")).unwrap_or_default()
}

/// Parses arguments.
fn parsed<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, WireError> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| invalid(&error.to_string()))
}

fn posted_id(id: &Value) -> Result<PostedId, WireError> {
    PostedId::parse(&id.to_string())
        .ok_or_else(|| invalid("'id' must be a string, a number or a list of the id's parts"))
}

fn invalid(why: &str) -> WireError {
    WireError::validation(format!("The arguments are invalid: {why}"))
}
