//! What does a request to the docs surface get? Its routes, without an HTTP server.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderMap, HeaderName,
    HeaderValue, IF_NONE_MATCH, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use http::{Method, Response, StatusCode};
use mesh_plan::{Context, Mesh};

use crate::assets::{self, Asset};
use crate::execute::execute;
use crate::introspection::Introspection;
use crate::visible::Visible;
use crate::{Error, Options, Visitor, page};

const READS: &str = "GET, HEAD, OPTIONS";
const RUNS: &str = "POST, OPTIONS";
const JSON: &str = "application/json; charset=utf-8";
/// The name is in the file's digest, so another build has another URL.
const FOR_GOOD: &str = "public, max-age=31536000, immutable";

/// The docs surface: page, introspection and execute. `SPEC §13`
#[derive(Debug)]
pub struct Docs {
    mesh: Arc<Mesh>,
    options: Options,
    visible: Visible,
    page: Bytes,
}

/// What a request asks of the surface.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    what: What,
    is_head: bool,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Page,
    Asset(&'static Asset),
    Schema,
    Execute,
    Allow(&'static str),
}

impl Call {
    /// Whether it has a body that has to be read first.
    pub fn takes_body(&self) -> bool {
        matches!(self.what, What::Execute)
    }

    /// Whether it answers with data, for which the visitor must be let in; so the server has to look for a
    /// session. The page and its files are for everybody.
    pub fn is_guarded(&self) -> bool {
        matches!(self.what, What::Schema | What::Execute)
    }
}

impl Docs {
    /// A surface over a core, which it reads through like any other client, but in this process.
    pub fn new(mesh: impl Into<Arc<Mesh>>, options: Options) -> Self {
        let mesh = mesh.into();
        let visible = Visible::new(&mesh, options.entities.as_deref());
        let page = page::html(&options).into();
        Self { mesh, options, visible, page }
    }

    /// The options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The introspection, as it is for whoever asks.
    #[expect(clippy::expect_used, reason = "strings and numbers always have a JSON text")]
    fn schema(&self, context: &Context) -> Bytes {
        let schema = self.mesh.schema_for(context.principal.as_deref());
        let title = self.options.title.as_deref();
        let shown = Introspection::of(&schema, &self.visible, self.mesh.limits(), title);
        serde_json::to_vec(&shown).expect("plain data").into()
    }

    /// What a request asks of the surface; `None` where its path is not the surface's.
    pub fn call(&self, method: &Method, path: &str) -> Option<Result<Call, Error>> {
        let below = path.strip_prefix(&self.options.path)?;
        let what = match below.strip_suffix('/').unwrap_or(below) {
            "" => What::Page,
            "/schema" => What::Schema,
            "/execute" => What::Execute,
            other => match other.strip_prefix("/assets/").and_then(Asset::find) {
                Some(asset) => What::Asset(asset),
                // Mounted at the root, the surface must leave the other paths to others.
                None if self.options.path.is_empty() || !other.starts_with('/') => return None,
                None => return Some(Err(Error::NotFound)),
            },
        };
        let allow = if matches!(what, What::Execute) { RUNS } else { READS };
        let is_head = *method == Method::HEAD;
        Some(match *method {
            Method::OPTIONS => Ok(Call { what: What::Allow(allow), is_head }),
            Method::POST if allow == RUNS => Ok(Call { what, is_head }),
            Method::GET | Method::HEAD if allow == READS => Ok(Call { what, is_head }),
            _ => Err(Error::MethodNotAllowed(allow)),
        })
    }

    /// Answers a call. `body` is read where [`Call::takes_body`] says so; `now` measures how long it took.
    ///
    /// # Errors
    /// Whatever the surface refuses, and what reading meets.
    pub async fn answer(
        &self,
        call: Call,
        visitor: &Visitor<'_>,
        body: &[u8],
        now: fn() -> Instant,
    ) -> Result<Response<Bytes>, Error> {
        if call.is_guarded() {
            self.options.auth.check(visitor, self.options.offers.integrity)?;
        }
        let headers = visitor.headers;
        let mut reply = match call.what {
            What::Page => {
                let mut reply = cached(headers, self.page.clone(), "no-cache");
                set(&mut reply, CONTENT_TYPE, "text/html; charset=utf-8");
                set(&mut reply, CONTENT_SECURITY_POLICY, page::POLICY);
                reply
            }
            What::Asset(asset) => {
                let mut reply = cached(headers, Bytes::from_static(asset.bytes), FOR_GOOD);
                set(&mut reply, CONTENT_TYPE, asset.content_type);
                reply
            }
            What::Schema => {
                let policy = if self.options.auth.is_open() { "no-cache" } else { "private, no-cache" };
                let mut reply = cached(headers, self.schema(visitor.context), policy);
                set(&mut reply, CONTENT_TYPE, JSON);
                reply
            }
            What::Execute => {
                let (mesh, visible, sql) = (&*self.mesh, &self.visible, self.options.sql);
                let context = visitor.context.clone();
                let body = execute(mesh, visible, sql, (headers, body), context, now).await?;
                let mut reply = Response::new(body);
                set(&mut reply, CONTENT_TYPE, JSON);
                set(&mut reply, CACHE_CONTROL, "no-store");
                reply
            }
            What::Allow(allow) => {
                let mut reply = Response::new(Bytes::new());
                *reply.status_mut() = StatusCode::NO_CONTENT;
                set(&mut reply, ALLOW, allow);
                reply
            }
        };
        set(&mut reply, X_CONTENT_TYPE_OPTIONS, "nosniff");
        set(&mut reply, REFERRER_POLICY, "no-referrer");
        if call.is_head {
            let length = HeaderValue::from(reply.body().len());
            reply.headers_mut().insert(CONTENT_LENGTH, length);
            *reply.body_mut() = Bytes::new();
        }
        Ok(reply)
    }
}

fn set(reply: &mut Response<Bytes>, name: HeaderName, value: &'static str) {
    reply.headers_mut().insert(name, HeaderValue::from_static(value));
}

/// A reply that caches may keep as `policy` says; 304 for a client that has it.
fn cached(headers: &HeaderMap, body: Bytes, policy: &'static str) -> Response<Bytes> {
    let tag = format!("\"{}\"", assets::digest(&body));
    let tags = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let has = |one: &str| one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag;
    let unchanged = tags.flat_map(|value| value.split(',')).any(|one| has(one.trim()));
    let mut reply = Response::new(body);
    if unchanged {
        *reply.status_mut() = StatusCode::NOT_MODIFIED;
        *reply.body_mut() = Bytes::new();
    }
    set(&mut reply, CACHE_CONTROL, policy);
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        reply.headers_mut().insert(ETAG, tag);
    }
    reply
}

#[cfg(test)]
mod tests;
