//! How is a read node read? Its `$select`, its controls, and the rules between them.

use serde::de::{Error, MapAccess};

use crate::error::Quoted;
use crate::json::aggregate::Aggregates;
use crate::json::controls::{FieldList, Order, PageReader};
use crate::json::filter::{Clause, FilterReader};
use crate::json::value::{Context, Key, Object, Read, Scalar};
use crate::place::Place;
use crate::query::{CONTROLS, Controls, ReadNode, Selection};
use crate::suggest::unknown;

/// The read node at the root of a query. `SPEC §3.2`
pub(super) struct Node<'a, 'de> {
    /// With this node as its place.
    pub(super) context: Context<'a, 'de>,
    /// What messages call it: its name is the place's.
    pub(super) subject: &'static str,
    /// Relations around it.
    pub(super) depth: usize,
}

impl<'de> Read<'de> for Node<'_, 'de> {
    type Out = ReadNode;

    fn context(&self) -> Context<'_, 'de> {
        self.context
    }

    fn wanted(&self) -> String {
        let name = self.context.place.map_or("", |place| place.name);
        format!("The value of {} {} must be an object with '$select'", self.subject, Quoted(name))
    }

    fn object<A: MapAccess<'de>>(self, map: A) -> Result<ReadNode, A::Error> {
        let mut object = Object::new(self.context, map);
        let mut written = Written::default();
        while let Some(key) = object.next()? {
            written.read_key(&self, &mut object, &key)?;
        }
        let select = written.finish(self.context, object.start())?;
        Ok(ReadNode { select, controls: written.controls })
    }
}

/// A read node so far, with the places that the rules between its keys point to.
#[derive(Default)]
struct Written {
    select: Option<Vec<Selection>>,
    controls: Controls,
    select_at: Option<usize>,
    distinct_at: Option<usize>,
    having_at: Option<usize>,
    /// One for each aggregate.
    aliases_at: Vec<Option<usize>>,
}

impl Written {
    fn read_key<'de, A: MapAccess<'de>>(
        &mut self,
        node: &Node<'_, 'de>,
        object: &mut Object<'_, 'de, A>,
        key: &Key<'de>,
    ) -> Result<(), A::Error> {
        let context = node.context;
        let controls = &mut self.controls;
        match &*key.name {
            "$select" => {
                self.select_at = key.value_at;
                self.select = Some(object.value(Select { context, depth: node.depth })?);
            }
            "$where" => controls.filter = Some(object.value(FilterReader::new(context, Clause::Where))?),
            "$orderBy" => controls.order = object.value(Order { context })?,
            "$page" => controls.page = Some(object.value(PageReader { context })?),
            "$distinct" => {
                self.distinct_at = key.at;
                controls.distinct = Some(object.value(FieldList { context, control: "$distinct" })?);
            }
            "$groupBy" => controls.group = Some(object.value(FieldList { context, control: "$groupBy" })?),
            "$aggregate" => (controls.aggregates, self.aliases_at) = object.value(Aggregates { context })?,
            "$having" => {
                self.having_at = key.at;
                controls.having = Some(object.value(FilterReader::new(context, Clause::Having))?);
            }
            name => {
                let message = if name.starts_with('$')
                    || CONTROLS.iter().any(|control| control.get(1..) == Some(name))
                {
                    unknown("key", name, &CONTROLS)
                } else {
                    format!("Unknown key {}; fields and relations belong inside '$select'", key.quoted())
                };
                return Err(context.refuse(key.at, message));
            }
        }
        Ok(())
    }

    /// The rules between keys. `SPEC §3.3`, `SPEC §3.8`, `SPEC §3.12`
    fn finish<E: Error>(
        &mut self,
        context: Context<'_, '_>,
        start: Option<usize>,
    ) -> Result<Vec<Selection>, E> {
        let controls = &self.controls;
        let Some(select) = self.select.take() else {
            return Err(context.refuse(start, "'$select' is missing"));
        };
        let aggregated = !controls.aggregates.is_empty();
        if select.is_empty() && !aggregated {
            let message = "'$select' is empty; only beside '$aggregate' may it be";
            return Err(context.refuse(self.select_at, message));
        }
        if controls.distinct.is_some() && (controls.group.is_some() || aggregated) {
            let message = "'$distinct' cannot stand beside '$groupBy' or '$aggregate'";
            return Err(context.refuse(self.distinct_at, message));
        }
        if controls.having.is_some() && controls.group.is_none() && !aggregated {
            let message = "'$having' needs '$groupBy' or '$aggregate'; filter rows with '$where'";
            return Err(context.refuse(self.having_at, message));
        }
        for (aggregate, at) in controls.aggregates.iter().zip(&self.aliases_at) {
            if select.iter().any(|selection| selection.name() == aggregate.alias) {
                let alias = Quoted(&aggregate.alias);
                return Err(
                    context.refuse(*at, format!("Alias {alias} is also selected; choose another alias"))
                );
            }
        }
        Ok(select)
    }
}

/// `$select`. `SPEC §3.3`
struct Select<'a, 'de> {
    context: Context<'a, 'de>,
    depth: usize,
}

impl<'de> Read<'de> for Select<'_, 'de> {
    type Out = Vec<Selection>;

    fn context(&self) -> Context<'_, 'de> {
        self.context
    }

    fn wanted(&self) -> String {
        "'$select' must be an object of names".to_owned()
    }

    fn object<A: MapAccess<'de>>(self, map: A) -> Result<Self::Out, A::Error> {
        let context = self.context;
        let (bound, items) = (context.limits().fields, &context.reading.items);
        let mut object = Object::new(context, map);
        let mut select = Vec::new();
        while let Some(key) = object.next()? {
            if items.replace(items.get() + 1) >= bound {
                let message =
                    format!("The query selects more fields and relations than the bound `fields` ({bound})");
                return Err(context.refuse(key.at, message));
            }
            if CONTROLS.contains(&&*key.name) {
                let message = format!("{} belongs beside '$select', not inside", key.quoted());
                return Err(context.refuse(key.at, message));
            }
            select.push(object.value(Entry { context, key, depth: self.depth })?);
        }
        Ok(select)
    }
}

/// The value of a name in `$select`.
struct Entry<'a, 'de> {
    context: Context<'a, 'de>,
    key: Key<'de>,
    depth: usize,
}

impl<'de> Read<'de> for Entry<'_, 'de> {
    type Out = Selection;

    fn context(&self) -> Context<'_, 'de> {
        self.context
    }

    fn wanted(&self) -> String {
        let name = self.key.quoted();
        format!("The value of field {name} must be exactly true, or an object with '$select' for a relation")
    }

    fn scalar<E: Error>(self, scalar: Scalar<'de>) -> Result<Selection, E> {
        match scalar {
            Scalar::Boolean(true) => Ok(Selection::Field(self.key.name.into_owned())),
            other => Err(self.mismatch(other.kind())),
        }
    }

    fn object<A: MapAccess<'de>>(self, map: A) -> Result<Selection, A::Error> {
        let bound = self.context.limits().depth;
        if self.depth >= bound {
            let message =
                format!("Relation {} nests deeper than the bound `depth` ({bound})", self.key.quoted());
            return Err(self.context.refuse(self.key.at, message));
        }
        let place = Place { parent: self.context.place, name: &self.key.name };
        let context = Context { place: Some(&place), ..self.context };
        let node = Node { context, subject: "relation", depth: self.depth + 1 }.object(map)?;
        Ok(Selection::Relation(self.key.name.into_owned(), node))
    }
}
