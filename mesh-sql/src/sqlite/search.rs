//! Searches, which FTS5 tables answer.

use std::iter;

use mesh_plan::plan::{ColumnSource, Predicate, Search};
use mesh_schema::{SearchIndex, TableName};
use sea_query::extension::sqlite::SqliteBinOper;
use sea_query::{Expr, ExprTrait as _, Func, JoinType, Query, SelectStatement, TableRef};

use super::{Operand, Param, functions};
use crate::param;
use crate::search::SearchForm;
use crate::statement::Params;

/// Searches the columns with these operands. `table` refers to a table.
pub(super) fn lower(
    params: &mut Params<'_, Param>,
    operands: &dyn Fn(&ColumnSource) -> Operand,
    search: &Search,
    table: impl Fn(&TableName) -> TableRef,
) -> Expr {
    let Some(SearchIndex::Fts5 { table: index, key }) = &search.index else {
        return call(functions::SEARCH, params, operands, search);
    };
    let mut found = Query::select();
    found.expr(Expr::col((index.name.clone(), "rowid"))).from(table(index));
    found.and_where(matches(params, search, &index.name));
    operands(&ColumnSource::Column(key.clone())).expr.in_subquery(found)
}

/// Joins the FTS5 table of a search that must hold to the rows. The database can then read the rows in the order of its row ids,
/// and stop when a page is full. Returns the key of the rows with the column of the FTS5 table that stands for it, and the
/// remaining condition.
pub(super) fn join<'p>(
    params: &mut Params<'_, Param>,
    select: &mut SelectStatement,
    filter: &'p Predicate,
    key_of: impl Fn(&str) -> Expr,
    table: impl Fn(&TableName) -> TableRef,
) -> Option<(&'p str, Expr, Option<Predicate>)> {
    let (search, rest) = required(filter)?;
    let Some(SearchIndex::Fts5 { table: index, key }) = &search.index else { return None };
    let row_id = Expr::col((index.name.clone(), "rowid"));
    select.join(JoinType::InnerJoin, table(index), key_of(key).eq(row_id.clone()));
    select.and_where(matches(params, search, &index.name));
    Some((key, row_id, rest))
}

/// Finds a search that must hold, and returns it with the remaining condition, if there is one.
fn required(filter: &Predicate) -> Option<(&Search, Option<Predicate>)> {
    match filter {
        Predicate::Search(search) => Some((search, None)),
        Predicate::Param { condition, .. } => required(condition),
        Predicate::All(parts) => parts.iter().enumerate().find_map(|(index, part)| {
            let (search, rest) = required(part)?;
            let (before, after) = (parts.get(..index)?, parts.get(index + 1..)?);
            let others: Vec<_> = before.iter().cloned().chain(rest).chain(after.iter().cloned()).collect();
            Some((search, (!others.is_empty()).then_some(Predicate::All(others))))
        }),
        _ => None,
    }
}

/// Returns the condition on the rows of an FTS5 table.
fn matches(params: &mut Params<'_, Param>, search: &Search, index: &str) -> Expr {
    // The name of the table stands for all its columns.
    let all = Expr::col((index.to_owned(), index.to_owned()));
    let columns: Vec<_> =
        search.columns.iter().map(|column| format!("\"{}\"", column.replace('"', "\"\""))).collect();
    let filter = Expr::Constant(format!("{{{}}} : ", columns.join(" ")).into());
    let words = param::search(params, &search.text, SearchForm::Fts5);
    all.binary(SqliteBinOper::Match, Expr::cust_with_exprs("(? || ?)", [filter, words]))
}

/// Returns how often the words occur.
pub(super) fn relevance(
    params: &mut Params<'_, Param>,
    operands: &dyn Fn(&ColumnSource) -> Operand,
    search: &Search,
) -> Expr {
    call(functions::RELEVANCE, params, operands, search)
}

fn call(
    function: &'static str,
    params: &mut Params<'_, Param>,
    operands: &dyn Fn(&ColumnSource) -> Operand,
    search: &Search,
) -> Expr {
    let words = param::search(params, &search.text, SearchForm::Text);
    let columns = search.columns.iter().map(|column| operands(&ColumnSource::Column(column.clone())).expr);
    Func::cust(function).args(iter::once(words).chain(columns)).into()
}
