//! HTTP of the hand-written servers: bare hyper on one thread.

use std::convert::Infallible;
use std::rc::Rc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use crate::{Ask, Error};

/// Serves requests until the process is killed. Prints the address first.
pub async fn serve(answer: impl AsyncFn(Ask<'_>) -> Result<Bytes, Error> + 'static) -> Result<(), Error> {
    let answer = Rc::new(answer);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let answer = Rc::clone(&answer);
        tokio::task::spawn_local(async move {
            let service = service_fn(|request: Request<Incoming>| {
                let answer = &answer;
                async move { Ok::<_, Infallible>(reply(handle(&**answer, request).await)) }
            });
            // Sending a head and a short body with one `send` is faster than `writev`.
            let mut connection = http1::Builder::new();
            let _ = connection.writev(false).serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn handle(
    answer: &impl AsyncFn(Ask<'_>) -> Result<Bytes, Error>,
    request: Request<Incoming>,
) -> Result<Bytes, Error> {
    let path = request.uri().path();
    // The root is the request of workloads without a record.
    let id = if path.len() > 1 { path[1..].parse()? } else { 0 };
    if request.method() == Method::GET {
        return answer(Ask { id, body: b"" }).await;
    }
    let body = request.into_body().collect().await?.to_bytes();
    answer(Ask { id, body: &body }).await
}

fn reply(body: Result<Bytes, Error>) -> Response<Full<Bytes>> {
    let (status, body) = match body {
        Ok(body) => (StatusCode::OK, body),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string().into()),
    };
    let mut reply = Response::new(Full::new(body));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    reply
}
