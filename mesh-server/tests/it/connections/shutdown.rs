//! A shutdown while clients connect.

use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use mesh_server::Server;

use super::served::{Served, app, text};

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
