//! Construction of a [`Mesh`], which reports all faults at once.

use std::sync::Arc;

use mesh_schema::{ComputedError, Schema};

use super::{ByEntity, Mesh};
use crate::cache::Cache;
use crate::error::{BuildError, BuildFault};
use crate::plan::computed::{ComputedFunction, ComputedInputs, Functions};
use crate::plan::cursor::CursorKey;
use crate::policy::{Policy, SchemaPolicy, Views};
use crate::{Limits, Mutator, Resolver, Value};

/// Builds a [`Mesh`]. Created by [`Mesh::builder`].
#[derive(Debug)]
pub struct MeshBuilder {
    schema: Arc<Schema>,
    resolvers: ByEntity<dyn Resolver>,
    mutators: ByEntity<dyn Mutator>,
    functions: Vec<(String, ComputedFunction)>,
    limits: Limits,
    cursors: CursorKey,
    policies: Vec<Arc<dyn Policy>>,
}

impl MeshBuilder {
    pub(super) fn new(schema: Arc<Schema>) -> Self {
        Self {
            schema,
            resolvers: ByEntity::default(),
            mutators: ByEntity::default(),
            functions: Vec::new(),
            limits: Limits::default(),
            cursors: CursorKey::default(),
            policies: Vec::new(),
        }
    }

    /// Sets the resolver of reads that start at this entity.
    #[must_use]
    pub fn resolver(mut self, entity: impl Into<String>, resolver: impl Resolver) -> Self {
        self.resolvers.handlers.insert(entity.into(), Arc::new(resolver));
        self
    }

    /// Sets the resolver of reads that start at any other entity.
    #[must_use]
    pub fn default_resolver(mut self, resolver: impl Resolver) -> Self {
        self.resolvers.fallback = Some(Arc::new(resolver));
        self
    }

    /// Sets the mutator of one entity, which writes its records and their relations.
    #[must_use]
    pub fn mutator(mut self, entity: impl Into<String>, mutator: impl Mutator) -> Self {
        self.mutators.handlers.insert(entity.into(), Arc::new(mutator));
        self
    }

    /// Sets the mutator of all other entities.
    #[must_use]
    pub fn default_mutator(mut self, mutator: impl Mutator) -> Self {
        self.mutators.fallback = Some(Arc::new(mutator));
        self
    }

    /// Sets the resolver and the mutator of all other entities, which others may share.
    #[must_use]
    pub fn default_shared(mut self, resolver: Arc<dyn Resolver>, mutator: Option<Arc<dyn Mutator>>) -> Self {
        self.resolvers.fallback = Some(resolver);
        self.mutators.fallback = mutator;
        self
    }

    /// Adds a computed field: `field` is `entityKey.name`, and `from` names the fields that the function reads. It is
    /// selected like a scalar field, at the root and in relations, with any resolver.
    ///
    /// ```
    /// use mesh_plan::Mesh;
    /// use mesh_schema::Schema;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let schema = Schema::builder()
    ///     .entity("user", |user| user.untyped("first").untyped("last").no_id())
    ///     .build()?;
    /// let mesh = Mesh::builder(schema)
    ///     .computed("user.initials", ["first", "last"], |user| {
    ///         let initial = |field| user.text(field).chars().next().unwrap_or('?').to_string();
    ///         initial("first") + &initial("last")
    ///     })
    ///     .build()?;
    /// # let _ = mesh;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn computed<'n, V: Into<Value>>(
        mut self,
        field: impl Into<String>,
        from: impl IntoIterator<Item = &'n str>,
        code: impl Fn(&ComputedInputs<'_>) -> V + Send + Sync + 'static,
    ) -> Self {
        let from = from.into_iter().map(str::to_owned).collect();
        self.functions.push((field.into(), ComputedFunction::new(from, code)));
        self
    }

    /// Adds a policy. A request may do what all policies allow, including that of the schema document.
    #[must_use]
    pub fn policy(mut self, policy: impl Policy) -> Self {
        self.policies.push(Arc::new(policy));
        self
    }

    /// Sets the bounds of requests. The defaults are those of the protocol.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the secret of cursors, which all servers of a deployment must share. Without a secret, clients can construct
    /// cursors, but these select nothing that `$where` cannot select.
    #[must_use]
    pub fn cursor_secret(mut self, secret: &[u8]) -> Self {
        self.cursors = CursorKey::new(secret);
        self
    }

    /// Builds the `Mesh`.
    ///
    /// # Errors
    /// Reports all resolvers and mutators of unknown entities, computed fields that do not fit the schema, wrong
    /// conditions in the policies of the schema document, and conditions of other policies that are wrong for requests
    /// without a session. Conditions for other classes are checked when a request of the class is planned.
    ///
    /// ```
    /// use mesh_plan::{Mesh, memory::Tables};
    /// use mesh_schema::{FieldType, Schema};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let schema = Schema::builder().entity("post", |post| post.field("id", FieldType::Integer)).build()?;
    /// let error = Mesh::builder(schema).resolver("posts", Tables::new()).build().unwrap_err();
    /// assert_eq!(error.to_string(), "resolver of 'posts': Entity 'posts' not found; did you mean 'post'?");
    /// # Ok(())
    /// # }
    /// ```
    pub fn build(mut self) -> Result<Mesh, BuildError> {
        let mut faults = Vec::new();
        let unknown = |entity: &String| {
            let nearest = || {
                mesh_schema::nearest(entity, self.schema.entities().map(|(_, entity)| entity.key.as_str()))
            };
            match self.schema.find(entity) {
                Some(_) => None,
                None => Some((entity.clone(), nearest().map(str::to_owned))),
            }
        };
        let resolvers = self.resolvers.handlers.keys().filter_map(unknown);
        faults.extend(resolvers.map(|(entity, nearest)| BuildFault::Resolver { entity, nearest }));
        let mutators = self.mutators.handlers.keys().filter_map(unknown);
        faults.extend(mutators.map(|(entity, nearest)| BuildFault::Mutator { entity, nearest }));
        let mut functions = Functions::default();
        for (field, function) in self.functions {
            if let Err(error) = add_computed(&mut self.schema, &mut functions, &field, function) {
                faults.push(BuildFault::Computed { field, error });
            }
        }
        match SchemaPolicy::from_schema(&self.schema) {
            Ok(policy) => self.policies.extend(policy.map(|policy| Arc::new(policy) as Arc<dyn Policy>)),
            Err(wrong) => faults.extend(wrong.into_iter().map(BuildFault::SchemaPolicy)),
        }
        let views = Views::new(self.schema, self.policies, self.limits.query.in_values);
        faults.extend(views.find(None).faults().map(BuildFault::Policy));
        if !faults.is_empty() {
            faults.sort_by_cached_key(ToString::to_string);
            return Err(BuildError(faults));
        }
        Ok(Mesh {
            views,
            resolvers: self.resolvers,
            mutators: self.mutators,
            functions,
            cache: Cache::bounded(self.limits.plans, self.limits.plan_bytes),
            limits: self.limits,
            cursors: self.cursors,
        })
    }
}

fn add_computed(
    schema: &mut Arc<Schema>,
    functions: &mut Functions,
    field: &str,
    function: ComputedFunction,
) -> Result<(), ComputedError> {
    let (entity, name) =
        field.split_once('.').ok_or_else(|| ComputedError::Name { name: field.to_owned() })?;
    Arc::make_mut(schema).add_computed(entity, name, function.inputs())?;
    functions.insert(entity, name, function);
    Ok(())
}

#[cfg(test)]
mod tests {
    use mesh_schema::{Entity, FieldType};

    use super::*;
    use crate::memory::Tables;
    use crate::policy::{Access, Condition};
    use crate::{Context, Mutation, WriteError, Written};

    fn schema() -> Schema {
        let user = |user: mesh_schema::EntityBuilder| {
            user.field("id", FieldType::Integer).field("first", FieldType::String)
        };
        Schema::builder().entity("user", user).build().unwrap()
    }

    #[track_caller]
    fn check(mesh: MeshBuilder, expected: &[&str]) {
        let error = mesh.build().unwrap_err();
        assert_eq!(error.faults().len(), expected.len());
        assert_eq!(error.to_string(), expected.join("\n"));
    }

    #[test]
    fn all_faults_are_reported_at_once() {
        let mutator = |_: Mutation, _: Context| async {
            Err::<Written, _>(WriteError::from(crate::ResolveError::Busy))
        };
        let policy = |_: &str, _: &Entity| Access::all().when(Condition::equal("owner", true));
        let mesh = Mesh::builder(schema())
            .resolver("usr", Tables::new())
            .resolver("user", Tables::new())
            .mutator("post", mutator)
            .computed("user.initial", ["frist"], |_| 1)
            .policy(policy);
        let faults = [
            "The condition of a policy on entity 'user' does not fit it: Field 'owner' not found on entity 'user'",
            "computed field 'user.initial': Field 'frist' not found on entity 'user'",
            "mutator of 'post': Entity 'post' not found",
            "resolver of 'usr': Entity 'usr' not found; did you mean 'user'?",
        ];
        check(mesh, &faults);
    }

    #[test]
    fn computed_fields_with_unknown_inputs_or_taken_names_are_refused() {
        for (field, from, fault) in [
            ("usr.x", "first", "Entity 'usr' not found"),
            ("user.x", "nick", "Field 'nick' not found on entity 'user'"),
            ("user.first", "id", "Entity 'user' has a 'first' already"),
            ("user", "id", "'user' cannot be the name of a computed field"),
        ] {
            let fault = format!("computed field '{field}': {fault}");
            check(Mesh::builder(schema()).computed(field, [from], |_| 1), &[&fault]);
        }
    }

    #[test]
    fn wrong_policies_of_the_schema_document_are_refused() {
        let text = r#"{"entities": {"post": {"fields": ["id"], "types": {"id": "integer"}}},
            "policies": {"a": {"post": {"$where": {"field": "id", "op": "eq", "value": "one"}}}}}"#;
        let schema = Schema::read(text, None).unwrap();
        let fault = "policies.a.post.$where: 'id' takes a 64-bit integer, not the text \"one\"";
        check(Mesh::builder(schema), &[fault]);
    }
}
