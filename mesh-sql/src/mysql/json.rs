//! Scalars in JSON documents.
//!
//! Documents are read as text, since MariaDB has no other form of JSON.

use sea_query::Expr;

use super::Operand;
use super::Param;
use super::type_class::TypeClass;
use crate::custom::eval_json;
use crate::param;
use crate::statement::Params;
use mesh_plan::backend::{JsonPointer, JsonType};

/// The maximum depth at which a value is searched for. MariaDB reads no deeper document.
const DEPTH: usize = 31;

/// The prefix of the names of members in a document in which one name to look for begins with `-`.
const PREFIX: &str = "=";

/// A regular expression for escapes that cannot be read: NUL, and each half of a surrogate pair without the other half.
const UNREADABLE: &str = r"\\u(0000|[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F]))|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F]";

/// Returns the scalar of type `ty` that the pointer `at` finds in a document.
pub(super) fn find(
    params: &mut Params<'_, Param>,
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
    let mut root = readable(document.to_text().expr);
    // MariaDB takes no path to a name that begins with `-`.
    let has_dash = |token: &String| token.starts_with('-');
    let prefix = if at.tokens().iter().any(has_dash) { PREFIX } else { "" };
    if !prefix.is_empty() {
        root = with_prefix(root);
    }
    let value = at.tokens().iter().fold(root, |value, token| member(params, value, (prefix, token)));
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

/// Adds [`PREFIX`] to the names of all members of a document, at any depth.
fn with_prefix(document: Expr) -> Expr {
    // A string is a name if a colon follows. Other strings are skipped as a whole.
    const NAMES: &str = r#""(?:[^"\\]++|\\.)*+"(?!\s*:)(*SKIP)(*FAIL)|"((?:[^"\\]++|\\.)*+)"(?=\s*:)"#;
    let [names, replacement] =
        [NAMES.to_owned(), format!(r#""{PREFIX}\1""#)].map(|text| Expr::Constant(text.into()));
    Expr::cust_with_exprs("REGEXP_REPLACE(?, ?, ?)", [document, names, replacement])
}

/// Returns the member or element that a token refers to. Of two members with the same name the last one counts, but MariaDB
/// finds the first one. Only arrays are searched for elements, because the database treats any other value as an array with a
/// single element.
fn member(params: &mut Params<'_, Param>, value: Expr, (prefix, token): (&str, &str)) -> Expr {
    // MariaDB compares names as they are written, so a name with escapes is found in its written form.
    const WRITTEN: &str = "(CASE WHEN INSTR(`a`.`v`, ?) = 0 THEN ? ELSE COALESCE((SELECT CONCAT('$.', `k`.`n`) \
        FROM JSON_TABLE(JSON_KEYS(`a`.`v`), '$[*]' COLUMNS (`o` FOR ORDINALITY, `n` JSON PATH '$', \
        `t` LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$')) AS `k` \
        WHERE `k`.`t` = ? ORDER BY `k`.`o` DESC LIMIT 1), ?) END)";
    let name = [prefix, token].concat();
    let path = param::text(params, format!("$.{}", serde_json::Value::from(name.as_str())));
    let path = [Expr::Constant(r"\".into()), path.clone(), param::text(params, name), path];
    let member = format!(
        "COALESCE(JSON_EXTRACT(JSON_REMOVE(`a`.`v`, {WRITTEN}), {WRITTEN}), JSON_EXTRACT(`a`.`v`, {WRITTEN}))"
    );
    let paths = [path.clone(), path.clone(), path].into_iter().flatten();
    match JsonPointer::index(token) {
        None => eval_json(value, &member, paths),
        Some(index) => {
            let element = param::text(params, format!("$[{index}]"));
            let template = format!(
                "(CASE JSON_TYPE(`a`.`v`) WHEN 'ARRAY' THEN JSON_EXTRACT(`a`.`v`, ?) ELSE {member} END)"
            );
            eval_json(value, &template, [element].into_iter().chain(paths))
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
