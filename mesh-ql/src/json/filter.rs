//! How is a filter tree read, of `$where` and of `$having`?

use std::cell::Cell;
use std::rc::Rc;

use serde::de::{Error, MapAccess, SeqAccess};

use crate::json::controls::{Text, Word};
use crate::json::value::{Context, Key, Object, Read, Scalar, Seed};
use crate::query::{Condition, Filter, FilterOp, Literal, Operand, Subject};
use crate::suggest::unknown;

/// Which control a filter tree is the value of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Clause {
    Where,
    Having,
}

impl Clause {
    fn name(self) -> &'static str {
        match self {
            Self::Where => "$where",
            Self::Having => "$having",
        }
    }

    /// What a condition may compare.
    fn subjects(self) -> &'static str {
        match self {
            Self::Where => "'field'",
            Self::Having => "'aggregate' or 'field'",
        }
    }

    /// The keys that objects of the tree may have.
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Where => &["field", "op", "value", "and", "or", "not"],
            Self::Having => &["aggregate", "field", "op", "value", "and", "or", "not"],
        }
    }
}

/// A filter tree, or one below the root of it. `SPEC §3.7`
#[derive(Clone)]
pub(super) struct FilterReader<'a, 'de> {
    context: Context<'a, 'de>,
    clause: Clause,
    /// Combinators around it.
    depth: usize,
    /// Combinators and conditions of the whole tree so far.
    nodes: Rc<Cell<usize>>,
}

impl<'a, 'de> FilterReader<'a, 'de> {
    pub(super) fn new(context: Context<'a, 'de>, clause: Clause) -> Self {
        Self { context, clause, depth: 0, nodes: Rc::default() }
    }

    fn below(&self) -> Self {
        Self { depth: self.depth + 1, ..self.clone() }
    }

    /// `SPEC §3.11`
    fn check_bounds<E: Error>(&self) -> Result<(), E> {
        let limits = self.context.limits();
        let control = self.clause.name();
        if self.depth >= limits.filter_depth {
            let bound = limits.filter_depth;
            let message = format!("'{control}' nests deeper than the bound `filter_depth` ({bound})");
            return Err(self.context.refuse(None, message));
        }
        if self.nodes.replace(self.nodes.get() + 1) >= limits.filter_nodes {
            let bound = limits.filter_nodes;
            let message = format!(
                "'{control}' has more conditions and combinators than the bound `filter_nodes` ({bound})"
            );
            return Err(self.context.refuse(None, message));
        }
        Ok(())
    }

    /// `and` and `or` take a list that is not empty.
    fn list<A: MapAccess<'de>>(
        &self,
        object: &mut Object<'_, 'de, A>,
        key: &'static str,
    ) -> Result<Vec<Filter>, A::Error> {
        object.value(FilterList { tree: self, key })
    }
}

impl<'de> Read<'de> for FilterReader<'_, 'de> {
    type Out = Filter;

    fn context(&self) -> Context<'_, 'de> {
        self.context
    }

    fn wanted(&self) -> String {
        let what = if self.depth == 0 { "must be" } else { "must be made of" };
        let form = if self.depth == 0 { "a filter object" } else { "filter objects" };
        format!("'{}' {what} {form}", self.clause.name())
    }

    fn object<A: MapAccess<'de>>(self, map: A) -> Result<Filter, A::Error> {
        self.check_bounds()?;
        let mut object = Object::new(self.context, map);
        let Some(key) = object.next()? else {
            let subjects = self.clause.subjects();
            let message =
                format!("The filter object is empty; write {subjects} with 'op', or 'and', 'or', 'not'");
            return Err(self.context.refuse(None, message));
        };
        let filter = match &*key.name {
            "and" => Filter::And(self.list(&mut object, "and")?),
            "or" => Filter::Or(self.list(&mut object, "or")?),
            "not" => Filter::Not(Box::new(object.value(self.below())?)),
            _ => return self.condition(object, key),
        };
        if let Some(other) = object.next()? {
            let message =
                format!("{} must be the only key of its object; found {} too", key.quoted(), other.quoted());
            return Err(self.context.refuse(other.at, message));
        }
        Ok(filter)
    }
}

/// The value of `and` or `or`.
struct FilterList<'t, 'a, 'de> {
    tree: &'t FilterReader<'a, 'de>,
    key: &'static str,
}

impl<'de> Read<'de> for FilterList<'_, '_, 'de> {
    type Out = Vec<Filter>;

    fn context(&self) -> Context<'_, 'de> {
        self.tree.context
    }

    fn wanted(&self) -> String {
        format!("'{}' must be an array of filter objects", self.key)
    }

    fn array<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Out, A::Error> {
        let mut filters = Vec::new();
        while let Some(filter) = seq.next_element_seed(Seed(self.tree.below()))? {
            filters.push(filter);
        }
        if filters.is_empty() {
            let message = format!("'{}' is empty; it needs at least one filter object", self.key);
            return Err(self.tree.context.refuse(None, message));
        }
        Ok(filters)
    }
}

/// A condition so far. Its keys come in any order, so what depends on two of them waits for the end.
#[derive(Default)]
struct Written {
    subject: Option<Subject>,
    op: Option<FilterOp>,
    operand: Option<Operand>,
    value_key_at: Option<usize>,
    value_at: Option<usize>,
}

impl<'de> FilterReader<'_, 'de> {
    fn condition<A: MapAccess<'de>>(
        &self,
        mut object: Object<'_, 'de, A>,
        first: Key<'de>,
    ) -> Result<Filter, A::Error> {
        let context = self.context;
        let mut written = Written::default();
        let mut next = Some(first);
        while let Some(key) = next {
            match &*key.name {
                "field" | "aggregate" => self.subject(&mut object, &key, &mut written.subject)?,
                "op" => {
                    let (all, name) = (&FilterOp::ALL, FilterOp::name);
                    written.op =
                        Some(object.value(Word { context, key: "op", thing: "operator", all, name })?);
                }
                "value" => {
                    (written.value_key_at, written.value_at) = (key.at, key.value_at);
                    written.operand = Some(object.value(OperandReader { context })?);
                }
                "and" | "or" | "not" => {
                    let message = format!("{} must be the only key of its object", key.quoted());
                    return Err(context.refuse(key.at, message));
                }
                name => return Err(context.refuse(key.at, unknown("key", name, self.clause.keys()))),
            }
            next = object.next()?;
        }
        self.finish(written, object.start())
    }

    fn subject<A: MapAccess<'de>>(
        &self,
        object: &mut Object<'_, 'de, A>,
        key: &Key<'de>,
        subject: &mut Option<Subject>,
    ) -> Result<(), A::Error> {
        let context = self.context;
        let is_field = key.name == "field";
        if !is_field && self.clause == Clause::Where {
            let message = "'$where' compares fields only; filter by 'aggregate' in '$having'";
            return Err(context.refuse(key.at, message));
        }
        if subject.is_some() {
            let message = "A condition has either 'field' or 'aggregate', not both";
            return Err(context.refuse(key.at, message));
        }
        *subject = Some(if is_field {
            Subject::Field(object.value(Text { context, key: "field" })?)
        } else {
            Subject::Aggregate(object.value(Text { context, key: "aggregate" })?)
        });
        Ok(())
    }

    fn finish<E: Error>(&self, written: Written, start: Option<usize>) -> Result<Filter, E> {
        let refuse = |at, message: String| Err(self.context.refuse(at, message));
        let Some(subject) = written.subject else {
            return refuse(
                start,
                format!("A condition of '{}' needs {}", self.clause.name(), self.clause.subjects()),
            );
        };
        let Some(op) = written.op else {
            return refuse(start, "A condition needs 'op'".to_owned());
        };
        let name = op.name();
        let value = match (op, written.operand) {
            (FilterOp::IsNull | FilterOp::IsNotNull, None) => Operand::None,
            (FilterOp::IsNull | FilterOp::IsNotNull, Some(_)) => {
                return refuse(written.value_key_at, format!("Operator '{name}' takes no 'value'"));
            }
            (_, None) => return refuse(start, format!("Operator '{name}' needs 'value'")),
            (FilterOp::In | FilterOp::Nin, Some(list @ Operand::Many(_))) => list,
            (FilterOp::In | FilterOp::Nin, Some(_)) => {
                return refuse(written.value_at, format!("Operator '{name}' needs an array as 'value'"));
            }
            (_, Some(Operand::Many(_))) => {
                return refuse(written.value_at, format!("Operator '{name}' takes one value, not an array"));
            }
            (_, Some(one)) => one,
        };
        Ok(Filter::Condition(Condition { subject, op, value }))
    }
}

/// The value of a condition: one scalar or a list of them.
struct OperandReader<'a, 'de> {
    context: Context<'a, 'de>,
}

impl<'de> Read<'de> for OperandReader<'_, 'de> {
    type Out = Operand;

    fn context(&self) -> Context<'_, 'de> {
        self.context
    }

    fn wanted(&self) -> String {
        LiteralReader { context: self.context, index: 0 }.wanted()
    }

    fn scalar<E: Error>(self, scalar: Scalar<'de>) -> Result<Operand, E> {
        LiteralReader { context: self.context, index: 0 }.literal(scalar).map(Operand::One)
    }

    fn array<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Operand, A::Error> {
        let context = self.context;
        let mut literals = Vec::new();
        while let Some(literal) =
            seq.next_element_seed(Seed(LiteralReader { context, index: literals.len() }))?
        {
            literals.push(literal);
        }
        Ok(Operand::Many(literals))
    }
}

/// One entry of a list of values.
struct LiteralReader<'a, 'de> {
    context: Context<'a, 'de>,
    index: usize,
}

impl LiteralReader<'_, '_> {
    fn literal<E: Error>(&self, scalar: Scalar<'_>) -> Result<Literal, E> {
        match scalar {
            Scalar::Null => {
                let message = "null cannot be compared; use the operator 'isNull' or 'isNotNull'";
                Err(self.context.refuse(None, message))
            }
            Scalar::Boolean(boolean) => Ok(Literal::Boolean(boolean)),
            Scalar::Integer(integer) => Ok(Literal::Integer(integer)),
            Scalar::Number(number) => Ok(Literal::Number(number)),
            Scalar::Text(text) => Ok(Literal::Text(text.into_owned())),
        }
    }
}

impl<'de> Read<'de> for LiteralReader<'_, 'de> {
    type Out = Literal;

    fn context(&self) -> Context<'_, 'de> {
        self.context
    }

    fn wanted(&self) -> String {
        "A value to compare with must be a string, a number or a boolean".to_owned()
    }

    fn scalar<E: Error>(self, scalar: Scalar<'de>) -> Result<Literal, E> {
        let bound = self.context.limits().in_values;
        if self.index >= bound {
            let message = format!("The array has more values than the bound `in_values` ({bound})");
            return Err(self.context.refuse(None, message));
        }
        self.literal(scalar)
    }
}
