//! The part of a schema that one role can see, for commands that describe a schema.

use std::sync::Arc;

use mesh_plan::{Mesh, Principal};
use mesh_schema::policy::ANY_ROLE;
use mesh_schema::{Schema, nearest};

use crate::cli::failure::Failure;

/// Returns the part of the schema that the policies show to a role, or all of it if `role` is `None`.
pub(crate) fn visible_to(schema: Schema, role: Option<&str>) -> Result<Arc<Schema>, Failure> {
    let Some(role) = role else { return Ok(Arc::new(schema)) };
    let Some(policies) = schema.policies() else {
        return Err(Failure::start(format_args!(
            "--role {role}: the schema has no policies, so every role can see all of it"
        )));
    };
    if policies.get(role).is_none() {
        let hint = match nearest(role, policies.keys()) {
            Some(near) => format!("did you mean '{near}'?"),
            None if policies.get(ANY_ROLE).is_some() => {
                format!("for roles that are not listed, pass --role '{ANY_ROLE}'")
            }
            None => "roles that are not listed can see nothing".to_owned(),
        };
        return Err(Failure::start(format_args!("the policies have no role '{role}'; {hint}")));
    }
    let principal = Principal::new("", "").with_role(role);
    let mesh = Mesh::builder(schema).build().map_err(Failure::start)?;
    Ok(mesh.schema_for(Some(&principal)))
}
