//! The protocol over a pair of streams, such as standard input and output. Each call is sent to the application as a request.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST};
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use rmcp::model::{CallToolRequestParams, CallToolResult, ContentBlock, ErrorData, ListToolsResult, Tool};
use rmcp::transport::async_rw::AsyncRwTransport;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};

use super::handler::{ProtocolHandler, ToolProvider};
use crate::App;

impl App {
    /// Serves the tools of [`crate::AppOptions::mcp`] to one client until it closes its side. Messages are lines of
    /// JSON; lines longer than the limit of request bodies are dropped.
    ///
    /// The requests have no credentials, so [`crate::AppOptions::local_principal`] decides what the client may do.
    ///
    /// # Errors
    /// The client does not speak the protocol, or a stream fails.
    pub async fn serve_mcp<R, W>(&self, input: R, output: W) -> Result<(), crate::BoxError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let Some(tools) = &self.shared.mcp else {
            return Err("the application has no tools for agents".into());
        };
        let limit = self.shared.options.limits.body_bytes;
        let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(limit);
        let client = LocalClient { app: self.clone(), path: tools.path.clone() };
        match rmcp::serve_server(ProtocolHandler(client), transport).await {
            Ok(running) => running.waiting().await.map(drop).map_err(Into::into),
            // The client closed the connection before it sent a message.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The only client of [`App::serve_mcp`]. Its calls are sent to the application as requests.
#[derive(Clone, Debug)]
struct LocalClient {
    app: App,
    path: String,
}

impl LocalClient {
    /// Sends a message and returns its result, or the text of a refusal by the pipeline.
    async fn send<T: DeserializeOwned>(
        &self,
        method: &str,
        params: &impl serde::Serialize,
    ) -> Result<Result<T, String>, ErrorData> {
        let failed = |error: &dyn std::fmt::Display| ErrorData::internal_error(error.to_string(), None);
        let message = json!({"jsonrpc": "2.0", "id": 0, "method": method, "params": params}).to_string();
        let request = Request::builder()
            .method(Method::POST)
            .uri(self.path.as_str())
            .header(HOST, "localhost")
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .body(Full::new(Bytes::from(message)))
            .map_err(|error| failed(&error))?;
        let reply = self.app.handle(request).await;
        let body = reply.into_body().collect().await.map_err(|error| failed(&error))?.to_bytes();
        let mut reply: Value = serde_json::from_slice(&body).map_err(|error| failed(&error))?;
        if let Some(result) = reply.get_mut("result") {
            return serde_json::from_value(result.take()).map(Ok).map_err(|error| failed(&error));
        }
        match reply.get_mut("error").filter(|error| error.is_object()) {
            Some(error) => Err(serde_json::from_value(error.take()).map_err(|error| failed(&error))?),
            None => Ok(Err(reply.to_string())),
        }
    }
}

impl ToolProvider for LocalClient {
    async fn list(&self) -> Result<Vec<Tool>, ErrorData> {
        match self.send::<ListToolsResult>("tools/list", &json!({})).await? {
            Ok(listed) => Ok(listed.tools),
            Err(refusal) => Err(ErrorData::internal_error(refusal, None)),
        }
    }

    async fn call(&self, call: CallToolRequestParams) -> Result<CallToolResult, ErrorData> {
        let params = json!({"name": call.name, "arguments": call.arguments.unwrap_or_default()});
        let result = self.send("tools/call", &params).await?;
        Ok(result.unwrap_or_else(|refusal| CallToolResult::error(vec![ContentBlock::text(refusal)])))
    }
}
