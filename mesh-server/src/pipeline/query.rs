//! Decoding and planning of a request's query. `SPEC §2.3`, `SPEC §8`
//!
//! A query that is sent in a header is looked up twice: [`super::header_plans`] finds plans by the header's value, so
//! that a hit needs neither base64 decoding nor parsing; [`mesh_plan::Mesh::plan`] finds them by the decoded text.

use std::borrow::Cow;
use std::sync::Arc;

use http::Method;
use mesh_integrity::{IntegrityError, QueryRefusal};
use mesh_plan::persisted::{PersistedQuery, QueryStoreError};
use mesh_plan::{Plan, RecordId, Request};
use mesh_ql::{Format, ParamValues};
use mesh_wire::request::{PostBody, PostedId, decode_body, parse_params};
use mesh_wire::{QuerySource, RawQuery, WireError};

use super::admission::RETRY_AFTER;
use super::context::{Caller, RequestContext};
use super::header_plans::HeaderQuery;
use crate::observability::error_log;

/// A query as it was sent.
pub(crate) enum Query<'r> {
    /// The value of the query header, not yet decoded.
    Header { format: Format, base64: &'r [u8] },
    /// The text in a body.
    Text { format: Format, text: String },
    /// A query that was registered before.
    Registered(Arc<PersistedQuery>),
}

/// The records to read, according to the path or the body of `POST {base}`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    /// The entity of the path; the query must read it.
    pub(crate) entity: Option<&'a str>,
    /// The id of a point read.
    pub(crate) id: Option<RecordId<'a>>,
    /// The values of parameters.
    pub(crate) params: Option<&'a ParamValues>,
}

/// A posted query.
pub(crate) struct PostedQuery {
    pub(crate) query: Query<'static>,
    /// The id of a point read.
    pub(crate) id: Option<PostedId>,
    /// The values of parameters.
    pub(crate) params: Option<ParamValues>,
}

/// Returns the id of a record in a body.
pub(crate) fn record_id(id: &PostedId) -> RecordId<'_> {
    match id {
        PostedId::Text(text) => RecordId::Text(text),
        PostedId::Parts(parts) => RecordId::Parts(parts),
    }
}

/// Returns the values of parameters in the headers. `SPEC §19.2`
pub(crate) fn params(cx: &RequestContext<'_>) -> Result<Option<ParamValues>, WireError> {
    cx.mesh_headers.param_values(cx.shared.mesh.limits().query.query_bytes)
}

/// Finds the query of the headers. `SPEC §2.3`
pub(crate) async fn decode<'r>(cx: &RequestContext<'r>) -> Result<Query<'r>, WireError> {
    let headers = &cx.mesh_headers;
    let is_write = *cx.head.method == Method::PUT && headers.query.is_none() && headers.query_id.is_none();
    if is_write && !cx.shared.profiles.mutations {
        let message = "Writes are off on this server, so PUT is treated as a read, which requires a query; \
                       turn writes on with the setting 'mutations.enabled', or send a query in X-Mesh-Query";
        return Err(WireError::transport(message));
    }
    let id = match headers.raw_query()? {
        RawQuery::Text { format, raw } => return Ok(Query::Header { format, base64: raw }),
        RawQuery::Id(id) => id,
    };
    let unknown = WireError::query_id_unknown;
    let persisted = cx.shared.persisted.as_ref().ok_or_else(unknown)?;
    let found = persisted.find(id).await.map_err(|error| store_failed(cx, &error))?;
    found.map(Query::Registered).ok_or_else(unknown)
}

/// Decodes the body of `POST {base}`.
pub(crate) fn decode_posted(cx: &RequestContext<'_>, body: &[u8]) -> Result<PostedQuery, WireError> {
    allow_unregistered(cx)?;
    let PostBody { format, text, id, params } = decode_body(cx.head.headers, body)?;
    let bound = cx.shared.mesh.limits().query.query_bytes;
    let params = params.map(|params| parse_params(&params, "'params' in the body", bound)).transpose()?;
    Ok(PostedQuery { query: Query::Text { format, text }, id, params })
}

/// Plans a query, or returns the plan of an equal one.
pub(crate) fn plan(
    cx: &RequestContext<'_>,
    caller: &Caller,
    query: Query<'_>,
    Target { entity, id, params }: Target<'_>,
) -> Result<Plan, WireError> {
    let shared = cx.shared;
    let key = match &query {
        Query::Header { format, base64 } => {
            let key = HeaderQuery { base64, format: *format, entity, id };
            if let Some(plan) = shared.header_plans.find(key, params) {
                allow_unregistered(cx)?;
                return Ok(plan);
            }
            Some(key)
        }
        Query::Text { .. } | Query::Registered(_) => None,
    };
    let plan = plan_text(cx, caller, query, Target { entity, id, params }, false)?;
    if let (Some(RecordId::Parts(_)), [_]) = (id, plan.node().id.as_slice()) {
        return Err(WireError::transport(
            "'id' in the body must be a string or a number: the id is a single field",
        ));
    }
    if let Some(key) = key {
        shared.header_plans.insert(key, &plan);
    }
    Ok(plan)
}

/// Plans an export. `SPEC §16`
pub(crate) fn plan_export(
    cx: &RequestContext<'_>,
    caller: &Caller,
    query: Query<'_>,
    target: Target<'_>,
) -> Result<Plan, WireError> {
    plan_text(cx, caller, query, target, true)
}

fn plan_text(
    cx: &RequestContext<'_>,
    caller: &Caller,
    query: Query<'_>,
    Target { entity, id, params }: Target<'_>,
    is_export: bool,
) -> Result<Plan, WireError> {
    let principal = caller.principal();
    let is_registered = matches!(query, Query::Registered(_));
    let completed = query.complete_params(params);
    let (format, text) = query.into_text(cx)?;
    let mut request = match id {
        Some(id) => Request::point(format, &text, id),
        None => Request::collection(format, &text),
    };
    (request.entity, request.is_export) = (entity, is_export);
    let request = request.with_principal(principal.as_deref());
    let plan = completed.and_then(|params| cx.shared.mesh.plan(&request.with_params(params.as_deref())));
    check_plan(cx, caller, plan, is_registered.then_some((format, &text)))
}

/// Plans a query so that texts that differ only in format and white space share a plan.
pub(crate) fn plan_by_meaning(
    cx: &RequestContext<'_>,
    caller: &Caller,
    query: Query<'_>,
    Target { entity, id, params }: Target<'_>,
) -> Result<Plan, WireError> {
    let mesh = &cx.shared.mesh;
    let is_registered = matches!(query, Query::Registered(_));
    let completed = query.complete_params(params);
    let (format, text) = query.into_text(cx)?;
    let parsed = mesh_ql::parse(format, &text, &mesh.limits().query);
    let source = match &parsed {
        Ok(query) => mesh_plan::plan::QuerySource::Parsed(query),
        // Planning reports the error in the right order: after the error of a wrong path.
        Err(_) => mesh_plan::plan::QuerySource::Text { format, text: &text },
    };
    let principal = caller.principal();
    let mut request = Request::new(source).with_principal(principal.as_deref());
    (request.entity, request.id) = (entity, id);
    let plan = completed.and_then(|params| mesh.plan(&request.with_params(params.as_deref())));
    let plan = plan.map_err(|error| error.with_position_in(&text));
    check_plan(cx, caller, plan, is_registered.then_some((format, &text)))
}

/// Logs the error of a plan. If the query was `registered`, checks that the caller could have registered it.
fn check_plan(
    cx: &RequestContext<'_>,
    caller: &Caller,
    plan: Result<Plan, mesh_plan::Error>,
    registered: Option<(Format, &str)>,
) -> Result<Plan, WireError> {
    if let Err(error) = &plan {
        error_log::plan_error(cx.request_id(), error);
        if let Some(query) = registered {
            check_registrable(cx, caller, query)?;
        }
    }
    Ok(plan?)
}

/// Refuses a registered query that the caller could not have registered, as if it did not exist, because another error
/// would reveal that its names exist. `SPEC §8.4`
pub(crate) fn check_registrable(
    cx: &RequestContext<'_>,
    caller: &Caller,
    (format, text): (Format, &str),
) -> Result<(), WireError> {
    let principal = caller.principal();
    let collection = Request::collection(format, text).with_principal(principal.as_deref());
    cx.shared.mesh.check(&collection).map(drop).map_err(|_| WireError::query_id_unknown())
}

impl Query<'_> {
    /// Returns the values of parameters, completed with the defaults of a registered query. An error reveals the declarations of
    /// the query, so only callers that could have registered it may see the error ([`check_registrable`]). `SPEC §19.3`
    pub(crate) fn complete_params<'v>(
        &self,
        params: Option<&'v ParamValues>,
    ) -> Result<Option<Cow<'v, ParamValues>>, mesh_plan::Error> {
        match self {
            Self::Registered(query) if !query.params().is_empty() => {
                Ok(query.params().complete(params)?.map(Cow::Owned))
            }
            _ => Ok(params.map(Cow::Borrowed)),
        }
    }

    /// Returns the format and the text.
    ///
    /// # Errors
    /// 400 if the header is not base64, 403 if only registered queries are allowed and this query is not registered.
    pub(crate) fn into_text(self, cx: &RequestContext<'_>) -> Result<(Format, String), WireError> {
        match self {
            Self::Registered(query) => Ok((query.format(), query.text().to_owned())),
            Self::Text { format, text } => Ok((format, text)),
            Self::Header { format, base64 } => {
                let QuerySource::Text { format, text } = (RawQuery::Text { format, raw: base64 }).decode()?
                else {
                    return Err(WireError::query_id_unknown());
                };
                allow_unregistered(cx)?;
                Ok((format, text))
            }
        }
    }
}

/// Refuses queries that are not registered if only registered ones may run. `SPEC §8.5`
pub(crate) fn allow_unregistered(cx: &RequestContext<'_>) -> Result<(), WireError> {
    match &cx.shared.persisted {
        Some(persisted) if persisted.requires_registered() => {
            Err(IntegrityError::QueryNotAllowed(QueryRefusal::Unregistered).into())
        }
        _ => Ok(()),
    }
}

/// Logs a failure of the store of registered queries, and returns the error for the client.
pub(crate) fn store_failed(cx: &RequestContext<'_>, error: &QueryStoreError) -> WireError {
    error_log::chain(cx.request_id(), error);
    WireError::unavailable(RETRY_AFTER)
}
