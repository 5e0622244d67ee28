//! How is one JSON value read? The plumbing between serde and the readers: values by kind, objects without
//! duplicate keys, and a side channel for errors, since serde's own can carry neither path nor place.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::collections::HashSet;
use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};

use crate::Limits;
use crate::error::Quoted;
use crate::json::locate;
use crate::place::Place;

/// What one reading of one text shares.
pub(super) struct Reading<'de> {
    pub(super) text: &'de str,
    pub(super) limits: Limits,
    /// Fields and relations selected so far.
    pub(super) items: Cell<usize>,
    /// The first refusal, which ends the reading.
    pub(super) failure: OnceCell<Failure>,
}

/// Why a reader refused.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) message: String,
    pub(super) path: Option<String>,
    /// Byte offset of the offender, or `None` for the value at which the deserializer stopped.
    pub(super) at: Option<usize>,
}

impl<'de> Reading<'de> {
    pub(super) fn new(text: &'de str, limits: &Limits) -> Self {
        Self { text, limits: *limits, items: Cell::new(0), failure: OnceCell::new() }
    }

    /// Where a part of the text starts that the deserializer has lent out.
    fn offset_of(&self, part: &'de str) -> Option<usize> {
        part.as_ptr().addr().checked_sub(self.text.as_ptr().addr())
    }
}

/// What every reader is given: the reading and the read node it works in.
#[derive(Clone, Copy)]
pub(super) struct Context<'a, 'de> {
    pub(super) reading: &'a Reading<'de>,
    pub(super) place: Option<&'a Place<'a>>,
}

impl Context<'_, '_> {
    pub(super) fn limits(&self) -> &Limits {
        &self.reading.limits
    }

    /// Refuses the query. The error that travels through serde is empty; what it stands for is left aside.
    pub(super) fn refuse<E: Error>(&self, at: Option<usize>, message: impl Into<String>) -> E {
        let path = self.place.map(Place::path);
        self.reading.failure.get_or_init(|| Failure { message: message.into(), path, at });
        E::custom("refused")
    }
}

/// A JSON value that is neither object nor array.
pub(super) enum Scalar<'de> {
    Null,
    Boolean(bool),
    Integer(i64),
    Number(f64),
    Text(Cow<'de, str>),
}

impl Scalar<'_> {
    /// What messages call it.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(true) => "true",
            Self::Boolean(false) => "false",
            Self::Integer(_) | Self::Number(_) => "a number",
            Self::Text(_) => "a string",
        }
    }
}

/// Reads one value. A reader overrides the kinds it accepts; the others are refused with what was wanted.
pub(super) trait Read<'de>: Sized {
    type Out;

    fn context(&self) -> Context<'_, 'de>;

    /// The first half of the message about a value of the wrong kind: `'first' must be a number`.
    fn wanted(&self) -> String;

    fn mismatch<E: Error>(&self, found: &str) -> E {
        self.context().refuse(None, format!("{}, not {found}", self.wanted()))
    }

    fn object<A: MapAccess<'de>>(self, _map: A) -> Result<Self::Out, A::Error> {
        Err(self.mismatch("an object"))
    }

    fn array<A: SeqAccess<'de>>(self, _seq: A) -> Result<Self::Out, A::Error> {
        Err(self.mismatch("an array"))
    }

    fn scalar<E: Error>(self, scalar: Scalar<'de>) -> Result<Self::Out, E> {
        Err(self.mismatch(scalar.kind()))
    }
}

/// Makes a reader known to serde.
pub(super) struct Seed<R>(pub(super) R);

impl<'de, R: Read<'de>> DeserializeSeed<'de> for Seed<R> {
    type Value = R::Out;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<R::Out, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, R: Read<'de>> Visitor<'de> for Seed<R> {
    type Value = R::Out;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.wanted())
    }

    fn visit_unit<E: Error>(self) -> Result<R::Out, E> {
        self.0.scalar(Scalar::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<R::Out, E> {
        self.0.scalar(Scalar::Boolean(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<R::Out, E> {
        self.0.scalar(Scalar::Integer(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<R::Out, E> {
        let scalar = i64::try_from(value).map_or(Scalar::Number(value as f64), Scalar::Integer);
        self.0.scalar(scalar)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<R::Out, E> {
        self.0.scalar(Scalar::Number(value))
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<R::Out, E> {
        self.0.scalar(Scalar::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<R::Out, E> {
        self.0.scalar(Scalar::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<R::Out, A::Error> {
        self.0.array(seq)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<R::Out, A::Error> {
        self.0.object(map)
    }
}

/// A key of an object, with the places to which errors about it and its value point. They are unknown for
/// a key written with escapes.
pub(super) struct Key<'de> {
    pub(super) name: Cow<'de, str>,
    pub(super) at: Option<usize>,
    pub(super) value_at: Option<usize>,
}

impl Key<'_> {
    pub(super) fn quoted(&self) -> Quoted<'_> {
        Quoted(&self.name)
    }
}

/// An object that is read key by key and refuses a key given twice. `SPEC §3.2`
pub(super) struct Object<'a, 'de, A> {
    context: Context<'a, 'de>,
    map: A,
    seen: HashSet<Cow<'de, str>>,
    start: Option<usize>,
}

impl<'a, 'de, A: MapAccess<'de>> Object<'a, 'de, A> {
    pub(super) fn new(context: Context<'a, 'de>, map: A) -> Self {
        Self { context, map, seen: HashSet::new(), start: None }
    }

    /// Where its brace stands, once a key has told.
    pub(super) fn start(&self) -> Option<usize> {
        self.start
    }

    pub(super) fn next(&mut self) -> Result<Option<Key<'de>>, A::Error> {
        let Some(name) = self.map.next_key_seed(Name)? else { return Ok(None) };
        let reading = self.context.reading;
        let inside = match name {
            Cow::Borrowed(name) => reading.offset_of(name),
            Cow::Owned(_) => None,
        };
        let key = Key {
            at: inside.and_then(|inside| inside.checked_sub(1)),
            value_at: inside.map(|inside| locate::value_after_key(reading.text, inside + name.len())),
            name,
        };
        if self.seen.is_empty() {
            self.start = key.at.and_then(|at| locate::brace_before(reading.text, at));
        }
        if !self.seen.insert(key.name.clone()) {
            return Err(self.context.refuse(key.at, format!("Key {} is given twice", key.quoted())));
        }
        Ok(Some(key))
    }

    pub(super) fn value<R: Read<'de>>(&mut self, reader: R) -> Result<R::Out, A::Error> {
        self.map.next_value_seed(Seed(reader))
    }
}

/// The text of a key.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}
