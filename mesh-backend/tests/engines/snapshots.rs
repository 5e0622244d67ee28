//! Scripts of reads. The tests of the back ends include this file.

use std::sync::Arc;

use mesh_plan::backend::{Script, ScriptStep, StepResult};
use mesh_plan::{Context, Error, Mesh, Plan, Request};
use mesh_ql::Format;

const POSTS: &str = "{ post id likes }";

/// Reads three times, and has the data changed before each read but the first.
struct Changing<F> {
    plan: Plan,
    change: F,
}

impl<F: Fn() + Send + Sync + 'static> Script for Changing<F> {
    fn next(&self, done: &[StepResult]) -> Result<Option<ScriptStep>, Error> {
        if !done.is_empty() {
            (self.change)();
        }
        Ok((done.len() < 3).then(|| ScriptStep::Read { plan: self.plan.clone(), lock: None }))
    }
}

/// Checks that all reads of a script see the same posts, although their likes change meanwhile, and that a later read sees
/// the change. `execute` runs statements.
pub(crate) async fn reads_of_a_script_see_one_snapshot(
    mesh: &Mesh,
    execute: impl Fn(&str) + Send + Sync + 'static,
) {
    let plan = mesh.plan(&Request::collection(Format::Ql, POSTS)).unwrap();
    let context = Context::default();
    let before = mesh.read(&plan, &context).await.unwrap().bytes;
    let change = move || execute("UPDATE posts SET likes = coalesce(likes, 0) + 1");
    let script = Arc::new(Changing { plan: plan.clone(), change });
    let read = mesh.read_script(&["post"], script, &context).await.unwrap();
    let bodies: Vec<_> = read.iter().flat_map(StepResult::bodies).map(|body| body.bytes.clone()).collect();
    assert_eq!(bodies, [before.clone(), before.clone(), before.clone()]);
    assert_ne!(mesh.read(&plan, &context).await.unwrap().bytes, before);
}
