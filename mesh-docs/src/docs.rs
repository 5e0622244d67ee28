//! The routes of the docs surface, without an HTTP server.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderMap, HeaderName,
    HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use http::{Method, Response, StatusCode};
use mesh_plan::Mesh;
use mesh_wire::{AllowedMethods, ETag, WireError, headers as wire_headers};

use crate::assets::Asset;
use crate::execute::execute;
use crate::json;
use crate::view_as::may_view_as;
use crate::visible::Visible;
use crate::{Error, Options, ViewAs, Visitor, introspection, page};

const READ_METHODS: AllowedMethods = AllowedMethods::GET.union(AllowedMethods::HEAD);
const HTML: &str = "text/html; charset=utf-8";
/// The `Cache-Control` of files whose URL contains a digest of their content.
const IMMUTABLE: &str = "public, max-age=31536000, immutable";

/// The docs surface: page, introspection and execute. `SPEC §13`
#[derive(Debug)]
pub struct Docs {
    mesh: Arc<Mesh>,
    options: Options,
    visible: Visible,
    page: Bytes,
}

/// A request to the surface.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    target: Target,
    is_head: bool,
}

#[derive(Clone, Copy, Debug)]
enum Target {
    Page,
    Asset(&'static Asset),
    Schema,
    Execute,
    Allow(AllowedMethods),
}

impl Call {
    /// Returns whether the call has a body, which must be read before [`Docs::answer`].
    pub fn takes_body(&self) -> bool {
        matches!(self.target, Target::Execute)
    }

    /// Returns whether the reply contains data, so that the server must authenticate the visitor. The page and its
    /// files are public.
    pub fn is_guarded(&self) -> bool {
        matches!(self.target, Target::Schema | Target::Execute)
    }
}

impl Docs {
    /// Creates a surface that runs queries through `mesh`.
    pub fn new(mesh: impl Into<Arc<Mesh>>, options: Options) -> Self {
        let mesh = mesh.into();
        let visible = Visible::new(&mesh, options.entities.as_deref());
        let page = page::html(&options).into();
        Self { mesh, options, visible, page }
    }

    /// Returns the options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Returns the introspection for the principal of the visitor's context.
    fn schema(&self, visitor: &Visitor<'_>, is_view: bool) -> Bytes {
        let schema = self.mesh.schema_for(visitor.context.principal.as_deref());
        let mut document =
            introspection::document(&schema, &self.visible, self.mesh.limits(), &self.options, is_view);
        if may_view_as(visitor) && !self.options.view_as.is_empty() {
            json::set(&mut document, "viewAs", self.options.view_as.as_slice());
        }
        document.to_string().into()
    }

    /// Matches a request. Returns `None` if its path does not belong to the surface.
    pub fn call(&self, method: &Method, path: &str) -> Option<Result<Call, WireError>> {
        let below = path.strip_prefix(&self.options.path)?;
        let target = match below.strip_suffix('/').unwrap_or(below) {
            "" => Target::Page,
            "/schema" => Target::Schema,
            "/execute" => Target::Execute,
            other => match other.strip_prefix("/assets/").and_then(Asset::find) {
                Some(asset) => Target::Asset(asset),
                // A surface mounted at the root claims only its own paths.
                None if self.options.path.is_empty() || !other.starts_with('/') => return None,
                None => return Some(Err(WireError::not_found())),
            },
        };
        let allow = if matches!(target, Target::Execute) { AllowedMethods::POST } else { READ_METHODS };
        let is_head = *method == Method::HEAD;
        Some(match *method {
            Method::OPTIONS => Ok(Call { target: Target::Allow(allow), is_head }),
            _ if allow.allows(method) => Ok(Call { target, is_head }),
            _ => Err(WireError::method_not_allowed(method, allow)),
        })
    }

    /// Answers a call. `body` is used if [`Call::takes_body`] returns `true`; `now` measures the duration.
    ///
    /// # Errors
    /// If the visitor is not admitted, the body is invalid, or the query is invalid or fails.
    pub async fn answer(
        &self,
        call: Call,
        visitor: &Visitor<'_>,
        body: &[u8],
        now: fn() -> Instant,
    ) -> Result<Response<Bytes>, Error> {
        let headers = visitor.headers;
        let mut viewed = None;
        if call.is_guarded() {
            self.options.auth.check(visitor, self.options.offers.integrity)?;
            if let Some(view) = ViewAs::from_headers(headers)? {
                let principal = view.check(&self.options.view_as, visitor)?;
                viewed = Some(visitor.context.clone().with_principal(Some(principal)));
            }
        }
        let visitor = &Visitor { context: viewed.as_ref().unwrap_or(visitor.context), ..*visitor };
        let mut reply = match call.target {
            Target::Page => {
                let mut reply = cached(headers, self.page.clone(), HTML, "no-cache");
                set(&mut reply, CONTENT_SECURITY_POLICY, page::POLICY);
                reply
            }
            Target::Asset(asset) => {
                let bytes = Bytes::from_static(asset.bytes);
                let mut reply = cached(headers, bytes, asset.content_type, IMMUTABLE);
                if let Some(compressed) = asset.compressed {
                    reply.extensions_mut().insert(compressed);
                }
                reply
            }
            Target::Schema if viewed.is_some() => {
                reply(self.schema(visitor, true), wire_headers::JSON, "no-store")
            }
            Target::Schema => {
                let policy = if self.options.auth.is_open() { "no-cache" } else { "private, no-cache" };
                cached(headers, self.schema(visitor, false), wire_headers::JSON, policy)
            }
            Target::Execute => {
                let (mesh, visible, sql) = (&*self.mesh, &self.visible, self.options.sql);
                let body = execute(mesh, visible, sql, visitor, body, now).await?;
                reply(body, wire_headers::JSON, "no-store")
            }
            Target::Allow(allow) => {
                let mut reply = Response::new(Bytes::new());
                *reply.status_mut() = StatusCode::NO_CONTENT;
                let allow = HeaderValue::try_from(allow.to_string());
                reply.headers_mut().extend(allow.ok().map(|allow| (ALLOW, allow)));
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

fn reply(body: Bytes, content_type: &'static str, policy: &'static str) -> Response<Bytes> {
    let mut reply = Response::new(body);
    set(&mut reply, CONTENT_TYPE, content_type);
    set(&mut reply, CACHE_CONTROL, policy);
    reply
}

/// Returns a cacheable reply, or 304 if the client has the body already.
fn cached(
    headers: &HeaderMap,
    body: Bytes,
    content_type: &'static str,
    policy: &'static str,
) -> Response<Bytes> {
    let tag = ETag::new(&body);
    let held = tag.matching_tag(headers);
    let mut reply = reply(body, content_type, policy);
    if held.is_some() {
        *reply.status_mut() = StatusCode::NOT_MODIFIED;
        *reply.body_mut() = Bytes::new();
    }
    reply.headers_mut().insert(ETAG, held.unwrap_or(tag).value());
    reply
}

#[cfg(test)]
mod tests;
