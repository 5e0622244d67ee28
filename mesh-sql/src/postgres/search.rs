//! Searches of text search vectors.

use mesh_plan::plan::{ColumnSource, Search};
use mesh_schema::{SearchIndex, SqlPart};
use sea_query::{Expr, ExprTrait as _, Func};

use super::type_class::TypeClass;
use super::{Operand, Param};
use crate::class::{Class as _, ParamType};
use crate::custom::{built_in, cast};
use crate::param;
use crate::search::SearchForm;
use crate::statement::Params;

/// Searches the columns with these operands.
pub(super) fn lower(
    params: &mut Params<'_, Param>,
    operands: &dyn Fn(&ColumnSource) -> Operand,
    search: &Search,
) -> Expr {
    let matches = vector(operands, search).binary(built_in("@@"), query(params, search));
    if let [_] = search.columns.as_slice() {
        return matches;
    }
    // A phrase of the whole vector can begin in one field and end in the next.
    let in_fields = search.columns.iter().map(|column| {
        let field = call("to_tsvector", [language(search), text(operands, column)]);
        let phrase = call("to_tsquery", [language(search), Expr::cust("p.phrase")]);
        field.binary(built_in("@@"), phrase)
    });
    let in_field = in_fields.reduce(Expr::or).unwrap_or_else(Expr::null);
    let mut none = |not: &str, form| {
        let phrases = TypeClass::Text("text").typed_list(param::search(params, &search.text, form), None);
        let template =
            format!("(NOT EXISTS (SELECT 1 FROM pg_catalog.unnest($1) AS p (phrase) WHERE {not}($2)))");
        Expr::cust_with_exprs(template, [phrases, in_field.clone()])
    };
    let required = none("NOT ", SearchForm::Phrases);
    let excluded = none("", SearchForm::ExcludedPhrases);
    matches.and(required).and(excluded)
}

/// Returns the rank of a record, which depends on how often the words occur.
pub(super) fn relevance(
    params: &mut Params<'_, Param>,
    operands: &dyn Fn(&ColumnSource) -> Operand,
    search: &Search,
) -> Expr {
    cast(call("ts_rank", [vector(operands, search), query(params, search)]), "float8")
}

fn query(params: &mut Params<'_, Param>, search: &Search) -> Expr {
    let form = if search.columns.len() == 1 { SearchForm::TsQuery } else { SearchForm::TsQueryOfFields };
    let text = TypeClass::Text("text").typed(param::search(params, &search.text, form), None::<ParamType>);
    call("to_tsquery", [language(search), text])
}

/// Returns the indexed expression, or one with the same meaning.
fn vector(operands: &dyn Fn(&ColumnSource) -> Operand, search: &Search) -> Expr {
    let Some(SearchIndex::Vector(parts)) = &search.index else {
        let texts = search.columns.iter().map(|column| text(operands, column));
        let all = texts.reduce(|all, text| Expr::cust_with_exprs("($1 || ' ' || $2)", [all, text]));
        return call("to_tsvector", [language(search), all.unwrap_or_else(Expr::null)]);
    };
    let (mut template, mut columns) = (String::new(), Vec::new());
    for part in parts {
        match part {
            SqlPart::Sql(sql) => template.push_str(sql),
            SqlPart::Column(column) => {
                columns.push(operands(&ColumnSource::Column(column.clone())).expr);
                template.push_str(&format!("${}", columns.len()));
            }
        }
    }
    Expr::cust_with_exprs(format!("({template})"), columns)
}

fn text(operands: &dyn Fn(&ColumnSource) -> Operand, column: &str) -> Expr {
    let text = operands(&ColumnSource::Column(column.to_owned())).to_text().expr;
    Func::coalesce([text, Expr::Constant("".into())]).into()
}

fn language(search: &Search) -> Expr {
    cast(Expr::Constant(search.language.clone().into()), "pg_catalog.regconfig")
}

fn call<const N: usize>(function: &str, arguments: [Expr; N]) -> Expr {
    Func::cust(format!("pg_catalog.{function}")).args(arguments).into()
}
