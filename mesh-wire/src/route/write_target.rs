//! The writes that routes stand for.

use mesh_plan::RecordId::Segment;
use mesh_plan::WriteTarget;

use super::Route;

impl Route<'_> {
    /// Returns the target of a write route; `None` for other routes.
    pub fn write_target(&self) -> Option<WriteTarget<'_>> {
        Some(match self {
            Route::Create { entity } => WriteTarget::Create { entity },
            Route::Update { entity, id } => WriteTarget::Update { entity, id: Segment(id) },
            Route::Delete { entity, id } => WriteTarget::Delete { entity, id: Segment(id) },
            Route::Attach { entity, id, member } => {
                WriteTarget::Attach { entity, id: Segment(id), relation: member }
            }
            Route::Connect { entity, id, relation } => {
                WriteTarget::Connect { entity, id: Segment(id), relation }
            }
            Route::Disconnect { entity, id, relation } => {
                WriteTarget::Disconnect { entity, id: Segment(id), relation }
            }
            Route::Remove { entity, id, relation, child } => {
                WriteTarget::Remove { entity, id: Segment(id), relation, child: Segment(child) }
            }
            _ => return None,
        })
    }
}
