//! The client of the official Rust SDK of the Model Context Protocol, over standard input and output and over HTTP.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

use std::process::Stdio;

use mesh_tests::{Database, Server, command};
use rmcp::ServiceExt as _;
use rmcp::model::CallToolRequestParams;
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use serde_json::{Value, json};

/// Runs a future.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(future)
}

/// Lists the tools and calls some of them.
async fn use_tools(client: RunningService<RoleClient, ()>) {
    let tools = client.list_all_tools().await.unwrap();
    let names: Vec<_> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["describe_schema", "check_query", "run_query", "explain_query"]);
    assert!(tools.iter().all(|tool| tool.annotations.as_ref().unwrap().read_only_hint == Some(true)));
    let call = async |name: &'static str, arguments: Value| {
        let arguments = arguments.as_object().unwrap().clone();
        let result =
            client.call_tool(CallToolRequestParams::new(name).with_arguments(arguments)).await.unwrap();
        let text = result.content[0].as_text().unwrap().text.clone();
        (result.is_error == Some(true), serde_json::from_str::<Value>(&text).unwrap())
    };
    let (_, schema) = call("describe_schema", json!({"entity": "post"})).await;
    assert_eq!(schema["relations"]["author"], "user");
    let (is_error, post) =
        call("run_query", json!({"query": "{ post title author { name } }", "id": 2})).await;
    assert_eq!((is_error, post), (false, json!({"title": "Slow bread", "author": {"name": "Bo"}})));
    let (is_error, error) = call("run_query", json!({"query": "{ post titel }"})).await;
    assert_eq!((is_error, &error["line"], &error["column"]), (true, &json!(1), &json!(8)));
    assert!(error["message"].as_str().unwrap().contains("did you mean 'title'"), "{error}");
    assert!(client.call_tool(CallToolRequestParams::new("nothing")).await.is_err());
    client.cancel().await.unwrap();
}

#[test]
fn the_sdk_uses_the_tools_on_standard_input_and_output() {
    let blog = Database::blog();
    let command = command(&["mcp", "--log", "off", "--database", &blog.url()]);
    block_on(async {
        let mut command = tokio::process::Command::from(command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let streams = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        use_tools(().serve(streams).await.unwrap()).await;
        assert!(child.wait().await.unwrap().success());
    });
}

#[test]
fn the_sdk_uses_the_tools_over_http() {
    let blog = Database::blog();
    let config =
        blog.dir.write("mesh.toml", &format!("database = \"{}\"\n[mcp]\nenabled = true\n", blog.url()));
    let server = Server::start(&["--config", &config]);
    // The process needs a default provider, because two crates could choose one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    block_on(async {
        let url = format!("http://{}{}/mcp", server.address, server.base);
        use_tools(().serve(StreamableHttpClientTransport::from_uri(url)).await.unwrap()).await;
    });
}
