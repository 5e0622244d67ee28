//! HTTP/2 without TLS, and a shutdown with active requests.

use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};
use mesh_server::mesh_plan::{Applied, Context, Mesh, Plan, ResolveError, Rows};
use mesh_server::mesh_schema::{FieldType, Schema};
use mesh_server::{App, Server, mesh_wire};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use super::served::{Served, app, text};

/// The number of reads that have started.
static STARTED: AtomicUsize = AtomicUsize::new(0);

/// Resolves a read so slowly that the shutdown starts in between.
async fn slow(plan: Plan, _: Context) -> Result<Rows, ResolveError> {
    STARTED.fetch_add(1, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(100)).await;
    let mut rows = Rows::new(&plan);
    rows.root().push_with(|_| 7.into());
    Ok(rows.applied(Applied::FILTER))
}

#[tokio::test]
async fn active_streams_finish_during_a_shutdown() {
    let schema =
        Schema::builder().entity("post", |post| post.field("id", FieldType::Integer)).build().unwrap();
    let app = App::builder(Mesh::builder(schema).resolver("post", slow).build().unwrap()).build().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(Server::new(app).serve(listener, async {
        let _ = stopped.await;
    }));

    let stream = TokioIo::new(TcpStream::connect(address).await.unwrap());
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await.unwrap();
    let running = tokio::spawn(connection);
    let mut replies = Vec::new();
    for id in 0..5 {
        let query = mesh_wire::base64::encode("{ post id }");
        let request = Request::get(format!("http://{address}/mesh/post/{id}"))
            .header("X-Mesh-Query", query)
            .header("X-Mesh-Format", "ql")
            .body(Empty::<Bytes>::new())
            .unwrap();
        sender.ready().await.unwrap();
        replies.push(tokio::spawn(sender.send_request(request)));
    }
    // All requests are active before the shutdown starts.
    while STARTED.load(Ordering::SeqCst) < replies.len() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    stop.send(()).unwrap();
    for reply in replies {
        let reply = reply.await.unwrap().unwrap();
        assert_eq!((reply.status().as_u16(), reply.version()), (200, http::Version::HTTP_2));
        assert_eq!(reply.into_body().collect().await.unwrap().to_bytes(), r#"{"id":7}"#);
    }
    drop(sender);
    tokio::time::timeout(Duration::from_secs(10), serving).await.unwrap().unwrap().unwrap();
    let _ = running.await;
}

/// Clients that connect all the time are not served any longer when the server stops.
#[tokio::test]
async fn a_shutdown_does_not_wait_for_clients_that_keep_connecting() {
    const CLIENTS: usize = 4;
    let mut served = Served::start(Server::new(app())).await;
    let (address, stopped) = (served.address, Arc::new(AtomicBool::new(false)));
    let answered = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let (stopped, answered) = (Arc::clone(&stopped), Arc::clone(&answered));
            thread::spawn(move || {
                let request = text("quick").replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
                while let Ok(mut stream) = std::net::TcpStream::connect(address) {
                    let mut reply = Vec::new();
                    let asked =
                        stream.write_all(request.as_bytes()).and_then(|()| stream.read_to_end(&mut reply));
                    if asked.is_ok() && stopped.load(Ordering::SeqCst) && !reply.is_empty() {
                        answered.fetch_add(1, Ordering::SeqCst);
                    }
                }
            })
        })
        .collect();
    served.stop();
    stopped.store(true, Ordering::SeqCst);
    served.ended().await;
    clients.into_iter().for_each(|client| client.join().unwrap());
    // One request under way and one connection in the backlog for each client.
    let answered = answered.load(Ordering::SeqCst);
    assert!(answered <= 2 * CLIENTS, "{answered}");
}
