//! Scalars in JSON documents.
//!
//! A document is the text of JSON: MariaDB has no other form, and texts may have JSON in MySQL too.

use sea_query::Expr;

use super::operand::Operand;
use super::param::{self, Param};
use super::type_class::TypeClass;
use crate::sql::custom::of_json;
use crate::sql::statement::Params;
use crate::value::json::index;
use crate::{JsonPointer, JsonType};

/// The depth beyond which no value is searched for. MariaDB reads no deeper document.
const DEPTH: usize = 31;

/// Escapes that cannot be read: NUL, the first half of a surrogate pair without the second one, and the reverse.
const UNREADABLE: &str = r"\\u(0000|[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F]))|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F]";

/// Returns the scalar of that type at a place in a document.
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

/// Returns a document, or NULL for one that is no JSON or has escapes that cannot be read.
fn readable(text: Expr) -> Expr {
    let constants = [r"\u", r"\\", ".", UNREADABLE].map(|text| Expr::Constant(text.into()));
    let [escape, backslash, dot, unreadable] = constants;
    Expr::cust_with_exprs(
        "(CASE WHEN JSON_VALID(?) AND (INSTR(?, ?) = 0 OR REPLACE(?, ?, ?) NOT REGEXP ?) THEN ? END)",
        [text.clone(), text.clone(), escape, text.clone(), backslash, dot, unreadable, text],
    )
}

/// Returns what a token leads to. MariaDB finds the first of two members of a name, but the last one counts. The database takes
/// what is no array for one with a single element.
fn member(params: &mut Params<Param>, value: Expr, token: &str) -> Expr {
    const MEMBER: &str = "COALESCE(JSON_EXTRACT(JSON_REMOVE(`a`.`v`, ?), ?), JSON_EXTRACT(`a`.`v`, ?))";
    let name = serde_json::Value::from(token).to_string();
    let key = param::text(params, ["$.", &name].concat());
    let keys = [key.clone(), key.clone(), key];
    match index(token) {
        None => of_json(value, MEMBER, keys),
        Some(index) => {
            let element = param::text(params, format!("$[{index}]"));
            let template = format!(
                "(CASE JSON_TYPE(`a`.`v`) WHEN 'ARRAY' THEN JSON_EXTRACT(`a`.`v`, ?) ELSE {MEMBER} END)"
            );
            of_json(value, &template, [element].into_iter().chain(keys))
        }
    }
}

/// Returns a value as a scalar of that type.
fn scalar(value: Expr, ty: JsonType) -> Expr {
    let template = match ty {
        // The cast has the collation of the connection, which that of JSON cannot be compared with.
        JsonType::Text => {
            "(CASE JSON_TYPE(`a`.`v`) WHEN 'STRING' THEN CAST(JSON_UNQUOTE(`a`.`v`) AS CHAR) END)"
        }
        JsonType::Boolean => "(CASE JSON_TYPE(`a`.`v`) WHEN 'BOOLEAN' THEN `a`.`v` = 'true' END)",
        JsonType::Any => "(CASE WHEN JSON_TYPE(`a`.`v`) <> 'NULL' THEN 1 END)",
        JsonType::Number => {
            "(CASE WHEN JSON_TYPE(`a`.`v`) NOT IN ('STRING', 'BOOLEAN', 'NULL', 'OBJECT', 'ARRAY') THEN `a`.`v` END)"
        }
    };
    of_json(value, template, [])
}
