//! Values in JSON documents, found by a JSON Pointer. `SPEC §14.8`, `SPEC §22`

use std::collections::HashMap;
use std::fmt;

use mesh_ql::named_enum;
use serde_json::Value as Json;
use serde_json::value::RawValue;

use super::{Value, ValueRef};

/// A JSON Pointer (RFC 6901).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JsonPointer {
    tokens: Vec<String>,
}

named_enum! {
    /// The type of the scalars that a condition compares. A scalar of another type counts as NULL.
    #[expect(missing_docs, reason = "the names explain each")]
    JsonType {
        Text = "text",
        Number = "number",
        Boolean = "boolean",
        /// Any value except `null`, including an object or an array. The condition only compares with NULL.
        Any = "any",
    }
}

impl JsonPointer {
    /// Parses the text of a pointer, which the query language has checked.
    pub fn new(text: &str) -> Self {
        let tokens = text.split('/').skip(1);
        Self { tokens: tokens.map(|token| token.replace("~1", "/").replace("~0", "~")).collect() }
    }

    /// Returns the keys and indexes that lead to the value.
    pub fn tokens(&self) -> &[String] {
        &self.tokens
    }

    /// Returns the array index that a token names; `None` for a token that can only name a key.
    pub fn index(token: &str) -> Option<usize> {
        let is_canonical =
            token == "0" || !token.starts_with('0') && token.bytes().all(|byte| byte.is_ascii_digit());
        token.parse().ok().filter(|_| is_canonical)
    }

    /// Returns the scalar of that type in a document; NULL if there is none.
    ///
    /// A document is JSON text, or a stored number or boolean. Text that is not JSON contains no scalars; neither does a
    /// document with an escaped NUL or half a surrogate pair, which PostgreSQL refuses. If a key occurs twice, the last one
    /// counts. A number is a 64-bit integer, or else a double.
    ///
    /// ```
    /// use mesh_plan::backend::{JsonPointer, JsonType};
    /// use mesh_plan::{Value, ValueRef};
    ///
    /// let document = ValueRef::Text(br#"{"tags": ["a", 1]}"#);
    /// assert_eq!(JsonPointer::new("/tags/0").find(document, JsonType::Text), "a".into());
    /// assert_eq!(JsonPointer::new("/tags/1").find(document, JsonType::Text), Value::Null);
    /// ```
    pub fn find(&self, document: ValueRef<'_>, ty: JsonType) -> Value {
        let found = match document {
            ValueRef::Text(text) => self.locate(text).and_then(|found| scalar(found, ty)),
            ValueRef::Boolean(_) | ValueRef::Integer(_) if self.tokens.is_empty() => {
                Some(document.to_value())
            }
            ValueRef::Real(value) if self.tokens.is_empty() && value.is_finite() => Some(Value::Real(value)),
            _ => None,
        };
        match found.unwrap_or_default() {
            Value::Null => Value::Null,
            _ if ty == JsonType::Any => Value::Boolean(true),
            found if is_of_type(&found, ty) => found,
            _ => Value::Null,
        }
    }

    /// Returns whether the array in a document contains all of the values, or any of them; `None` if there is no array. The
    /// values have the type `ty`; other elements match none of them.
    ///
    /// ```
    /// use mesh_plan::backend::{JsonPointer, JsonType};
    /// use mesh_plan::{Value, ValueRef};
    ///
    /// let (document, tags) = (ValueRef::Text(br#"{"tags": ["a", 1]}"#), JsonPointer::new("/tags"));
    /// let values = [Value::from("a"), Value::from("b")];
    /// assert_eq!(tags.has(document, JsonType::Text, &values, false), Some(true));
    /// assert_eq!(tags.has(document, JsonType::Text, &values, true), Some(false));
    /// ```
    pub fn has(&self, document: ValueRef<'_>, ty: JsonType, values: &[Value], all: bool) -> Option<bool> {
        let ValueRef::Text(text) = document else { return None };
        let elements = serde_json::from_str::<Vec<&RawValue>>(self.locate(text)?.get()).ok()?;
        let scalars = elements.into_iter().filter_map(|element| scalar(element, ty));
        let found: Vec<Value> =
            scalars.filter(|value| is_of_type(value, ty)).map(|value| one_form(&value)).collect();
        let is_found = |value: &Value| found.contains(&one_form(value));
        Some(if all { values.iter().all(is_found) } else { values.iter().any(is_found) })
    }

    /// Returns the JSON text of the value in a text; `None` if there is none.
    pub(crate) fn part<'t>(&self, text: &'t [u8]) -> Option<&'t str> {
        self.locate(text).map(RawValue::get)
    }

    fn locate<'t>(&self, text: &'t [u8]) -> Option<&'t RawValue> {
        let text = std::str::from_utf8(text).ok()?;
        // Only documents with escapes are accepted by some readers and refused by others.
        let has_code = memchr::memmem::find(text.as_bytes(), br"\u").is_some();
        if has_code && (escapes_nul(text) || serde_json::from_str::<Json>(text).is_err()) {
            return None;
        }
        let mut found: &RawValue = serde_json::from_str(text).ok()?;
        for token in &self.tokens {
            let text = found.get();
            found = if text.starts_with('{') {
                serde_json::from_str::<HashMap<String, &RawValue>>(text).ok()?.remove(token)?
            } else {
                serde_json::from_str::<Vec<&RawValue>>(text).ok()?.get(Self::index(token)?)?
            };
        }
        Some(found)
    }
}

/// Returns a scalar of a JSON text, or for [`JsonType::Any`] any value but `null` in place of an object or array; `None` if there
/// is no value.
fn scalar(found: &RawValue, ty: JsonType) -> Option<Value> {
    if found.get().starts_with(['{', '[']) {
        return (ty == JsonType::Any).then_some(Value::Boolean(true));
    }
    Some(match serde_json::from_str(found.get()).ok()? {
        Json::Bool(value) => Value::Boolean(value),
        Json::String(value) => Value::Text(value),
        Json::Number(number) => match number.as_i64() {
            Some(value) => Value::Integer(value),
            None => Value::Real(number.as_f64()?),
        },
        Json::Null | Json::Array(_) | Json::Object(_) => Value::Null,
    })
}

/// Returns the form that is the same for all equal values of a type.
fn one_form(value: &Value) -> Value {
    const BOUND: f64 = (1_u64 << 63) as f64;
    match value {
        Value::Boolean(value) => Value::Integer((*value).into()),
        Value::Real(value) if value.fract() == 0.0 && (-BOUND..BOUND).contains(value) => {
            Value::Integer(*value as i64)
        }
        value => value.clone(),
    }
}

/// Returns whether a scalar has that type.
fn is_of_type(value: &Value, ty: JsonType) -> bool {
    match value {
        Value::Boolean(_) => ty == JsonType::Boolean,
        Value::Integer(_) | Value::Real(_) => ty == JsonType::Number,
        Value::Text(_) => ty == JsonType::Text,
        _ => false,
    }
}

/// Returns whether a string of a JSON text has the escaped character NUL.
fn escapes_nul(json: &str) -> bool {
    let mut rest = json;
    while let Some((_, escape)) = rest.split_once('\\') {
        if escape.starts_with("u0000") {
            return true;
        }
        let mut chars = escape.chars();
        chars.next();
        rest = chars.as_str();
    }
    false
}

impl fmt::Display for JsonPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tokens.iter().try_for_each(|token| write!(f, "/{}", token.replace('~', "~0").replace('/', "~1")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(document: &str, pointer: &str, ty: JsonType, expected: impl Into<Value>) {
        let found = JsonPointer::new(pointer).find(ValueRef::Text(document.as_bytes()), ty);
        assert_eq!(found, expected.into(), "{document} {pointer}");
        assert_eq!(JsonPointer::new(pointer).to_string(), pointer);
    }

    #[test]
    fn pointers_lead_to_scalars_of_the_wanted_type() {
        use JsonType::{Any, Boolean, Number, Text};
        let document =
            r#"{"a":[1,"x",true,null,{"b":2.5}],"":{"":7},"x/y":1,"~":2,"~1":3,"k\"1.a":4,"0":5,"é":6}"#;
        check(document, "/a/0", Number, 1);
        check(document, "/a/0", Text, Value::Null);
        check(document, "/a/1", Text, "x");
        check(document, "/a/2", Boolean, true);
        check(document, "/a/2", Number, Value::Null);
        check(document, "/a/3", Any, Value::Null);
        check(document, "/a/4/b", Number, 2.5);
        check(document, "/a/4", Any, true);
        check(document, "/a/4", Text, Value::Null);
        check(document, "/a", Any, true);
        check(document, "", Any, true);
        check(document, "//", Number, 7);
        check(document, "/x~1y", Number, 1);
        check(document, "/~0", Number, 2);
        check(document, "/~01", Number, 3);
        check(document, "/k\"1.a", Number, 4);
        check(document, "/0", Number, 5);
        check(document, "/é", Number, 6);
        for nothing in
            ["/a/5", "/a/00", "/a/-1", "/a/-", "/a/+1", "/a/ 1", "/a/0/0", "/b", "/a/18446744073709551616"]
        {
            check(document, nothing, Any, Value::Null);
        }
        check("\"x\"", "", Text, "x");
        check("null", "", Any, Value::Null);
    }

    #[test]
    fn numbers_are_integers_of_64_bits_or_doubles() {
        use JsonType::Number;
        check("9007199254740993", "", Number, 9_007_199_254_740_993i64);
        check("-9223372036854775808", "", Number, i64::MIN);
        check("18446744073709551615", "", Number, 18_446_744_073_709_551_615.0);
        check("1e2", "", Number, 100.0);
        check("1e400", "", Number, Value::Null);
        check("[1e400,1]", "/1", Number, 1);
    }

    #[test]
    fn what_is_not_json_contains_nothing() {
        let broken = [
            "{broken",
            "",
            "[1",
            "[1] 2",
            "[1,]",
            "{\"0\":1,}",
            "[NaN]",
            "[1]//",
            r#"[1,"\u0000"]"#,
            r#"[1,"\ud800"]"#,
            r#"[1,"\\\u0000"]"#,
            r#"[1,{"a":"\u0000","a":1}]"#,
        ];
        for document in broken {
            check(document, "/0", JsonType::Any, Value::Null);
        }
        check(r#"[1,"\ud83d\ude00"]"#, "/1", JsonType::Text, "😀");
        check(r#"[1,"\\u0000"]"#, "/0", JsonType::Number, 1);
        let bytes = JsonPointer::new("").find(ValueRef::Bytes(b"1"), JsonType::Any);
        assert_eq!(bytes, Value::Null);
        let text = JsonPointer::new("/0").find(ValueRef::Text(b"[1,\"\xff\"]"), JsonType::Text);
        assert_eq!(text, Value::Null);
    }

    #[test]
    fn arrays_are_searched_for_values_of_one_type() {
        use JsonType::{Boolean, Number, Text};
        let document =
            br#"{"a":["x",1.0,9007199254740993,true,null,["y"],{"b":"y"},18446744073709551615],"b":"x"}"#;
        let has = |at: &str, ty, values: &[Value]| {
            [false, true].map(|all| JsonPointer::new(at).has(ValueRef::Text(document), ty, values, all))
        };
        let (yes, no) = (Some(true), Some(false));
        assert_eq!(has("/a", Text, &["x".into()]), [yes, yes]);
        assert_eq!(has("/a", Text, &["y".into(), "x".into()]), [yes, no]);
        assert_eq!(has("/a", Text, &["1.0".into()]), [no, no]);
        assert_eq!(has("/a", Number, &[1.into(), 9_007_199_254_740_993_i64.into()]), [yes, yes]);
        assert_eq!(has("/a", Number, &[9_007_199_254_740_992_f64.into(), 1.5.into()]), [no, no]);
        assert_eq!(has("/a", Number, &[18_446_744_073_709_551_615_f64.into()]), [yes, yes]);
        assert_eq!(has("/a", Boolean, &[1.into()]), [yes, yes]);
        assert_eq!(has("/a", Boolean, &[false.into()]), [no, no]);
        for at in ["", "/b", "/c", "/a/6"] {
            assert_eq!(has(at, Text, &["x".into()]), [None, None]);
        }
        assert_eq!(JsonPointer::new("").has(ValueRef::Integer(1), Number, &[1.into()], false), None);
        assert_eq!(JsonPointer::new("/a/5").part(document), Some(r#"["y"]"#));
        assert_eq!(JsonPointer::new("/a/9").part(document), None);
    }

    #[test]
    fn the_last_of_equal_keys_counts() {
        check(r#"{"a":{"b":1},"a":{"c":2}}"#, "/a/b", JsonType::Any, Value::Null);
        check(r#"{"a":1,"a":2}"#, "/a", JsonType::Number, 2);
    }

    #[test]
    fn stored_numbers_and_truth_values_are_documents() {
        let of = |value, ty| JsonPointer::new("").find(value, ty);
        assert_eq!(of(ValueRef::Real(1.5), JsonType::Number), 1.5.into());
        assert_eq!(of(ValueRef::Integer(1), JsonType::Boolean), Value::Null);
        assert_eq!(of(ValueRef::Boolean(true), JsonType::Boolean), true.into());
        assert_eq!(of(ValueRef::Real(f64::INFINITY), JsonType::Any), Value::Null);
        assert_eq!(JsonPointer::new("/a").find(ValueRef::Integer(1), JsonType::Any), Value::Null);
    }
}
