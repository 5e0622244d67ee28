//! Checks of a write before its ids and values are known, as for a step of a batch. `SPEC §18.4`

use mesh_schema::Cardinality;

use super::rights::{self, WriteKind};
use super::{WritePlanner, WriteRequest, WriteTarget, find_entity};
use crate::PlanError;
use crate::mutation::{GuardedEntity, LinkLocation};
use crate::policy::View;

/// Checks what does not depend on ids and values: that the entity and the relation exist, and that the principal has a
/// right to such a write. Returns the entity of the path.
pub(crate) fn check(view: &View, request: &WriteRequest<'_>) -> Result<GuardedEntity, PlanError> {
    let planner = WritePlanner { view, request };
    let mut subject = planner.subject(find_entity(&view.schema, request.target.entity(), None)?)?;
    match request.target {
        WriteTarget::Create { .. } => WriteKind::Create.check_entity(subject.entity())?,
        WriteTarget::Update { .. } => WriteKind::Update.check_entity(subject.entity())?,
        WriteTarget::Merge { .. } => {
            WriteKind::Create.check_entity(subject.entity())?;
            WriteKind::Update.check_entity(subject.entity())?;
        }
        WriteTarget::Delete { .. } => rights::check_delete(subject.entity())?,
        WriteTarget::Connect { relation, .. } | WriteTarget::Disconnect { relation, .. } => {
            planner.linked(&mut subject, relation)?;
        }
        WriteTarget::Attach { relation, .. } => {
            let other = planner.related(&subject, relation, Cardinality::Many)?;
            if let LinkLocation::Junction { .. } = other.link {
                rights::check_junction(view, &subject, &other, WriteKind::Create)?;
            } else {
                WriteKind::Create.check_entity(other.subject.entity())?;
                rights::check_child_link(&other)?;
            }
        }
        WriteTarget::Remove { relation, .. } => {
            let other = planner.related(&subject, relation, Cardinality::Many)?;
            match other.link {
                LinkLocation::Junction { .. } => {
                    rights::check_junction(view, &subject, &other, WriteKind::Update)?
                }
                LinkLocation::InParent(_) | LinkLocation::InRelated(_) => {
                    rights::check_delete(other.subject.entity())?
                }
            }
        }
    }
    Ok(subject)
}
