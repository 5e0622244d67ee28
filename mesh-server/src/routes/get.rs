//! Reads by GET. `Accept` chooses the form of the reply to a read of a collection: a page, a stream of the page, or an export.
//! `SPEC §2.2`, `SPEC §10.6`, `SPEC §16.1`

use http::Response;
use mesh_plan::RecordId;
use mesh_plan::backend::ExportFormat;
use mesh_wire::request::preferred_type;
use mesh_wire::{WireError, sse};

use super::{events, export};
use crate::app::exports::Exports;
use crate::events::Hub;
use crate::identity::signed::Signed;
use crate::pipeline::body::Body;
use crate::pipeline::context::RequestContext;
use crate::pipeline::query::Target;
use crate::pipeline::{authenticate, read};

/// Answers a read of a record.
pub(super) async fn point(
    cx: &RequestContext<'_>,
    entity: &str,
    id: RecordId<'_>,
) -> Result<Response<Body>, WireError> {
    let caller = authenticate::without_body(cx, Signed::Read).await?;
    let query = read::query(cx).await?;
    read::answer(cx, &caller, query, Target::at(entity, Some(id))).await
}

/// Answers a read of a collection.
pub(super) async fn collection(cx: &RequestContext<'_>, entity: &str) -> Result<Response<Body>, WireError> {
    let caller = authenticate::without_body(cx, Signed::Read).await?;
    let query = read::query(cx).await?;
    let target = Target::at(entity, None);
    match ReplyForm::from_request(cx) {
        ReplyForm::Page => read::answer(cx, &caller, query, target).await,
        ReplyForm::Stream(hub) => Box::pin(events::open(cx, hub, &caller, query, target)).await,
        ReplyForm::Export(exports, format) => {
            Box::pin(export::answer(cx, &caller, query, entity, exports, format)).await
        }
    }
}

/// The form of the reply.
enum ReplyForm<'a> {
    Page,
    Stream(&'a Hub),
    Export(&'a Exports, ExportFormat),
}

impl<'a> ReplyForm<'a> {
    /// Returns the form that a request asks for. If its profile is off, the reply is a page.
    fn from_request(cx: &RequestContext<'a>) -> Self {
        let [ndjson, csv] = ExportFormat::ALL.map(ExportFormat::media_type);
        let Some(wanted) = preferred_type(cx.head.headers, &[sse::MEDIA_TYPE, ndjson, csv]) else {
            return Self::Page;
        };
        let form = match ExportFormat::ALL.into_iter().find(|format| format.media_type() == wanted) {
            Some(format) => cx.shared.options.exports.as_ref().map(|exports| Self::Export(exports, format)),
            None => cx.shared.hub.as_ref().map(Self::Stream),
        };
        form.unwrap_or(Self::Page)
    }
}
