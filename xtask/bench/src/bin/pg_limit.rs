//! The reads of the benchmark, hand-written over hyper and tokio-postgres: hard-coded SQL, prepared once per connection, and
//! JSON written from rows as they arrive.

use std::cell::Cell;
use std::convert::Infallible;
use std::rc::Rc;

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
use mesh_bench::{argument, json};
use tokio::net::TcpListener;
use tokio_postgres::types::{FromSql, Type};
use tokio_postgres::{Client, NoTls, Row, Statement};

type Error = Box<dyn std::error::Error + Send + Sync>;

const CONNECTIONS: usize = 16;
const PAGE: usize = 20;

const SCALARS: &str = "SELECT id, title, body, published, views, published_at FROM posts WHERE id = $1";
/// One row per comment, with the columns of its post.
const POST: &str = "SELECT p.id, p.title, u.name, c.id, c.body, a.name FROM posts p JOIN users u ON u.id = p.author_id \
    LEFT JOIN comments c ON c.post_id = p.id LEFT JOIN users a ON a.id = c.author_id WHERE p.id = $1 ORDER BY c.id";
const NEWEST: &str = "SELECT p.id, p.title, p.published_at, u.name FROM posts p JOIN users u ON u.id = p.author_id \
    WHERE p.published ORDER BY p.published_at DESC, p.id DESC LIMIT 21";
const DEEP: &str = "SELECT p.id, p.title, p.published_at, u.name, c.id, c.body, a.name \
    FROM (SELECT * FROM posts WHERE published ORDER BY published_at DESC, id DESC LIMIT 21) p \
    JOIN users u ON u.id = p.author_id LEFT JOIN comments c ON c.post_id = p.id \
    LEFT JOIN users a ON a.id = c.author_id ORDER BY p.published_at DESC, p.id DESC, c.id";

struct Link {
    client: Client,
    scalars: Statement,
    post: Statement,
    newest: Statement,
    deep: Statement,
}

impl Link {
    async fn open(url: &str) -> Result<Self, Error> {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
        tokio::spawn(connection);
        client.batch_execute("SET jit = off").await?;
        Ok(Self {
            scalars: client.prepare(SCALARS).await?,
            post: client.prepare(POST).await?,
            newest: client.prepare(NEWEST).await?,
            deep: client.prepare(DEEP).await?,
            client,
        })
    }

    async fn answer(&self, path: &str) -> Result<Option<Vec<u8>>, Error> {
        let mut out = Vec::with_capacity(1_024);
        if let Some(id) = number(path, "/w1/") {
            scalars(&mut out, &self.client.query(&self.scalars, &[&id]).await?)?;
        } else if let Some(id) = number(path, "/w2/") {
            post(&mut out, &self.client.query(&self.post, &[&id]).await?)?;
        } else if path == "/w3" {
            newest(&mut out, &self.client.query(&self.newest, &[]).await?, false)?;
        } else if path == "/w4" {
            newest(&mut out, &self.client.query(&self.deep, &[]).await?, true)?;
        } else {
            return Ok(None);
        }
        Ok(Some(out))
    }
}

fn scalars(out: &mut Vec<u8>, rows: &[Row]) -> Result<(), Error> {
    let Some(row) = rows.first() else {
        out.extend_from_slice(b"null");
        return Ok(());
    };
    out.extend_from_slice(b"{\"id\":");
    json::integer(out, row.try_get::<_, i32>(0)?.into());
    out.extend_from_slice(b",\"title\":");
    json::text(out, row.try_get(1)?);
    out.extend_from_slice(b",\"body\":");
    json::text(out, row.try_get(2)?);
    out.extend_from_slice(b",\"published\":");
    out.extend_from_slice(if row.try_get(3)? { b"true" } else { b"false" });
    out.extend_from_slice(b",\"views\":");
    json::integer(out, row.try_get::<_, i32>(4)?.into());
    out.extend_from_slice(b",\"publishedAt\":\"");
    out.extend_from_slice(row.try_get::<_, Moment>(5)?.text().as_bytes());
    out.extend_from_slice(b"\"}");
    Ok(())
}

fn post(out: &mut Vec<u8>, rows: &[Row]) -> Result<(), Error> {
    let Some(row) = rows.first() else {
        out.extend_from_slice(b"null");
        return Ok(());
    };
    out.extend_from_slice(b"{\"title\":");
    json::text(out, row.try_get(1)?);
    author(out, row, 2)?;
    comments(out, rows, 3)?;
    out.push(b'}');
    Ok(())
}

fn author(out: &mut Vec<u8>, row: &Row, column: usize) -> Result<(), Error> {
    out.extend_from_slice(b",\"author\":{\"name\":");
    json::text(out, row.try_get(column)?);
    out.push(b'}');
    Ok(())
}

/// Writes the comments of rows with the same post.
fn comments(out: &mut Vec<u8>, rows: &[Row], column: usize) -> Result<(), Error> {
    out.extend_from_slice(b",\"comments\":[");
    for (place, row) in rows.iter().enumerate() {
        if row.try_get::<_, Option<i32>>(column)?.is_none() {
            break;
        }
        out.extend_from_slice(if place == 0 { b"{\"body\":" } else { b",{\"body\":" });
        json::text(out, row.try_get(column + 1)?);
        author(out, row, column + 2)?;
        out.push(b'}');
    }
    out.push(b']');
    Ok(())
}

fn newest(out: &mut Vec<u8>, rows: &[Row], with_comments: bool) -> Result<(), Error> {
    let mut posts: Vec<&[Row]> = Vec::with_capacity(PAGE + 1);
    let id = |row: &Row| row.try_get::<_, i32>(0).unwrap_or_default();
    posts.extend(rows.chunk_by(|one, other| id(one) == id(other)));
    let (mut start, mut end) = (Vec::new(), Vec::new());
    out.extend_from_slice(b"{\"items\":[");
    for (place, rows) in posts.iter().take(PAGE).enumerate() {
        let Some(row) = rows.first() else { continue };
        let moment = row.try_get::<_, Moment>(2)?.text();
        end.clear();
        end.extend_from_slice(moment.as_bytes());
        end.push(b' ');
        json::integer(&mut end, id(row).into());
        if place == 0 {
            start.clone_from(&end);
        } else {
            out.push(b',');
        }
        out.extend_from_slice(b"{\"id\":");
        json::integer(out, id(row).into());
        out.extend_from_slice(b",\"title\":");
        json::text(out, row.try_get(1)?);
        out.extend_from_slice(b",\"publishedAt\":\"");
        out.extend_from_slice(moment.as_bytes());
        out.push(b'"');
        author(out, row, 3)?;
        if with_comments {
            comments(out, rows, 4)?;
        }
        out.push(b'}');
    }
    out.extend_from_slice(b"],\"pageInfo\":{\"hasNextPage\":");
    out.extend_from_slice(if posts.len() > PAGE { b"true" } else { b"false" });
    out.extend_from_slice(b",\"startCursor\":\"");
    out.extend_from_slice(URL_SAFE_NO_PAD.encode(&start).as_bytes());
    out.extend_from_slice(b"\",\"endCursor\":\"");
    out.extend_from_slice(URL_SAFE_NO_PAD.encode(&end).as_bytes());
    out.extend_from_slice(b"\"}}");
    Ok(())
}

/// Microseconds since the year 2000.
struct Moment(i64);

impl<'a> FromSql<'a> for Moment {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Error> {
        Ok(Self(i64::from_be_bytes(raw.try_into()?)))
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::TIMESTAMPTZ
    }
}

impl Moment {
    fn text(&self) -> String {
        let seconds = self.0.div_euclid(1_000_000);
        let (days, of_day) = (seconds.div_euclid(86_400) + 10_957 + 719_468, seconds.rem_euclid(86_400));
        let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let years = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * years + years / 4 - years / 100);
        let shifted = (5 * of_year + 2) / 153;
        let month = (shifted + 2) % 12 + 1;
        let (year, day) = (years + era * 400 + i64::from(month <= 2), of_year - (153 * shifted + 2) / 5 + 1);
        let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

fn number(path: &str, prefix: &str) -> Option<i32> {
    path.strip_prefix(prefix)?.parse().ok()
}

fn reply(body: Result<Option<Vec<u8>>, Error>) -> Response<Full<Bytes>> {
    let (status, body) = match body {
        Ok(Some(body)) => (StatusCode::OK, Bytes::from(body)),
        Ok(None) => (StatusCode::NOT_FOUND, Bytes::new()),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string().into()),
    };
    let mut reply = Response::new(Full::new(body));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    reply
}

fn main() -> Result<(), Error> {
    let url = argument("--database").ok_or("--database URL is missing")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let mut links = Vec::with_capacity(CONNECTIONS);
        for _ in 0..CONNECTIONS {
            links.push(Link::open(&url).await?);
        }
        let links: Rc<[Link]> = links.into();
        let next = Rc::new(Cell::new(0usize));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("listening on http://{}", listener.local_addr()?);
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let (links, next) = (Rc::clone(&links), Rc::clone(&next));
            tokio::task::spawn_local(async move {
                let service = service_fn(move |request: Request<Incoming>| {
                    let links = Rc::clone(&links);
                    let turn = next.get();
                    next.set(turn.wrapping_add(1));
                    async move {
                        let answer = links[turn % CONNECTIONS].answer(request.uri().path()).await;
                        Ok::<_, Infallible>(reply(answer))
                    }
                });
                let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            });
        }
    })
}
