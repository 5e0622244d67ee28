//! Scalars in JSON documents.
//!
//! Documents are read as text: MariaDB has no other form of JSON, and text columns may contain JSON in MySQL too.

use sea_query::Expr;

use super::operand::Operand;
use super::param::{self, Param};
use super::type_class::TypeClass;
use crate::sql::custom::eval_json;
use crate::sql::statement::Params;
use crate::value::json::index;
use crate::{JsonPointer, JsonType};

/// The maximum depth at which a value is searched for. MariaDB reads no deeper document.
const DEPTH: usize = 31;

/// A regular expression for escapes that cannot be read: NUL, and each half of a surrogate pair without the other half.
const UNREADABLE: &str = r"\\u(0000|[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F]))|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F]";

/// Returns the scalar of type `ty` that the pointer `at` finds in a document.
pub(super) fn find(
    params: &mut Params<Param>,
    document: &Operand,
    at: &JsonPointer,
    ty: JsonType,
) -> Operand {
    let class = match ty {
        JsonType::Text => TypeClass::Text(None),
        JsonType::Number => TypeClass::JsonNumber,
        JsonType::Boolean | JsonType::Any => TypeClass::Boolean,
    };
    if at.tokens().len() > DEPTH {
        return Operand::new(Expr::null(), class);
    }
    let root = readable(document.to_text().expr);
    let value = at.tokens().iter().fold(root, |value, token| member(params, value, token));
    Operand::new(scalar(value, ty), class)
}

/// Returns a document; NULL if it is not JSON or has escapes that cannot be read.
fn readable(text: Expr) -> Expr {
    let constants = [r"\u", r"\\", ".", UNREADABLE].map(|text| Expr::Constant(text.into()));
    let [escape, backslash, dot, unreadable] = constants;
    Expr::cust_with_exprs(
        "(CASE WHEN JSON_VALID(?) AND (INSTR(?, ?) = 0 OR REPLACE(?, ?, ?) NOT REGEXP ?) THEN ? END)",
        [text.clone(), text.clone(), escape, text.clone(), backslash, dot, unreadable, text],
    )
}

/// Returns the member or element that a token refers to. Of two members with the same name the last one counts, but MariaDB
/// finds the first one. Only arrays are searched for elements, because the database treats any other value as an array with a
/// single element.
fn member(params: &mut Params<Param>, value: Expr, token: &str) -> Expr {
    const MEMBER: &str = "COALESCE(JSON_EXTRACT(JSON_REMOVE(`a`.`v`, ?), ?), JSON_EXTRACT(`a`.`v`, ?))";
    let name = serde_json::Value::from(token).to_string();
    let key = param::text(params, ["$.", &name].concat());
    let keys = [key.clone(), key.clone(), key];
    match index(token) {
        None => eval_json(value, MEMBER, keys),
        Some(index) => {
            let element = param::text(params, format!("$[{index}]"));
            let template = format!(
                "(CASE JSON_TYPE(`a`.`v`) WHEN 'ARRAY' THEN JSON_EXTRACT(`a`.`v`, ?) ELSE {MEMBER} END)"
            );
            eval_json(value, &template, [element].into_iter().chain(keys))
        }
    }
}

/// Returns a value as a scalar of that type.
fn scalar(value: Expr, ty: JsonType) -> Expr {
    let template = match ty {
        // The cast gives the text the collation of the connection, with which the collation of JSON cannot be compared.
        JsonType::Text => {
            "(CASE JSON_TYPE(`a`.`v`) WHEN 'STRING' THEN CAST(JSON_UNQUOTE(`a`.`v`) AS CHAR) END)"
        }
        JsonType::Boolean => "(CASE JSON_TYPE(`a`.`v`) WHEN 'BOOLEAN' THEN `a`.`v` = 'true' END)",
        JsonType::Any => "(CASE WHEN JSON_TYPE(`a`.`v`) <> 'NULL' THEN 1 END)",
        JsonType::Number => {
            "(CASE WHEN JSON_TYPE(`a`.`v`) NOT IN ('STRING', 'BOOLEAN', 'NULL', 'OBJECT', 'ARRAY') THEN `a`.`v` END)"
        }
    };
    eval_json(value, template, [])
}
