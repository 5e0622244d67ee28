//! `POST {base}/mcp`: the Model Context Protocol over HTTP, without sessions. Each message is a separate request.

mod calls;

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, ORIGIN};
use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri};
use http_body_util::{BodyExt as _, Full};
use mesh_integrity::IntegrityError;
use mesh_wire::{ErrorKind, WireError, request, response};
use rmcp::model::{CallToolResult, ContentBlock, ErrorData};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::mpsc;

use self::calls::{CallerTools, Fault};
use crate::identity::signed::Content;
use crate::mcp::PreparedTools;
use crate::mcp::handler::{ProtocolHandler, ToolRequest, ToolRequests};
use crate::pipeline::authenticate;
use crate::pipeline::body::{Body, RequestBody};
use crate::pipeline::context::RequestContext;
use crate::pipeline::respond;

/// Answers a message.
pub(crate) async fn answer(
    cx: &RequestContext<'_>,
    tools: &PreparedTools,
    body: RequestBody,
) -> Result<Response<Body>, WireError> {
    check_origin(cx)?;
    request::IfMatch::refuse(cx.head.headers)?;
    let content = Content::Tools { writes: tools.options.writes };
    let (caller, body) = authenticate::with_body(cx, content, body).await?;
    request::check_json(cx.head.headers)?;
    let calls = CallerTools { cx, tools, caller: &caller };
    let (requests, mut queue) = mpsc::channel(1);
    let service = service(ToolRequests(requests));
    let mut answering = pin!(service.handle(message(cx.head.headers, body)));
    let reply = loop {
        tokio::select! {
            reply = &mut answering => break reply,
            Some(request) = queue.recv() => run(&calls, request).await?,
        }
    };
    let (head, body) = reply.into_parts();
    // The body is in memory. Its write may have taken effect, so no deadline applies.
    let Ok(body) = body.collect().await.map(|body| body.to_bytes());
    let is_json =
        head.headers.get(CONTENT_TYPE).is_some_and(|ty| ty.as_bytes().starts_with(b"application/json"));
    if !is_json && head.status.is_client_error() {
        let mut error = WireError::transport(String::from_utf8_lossy(&body).into_owned());
        error.status = head.status;
        return Err(error);
    }
    let mut reply = response::written(&cx.head, None, Some(body).filter(|body| !body.is_empty()));
    *reply.status_mut() = head.status;
    Ok(reply.map(Body::from))
}

/// Answers a request of the client.
///
/// # Errors
/// The client may not do this, or not now. The error determines the status of the request, as on other routes.
async fn run(calls: &CallerTools<'_, '_>, request: ToolRequest) -> Result<(), WireError> {
    // The receiver is gone only if the client is gone.
    match request {
        ToolRequest::List(reply) => drop(reply.send(calls.list())),
        ToolRequest::Call(call, reply) => {
            let result = match calls.call(&call.name, call.arguments.unwrap_or_default()).await {
                Ok(text) => Ok(CallToolResult::success(vec![ContentBlock::text(text)])),
                Err(Fault::UnknownTool(message)) => Err(ErrorData::invalid_params(message, None)),
                Err(Fault::Error(error)) => match error.kind {
                    ErrorKind::Integrity | ErrorKind::RateLimit | ErrorKind::Unavailable => {
                        return Err(*error);
                    }
                    _ => {
                        respond::report(calls.cx, &error);
                        Ok(CallToolResult::error(vec![ContentBlock::text(calls.error_text(&error))]))
                    }
                },
            };
            drop(reply.send(result));
        }
    }
    Ok(())
}

/// Refuses messages from web pages of other origins, unless `cors.origins` allows them. Browsers send some requests
/// without a preflight, and the server may be reachable only from the machine of the user.
fn check_origin(cx: &RequestContext<'_>) -> Result<(), WireError> {
    let headers = cx.head.headers;
    let is_own = |origin: &HeaderValue| {
        let host = headers.get(HOST).map(HeaderValue::as_bytes);
        let host = host.or_else(|| cx.uri.authority().map(|authority| authority.as_str().as_bytes()));
        let origin: Option<Uri> = origin.to_str().ok().and_then(|origin| origin.parse().ok());
        let authority =
            origin.as_ref().and_then(Uri::authority).map(|authority| authority.as_str().as_bytes());
        authority.is_some() && authority == host
    };
    let is_allowed =
        |origin| cx.shared.options.cors.as_ref().is_some_and(|cors| cors.allows(origin)) || is_own(origin);
    if headers.get_all(ORIGIN).iter().all(is_allowed) {
        Ok(())
    } else {
        Err(IntegrityError::Forbidden.into())
    }
}

/// Returns the request for the SDK: the body, and the headers of the protocol.
fn message(headers: &HeaderMap, body: Bytes) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = Method::POST;
    request.headers_mut().insert(HOST, HeaderValue::from_static("localhost"));
    for (name, value) in headers {
        if name.as_str().starts_with("mcp-") || matches!(name.as_str(), "accept" | "content-type") {
            request.headers_mut().append(name, value.clone());
        }
    }
    request
}

/// Returns the service of the SDK. Hosts, origins and the size of the body have already been checked.
fn service(
    requests: ToolRequests,
) -> StreamableHttpService<ProtocolHandler<ToolRequests>, NeverSessionManager> {
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(usize::MAX);
    StreamableHttpService::new(move || Ok(ProtocolHandler(requests.clone())), Arc::default(), config)
}
