//! Which query does a request mean? Its own text, or the one that is registered under its id. `SPEC §8`

use std::error::Error as _;
use std::sync::Arc;

use http::Response;
use mesh_integrity::{IntegrityError, QueryRefusal};
use mesh_plan::{PersistedQuery, Plan, QueryStoreError, RegisterError, Registration, Request};
use mesh_ql::Format;
use mesh_wire::request::{PostBody, decode_body};
use mesh_wire::{QuerySource, RawQuery, WireError, response};

use super::Exchange;
use super::admit::{self, Admitted};
use crate::body::{Body, Incoming};

/// Seconds after which to ask a store again that failed.
const RETRY_AFTER: u32 = 1;

/// The query of a read.
pub(crate) enum Query {
    /// It was sent along.
    Sent {
        /// How to read the text.
        format: Format,
        /// The text.
        text: String,
    },
    /// It was registered before.
    Kept(Arc<PersistedQuery>),
}

impl Query {
    /// That of the headers. `SPEC §2.3`
    pub(crate) async fn find(cx: &Exchange<'_>, peek: RawQuery<'_>) -> Result<Self, WireError> {
        let RawQuery::Id(id) = peek else {
            let QuerySource::Text { format, text } = peek.decode()? else {
                return Err(WireError::query_id_unknown());
            };
            allow_sent(cx)?;
            return Ok(Self::Sent { format, text });
        };
        let unknown = WireError::query_id_unknown;
        let persisted = cx.shared.persisted.as_ref().ok_or_else(unknown)?;
        let found = persisted.find(id).await.map_err(|error| failed(cx, &error))?;
        found.map(Self::Kept).ok_or_else(unknown)
    }

    /// The same, wherever it is.
    pub(crate) async fn of_head(cx: &Exchange<'_>) -> Result<Self, WireError> {
        Self::find(cx, cx.own.raw_query()?).await
    }

    /// That of the body of `POST {base}`, and the id of the record that it asks for.
    pub(crate) fn of_body(cx: &Exchange<'_>, body: &[u8]) -> Result<(Self, Option<String>), WireError> {
        allow_sent(cx)?;
        let PostBody { format, text, id } = decode_body(cx.asked.headers, body)?;
        Ok((Self::Sent { format, text }, id))
    }

    /// Its plan: of one record with an id, else of a list; of the path's entity where there is one.
    pub(crate) fn plan(
        &self,
        cx: &Exchange<'_>,
        admitted: &Admitted,
        id: Option<&str>,
        entity: Option<&str>,
    ) -> Result<Plan, WireError> {
        let principal = admitted.principal();
        let principal = principal.as_deref();
        let plan = match self {
            Self::Kept(query) => cx.shared.mesh.plan_persisted(query, id, entity, principal),
            Self::Sent { format, text } => {
                let mut request = match id {
                    Some(id) => Request::point(*format, text, id),
                    None => Request::collection(*format, text),
                };
                request.entity = entity;
                cx.shared.mesh.plan(&request.by(principal))
            }
        };
        Ok(plan.inspect_err(|error| super::read::log_plan(cx.asked.request_id.as_str(), error))?)
    }
}

/// Whether the headers' query can be had without asking a store.
pub(crate) fn is_at_hand(cx: &Exchange<'_>) -> bool {
    let Some(id) = cx.own.query_id.and_then(|id| id.to_str().ok()) else { return true };
    cx.shared.persisted.as_ref().is_none_or(|persisted| persisted.is_at_hand(id))
}

/// Whether queries may be run that are not registered. `SPEC §8.5`
pub(crate) fn allow_sent(cx: &Exchange<'_>) -> Result<(), WireError> {
    match &cx.shared.persisted {
        Some(persisted) if persisted.is_only() => {
            Err(IntegrityError::QueryNotAllowed(QueryRefusal::Unregistered).into())
        }
        _ => Ok(()),
    }
}

/// `POST {base}/queries`
pub(crate) async fn register(cx: &Exchange<'_>, sent: Incoming) -> Result<Response<Body>, WireError> {
    let Some(persisted) = &cx.shared.persisted else { return Err(WireError::not_found()) };
    let (admitted, body) = match persisted.registration() {
        Registration::Open => admit::unsigned(cx, sent).await?,
        // Where nothing can be signed, nobody is who may register.
        Registration::Signed if cx.shared.integrity.is_some() => admit::with_query(cx, sent).await?,
        Registration::Signed | Registration::Closed => {
            return Err(IntegrityError::QueryNotAllowed(QueryRefusal::Closed).into());
        }
    };
    let PostBody { format, text, .. } = decode_body(cx.asked.headers, &body)?;
    let principal = admitted.principal();
    let request = Request::collection(format, &text).by(principal.as_deref());
    match persisted.register(&cx.shared.mesh, &request).await {
        Ok(id) => {
            let body = format!("{{\"id\":\"{id}\"}}");
            Ok(response::written(&cx.asked, None, Some(body.into())).map(Body::from))
        }
        Err(RegisterError::Query(error)) => Err(error.into()),
        Err(RegisterError::Store(error)) => Err(failed(cx, &error)),
    }
}

/// What a client is told of a store that failed, and what the log has of it.
pub(crate) fn failed(cx: &Exchange<'_>, error: &QueryStoreError) -> WireError {
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    tracing::error!(request = %cx.asked.request_id, "{error}: {cause}");
    WireError::unavailable(RETRY_AFTER)
}
