//! How are `$orderBy`, `$page`, `$distinct` and `$groupBy` read, and the small values that all controls share?

use serde::de::{Error, MapAccess, SeqAccess};

use crate::error::Quoted;
use crate::json::value::{Context, Object, Read, Scalar, Seed};
use crate::query::{Direction, Nulls, OrderBy, Page, Subject};
use crate::suggest::unknown;

/// A string, whatever it says.
pub(super) struct Text<'a, 'de> {
    pub(super) context: Context<'a, 'de>,
    pub(super) key: &'static str,
}

impl<'de> Read<'de> for Text<'_, 'de> {
    type Out = String;

    fn context(&self) -> Context<'_, 'de> {
        self.context
    }

    fn wanted(&self) -> String {
        format!("'{}' must be a string", self.key)
    }

    fn scalar<E: Error>(self, scalar: Scalar<'de>) -> Result<String, E> {
        match scalar {
            Scalar::Text(text) => Ok(text.into_owned()),
            other => Err(self.mismatch(other.kind())),
        }
    }
}

/// `true` or `false`.
pub(super) struct Flag<'a, 'de> {
    pub(super) context: Context<'a, 'de>,
    pub(super) key: &'static str,
}

impl<'de> Read<'de> for Flag<'_, 'de> {
    type Out = bool;

    fn context(&self) -> Context<'_, 'de> {
        self.context
    }

    fn wanted(&self) -> String {
        format!("'{}' must be true or false", self.key)
    }

    fn scalar<E: Error>(self, scalar: Scalar<'de>) -> Result<bool, E> {
        match scalar {
            Scalar::Boolean(flag) => Ok(flag),
            other => Err(self.mismatch(other.kind())),
        }
    }
}

/// One of a fixed set of words.
pub(super) struct Word<'a, 'de, T: 'static> {
    pub(super) context: Context<'a, 'de>,
    pub(super) key: &'static str,
    /// What messages call such a word.
    pub(super) thing: &'static str,
    pub(super) all: &'static [T],
    pub(super) name: fn(T) -> &'static str,
}

impl<'de, T: Copy> Read<'de> for Word<'_, 'de, T> {
    type Out = T;

    fn context(&self) -> Context<'_, 'de> {
        self.context
    }

    fn wanted(&self) -> String {
        format!("'{}' must be a string", self.key)
    }

    fn scalar<E: Error>(self, scalar: Scalar<'de>) -> Result<T, E> {
        let Scalar::Text(word) = scalar else { return Err(self.mismatch(scalar.kind())) };
        let known = self.all.iter().find(|choice| (self.name)(**choice) == word);
        known.copied().ok_or_else(|| {
            let names: Vec<&str> = self.all.iter().map(|choice| (self.name)(*choice)).collect();
            self.context.refuse(None, unknown(self.thing, &word, &names))
        })
    }
}

/// `$distinct`, `$groupBy`: field names, at least one, each once. `SPEC §3.8`
pub(super) struct FieldList<'a, 'de> {
    pub(super) context: Context<'a, 'de>,
    pub(super) control: &'static str,
}

impl<'de> Read<'de> for FieldList<'_, 'de> {
    type Out = Vec<String>;

    fn context(&self) -> Context<'_, 'de> {
        self.context
    }

    fn wanted(&self) -> String {
        format!("'{}' must be an array of field names", self.control)
    }

    fn array<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Out, A::Error> {
        let Self { context, control } = self;
        let mut names = Vec::new();
        while let Some(name) = seq.next_element_seed(Seed(ListedField { context, control, names: &names }))? {
            names.push(name);
        }
        if names.is_empty() {
            return Err(context.refuse(None, format!("'{control}' is empty; leave it out instead")));
        }
        Ok(names)
    }
}

/// One field of a [`FieldList`].
struct ListedField<'a, 'de> {
    context: Context<'a, 'de>,
    control: &'static str,
    /// Those before it.
    names: &'a [String],
}

impl<'de> Read<'de> for ListedField<'_, 'de> {
    type Out = String;

    fn context(&self) -> Context<'_, 'de> {
        self.context
    }

    fn wanted(&self) -> String {
        format!("'{}' must list field names", self.control)
    }

    fn scalar<E: Error>(self, scalar: Scalar<'de>) -> Result<String, E> {
        let Scalar::Text(name) = scalar else { return Err(self.mismatch(scalar.kind())) };
        check_key_count(self.context, self.control, self.names.len(), None)?;
        if self.names.iter().any(|other| *other == name) {
            let message = format!("'{}' names field {} twice", self.control, Quoted(&name));
            return Err(self.context.refuse(None, message));
        }
        Ok(name.into_owned())
    }
}

/// Refuses one more field in a list that already has as many as the bound allows. `SPEC §3.11`
fn check_key_count<E: Error>(
    context: Context<'_, '_>,
    control: &str,
    count: usize,
    at: Option<usize>,
) -> Result<(), E> {
    let bound = context.limits().group_keys;
    if count < bound {
        return Ok(());
    }
    Err(context.refuse(at, format!("'{control}' has more entries than the bound `group_keys` ({bound})")))
}

/// `$orderBy`; an empty one is none.
pub(super) struct Order<'a, 'de> {
    pub(super) context: Context<'a, 'de>,
}

impl<'de> Read<'de> for Order<'_, 'de> {
    type Out = Vec<OrderBy>;

    fn context(&self) -> Context<'_, 'de> {
        self.context
    }

    fn wanted(&self) -> String {
        "'$orderBy' must be an array of {field, direction}".to_owned()
    }

    fn array<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Out, A::Error> {
        let context = self.context;
        let mut order = Vec::new();
        while let Some(key) = seq.next_element_seed(Seed(OrderKey { context, order: &order }))? {
            order.push(key);
        }
        Ok(order)
    }
}

/// One entry of `$orderBy`.
struct OrderKey<'a, 'de> {
    context: Context<'a, 'de>,
    /// Those before it.
    order: &'a [OrderBy],
}

impl<'de> OrderKey<'_, 'de> {
    /// The field or alias that an entry names, which must be its only one and new to the list.
    fn check_subject<E: Error>(
        &self,
        old: Option<&Subject>,
        new: &Subject,
        at: Option<usize>,
    ) -> Result<(), E> {
        if old.is_some() {
            let message = "An entry of '$orderBy' has either 'field' or 'aggregate', not both";
            return Err(self.context.refuse(at, message));
        }
        if self.order.iter().any(|key| key.subject == *new) {
            let thing = match new {
                Subject::Field(_) => "field",
                Subject::Aggregate(_) => "aggregate",
            };
            let message = format!("'$orderBy' names {thing} {} twice", Quoted(new.name()));
            return Err(self.context.refuse(at, message));
        }
        Ok(())
    }
}

impl<'de> Read<'de> for OrderKey<'_, 'de> {
    type Out = OrderBy;

    fn context(&self) -> Context<'_, 'de> {
        self.context
    }

    fn wanted(&self) -> String {
        "An entry of '$orderBy' must be an object {field, direction}".to_owned()
    }

    fn object<A: MapAccess<'de>>(self, map: A) -> Result<OrderBy, A::Error> {
        let context = self.context;
        check_key_count(context, "$orderBy", self.order.len(), None)?;
        let mut object = Object::new(context, map);
        let (mut subject, mut direction, mut nulls) = (None, None, Nulls::default());
        while let Some(key) = object.next()? {
            match &*key.name {
                "field" => {
                    let new = Subject::Field(object.value(Text { context, key: "field" })?);
                    self.check_subject(subject.as_ref(), &new, key.value_at)?;
                    subject = Some(new);
                }
                "aggregate" => {
                    let new = Subject::Aggregate(object.value(Text { context, key: "aggregate" })?);
                    self.check_subject(subject.as_ref(), &new, key.value_at)?;
                    subject = Some(new);
                }
                "direction" => {
                    let (all, name) = (&Direction::ALL, Direction::name);
                    direction = Some(object.value(Word {
                        context,
                        key: "direction",
                        thing: "direction",
                        all,
                        name,
                    })?);
                }
                "nulls" => {
                    let (all, name) = (&Nulls::ALL, Nulls::name);
                    nulls =
                        object.value(Word { context, key: "nulls", thing: "place for nulls", all, name })?;
                }
                name => {
                    let known = ["field", "aggregate", "direction", "nulls"];
                    return Err(context.refuse(key.at, unknown("key", name, &known)));
                }
            }
        }
        let Some(subject) = subject else {
            return Err(context.refuse(object.start(), "An entry of '$orderBy' needs 'field'"));
        };
        let Some(direction) = direction else {
            let message = "An entry of '$orderBy' needs 'direction': 'asc' or 'desc'";
            return Err(context.refuse(object.start(), message));
        };
        Ok(OrderBy { subject, direction, nulls })
    }
}

/// `$page`. `SPEC §3.10`
pub(super) struct PageReader<'a, 'de> {
    pub(super) context: Context<'a, 'de>,
}

impl<'de> Read<'de> for PageReader<'_, 'de> {
    type Out = Page;

    fn context(&self) -> Context<'_, 'de> {
        self.context
    }

    fn wanted(&self) -> String {
        "'$page' must be an object {first, after}".to_owned()
    }

    fn object<A: MapAccess<'de>>(self, map: A) -> Result<Page, A::Error> {
        let context = self.context;
        let mut object = Object::new(context, map);
        let mut page = Page::default();
        while let Some(key) = object.next()? {
            match &*key.name {
                "first" => page.first = Some(object.value(First { context })?),
                "after" => page.after = object.value(After { context })?,
                name => return Err(context.refuse(key.at, unknown("key", name, &["first", "after"]))),
            }
        }
        Ok(page)
    }
}

/// The page size.
struct First<'a, 'de> {
    context: Context<'a, 'de>,
}

impl<'de> Read<'de> for First<'_, 'de> {
    type Out = u32;

    fn context(&self) -> Context<'_, 'de> {
        self.context
    }

    fn wanted(&self) -> String {
        let bound = self.context.limits().page_max;
        format!("'first' must be a whole number from 1 to the bound `page_max` ({bound})")
    }

    fn scalar<E: Error>(self, scalar: Scalar<'de>) -> Result<u32, E> {
        let number = match scalar {
            Scalar::Integer(number) => number as f64,
            Scalar::Number(number) => number,
            other => return Err(self.mismatch(other.kind())),
        };
        let allowed = 1.0..=f64::from(self.context.limits().page_max);
        if number.fract() != 0.0 || !allowed.contains(&number) {
            return Err(self.mismatch(format!("{number:?}").trim_end_matches(".0")));
        }
        Ok(number as u32)
    }
}

/// The cursor.
struct After<'a, 'de> {
    context: Context<'a, 'de>,
}

impl<'de> Read<'de> for After<'_, 'de> {
    type Out = Option<String>;

    fn context(&self) -> Context<'_, 'de> {
        self.context
    }

    fn wanted(&self) -> String {
        "'after' must be a cursor (a string) or null".to_owned()
    }

    fn scalar<E: Error>(self, scalar: Scalar<'de>) -> Result<Option<String>, E> {
        match scalar {
            Scalar::Null => Ok(None),
            Scalar::Text(cursor) => Ok(Some(cursor.into_owned())),
            other => Err(self.mismatch(other.kind())),
        }
    }
}
