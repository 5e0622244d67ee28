//! Claims: further values of an identity, which conditions of policies may use.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

/// Claims by name: scalars and lists of scalars. Cheap to clone. `Debug` does not show their values.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SessionClaims(Option<Arc<Map<String, Value>>>);

impl SessionClaims {
    /// The maximum length of all claims as JSON text, in bytes. They are part of the session's token.
    pub const MAX_BYTES: usize = 4_096;

    /// Creates claims.
    ///
    /// # Errors
    /// [`ClaimsError`] if a value is neither a scalar nor a list of scalars, or if all together are too long.
    pub fn new(claims: Map<String, Value>) -> Result<Self, ClaimsError> {
        if claims.is_empty() {
            return Ok(Self::default());
        }
        if let Some((name, _)) = claims.iter().find(|(_, value)| !is_claim(value)) {
            return Err(ClaimsError::Value { name: name.clone() });
        }
        let claims = Self(Some(Arc::new(claims)));
        if claims.to_json().len() > Self::MAX_BYTES { Err(ClaimsError::TooLong) } else { Ok(claims) }
    }

    /// Iterates over names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().flat_map(|claims| claims.iter().map(|(name, value)| (name.as_str(), value)))
    }

    /// Returns whether there are no claims.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the JSON text of the claims, which is empty if there are none.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        self.0.as_deref().and_then(|claims| serde_json::to_vec(claims).ok()).unwrap_or_default()
    }

    /// Parses the text of [`SessionClaims::to_json`].
    pub(crate) fn from_json(text: &[u8]) -> Option<Self> {
        Self::new(serde_json::from_slice(text).ok()?).ok()
    }
}

fn is_claim(value: &Value) -> bool {
    let is_scalar = |value: &Value| matches!(value, Value::String(_) | Value::Number(_) | Value::Bool(_));
    match value {
        Value::Array(values) => values.iter().all(is_scalar),
        value => is_scalar(value),
    }
}

impl fmt::Debug for SessionClaims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|(name, _)| name)).finish()
    }
}

/// Claims that no session can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClaimsError {
    /// A value is neither a scalar nor a list of scalars.
    #[error("the claim '{name}' is neither text, a number, a boolean nor a list of them")]
    Value {
        /// The name of the claim.
        name: String,
    },
    /// All claims together are too long.
    #[error("the claims have more than {} bytes", SessionClaims::MAX_BYTES)]
    TooLong,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn claims(value: Value) -> Result<SessionClaims, ClaimsError> {
        SessionClaims::new(value.as_object().unwrap().clone())
    }

    #[test]
    fn claims_are_scalars_and_lists_of_scalars() {
        let all = json!({"teams": [1, "two", true], "plan": "gold", "seats": 2.5, "beta": false, "none": []});
        let parsed = claims(all.clone()).unwrap();
        assert_eq!(Value::Object(parsed.iter().map(|(n, v)| (n.to_owned(), v.clone())).collect()), all);
        for value in [json!(null), json!({"a": 1}), json!([[1]]), json!([null])] {
            assert_eq!(claims(json!({"x": value})), Err(ClaimsError::Value { name: "x".to_owned() }));
        }
        assert_eq!(claims(json!({"x": "y".repeat(SessionClaims::MAX_BYTES)})), Err(ClaimsError::TooLong));
        assert!(claims(json!({})).unwrap().is_empty());
    }

    #[test]
    fn debug_shows_names_without_values() {
        assert_eq!(format!("{:?}", claims(json!({"team": "secret"})).unwrap()), "{\"team\"}");
    }
}
