//! A cache of plans by the value of the query header, in front of base64 decoding, parsing and planning.
//!
//! Equal base64 is equal text, so the header's bytes identify a query. With policies a plan depends on the caller as
//! well; the cache is then empty and [`Mesh::plan`] looks plans up by the caller's class.

use std::sync::{Arc, OnceLock};

use mesh_plan::backend::Cache;
use mesh_plan::{Mesh, Plan, RecordId};
use mesh_ql::{Format, ParamValues};

/// The plans of the queries that were sent recently.
#[derive(Debug)]
pub(crate) struct HeaderPlans(Cache<Box<[u8]>, Arc<Plans>>);

/// The plans of one header value: for each format, the plans of a collection and of a record.
type Plans = [OnceLock<Plan>; 4];

/// A query in a header, and what the path says about the records to read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeaderQuery<'a> {
    pub(crate) base64: &'a [u8],
    pub(crate) format: Format,
    pub(crate) entity: Option<&'a str>,
    pub(crate) id: Option<RecordId<'a>>,
}

impl HeaderQuery<'_> {
    fn index(&self) -> usize {
        usize::from(self.format == Format::Ql) * 2 + usize::from(self.id.is_some())
    }
}

impl HeaderPlans {
    /// Creates a cache with the same limits on plans, and bytes of plans, as the cache of `mesh`.
    pub(crate) fn new(mesh: &Mesh) -> Self {
        let limits = mesh.limits();
        Self(Cache::bounded(if mesh.has_policies() { 0 } else { limits.plans }, limits.plan_bytes))
    }

    /// Returns the plan of a query with the id and the parameters of this request.
    pub(crate) fn find(&self, query: HeaderQuery<'_>, params: Option<&ParamValues>) -> Option<Plan> {
        let plans = self.0.get(query.base64)?;
        let plan = plans.get(query.index())?.get()?;
        // A path that names another entity is an error, which planning reports.
        if query.entity != Some(&plan.node().entity) {
            return None;
        }
        plan.for_request(query.id, params)
    }

    pub(crate) fn insert(&self, query: HeaderQuery<'_>, plan: &Plan) {
        // Queries for later pages contain a cursor, which hardly any two requests share.
        let Some(plan) = plan.without_values() else { return };
        let plans = self.0.get(query.base64).unwrap_or_default();
        if let Some(slot) = plans.get(query.index()) {
            let _ = slot.set(plan);
        }
        let kept = plans.iter().filter_map(OnceLock::get);
        let bytes = query.base64.len() + size_of::<Plans>() + kept.map(Plan::memory).sum::<usize>();
        self.0.insert(query.base64.into(), plans, bytes);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use mesh_plan::{Limits, Request};
    use mesh_schema::{FieldType, Schema};

    use super::*;

    #[test]
    fn a_plan_in_use_stays_while_others_come_and_go() {
        let schema =
            Schema::builder().entity("post", |post| post.field("id", FieldType::Integer)).build().unwrap();
        let limits = Limits { plans: 4, ..Limits::default() };
        let mesh = Mesh::builder(schema).limits(limits).build().unwrap();
        let plan = mesh.plan(&Request::collection(Format::Ql, "{ post id }")).unwrap();
        fn query(base64: &[u8]) -> HeaderQuery<'_> {
            HeaderQuery { base64, format: Format::Ql, entity: Some("post"), id: None }
        }
        let plans = HeaderPlans::new(&mesh);
        plans.insert(query(b"hot"), &plan);
        let others: Vec<[u8; 1]> = (0..100).map(|number| [number]).collect();
        for (count, other) in others.iter().enumerate() {
            plans.insert(query(other), &plan);
            assert!(plans.find(query(b"hot"), None).is_some(), "after {count} others");
            assert!(plans.len() <= 4);
        }
        assert!(plans.find(query(&others[0]), None).is_none());
    }

    #[test]
    fn plans_and_headers_are_bounded_in_bytes() {
        let schema =
            Schema::builder().entity("post", |post| post.field("id", FieldType::Integer)).build().unwrap();
        let limits = Limits { plan_bytes: 100_000, ..Limits::default() };
        let mesh = Mesh::builder(schema).limits(limits).build().unwrap();
        let plan = mesh.plan(&Request::collection(Format::Ql, "{ post id }")).unwrap();
        let plans = HeaderPlans::new(&mesh);
        let headers: Vec<Vec<u8>> = (0..100).map(|number| vec![number; 10_000]).collect();
        for base64 in &headers {
            let query = HeaderQuery { base64, format: Format::Ql, entity: Some("post"), id: None };
            plans.insert(query, &plan);
            assert!(plans.find(query, None).is_some());
            assert!(plans.len() < 10 && plans.0.weight() <= 100_000);
        }
    }
}
