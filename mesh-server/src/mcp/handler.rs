//! The interface between the SDK of the protocol and the tools.

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use tokio::sync::{mpsc, oneshot};

use super::built_in::INSTRUCTIONS;

/// Lists and calls the tools of one client.
pub(crate) trait ToolProvider: Send + Sync + 'static {
    fn list(&self) -> impl Future<Output = Result<Vec<Tool>, ErrorData>> + Send;

    fn call(
        &self,
        call: CallToolRequestParams,
    ) -> impl Future<Output = Result<CallToolResult, ErrorData>> + Send;
}

/// Answers the messages of the protocol.
#[derive(Clone, Debug)]
pub(crate) struct ProtocolHandler<T>(pub(crate) T);

impl<T: ToolProvider> ServerHandler for ProtocolHandler<T> {
    fn get_info(&self) -> ServerConfig {
        let server = Implementation::new("mesh-server", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(server)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.0.list().await.map(ListToolsResult::with_all_items)
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.0.call(call).await.map(CallToolResponse::from)
    }
}

/// A request of a client, with the channel for its result.
pub(crate) enum ToolRequest {
    List(oneshot::Sender<Vec<Tool>>),
    Call(Box<CallToolRequestParams>, oneshot::Sender<Result<CallToolResult, ErrorData>>),
}

/// Sends tool requests from the tasks of the SDK to the HTTP request that has authenticated the client, because those
/// tasks cannot borrow that request.
#[derive(Clone, Debug)]
pub(crate) struct ToolRequests(pub(crate) mpsc::Sender<ToolRequest>);

impl ToolRequests {
    async fn send<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> ToolRequest) -> Result<T, ErrorData> {
        let gone = || ErrorData::internal_error("The request has ended", None);
        let (reply, result) = oneshot::channel();
        self.0.send(request(reply)).await.map_err(|_| gone())?;
        result.await.map_err(|_| gone())
    }
}

impl ToolProvider for ToolRequests {
    async fn list(&self) -> Result<Vec<Tool>, ErrorData> {
        self.send(ToolRequest::List).await
    }

    async fn call(&self, call: CallToolRequestParams) -> Result<CallToolResult, ErrorData> {
        self.send(|reply| ToolRequest::Call(Box::new(call), reply)).await?
    }
}
