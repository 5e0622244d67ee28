//! Decoding and planning of the queries of requests. `SPEC §2.3`, `SPEC §8`
//!
//! A query that is sent in a header is looked up twice: [`super::header_plans`] finds plans by the header's value, so
//! that a hit needs neither base64 decoding nor parsing; [`mesh_plan::Mesh::plan`] finds them by the decoded text.

use std::borrow::Cow;
use std::sync::Arc;

use mesh_integrity::{IntegrityError, QueryRefusal};
use mesh_plan::persisted::{Persisted, PersistedQuery, QueryStoreError};
use mesh_plan::{Mesh, Plan, RecordId, Request};
use mesh_ql::{Format, ParamValues};
use mesh_wire::request::{PostBody, PostedId, decode_body, parse_params};
use mesh_wire::{QuerySource, RawQuery, WireError};

use super::header_plans::{HeaderPlans, HeaderQuery};
use crate::identity::caller::Caller;
use crate::identity::request_parts::RequestParts;
use crate::observability::error_log;

/// The query of a request, and the values of its parameters.
#[derive(Debug)]
pub struct RequestQuery<'r> {
    source: Source<'r>,
    /// The id of a point read in a body.
    id: Option<PostedId>,
    params: Option<ParamValues>,
}

/// A query as it was sent.
#[derive(Debug)]
enum Source<'r> {
    /// The value of the query header, not yet decoded.
    Header { format: Format, base64: &'r [u8] },
    /// The text in a body.
    Text { format: Format, text: String },
    /// A query that was registered before.
    Registered(Arc<PersistedQuery>),
}

/// The records to read, according to the path.
#[derive(Clone, Copy, Debug, Default)]
pub struct Target<'a> {
    /// The entity; the query must read it.
    pub entity: Option<&'a str>,
    /// The id of a point read.
    pub id: Option<RecordId<'a>>,
}

impl<'a> Target<'a> {
    /// Returns the target of a path: a collection, or a record if there is an id.
    pub fn at(entity: &'a str, id: Option<RecordId<'a>>) -> Self {
        Self { entity: Some(entity), id }
    }
}

/// What a query is planned for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    Read,
    Export,
    /// A stream. Texts that differ only in format and white space share a plan, and so their streams share a reading.
    Stream,
}

/// Decodes the queries of requests, and plans them.
#[derive(Debug)]
pub struct Queries {
    mesh: Arc<Mesh>,
    pub(crate) header_plans: HeaderPlans,
    /// The registered queries, which must have been checked against the same [`Mesh`]. `SPEC §8`
    pub persisted: Option<Arc<Persisted>>,
}

impl Queries {
    /// Returns queries that `mesh` plans. None are registered.
    pub fn new(mesh: Arc<Mesh>) -> Self {
        Self { header_plans: HeaderPlans::new(&mesh), mesh, persisted: None }
    }

    /// Returns the query of the headers. `SPEC §2.3`
    ///
    /// # Errors
    /// 400 unless there is exactly one query, with parameters that can be decoded; 503 if registered queries cannot be read.
    pub async fn in_headers<'r>(&self, parts: &RequestParts<'r>) -> Result<RequestQuery<'r>, WireError> {
        let raw = parts.headers.raw_query()?;
        // Before the id is looked up: what is wrong with the parameters must not show whether it is registered.
        let params = parts.headers.param_values(self.mesh.limits().query.query_bytes)?;
        let source = match raw {
            RawQuery::Text { format, raw } => Source::Header { format, base64: raw },
            RawQuery::Id(id) => {
                Source::Registered(self.registered(parts.head.request_id.as_str(), id).await?)
            }
        };
        Ok(RequestQuery { source, id: None, params })
    }

    /// Returns the registered query with this id.
    ///
    /// # Errors
    /// 400 if there is none, 503 if registered queries cannot be read.
    pub(crate) async fn registered(
        &self,
        request_id: &str,
        id: &str,
    ) -> Result<Arc<PersistedQuery>, WireError> {
        let persisted = self.persisted.as_ref().ok_or_else(WireError::query_id_unknown)?;
        let found = persisted.find(id).await.map_err(|error| store_failed(request_id, &error))?;
        found.ok_or_else(WireError::query_id_unknown)
    }

    /// Returns the query in the body of `POST {base}`. `SPEC §2.7`
    ///
    /// # Errors
    /// 403 if only registered queries are allowed, 415 or 400 if the body cannot be decoded.
    pub fn in_body(&self, parts: &RequestParts<'_>, body: &[u8]) -> Result<RequestQuery<'static>, WireError> {
        self.allow_unregistered()?;
        let PostBody { format, text, id, params } = decode_body(parts.head.headers, body)?;
        let bound = self.mesh.limits().query.query_bytes;
        let params = params.map(|params| parse_params(&params, "'params' in the body", bound)).transpose()?;
        Ok(RequestQuery::new(format, text, id, params))
    }

    /// Plans a query for a caller, or returns the plan of an equal one.
    ///
    /// # Errors
    /// 400 or 403 if the query is invalid, or may not be run.
    pub fn plan(
        &self,
        parts: &RequestParts<'_>,
        caller: &Caller,
        query: RequestQuery<'_>,
        target: Target<'_>,
    ) -> Result<Plan, WireError> {
        let key = match query.source {
            Source::Header { format, base64 } => {
                let key = HeaderQuery { base64, format, entity: target.entity, id: target.id };
                if let Some(plan) = self.header_plans.find(key, query.params.as_ref()) {
                    self.allow_unregistered()?;
                    return Ok(plan);
                }
                Some(key)
            }
            Source::Text { .. } | Source::Registered(_) => None,
        };
        let has_parts = matches!(query.id, Some(PostedId::Parts(_)));
        let plan = self.plan_for(Purpose::Read, parts, caller, query, target)?;
        if has_parts && plan.node().id.len() == 1 {
            return Err(WireError::transport(
                "'id' in the body must be a string or a number: the id is a single field",
            ));
        }
        if let Some(key) = key {
            self.header_plans.insert(key, &plan);
        }
        Ok(plan)
    }

    /// Plans a query without looking it up by its header.
    pub(crate) fn plan_for(
        &self,
        purpose: Purpose,
        parts: &RequestParts<'_>,
        caller: &Caller,
        query: RequestQuery<'_>,
        target: Target<'_>,
    ) -> Result<Plan, WireError> {
        let completed = query.complete_params();
        let (format, text) = self.text(&query)?;
        let parsed = match purpose {
            // Planning reports the error of a text that cannot be parsed, after the error of a wrong path.
            Purpose::Stream => mesh_ql::parse(format, &text, &self.mesh.limits().query).ok(),
            Purpose::Read | Purpose::Export => None,
        };
        let source = match &parsed {
            Some(query) => mesh_plan::plan::QuerySource::Parsed(query),
            None => mesh_plan::plan::QuerySource::Text { format, text: &text },
        };
        let mut request = Request::new(source);
        (request.entity, request.id) = (target.entity, query.id(target));
        request.is_export = matches!(purpose, Purpose::Export);
        let principal = caller.principal();
        let request = request.with_principal(principal.as_deref());
        let plan = completed.and_then(|params| self.mesh.plan(&request.with_params(params.as_deref())));
        plan.or_else(|error| {
            let error = error_log::logged(parts.head.request_id.as_str(), error.with_position_in(&text));
            self.check_registrable(caller, &query)?;
            Err(error)
        })
    }

    /// Refuses a registered query that the caller could not have registered, as if it did not exist, because another error
    /// would reveal that its names exist. `SPEC §8.4`
    pub(crate) fn check_registrable(
        &self,
        caller: &Caller,
        query: &RequestQuery<'_>,
    ) -> Result<(), WireError> {
        let Source::Registered(query) = &query.source else { return Ok(()) };
        let principal = caller.principal();
        let collection =
            Request::collection(query.format(), query.text()).with_principal(principal.as_deref());
        self.mesh.check(&collection).map(drop).map_err(|_| WireError::query_id_unknown())
    }

    /// Returns the format and the text of a query.
    ///
    /// # Errors
    /// 400 if the header is not base64, 403 if only registered queries are allowed and this query is not registered.
    pub(crate) fn text<'q>(&self, query: &'q RequestQuery<'_>) -> Result<(Format, Cow<'q, str>), WireError> {
        match &query.source {
            Source::Registered(query) => Ok((query.format(), query.text().into())),
            Source::Text { format, text } => Ok((*format, text.into())),
            Source::Header { format, base64 } => {
                let QuerySource::Text { format, text } =
                    (RawQuery::Text { format: *format, raw: base64 }).decode()?
                else {
                    return Err(WireError::query_id_unknown());
                };
                self.allow_unregistered()?;
                Ok((format, text.into()))
            }
        }
    }

    /// Refuses queries that are not registered if only registered ones may run. `SPEC §8.5`
    pub(crate) fn allow_unregistered(&self) -> Result<(), WireError> {
        match &self.persisted {
            Some(persisted) if persisted.requires_registered() => {
                Err(IntegrityError::QueryNotAllowed(QueryRefusal::Unregistered).into())
            }
            _ => Ok(()),
        }
    }
}

impl RequestQuery<'_> {
    /// Returns a query with its text, the id of a point read, and the values of its parameters.
    pub fn new(format: Format, text: String, id: Option<PostedId>, params: Option<ParamValues>) -> Self {
        Self { source: Source::Text { format, text }, id, params }
    }

    /// Returns a registered query.
    pub(crate) fn registered(query: Arc<PersistedQuery>, id: Option<PostedId>, params: ParamValues) -> Self {
        Self { source: Source::Registered(query), id, params: Some(params) }
    }

    /// Returns the id of a point read, in the path or in the body.
    fn id<'i>(&'i self, target: Target<'i>) -> Option<RecordId<'i>> {
        target.id.or_else(|| self.id.as_ref().map(record_id))
    }

    /// Returns the values of parameters, completed with the defaults of a registered query. An error reveals the declarations of
    /// the query, so only callers that could have registered it may see the error ([`Queries::check_registrable`]).
    /// `SPEC §19.3`
    pub(crate) fn complete_params(&self) -> Result<Option<Cow<'_, ParamValues>>, mesh_plan::Error> {
        let params = self.params.as_ref();
        match &self.source {
            Source::Registered(query) if !query.params().is_empty() => {
                Ok(query.params().complete(params)?.map(Cow::Owned))
            }
            _ => Ok(params.map(Cow::Borrowed)),
        }
    }
}

/// Returns the id of a record in a body.
pub(crate) fn record_id(id: &PostedId) -> RecordId<'_> {
    match id {
        PostedId::Text(text) => RecordId::Text(text),
        PostedId::Parts(parts) => RecordId::Parts(parts),
    }
}

/// Logs a failure of the store of registered queries, and returns the error for the client.
pub(crate) fn store_failed(request_id: &str, error: &QueryStoreError) -> WireError {
    error_log::chain(request_id, error);
    WireError::unavailable()
}
