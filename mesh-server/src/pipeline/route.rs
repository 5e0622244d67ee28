//! Routing, and the checks of the head that depend on the route.

#[cfg(feature = "mcp")]
use http::Method;
use mesh_docs::Call as DocsCall;
#[cfg(feature = "mcp")]
use mesh_wire::AllowedMethods;
use mesh_wire::request::{check_head_size, check_one_host, check_url_query};
use mesh_wire::{Route, WireError};

use super::context::RequestContext;
use crate::observability::admin::Page;
use crate::observability::record::RouteKind;
use crate::routes::custom::Handler;

/// The route of a request.
pub(crate) enum RouteMatch<'p> {
    /// A route of the protocol.
    Protocol(Route<'p>),
    /// A route of the application.
    Custom(Handler),
    /// A path of the application that is none of the protocol.
    Fallback(&'p crate::app::fallback::Fallback),
    /// A path of the docs surface.
    Docs(DocsCall),
    /// The tools for agents.
    #[cfg(feature = "mcp")]
    Mcp(&'p crate::mcp::PreparedTools),
}

/// Finds the route of a request: first in the docs surface and the tools for agents, then in the routes of the protocol.
pub(crate) fn find<'r>(cx: &RequestContext<'r>) -> Result<RouteMatch<'r>, WireError> {
    let (shared, method, path) = (cx.shared, cx.head.method, cx.uri.path());
    if let Some(call) = shared.docs.as_ref().and_then(|docs| docs.call(method, path)) {
        cx.record.set_route(RouteKind::Docs);
        return call.map(RouteMatch::Docs);
    }
    #[cfg(feature = "mcp")]
    if let Some(tools) = shared.mcp.as_ref().filter(|tools| tools.is_at(path)) {
        cx.record.set_route(RouteKind::Mcp);
        return at_tools(tools, method);
    }
    if let Some(fallback) =
        shared.options.fallback.as_ref().filter(|_| !shared.options.base_path.contains(path))
    {
        cx.record.set_route(RouteKind::Custom);
        return Ok(RouteMatch::Fallback(fallback));
    }
    let route = Route::parse(&shared.options.base_path, &shared.profiles, method, path)?;
    cx.record.set_route(RouteKind::from_route(&route));
    Ok(RouteMatch::Protocol(route))
}

/// Returns the route of a request that the router of the application has found.
pub(crate) fn custom<'r>(cx: &RequestContext<'_>, handler: Handler) -> RouteMatch<'r> {
    cx.record.set_route(RouteKind::Custom);
    RouteMatch::Custom(handler)
}

/// Returns whether the request is for a route that writes, also if it is refused before its route is found.
pub(crate) fn is_write(cx: &RequestContext<'_>) -> bool {
    let route = cx.record.facts().route;
    if route != RouteKind::None {
        return route.is_write();
    }
    let route =
        Route::parse(&cx.shared.options.base_path, &cx.shared.profiles, cx.head.method, cx.uri.path());
    route.is_ok_and(|route| RouteKind::from_route(&route).is_write())
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
    if cx.shared.options.admin.is_some() && Page::from_path(cx.uri.path()).is_some_and(Page::is_probe) {
        return Ok(());
    }
    cx.shared.options.allowed_hosts.check(cx.uri, cx.head.headers)
}

/// Checks the size of the head, and the parameters of the URL. `SPEC §2.6`, `SPEC §12.2`
pub(crate) fn check_head(cx: &RequestContext<'_>, route: &RouteMatch<'_>) -> Result<(), WireError> {
    check_head_size(cx.head.method, cx.uri, cx.mesh_headers.size, cx.shared.options.limits.header_bytes)?;
    if !matches!(route, RouteMatch::Docs(_)) {
        cx.mesh_headers.reject_view()?;
    }
    if matches!(route, RouteMatch::Protocol(Route::Options { .. })) {
        return Ok(());
    }
    check_url_query(cx.uri.query())
}
