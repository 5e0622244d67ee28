//! How does the docs surface become part of a server? Its calls are handed over, its errors said in the
//! protocol's words. `SPEC §13`

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use bytes::Bytes;
use http::{HeaderValue, Method, Response};
use mesh_docs::{Call, Docs, Error, Offers, Options, Visitor};
use mesh_integrity::IntegrityError;
use mesh_plan::ResolveError;
use mesh_wire::request::{check_head_size, check_url_query};
use mesh_wire::{AllowedMethods, WireError, headers};

use super::admit::{self, Admitted};
use super::{Exchange, read};
use crate::app::Shared;
use crate::body::{Body, Incoming};

/// The docs surface of an application, if it has one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Surface {
    options: Option<Options>,
    /// Made with the first request, when all else is set.
    made: OnceLock<Arc<Docs>>,
}

impl Surface {
    pub(crate) fn new(options: Options) -> Self {
        Self { options: Some(options), made: OnceLock::new() }
    }

    /// What a request asks of the surface; `None` where there is no surface at its path.
    pub(crate) fn find(&self, shared: &Shared, method: &Method, path: &str) -> Option<Hit> {
        let options = self.options.as_ref()?;
        let docs = self.made.get_or_init(|| {
            let offers = Offers {
                base: shared.base.to_string(),
                integrity: shared.profiles.integrity,
                persisted: shared.profiles.persisted,
                events: shared.profiles.events,
                ..options.offers.clone()
            };
            Arc::new(Docs::new(Arc::clone(&shared.mesh), options.clone().offers(offers)))
        });
        docs.call(method, path).map(|call| Hit { docs: Arc::clone(docs), call })
    }
}

/// A request whose path is the surface's.
pub(crate) struct Hit {
    docs: Arc<Docs>,
    call: Result<Call, Error>,
}

impl Hit {
    /// Answers it. A token that is sent must be good, and then counts; without one it is the option `auth`
    /// that decides. There is no signature to check, since nothing is taken at its word here but the token.
    pub(crate) async fn answer(
        self,
        cx: &Exchange<'_>,
        body: impl FnOnce() -> Incoming,
    ) -> Result<Response<Body>, WireError> {
        let Self { docs, call } = self;
        let call = call.map_err(|error| refused(cx, error))?;
        check_head_size(cx.asked.method, cx.uri, cx.own.size, cx.shared.limits.header_bytes)?;
        check_url_query(cx.uri.query())?;
        let admitted = if call.is_guarded() && cx.own.token.is_some() {
            admit::by_token(cx).await?
        } else {
            Admitted::default()
        };
        let body = if call.takes_body() {
            body().read(cx.shared.limits.body_bytes, cx.deadline).await?
        } else {
            Bytes::new()
        };
        let context = cx.context(&admitted);
        let mut visitor = Visitor::new(cx.asked.headers, &context).with_peer(cx.peer());
        if let Some(session) = admitted.session() {
            visitor = visitor.with_session(&session.user, session.role.as_deref());
        }
        let _waiting = cx.shared.admission.acquire()?;
        let answering = docs.answer(call, &visitor, &body, Instant::now);
        let answer = tokio::time::timeout_at(cx.deadline.into(), answering).await;
        let answer = answer.unwrap_or_else(|_| Err(mesh_plan::Error::Resolve(ResolveError::TimedOut).into()));
        let mut reply = answer.map_err(|error| refused(cx, error))?;
        if let Ok(id) = HeaderValue::from_str(cx.asked.request_id.as_str()) {
            reply.headers_mut().insert(headers::REQUEST_ID.clone(), id);
        }
        Ok(reply.map(Body::from))
    }
}

/// An error of the surface in the protocol's words.
fn refused(cx: &Exchange<'_>, error: Error) -> WireError {
    match error {
        Error::MethodNotAllowed(allow) => {
            let listed = [Method::GET, Method::HEAD, Method::POST];
            let taken = listed.iter().filter(|method| allow.split(", ").any(|one| one == method.as_str()));
            let taken: Vec<Method> = taken.cloned().collect();
            WireError::method_not_allowed(cx.asked.method, AllowedMethods::new(&taken))
        }
        Error::NoSession => IntegrityError::TokenMissing.into(),
        Error::Forbidden => IntegrityError::Forbidden.into(),
        Error::NotJson => WireError::unsupported_media_type(),
        Error::Body(why) => WireError::transport(why),
        Error::Read(error) => {
            if let mesh_plan::Error::Resolve(error) = &error {
                read::log(cx.asked.request_id.as_str(), error);
            }
            error.into()
        }
        _ => WireError::not_found(),
    }
}
