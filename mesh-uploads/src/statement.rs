//! The signed statement of an upload: the field that the file is for, and its hash.

use std::fmt;

use serde_json::{Map, Value};

use crate::content_hash::ContentHash;
use crate::content_type::ContentType;
use crate::error::StatementError;
use crate::json;
use crate::receive::StatedParts;

/// The parsed statement of an upload: `{"<entity>": {"<field>": {"upload": true}}, "contentHash":
/// "sha256:<64 hex digits>", "contentType": "<type>", "metaHash": "sha256:<64 hex digits>"}`. For a new record of an
/// entity with one file field, the field may be omitted: `{"<entity>": {"upload": true}}` or `{"<entity>": {}}`.
/// `SPEC §9.1`, `SPEC §9.3`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The entity of the record.
    pub entity: String,
    /// The field for the file, if stated.
    pub field: Option<String>,
    /// The hash of the file, if stated.
    pub hash: Option<ContentHash>,
    /// The content type of the file, if stated.
    pub content_type: Option<ContentType>,
    /// The hash of the part `meta`, if stated.
    pub meta_hash: Option<ContentHash>,
}

impl Statement {
    /// Parses a statement. Other forms and repeated names are refused.
    ///
    /// # Errors
    /// [`StatementError`] if the text is not a statement of this form.
    pub fn parse(text: &str) -> Result<Self, StatementError> {
        let value = json::parse(text.as_bytes()).map_err(|error| StatementError::syntax(&error))?;
        let Value::Object(root) = value else { return Err(StatementError::Form) };
        let (mut upload, mut hash, mut content_type, mut meta_hash) = (None, None, None, None);
        let parse_hash = |name, value: &Value| {
            value.as_str().and_then(ContentHash::parse).ok_or(StatementError::Hash { name })
        };
        for (name, value) in root {
            match (name.as_str(), value) {
                (HASH, value) => hash = Some(parse_hash(HASH, &value)?),
                // An object may be the upload of an entity with that name.
                (META_HASH, value) if !value.is_object() => meta_hash = Some(parse_hash(META_HASH, &value)?),
                (TYPE, value) if !value.is_object() => {
                    let parsed = value.as_str().and_then(ContentType::parse);
                    content_type = Some(parsed.ok_or(StatementError::ContentType)?);
                }
                (_, value) if upload.is_none() => upload = Some((name, value)),
                _ => return Err(StatementError::Form),
            }
        }
        let (entity, value) = upload.ok_or(StatementError::Form)?;
        let field = field_of(value).ok_or(StatementError::Form)?;
        Ok(Self { entity, field, hash, content_type, meta_hash })
    }

    /// Returns the stated properties of the parts of the form. `is_meta_hash_required` specifies whether the hash of a part
    /// `meta` must be stated.
    pub fn parts(&self, is_meta_hash_required: bool) -> StatedParts<'_> {
        StatedParts {
            hash: self.hash,
            content_type: self.content_type.as_ref(),
            meta_hash: self.meta_hash,
            is_meta_hash_required,
        }
    }

    /// Checks that the statement is for the entity and field of the path, so that a statement signed for one field cannot
    /// be used for another.
    ///
    /// # Errors
    /// [`StatementError`] if the statement names another entity or field, or if the path names a field and the statement does
    /// not.
    pub fn check(&self, entity: &str, field: Option<&str>) -> Result<(), StatementError> {
        if self.entity != entity {
            let (stated, expected) = (self.entity.clone(), entity.to_owned());
            return Err(StatementError::OtherEntity { stated, expected });
        }
        match (field, &self.field) {
            (Some(expected), Some(stated)) if expected != stated => {
                Err(StatementError::OtherField { stated: stated.clone(), expected: expected.to_owned() })
            }
            (Some(expected), None) => Err(StatementError::NoField { expected: expected.to_owned() }),
            _ => Ok(()),
        }
    }
}

/// Formats the text that clients encode and sign.
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
        if let Some(content_type) = &self.content_type {
            write!(f, ",\"{TYPE}\":\"{content_type}\"")?;
        }
        if let Some(hash) = self.meta_hash {
            write!(f, ",\"{META_HASH}\":\"{hash}\"")?;
        }
        f.write_str("}")
    }
}

const HASH: &str = "contentHash";
const META_HASH: &str = "metaHash";
const TYPE: &str = "contentType";

/// Parses the field of a statement; `Some(None)` if it is omitted.
fn field_of(value: Value) -> Option<Option<String>> {
    let is_upload = |name: &str, value: &Value| name == "upload" && *value == Value::Bool(true);
    if value.as_object().is_some_and(Map::is_empty) {
        return Some(None);
    }
    let (field, value) = only_member(value)?;
    if is_upload(&field, &value) {
        return Some(None);
    }
    let (name, value) = only_member(value)?;
    is_upload(&name, &value).then_some(Some(field))
}

/// Returns the only member of an object.
fn only_member(value: Value) -> Option<(String, Value)> {
    let Value::Object(map) = value else { return None };
    let mut members = map.into_iter();
    members.next().filter(|_| members.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash() -> ContentHash {
        ContentHash::digest(b"")
    }

    #[test]
    fn all_forms_of_statements_are_parsed() {
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
        assert_eq!((bare.hash, bare.content_type, bare.meta_hash), (None, None, None));
        let whole = format!(
            r#"{{"user":{{"avatar":{{"upload":true}}}},"contentType":"Image/PNG; q=1","metaHash":"{hash_text}"}}"#
        );
        let whole = Statement::parse(&whole).unwrap();
        assert_eq!(whole.content_type.map(|it| it.to_string()).as_deref(), Some("image/png"));
        assert_eq!((whole.hash, whole.meta_hash), (None, Some(hash())));
        for entity in ["contentType", "metaHash"] {
            let named = Statement::parse(&format!(r#"{{"{entity}":{{"icon":{{"upload":true}}}}}}"#)).unwrap();
            assert_eq!((named.entity.as_str(), named.field.as_deref()), (entity, Some("icon")));
        }
        let short = Statement::parse(r#"{"user":{"upload":true}}"#).unwrap();
        assert_eq!((short.entity.as_str(), short.field.as_deref()), ("user", None));
        assert_eq!(Statement::parse(r#"{"user":{}}"#), Ok(short));
        let odd = Statement::parse(r#"{"user":{"upload":{"upload":true}}}"#).unwrap();
        assert_eq!(odd.field.as_deref(), Some("upload"));
    }

    #[test]
    fn displayed_statements_parse_to_themselves() {
        for (hash, field) in [(None, None), (Some(hash()), Some("c\\d".to_owned()))] {
            let content_type = hash.map(|_| ContentType::unknown());
            let entity = "a\"b".to_owned();
            let statement = Statement { entity, field, hash, content_type, meta_hash: hash };
            assert_eq!(Statement::parse(&statement.to_string()), Ok(statement));
        }
    }

    #[test]
    fn other_forms_are_refused() {
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
            r#"{"user":{"avatar":{"upload":true}},"metaHash":null}"#,
            r#"{"user":{"avatar":{"upload":true}},"metaHash":"sha256:12"}"#,
            r#"{"user":{"avatar":{"upload":true}},"contentType":null}"#,
            r#"{"user":{"avatar":{"upload":true}},"contentType":"png"}"#,
            r#"{"user":{"avatar":{"upload":true}},"contentType":{}}"#,
            r#"{"user":{"avatar":{"upload":true}},"title":"x"}"#,
            r#"{"user":{"avatar":{"upload":true}},"user":{"avatar":{"upload":true}}}"#,
            r#"{"user":{"avatar":{"upload":true}}} x"#,
            "{user avatar}",
        ] {
            assert!(Statement::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn syntax_errors_have_a_position_outside_their_message() {
        let error = Statement::parse("{\n  nope}").unwrap_err();
        assert!(matches!(error, StatementError::Syntax { line: 2, column: 3, .. }), "{error:?}");
        assert!(!error.to_string().contains("line"), "{error}");
    }

    #[test]
    fn a_statement_is_valid_for_its_path_only() {
        let field = Some("avatar".to_owned());
        let statement =
            Statement { entity: "user".to_owned(), field, hash: None, content_type: None, meta_hash: None };
        assert_eq!(statement.check("user", Some("avatar")), Ok(()));
        assert_eq!(statement.check("user", None), Ok(()));
        let other = statement.check("post", Some("avatar")).unwrap_err();
        assert_eq!(other.to_string(), "The upload statement is for entity 'user', but the path names 'post'");
        assert!(statement.check("user", Some("banner")).is_err());
        let short = Statement { field: None, ..statement };
        assert_eq!(short.check("user", None), Ok(()));
        assert!(short.check("user", Some("avatar")).is_err());
    }
}
