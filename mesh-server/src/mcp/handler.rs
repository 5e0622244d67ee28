//! The protocol's side of the tools: what the SDK calls.

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use tokio::sync::{mpsc, oneshot};

use super::built_in::INSTRUCTIONS;

/// Lists and calls the tools of one client.
pub(crate) trait Tools: Send + Sync + 'static {
    fn list(&self) -> impl Future<Output = Result<Vec<Tool>, ErrorData>> + Send;

    fn call(
        &self,
        call: CallToolRequestParams,
    ) -> impl Future<Output = Result<CallToolResult, ErrorData>> + Send;
}

/// Answers the messages of the protocol.
#[derive(Clone, Debug)]
pub(crate) struct Handler<T>(pub(crate) T);

impl<T: Tools> ServerHandler for Handler<T> {
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

/// What a client wants of the tools.
pub(crate) enum Job {
    List(oneshot::Sender<Vec<Tool>>),
    Call(Box<CallToolRequestParams>, oneshot::Sender<Result<CallToolResult, ErrorData>>),
}

/// Tools whose jobs are done by the request that has authenticated the client: it cannot be lent to the tasks of the SDK.
#[derive(Clone, Debug)]
pub(crate) struct Jobs(pub(crate) mpsc::Sender<Job>);

impl Jobs {
    async fn done<T>(&self, job: impl FnOnce(oneshot::Sender<T>) -> Job) -> Result<T, ErrorData> {
        let gone = || ErrorData::internal_error("The request has ended", None);
        let (done, result) = oneshot::channel();
        self.0.send(job(done)).await.map_err(|_| gone())?;
        result.await.map_err(|_| gone())
    }
}

impl Tools for Jobs {
    async fn list(&self) -> Result<Vec<Tool>, ErrorData> {
        self.done(Job::List).await
    }

    async fn call(&self, call: CallToolRequestParams) -> Result<CallToolResult, ErrorData> {
        self.done(|done| Job::Call(Box::new(call), done)).await?
    }
}
