//! Policies of an application. What they show and let write is compared with a model in `differential/policies`.

mod claims;
mod handlers;

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use mesh_server::App;
use mesh_server::mesh_plan::policy::{Access, Condition, Policy, SessionValue};
use mesh_server::mesh_plan::{Mesh, Principal, memory::Tables};
use mesh_server::mesh_schema::{Entity, FieldType, Schema};
use mesh_server::mesh_wire::base64;

#[tokio::test]
async fn a_policy_that_does_not_fit_is_a_server_error() {
    /// A policy that is invalid for a class, which it returns only after the application is built.
    struct LateClass(Arc<AtomicBool>);

    impl Policy for LateClass {
        fn class<'p>(&self, _: Option<&'p Principal>) -> Cow<'p, str> {
            if self.0.load(Ordering::Relaxed) { "late".into() } else { "early".into() }
        }

        fn access(&self, class: &str, _: &Entity) -> Access {
            match class {
                "late" => Access::all().when(Condition::equal("salary", SessionValue::UserId)),
                _ => Access::all(),
            }
        }
    }

    let is_late = Arc::new(AtomicBool::new(false));
    let policy = LateClass(Arc::clone(&is_late));
    let schema = Schema::builder().entity("post", |it| it.field("id", FieldType::Integer)).build().unwrap();
    let mesh = Mesh::builder(schema).default_resolver(Tables::new()).policy(policy).build().unwrap();
    let app = App::builder(mesh).build().unwrap();
    is_late.store(true, Ordering::Relaxed);
    let query = base64::encode("{ post id }");
    let request =
        http::Request::get("/mesh/post").header("X-Mesh-Query", query).header("X-Mesh-Format", "ql");
    let reply = app.handle(request.body(Full::<Bytes>::default()).unwrap()).await;
    assert_eq!(reply.status(), 500);
    let body = reply.into_body().collect().await.unwrap().to_bytes();
    let body = String::from_utf8_lossy(&body);
    assert!(body.contains("InternalError") && !body.contains("salary"), "{body}");
}
