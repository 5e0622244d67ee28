//! Texts that the encoding of a database cannot store. No record has them. They are treated like texts with the character NUL,
//! which no database stores.

use std::borrow::Cow;
use std::collections::BTreeSet;

use mesh_plan::plan::{Comparand, Search};
use mesh_plan::{Plan, Value};

/// The characters that the encoding of a database has: ASCII, and those in the set if there is one, else all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Charset(Option<BTreeSet<char>>);

impl FromIterator<char> for Charset {
    fn from_iter<I: IntoIterator<Item = char>>(chars: I) -> Self {
        Self(Some(chars.into_iter().collect()))
    }
}

impl Charset {
    /// Returns the part of a text before the first character that the database cannot store; `None` if it can store the text.
    fn storable_part<'t>(&self, text: &'t str) -> Option<&'t str> {
        let is_missing = |char: char| {
            char == '\0' || self.0.as_ref().is_some_and(|others| !char.is_ascii() && !others.contains(&char))
        };
        text.split_once(is_missing).map(|(before, _)| before)
    }

    /// Returns whether the database can store a text.
    pub(super) fn can_store(&self, text: &str) -> bool {
        self.storable_part(text).is_none()
    }

    /// Returns a value of a query. Text that the database cannot store ends with NUL.
    pub(super) fn known<'v>(&self, value: &'v Value) -> Cow<'v, Value> {
        match value {
            Value::Text(text) => match self.storable_part(text) {
                Some(before) => Cow::Owned(Value::Text(format!("{before}\0"))),
                None => Cow::Borrowed(value),
            },
            _ => Cow::Borrowed(value),
        }
    }

    /// Returns a search whose text has no character that the database cannot store.
    pub(super) fn known_search<'s>(&self, search: &'s Search) -> Cow<'s, Search> {
        let text = search.text.value().filter(|_| self.0.is_some());
        match text.and_then(|text| self.storable_part(text)) {
            Some(before) => {
                let mut known = search.clone();
                known.text = Comparand::Value(before.to_owned());
                Cow::Owned(known)
            }
            None => Cow::Borrowed(search),
        }
    }

    /// Returns a plan whose id, parameters and session have no value that the server's encoding lacks.
    pub fn known_plan<'p>(&self, plan: &'p Plan) -> Cow<'p, Plan> {
        match self.0 {
            Some(_) => Cow::Owned(plan.map_values(|value| self.known(value).into_owned())),
            None => Cow::Borrowed(plan),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_ends_where_the_encoding_has_no_character() {
        let charset: Charset = ['é'].into_iter().collect();
        assert!(charset.can_store("Orléans") && !charset.can_store("5 €"));
        assert_eq!(*charset.known(&"5 €".into()), "5 \0".into());
        assert!(Charset::default().can_store("Łódź") && !Charset::default().can_store("a\0"));
    }
}
