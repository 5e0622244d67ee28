//! Computed fields: functions of the application that are called when a row is written out. `SPEC §13.5`

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use mesh_schema::ComputedError;

use crate::plan::{Node, Output, TemplatePiece};
use crate::{Cells, MeshBuilder, Value, ValueRef};

/// The values of the fields that a computed field is made of, in one row.
pub struct ComputedInputs<'a> {
    cells: &'a dyn Cells,
    names: &'a [String],
    columns: &'a [usize],
}

impl<'a> ComputedInputs<'a> {
    pub(crate) fn new(cells: &'a dyn Cells, function: &'a ComputedFunction, columns: &'a [usize]) -> Self {
        Self { cells, names: &function.from, columns }
    }

    /// Returns the value of a field; NULL for a field that is not an input.
    pub fn value(&self, field: &str) -> ValueRef<'_> {
        let index = self.names.iter().position(|name| name == field);
        let column = index.and_then(|index| self.columns.get(index));
        column.map_or(ValueRef::Null, |column| self.cells.cell(*column))
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
    pub(crate) fn call(&self, parts: &ComputedInputs<'_>) -> Value {
        (self.code)(parts)
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
    /// Replaces the templates that the planner has made for computed fields by the functions. The nesting of nodes is
    /// bounded as that of queries.
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

impl MeshBuilder {
    /// Adds a computed field: `field` is `entityKey.name`, and `from` names the fields that the function reads. It is
    /// selected like a scalar field, at the root and in relations, with any resolver.
    ///
    /// ```
    /// use mesh_plan::Mesh;
    /// use mesh_schema::Schema;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let schema = Schema::builder()
    ///     .entity("user", |user| user.untyped("first").untyped("last").no_id())
    ///     .build()?;
    /// let mesh = Mesh::builder(schema).computed("user.initials", ["first", "last"], |user| {
    ///     let initial = |field| user.text(field).chars().next().unwrap_or('?').to_string();
    ///     initial("first") + &initial("last")
    /// })?;
    /// # let _ = mesh.build();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Fails if the entity or a field is unknown, or if the name is taken.
    pub fn computed<'n, V: Into<Value>>(
        mut self,
        field: &str,
        from: impl IntoIterator<Item = &'n str>,
        code: impl Fn(&ComputedInputs<'_>) -> V + Send + Sync + 'static,
    ) -> Result<Self, ComputedError> {
        let (entity, name) =
            field.split_once('.').ok_or_else(|| ComputedError::Name { name: field.to_owned() })?;
        let from: Vec<&str> = from.into_iter().collect();
        Arc::make_mut(&mut self.schema).add_computed(entity, name, from.iter().copied())?;
        let from = from.into_iter().map(str::to_owned).collect();
        let function =
            ComputedFunction { from, code: Arc::new(move |parts: &ComputedInputs<'_>| code(parts).into()) };
        self.functions.0.entry(entity.to_owned()).or_default().insert(name.into(), function);
        Ok(self)
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
            .and_then(|mesh| mesh.computed("user.hasLast", ["last"], |user| !user.value("last").is_null()))
            .unwrap()
            .resolver_for_all(tables)
            .build()
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

    #[test]
    fn computed_fields_are_refused_in_controls() {
        let text =
            r#"{"user": {"$select": {"id": true}, "$orderBy": [{"field": "fullName", "direction": "asc"}]}}"#;
        let error = mesh().plan(&Request::collection(Format::Json, text)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "'fullName' is a computed field: it can be selected, but not used in $orderBy"
        );
    }

    #[test]
    fn unknown_inputs_and_taken_names_are_refused() {
        let add = |field: &str, from: &str| {
            let schema = mesh().schema().as_ref().clone();
            Mesh::builder(schema).computed(field, [from], |_| 1).map(drop).map_err(|it| it.to_string())
        };
        assert_eq!(add("usr.x", "first"), Err("Entity 'usr' not found".to_owned()));
        assert_eq!(add("user.x", "nick"), Err("Field 'nick' not found on entity 'user'".to_owned()));
        assert_eq!(add("user.first", "last"), Err("Entity 'user' has a 'first' already".to_owned()));
        assert_eq!(add("user", "last"), Err("'user' cannot be the name of a computed field".to_owned()));
    }
}
