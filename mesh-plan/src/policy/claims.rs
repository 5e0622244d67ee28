//! The claims of a session.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use mesh_ql::Literal;
use serde_json::Value as Json;

use crate::planner::literal::is_exact;

/// Values that the issuer of a session has attested, by name. Conditions of policies compare with them
/// ([`super::SessionValue`]). Cheap to clone. `Debug` shows no values.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Claims(Option<Arc<BTreeMap<Box<str>, ClaimValue>>>);

/// The value of a claim. `Debug` does not show it.
#[derive(Clone, PartialEq)]
pub enum ClaimValue {
    /// Text, a number or a boolean.
    One(Literal),
    /// A list of scalars, which may be empty.
    Many(Vec<Literal>),
}

impl Claims {
    /// Creates an empty set of claims.
    pub const fn new() -> Self {
        Self(None)
    }

    /// Returns the value of a claim.
    pub fn get(&self, name: &str) -> Option<&ClaimValue> {
        self.0.as_deref()?.get(name)
    }

    /// Adds a claim, or replaces the claim of that name.
    pub fn insert(&mut self, name: impl Into<Box<str>>, value: impl Into<ClaimValue>) {
        Arc::make_mut(self.0.get_or_insert_default()).insert(name.into(), value.into());
    }

    /// Returns the claims in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ClaimValue)> {
        self.0.iter().flat_map(|claims| claims.iter().map(|(name, value)| (&**name, value)))
    }

    /// Returns whether there are no claims.
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|claims| claims.is_empty())
    }
}

impl<N: Into<Box<str>>, V: Into<ClaimValue>> FromIterator<(N, V)> for Claims {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(claims: I) -> Self {
        let mut collected = Self::new();
        claims.into_iter().for_each(|(name, value)| collected.insert(name, value));
        collected
    }
}

impl fmt::Debug for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|(name, _)| name)).finish()
    }
}

impl ClaimValue {
    /// Returns the value of a JSON scalar or of a list of scalars; `None` for `null`, objects and lists of them, and for numbers
    /// that may have been rounded: they have a fraction or more than 64 bits, and are 2^53 or more. Such ids have to be texts.
    pub fn from_json(json: &Json) -> Option<Self> {
        match json {
            Json::Array(items) => items.iter().map(literal).collect::<Option<_>>().map(Self::Many),
            scalar => literal(scalar).map(Self::One),
        }
    }

    /// Returns the values of a list, or the value as a list of one.
    pub fn as_list(&self) -> &[Literal] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Many(values) => values,
        }
    }
}

fn literal(json: &Json) -> Option<Literal> {
    Some(match json {
        Json::Bool(value) => Literal::Boolean(*value),
        Json::String(text) => Literal::Text(text.clone()),
        Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(integer), ..) => Literal::Integer(integer),
            (None, Some(integer), _) => Literal::Text(integer.to_string()),
            (None, None, Some(number)) if is_exact(number) => Literal::Number(number),
            _ => return None,
        },
        Json::Null | Json::Array(_) | Json::Object(_) => return None,
    })
}

/// Numbers are finite, so equality is reflexive.
impl Eq for ClaimValue {}

impl Hash for ClaimValue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for value in self.as_list() {
            match value {
                Literal::Boolean(value) => value.hash(state),
                Literal::Integer(value) => value.hash(state),
                Literal::Unsigned(value) => value.hash(state),
                Literal::Text(value) => value.hash(state),
                // Equal numbers can have different bits.
                Literal::Number(_) => {}
            }
        }
    }
}

impl fmt::Debug for ClaimValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::One(_) => "a value",
            Self::Many(_) => "a list",
        })
    }
}

impl From<Literal> for ClaimValue {
    fn from(value: Literal) -> Self {
        Self::One(value)
    }
}

impl From<&str> for ClaimValue {
    fn from(value: &str) -> Self {
        Self::One(Literal::Text(value.to_owned()))
    }
}

impl From<i64> for ClaimValue {
    fn from(value: i64) -> Self {
        Self::One(Literal::Integer(value))
    }
}

impl From<bool> for ClaimValue {
    fn from(value: bool) -> Self {
        Self::One(Literal::Boolean(value))
    }
}

impl From<Vec<Literal>> for ClaimValue {
    fn from(values: Vec<Literal>) -> Self {
        Self::Many(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Principal;

    #[test]
    fn debug_shows_the_names_of_claims_without_their_values() {
        let principal = Principal::new("1", "s").with_claim("teamIds", vec![Literal::Integer(4711)]);
        let text = format!("{principal:?} {:?}", principal.claims.get("teamIds"));
        assert!(text.contains("teamIds") && !text.contains("4711"), "{text}");
    }

    #[test]
    fn numbers_that_may_have_been_rounded_are_no_claims() {
        let claim = |json: &str| ClaimValue::from_json(&serde_json::from_str(json).unwrap());
        assert_eq!(claim("9007199254740993"), Some(Literal::Integer(9_007_199_254_740_993).into()));
        assert_eq!(claim("18446744073709551615"), Some("18446744073709551615".into()));
        assert_eq!(claim("7.0"), Some(Literal::Number(7.0).into()));
        for rounded in
            ["9007199254740993.0", "[1, 9007199254740993.0]", "-9007199254740993e0", "18446744073709551617"]
        {
            assert_eq!(claim(rounded), None, "{rounded}");
        }
    }

    #[test]
    fn a_scalar_is_a_list_of_one() {
        let claims: Claims = [("team", 1), ("team", 2)].into_iter().collect();
        assert_eq!(claims.get("team").map(ClaimValue::as_list), Some(&[Literal::Integer(2)][..]));
        assert_eq!(claims.iter().count(), 1);
        assert!(claims.get("other").is_none() && !claims.is_empty() && Claims::new().is_empty());
    }
}
