//! Which plan did these very headers lead to before? A cache in front of decoding, parsing and planning.
//!
//! The key is the value of `X-Mesh-Query` as it was sent: equal base64 is equal text. Only where nobody's view
//! differs from anybody else's, for a plan of one is not a plan for all then.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use foldhash::fast::RandomState;
use mesh_plan::{Mesh, Plan};
use mesh_ql::Format;

/// Plans by undecoded query. Two generations: when the newer one has half of the capacity it becomes the older,
/// and what is used of the older moves on to the newer; so what is asked for often stays.
#[derive(Debug, Default)]
pub(crate) struct Plans {
    capacity: usize,
    generations: RwLock<[Generation; 2]>,
}

type Generation = HashMap<Box<[u8]>, Kept, RandomState>;

/// One query in its two formats, for one record or for many.
type Kept = [Option<Plan>; 4];

/// What stands in the request beside the query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) format: Format,
    pub(crate) entity: &'a str,
    pub(crate) id: Option<&'a str>,
}

impl Asked<'_> {
    fn place(&self) -> usize {
        usize::from(self.format == Format::Ql) * 2 + usize::from(self.id.is_some())
    }
}

impl Plans {
    /// Plans of a core, as many as its own cache has.
    pub(crate) fn of(mesh: &Mesh) -> Self {
        let capacity = if mesh.has_policies() { 0 } else { mesh.limits().plans };
        Self { capacity, ..Self::default() }
    }

    /// The plan of that query, aimed at the record.
    pub(crate) fn find(&self, raw: &[u8], asked: Asked<'_>) -> Option<Plan> {
        let [newer, older] = &*self.generations.read().unwrap_or_else(PoisonError::into_inner);
        let plan = newer.get(raw).or_else(|| older.get(raw))?.get(asked.place())?.as_ref()?;
        // Another entity in the path is a fault, of which the core knows the words.
        (plan.node().entity == asked.entity).then(|| plan.aimed_at(asked.id))
    }

    /// How many queries it holds.
    pub(crate) fn len(&self) -> usize {
        let [newer, older] = &*self.generations.read().unwrap_or_else(PoisonError::into_inner);
        newer.len() + older.len()
    }

    /// Keeps what the headers led to.
    pub(crate) fn keep(&self, raw: &[u8], asked: Asked<'_>, plan: &Plan) {
        // The headers of later pages differ by their cursors; the core knows their plan by the rest.
        if self.capacity == 0 || plan.after().is_some() {
            return;
        }
        let [newer, older] = &mut *self.generations.write().unwrap_or_else(PoisonError::into_inner);
        if newer.len() >= self.capacity.div_ceil(2) {
            *older = std::mem::take(newer);
        }
        let kept = newer.entry(raw.into()).or_default();
        if let Some(place) = kept.get_mut(asked.place()) {
            *place = Some(plan.clone());
        }
    }
}
