//! Declared parameters of registered queries. `SPEC §19.3`

use std::collections::BTreeMap;
use std::fmt;

use mesh_ql::{Literal, ParamValue, ParamValues};
use mesh_schema::{FieldType, UnknownName};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::PlanErrorKind;
use crate::planner::literal;
use crate::{Fields, PlanError};

/// The declared parameters of a query, by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct ParamDeclarations(BTreeMap<String, Declaration>);

/// The type of a parameter, and the value that is used if a request has none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Declaration {
    #[serde(rename = "type", serialize_with = "serialize_type", deserialize_with = "deserialize_type")]
    ty: FieldType,
    #[serde(default, deserialize_with = "deserialize_present", skip_serializing_if = "Option::is_none")]
    default: Option<ParamValue>,
}

fn serialize_type<S: Serializer>(ty: &FieldType, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(ty.as_str())
}

fn deserialize_type<'de, D: Deserializer<'de>>(deserializer: D) -> Result<FieldType, D::Error> {
    let name = String::deserialize(deserializer)?;
    name.parse().map_err(|UnknownName { known }| {
        D::Error::custom(format!("the type must be one of {}", known.join(", ")))
    })
}

/// Deserializes a value that is present, even if it is `null`.
fn deserialize_present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ParamValue>, D::Error> {
    ParamValue::deserialize(deserializer).map(Some)
}

impl ParamDeclarations {
    /// Parses a JSON object of declarations: `{name: {"type", "default"?}}`.
    ///
    /// # Errors
    /// A description of the fault.
    pub fn parse(text: &str) -> Result<Self, String> {
        let members = Fields::parse(text.as_bytes()).map_err(|error| error.to_string())?;
        let parsed = members.iter().map(|(name, text)| match serde_json::from_str(text) {
            Ok(declaration) => Ok((name.to_owned(), declaration)),
            Err(error) => Err(format!("'{name}': {error}")),
        });
        parsed.collect::<Result<_, _>>().map(Self)
    }

    /// Returns whether no parameter is declared.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the names of the declared parameters.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns the values of a request with the defaults of those that are missing. `SPEC §19.3`
    ///
    /// # Errors
    /// A value is not of the declared type.
    pub fn complete(&self, values: Option<&ParamValues>) -> Result<Option<ParamValues>, PlanError> {
        if self.is_empty() {
            return Ok(values.cloned());
        }
        let mut completed = values.cloned().unwrap_or_default();
        for (name, Declaration { ty, default }) in &self.0 {
            match (completed.get(name), default) {
                (Some(value), _) => check(name, *ty, value)?,
                (None, Some(default)) => {
                    check(name, *ty, default)?;
                    completed.insert(name.as_str(), default.clone());
                }
                (None, None) => {}
            }
        }
        Ok(Some(completed))
    }
}

/// The text of the object.
impl fmt::Display for ParamDeclarations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

/// Checks that a value, or each value of a list, is of a type. The use of the parameter determines whether it takes a value
/// or a list.
fn check(name: &str, ty: FieldType, value: &ParamValue) -> Result<(), PlanError> {
    let list = match value {
        ParamValue::Null | ParamValue::Other(_) => &[][..],
        ParamValue::One(literal) => std::slice::from_ref(literal),
        ParamValue::Many(list) => list,
    };
    list.iter().try_for_each(|literal| {
        let fits = match (ty, literal) {
            // A scalar in a document, or the text of bytes.
            (FieldType::Json, _) | (FieldType::Binary, Literal::Text(_)) => true,
            (ty, literal) => literal::value(Some(ty), None, literal).is_ok(),
        };
        if fits {
            return Ok(());
        }
        let (takes, found) = (format!("of type {ty}"), literal::describe(literal));
        let fault = Box::new(PlanErrorKind::ParameterValue { takes, found });
        Err(PlanError::new(PlanErrorKind::Parameter { name: name.to_owned(), fault }, ""))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_read_and_written() {
        let text = r#"{"n":{"type":"integer","default":2},"roles":{"type":"string","default":["a"]},"x":{"type":"date"}}"#;
        let parsed = ParamDeclarations::parse(text).unwrap();
        assert_eq!(parsed.to_string(), text);
        for text in [
            "[]",
            r#"{"n":"integer"}"#,
            r#"{"n":{}}"#,
            r#"{"n":{"type":"varchar"}}"#,
            r#"{"n":{"type":"integer","more":1}}"#,
            r#"{"n":{"type":"integer"},"n":{"type":"string"}}"#,
            r#"{"n":{"type":"integer","default":1,"default":2}}"#,
        ] {
            assert!(ParamDeclarations::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn defaults_are_added_and_values_are_checked() {
        let declared =
            ParamDeclarations::parse(r#"{"n":{"type":"integer","default":2},"s":{"type":"string"}}"#)
                .unwrap();
        let values = |text: &str| ParamValues::parse(text).unwrap();
        let complete = |text: &str| declared.complete(Some(&values(text)));
        assert_eq!(complete("{}"), Ok(Some(values(r#"{"n":2}"#))));
        assert_eq!(complete(r#"{"n":3,"s":"a","more":1}"#), Ok(Some(values(r#"{"n":3,"s":"a","more":1}"#))));
        assert_eq!(complete(r#"{"s":["a","b"]}"#), Ok(Some(values(r#"{"n":2,"s":["a","b"]}"#))));
        for text in [r#"{"n":"x"}"#, r#"{"n":1.5}"#, r#"{"s":1}"#, r#"{"s":["a",1]}"#] {
            let error = complete(text).unwrap_err().to_string();
            assert!(error.contains("must be of type"), "{error}");
        }
    }
}
