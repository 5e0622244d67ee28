//! Scalars and arrays in JSON documents.
//!
//! PostgreSQL's functions for JSON raise errors for content that its JSON types accept: an escaped NUL, half a surrogate pair,
//! a number out of range. Such a document or number is NULL here, as in [`JsonPointer::find`].

use sea_query::{Expr, Func};

use super::Operand;
use super::Param;
use super::charset::Charset;
use super::type_class::TypeClass;
use crate::class::ParamType;
use crate::custom::cast;
use crate::dialect::Elements;
use crate::param;
use crate::statement::Params;
use mesh_plan::Value;
use mesh_plan::backend::{JsonPointer, JsonType};

/// The maximum depth at which a value is searched for in a document.
const DEPTH: usize = 127;

/// A regular expression for escapes that cannot be read: NUL, and each half of a surrogate pair without the other half.
const UNREADABLE: &str = r"\\u(0000|[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F]))|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F]";

/// A regular expression for exponents that are out of range for doubles, and may be out of range for `numeric` too.
const LARGE_EXPONENT: &str = "[eE][-+]?0*[1-9][0-9]{3}";

/// Returns the scalar of type `ty` that the pointer `at` finds in a document. `is_json` is whether the database has the test
/// `IS JSON`.
pub(super) fn find(
    params: &mut Params<'_, Param>,
    charset: &Charset,
    is_json: bool,
    document: &Operand,
    at: &JsonPointer,
    ty: JsonType,
) -> Operand {
    let (class, name) = class_of(ty);
    match locate(params, charset, is_json, document, at) {
        Some((functions, value)) => Operand::new(scalar(functions, value, ty), class),
        None => Operand::new(cast(Expr::null(), name), class),
    }
}

fn class_of(ty: JsonType) -> (TypeClass, &'static str) {
    match ty {
        JsonType::Text => (TypeClass::Text("text"), "text"),
        JsonType::Number => (TypeClass::Numeric, "numeric"),
        JsonType::Boolean | JsonType::Any => (TypeClass::Boolean, "bool"),
    }
}

/// Tests whether an array in a document contains values.
pub(super) fn has(
    params: &mut Params<'_, Param>,
    charset: &Charset,
    is_json: bool,
    document: &Operand,
    elements: &Elements<'_>,
) -> Expr {
    let Elements { at, ty, values, all, needs_unknown } = elements;
    let (class, name) = class_of(*ty);
    // No element has characters that the database cannot store.
    let can_store = |value: &Value| !matches!(value, Value::Text(text) if !charset.can_store(text));
    let known: Vec<_> = values.iter().copied().filter(|(value, _)| can_store(value)).collect();
    let is_possible = if *all { known.len() == values.len() } else { !known.is_empty() };
    let list = |params: &mut Params<'_, Param>| {
        param::list(params, &class, Some(ParamType::Named(name)), if is_possible { &known } else { &[] })
    };
    if is_possible
        && !needs_unknown
        && let Some(indexed) = indexed(params, charset, document, elements, &list)
    {
        return indexed;
    }
    let Some((functions, array)) = locate(params, charset, is_json, document, at) else {
        return cast(Expr::null(), "bool");
    };
    let scalar = scalar(functions, Expr::cust("e.value"), *ty);
    let operator = if *all && is_possible { "@>" } else { "&&" };
    let template = format!(
        "(SELECT CASE WHEN pg_catalog.{functions}_typeof(v) {{=}} 'array' THEN \
         ARRAY(SELECT $1 FROM pg_catalog.{functions}_array_elements(v) AS e) {{{operator}}} $2 END \
         FROM (SELECT $3 AS v OFFSET 0) AS a)"
    );
    Expr::cust_with_exprs(built_in(&template), [scalar, list(params), array])
}

/// Does the same in a form for which the database can use an index, but which may be false instead of NULL; `None` if no such form
/// has the same meaning. `list` adds the values.
fn indexed(
    params: &mut Params<'_, Param>,
    charset: &Charset,
    document: &Operand,
    Elements { at, ty, all, .. }: &Elements<'_>,
    list: &dyn Fn(&mut Params<'_, Param>) -> Expr,
) -> Option<Expr> {
    let column = document.expr.clone();
    match &document.class {
        // Numbers of a document are compared as doubles.
        TypeClass::Json("jsonb") if *ty != JsonType::Number => {
            let mut array = if *all { "to_jsonb($1)" } else { "jsonb_build_array(x)" }.to_owned();
            let mut exprs = vec![list(params), column];
            for key in at.tokens().iter().rev() {
                // An index may also be a key.
                if JsonPointer::index(key).is_some() || !charset.can_store(key) {
                    return None;
                }
                exprs.push(param::text(params, key.clone()));
                array = format!("jsonb_build_object(${}, pg_catalog.{array})", exprs.len());
            }
            let template = match all {
                true => format!("($2 {{@>}} pg_catalog.{array})"),
                false => format!(
                    "($2 {{@>}} ANY (ARRAY(SELECT pg_catalog.{array} FROM pg_catalog.unnest($1) AS x)))"
                ),
            };
            Some(Expr::cust_with_exprs(built_in(&template), exprs))
        }
        TypeClass::Composite(name) if at.tokens().is_empty() && !document.has_nondeterministic_collation => {
            let values = match (name.as_str(), ty) {
                ("pg_catalog._text", JsonType::Text) => "$2".to_owned(),
                ("pg_catalog._varchar", JsonType::Text) => "$2::varchar[]".to_owned(),
                ("pg_catalog._int2", JsonType::Number) => integers("int2", i16::MIN.into(), i16::MAX.into()),
                ("pg_catalog._int4", JsonType::Number) => integers("int4", i32::MIN.into(), i32::MAX.into()),
                ("pg_catalog._int8", JsonType::Number) => integers("int8", i64::MIN, i64::MAX),
                _ => return None,
            };
            // The operators find elements in any dimension.
            let operator = if *all { "@>" } else { "&&" };
            let template = format!("($1 {{{operator}}} {values} AND pg_catalog.array_ndims($1) {{=}} 1)");
            Some(Expr::cust_with_exprs(built_in(&template), [column, list(params)]))
        }
        _ => None,
    }
}

/// Returns an array of an integer type. A number that the type does not have is NULL, which no array has.
fn integers(ty: &str, min: i64, max: i64) -> String {
    format!(
        "ARRAY(SELECT CASE WHEN x {{=}} pg_catalog.trunc(x) AND x {{>=}} '{min}'::numeric AND x {{<=}} '{max}'::numeric \
         THEN x::{ty} END FROM pg_catalog.unnest($2) AS x)"
    )
}

/// Returns the value that a pointer finds in a document, and the prefix of the functions for its type; `None` if there can be no
/// such value.
fn locate(
    params: &mut Params<'_, Param>,
    charset: &Charset,
    is_json: bool,
    document: &Operand,
    at: &JsonPointer,
) -> Option<(&'static str, Expr)> {
    // No key has characters that the database cannot store.
    if at.tokens().len() > DEPTH || at.tokens().iter().any(|token| !charset.can_store(token)) {
        return None;
    }
    let (functions, root) = match &document.class {
        TypeClass::Json("jsonb") => ("jsonb", document.expr.clone()),
        TypeClass::Json(_) => ("json", readable(document.expr.clone())),
        TypeClass::Composite(_) => {
            ("jsonb", Func::cust("pg_catalog.to_jsonb").arg(document.expr.clone()).into())
        }
        _ => ("json", parsed(document.to_text().expr, is_json)),
    };
    let value = at.tokens().iter().fold(root, |value, token| {
        // Both functions find keys of objects. The first one also finds elements of arrays, but it accepts other texts of
        // numbers too.
        let function = if JsonPointer::index(token).is_some() { "extract_path" } else { "object_field" };
        let token = param::text(params, token.clone());
        Func::cust(["pg_catalog.", functions, "_", function].concat()).arg(value).arg(token).into()
    });
    Some((functions, value))
}

/// Parses a text as JSON.
fn parsed(text: Expr, is_json: bool) -> Expr {
    let document = readable(cast(text.clone(), "json"));
    match is_json {
        true => Expr::cust_with_exprs("(CASE WHEN $1 IS JSON THEN $2 END)", [text, document]),
        false => document,
    }
}

/// Returns a document; NULL if it has escapes that cannot be read.
fn readable(document: Expr) -> Expr {
    let text = cast(document.clone(), "text");
    let constants = [r"\u", r"\\", ".", UNREADABLE].map(|text| Expr::Constant(text.into()));
    let values: Vec<Expr> = [text, document].into_iter().chain(constants).collect();
    Expr::cust_with_exprs(
        built_in(
            "(CASE WHEN pg_catalog.strpos($1, $3) {=} 0 OR pg_catalog.replace($1, $4, $5) {!~} $6 THEN $2 END)",
        ),
        values,
    )
}

/// Returns a value as a scalar of that type.
fn scalar(functions: &str, value: Expr, ty: JsonType) -> Expr {
    const CONTENT: &str = "v {#>>} '{}'::text[]";
    let values = "FROM (SELECT $1 AS v OFFSET 0) AS a";
    let template = match ty {
        JsonType::Text => format!("(SELECT CASE WHEN {{type}} {{=}} 'string' THEN {CONTENT} END {values})"),
        JsonType::Boolean => {
            format!("(SELECT CASE WHEN {{type}} {{=}} 'boolean' THEN ({CONTENT})::bool END {values})")
        }
        JsonType::Any => format!("(SELECT CASE WHEN {{type}} {{<>}} 'null' THEN true END {values})"),
        // The result is a 64-bit integer or the shortest text of a double, like the values that it is compared with.
        JsonType::Number => format!(
            "(SELECT CASE WHEN pg_catalog.scale(n) {{=}} 0 AND n {{>=}} '-9223372036854775808'::numeric \
             AND n {{<=}} '9223372036854775807'::numeric THEN n \
             WHEN pg_catalog.abs(n) {{>=}} '1.7976931348623158e308'::numeric THEN NULL \
             WHEN pg_catalog.abs(n) {{<}} '2.5e-324'::numeric THEN 0 \
             ELSE n::float8::text::numeric END \
             FROM (SELECT CASE WHEN pg_catalog.length(t) {{<}} 1000 AND t {{!~}} $2 THEN t::numeric END AS n \
             FROM (SELECT CASE WHEN {{type}} {{=}} 'number' THEN {CONTENT} END AS t {values} OFFSET 0) AS b \
             OFFSET 0) AS c)"
        ),
    };
    let template = template.replace("{type}", &format!("pg_catalog.{functions}_typeof(v)"));
    Expr::cust_with_exprs(built_in(&template), [value, Expr::Constant(LARGE_EXPONENT.into())])
}

/// Qualifies the operators in a template, which are in braces, with their schema.
fn built_in(template: &str) -> String {
    ["=", "<>", "<", "<=", ">=", "!~", "#>>", "@>", "&&"].iter().fold(
        template.to_owned(),
        |template, operator| {
            template.replace(&format!("{{{operator}}}"), &format!("OPERATOR(pg_catalog.{operator})"))
        },
    )
}
