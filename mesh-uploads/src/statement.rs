//! The signed statement of an upload: the field that the file is for, and its hash.

use std::fmt;

use serde_json::{Map, Value};

use crate::content_hash::ContentHash;
use crate::json;

/// The signed text of an upload, read: `{"<entity>": {"<field>": {"upload": true}}, "contentHash":
/// "sha256:<64 hex digits>"}`. For a new record of an entity with one field for files, the field can be left
/// out: `{"<entity>": {"upload": true}}` or `{"<entity>": {}}`. `SPEC §9.1`, `SPEC §9.3`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The entity whose record gets the file.
    pub entity: String,
    /// The field that takes it, where it is stated.
    pub field: Option<String>,
    /// The hash of the file, where one is stated.
    pub hash: Option<ContentHash>,
}

impl Statement {
    /// Reads a statement. Anything besides the form above is refused, also a name given twice.
    pub fn parse(text: &str) -> Result<Self, StatementError> {
        let value = json::read(text.as_bytes()).map_err(|error| StatementError::syntax(&error))?;
        let Value::Object(root) = value else { return Err(StatementError::Form) };
        let (mut upload, mut hash) = (None, None);
        for (name, value) in root {
            match (name.as_str(), value) {
                (HASH, Value::String(text)) => {
                    hash = Some(ContentHash::parse(&text).ok_or(StatementError::Hash)?);
                }
                (HASH, _) => return Err(StatementError::Hash),
                (_, value) if upload.is_none() => upload = Some((name, value)),
                _ => return Err(StatementError::Form),
            }
        }
        let (entity, value) = upload.ok_or(StatementError::Form)?;
        let field = field_of(value).ok_or(StatementError::Form)?;
        Ok(Self { entity, field, hash })
    }

    /// Checks that the statement is of that entity and, where the path names one, of that field. Without
    /// this a statement signed for one field could be sent to another.
    pub fn check(&self, entity: &str, field: Option<&str>) -> Result<(), StatementError> {
        if self.entity != entity {
            let (stated, asked) = (self.entity.clone(), entity.to_owned());
            return Err(StatementError::OtherEntity { stated, asked });
        }
        match (field, &self.field) {
            (Some(asked), Some(stated)) if asked != stated => {
                Err(StatementError::OtherField { stated: stated.clone(), asked: asked.to_owned() })
            }
            (Some(asked), None) => Err(StatementError::NoField { asked: asked.to_owned() }),
            _ => Ok(()),
        }
    }
}

/// The text that a client encodes and signs.
impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entity = Value::from(self.entity.as_str());
        match self.field.as_deref().map(Value::from) {
            Some(field) => write!(f, "{{{entity}:{{{field}:{{\"upload\":true}}}}")?,
            None => write!(f, "{{{entity}:{{\"upload\":true}}")?,
        }
        if let Some(hash) = self.hash {
            write!(f, ",\"{HASH}\":\"{hash}\"")?;
        }
        f.write_str("}")
    }
}

const HASH: &str = "contentHash";

/// The field of a statement, or `Some(None)` where it is left out.
fn field_of(value: Value) -> Option<Option<String>> {
    let is_upload = |name: &str, value: &Value| name == "upload" && *value == Value::Bool(true);
    if value.as_object().is_some_and(Map::is_empty) {
        return Some(None);
    }
    let (field, value) = only(value)?;
    if is_upload(&field, &value) {
        return Some(None);
    }
    let (name, value) = only(value)?;
    is_upload(&name, &value).then_some(Some(field))
}

/// The one member of an object.
fn only(value: Value) -> Option<(String, Value)> {
    let Value::Object(map) = value else { return None };
    let mut members = map.into_iter();
    members.next().filter(|_| members.next().is_none())
}

/// Why a statement is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StatementError {
    /// It is not JSON, or gives a name twice.
    Syntax {
        /// What is wrong with it.
        message: String,
        /// Line, from 1.
        line: u32,
        /// Column, from 1.
        column: u32,
    },
    /// It is not of the form of a statement.
    Form,
    /// The hash is not of its form.
    Hash,
    /// It speaks of another entity than the path.
    OtherEntity {
        /// The entity of the statement.
        stated: String,
        /// The entity of the path.
        asked: String,
    },
    /// It speaks of no field, and the path does.
    NoField {
        /// The field of the path.
        asked: String,
    },
    /// It speaks of another field than the path.
    OtherField {
        /// The field of the statement.
        stated: String,
        /// The field of the path.
        asked: String,
    },
}

impl StatementError {
    fn syntax(error: &serde_json::Error) -> Self {
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let text = error.to_string();
        // serde_json appends the place, which has fields of its own here.
        let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
        Self::Syntax {
            message: message.to_owned(),
            line: number(error.line()),
            column: number(error.column()),
        }
    }
}

impl fmt::Display for StatementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { message, .. } => write!(f, "The upload statement is not JSON: {message}"),
            Self::Form => f.write_str(
                "The upload statement must have the form {\"<entity>\": {\"<field>\": {\"upload\": true}}, \
                 \"contentHash\": \"sha256:<64 hex digits>\"}",
            ),
            Self::Hash => f.write_str("'contentHash' must be 'sha256:' and 64 hex digits"),
            Self::OtherEntity { stated, asked } => {
                write!(f, "The upload statement is of entity '{stated}', the path of '{asked}'")
            }
            Self::NoField { asked } => {
                write!(f, "The upload statement names no field, the path names '{asked}'")
            }
            Self::OtherField { stated, asked } => {
                write!(f, "The upload statement is of field '{stated}', the path of '{asked}'")
            }
        }
    }
}

impl std::error::Error for StatementError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash() -> ContentHash {
        ContentHash::digest(b"")
    }

    #[test]
    fn both_orders_and_no_hash() {
        let hash_text = hash().to_string();
        for text in [
            format!(r#"{{"user":{{"avatar":{{"upload":true}}}},"contentHash":"{hash_text}"}}"#),
            format!(r#"{{"contentHash":"{hash_text}","user":{{"avatar":{{"upload":true}}}}}}"#),
        ] {
            let statement = Statement::parse(&text).unwrap();
            assert_eq!((statement.entity.as_str(), statement.field.as_deref()), ("user", Some("avatar")));
            assert_eq!(statement.hash, Some(hash()));
        }
        let bare = Statement::parse(r#"{"user":{"avatar":{"upload":true}}}"#).unwrap();
        assert_eq!(bare.hash, None);
        let short = Statement::parse(r#"{"user":{"upload":true}}"#).unwrap();
        assert_eq!((short.entity.as_str(), short.field.as_deref()), ("user", None));
        assert_eq!(Statement::parse(r#"{"user":{}}"#), Ok(short));
        let odd = Statement::parse(r#"{"user":{"upload":{"upload":true}}}"#).unwrap();
        assert_eq!(odd.field.as_deref(), Some("upload"));
    }

    #[test]
    fn what_is_printed_is_read() {
        for (hash, field) in [(None, None), (Some(hash()), Some("c\\d".to_owned()))] {
            let statement = Statement { entity: "a\"b".to_owned(), field, hash };
            assert_eq!(Statement::parse(&statement.to_string()), Ok(statement));
        }
    }

    #[test]
    fn every_other_form_is_refused() {
        for text in [
            "[]",
            "{}",
            r#"{"contentHash":"x"}"#,
            r#"{"user":true}"#,
            r#"{"user":{"avatar":true}}"#,
            r#"{"user":{"avatar":{"upload":1}}}"#,
            r#"{"user":{"avatar":{"upload":false}}}"#,
            r#"{"user":{"avatar":{"upload":true,"x":1}}}"#,
            r#"{"user":{"avatar":{"upload":true},"banner":{"upload":true}}}"#,
            r#"{"user":{"avatar":{"upload":true}},"post":{"image":{"upload":true}}}"#,
            r#"{"user":{"avatar":{"upload":true}},"contentHash":null}"#,
            r#"{"user":{"avatar":{"upload":true}},"contentHash":"sha256:12"}"#,
            r#"{"user":{"avatar":{"upload":true}},"user":{"avatar":{"upload":true}}}"#,
            r#"{"user":{"avatar":{"upload":true}}} x"#,
            "{user avatar}",
        ] {
            assert!(Statement::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn syntax_errors_carry_their_place_once() {
        let error = Statement::parse("{\n  nope}").unwrap_err();
        assert!(matches!(error, StatementError::Syntax { line: 2, column: 3, .. }), "{error:?}");
        assert!(!error.to_string().contains("line"), "{error}");
    }

    #[test]
    fn a_statement_holds_for_its_own_path_only() {
        let field = Some("avatar".to_owned());
        let statement = Statement { entity: "user".to_owned(), field, hash: None };
        assert_eq!(statement.check("user", Some("avatar")), Ok(()));
        assert_eq!(statement.check("user", None), Ok(()));
        let other = statement.check("post", Some("avatar")).unwrap_err();
        assert_eq!(other.to_string(), "The upload statement is of entity 'user', the path of 'post'");
        assert!(statement.check("user", Some("banner")).is_err());
        let short = Statement { field: None, ..statement };
        assert_eq!(short.check("user", None), Ok(()));
        assert!(short.check("user", Some("avatar")).is_err());
    }
}
