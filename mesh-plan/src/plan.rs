//! Plans: checked queries with every name resolved, which specify what to fetch and the shape of the response.
//!
//! A [`Plan`] is made by the planner only, so one that exists names nothing outside the schema.

pub(crate) mod computed;
pub(crate) mod cursor;
mod display;

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use mesh_ql::{AggregateFn, Direction, Nulls};
use mesh_schema::{Cardinality, FieldType, Link, NativeType, TableName, TimeForm};
use ring::digest;

use crate::policy::{SessionBinding, SessionValue};
use crate::{OutputKey, Principal, Value};
use cursor::CursorMac;

/// A checked query with its target: all that a resolver needs to know. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) query: Arc<PlannedQuery>,
    pub(crate) target: Target,
    /// What the plan's slots hold in this run.
    pub(crate) session: Option<Arc<[Value]>>,
    /// The sort values of the row after which this page starts.
    pub(crate) after: Option<Arc<[Value]>>,
}

/// The part of a plan that depends neither on the id of a point read nor on the values of a cursor, and so is
/// kept in the plan cache.
#[derive(Debug)]
pub(crate) struct PlannedQuery {
    pub(crate) node: Node,
    pub(crate) id: PlanId,
    /// What cursors of this read are sealed with.
    pub(crate) seal: CursorMac,
    /// What the cursor held that it was made with.
    pub(crate) after: Option<Arc<[Value]>>,
    pub(crate) rows: usize,
    /// Where values of the session stand in conditions.
    pub(crate) slots: Vec<SessionBinding>,
    /// Stands for all that the plan was made from: equal for equal plans.
    pub(crate) digest: [u8; 32],
}

impl PlannedQuery {
    /// The same with a digest of what it was made from.
    pub(crate) fn made_from(mut self, key: &str) -> Self {
        self.digest.copy_from_slice(digest::digest(&digest::SHA256, key.as_bytes()).as_ref());
        self
    }

    /// Returns the session values for a principal; `None` if the plan needs none.
    pub(crate) fn session(&self, principal: Option<&Principal>) -> Option<Arc<[Value]>> {
        let bind = |slot: &SessionBinding| slot.bind(principal);
        (!self.slots.is_empty()).then(|| self.slots.iter().map(bind).collect())
    }
}

/// Identifies the query of a plan: runs with other targets and pages of the same query that were found in the plan cache
/// share it. An id stays unique as long as a clone of it exists, and is a cheap key of what a back end keeps for a plan.
#[derive(Clone, Debug, Default)]
pub struct PlanId(Arc<()>);

impl PartialEq for PlanId {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for PlanId {}

impl Hash for PlanId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

/// One record or many.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// The record whose id field has this value.
    Point(Value),
    /// A page of records.
    Collection,
}

impl Plan {
    /// The root entity's node.
    pub fn node(&self) -> &Node {
        &self.query.node
    }

    /// One record or many.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The most objects that the response may hold. `SPEC §3.11`
    pub fn rows_max(&self) -> usize {
        self.query.rows
    }

    /// What the values of the session come to in this run, by [`Predicate::Session`]'s slot; NULL where there
    /// is none.
    pub fn session_value(&self, slot: usize) -> &Value {
        self.session.as_deref().and_then(|values| values.get(slot)).unwrap_or(&Value::Null)
    }

    /// Whether conditions compare with values of the session.
    pub fn uses_session(&self) -> bool {
        !self.query.slots.is_empty()
    }

    /// The sort values of the row after which the page starts, in the order of [`Node::order`]; `None` for a first
    /// page.
    pub fn after(&self) -> Option<&[Value]> {
        self.after.as_deref()
    }

    /// Stands for the plan, its target, its page and what it takes from a session: plans of one digest read the
    /// same.
    pub fn digest(&self) -> [u8; 32] {
        let mut context = digest::Context::new(&digest::SHA256);
        context.update(&self.query.digest);
        let mut values = Vec::new();
        match &self.target {
            Target::Collection => values.push(u8::MAX),
            Target::Point(id) => cursor::encode(&mut values, id.as_ref()),
        }
        // How many there are of each goes by what the plan was made from.
        for value in [&self.session, &self.after].into_iter().flatten().flat_map(|values| values.iter()) {
            cursor::encode(&mut values, value.as_ref());
        }
        context.update(&values);
        let mut sum = [0; 32];
        sum.copy_from_slice(context.finish().as_ref());
        sum
    }

    /// A predicate of this plan with the session's values in their places, for those who evaluate it.
    pub fn bound<'p>(&self, predicate: &'p Predicate) -> Cow<'p, Predicate> {
        predicate.bound(self.session.as_deref().unwrap_or_default())
    }

    /// Returns the id of the plan's query.
    pub fn id(&self) -> &PlanId {
        &self.query.id
    }
}

/// One use of an entity in a query: which of its rows, which columns of them, and what hangs below.
#[derive(Debug)]
pub struct Node {
    /// Dotted refs from the root entity, such as `post.comments.author`.
    pub path: String,
    /// The entity's key.
    pub entity: String,
    /// Where its rows are stored.
    pub table: TableName,
    /// What a row must carry, in this order: the selected fields, then what joins, order and cursors need.
    pub columns: Vec<Column>,
    /// What an object shows, in the order of the selection.
    pub output: Vec<Output>,
    /// Nested relations, in the order of the selection.
    pub joins: Vec<Join>,
    /// Which rows.
    pub filter: Option<Predicate>,
    /// In which order; total, but for rows that nothing distinguishes. Empty for a point read's root.
    pub order: Vec<SortKey>,
    /// Which part of them; `None` means all.
    pub page: Option<Page>,
    /// Set where rows are folded into groups.
    pub grouping: Option<Grouping>,
    /// The columns that identify a row, for folding duplicates; empty if unknown.
    pub row_key: Vec<Column>,
    /// The storage columns that filter, grouping and order use, by the names that flat rows have for them.
    pub control_columns: Vec<Column>,
    /// The id column of a point read's root.
    pub id: Option<Column>,
    /// The storage types of the table's columns, where they are known.
    pub native: Arc<HashMap<String, NativeType>>,
}

impl Node {
    /// The names of the scalar fields that the client asked for.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().filter(|column| column.selected).map(|column| column.name.as_str())
    }

    /// The nested relation of that ref.
    pub fn join(&self, name: &str) -> Option<&Join> {
        self.joins.iter().find(|join| join.name == name)
    }
}

/// A column that rows of a node carry.
#[derive(Clone, Debug)]
pub struct Column {
    /// The field's name; of a column that is no field, the storage name; of an aggregate, its alias.
    pub name: String,
    /// Where its value comes from.
    pub source: ColumnSource,
    /// The type, where known.
    pub ty: Option<FieldType>,
    /// How the storage writes times in it.
    pub time_form: Option<TimeForm>,
    /// Whether the client asked for it; the others serve joins, order and cursors.
    pub selected: bool,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ColumnSource {
    /// A storage column of the node's table.
    Column(String),
    /// An aggregate, by its index in [`Grouping::aggregates`].
    Aggregate(usize),
}

/// One key of an object.
#[derive(Clone, Debug)]
pub enum Output {
    /// A scalar.
    Field {
        /// The key, ready to be written.
        key: OutputKey,
        /// Index into [`Node::columns`].
        column: usize,
    },
    /// A nested relation.
    Join {
        /// The key, ready to be written.
        key: OutputKey,
        /// Index into [`Node::joins`].
        join: usize,
    },
    /// A field made of others.
    Computed {
        /// The key, ready to be written.
        key: OutputKey,
        /// Text and columns in turn.
        template: Vec<TemplatePiece>,
    },
}

/// A piece of a computed field's text.
#[derive(Clone, Debug)]
pub enum TemplatePiece {
    /// Text as it stands.
    Text(String),
    /// Index into [`Node::columns`]; NULL is empty text.
    Column(usize),
    /// What code makes of some columns. It is the only piece of its template, and the field is of the type that
    /// the code returns.
    Code {
        /// The code.
        function: crate::ComputedFunction,
        /// Indexes into [`Node::columns`], in the order of the code's parts.
        columns: Vec<usize>,
    },
}

/// An edge to a nested node.
#[derive(Debug)]
pub struct Join {
    /// The relation's ref.
    pub name: String,
    /// An object or an array.
    pub cardinality: Cardinality,
    /// The columns that connect the two.
    pub link: Link,
    /// Indexes into the parent's columns of the values that `link` compares, in its order.
    pub parent_keys: Vec<usize>,
    /// The names under which a flat row of the nested node carries its parent's key, in the order of
    /// `parent_keys`: the target's column (by its field's name, if it has one), or of a junction
    /// `table.column`.
    pub child_keys: Vec<String>,
    /// The nested node.
    pub node: Node,
}

/// Which rows. Comparisons follow SQL: NULL compares to nothing, and `not` of nothing is nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// Every one holds; an empty list always does.
    All(Vec<Self>),
    /// One of them holds; an empty list never does.
    Any(Vec<Self>),
    /// It does not hold.
    Not(Box<Self>),
    /// A comparison with a value.
    Compare {
        /// The left side.
        source: ColumnSource,
        /// How.
        op: CompareOp,
        /// The right side. NULL stands there only for what a session lacks.
        value: Value,
    },
    /// A comparison with a value of the session: a condition of a policy. It holds for nothing where the
    /// session lacks the value.
    Session {
        /// The left side.
        source: ColumnSource,
        /// How.
        op: CompareOp,
        /// Which value.
        value: SessionValue,
        /// Where [`Plan::session_value`] has it.
        slot: usize,
    },
    /// One of a list, which is not empty; `negated`: none of it.
    In {
        /// The left side.
        source: ColumnSource,
        /// The list.
        values: Vec<Value>,
        /// `nin`.
        negated: bool,
    },
    /// A pattern with `%`, `_` and `\` as in `SPEC §3.7`.
    Like {
        /// The left side.
        source: ColumnSource,
        /// The pattern.
        pattern: String,
        /// `ilike`.
        ignore_case: bool,
    },
    /// NULL; `negated`: anything else.
    IsNull {
        /// The left side.
        source: ColumnSource,
        /// `isNotNull`.
        negated: bool,
    },
}

impl Predicate {
    /// Calls `visit` with the source of every comparison.
    pub(crate) fn for_each_source(&self, visit: &mut impl FnMut(&ColumnSource)) {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().for_each(|part| part.for_each_source(visit)),
            Self::Not(part) => part.for_each_source(visit),
            Self::Compare { source, .. }
            | Self::Session { source, .. }
            | Self::In { source, .. }
            | Self::Like { source, .. }
            | Self::IsNull { source, .. } => visit(source),
        }
    }

    /// The same with the session's values in their places. Predicates are nested as deep as the parser, or the
    /// author of a policy, lets them.
    pub(crate) fn bound(&self, values: &[Value]) -> Cow<'_, Self> {
        let all = |parts: &[Self]| parts.iter().map(|part| part.bound(values).into_owned()).collect();
        if values.is_empty() {
            return Cow::Borrowed(self);
        }
        match self {
            Self::All(parts) => Cow::Owned(Self::All(all(parts))),
            Self::Any(parts) => Cow::Owned(Self::Any(all(parts))),
            Self::Not(part) => Cow::Owned(Self::Not(Box::new(part.bound(values).into_owned()))),
            Self::Session { source, op, slot, .. } => {
                let value = values.get(*slot).cloned().unwrap_or_default();
                Cow::Owned(Self::Compare { source: source.clone(), op: *op, value })
            }
            Self::Compare { .. } | Self::In { .. } | Self::Like { .. } | Self::IsNull { .. } => {
                Cow::Borrowed(self)
            }
        }
    }
}

/// A comparison of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is its own name")]
pub enum CompareOp {
    Eq,
    Ne,
    Gt,
    Gte,
    Lt,
    Lte,
}

/// One key of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortKey {
    /// What is compared.
    pub source: ColumnSource,
    /// Which way.
    pub direction: Direction,
    /// Where NULL goes.
    pub nulls: Nulls,
    /// Whether there can be NULLs at all.
    pub nullable: bool,
    /// Whether the query does not name the key: it was added to make the order total.
    pub breaks_ties: bool,
    /// At a paged root: index into [`Node::columns`] of the value that a cursor keeps.
    pub column: Option<usize>,
}

/// A page.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// How many rows. At the root one more row is fetched if there is one, which shows whether
    /// another page follows.
    pub first: u32,
    /// For a page that starts after a row ([`Plan::after`]), which of that row's sort values are NULL: all that a
    /// statement's form depends on.
    pub(crate) after: Option<Vec<bool>>,
}

/// Rows folded into groups. The node's `columns` name the keys first, then the aggregates.
#[derive(Clone, Debug, PartialEq)]
pub struct Grouping {
    /// Storage columns of the group keys; empty: one group of all rows, even of none.
    pub keys: Vec<String>,
    /// What is computed for each group.
    pub aggregates: Vec<Aggregate>,
    /// Which groups.
    pub having: Option<Predicate>,
}

/// A value computed over the rows of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aggregate {
    /// Its name in the item.
    pub alias: String,
    /// The function.
    pub function: AggregateFn,
    /// Over which storage column; `None` counts rows.
    pub column: Option<String>,
    /// Whether equal values count once.
    pub distinct: bool,
    /// The column's type, where known.
    pub ty: Option<FieldType>,
}
