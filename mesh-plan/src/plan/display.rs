//! The text form of plans, which `explain` prints.
//!
//! Separate texts of conditions, orders and groupings name related records by number, and cursors are bound to these texts.
//! The text of a whole plan names related records as the query does.

use std::fmt;

use mesh_ql::{Direction, Nulls};
use mesh_schema::Link;

use super::{
    Aggregate, Column, ColumnSource, Comparand, CompareOp, Grouping, Join, Nesting, Node, Output, Plan,
    Predicate, ReadTarget, Related, RowCount, SortKey,
};
use crate::Value;

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let node = self.node();
        match &self.target {
            ReadTarget::Collection => writeln!(f, "{}: collection of {}", node.entity, node.table)?,
            ReadTarget::Point(key) => {
                let parts: Vec<_> = key.iter().map(|part| DisplayValue(part).to_string()).collect();
                let id =
                    if parts.is_empty() { "that no record can have".to_owned() } else { parts.join(", ") };
                writeln!(f, "{}: one record of {}, id {id}", node.entity, node.table)?;
            }
        }
        write_node(f, node, self.cursor(), 1)?;
        let inputs = self.inputs().iter().enumerate();
        let inputs: Vec<_> =
            inputs.map(|(slot, value)| format!("${slot} = {}", DisplayValue(value))).collect();
        if inputs.is_empty() { Ok(()) } else { writeln!(f, "  params  {}", inputs.join(", ")) }
    }
}

/// Returns the text of a node's condition as it appears in the text of a plan.
pub(super) fn condition_text(predicate: &Predicate, node: &Node) -> String {
    DisplayPredicate { predicate, node: Some(node) }.to_string()
}

/// Writes a node and the nodes below it. The recursion is bounded by the depth of queries.
fn write_node(
    f: &mut fmt::Formatter<'_>,
    node: &Node,
    cursor: Option<&[Value]>,
    level: usize,
) -> fmt::Result {
    let indent = "  ".repeat(level);
    for (label, names) in names(node) {
        if !names.is_empty() {
            writeln!(f, "{indent}{label:7} {names}")?;
        }
    }
    for (label, filter) in [("policy", node.policy_filter()), ("where", node.requested_filter())] {
        if let Some(predicate) = filter {
            writeln!(f, "{indent}{label:7} {}", DisplayPredicate { predicate, node: Some(node) })?;
        }
    }
    // The one group of related records is shown where it is used.
    let has_names = |grouping: &&Grouping| grouping.aggregates.iter().all(|call| !call.alias.is_empty());
    if let Some(grouping) = node.grouping.as_ref().filter(has_names) {
        writeln!(f, "{indent}group   {grouping}")?;
    }
    if !node.order.is_empty() {
        let shown = |key| DisplaySortKey { key, node: Some(node) }.to_string();
        let order: Vec<_> = node.order.iter().map(shown).collect();
        writeln!(f, "{indent}order   {}", order.join(", "))?;
    }
    if let Some(page) = &node.page {
        let (which, beyond) = if page.reversed { ("last", "before") } else { ("first", "after") };
        write!(f, "{indent}page    {which} {}", page.size)?;
        if let Some(skip) = page.skip {
            write!(f, " skip {skip}")?;
        }
        if let Some(cursor) = cursor {
            let values: Vec<_> = cursor.iter().map(|value| DisplayValue(value).to_string()).collect();
            write!(f, " {beyond} ({})", values.join(", "))?;
        }
        f.write_str(if page.total { ", with the total\n" } else { "\n" })?;
    }
    for (number, related) in node.related.iter().enumerate() {
        let (name, below) = (related.relation(), &related.node);
        let used = match (&below.grouping, below.columns.is_empty()) {
            _ if node.policy_filter().is_some_and(|filter| filter.uses_related(number)) => "for the policy",
            (Some(_), _) => "for the order",
            (None, false) => "for paths",
            (None, true) => "for a condition",
        };
        let link = DisplayLink(&related.link);
        writeln!(f, "{indent}{name}, {used}: {} of {}, {link}", below.entity, below.table)?;
        write_node(f, below, None, level + 1)?;
    }
    for join in &node.joins {
        writeln!(f, "{indent}{join}")?;
        write_node(f, &join.node, None, level + 1)?;
    }
    Ok(())
}

/// Returns what a node reads, each list with its label.
fn names(node: &Node) -> [(&'static str, String); 4] {
    let columns = |selected| {
        let named = node.columns.iter().filter(move |column| column.selected == selected);
        let name = |column: &Column| match &column.source {
            source if source.is_related() => DisplaySource { source, node: Some(node) }.to_string(),
            _ => column.name.clone(),
        };
        named.map(name).collect::<Vec<_>>().join(", ")
    };
    let computed = node.output.iter().filter_map(|output| match output {
        Output::Computed { key, .. } => Some(key.name()),
        _ => None,
    });
    let computed = computed.collect::<Vec<_>>().join(", ");
    let parts = node.output.iter().filter_map(|output| match output {
        Output::Part { key, column, at } => {
            let of = node.columns.get(*column).map_or("", |column| &*column.name);
            Some(format!("{} ({of} at {:?})", key.name(), at.to_string()))
        }
        _ => None,
    });
    let parts = parts.collect::<Vec<_>>().join(", ");
    [("fields", columns(true)), ("parts", parts), ("computed", computed), ("keys", columns(false))]
}

impl fmt::Display for Join {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nesting = match self.nesting {
            Nesting::Record => "one",
            Nesting::Records => "many",
            Nesting::Group => "one group",
            Nesting::Groups => "groups",
        };
        write!(f, "{}: {nesting} {} of {}, ", self.name, self.node.entity, self.node.table)?;
        DisplayLink(&self.link).fmt(f)
    }
}

/// Writes the columns that a link compares.
struct DisplayLink<'a>(&'a Link);

impl fmt::Display for DisplayLink<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Link::Direct { pairs } => {
                let pairs: Vec<_> =
                    pairs.iter().map(|pair| format!("{} = parent {}", pair.target, pair.parent)).collect();
                f.write_str(&pairs.join(" and "))
            }
            Link::Through { table, from, to, parent, target, .. } => {
                write!(f, "{target} = {table}.{to} where {table}.{from} = parent {parent}")
            }
        }
    }
}

/// Writes a value; distinct values have distinct texts.
struct DisplayValue<'a>(&'a Value);

impl fmt::Display for DisplayValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Null => f.write_str("null"),
            Value::Boolean(value) => write!(f, "{value}"),
            Value::Integer(value) => write!(f, "{value}"),
            Value::Real(value) => write!(f, "{value:?}"),
            Value::Text(value) => write!(f, "{value:?}"),
            Value::InvalidText(value) => write!(f, "{:?}", String::from_utf8_lossy(value)),
            Value::Bytes(value) => write!(f, "bytes {value:?}"),
        }
    }
}

impl fmt::Display for Comparand<String> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(text) => write!(f, "{text:?}"),
            Self::Input { slot, .. } => write!(f, "${slot}"),
        }
    }
}

impl fmt::Display for Comparand<Value> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => DisplayValue(value).fmt(f),
            Self::Input { slot, .. } => write!(f, "${slot}"),
        }
    }
}

impl fmt::Display for RowCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows(rows) => rows.fmt(f),
            Self::Input(slot) => write!(f, "${slot}"),
        }
    }
}

impl fmt::Display for ColumnSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        DisplaySource { source: self, node: None }.fmt(f)
    }
}

/// Writes the source of a value, with the names of related records if the node is given.
struct DisplaySource<'a> {
    source: &'a ColumnSource,
    node: Option<&'a Node>,
}

impl fmt::Display for DisplaySource<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |number: &usize| self.node.and_then(|node| node.related.get(*number));
        match self.source {
            ColumnSource::Column(column) => f.write_str(column),
            ColumnSource::Bucket(bucket) => {
                write!(f, "{} of {}", bucket.unit, bucket.column)?;
                bucket.zone.as_ref().map_or(Ok(()), |zone| write!(f, " in {zone}"))
            }
            ColumnSource::Aggregate(index) => write!(f, "#{index}"),
            ColumnSource::Related { related, column } => match named(related) {
                Some(found) => write_related(f, found, *column),
                None => write!(f, "related {related} #{column}"),
            },
            ColumnSource::Exists(related) => match named(related) {
                Some(found) => write!(f, "{} some", found.relation()),
                None => write!(f, "exists {related}"),
            },
            ColumnSource::Json { of, at, ty } => {
                let of = DisplaySource { source: of, node: self.node };
                write!(f, "{of} at {:?} as {}", at.to_string(), ty.as_str())
            }
            ColumnSource::Relevance(_) => f.write_str("search relevance"),
        }
    }
}

/// Writes a value of related records: `author.name`, `comments (count)`.
fn write_related(f: &mut fmt::Formatter<'_>, related: &Related, column: usize) -> fmt::Result {
    let (name, node) = (related.relation(), &related.node);
    let Some(column) = node.columns.get(column) else { return f.write_str(name) };
    let aggregate = match (&node.grouping, &column.source) {
        (Some(grouping), ColumnSource::Aggregate(index)) => grouping.aggregates.get(*index),
        _ => None,
    };
    match aggregate {
        None => write!(f, "{name}.{}", column.name),
        Some(Aggregate { function, distinct, column, .. }) => {
            write!(f, "{name} ({}", function.as_str())?;
            let distinct = if *distinct { " distinct" } else { "" };
            column.as_ref().map_or(Ok(()), |column| write!(f, "{distinct} {column}"))?;
            f.write_str(")")
        }
    }
}

impl fmt::Display for SortKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        DisplaySortKey { key: self, node: None }.fmt(f)
    }
}

/// Writes a key of an order, with the names of related records if the node is given.
struct DisplaySortKey<'a> {
    key: &'a SortKey,
    node: Option<&'a Node>,
}

impl fmt::Display for DisplaySortKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, node } = *self;
        let direction = match key.direction {
            Direction::Asc => "asc",
            Direction::Desc => "desc",
        };
        let nulls = match (key.nullable, key.nulls) {
            (false, _) => "",
            (true, Nulls::First) => " nulls first",
            (true, Nulls::Last) => " nulls last",
        };
        write!(f, "{} {direction}{nulls}", DisplaySource { source: &key.source, node })
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        DisplayPredicate { predicate: self, node: None }.fmt(f)
    }
}

/// Writes a condition, with the names of related records and their conditions if the node is given.
struct DisplayPredicate<'a> {
    predicate: &'a Predicate,
    node: Option<&'a Node>,
}

impl fmt::Display for DisplayPredicate<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let node = self.node;
        let shown = |predicate| DisplayPredicate { predicate, node };
        let of = |source| DisplaySource { source, node };
        let list = |f: &mut fmt::Formatter<'_>, list: &[Predicate], operator: &str, empty: &str| {
            if list.is_empty() {
                return f.write_str(empty);
            }
            let parts: Vec<_> =
                list.iter().map(|predicate| DisplayPredicate { predicate, node }.to_string()).collect();
            write!(f, "({})", parts.join(operator))
        };
        match self.predicate {
            Predicate::All(parts) => list(f, parts, " and ", "true"),
            Predicate::Any(parts) => list(f, parts, " or ", "false"),
            Predicate::Not(part) => write!(f, "not {}", shown(part)),
            Predicate::NotTrue(part) => write!(f, "{} is not true", shown(part)),
            Predicate::Exists { related, negated } => {
                match node.and_then(|node| node.related.get(*related)) {
                    Some(related) => write_condition(f, related, *negated),
                    None => write!(f, "{}exists {related}", if *negated { "not " } else { "" }),
                }
            }
            // The condition contains the slots of the values; the text contains the names of the parameters.
            Predicate::Param { condition, .. } if node.is_some() => shown(condition).fmt(f),
            Predicate::Param { text, .. } => f.write_str(text),
            Predicate::Compare { source, op, value } => {
                write!(f, "{} {} {value}", of(source), op.symbol())
            }
            Predicate::Session { source, op, value, .. } => {
                write!(f, "{} {} session.{value}", of(source), op.symbol())
            }
            Predicate::SessionIn { source, value, negated, .. } => {
                let not = if *negated { "not " } else { "" };
                write!(f, "{} {not}in session.{value}", of(source))
            }
            Predicate::In { source, values, negated } => {
                let values: Vec<_> = values.iter().map(Comparand::to_string).collect();
                let not = if *negated { "not " } else { "" };
                write!(f, "{} {not}in ({})", of(source), values.join(", "))
            }
            Predicate::Like { source, pattern, ignore_case } => {
                let operator = if *ignore_case { "ilike" } else { "like" };
                write!(f, "{} {operator} {pattern}", of(source))
            }
            Predicate::Has { of: document, at, values, all, .. } => {
                let values: Vec<_> = values.iter().map(Comparand::to_string).collect();
                of(document).fmt(f)?;
                if !at.tokens().is_empty() {
                    write!(f, " at {:?}", at.to_string())?;
                }
                write!(f, " has {} of ({})", if *all { "all" } else { "any" }, values.join(", "))
            }
            Predicate::IsNull { source, negated } => {
                write!(f, "{} is {}null", of(source), if *negated { "not " } else { "" })
            }
            Predicate::Search(search) => write!(f, "search {}", search.text),
        }
    }
}

/// Writes a condition on related records as in the query: `comments some (stars > 3)`. Conditions that policies add are shown
/// with the related records.
fn write_condition(f: &mut fmt::Formatter<'_>, related: &Related, negated: bool) -> fmt::Result {
    let (name, node) = (related.relation(), &related.node);
    let (word, filter) = match (negated, node.requested_filter()) {
        (true, Some(Predicate::NotTrue(part))) => ("every", Some(&**part)),
        (true, filter) => ("none", filter),
        (false, filter) => ("some", filter),
    };
    write!(f, "{name} {word}")?;
    let shown = |predicate| DisplayPredicate { predicate, node: Some(node) };
    match filter {
        None => Ok(()),
        // A list already has parentheses.
        Some(filter @ (Predicate::All(_) | Predicate::Any(_))) => write!(f, " {}", shown(filter)),
        Some(filter) => write!(f, " ({})", shown(filter)),
    }
}

impl CompareOp {
    fn symbol(self) -> &'static str {
        match self {
            Self::Eq => "=",
            Self::Ne => "<>",
            Self::Gt => ">",
            Self::Gte => ">=",
            Self::Lt => "<",
            Self::Lte => "<=",
        }
    }
}

impl fmt::Display for Grouping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let aggregates: Vec<_> = self.aggregates.iter().map(Aggregate::to_string).collect();
        let keys: Vec<_> = self.keys.iter().map(ColumnSource::to_string).collect();
        write!(f, "by ({}) giving ({})", keys.join(", "), aggregates.join(", "))?;
        self.having.as_ref().map_or(Ok(()), |having| write!(f, " having {having}"))
    }
}

impl fmt::Display for Aggregate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let distinct = if self.distinct { "distinct " } else { "" };
        let column = self.column.as_deref().unwrap_or("*");
        write!(f, "{} = {}({distinct}{column})", self.alias, self.function.as_str())
    }
}
