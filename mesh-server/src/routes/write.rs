//! The write routes. `SPEC §11`

pub(crate) mod commit;
mod many;

use std::borrow::Cow;

use http::Response;
use mesh_plan::backend::Expected;
use mesh_plan::mutation::WriteReply;
use mesh_plan::{Key, Mutation, WriteRequest, WriteTarget};
use mesh_ql::{Format, ParamValues};
use mesh_wire::request::{self, IfMatch};
use mesh_wire::{WireError, response};

use self::commit::{commit_and_read, fields};
use crate::identity::caller::Caller;
use crate::identity::signed::{Content, Signed};
use crate::observability::audit::details as audit;
use crate::observability::error_log;
use crate::pipeline::admission;
use crate::pipeline::authenticate;
use crate::pipeline::body::{Body, RequestBody};
use crate::pipeline::context::RequestContext;
use crate::pipeline::query::Target;
use crate::pipeline::read;

/// Answers a write route. `PUT {base}/:entity/:id` without a body is a point read (`SPEC §2.10`). Routes without a body
/// ignore one that is sent.
pub(crate) async fn answer(
    cx: &RequestContext<'_>,
    target: WriteTarget<'_>,
    body: RequestBody,
) -> Result<Response<Body>, WireError> {
    cx.audit(|details| details.set_target(&target));
    let if_match = match target {
        WriteTarget::Update { .. } | WriteTarget::Delete { .. } => IfMatch::parse(cx.head.headers)?,
        _ => IfMatch::refuse(cx.head.headers).map(|()| None)?,
    };
    let (caller, body) = match target {
        WriteTarget::Delete { .. } | WriteTarget::Disconnect { .. } | WriteTarget::Remove { .. } => {
            (authenticate::without_body(cx, Signed::Write).await?, None)
        }
        WriteTarget::Update { entity, id } => {
            let identified = authenticate::identify(cx).await?;
            let body = authenticate::read_body(cx, body).await?;
            if body.is_empty() {
                cx.audit(|details| details.event = Some(audit::READ));
                let caller = authenticate::verify(cx, identified, Signed::Read).await?;
                let query = read::query(cx).await?;
                return read::answer(cx, &caller, query, Target::at(entity, Some(id))).await;
            }
            let signed = Signed::Body(Content::Fields, &body);
            (authenticate::verify(cx, identified, signed).await?, Some(body))
        }
        _ => {
            let (caller, body) = authenticate::with_body(cx, Content::Fields, body).await?;
            (caller, Some(body))
        }
    };
    let target = if if_match.is_none() { preferred(cx, target) } else { target };
    let is_merge = matches!(target, WriteTarget::Merge { .. });
    if let (WriteTarget::Create { .. }, Some(body)) = (target, &body)
        && many::is_list(body)
    {
        return many::create(cx, &caller, target, body).await;
    }
    let fields = body.as_ref().map(|body| fields(cx.head.headers, body)).transpose()?;
    cx.audit(|details| fields.iter().for_each(|fields| details.set_fields(fields)));
    let shape = shape(cx, &caller).await?;
    let principal = caller.principal();
    let mut write = WriteRequest::new(target).with_principal(principal.as_deref());
    if let Some(fields) = &fields {
        write = write.with_fields(fields);
    }
    if let Some(Shape { format, text, params }) = &shape {
        write = write.with_reply((*format, text.as_str())).with_reply_params(params.as_ref());
    }
    let mutation = cx.shared.mesh.plan_write(&write);
    let mutation = mutation.map_err(|error| error_log::logged(cx.request_id(), error))?;
    let is_compared = matches!(if_match, Some(IfMatch::Digests(_)));
    if shape.is_none() && (is_compared || mutation.reply(&Key::default()).is_some()) {
        // The default shape, all scalar fields, is not a registered one.
        cx.shared.queries.allow_unregistered()?;
    }
    let expected = if_match.map(|if_match| expected(cx, &write, &mutation, if_match)).transpose()?;
    admission::begin_write(cx)?;
    let context = cx.write_context(&caller);
    let WriteReply { entity, id, body, created, .. } =
        commit_and_read(&cx.shared.mesh, &cx.shared.options.changes, mutation, expected, context).await?;
    if !id.is_empty() {
        cx.audit(|details| details.id = Some(id.clone()));
    }
    let location = created.then(|| cx.shared.location(&entity, &id));
    let body = body.unwrap_or_default().map(|body| body.bytes);
    let mut reply = response::written(&cx.head, location, body);
    if is_merge {
        response::set_merged(&mut reply);
    }
    Ok(reply.map(Body::from))
}

/// Returns the write that the client prefers. `SPEC §18.2`
fn preferred<'a>(cx: &RequestContext<'_>, target: WriteTarget<'a>) -> WriteTarget<'a> {
    match target {
        WriteTarget::Update { entity, id } if request::merges_duplicates(cx.head.headers) => {
            WriteTarget::Merge { entity, id }
        }
        target => target,
    }
}

/// Plans the check that a record is in the state that a write requires.
fn expected(
    cx: &RequestContext<'_>,
    write: &WriteRequest<'_>,
    mutation: &Mutation,
    if_match: IfMatch,
) -> Result<Expected, WireError> {
    let digests = match if_match {
        IfMatch::Any => None,
        IfMatch::Digests(digests) => Some(digests),
    };
    let expected = cx.shared.mesh.plan_expected(write, mutation, digests);
    expected.map_err(|error| error_log::logged(cx.request_id(), error))
}

/// The query that shapes the reply of a write.
pub(crate) struct Shape {
    pub(crate) format: Format,
    pub(crate) text: String,
    /// The defaults of the parameters of a registered query. Other values are not covered by the signature of a write.
    pub(crate) params: Option<ParamValues>,
}

/// Returns the query that shapes the reply, if the request has one.
pub(crate) async fn shape(cx: &RequestContext<'_>, caller: &Caller) -> Result<Option<Shape>, WireError> {
    if cx.mesh_headers.query.is_none() && cx.mesh_headers.query_id.is_none() {
        return Ok(None);
    }
    let (query, queries) = (read::query(cx).await?, &cx.shared.queries);
    let (format, text) = queries.text(&query)?;
    queries.check_registrable(caller, &query)?;
    let params = query.complete_params()?.map(Cow::into_owned);
    Ok(Some(Shape { format, text: text.into_owned(), params }))
}
