//! The text form of plans, which `explain` prints and cursors are bound to.

use std::fmt;

use mesh_ql::{Direction, Nulls};
use mesh_schema::Link;

use super::{
    Aggregate, ColumnSource, Comparand, CompareOp, Grouping, Join, JoinForm, Node, Output, PageSize, Plan,
    Predicate, SortKey, Target,
};
use crate::Value;

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let node = self.node();
        match &self.target {
            Target::Collection => writeln!(f, "{}: collection of {}", node.entity, node.table)?,
            Target::Point(key) => {
                let parts: Vec<_> = key.iter().map(|part| Shown(part).to_string()).collect();
                writeln!(f, "{}: one record of {}, id {}", node.entity, node.table, parts.join(", "))?;
            }
        }
        write_node(f, node, self.cursor(), 1)
    }
}

/// Writes a node and those below it. The depth of the recursion is bounded by that of queries.
fn write_node(
    f: &mut fmt::Formatter<'_>,
    node: &Node,
    cursor: Option<&[Value]>,
    level: usize,
) -> fmt::Result {
    let indent = "  ".repeat(level);
    let columns = |selected| {
        let named = node.columns.iter().filter(move |column| column.selected == selected);
        named.map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let computed = node.output.iter().filter_map(|output| match output {
        Output::Computed { key, .. } => Some(key.name()),
        _ => None,
    });
    let computed = computed.collect::<Vec<_>>().join(", ");
    for (label, names) in [("fields", columns(true)), ("computed", computed), ("keys", columns(false))] {
        if !names.is_empty() {
            writeln!(f, "{indent}{label:7} {names}")?;
        }
    }
    if let Some(filter) = &node.filter {
        writeln!(f, "{indent}where   {filter}")?;
    }
    if let Some(grouping) = &node.grouping {
        writeln!(f, "{indent}group   {grouping}")?;
    }
    if !node.order.is_empty() {
        let order: Vec<_> = node.order.iter().map(SortKey::to_string).collect();
        writeln!(f, "{indent}order   {}", order.join(", "))?;
    }
    if let Some(page) = &node.page {
        let (which, beyond) = if page.reversed { ("last", "before") } else { ("first", "after") };
        write!(f, "{indent}page    {which} {}", page.size)?;
        if let Some(cursor) = cursor {
            let values: Vec<_> = cursor.iter().map(|value| Shown(value).to_string()).collect();
            write!(f, " {beyond} ({})", values.join(", "))?;
        }
        f.write_str(if page.total { ", with the total\n" } else { "\n" })?;
    }
    for related in &node.related {
        write!(
            f,
            "{indent}{}: used by controls, {} of {}, ",
            related.name, related.node.entity, related.node.table
        )?;
        writeln!(f, "{}", ShownLink(&related.link))?;
        write_node(f, &related.node, None, level + 1)?;
    }
    for join in &node.joins {
        writeln!(f, "{indent}{join}")?;
        write_node(f, &join.node, None, level + 1)?;
    }
    Ok(())
}

impl fmt::Display for Join {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = match self.form {
            JoinForm::Record => "one",
            JoinForm::Records => "many",
            JoinForm::Group => "one group",
            JoinForm::Groups => "groups",
        };
        write!(f, "{}: {form} {} of {}, ", self.name, self.node.entity, self.node.table)?;
        ShownLink(&self.link).fmt(f)
    }
}

/// Writes the columns that a link compares.
struct ShownLink<'a>(&'a Link);

impl fmt::Display for ShownLink<'_> {
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
struct Shown<'a>(&'a Value);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Null => f.write_str("null"),
            Value::Boolean(value) => write!(f, "{value}"),
            Value::Integer(value) => write!(f, "{value}"),
            Value::Real(value) => write!(f, "{value:?}"),
            Value::Text(value) => write!(f, "{value:?}"),
            Value::Bytes(value) => write!(f, "bytes {value:?}"),
        }
    }
}

impl fmt::Display for Comparand<Value> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => Shown(value).fmt(f),
            Self::Input { slot, .. } => write!(f, "${slot}"),
        }
    }
}

impl fmt::Display for PageSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows(rows) => rows.fmt(f),
            Self::Input(slot) => write!(f, "${slot}"),
        }
    }
}

impl fmt::Display for ColumnSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Column(column) => f.write_str(column),
            Self::Aggregate(index) => write!(f, "#{index}"),
            Self::Related { related, column } => write!(f, "related {related} #{column}"),
            Self::Exists(related) => write!(f, "exists {related}"),
            Self::Json { of, at, ty } => write!(f, "{of} at {:?} as {}", at.to_string(), ty.name()),
        }
    }
}

impl fmt::Display for SortKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = match self.direction {
            Direction::Asc => "asc",
            Direction::Desc => "desc",
        };
        let nulls = match (self.nullable, self.nulls) {
            (false, _) => "",
            (true, Nulls::First) => " nulls first",
            (true, Nulls::Last) => " nulls last",
        };
        write!(f, "{} {direction}{nulls}", self.source)
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, list: &[Self], operator: &str, empty: &str| {
            if list.is_empty() {
                return f.write_str(empty);
            }
            let parts: Vec<_> = list.iter().map(Self::to_string).collect();
            write!(f, "({})", parts.join(operator))
        };
        match self {
            Self::All(parts) => list(f, parts, " and ", "true"),
            Self::Any(parts) => list(f, parts, " or ", "false"),
            Self::Not(part) => write!(f, "not {part}"),
            Self::NotTrue(part) => write!(f, "{part} is not true"),
            Self::Exists { related, negated } => {
                write!(f, "{}exists {related}", if *negated { "not " } else { "" })
            }
            Self::Param { text, .. } => f.write_str(text),
            Self::Compare { source, op, value } => write!(f, "{source} {} {value}", op.symbol()),
            Self::Session { source, op, value, .. } => {
                write!(f, "{source} {} session.{}", op.symbol(), value.name())
            }
            Self::In { source, values, negated } => {
                let values: Vec<_> = values.iter().map(Comparand::to_string).collect();
                write!(f, "{source} {}in ({})", if *negated { "not " } else { "" }, values.join(", "))
            }
            Self::Like { source, pattern, ignore_case } => {
                let operator = if *ignore_case { "ilike" } else { "like" };
                match pattern {
                    Comparand::Value(pattern) => write!(f, "{source} {operator} {pattern:?}"),
                    Comparand::Input { slot, .. } => write!(f, "{source} {operator} ${slot}"),
                }
            }
            Self::IsNull { source, negated } => {
                write!(f, "{source} is {}null", if *negated { "not " } else { "" })
            }
        }
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
        write!(f, "by ({}) giving ({})", self.keys.join(", "), aggregates.join(", "))?;
        self.having.as_ref().map_or(Ok(()), |having| write!(f, " having {having}"))
    }
}

impl fmt::Display for Aggregate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let distinct = if self.distinct { "distinct " } else { "" };
        let column = self.column.as_deref().unwrap_or("*");
        write!(f, "{} = {}({distinct}{column})", self.alias, self.function.name())
    }
}
