//! Which index is missing? A warning where SQLite's account of a statement shows that none serves it.

use std::fmt;

use mesh_plan::{ColumnSource, CompareOp, Join, Node, Pattern, Predicate};
use mesh_schema::{Link, TableName};

/// Why a statement will be slow on a large table.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Advice {
    why: Why,
    table: String,
    /// Columns that an index should have, in this order; none where no index would help.
    columns: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
enum Why {
    /// Rows are looked through one by one for those that are asked for.
    Scan,
    /// All rows that are asked for are fetched and sorted, to show a page of them.
    Sort,
}

impl Advice {
    /// What there is to say about a node's statement, whose account consists of these steps.
    pub(super) fn of(node: &Node, join: Option<&Join>, steps: &[String]) -> Option<Self> {
        // What is scanned of a part of a statement was found by that part.
        let looks_through = |step: &&String| step.starts_with("SCAN ") && !step.starts_with("SCAN (subquery");
        let sorts = |step: &&String| step.contains("TEMP B-TREE FOR ORDER BY");
        let chooses = node.filter.is_some() || join.is_some();
        let paged = node.page.is_some() && join.is_none() && node.grouping.is_none();
        let why = if chooses && steps.iter().any(|step| looks_through(&step)) {
            Why::Scan
        } else if paged && steps.iter().any(|step| sorts(&step)) {
            Why::Sort
        } else {
            return None;
        };
        let (table, columns) = wanted(node, join);
        Some(Self { why, table, columns })
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { why, table, columns } = self;
        match why {
            Why::Scan => {
                write!(f, "warning: no index finds these rows of {table}, so all are looked through")?
            }
            Why::Sort => write!(f, "warning: no index has {table} in this order, so all rows are sorted")?,
        }
        if columns.is_empty() {
            return Ok(());
        }
        write!(f, "; an index on ({}) would help", columns.join(", "))
    }
}

/// The table and the columns that an index would need: what is compared for equality, then the order, or where
/// there is none what is compared otherwise.
fn wanted(node: &Node, join: Option<&Join>) -> (String, Vec<String>) {
    let mut columns = Vec::new();
    match join.map(|join| &join.link) {
        Some(Link::Direct { pairs }) => columns.extend(pairs.iter().map(|pair| pair.target.clone())),
        // The junction is looked through; the target is found by its key.
        Some(Link::Through { table, from, to, .. }) => return (name(table), vec![from.clone(), to.clone()]),
        None => {}
    }
    let mut ranges = Vec::new();
    let mut parts: Vec<&Predicate> = node.filter.iter().collect();
    while let Some(part) = parts.pop() {
        match part {
            Predicate::All(more) => parts.extend(more.iter().rev()),
            Predicate::Compare { source: ColumnSource::Column(column), op, .. }
            | Predicate::Session { source: ColumnSource::Column(column), op, .. } => match op {
                CompareOp::Eq => columns.push(column.clone()),
                CompareOp::Ne => {}
                _ => ranges.push(column.clone()),
            },
            Predicate::In { source: ColumnSource::Column(column), negated: false, .. }
            | Predicate::IsNull { source: ColumnSource::Column(column), negated: false } => {
                columns.push(column.clone());
            }
            Predicate::Like { source: ColumnSource::Column(column), pattern, ignore_case }
                if !Pattern::new(pattern, *ignore_case).literal_prefix().is_empty() =>
            {
                ranges.push(column.clone());
            }
            _ => {}
        }
    }
    let orders = node.order.iter().filter_map(|key| match &key.source {
        ColumnSource::Column(column) => Some(column.clone()),
        ColumnSource::Aggregate(_) => None,
    });
    if ranges.is_empty() && !columns.is_empty() || node.filter.is_none() && join.is_none() {
        columns.extend(orders);
    } else {
        columns.extend(ranges);
    }
    let mut seen = Vec::new();
    columns.retain(|column| {
        let new = !seen.contains(column);
        seen.push(column.clone());
        new
    });
    (name(&node.table), columns)
}

fn name(table: &TableName) -> String {
    match &table.schema {
        Some(schema) => format!("{schema}.{}", table.name),
        None => table.name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use mesh_plan::{Mesh, Request};
    use mesh_ql::Format;
    use mesh_schema::{FieldType, Schema};

    use super::*;

    #[track_caller]
    fn check(controls: &str, steps: &[&str], expected: Expect) {
        let schema = Schema::builder()
            .entity("post", |post| {
                post.field("id", FieldType::Integer)
                    .field("title", FieldType::String)
                    .field("views", FieldType::Integer)
            })
            .build()
            .unwrap();
        let text = format!(r#"{{"post":{{"$select":{{"id":true}}{controls}}}}}"#);
        let plan = Mesh::builder(schema).build().plan(&Request::collection(Format::Json, &text)).unwrap();
        let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
        let advice = Advice::of(plan.node(), None, &steps);
        expected.assert_eq(&advice.map_or_else(|| "nothing".to_owned(), |advice| advice.to_string()));
    }

    #[test]
    fn a_first_page_in_the_order_of_the_table_needs_no_index() {
        check("", &["SCAN t0"], expect!["nothing"]);
    }

    #[test]
    fn a_filter_needs_an_index_that_serves_the_order_too() {
        let filter = r#","$where":{"field":"title","op":"eq","value":"a"}"#;
        check(
            filter,
            &["SCAN t0"],
            expect![
                "warning: no index finds these rows of posts, so all are looked through; an index on (title, id) would help"
            ],
        );
        let found = "SEARCH t0 USING INDEX posts_title (title=?)";
        check(filter, &[found], expect!["nothing"]);
        check(filter, &["COMPOUND QUERY", found, "SCAN (subquery-1)"], expect!["nothing"]);
    }

    #[test]
    fn a_range_comes_last() {
        check(
            r#","$where":{"and":[{"field":"views","op":"gt","value":1},{"field":"title","op":"eq","value":"a"}]}"#,
            &["SCAN t0"],
            expect![
                "warning: no index finds these rows of posts, so all are looked through; an index on (title, views) would help"
            ],
        );
    }

    #[test]
    fn the_beginning_of_a_pattern_is_a_range() {
        check(
            r#","$where":{"field":"title","op":"like","value":"a%"}"#,
            &["SCAN t0"],
            expect![
                "warning: no index finds these rows of posts, so all are looked through; an index on (title) would help"
            ],
        );
    }

    #[test]
    fn what_no_index_serves_is_said_without_advice() {
        check(
            r#","$where":{"field":"title","op":"ilike","value":"%a%"}"#,
            &["SCAN t0"],
            expect!["warning: no index finds these rows of posts, so all are looked through"],
        );
    }

    #[test]
    fn an_order_needs_an_index() {
        check(
            r#","$orderBy":[{"field":"views","direction":"desc"}]"#,
            &["SCAN t0", "USE TEMP B-TREE FOR ORDER BY"],
            expect![
                "warning: no index has posts in this order, so all rows are sorted; an index on (views, id) would help"
            ],
        );
    }
}
