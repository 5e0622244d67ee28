//! Scalars and arrays in JSON documents.
//!
//! Documents are read as text, since MariaDB has no other form of JSON.

use sea_query::Expr;

use super::Operand;
use super::Param;
use super::type_class::TypeClass;
use crate::custom::eval_json;
use crate::dialect::Elements;
use crate::param;
use crate::statement::{Params, ValueOrInput};
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
    match locate(params, document, at) {
        Some(value) => Operand::new(eval_json(value, scalar(ty), []), class_of(ty)),
        None => Operand::new(Expr::null(), class_of(ty)),
    }
}

/// Tests whether an array in a document contains values. `is_in` tests whether a scalar is in a list.
pub(super) fn has(
    params: &mut Params<'_, Param>,
    document: &Operand,
    elements: &Elements<'_>,
    is_in: impl Fn(&mut Params<'_, Param>, Operand, &[ValueOrInput<'_>]) -> Expr,
) -> Expr {
    const ELEMENTS: &str = "JSON_TABLE(`a`.`v`, '$[*]' COLUMNS (`v` JSON PATH '$')) AS `e`";
    let Elements { at, ty, values, all, .. } = elements;
    let Some(value) = locate(params, document, at) else { return Expr::null() };
    // An array has all values if it has each of them.
    let lists = if *all { values.chunks(1) } else { values.chunks(values.len()) };
    let element = || Operand::new(Expr::cust(scalar(*ty).replace("`a`", "`e`")), class_of(*ty));
    let tests: Vec<Expr> = lists.map(|values| is_in(params, element(), values)).collect();
    let is_found = vec![format!("EXISTS (SELECT 1 FROM {ELEMENTS} WHERE ?)"); tests.len()].join(" AND ");
    let template = format!("(CASE JSON_TYPE(`a`.`v`) WHEN 'ARRAY' THEN {is_found} END)");
    eval_json(value, &template, tests)
}

/// Returns the value that a pointer finds in a document; `None` if the database reads no document of that depth.
fn locate(params: &mut Params<'_, Param>, document: &Operand, at: &JsonPointer) -> Option<Expr> {
    if at.tokens().len() > DEPTH {
        return None;
    }
    let mut root = readable(document.to_text().expr);
    // MariaDB takes no path to a name that begins with `-`.
    let has_dash = |token: &String| token.starts_with('-');
    let prefix = if at.tokens().iter().any(has_dash) { PREFIX } else { "" };
    if !prefix.is_empty() {
        root = with_prefix(root);
    }
    Some(at.tokens().iter().fold(root, |value, token| member(params, value, (prefix, token))))
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

/// Returns the expression for the column `v` of `a` as a scalar of that type.
fn scalar(ty: JsonType) -> &'static str {
    match ty {
        // The cast gives the text the collation of the connection, with which the collation of JSON cannot be compared.
        JsonType::Text => {
            "(CASE JSON_TYPE(`a`.`v`) WHEN 'STRING' THEN CAST(JSON_UNQUOTE(`a`.`v`) AS CHAR) END)"
        }
        JsonType::Boolean => "(CASE JSON_TYPE(`a`.`v`) WHEN 'BOOLEAN' THEN `a`.`v` = 'true' END)",
        JsonType::Any => "(CASE WHEN JSON_TYPE(`a`.`v`) <> 'NULL' THEN 1 END)",
        JsonType::Number => {
            "(CASE WHEN JSON_TYPE(`a`.`v`) NOT IN ('STRING', 'BOOLEAN', 'NULL', 'OBJECT', 'ARRAY') THEN `a`.`v` END)"
        }
    }
}

fn class_of(ty: JsonType) -> TypeClass {
    match ty {
        JsonType::Text => TypeClass::Text(None),
        JsonType::Number => TypeClass::JsonNumber,
        JsonType::Boolean | JsonType::Any => TypeClass::Boolean,
    }
}
