//! Servers with several worker threads.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use http::Version;
use mesh_server::mesh_plan::{Context, Mesh, Plan, ResolveError, Rows};
use mesh_server::mesh_schema::{FieldType, Schema};
use mesh_server::{App, Server, Workers};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::served::{ANSWER, Served, app, ask, row, text, within};

/// Longer than any wait of a test.
const LONG: Duration = Duration::from_secs(120);

async fn start(server: Server, workers: usize) -> Served {
    Served::start(Server { workers: Some(Workers::start(workers, || {}).unwrap()), ..server }).await
}

#[tokio::test]
async fn every_thread_serves_both_protocols() {
    for count in [2, 5, 0] {
        let mut served = start(Server::new(app()), count).await;
        // All connections are open before the first request, so each thread has some.
        let mut streams = Vec::new();
        for _ in 0..12 {
            streams.push(served.connect().await);
        }
        for (number, stream) in streams.into_iter().enumerate() {
            let version = if number % 2 == 0 { Version::HTTP_11 } else { Version::HTTP_2 };
            let entity = if number % 3 == 0 { "slow" } else { "quick" };
            assert_eq!(within(LONG, ask(stream, version, entity)).await, (200, ANSWER.to_owned()));
        }
        served.stop();
        served.ended().await;
    }
}

/// Returns the threads that answer over a number of concurrent connections.
async fn answering_threads(workers: usize, connections: usize) -> HashSet<ThreadId> {
    let seen = Arc::new(Mutex::new(HashSet::new()));
    let noted = Arc::clone(&seen);
    let schema = Schema::builder().entity("quick", |entity| entity.field("id", FieldType::Integer));
    let mesh = Mesh::builder(schema.build().unwrap()).resolver("quick", move |plan: Plan, _: Context| {
        noted.lock().unwrap().insert(thread::current().id());
        async move { Ok::<Rows, ResolveError>(row(&plan)) }
    });
    let served = start(Server::new(App::builder(mesh.build().unwrap()).build().unwrap()), workers).await;
    let mut streams = Vec::new();
    for _ in 0..connections {
        streams.push(served.connect().await);
    }
    for stream in streams {
        assert_eq!(within(LONG, ask(stream, Version::HTTP_11, "quick")).await, (200, ANSWER.to_owned()));
    }
    seen.lock().unwrap().clone()
}

#[tokio::test]
async fn connections_are_spread_over_all_threads() {
    let current = thread::current().id();
    let all = answering_threads(2, 6).await;
    assert_eq!((all.len(), all.contains(&current)), (3, true), "the accepting thread serves connections too");
    assert_eq!(answering_threads(0, 6).await, HashSet::from([current]));
}

#[tokio::test]
async fn a_shutdown_finishes_or_aborts_requests_on_all_threads() {
    let server = Server { shutdown_timeout: Duration::from_secs(3), ..Server::new(app()) };
    let mut served = start(server, 2).await;
    let mut streams = Vec::new();
    for entity in ["slow", "slow", "slow", "stuck", "stuck", "stuck"] {
        let mut stream = served.connect().await;
        stream.write_all(text(entity).as_bytes()).await.unwrap();
        streams.push(stream);
    }
    let over_http2 = tokio::spawn(ask(served.connect().await, Version::HTTP_2, "slow"));
    // Lets the requests start before the server stops. The result does not depend on it.
    tokio::time::sleep(Duration::from_millis(100)).await;
    served.stop();
    served.ended().await;
    assert_eq!(within(LONG, over_http2).await.unwrap(), (200, ANSWER.to_owned()));
    for (number, mut stream) in streams.into_iter().enumerate() {
        let mut reply = String::new();
        let _ = stream.read_to_string(&mut reply).await;
        assert_eq!(reply.ends_with(ANSWER), number < 3, "{number}: {reply:?}");
    }
}
