//! How are rows folded into groups? A subquery, so that groups are filtered, ordered and paged like rows.

use mesh_ql::AggregateFn;

use super::operand::Class;
use super::{Names, Operand};
use crate::plan::{Aggregate, ColumnSource, Grouping};

/// The list and the end of a statement that folds rows: what it selects, and `GROUP BY` with a blank before it.
pub(super) fn fold(names: &Names<'_>, grouping: &Grouping) -> (String, String) {
    let keys: Vec<_> = grouping.keys.iter().map(|key| key_of(names, key).sql).collect();
    let mut list: Vec<_> =
        keys.iter().enumerate().map(|(index, key)| format!("{key} AS \"k{index}\"")).collect();
    for (index, aggregate) in grouping.aggregates.iter().enumerate() {
        list.push(format!("{} AS \"a{index}\"", computed(names, aggregate).sql));
    }
    if list.is_empty() {
        list.push("1 AS \"k0\"".to_owned());
    }
    let by = if keys.is_empty() { String::new() } else { format!(" GROUP BY {}", keys.join(", ")) };
    (list.join(", "), by)
}

/// What a group has of a source.
pub(super) fn operand(names: &Names<'_>, grouping: &Grouping, source: &ColumnSource) -> Operand {
    match source {
        ColumnSource::Aggregate(index) => {
            let class = grouping.aggregates.get(*index).map(|aggregate| computed(names, aggregate).class);
            Operand { sql: format!("\"g\".\"a{index}\""), class: class.unwrap_or(Class::Unknown) }
        }
        ColumnSource::Column(column) => {
            let index = grouping.keys.iter().position(|key| key == column).unwrap_or_default();
            Operand { sql: format!("\"g\".\"k{index}\""), class: key_of(names, column).class }
        }
    }
}

fn key_of(names: &Names<'_>, column: &str) -> Operand {
    names(&ColumnSource::Column(column.to_owned())).comparable()
}

/// Sums of integers are cast to what a sum may be, which fails where it does not fit; averages are made of sums,
/// since those that the database offers round in ways of their own.
fn computed(names: &Names<'_>, aggregate: &Aggregate) -> Operand {
    let integer = || Class::Integer("int8");
    let Some(column) = &aggregate.column else {
        return Operand { sql: "COUNT(*)".to_owned(), class: integer() };
    };
    let value = names(&ColumnSource::Column(column.clone()));
    let distinct = if aggregate.distinct { "DISTINCT " } else { "" };
    let (number, sum_class) = match &value.class {
        Class::Integer(_) => (value.sql.clone(), integer()),
        Class::Numeric => (value.sql.clone(), Class::Numeric),
        Class::Real8 => (value.sql.clone(), Class::Real8),
        Class::Real4 => (format!("{}::float8", value.sql), Class::Real8),
        _ => (format!("{}::text::numeric", value.sql), Class::Numeric),
    };
    let (sql, class) = match aggregate.function {
        AggregateFn::Count if aggregate.distinct => {
            (format!("COUNT(DISTINCT {})", value.comparable().sql), integer())
        }
        AggregateFn::Count => (format!("COUNT({})", value.sql), integer()),
        AggregateFn::Sum if sum_class == integer() => (format!("SUM({distinct}{number})::int8"), sum_class),
        AggregateFn::Sum => (format!("SUM({distinct}{number})"), sum_class),
        AggregateFn::Avg => {
            (format!("(SUM({distinct}{number})::float8 / COUNT({distinct}{number}))"), Class::Real8)
        }
        AggregateFn::Min | AggregateFn::Max => {
            let name = if aggregate.function == AggregateFn::Min { "MIN" } else { "MAX" };
            let value = match value.class {
                Class::Boolean | Class::Uuid | Class::Bytes => value.to_text(),
                _ => value.comparable(),
            };
            (format!("{name}({})", value.sql), value.class)
        }
    };
    Operand { sql, class }
}
