//! Options of an application that conflict with each other.

use mesh_server::mesh_docs::Options;
use mesh_server::mesh_plan::Mesh;
use mesh_server::mesh_schema::{FieldType, Schema};
use mesh_server::mesh_wire::BasePath;
use mesh_server::{App, AppBuilder, BuildError, Mcp};

fn app() -> AppBuilder {
    let schema = Schema::builder().entity("post", |it| it.field("id", FieldType::Integer)).build().unwrap();
    App::builder(Mesh::builder(schema).build().unwrap())
}

fn app_with_docs(options: Options) -> AppBuilder {
    let mut app = app();
    app.options.docs = Some(options);
    app
}

fn app_with_docs_at(path: &str) -> AppBuilder {
    app_with_docs(Options::default().path(path))
}

#[test]
fn the_path_of_the_tools_for_agents_is_theirs() {
    let surface = |path: &str| {
        let mut app = app_with_docs_at(path);
        app.options.mcp = Some(Mcp::default());
        app.build()
    };
    assert_eq!(surface("/mesh/mcp").unwrap_err(), BuildError::DocsAtMcpPath("/mesh/mcp".to_owned()));
    assert!(surface("/mesh/docs").is_ok());
    assert!(app_with_docs_at("/mesh/mcp").build().is_ok(), "there are no tools");
}

#[test]
fn the_docs_surface_does_not_hide_the_data() {
    let at = |base: &str, path: &str| {
        let mut app = app_with_docs_at(path);
        app.options.base_path = BasePath::parse(base).unwrap();
        app.build()
    };
    for (base, path) in [("/mesh", "/mesh"), ("/api/mesh", "/api"), ("/", "/")] {
        assert_eq!(at(base, path).unwrap_err(), BuildError::DocsAtBasePath(BasePath::parse(base).unwrap()));
    }
    for (base, path) in [("/mesh", "/me"), ("/mesh", "/mesh/docs"), ("/mesh", "/"), ("/", "/docs")] {
        assert!(at(base, path).is_ok(), "{base} {path}");
    }
}

#[test]
fn views_as_another_role_need_an_audit_log() {
    let error = app_with_docs(Options::default().view_as(["editor"])).build().unwrap_err();
    assert_eq!(error, BuildError::ViewAsWithoutAudit);
    assert!(error.to_string().contains("requires an audit log"), "{error}");
}
