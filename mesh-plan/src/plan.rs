//! Plans: checked queries with every name resolved, which specify the rows to fetch and the shape of the response.

pub(crate) mod computed;
mod conditions;
pub(crate) mod cursor;
mod display;
mod node;
pub(crate) mod parameters;
mod predicate;
mod query_source;
mod search;
pub(crate) mod size;

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::policy::{SessionBinding, SessionInput};
use crate::{Key, Principal, ResolveError, Value, ValueRef};
pub use computed::{ComputedFunction, ComputedInputs};
pub use conditions::{ConditionOrigin, PlanCondition};
use cursor::CursorMac;
pub use node::{
    Aggregate, Bucket, Column, ColumnSource, Grouping, Join, Nesting, Node, Output, Page, Related, RowCount,
    SortKey, TemplatePiece,
};
pub use parameters::Parameter;
use parameters::Parameters;
pub use predicate::{Comparand, CompareOp, Predicate};
pub use query_source::QuerySource;
pub use search::Search;

/// A checked query with its target. Only the planner creates plans, so every name in a plan is in the schema. Cheap to
/// clone.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) query: Arc<PlannedQuery>,
    pub(crate) target: ReadTarget,
    /// The session values of this run, by slot.
    pub(crate) session: Option<Arc<[SessionInput]>>,
    /// The values of parameters in this run, by slot.
    pub(crate) inputs: Option<Arc<[Value]>>,
    /// The sort values of the row that the page follows in the order of the node.
    pub(crate) cursor: Option<Arc<[Value]>>,
}

/// The part of a plan that does not depend on an id, a session or the values of a cursor. It is cached.
#[derive(Debug)]
pub(crate) struct PlannedQuery {
    pub(crate) node: Node,
    pub(crate) id: PlanId,
    /// Seals and opens the cursors of this read.
    pub(crate) seal: CursorMac,
    /// The largest number of objects in a response.
    pub(crate) rows: usize,
    /// The largest number of bytes of a response.
    pub(crate) bytes: usize,
    /// The estimated number of bytes in memory.
    pub(crate) memory: usize,
    /// The number of rows that orders by values of related records may scan; `None` without such an order.
    pub(crate) related_sort_rows: Option<u64>,
    /// The session values that conditions need, by slot.
    pub(crate) slots: Vec<SessionBinding>,
    /// The parameters, if there are any.
    pub(crate) params: Option<Box<Parameters>>,
}

impl PlannedQuery {
    /// Returns the session values for a principal; `None` if the plan needs none.
    pub(crate) fn session(&self, principal: Option<&Principal>) -> Option<Arc<[SessionInput]>> {
        let bind = |slot: &SessionBinding| slot.bind(principal);
        (!self.slots.is_empty()).then(|| self.slots.iter().map(bind).collect())
    }
}

/// The identity of a plan's query, for the keys of caches. Plans with other targets or pages of the same cached query share
/// it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PlanId(u64);

impl Default for PlanId {
    /// Returns an id that differs from all others of this process.
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// The identity of a plan's result: plans with equal keys read the same rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PlanKey {
    query: PlanId,
    /// Target, session values, values of parameters and cursor. The query determines how many values there are of each.
    values: Vec<u8>,
}

impl PlanKey {
    /// Returns the number of bytes of the values.
    pub fn bytes(&self) -> usize {
        self.values.len()
    }
}

/// The target of a read: one record or many.
#[derive(Clone, Debug, PartialEq)]
pub enum ReadTarget {
    /// The record whose id fields have these values.
    Point(Key),
    /// A page of records.
    Collection,
}

impl ReadTarget {
    /// Returns the values of the id fields of a point read.
    pub fn id(&self) -> Option<&[Value]> {
        match self {
            Self::Point(key) => Some(key),
            Self::Collection => None,
        }
    }
}

impl Plan {
    /// Returns the root entity's node.
    pub fn node(&self) -> &Node {
        &self.query.node
    }

    /// Returns whether one record is read or many.
    pub fn target(&self) -> &ReadTarget {
        &self.target
    }

    /// Returns the largest number of objects that the response may contain. `SPEC §3.11`
    pub fn rows_max(&self) -> usize {
        self.query.rows
    }

    /// Returns the largest number of bytes that the response may have. `SPEC §3.11`
    pub fn bytes_max(&self) -> usize {
        self.query.bytes
    }

    /// Returns how many rows may be scanned for orders by values of related records ([`Node::sorts_related`]); `None` if the
    /// plan has no such order. `SPEC §14.9`
    pub fn related_sort_rows(&self) -> Option<u64> {
        self.query.related_sort_rows
    }

    /// Returns the session value of a slot ([`Predicate::Session`]); NULL if the session lacks it.
    pub fn session_value(&self, slot: usize) -> &Value {
        self.session_input(slot).one()
    }

    /// Returns the session values of the list in a slot ([`Predicate::SessionIn`]). NULL replaces values that no record has,
    /// and is the only value if the session lacks the list.
    pub fn session_values(&self, slot: usize) -> &[Value] {
        self.session_input(slot).many()
    }

    /// Returns the session value or list of a slot.
    pub(crate) fn session_input(&self, slot: usize) -> &SessionInput {
        self.session.as_deref().and_then(|values| values.get(slot)).unwrap_or(&SessionInput::One(Value::Null))
    }

    /// Returns the values of parameters, by slot ([`Comparand::Input`], [`RowCount::Input`]).
    pub fn inputs(&self) -> &[Value] {
        self.inputs.as_deref().unwrap_or_default()
    }

    /// Returns the number of rows of a page of this plan.
    pub fn page_size(&self, page: &Page) -> u32 {
        self.rows(page.size)
    }

    /// Returns the number of rows before a page of this plan that are left out.
    pub fn skipped_rows(&self, page: &Page) -> u32 {
        page.skip.map_or(0, |skip| self.rows(skip))
    }

    fn rows(&self, count: RowCount) -> u32 {
        match count {
            RowCount::Rows(rows) => rows,
            RowCount::Input(slot) => match self.inputs().get(slot) {
                Some(Value::Integer(rows)) => u32::try_from(*rows).unwrap_or_default(),
                _ => 0,
            },
        }
    }

    /// Returns whether conditions compare with values of the session.
    pub fn uses_session(&self) -> bool {
        !self.query.slots.is_empty()
    }

    /// Returns the sort values of the row that the page follows in the order of [`Node::order`]; `None` for a page without
    /// a cursor. Plans with the same [`Self::id`] have NULL in the same places.
    pub fn cursor(&self) -> Option<&[Value]> {
        self.cursor.as_deref()
    }

    /// Returns the cursor of a row with these values of [`Node::order`].
    pub fn cursor_text<'v>(&self, values: impl IntoIterator<Item = ValueRef<'v>>) -> String {
        self.query.seal.text(values)
    }

    /// Returns a predicate of this plan with the values of the session and of parameters filled in.
    pub fn bind<'p>(&self, predicate: &'p Predicate) -> Cow<'p, Predicate> {
        predicate.bind(self.session.as_deref().unwrap_or_default(), self.inputs())
    }

    /// Returns the plan of the next `size` records of an export: those after the record with these sort values, or the first
    /// ones. For back ends that cannot pass rows on while they read.
    pub fn export_page(&self, size: u32, after: Option<&[Value]>) -> Self {
        let mut node = self.query.node.clone();
        if let Some(page) = &mut node.page {
            page.size = RowCount::Rows(size);
        }
        Self { cursor: after.map(Arc::from), ..self.with_node(node) }
    }

    /// Returns the plan with another node and without parameters, as another query.
    pub(crate) fn with_node(&self, node: Node) -> Self {
        let query = &self.query;
        let (seal, slots) = (query.seal.clone(), query.slots.clone());
        let query = PlannedQuery { node, id: PlanId::default(), seal, slots, params: None, ..**query };
        Self { query: Arc::new(query), ..self.clone() }
    }

    /// Returns the plan with other values of the id, the session and the parameters.
    pub fn map_values(&self, map: impl Fn(&Value) -> Value) -> Self {
        let target = match &self.target {
            ReadTarget::Point(key) => ReadTarget::Point(key.iter().map(&map).collect()),
            ReadTarget::Collection => ReadTarget::Collection,
        };
        let session = self.session.as_ref().map(|inputs| {
            let input = |input: &SessionInput| match input {
                SessionInput::One(value) => SessionInput::One(map(value)),
                SessionInput::Many(values) => SessionInput::Many(values.iter().map(&map).collect()),
            };
            inputs.iter().map(input).collect()
        });
        let inputs = self.inputs.as_ref().map(|inputs| inputs.iter().map(&map).collect());
        Self { target, session, inputs, ..self.clone() }
    }

    /// Returns the error of a database that does not know a time zone of the plan; `None` if the plan has none.
    pub fn unknown_zone(&self) -> Option<ResolveError> {
        let mut zones = Vec::new();
        self.node().add_zones(&mut zones);
        (!zones.is_empty()).then(|| ResolveError::UnknownZone { zone: zones.join("', '") })
    }

    /// Returns the id of the plan's query.
    pub fn id(&self) -> &PlanId {
        &self.query.id
    }

    /// Returns the key of the plan's result.
    pub fn key(&self) -> PlanKey {
        let mut values = Vec::with_capacity(16);
        match &self.target {
            ReadTarget::Collection => values.push(u8::MAX),
            ReadTarget::Point(key) => key.iter().for_each(|part| cursor::encode(&mut values, part.as_ref())),
        }
        for input in self.session.iter().flat_map(|inputs| inputs.iter()) {
            if let SessionInput::Many(list) = input {
                cursor::encode(&mut values, ValueRef::Integer(list.len() as i64));
            }
            input.many().iter().for_each(|value| cursor::encode(&mut values, value.as_ref()));
        }
        let lists = [&self.inputs, &self.cursor];
        for value in lists.into_iter().flatten().flat_map(|values| values.iter()) {
            cursor::encode(&mut values, value.as_ref());
        }
        PlanKey { query: self.query.id.clone(), values }
    }
}
