//! What of a schema is there for one role? What commands write down for others, of a role's part only.

use std::sync::Arc;

use mesh_plan::{Mesh, Principal};
use mesh_schema::policy::ANY_ROLE;
use mesh_schema::{Schema, nearest};

use crate::cli::failure::Failure;

/// The whole schema, or the part of it that a role sees by the policies of the schema document.
pub(crate) fn part(schema: Schema, role: Option<&str>) -> Result<Arc<Schema>, Failure> {
    let Some(role) = role else { return Ok(Arc::new(schema)) };
    let Some(policies) = schema.policies() else {
        return Err(Failure::start(format_args!(
            "--role {role}: the schema has no policies, so every role sees all of it"
        )));
    };
    if policies.get(role).is_none() {
        let hint = match nearest(role, policies.keys()) {
            Some(near) => format!("did you mean '{near}'?"),
            None if policies.get(ANY_ROLE).is_some() => {
                format!("what roles see that are not listed is shown by --role '{ANY_ROLE}'")
            }
            None => "roles that are not listed see nothing".to_owned(),
        };
        return Err(Failure::start(format_args!("the policies have no role '{role}'; {hint}")));
    }
    let somebody = Principal::new("", "").with_role(role);
    Ok(Mesh::builder(schema).build().schema_for(Some(&somebody)))
}
