//! The reads of the benchmark, hand-written over hyper and SQLite: hard-coded SQL and JSON, statements prepared once,
//! everything on one thread.
//!
//! With `--constant` it always returns the reply for the first record, created at start: the limit of HTTP alone.

use std::cell::RefCell;
use std::convert::Infallible;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use mesh_bench::{argument, json, open};
use rusqlite::{Connection, Row, Statement};
use tokio::net::TcpListener;

type Error = Box<dyn std::error::Error + Send + Sync>;

const PAGE: usize = 20;

/// The prepared statements of all reads.
struct Reads {
    begin: Statement<'static>,
    commit: Statement<'static>,
    scalars: Statement<'static>,
    post: Statement<'static>,
    newest: Statement<'static>,
    comments: Statement<'static>,
    user: Statement<'static>,
}

impl Reads {
    fn prepare(connection: &'static Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            begin: connection.prepare("BEGIN")?,
            commit: connection.prepare("COMMIT")?,
            scalars: connection
                .prepare("SELECT id, title, body, published, views, published_at FROM posts WHERE id = ?")?,
            post: connection.prepare("SELECT title, author_id FROM posts WHERE id = ?")?,
            newest: connection.prepare(
                "SELECT id, title, published_at, author_id FROM posts WHERE published = 1 \
                 ORDER BY published_at DESC, id DESC LIMIT 21",
            )?,
            comments: connection
                .prepare("SELECT body, author_id FROM comments WHERE post_id = ? ORDER BY id")?,
            user: connection.prepare("SELECT name FROM users WHERE id = ?")?,
        })
    }

    /// Runs a read in a transaction.
    fn answer(&mut self, path: &str) -> rusqlite::Result<Option<Vec<u8>>> {
        let mut out = Vec::with_capacity(1_024);
        self.begin.raw_execute()?;
        let known = if let Some(id) = number(path, "/w1/") {
            self.scalars(&mut out, id)?;
            true
        } else if let Some(id) = number(path, "/w2/") {
            self.post(&mut out, id)?;
            true
        } else if path == "/w3" {
            self.newest(&mut out, false)?;
            true
        } else if path == "/w4" {
            self.newest(&mut out, true)?;
            true
        } else {
            false
        };
        self.commit.raw_execute()?;
        Ok(known.then_some(out))
    }

    fn scalars(&mut self, out: &mut Vec<u8>, id: i64) -> rusqlite::Result<()> {
        self.scalars.raw_bind_parameter(1, id)?;
        let mut rows = self.scalars.raw_query();
        let Some(row) = rows.next()? else {
            out.extend_from_slice(b"null");
            return Ok(());
        };
        out.extend_from_slice(b"{\"id\":");
        json::integer(out, row.get_ref(0)?.as_i64()?);
        out.extend_from_slice(b",\"title\":");
        text(out, row, 1)?;
        out.extend_from_slice(b",\"body\":");
        text(out, row, 2)?;
        out.extend_from_slice(b",\"published\":");
        out.extend_from_slice(if row.get_ref(3)?.as_i64()? == 1 { b"true" } else { b"false" });
        out.extend_from_slice(b",\"views\":");
        json::integer(out, row.get_ref(4)?.as_i64()?);
        out.extend_from_slice(b",\"publishedAt\":");
        text(out, row, 5)?;
        out.push(b'}');
        Ok(())
    }

    fn post(&mut self, out: &mut Vec<u8>, id: i64) -> rusqlite::Result<()> {
        self.post.raw_bind_parameter(1, id)?;
        let mut rows = self.post.raw_query();
        let Some(row) = rows.next()? else {
            out.extend_from_slice(b"null");
            return Ok(());
        };
        out.extend_from_slice(b"{\"title\":");
        text(out, row, 0)?;
        author(out, &mut self.user, row.get_ref(1)?.as_i64()?)?;
        comments(out, &mut self.comments, &mut self.user, id)?;
        out.push(b'}');
        Ok(())
    }

    fn newest(&mut self, out: &mut Vec<u8>, with_comments: bool) -> rusqlite::Result<()> {
        let Self { newest, comments: below, user, .. } = self;
        out.extend_from_slice(b"{\"items\":[");
        let mut rows = newest.raw_query();
        let (mut count, mut more) = (0, false);
        let (mut start, mut end) = (Vec::new(), Vec::new());
        while let Some(row) = rows.next()? {
            if count == PAGE {
                more = true;
                break;
            }
            if count > 0 {
                out.push(b',');
            }
            let id = row.get_ref(0)?.as_i64()?;
            end.clear();
            end.extend_from_slice(row.get_ref(2)?.as_str()?.as_bytes());
            end.push(b' ');
            json::integer(&mut end, id);
            if count == 0 {
                start.clone_from(&end);
            }
            out.extend_from_slice(b"{\"id\":");
            json::integer(out, id);
            out.extend_from_slice(b",\"title\":");
            text(out, row, 1)?;
            out.extend_from_slice(b",\"publishedAt\":");
            text(out, row, 2)?;
            author(out, user, row.get_ref(3)?.as_i64()?)?;
            if with_comments {
                comments(out, below, user, id)?;
            }
            out.push(b'}');
            count += 1;
        }
        out.extend_from_slice(b"],\"pageInfo\":{\"hasNextPage\":");
        out.extend_from_slice(if more { b"true" } else { b"false" });
        out.extend_from_slice(b",\"startCursor\":\"");
        out.extend_from_slice(URL_SAFE_NO_PAD.encode(&start).as_bytes());
        out.extend_from_slice(b"\",\"endCursor\":\"");
        out.extend_from_slice(URL_SAFE_NO_PAD.encode(&end).as_bytes());
        out.extend_from_slice(b"\"}}");
        Ok(())
    }
}

fn text(out: &mut Vec<u8>, row: &Row<'_>, column: usize) -> rusqlite::Result<()> {
    json::text(out, row.get_ref(column)?.as_str()?);
    Ok(())
}

fn author(out: &mut Vec<u8>, user: &mut Statement<'static>, id: i64) -> rusqlite::Result<()> {
    user.raw_bind_parameter(1, id)?;
    let mut rows = user.raw_query();
    match rows.next()? {
        Some(row) => {
            out.extend_from_slice(b",\"author\":{\"name\":");
            text(out, row, 0)?;
            out.push(b'}');
        }
        None => out.extend_from_slice(b",\"author\":null"),
    }
    Ok(())
}

fn comments(
    out: &mut Vec<u8>,
    comments: &mut Statement<'static>,
    user: &mut Statement<'static>,
    post: i64,
) -> rusqlite::Result<()> {
    comments.raw_bind_parameter(1, post)?;
    out.extend_from_slice(b",\"comments\":[");
    let mut rows = comments.raw_query();
    let mut first = true;
    while let Some(row) = rows.next()? {
        out.extend_from_slice(if first { b"{\"body\":" } else { b",{\"body\":" });
        first = false;
        text(out, row, 0)?;
        author(out, user, row.get_ref(1)?.as_i64()?)?;
        out.push(b'}');
    }
    out.push(b']');
    Ok(())
}

fn number(path: &str, prefix: &str) -> Option<i64> {
    path.strip_prefix(prefix)?.parse().ok()
}

thread_local! {
    static READS: RefCell<Option<Reads>> = const { RefCell::new(None) };
}

fn read(path: &str) -> Result<Option<Bytes>, Error> {
    READS.with_borrow_mut(|reads| {
        let reads = reads.as_mut().ok_or("no connection")?;
        Ok(reads.answer(path)?.map(Bytes::from))
    })
}

fn reply(body: Result<Option<Bytes>, Error>) -> Response<Full<Bytes>> {
    let (status, body) = match body {
        Ok(Some(body)) => (StatusCode::OK, body),
        Ok(None) => (StatusCode::NOT_FOUND, Bytes::new()),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string().into()),
    };
    let mut reply = Response::new(Full::new(body));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    reply
}

fn main() -> Result<(), Error> {
    let path = PathBuf::from(argument("--database").ok_or("--database FILE is missing")?);
    let connection: &'static Connection = Box::leak(Box::new(open(&path)?));
    let reads = Reads::prepare(connection)?;
    READS.set(Some(reads));
    let constant = match argument("--constant") {
        Some(path) => Some(read(&path)?.ok_or("no such path")?),
        None => None,
    };
    tokio::runtime::Builder::new_current_thread().enable_io().build()?.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("listening on http://{}", listener.local_addr()?);
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let constant = constant.clone();
            tokio::spawn(async move {
                let service = service_fn(move |request: Request<Incoming>| {
                    let body = match &constant {
                        Some(body) => Ok(Some(body.clone())),
                        None => read(request.uri().path()),
                    };
                    async move { Ok::<_, Infallible>(reply(body)) }
                });
                let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            });
        }
    })
}
