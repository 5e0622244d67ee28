//! Estimates of the memory that plans and statements take, for caches that are bounded in bytes.
//!
//! An estimate is the size of the values and texts, with the spare capacity of vectors. What the allocator adds is covered
//! by a fixed amount for each allocation; a test compares the sums with what is allocated.

use std::mem::size_of;

use mesh_schema::{Link, TableName};

use super::parameters::Parameters;
use super::{
    Column, ColumnSource, Comparand, Grouping, Node, Output, Plan, PlannedQuery, Predicate, TemplatePiece,
};
use crate::shape::OutputKey;
use crate::{Aggregate, Value};

/// The number of bytes that an allocation takes beyond its content.
const ALLOCATION: usize = 16;

impl Plan {
    /// Returns the estimated number of bytes of the parts that all runs of the plan's query share.
    pub fn bytes(&self) -> usize {
        self.query.bytes()
    }
}

impl PlannedQuery {
    /// Returns the estimated number of bytes of the query.
    pub(crate) fn bytes(&self) -> usize {
        2 * ALLOCATION
            + size_of::<Self>()
            + list(&self.slots, |_| 0)
            + node(&self.node)
            + self.params.as_deref().map_or(0, Parameters::bytes)
    }
}

/// Returns the number of bytes of a list and of the data that its values point to.
fn list<T>(values: &Vec<T>, below: impl Fn(&T) -> usize) -> usize {
    match values.capacity() {
        0 => 0,
        capacity => ALLOCATION + capacity * size_of::<T>() + values.iter().map(below).sum::<usize>(),
    }
}

fn text(text: &str) -> usize {
    if text.is_empty() { 0 } else { ALLOCATION + text.len() }
}

/// Returns the number of bytes of the data that a node points to. The recursion is bounded by the depth of queries.
fn node(node: &Node) -> usize {
    let joins = list(&node.joins, |join| {
        text(&join.name)
            + text(&join.relation)
            + link(&join.link)
            + list(&join.parent_keys, |_| 0)
            + list(&join.child_keys, |key| text(key))
            + self::node(&join.node)
    });
    text(&node.path)
        + text(&node.entity)
        + table(&node.table)
        + list(&node.columns, column)
        + list(&node.output, output)
        + joins
        + list(&node.related, |related| {
            text(&related.name)
                + link(&related.link)
                + list(&related.parent_keys, |key| text(key))
                + list(&related.child_keys, |key| text(key))
                + self::node(&related.node)
        })
        + node.filter.as_ref().map_or(0, predicate)
        + list(&node.order, |key| source(&key.source))
        + node.grouping.as_ref().map_or(0, grouping)
        + list(&node.row_key, column)
        + list(&node.control_columns, column)
        + list(&node.id, column)
}

fn table(table: &TableName) -> usize {
    text(&table.name) + table.schema.as_deref().map_or(0, text)
}

fn link(link: &Link) -> usize {
    match link {
        Link::Direct { pairs } => list(pairs, |pair| text(&pair.parent) + text(&pair.target)),
        Link::Through { table, from, to, parent, target, .. } => {
            self::table(table) + text(from) + text(to) + text(parent) + text(target)
        }
    }
}

fn column(column: &Column) -> usize {
    text(&column.name) + source(&column.source)
}

fn source(source: &ColumnSource) -> usize {
    match source {
        ColumnSource::Column(name) => text(name),
        ColumnSource::Aggregate(_) | ColumnSource::Related { .. } | ColumnSource::Exists(_) => 0,
        ColumnSource::Json { of, at, .. } => {
            ALLOCATION
                + size_of::<ColumnSource>()
                + self::source(of)
                + ALLOCATION
                + at.tokens().iter().map(|token| size_of::<String>() + text(token)).sum::<usize>()
        }
    }
}

fn output(output: &Output) -> usize {
    // A key has its name, and its text with quotes and a separator.
    let key = |key: &OutputKey| 2 * text(key.name()) + 4;
    match output {
        Output::Field { key: name, .. } | Output::Join { key: name, .. } => key(name),
        Output::Computed { key: name, template } => {
            let piece = |piece: &TemplatePiece| match piece {
                TemplatePiece::Text(constant) => text(constant),
                TemplatePiece::Column(_) => 0,
                TemplatePiece::Code { columns, .. } => list(columns, |_| 0),
            };
            key(name) + list(template, piece)
        }
    }
}

fn predicate(predicate: &Predicate) -> usize {
    match predicate {
        Predicate::All(parts) | Predicate::Any(parts) => list(parts, self::predicate),
        Predicate::Exists { .. } => 0,
        Predicate::Not(part) | Predicate::NotTrue(part) => {
            ALLOCATION + size_of::<Predicate>() + self::predicate(part)
        }
        Predicate::Param { text, condition } => {
            self::text(text) + ALLOCATION + size_of::<Predicate>() + self::predicate(condition)
        }
        Predicate::Compare { source, value, .. } => self::source(source) + comparand(value),
        Predicate::Session { source, .. }
        | Predicate::SessionIn { source, .. }
        | Predicate::IsNull { source, .. } => self::source(source),
        Predicate::In { source, values, .. } => self::source(source) + list(values, comparand),
        Predicate::Like { source, pattern, .. } => self::source(source) + text(pattern.parts().0),
    }
}

fn comparand(comparand: &Comparand<Value>) -> usize {
    value(comparand.parts().0)
}

pub(crate) fn value(value: &Value) -> usize {
    match value {
        Value::Text(content) => text(content),
        Value::InvalidText(content) | Value::Bytes(content) => list(content, |_| 0),
        Value::Null | Value::Boolean(_) | Value::Integer(_) | Value::Real(_) => 0,
    }
}

fn grouping(grouping: &Grouping) -> usize {
    let aggregate =
        |aggregate: &Aggregate| text(&aggregate.alias) + aggregate.column.as_deref().map_or(0, text);
    list(&grouping.keys, |key| text(key))
        + list(&grouping.aggregates, aggregate)
        + grouping.having.as_ref().map_or(0, predicate)
}

#[cfg(test)]
mod tests {
    use mesh_ql::Format;
    use mesh_schema::{FieldType, JoinDocument, Schema};

    use crate::{Limits, Mesh, Request};

    fn mesh() -> Mesh {
        let schema = Schema::builder()
            .entity("post", |post| {
                let texts = ["title", "body", "status"].into_iter();
                let post = post.field("id", FieldType::Integer).field("authorId", FieldType::Integer);
                texts.fold(post, |post, name| post.field(name, FieldType::String))
            })
            .entity("user", |user| user.field("id", FieldType::Integer).field("name", FieldType::String))
            .relation("post.author", JoinDocument::one("user", "users.id = posts.authorId"))
            .relation("user.posts", JoinDocument::many("post", "posts.authorId = users.id"))
            .build()
            .unwrap();
        let limits = Limits { plans: 0, ..Limits::default() };
        Mesh::builder(schema).limits(limits).build().unwrap()
    }

    /// The estimates are compared with what plans keep allocated.
    #[test]
    fn estimates_are_close_to_what_is_allocated() {
        let mesh = mesh();
        let values: Vec<String> = (0..200).map(|number| format!("\"value {number}\"")).collect();
        let listed = format!(
            r#"{{"post":{{"$select":{{"id":true}},"$where":{{"field":"title","op":"in","value":[{}]}}}}}}"#,
            values.join(",")
        );
        let nested = "{ post id title body author { id name posts { id title author { name } } } }";
        let grouped = r#"{"post":{"$select":{"status":true},"$groupBy":["status"],
            "$aggregate":{"n":{"fn":"count"},"longest":{"fn":"max","field":"title"}}}}"#;
        for (format, query) in [
            (Format::Ql, "{ post id }"),
            (Format::Ql, nested),
            (Format::Json, &listed),
            (Format::Json, grouped),
        ] {
            let request = Request::collection(format, query);
            // Data that is initialized once is not counted.
            mesh.plan(&request).unwrap();
            let mut plan = None;
            let measured = allocation_counter::measure(|| plan = Some(mesh.plan(&request).unwrap()));
            let (estimate, actual) = (plan.unwrap().bytes(), measured.bytes_current as usize);
            assert!(
                estimate > actual * 2 / 3 && estimate < actual * 3 / 2,
                "{estimate} estimated, {actual} allocated for {query}"
            );
        }
    }
}
