//! The form of the reply to a read of a collection, chosen by `Accept`: a page, a stream of the page, or an export.
//! `SPEC §10.6`, `SPEC §16.1`

use mesh_plan::backend::ExportFormat;
use mesh_wire::request::preferred_type;
use mesh_wire::sse;

use crate::app::exports::Exports;
use crate::events::Hub;
use crate::pipeline::context::RequestContext;

/// The form of the reply.
pub(crate) enum ReplyForm<'a> {
    Page,
    Stream(&'a Hub),
    Export(&'a Exports, ExportFormat),
}

impl<'a> ReplyForm<'a> {
    /// Returns the form that a request asks for. If its profile is off, the reply is a page.
    pub(crate) fn from_request(cx: &RequestContext<'a>) -> Self {
        let [ndjson, csv] = ExportFormat::ALL.map(ExportFormat::media_type);
        let Some(wanted) = preferred_type(cx.head.headers, &[sse::MEDIA_TYPE, ndjson, csv]) else {
            return Self::Page;
        };
        let form = match ExportFormat::ALL.into_iter().find(|format| format.media_type() == wanted) {
            Some(format) => cx.shared.exports.as_ref().map(|exports| Self::Export(exports, format)),
            None => cx.shared.hub.as_ref().map(Self::Stream),
        };
        form.unwrap_or(Self::Page)
    }
}
