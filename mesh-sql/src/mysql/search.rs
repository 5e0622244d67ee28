//! Searches of full-text indexes.

use std::iter;

use mesh_plan::plan::{ColumnSource, Search};
use sea_query::Expr;

use super::{Operand, Param};
use crate::param;
use crate::search::SearchForm;
use crate::statement::Params;

/// Searches the columns with these operands, which have an index.
pub(super) fn lower(
    params: &mut Params<'_, Param>,
    operands: &dyn Fn(&ColumnSource) -> Operand,
    search: &Search,
) -> Expr {
    let words = param::search(params, &search.text, SearchForm::BooleanMode);
    let template = format!("(MATCH ({}) AGAINST (? IN BOOLEAN MODE))", placeholders(search));
    Expr::cust_with_exprs(template, columns(operands, search).chain([words]))
}

/// Returns how often the words occur: the number of characters that are added if one is put behind each.
pub(super) fn relevance(
    params: &mut Params<'_, Param>,
    operands: &dyn Fn(&ColumnSource) -> Operand,
    search: &Search,
) -> Expr {
    let texts = format!("CONVERT(CONCAT_WS(' . ', {}) USING utf8mb4)", placeholders(search));
    let texts = || Expr::cust_with_exprs(texts.clone(), columns(operands, search));
    let words = param::search(params, &search.text, SearchForm::Regex);
    let template = "(CHAR_LENGTH(REGEXP_REPLACE(?, ?, '\\\\1.')) - CHAR_LENGTH(?))";
    Expr::cust_with_exprs(template, [texts(), words, texts()])
}

fn columns(operands: &dyn Fn(&ColumnSource) -> Operand, search: &Search) -> impl Iterator<Item = Expr> {
    let columns = search.columns.iter();
    columns.map(|column| operands(&ColumnSource::Column(column.clone())).expr).collect::<Vec<_>>().into_iter()
}

fn placeholders(search: &Search) -> String {
    iter::repeat_n("?", search.columns.len()).collect::<Vec<_>>().join(", ")
}
