//! Warnings about missing indexes, from SQLite's query plans.

use std::collections::HashSet;

use mesh_plan::Node;
use mesh_plan::backend::Pattern;
use mesh_plan::plan::{ColumnSource, Comparand, CompareOp, Join, Predicate};
use mesh_schema::{Link, TableName};

/// The number of rows of a table up to which a scan in key order is fast enough without an index.
pub(super) const SMALL_TABLE_ROWS: u64 = 1_000;

/// The approximate number of rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rows {
    /// At most [`SMALL_TABLE_ROWS`].
    Few,
    /// More than [`SMALL_TABLE_ROWS`], or an unknown number.
    Many,
    /// The rows of a view, which cannot have indexes.
    View,
}

/// Returns a warning if the statement of a node, which has this query plan, is slow on a large table.
pub(super) fn index_advice<E>(
    node: &Node,
    join: Option<&Join>,
    steps: &[String],
    rows: impl Fn(&TableName) -> Result<Rows, E>,
) -> Result<Option<String>, E> {
    let is_through = join.is_some_and(|join| matches!(join.link, Link::Through { .. }));
    let is_subquery = |alias: &str| {
        let kinds = ["CO-ROUTINE ", "MATERIALIZE "];
        steps.iter().any(|step| kinds.iter().any(|kind| step.strip_prefix(kind) == Some(alias)))
    };
    let scans = steps
        .iter()
        .any(|step| scanned(step).is_some_and(|alias| !is_subquery(alias) && is_of_node(alias, is_through)));
    // No index has the order of relevance.
    let sorts =
        node.relevance().is_none() && steps.iter().any(|step| step.contains("TEMP B-TREE FOR ORDER BY"));
    let filtered = node.filter.is_some() || join.is_some();
    let paged = node.page.is_some() && join.is_none() && node.grouping.is_none();
    if !(filtered && scans || paged && sorts) {
        return Ok(None);
    }
    let (table, mut columns) = useful_index(node, join);
    let rows = rows(table)?;
    // A scan in the order of the page ends when the page is full.
    if rows == Rows::Few && paged && !sorts {
        return Ok(None);
    }
    let kind = if rows == Rows::View { "the view " } else { "" };
    let problem = match (filtered && scans, rows) {
        (true, Rows::View) => {
            format!("no index can be used to find these rows of {kind}{table}, so whole tables are scanned")
        }
        (true, _) => {
            format!("no index can be used to find these rows of {table}, so the whole table is scanned")
        }
        (false, _) if node.sorts_related() => {
            columns.clear();
            format!(
                "no index has the values of related records, so all rows of {kind}{table} are sorted by them"
            )
        }
        (false, _) => format!("no index provides this order of {kind}{table}, so all rows are sorted"),
    };
    let index = match columns.is_empty() || rows == Rows::View {
        true => String::new(),
        false => format!("; an index on ({}) would help", columns.join(", ")),
    };
    Ok(Some(format!("{problem}{index}")))
}

/// Returns the alias of the table or subquery that a step scans. A virtual table, such as one for searches, has its own indexes.
fn scanned(step: &str) -> Option<&str> {
    step.strip_prefix("SCAN ")
        .filter(|rest| !rest.contains(" VIRTUAL TABLE "))
        .and_then(|rest| rest.split(' ').next())
}

/// Returns whether an alias names the table of a node, or the junction that leads to it. Related records of controls have
/// names such as `t0_1`.
fn is_of_node(alias: &str, is_through: bool) -> bool {
    let is_related = alias.split_once('_').is_some_and(|(node, related)| {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        node.strip_prefix('t').is_some_and(is_number) && related.split('_').all(is_number)
    });
    !(alias.starts_with("(subquery") || is_related || alias == "j" && !is_through)
}

/// Returns the table and the columns of a useful index: the columns that are compared for equality, then the columns of
/// the order, or of other comparisons if there are any. Returns no columns if no index would help.
fn useful_index<'n>(node: &'n Node, join: Option<&'n Join>) -> (&'n TableName, Vec<String>) {
    let mut columns = Vec::new();
    match join.map(|join| &join.link) {
        Some(Link::Direct { pairs }) => columns.extend(pairs.iter().map(|pair| pair.target.clone())),
        // The junction is scanned; the target is found by its key.
        Some(Link::Through { table, from, to, .. }) => {
            return (table, vec![from.clone(), to.clone()]);
        }
        None => {}
    }
    let mut ranges = Vec::new();
    let mut parts: Vec<&Predicate> = node.filter.iter().collect();
    while let Some(part) = parts.pop() {
        match part {
            Predicate::All(more) => parts.extend(more.iter().rev()),
            Predicate::Param { condition, .. } => parts.push(condition),
            Predicate::Compare { source: ColumnSource::Column(column), op, .. }
            | Predicate::Session { source: ColumnSource::Column(column), op, .. } => match op {
                CompareOp::Eq => columns.push(column.clone()),
                CompareOp::Ne => {}
                _ => ranges.push(column.clone()),
            },
            Predicate::In { source: ColumnSource::Column(column), negated: false, .. }
            | Predicate::SessionIn { source: ColumnSource::Column(column), negated: false, .. }
            | Predicate::IsNull { source: ColumnSource::Column(column), negated: false } => {
                columns.push(column.clone());
            }
            Predicate::Like {
                source: ColumnSource::Column(column),
                pattern: Comparand::Value(pattern) | Comparand::Input { sample: pattern, .. },
                ignore_case,
            } if Pattern::new(pattern, *ignore_case).is_ok_and(|it| !it.literal_prefix().is_empty()) => {
                ranges.push(column.clone());
            }
            _ => {}
        }
    }
    let orders = node.order.iter().filter_map(|key| match &key.source {
        ColumnSource::Column(column) => Some(column.clone()),
        _ => None,
    });
    if ranges.is_empty() && !columns.is_empty() || node.filter.is_none() && join.is_none() {
        columns.extend(orders);
    } else {
        columns.extend(ranges);
    }
    let mut seen = HashSet::new();
    columns.retain(|column| seen.insert(column.clone()));
    (&node.table, columns)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use expect_test::{Expect, expect};
    use mesh_plan::{Mesh, Request};
    use mesh_ql::Format;
    use mesh_schema::{FieldType, Schema};

    use super::*;

    #[track_caller]
    fn check(controls: &str, steps: &[&str], expected: Expect) {
        check_rows(Rows::Many, controls, steps, expected);
    }

    #[track_caller]
    fn check_rows(rows: Rows, controls: &str, steps: &[&str], expected: Expect) {
        let schema = Schema::builder()
            .entity("post", |post| {
                post.field("id", FieldType::Integer)
                    .field("title", FieldType::String)
                    .field("views", FieldType::Integer)
            })
            .build()
            .unwrap();
        let text = format!(r#"{{"post":{{"$select":{{"id":true}}{controls}}}}}"#);
        let plan =
            Mesh::builder(schema).build().unwrap().plan(&Request::collection(Format::Json, &text)).unwrap();
        let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
        let advice = index_advice(plan.node(), None, &steps, |_| Ok::<_, Infallible>(rows)).unwrap();
        expected.assert_eq(&advice.unwrap_or_else(|| "nothing".to_owned()));
    }

    #[test]
    fn first_page_in_table_order_needs_no_index() {
        check("", &["SCAN t0"], expect!["nothing"]);
    }

    #[test]
    fn filter_needs_an_index_that_includes_the_order() {
        let filter = r#","$where":{"field":"title","op":"eq","value":"a"}"#;
        check(
            filter,
            &["SCAN t0"],
            expect![
                "no index can be used to find these rows of posts, so the whole table is scanned; an index on (title, id) would help"
            ],
        );
        let found = "SEARCH t0 USING INDEX posts_title (title=?)";
        check(filter, &[found], expect!["nothing"]);
        check(filter, &["COMPOUND QUERY", found, "SCAN (subquery-1)"], expect!["nothing"]);
    }

    #[test]
    fn scan_of_what_a_subquery_has_found_is_no_problem() {
        let filter = r#","$where":{"field":"title","op":"eq","value":"a"}"#;
        for subquery in ["CO-ROUTINE g", "MATERIALIZE g"] {
            check(
                filter,
                &[subquery, "SEARCH t0 USING INDEX posts_title (title=?)", "SCAN g"],
                expect!["nothing"],
            );
        }
    }

    #[test]
    fn range_column_is_last() {
        check(
            r#","$where":{"and":[{"field":"views","op":"gt","value":1},{"field":"title","op":"eq","value":"a"}]}"#,
            &["SCAN t0"],
            expect![
                "no index can be used to find these rows of posts, so the whole table is scanned; an index on (title, views) would help"
            ],
        );
    }

    #[test]
    fn prefix_of_a_pattern_is_a_range() {
        check(
            r#","$where":{"field":"title","op":"like","value":"a%"}"#,
            &["SCAN t0"],
            expect![
                "no index can be used to find these rows of posts, so the whole table is scanned; an index on (title) would help"
            ],
        );
    }

    #[test]
    fn scan_without_useful_index_has_no_advice() {
        check(
            r#","$where":{"field":"title","op":"ilike","value":"%a%"}"#,
            &["SCAN t0"],
            expect!["no index can be used to find these rows of posts, so the whole table is scanned"],
        );
    }

    #[test]
    fn order_needs_an_index() {
        check(
            r#","$orderBy":[{"field":"views","direction":"desc"}]"#,
            &["SCAN t0", "USE TEMP B-TREE FOR ORDER BY"],
            expect![
                "no index provides this order of posts, so all rows are sorted; an index on (views, id) would help"
            ],
        );
    }

    #[test]
    fn scan_of_a_small_table_in_the_order_of_the_page_is_no_problem() {
        let filter = r#","$where":{"field":"title","op":"eq","value":"a"}"#;
        check_rows(Rows::Few, filter, &["SCAN t0"], expect!["nothing"]);
        check_rows(
            Rows::Few,
            r#","$where":{"field":"title","op":"eq","value":"a"},"$orderBy":[{"field":"views","direction":"asc"}]"#,
            &["SCAN t0", "USE TEMP B-TREE FOR ORDER BY"],
            expect![
                "no index can be used to find these rows of posts, so the whole table is scanned; an index on (title, views, id) would help"
            ],
        );
    }

    #[test]
    fn no_index_is_recommended_on_a_view() {
        let filter = r#","$where":{"field":"title","op":"eq","value":"a"}"#;
        check_rows(
            Rows::View,
            filter,
            &["SCAN books"],
            expect!["no index can be used to find these rows of the view posts, so whole tables are scanned"],
        );
        check_rows(
            Rows::View,
            r#","$orderBy":[{"field":"views","direction":"desc"}]"#,
            &["SCAN books", "USE TEMP B-TREE FOR ORDER BY"],
            expect!["no index provides this order of the view posts, so all rows are sorted"],
        );
    }
}
