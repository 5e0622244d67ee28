//! Nodes of a plan: the rows and columns to fetch for one use of an entity, and the shape of its part of the response.

use std::collections::HashMap;
use std::sync::Arc;

use mesh_ql::{AggregateFn, Direction, Nulls, TimeUnit};
use mesh_schema::{Entity, FieldType, Link, NativeType, TableName, TimeForm};

use super::{ComputedFunction, Predicate, Search};
use crate::ResolveError;
use crate::shape::key::OutputKey;
use crate::value::bucket::Periods;
use crate::value::json::{JsonPointer, JsonType};

/// One use of an entity in a query.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Node {
    /// Dotted relation names from the root entity, such as `post.comments.author`.
    pub path: String,
    /// The entity's key.
    pub entity: String,
    /// The table of its rows.
    pub table: TableName,
    /// The columns that a row must have, in this order: the selected fields, then those for joins, order and cursors.
    pub columns: Vec<Column>,
    /// The keys of an object, in the order of the selection.
    pub output: Vec<Output>,
    /// Nested relations, in the order of the selection.
    pub joins: Vec<Join>,
    /// Related records that filter and order use, but that are not part of the response.
    pub related: Vec<Related>,
    /// The condition on rows, from policies and from the query.
    pub filter: Option<Predicate>,
    /// The part of the condition that policies added.
    pub(crate) policy: PolicyShare,
    /// The order of rows. It is total, except for rows that nothing distinguishes. It is empty at the root of a point read,
    /// and reversed for a page of the last rows ([`Page::reversed`]).
    pub order: Vec<SortKey>,
    /// The page of the rows; `None` for all.
    pub page: Option<Page>,
    /// The grouping of rows, if the node reads groups.
    pub grouping: Option<Grouping>,
    /// The columns that identify a row, for the removal of duplicates; empty if unknown.
    pub row_key: Vec<Column>,
    /// The storage columns that filter, grouping and order use, with their names in flat rows.
    pub control_columns: Vec<Column>,
    /// The columns of the id, in the order of its parts; empty if records have no id.
    pub id: Vec<Column>,
    /// The storage types of the table's columns, if known.
    pub native: Arc<HashMap<String, NativeType>>,
}

impl Node {
    /// Returns all records of an entity, without columns.
    pub(crate) fn of_entity(entity: &Entity) -> Self {
        Self {
            path: String::new(),
            entity: entity.key.clone(),
            table: entity.table.clone(),
            columns: Vec::new(),
            output: Vec::new(),
            joins: Vec::new(),
            related: Vec::new(),
            filter: None,
            policy: PolicyShare::None,
            order: Vec::new(),
            page: None,
            grouping: None,
            row_key: Vec::new(),
            control_columns: Vec::new(),
            id: Vec::new(),
            native: Arc::clone(&entity.native),
        }
    }

    /// Returns the part of the condition that policies added.
    pub fn policy_filter(&self) -> Option<&Predicate> {
        match (self.policy, &self.filter) {
            (PolicyShare::None, _) => None,
            (PolicyShare::First, Some(Predicate::All(parts))) => parts.first(),
            (PolicyShare::First | PolicyShare::Whole, filter) => filter.as_ref(),
        }
    }

    /// Returns the part of the condition that the query contains.
    pub fn requested_filter(&self) -> Option<&Predicate> {
        match (self.policy, &self.filter) {
            (PolicyShare::None, filter) => filter.as_ref(),
            (PolicyShare::First, Some(Predicate::All(parts))) => parts.get(1),
            (PolicyShare::First | PolicyShare::Whole, _) => None,
        }
    }

    /// Sets the condition to the conjunction of the conditions of policies and of the query.
    pub(crate) fn restrict(&mut self, policy: Option<Predicate>, requested: Option<Predicate>) {
        (self.filter, self.policy) = match (policy, requested) {
            (Some(policy), Some(requested)) => {
                (Some(Predicate::All(vec![policy, requested])), PolicyShare::First)
            }
            (Some(policy), None) => (Some(policy), PolicyShare::Whole),
            (None, requested) => (requested, PolicyShare::None),
        };
    }

    /// Returns whether rows are ordered by a value of related records. No index of the table has that order.
    pub fn sorts_related(&self) -> bool {
        self.order.iter().any(|key| key.source.is_related())
    }

    /// Returns the search by whose relevance the records are ordered.
    pub fn relevance(&self) -> Option<&Search> {
        match &self.order.first()?.source {
            ColumnSource::Relevance(search) => Some(search),
            _ => None,
        }
    }

    /// Returns whether this node or one of its nested relations is ordered by a value of related records.
    pub(crate) fn has_related_sort(&self) -> bool {
        self.sorts_related() || self.joins.iter().any(|join| join.node.has_related_sort())
    }

    /// Returns whether the response or a cursor needs a column. Keys that only joins compare are not needed.
    pub fn needs(&self, column: usize) -> bool {
        let is_shown = self.output.iter().any(|output| match output {
            Output::Field { column: shown, .. } | Output::Part { column: shown, .. } => *shown == column,
            Output::Join { .. } => false,
            Output::Computed { template, .. } => template.iter().any(|piece| match piece {
                TemplatePiece::Text(_) => false,
                TemplatePiece::Column(shown) => *shown == column,
                TemplatePiece::Code { columns, .. } => columns.contains(&column),
            }),
        });
        is_shown || self.order.iter().any(|key| key.column == Some(column))
    }

    /// Adds the time zones of this node and the nodes below it.
    pub(super) fn add_zones<'n>(&'n self, zones: &mut Vec<&'n str>) {
        for key in self.grouping.iter().flat_map(|grouping| &grouping.keys) {
            if let ColumnSource::Bucket(bucket) = key {
                zones.extend(bucket.zone.as_deref());
            }
        }
        self.joins.iter().for_each(|join| join.node.add_zones(zones));
    }

    /// Returns the names of the scalar fields that the client selected.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().filter(|column| column.selected).map(|column| column.name.as_str())
    }
}

/// The part of a node's condition that policies added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PolicyShare {
    /// Nothing.
    None,
    /// The first of its two parts.
    First,
    /// All of it.
    Whole,
}

/// A column in the rows of a node.
#[derive(Clone, Debug)]
pub struct Column {
    /// The name of the field, the storage name of a column without a field, or the alias of an aggregate.
    pub name: String,
    /// The source of the value.
    pub source: ColumnSource,
    /// The type, if known.
    pub ty: Option<FieldType>,
    /// The form in which times are stored.
    pub time_form: Option<TimeForm>,
    /// Whether the client selected it; the other columns are for joins, order and cursors.
    pub selected: bool,
}

/// The source of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ColumnSource {
    /// A storage column of the node's table.
    Column(String),
    /// A bucket, which is one of [`Grouping::keys`].
    Bucket(Box<Bucket>),
    /// An aggregate, by its index in [`Grouping::aggregates`].
    Aggregate(usize),
    /// A value of related records: a column of the one record, or an aggregate. NULL if there is no record. `related` is an
    /// index into [`Node::related`], and `column` is an index into the columns of that node.
    #[expect(missing_docs, reason = "documented above")]
    Related { related: usize, column: usize },
    /// Whether there are related records, by the index into [`Node::related`]. Never NULL.
    Exists(usize),
    /// A scalar in a JSON document, used only in conditions. It is NULL if the document has no scalar of that type at that
    /// location.
    #[expect(missing_docs, reason = "documented above")]
    Json { of: Box<Self>, at: JsonPointer, ty: JsonType },
    /// How well the record matches a search, which the node's filter contains. Greater is better. It depends on the record
    /// alone, and is never NULL. `SPEC §20.3`
    Relevance(Box<Search>),
}

impl ColumnSource {
    /// Returns the source of the stored value. For a scalar in a JSON document, this is the source of the document.
    pub(crate) fn stored(&self) -> &Self {
        match self {
            Self::Json { of, .. } => of.stored(),
            other => other,
        }
    }

    /// Returns whether the value comes from related records.
    pub(crate) fn is_related(&self) -> bool {
        matches!(self, Self::Related { .. } | Self::Exists(_))
    }

    /// Returns whether the value is computed from the rows of the node or of related records, and not stored in a row.
    pub(crate) fn is_derived(&self) -> bool {
        self.is_related() || matches!(self, Self::Relevance(_))
    }

    /// Returns the storage column of the node's table from which the value comes, if there is one.
    pub(crate) fn column(&self) -> Option<&str> {
        match self.stored() {
            Self::Column(column) => Some(column),
            Self::Bucket(bucket) => Some(&bucket.column),
            _ => None,
        }
    }
}

/// One key of an object, and its value.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the documentation of the variants explains their fields")]
pub enum Output {
    /// A scalar, by its index in [`Node::columns`].
    Field { key: OutputKey, column: usize },
    /// The value at a location in a JSON document; the column is that of the document.
    Part { key: OutputKey, column: usize, at: JsonPointer },
    /// A nested relation, by its index in [`Node::joins`].
    Join { key: OutputKey, join: usize },
    /// A computed field: the pieces of its text, or one piece of code.
    Computed { key: OutputKey, template: Vec<TemplatePiece> },
}

/// A piece of a computed field. Columns are indexes into [`Node::columns`].
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the documentation of the variants explains their fields")]
pub enum TemplatePiece {
    /// Constant text.
    Text(String),
    /// The text of a column; NULL is empty.
    Column(usize),
    /// A function of these columns, which is the only piece of its template. The field has the type of the function's result.
    Code { function: ComputedFunction, columns: Vec<usize> },
}

/// A nested relation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Join {
    /// The key in the response: the alias, or the relation's name if there is no alias.
    pub name: String,
    /// The relation's name.
    pub relation: String,
    /// How the rows are nested.
    pub nesting: Nesting,
    /// The columns that connect the two nodes.
    pub link: Link,
    /// Whether a key of the database guarantees that a parent has at most one record.
    pub is_unique: bool,
    /// Whether the columns that the link compares have the same type in the database, so that none is converted.
    pub is_same_type: bool,
    /// Indexes into the parent's columns of the values that `link` compares, in its order.
    pub parent_keys: Vec<usize>,
    /// The names of the columns with the parent's key in flat rows of the nested node, in the order of `parent_keys`: the
    /// target's column (by the name of its field, if it has one), or `table.column` of a junction.
    pub child_keys: Vec<String>,
    /// The nested node.
    pub node: Node,
}

/// The related records of a relation condition, of a path or of an order by an aggregate.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Related {
    /// The name of their table in flat rows: the name of the relation, a `$` and a number.
    pub name: String,
    /// The columns that connect the two nodes.
    pub link: Link,
    /// Whether a key of the database guarantees that a parent has at most one record.
    pub is_unique: bool,
    /// Whether the columns that the link compares have the same type in the database, so that none is converted.
    pub is_same_type: bool,
    /// The names of the columns in flat rows of the parent that `link` compares.
    pub parent_keys: Vec<String>,
    /// The names of the columns with the parent's key in flat rows of these records, in the order of `parent_keys`.
    pub child_keys: Vec<String>,
    /// The records. For a relation condition, `filter` contains the whole condition. `columns` contains the values that the
    /// parent uses.
    pub node: Node,
}

impl Related {
    /// Returns the name of the relation.
    pub fn relation(&self) -> &str {
        self.name.rsplit_once('$').map_or(&*self.name, |(relation, _)| relation)
    }
}

/// How the rows of a relation are nested in the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nesting {
    /// The first row as an object, or null.
    Record,
    /// An array of records.
    Records,
    /// The one group as an object.
    Group,
    /// An array of groups.
    Groups,
}

impl Nesting {
    /// Returns whether it is an object and not an array.
    pub fn is_one(self) -> bool {
        matches!(self, Self::Record | Self::Group)
    }
}

/// One key of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortKey {
    /// The value to compare.
    pub source: ColumnSource,
    /// The direction.
    pub direction: Direction,
    /// Whether NULL comes first or last.
    pub nulls: Nulls,
    /// Whether the value can be NULL.
    pub nullable: bool,
    /// Whether the key was added to make the order total. The query does not name it.
    pub breaks_ties: bool,
    /// At a paged root, the index into [`Node::columns`] of the value that a cursor contains.
    pub column: Option<usize>,
}

impl SortKey {
    /// Reverses the order of the key.
    pub(crate) fn reverse(&mut self) {
        self.direction = match self.direction {
            Direction::Asc => Direction::Desc,
            Direction::Desc => Direction::Asc,
        };
        self.nulls = match self.nulls {
            Nulls::First => Nulls::Last,
            Nulls::Last => Nulls::First,
        };
    }
}

/// A page.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Page {
    /// The number of rows. At the root, one more row is fetched if there is one. It shows that there is another page in that
    /// direction.
    pub size: RowCount,
    /// The number of rows before the page. A page with a cursor skips none.
    pub skip: Option<RowCount>,
    /// Whether the page has the last rows, or the rows before a cursor. [`Node::order`] is then reversed: the rows arrive
    /// last to first, and the response lists them first to last.
    pub reversed: bool,
    /// Whether all rows are counted.
    pub total: bool,
}

/// The number of rows of a page or before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowCount {
    /// A constant number.
    Rows(u32),
    /// The value of a parameter, by its index into [`Plan::inputs`](super::Plan::inputs): see
    /// [`Plan::page_size`](super::Plan::page_size) and [`Plan::skipped_rows`](super::Plan::skipped_rows).
    Input(usize),
}

/// The grouping of rows. The node's `columns` name the keys first, then the aggregates.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Grouping {
    /// The group keys: storage columns and buckets. Without keys, all rows are one group, even if there are none.
    pub keys: Vec<ColumnSource>,
    /// The values that are computed for each group.
    pub aggregates: Vec<Aggregate>,
    /// The condition on groups.
    pub having: Option<Predicate>,
}

/// The period of time in which the value of a column falls, as text. NULL if the value is no time. `SPEC §21`
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Bucket {
    /// Its name in the item.
    pub alias: String,
    /// The storage column.
    pub column: String,
    /// The length of the periods.
    pub unit: TimeUnit,
    /// The IANA name of the time zone in which periods begin; `None` for UTC. It has only letters, digits and `_`, `-`, `+`,
    /// `/`.
    pub zone: Option<String>,
    /// The form in which the column stores times.
    pub time_form: Option<TimeForm>,
}

impl Bucket {
    /// Returns whether another bucket divides the same column into the same periods.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let zone = |bucket: &Self| bucket.zone.as_deref().map(str::to_ascii_lowercase);
        (&self.column, self.unit, zone(self)) == (&other.column, other.unit, zone(other))
    }

    /// Returns the periods.
    ///
    /// # Errors
    /// [`ResolveError::UnknownZone`] if the system does not know the zone.
    pub fn periods(&self) -> Result<Periods, ResolveError> {
        let zone = self.zone.as_deref();
        let unknown = || ResolveError::UnknownZone { zone: zone.unwrap_or_default().to_owned() };
        Periods::new(self.unit, self.time_form, zone).ok_or_else(unknown)
    }
}

/// A value computed over the rows of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Aggregate {
    /// Its name in the item.
    pub alias: String,
    /// The function.
    pub function: AggregateFn,
    /// The storage column; `None` counts rows.
    pub column: Option<String>,
    /// Whether equal values count once.
    pub distinct: bool,
    /// The column's type, if known.
    pub ty: Option<FieldType>,
}
