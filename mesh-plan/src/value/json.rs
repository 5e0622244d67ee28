//! Scalars in JSON documents, found by a JSON Pointer. `SPEC §14.8`

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{Value, ValueRef};

/// A JSON Pointer (RFC 6901).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JsonPointer {
    tokens: Vec<String>,
}

/// The type of the scalar that a condition compares. A scalar of another type counts as NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names explain each")]
pub enum JsonType {
    Text,
    Number,
    Boolean,
    /// Any value except `null`, including an object or an array. The condition only compares with NULL.
    Any,
}

impl JsonType {
    /// Returns the name in statements and in the text form of plans.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Any => "any",
        }
    }

    /// Finds a type by its name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Text, Self::Number, Self::Boolean, Self::Any].into_iter().find(|ty| ty.name() == name)
    }
}

impl JsonPointer {
    /// Parses the text of a pointer, which the query language has checked.
    pub fn new(text: &str) -> Self {
        let tokens = text.split('/').skip(1);
        Self { tokens: tokens.map(|token| token.replace("~1", "/").replace("~0", "~")).collect() }
    }

    /// Returns the keys and indexes that lead to the scalar.
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
    /// use mesh_plan::{JsonPointer, JsonType, Value, ValueRef};
    ///
    /// let document = ValueRef::Text(br#"{"tags": ["a", 1]}"#);
    /// assert_eq!(JsonPointer::new("/tags/0").find(document, JsonType::Text), "a".into());
    /// assert_eq!(JsonPointer::new("/tags/1").find(document, JsonType::Text), Value::Null);
    /// ```
    pub fn find(&self, document: ValueRef<'_>, ty: JsonType) -> Value {
        let seek = Seek { tokens: &self.tokens, ty };
        match document {
            ValueRef::Text(text) => {
                let text = std::str::from_utf8(text).ok();
                text.and_then(|text| seek.parse(text).ok()).unwrap_or_default()
            }
            _ if !self.tokens.is_empty() => Value::Null,
            ValueRef::Boolean(value) => seek.scalar(JsonType::Boolean, || Value::Boolean(value)),
            ValueRef::Integer(value) => seek.scalar(JsonType::Number, || Value::Integer(value)),
            ValueRef::Real(value) if value.is_finite() => {
                seek.scalar(JsonType::Number, || Value::Real(value))
            }
            ValueRef::Real(_) | ValueRef::Null | ValueRef::Bytes(_) => Value::Null,
        }
    }
}

impl fmt::Display for JsonPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tokens.iter().try_for_each(|token| write!(f, "/{}", token.replace('~', "~0").replace('/', "~1")))
    }
}

/// The search for the value at the end of a path. The recursion is bounded by serde_json.
#[derive(Clone, Copy)]
struct Seek<'p> {
    tokens: &'p [String],
    ty: JsonType,
}

impl Seek<'_> {
    fn parse(self, text: &str) -> serde_json::Result<Value> {
        // Only documents with escapes are accepted by some readers and refused by others.
        if memchr::memmem::find(text.as_bytes(), br"\u").is_some() {
            serde_json::from_str::<ReadableJson>(text)?;
        }
        let mut parser = serde_json::Deserializer::from_str(text);
        let found = self.deserialize(&mut parser)?;
        parser.end()?;
        Ok(found)
    }

    /// Returns a scalar if it is at the end of the path and has the wanted type.
    fn scalar(self, ty: JsonType, value: impl FnOnce() -> Value) -> Value {
        match self.ty {
            _ if !self.tokens.is_empty() => Value::Null,
            JsonType::Any => Value::Boolean(true),
            wanted if wanted == ty => value(),
            _ => Value::Null,
        }
    }

    /// Returns the value of an object or array at the end of the path.
    fn container(self) -> Value {
        if self.ty == JsonType::Any { Value::Boolean(true) } else { Value::Null }
    }
}

impl<'de> DeserializeSeed<'de> for Seek<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seek<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(self.scalar(JsonType::Boolean, || Value::Boolean(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(self.scalar(JsonType::Number, || Value::Integer(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        let number = || i64::try_from(value).map_or(Value::Real(value as f64), Value::Integer);
        Ok(self.scalar(JsonType::Number, number))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(self.scalar(JsonType::Number, || Value::Real(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(self.scalar(JsonType::Text, || Value::from(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let Some((token, tokens)) = self.tokens.split_first() else {
            while elements.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(self.container());
        };
        if let Some(index) = JsonPointer::index(token) {
            for _ in 0..index {
                if elements.next_element::<IgnoredAny>()?.is_none() {
                    return Ok(Value::Null);
                }
            }
            let found = elements.next_element_seed(Self { tokens, ..self })?;
            while elements.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(found.unwrap_or_default());
        }
        while elements.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Null)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let Some((token, tokens)) = self.tokens.split_first() else {
            while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(self.container());
        };
        let mut found = Value::Null;
        while let Some(is_wanted) = members.next_key_seed(KeyEquals(token))? {
            if is_wanted {
                found = members.next_value_seed(Self { tokens, ..self })?;
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Compares a key without copying it.
struct KeyEquals<'p>(&'p str);

impl<'de> DeserializeSeed<'de> for KeyEquals<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyEquals<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }
}

/// A document whose texts have no NUL and no half of a surrogate pair.
struct ReadableJson;

impl<'de> Deserialize<'de> for ReadableJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for ReadableJson {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self, E> {
        if text.contains('\0') { Err(E::custom("a text has the character NUL")) } else { Ok(self) }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self, A::Error> {
        while elements.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self, A::Error> {
        while let Some(is_nul) = members.next_key_seed(KeyHasNul)? {
            if is_nul {
                return Err(A::Error::custom("a key has the character NUL"));
            }
            members.next_value::<Self>()?;
        }
        Ok(self)
    }
}

/// Looks for the character NUL in a key.
struct KeyHasNul;

impl<'de> DeserializeSeed<'de> for KeyHasNul {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyHasNul {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<bool, E> {
        Ok(key.contains('\0'))
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
