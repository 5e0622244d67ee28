//! The estimated memory of a plan, for caches that are bounded in bytes.

use super::{Node, Plan};

/// The number of bytes of a node without columns, with spare room for its siblings.
const NODE: usize = 2_560;
/// The number of bytes of a column, an output or a key, with its names.
const COLUMN: usize = 256;
/// The number of bytes that conditions take for each byte of the query. A value in a list takes 40 bytes, and at least two in
/// the query.
const PER_TEXT_BYTE: usize = 20;

impl Plan {
    /// Returns the estimated number of bytes of the parts that all runs of the plan's query share.
    pub fn memory(&self) -> usize {
        self.query.memory
    }
}

/// Returns the estimated number of bytes of the plan of a query with a text of that length.
pub(crate) fn estimate(text: usize, node: &Node) -> usize {
    PER_TEXT_BYTE * text + nodes(node)
}

/// The recursion is bounded by the depth of queries.
fn nodes(node: &Node) -> usize {
    let columns = node.columns.len() + node.output.len() + node.order.len() + node.control_columns.len();
    let keys = node.row_key.len() + node.id.len();
    let joins = node.joins.iter().map(|join| &join.node);
    let below = joins.chain(node.related.iter().map(|related| &related.node));
    NODE + COLUMN * (columns + keys) + below.map(nodes).sum::<usize>()
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
    fn estimates_are_bounds_of_what_is_allocated() {
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
            let (estimate, actual) = (plan.unwrap().memory(), measured.bytes_current as usize);
            assert!(
                estimate >= actual && estimate < 5 * actual,
                "{estimate} estimated, {actual} allocated for {query}"
            );
        }
    }
}
