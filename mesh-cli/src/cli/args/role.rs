//! The role and the session that a command acts for, as in `explain` and `mcp`. Other commands use the role only.

use clap::Args;
use mesh_plan::Principal;
use mesh_plan::policy::ClaimValue;
use mesh_ql::Literal;
use mesh_schema::policy::ANY_ROLE;
use mesh_schema::{Schema, nearest};

use crate::cli::failure::Failure;

/// A role and the values of its session.
#[derive(Debug, Args)]
pub(crate) struct RoleArgs {
    /// Apply the policies of this role; '*' is any role that they do not list
    #[arg(long, value_name = "NAME")]
    role: Option<String>,
    /// A claim of the session, such as teamIds=1,2 or city=Berlin; can be repeated
    #[arg(long = "claim", value_name = "NAME=VALUE[,VALUE]", requires = "role")]
    claims: Vec<String>,
    /// The user id of the session
    #[arg(long, value_name = "ID", requires = "role", allow_negative_numbers = true)]
    user: Option<String>,
    /// The tenant of the session
    #[arg(long, value_name = "TENANT", requires = "role", allow_negative_numbers = true)]
    tenant: Option<String>,
}

impl RoleArgs {
    /// Returns the role, if one is given.
    pub(crate) fn role(&self) -> Option<&str> {
        self.role.as_deref()
    }

    /// Returns whether the session has a user.
    pub(crate) fn has_user(&self) -> bool {
        self.user.is_some()
    }

    /// Returns the principal of the session, or `None` if nothing is given except [`ANY_ROLE`].
    pub(crate) fn principal(&self) -> Result<Option<Principal>, Failure> {
        let role = self.role.as_deref().filter(|role| *role != ANY_ROLE);
        if role.is_none() && self.user.is_none() && self.tenant.is_none() && self.claims.is_empty() {
            return Ok(None);
        }
        let mut principal = Principal::new(self.user.clone().unwrap_or_default(), "");
        principal.role = role.map(str::to_owned);
        principal.tenant.clone_from(&self.tenant);
        for claim in &self.claims {
            let (name, value) =
                claim.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
                    Failure::usage_error(format_args!(
                        "--claim takes NAME=VALUE, such as teamIds=1,2, not '{claim}'"
                    ))
                })?;
            principal = principal.with_claim(name, claim_value(value));
        }
        Ok(Some(principal))
    }
}

/// Parses the value of a claim: a JSON string, number or boolean, or a list of them; otherwise values separated by commas,
/// each of which is parsed as a number or boolean if possible.
fn claim_value(text: &str) -> ClaimValue {
    let json = serde_json::from_str(text).ok();
    match json.as_ref().and_then(ClaimValue::from_json) {
        Some(value) => value,
        None if text.contains(',') => ClaimValue::Many(text.split(',').map(item).collect()),
        None => ClaimValue::One(Literal::Text(text.to_owned())),
    }
}

fn item(text: &str) -> Literal {
    match serde_json::from_str(text).ok().as_ref().and_then(ClaimValue::from_json) {
        Some(ClaimValue::One(literal)) => literal,
        _ => Literal::Text(text.to_owned()),
    }
}

/// Checks that the policies of a schema have a role.
pub(crate) fn check_role(role: &str, schema: &Schema) -> Result<(), Failure> {
    let Some(policies) = schema.policies() else {
        return Err(Failure::usage_error(format_args!(
            "--role {role}: the schema has no policies, so every role can see all of it"
        )));
    };
    if policies.get(role).is_some() {
        return Ok(());
    }
    let hint = match nearest(role, policies.keys()) {
        Some(near) => format!("did you mean '{near}'?"),
        None if policies.get(ANY_ROLE).is_some() => {
            format!("for roles that are not listed, pass --role '{ANY_ROLE}'")
        }
        None => "roles that are not listed can see nothing".to_owned(),
    };
    Err(Failure::usage_error(format_args!("the policies have no role '{role}'; {hint}")))
}
