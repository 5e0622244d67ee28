//! Computed fields: functions of the application that are called when a row is written. `SPEC §13.5`

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::{Node, Output, TemplatePiece};
use crate::{Value, ValueRef};

/// The inputs of a computed field in one row. They are the same for each database: booleans are booleans, and dates and
/// times are texts as in responses.
pub struct ComputedInputs<'a> {
    names: &'a [String],
    values: Vec<Value>,
}

impl<'a> ComputedInputs<'a> {
    /// Returns the inputs of a function, given the values of its columns.
    pub(crate) fn new(function: &'a ComputedFunction, values: Vec<Value>) -> Self {
        Self { names: &function.from, values }
    }

    /// Returns the value of a field; NULL for a field that is not an input.
    pub fn value(&self, field: &str) -> ValueRef<'_> {
        let index = self.names.iter().position(|name| name == field);
        index.and_then(|index| self.values.get(index)).map_or(ValueRef::Null, Value::as_ref)
    }

    /// Returns the text of a field; empty if it is NULL or not text.
    pub fn text(&self, field: &str) -> Cow<'_, str> {
        match self.value(field) {
            ValueRef::Text(text) => String::from_utf8_lossy(text),
            _ => Cow::Borrowed(""),
        }
    }
}

/// The function of one computed field.
#[derive(Clone)]
pub struct ComputedFunction {
    from: Arc<[String]>,
    code: Arc<Code>,
}

type Code = dyn Fn(&ComputedInputs<'_>) -> Value + Send + Sync;

impl ComputedFunction {
    pub(crate) fn new<V: Into<Value>>(
        from: Arc<[String]>,
        code: impl Fn(&ComputedInputs<'_>) -> V + Send + Sync + 'static,
    ) -> Self {
        Self { from, code: Arc::new(move |inputs| code(inputs).into()) }
    }

    /// Returns the fields that the function reads.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &str> {
        self.from.iter().map(String::as_str)
    }

    pub(crate) fn call(&self, inputs: &ComputedInputs<'_>) -> Value {
        (self.code)(inputs)
    }
}

impl fmt::Debug for ComputedFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ComputedFunction").field("from", &self.from).finish_non_exhaustive()
    }
}

/// The functions of a [`crate::Mesh`], by entity and name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Functions(HashMap<String, HashMap<Box<str>, ComputedFunction>>);

impl Functions {
    pub(crate) fn insert(&mut self, entity: &str, name: &str, function: ComputedFunction) {
        self.0.entry(entity.to_owned()).or_default().insert(name.into(), function);
    }

    /// Replaces the templates of computed fields that have a function. The recursion is bounded by the depth of queries.
    pub(crate) fn apply_to(&self, node: &mut Node) {
        if self.0.is_empty() {
            return;
        }
        if let Some(of_entity) = self.0.get(&node.entity) {
            for output in &mut node.output {
                if let Output::Computed { key, template } = output
                    && let Some(function) = of_entity.get(key.name())
                {
                    let columns = template.iter().filter_map(|piece| match piece {
                        TemplatePiece::Column(column) => Some(*column),
                        _ => None,
                    });
                    let columns = columns.collect();
                    *template = vec![TemplatePiece::Code { function: function.clone(), columns }];
                }
            }
        }
        for join in &mut node.joins {
            self.apply_to(&mut join.node);
        }
    }
}

#[cfg(test)]
mod tests {
    use mesh_ql::Format;
    use mesh_schema::{FieldType, JoinDocument, Schema};

    use super::*;
    use crate::memory::Tables;
    use crate::{Context, Mesh, Request};

    fn mesh() -> Mesh {
        let schema = Schema::builder()
            .entity("user", |user| {
                user.field("id", FieldType::Integer)
                    .field("first", FieldType::String)
                    .field("last", FieldType::String)
            })
            .entity("post", |post| post.field("id", FieldType::Integer).field("authorId", FieldType::Integer))
            .relation("post.author", JoinDocument::one("user", "users.id = posts.authorId"))
            .build()
            .unwrap();
        let tables = Tables::new()
            .with("users", ["id", "first", "last"], [vec![1.into(), "Ada".into(), Value::Null]])
            .with("posts", ["id", "authorId"], [vec![7.into(), 1.into()]]);
        Mesh::builder(schema)
            .computed("user.fullName", ["first", "last"], |user| {
                format!("{} {}", user.text("first"), user.text("last")).trim().to_owned()
            })
            .computed("user.hasLast", ["last"], |user| !user.value("last").is_null())
            .default_resolver(tables)
            .build()
            .unwrap()
    }

    #[track_caller]
    fn check(query: &str, id: &str, expected: &str) {
        let mesh = mesh();
        let plan = mesh.plan(&Request::point(Format::Ql, query, id)).unwrap();
        let context = Context::default();
        let read = std::pin::pin!(mesh.read(&plan, &context));
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        let std::task::Poll::Ready(body) = read.poll(&mut cx) else { panic!("the read is pending") };
        assert_eq!(body.unwrap().bytes, expected);
    }

    #[test]
    fn computed_fields_are_selected_at_the_root_and_in_relations() {
        check("{ user id fullName hasLast }", "1", r#"{"id":1,"fullName":"Ada","hasLast":false}"#);
        check("{ post author { fullName last } }", "7", r#"{"author":{"fullName":"Ada","last":null}}"#);
    }
}
