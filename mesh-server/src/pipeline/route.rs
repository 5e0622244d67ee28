//! Routing, and the checks of the head that depend on the route.

use std::borrow::Cow;

use http::Method;
use mesh_docs::Call as DocsCall;
use mesh_wire::request::{check_head_size, check_one_host, check_url_query};
use mesh_wire::{AllowedMethods, ErrorKind, Route, WireError};

use super::context::RequestContext;
use crate::app::shared::Shared;
use crate::observability::admin::Page;
use crate::observability::record::RouteKind;
use crate::routes::custom::route::CustomRoute;
use crate::routes::docs;

/// The route of a request.
pub(crate) enum RouteMatch<'p> {
    /// A route of the protocol.
    Protocol(Route<'p>),
    /// A route of the application, with the values of its path parameters.
    Custom(&'p CustomRoute, Vec<(String, String)>),
    /// A path of the docs surface.
    Docs(DocsCall),
    /// The tools for agents.
    #[cfg(feature = "mcp")]
    Mcp(&'p crate::mcp::PreparedTools),
}

/// Finds the route of a request: first in the docs surface and the tools for agents, then in the routes of the
/// application, then in the routes of the protocol.
pub(crate) fn find<'r>(cx: &RequestContext<'r>) -> Result<RouteMatch<'r>, WireError> {
    let (shared, method, path) = (cx.shared, cx.head.method, cx.uri.path());
    if let Some(call) = shared.docs.as_ref().and_then(|docs| docs.call(method, path)) {
        cx.record.set_route(RouteKind::Docs);
        return call.map(RouteMatch::Docs).map_err(|error| docs::refused(cx, error));
    }
    #[cfg(feature = "mcp")]
    if let Some(tools) = shared.mcp.as_ref().filter(|tools| tools.is_at(path)) {
        cx.record.set_route(RouteKind::Mcp);
        return at_tools(tools, method);
    }
    let route = find_below_base(shared, method, path)?;
    cx.record.set_route(match &route {
        RouteMatch::Protocol(route) => RouteKind::from_route(route),
        _ => RouteKind::Custom,
    });
    Ok(route)
}

/// Returns whether the request is for a route that writes, also if it is refused before its route is found.
pub(crate) fn is_write(cx: &RequestContext<'_>) -> bool {
    if cx.record.route() != RouteKind::None {
        return cx.record.route().is_write();
    }
    let route = find_below_base(cx.shared, cx.head.method, cx.uri.path());
    matches!(route, Ok(RouteMatch::Protocol(route)) if RouteKind::from_route(&route).is_write())
}

/// Returns the route of a method at the path of the tools for agents. GET and DELETE are not allowed, because the tools
/// have no sessions.
#[cfg(feature = "mcp")]
fn at_tools<'p>(tools: &'p crate::mcp::PreparedTools, method: &Method) -> Result<RouteMatch<'p>, WireError> {
    let allow = AllowedMethods::new(&[Method::POST]);
    match *method {
        Method::POST => Ok(RouteMatch::Mcp(tools)),
        Method::OPTIONS => Ok(RouteMatch::Protocol(Route::Options { allow })),
        _ => Err(WireError::method_not_allowed(method, allow)),
    }
}

/// Refuses a request that names another host. Health probes are answered under any name, because they address the
/// server by its IP address. `SPEC §2.13`
pub(crate) fn check_host(cx: &RequestContext<'_>) -> Result<(), WireError> {
    if let Some(version) = cx.version {
        check_one_host(version, cx.head.headers)?;
    }
    if cx.shared.admin.is_some() && Page::from_path(cx.uri.path()).is_some_and(Page::is_probe) {
        return Ok(());
    }
    cx.shared.hosts.check(cx.uri, cx.head.headers)
}

/// Checks the size of the head, and the parameters of the URL. `SPEC §2.6`, `SPEC §12.2`
pub(crate) fn check_head(cx: &RequestContext<'_>, route: &RouteMatch<'_>) -> Result<(), WireError> {
    check_head_size(cx.head.method, cx.uri, cx.mesh_headers.size, cx.shared.limits.header_bytes)?;
    if !matches!(route, RouteMatch::Docs(_)) {
        cx.mesh_headers.reject_view()?;
    }
    if matches!(route, RouteMatch::Protocol(Route::Options { .. })) {
        return Ok(());
    }
    check_url_query(cx.uri.query())
}

/// Finds a route below the base path. A route of the application precedes one of the protocol, so that an application
/// can replace a write. A path allows the methods of both.
fn find_below_base<'p>(
    shared: &'p Shared,
    method: &Method,
    path: &'p str,
) -> Result<RouteMatch<'p>, WireError> {
    let Shared { base, profiles, custom_routes, .. } = shared;
    let protocol = Route::parse(base, profiles, method, path);
    if custom_routes.is_empty() {
        return protocol.map(RouteMatch::Protocol);
    }
    // A path that cannot be split is refused by the routes of the protocol.
    let Ok(segments) = base.split(path) else { return protocol.map(RouteMatch::Protocol) };
    let segments: Vec<&str> = segments.iter().map(Cow::as_ref).collect();
    let mut allowed = Vec::new();
    for custom in custom_routes {
        let Some(params) = custom.pattern.matches(&segments) else { continue };
        if custom.allows(method) {
            return Ok(RouteMatch::Custom(custom, params));
        }
        allowed.push(custom.method.clone());
        if custom.method == Method::GET {
            allowed.push(Method::HEAD);
        }
    }
    if allowed.is_empty() {
        return protocol.map(RouteMatch::Protocol);
    }
    let allowed = AllowedMethods::new(&allowed);
    match protocol {
        Ok(Route::Options { allow }) => {
            Ok(RouteMatch::Protocol(Route::Options { allow: allow.union(allowed) }))
        }
        Err(error) if error.kind == ErrorKind::NotFound && *method == Method::OPTIONS => {
            Ok(RouteMatch::Protocol(Route::Options { allow: allowed }))
        }
        Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::MethodNotAllowed) => {
            let allowed = error.allow.map_or(allowed, |allow| allow.union(allowed));
            Err(WireError::method_not_allowed(method, allowed))
        }
        protocol => protocol.map(RouteMatch::Protocol),
    }
}
