//! How is a read answered? Its query from head or body, through the core, to the reply.

use std::error::Error as _;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::Response;
use mesh_plan::{Either, Error, JsonBody, Plan, PlanError, PlanErrorKind, ResolveError};
use mesh_wire::{RawQuery, WireError, response};

use super::Exchange;
use super::admit::{self, Admitted};
use super::persisted::{self, Query};
use super::plans::Asked;
use crate::app::Start;
use crate::body::{Body, Incoming};

/// `GET {base}/:entity`
pub(crate) async fn collection(cx: &Exchange<'_>, entity: &str) -> Result<Response<Body>, WireError> {
    let admitted = admit::bodiless(cx).await?;
    run(cx, &admitted, planned(cx, &admitted, entity, None).await?).await
}

/// `GET {base}/:entity/:id` and, without a body to write, PUT.
pub(crate) async fn point(cx: &Exchange<'_>, entity: &str, id: &str) -> Result<Response<Body>, WireError> {
    let admitted = admit::bodiless(cx).await?;
    admitted_point(cx, &admitted, entity, id).await
}

/// The same for a request that was admitted already.
pub(crate) async fn admitted_point(
    cx: &Exchange<'_>,
    admitted: &Admitted,
    entity: &str,
    id: &str,
) -> Result<Response<Body>, WireError> {
    run(cx, admitted, planned(cx, admitted, entity, Some(id)).await?).await
}

/// How far such a read comes without waiting.
pub(crate) fn start(cx: &Exchange<'_>, entity: &str, id: Option<&str>) -> Start {
    let admitted = match admit::bodiless_at_once(cx) {
        None => return Start::Counted,
        Some(Err(error)) => return Start::Done(Err(error)),
        Some(Ok(admitted)) => admitted,
    };
    let plan = match found(cx, &admitted, entity, id) {
        Err(error) => return Start::Done(Err(error)),
        Ok(Some(plan)) => {
            // To find it took less than could be told; to see who asks may have taken more.
            if admitted.session().is_some() {
                cx.seen.read_started();
            }
            plan
        }
        Ok(None) => match made(cx, &admitted, entity, id).now_or_never() {
            None => return Start::Counted,
            Some(Err(error)) => return Start::Done(Err(error)),
            Some(Ok(plan)) => {
                cx.seen.read_started();
                plan
            }
        },
    };
    let ready = match cx.shared.mesh.read(&plan, &cx.context(&admitted)) {
        Either::Left(read) => Some(read.into_inner()),
        Either::Right(_) => None,
    };
    match ready {
        Some(read) => Start::Done(answer(cx, read)),
        None => Start::Planned(admitted, plan),
    }
}

/// The plan of the headers' query.
async fn planned(
    cx: &Exchange<'_>,
    admitted: &Admitted,
    entity: &str,
    id: Option<&str>,
) -> Result<Plan, WireError> {
    match found(cx, admitted, entity, id)? {
        Some(plan) => Ok(plan),
        None => made(cx, admitted, entity, id).await,
    }
}

/// The plan that the same value of the header has led to before, or that of a registered query at hand.
fn found(
    cx: &Exchange<'_>,
    admitted: &Admitted,
    entity: &str,
    id: Option<&str>,
) -> Result<Option<Plan>, WireError> {
    let (format, raw) = match cx.own.raw_query()? {
        RawQuery::Text { format, raw } => (format, raw),
        RawQuery::Id(query) => {
            let query = cx.shared.persisted.as_ref().and_then(|persisted| persisted.at_hand(query));
            return query.map(|query| Query::Kept(query).plan(cx, admitted, id, Some(entity))).transpose();
        }
    };
    let plan = cx.shared.plans.find(raw, Asked { format, entity, id });
    if plan.is_some() {
        persisted::allow_sent(cx)?;
    }
    Ok(plan)
}

/// The plan of a query that is looked for or made by the core.
async fn made(
    cx: &Exchange<'_>,
    admitted: &Admitted,
    entity: &str,
    id: Option<&str>,
) -> Result<Plan, WireError> {
    let peek = cx.own.raw_query()?;
    let plan = Query::find(cx, peek).await?.plan(cx, admitted, id, Some(entity))?;
    if let RawQuery::Text { format, raw } = peek {
        cx.shared.plans.keep(raw, Asked { format, entity, id }, &plan);
    }
    Ok(plan)
}

/// `POST {base}`
pub(crate) async fn posted(cx: &Exchange<'_>, sent: Incoming) -> Result<Response<Body>, WireError> {
    let (admitted, bytes) = admit::with_query(cx, sent).await?;
    let (query, id) = Query::of_body(cx, &bytes)?;
    run(cx, &admitted, query.plan(cx, &admitted, id.as_deref(), None)?).await
}

async fn run(cx: &Exchange<'_>, admitted: &Admitted, plan: Plan) -> Result<Response<Body>, WireError> {
    cx.seen.read_started();
    resolve(cx, admitted, plan).await
}

/// Answers a read that was admitted and planned.
pub(crate) async fn resolve(
    cx: &Exchange<'_>,
    admitted: &Admitted,
    plan: Plan,
) -> Result<Response<Body>, WireError> {
    let context = cx.context(admitted);
    let reading = match cx.shared.mesh.read(&plan, &context) {
        Either::Left(read) => return answer(cx, read.into_inner()),
        Either::Right(reading) => reading,
    };
    let _waiting = cx.shared.admission.acquire()?;
    let read = tokio::time::timeout_at(cx.deadline.into(), reading).await;
    answer(cx, read.unwrap_or(Err(ResolveError::TimedOut)))
}

fn answer(cx: &Exchange<'_>, read: Result<JsonBody, ResolveError>) -> Result<Response<Body>, WireError> {
    cx.seen.read_finished(read.as_ref().map_or(0, |body| body.rows));
    match read {
        Ok(JsonBody { bytes, rows, digest }) => {
            tracing::debug!(request = %cx.asked.request_id, rows, bytes = bytes.len(), "read");
            Ok(reply(cx, bytes, digest))
        }
        Err(error) => {
            log(cx.asked.request_id.as_str(), &error);
            Err(Error::Resolve(error).into())
        }
    }
}

fn reply(cx: &Exchange<'_>, bytes: Bytes, digest: Option<u128>) -> Response<Body> {
    let reply = match &cx.shared.integrity {
        None => response::read_with_digest(&cx.asked, bytes, digest),
        Some(_) => response::read_private(&cx.asked, bytes, digest),
    };
    reply.map(Body::from)
}

/// Logs why a request could not be planned where the client is not told: a policy that does not fit the schema.
pub(crate) fn log_plan(request_id: &str, error: &Error) {
    if let Error::Plan(PlanError { kind: PlanErrorKind::Policy { .. }, .. }) = error {
        tracing::error!(request = %request_id, "{error}");
    }
}

/// Logs what the client is not told.
pub(crate) fn log(request_id: &str, error: &ResolveError) {
    if let ResolveError::TooLarge { .. } | ResolveError::SumOverflow = error {
        return;
    }
    if let ResolveError::Busy = error {
        // There may be very many of these, just when there is no time for them.
        tracing::debug!(request = %request_id, "{error}");
        return;
    }
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    tracing::error!(request = %request_id, "{text}");
}
