//! How is `$aggregate` read?

use serde::de::{Error, MapAccess};

use crate::json::controls::{Flag, Text, Word};
use crate::json::value::{Context, Key, Object, Read};
use crate::query::{Aggregate, AggregateFn};
use crate::suggest::unknown;

/// `$aggregate`: aliases and what they stand for, with the place of each alias. `SPEC §3.8`
pub(super) struct Aggregates<'a, 'de> {
    pub(super) context: Context<'a, 'de>,
}

impl<'de> Read<'de> for Aggregates<'_, 'de> {
    type Out = (Vec<Aggregate>, Vec<Option<usize>>);

    fn context(&self) -> Context<'_, 'de> {
        self.context
    }

    fn wanted(&self) -> String {
        "'$aggregate' must be an object of aliases".to_owned()
    }

    fn object<A: MapAccess<'de>>(self, map: A) -> Result<Self::Out, A::Error> {
        let context = self.context;
        let bound = context.limits().aggregates;
        let mut object = Object::new(context, map);
        let (mut aggregates, mut places) = (Vec::new(), Vec::new());
        while let Some(alias) = object.next()? {
            if aggregates.len() >= bound {
                let message = format!("'$aggregate' has more entries than the bound `aggregates` ({bound})");
                return Err(context.refuse(alias.at, message));
            }
            if !is_alias(&alias.name) {
                let message = format!(
                    "Alias {} is malformed; write a letter or '_', then up to 63 letters, digits or '_'",
                    alias.quoted()
                );
                return Err(context.refuse(alias.at, message));
            }
            places.push(alias.at);
            aggregates.push(object.value(Definition { context, alias })?);
        }
        if aggregates.is_empty() {
            return Err(context.refuse(None, "'$aggregate' is empty; leave it out instead"));
        }
        Ok((aggregates, places))
    }
}

/// `[A-Za-z_][A-Za-z0-9_]{0,63}`.
fn is_alias(name: &str) -> bool {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts && name.len() <= 64 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// What an alias stands for: `{fn, field?, distinct?}`.
struct Definition<'a, 'de> {
    context: Context<'a, 'de>,
    alias: Key<'de>,
}

impl<'de> Definition<'_, 'de> {
    /// The field that the function is applied to; `"*"` and none are the same, and for `count` alone.
    fn field<E: Error>(
        &self,
        function: AggregateFn,
        field: Option<(String, Option<usize>)>,
        start: Option<usize>,
    ) -> Result<Option<String>, E> {
        let name = function.name();
        match field {
            Some((field, _)) if field != "*" => Ok(Some(field)),
            _ if function == AggregateFn::Count => Ok(None),
            Some((_, at)) => Err(self
                .context
                .refuse(at, format!("Function '{name}' needs a field; '*' is for 'count' alone"))),
            None => {
                let message = format!("Function '{name}' of alias {} needs 'field'", self.alias.quoted());
                Err(self.context.refuse(start, message))
            }
        }
    }
}

impl<'de> Read<'de> for Definition<'_, 'de> {
    type Out = Aggregate;

    fn context(&self) -> Context<'_, 'de> {
        self.context
    }

    fn wanted(&self) -> String {
        format!("The value of alias {} must be an object {{fn, field}}", self.alias.quoted())
    }

    fn object<A: MapAccess<'de>>(self, map: A) -> Result<Aggregate, A::Error> {
        let context = self.context;
        let mut object = Object::new(context, map);
        let (mut function, mut field, mut distinct) = (None, None, None);
        while let Some(key) = object.next()? {
            match &*key.name {
                "fn" => {
                    let (all, name) = (&AggregateFn::ALL, AggregateFn::name);
                    function =
                        Some(object.value(Word { context, key: "fn", thing: "function", all, name })?);
                }
                "field" => field = Some((object.value(Text { context, key: "field" })?, key.value_at)),
                "distinct" => distinct = Some((object.value(Flag { context, key: "distinct" })?, key.at)),
                name => {
                    return Err(context.refuse(key.at, unknown("key", name, &["fn", "field", "distinct"])));
                }
            }
        }
        let Some(function) = function else {
            return Err(context.refuse(object.start(), format!("Alias {} needs 'fn'", self.alias.quoted())));
        };
        let field = self.field(function, field, object.start())?;
        let (distinct, at) = distinct.unwrap_or_default();
        if distinct && field.is_none() {
            return Err(context.refuse(at, "'distinct' needs a field whose values are to be told apart"));
        }
        Ok(Aggregate { alias: self.alias.name.into_owned(), function, field, distinct })
    }
}
