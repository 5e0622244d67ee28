//! Runs cases without lasting effects: writes to SQLite go to a copy, writes to the other databases are rolled back.

use std::collections::BTreeSet;
use std::sync::Arc;

use mesh_backend::error::with_causes;
use mesh_plan::{
    Context, Error, Limits, Mesh, Mutation, Principal, Request, ResolveError, WriteError, Written,
};
use mesh_ql::{Format, Page, ParamValues};
use mesh_schema::{Entity, Field, Member, Schema};
use mesh_wire::WireError;
use serde_json::Value as Json;

use super::expected::{Mismatch, Observed};
use super::suite::{Case, Sources, Subject, Suite, Write};
use crate::cli::failure::{Failure, WithContext as _};
use crate::cli::server::data_source::DataSource;
use crate::cli::server::database::{Database, block_on};
use crate::cli::temp_folder::TempFolder;
use crate::config::Config;

/// Runs cases against a schema, and a database if there is one.
pub(super) struct Runner {
    schema: Arc<Schema>,
    limits: Limits,
    database: Option<Database>,
    /// The schema with its policies.
    mesh: Mesh,
    /// The schema without policies. It only plans writes.
    unrestricted: Mesh,
    /// For copies of the database.
    folder: TempFolder,
}

impl Runner {
    pub(super) fn new(config: &Config, source: DataSource) -> Result<Self, Failure> {
        if source.schema.policies().is_none() {
            return Err(Failure::usage_error("the schema has no policies, so there is nothing to test"));
        }
        let schema = Arc::new(source.schema);
        let limits = config.plan_limits();
        let unused =
            async |_: Mutation, _: Context| -> Result<Written, WriteError> { Err(ResolveError::Busy.into()) };
        let unrestricted = Mesh::builder(schema.without_policies()).limits(limits);
        let unrestricted = unrestricted.default_mutator(unused).build()?;
        let mut mesh = Mesh::builder(Arc::clone(&schema)).limits(limits);
        if let Some(database) = &source.database {
            mesh = mesh.default_shared(Arc::clone(database) as _, None);
        }
        let folder = TempFolder::create("mesh-policy-test").context("cannot create a folder for a copy")?;
        Ok(Self { mesh: mesh.build()?, unrestricted, schema, limits, database: source.database, folder })
    }

    /// Returns the sources that the names in a file are checked against.
    pub(super) fn sources(&self) -> Sources<'_> {
        Sources {
            schema: &self.schema,
            unrestricted: &self.unrestricted,
            has_database: self.database.is_some(),
        }
    }

    /// Runs the cases in their order. Returns the mismatches of each.
    pub(super) fn run(&self, suite: &Suite) -> Result<Vec<Vec<Mismatch>>, Failure> {
        block_on(async {
            let mut results = Vec::with_capacity(suite.cases.len());
            for case in &suite.cases {
                results.push(case.expected.compare(&self.observe(case).await?));
            }
            Ok::<_, Failure>(results)
        })
    }

    async fn observe(&self, case: &Case) -> Result<Observed, Failure> {
        let principal = case.principal.as_ref();
        match &case.subject {
            Subject::Query { format, text, id, params } => {
                let read = self.read(principal, (*format, text), id.as_deref(), params).await;
                Ok(read.unwrap_or_else(refused))
            }
            Subject::Write(write) => self.write(principal, write).await,
            Subject::Entity(key) => {
                let schema = self.mesh.schema_for(principal);
                Ok(schema.find(key).map_or(Observed::Hidden, |id| rights(schema.entity(id))))
            }
        }
    }

    /// Reads all records, unless the query has a page.
    async fn read(
        &self,
        principal: Option<&Principal>,
        (format, text): (Format, &str),
        id: Option<&str>,
        params: &ParamValues,
    ) -> Result<Observed, Error> {
        let mut query = mesh_ql::parse(format, text, &self.limits.query)?;
        let is_whole = id.is_none() && query.root.controls.page.is_none();
        if is_whole {
            let first = Some(mesh_ql::OrParam::Value(self.limits.query.page_max).into());
            query.root.controls.page = Some(Page { first, total: true, ..Page::default() }.into());
        }
        let request = Request::new(&query);
        let request = id.map_or(request, |id| request.with_id(id));
        let plan = self.mesh.plan(&request.with_params(Some(params)).with_principal(principal))?;
        if self.database.is_none() {
            return Ok(Observed::Read { rows: 0, ids: None });
        }
        let body = self.mesh.read(&plan, &Context::default()).await?;
        let body: Json = serde_json::from_slice(&body.bytes).unwrap_or_default();
        let records: &[Json] = match (id, body.get("items")) {
            (None, Some(Json::Array(items))) => items,
            (Some(_), _) if !body.is_null() => std::slice::from_ref(&body),
            _ => &[],
        };
        let total = body.get("pageInfo").and_then(|info| info.get("totalCount")).and_then(Json::as_u64);
        let listed = records.len() as u64;
        let rows = total.filter(|_| is_whole).unwrap_or(listed);
        let entity = self.schema.find(&query.entity).map(|entity| self.schema.entity(entity));
        let ids = entity.filter(|_| rows == listed).and_then(|entity| {
            records.iter().map(|record| record_id(entity, record)).collect::<Option<BTreeSet<_>>>()
        });
        Ok(Observed::Read { rows, ids })
    }

    /// Runs a write that leaves no trace.
    async fn write(&self, principal: Option<&Principal>, write: &Write) -> Result<Observed, Failure> {
        let Some(database) = &self.database else {
            return Err(Failure::usage_error("a write needs a database"));
        };
        let (resolver, mutator) = database.rehearsal(self.folder.path()).await?;
        let mesh = Mesh::builder(Arc::clone(&self.schema)).limits(self.limits);
        let mesh = mesh.default_shared(resolver, Some(mutator)).build()?;
        let written = match write.plan(&mesh, principal).map_err(Failure::usage_error)? {
            Ok(mutation) => mesh.write(mutation, &Context::default()).await.into_result().map(drop),
            Err(error) => Err(error),
        };
        Ok(written.map_or_else(refused, |()| Observed::Written))
    }
}

/// Returns the error as a client gets it, but with the causes of failures of the database.
fn refused(error: Error) -> Observed {
    let cause = with_causes(&error);
    let mut wire = WireError::from(error);
    if wire.status.is_server_error() {
        wire.message = cause.into();
    }
    Observed::Refused(Box::new(wire))
}

/// Returns the id of a record, its parts separated by commas; `None` if it was not selected.
fn record_id(entity: &Entity, record: &Json) -> Option<String> {
    let part = |field: &Field| match record.get(&field.name)? {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let parts = entity.id_fields().map(part).collect::<Option<Vec<_>>>()?;
    (!parts.is_empty()).then(|| parts.join(","))
}

/// Returns the rights on an entity as a role sees it.
fn rights(entity: &Entity) -> Observed {
    let names = |has: &dyn Fn(Member) -> bool| -> BTreeSet<String> {
        let names = entity.names().filter(|name| entity.member(name).is_some_and(has));
        names.map(str::to_owned).collect()
    };
    let fields = names(&|member| matches!(member, Member::Field(_) | Member::Computed(_)));
    let relations = names(&|member| matches!(member, Member::Relation(_)));
    let creates = names(&|member| matches!(member, Member::Field(id) if entity.field(id).writable.create));
    let updates = names(&|member| matches!(member, Member::Field(id) if entity.field(id).writable.update));
    Observed::Rights { names: [fields, relations, creates, updates], deletes: entity.deletable }
}
