//! Searches, which FTS5 tables answer.

use std::iter;

use mesh_plan::plan::{ColumnSource, Search};
use mesh_schema::SearchIndex;
use sea_query::extension::sqlite::SqliteBinOper;
use sea_query::{Expr, ExprTrait as _, Func, Query, TableRef};

use super::{Operand, Param, functions};
use crate::param;
use crate::search::SearchForm;
use crate::statement::Params;

/// Searches the columns with these operands. `table` refers to a table.
pub(super) fn lower(
    params: &mut Params<'_, Param>,
    operands: &dyn Fn(&ColumnSource) -> Operand,
    search: &Search,
    table: impl Fn(&mesh_schema::TableName) -> TableRef,
) -> Expr {
    let Some(SearchIndex::Fts5 { table: index, key }) = &search.index else {
        return call(functions::SEARCH, params, operands, search);
    };
    // The name of the table stands for all its columns.
    let all = Expr::col((index.name.clone(), index.name.clone()));
    let columns: Vec<_> =
        search.columns.iter().map(|column| format!("\"{}\"", column.replace('"', "\"\""))).collect();
    let filter = Expr::Constant(format!("{{{}}} : ", columns.join(" ")).into());
    let words = param::search(params, &search.text, SearchForm::Fts5);
    let mut found = Query::select();
    found.expr(Expr::col((index.name.clone(), "rowid"))).from(table(index));
    found.and_where(all.binary(SqliteBinOper::Match, Expr::cust_with_exprs("(? || ?)", [filter, words])));
    operands(&ColumnSource::Column(key.clone())).expr.in_subquery(found)
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
