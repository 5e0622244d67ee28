//! Foreign keys by which a plan finds related records, and which should have indexes.

use std::collections::HashSet;
use std::fmt;

use mesh_plan::Node;
use mesh_plan::plan::{ColumnSource, Related};
use mesh_schema::{Link, TableName};

/// Columns by which the records of a relation are found.
#[derive(Debug)]
pub(super) struct Lookup<'n> {
    pub(super) table: &'n TableName,
    pub(super) columns: Vec<String>,
    /// The path of the relation.
    path: &'n str,
    /// Whether the relation is part of the response, and not only of a condition or an order.
    pub(super) is_nested: bool,
}

impl fmt::Display for Lookup<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (table, columns) = (self.table, self.columns.join(", "));
        write!(f, "no index of {table} serves the relation {}; ", self.path)?;
        write!(f, "an index on {table} ({columns}) would help")
    }
}

/// Returns the lookups of a node and of the nodes below it, without duplicates.
pub(super) fn lookups(node: &Node) -> Vec<Lookup<'_>> {
    let mut lookups = Vec::new();
    add(&mut lookups, node);
    let mut seen = HashSet::new();
    lookups.retain(|lookup| seen.insert((lookup.table, lookup.columns.clone(), lookup.is_nested)));
    lookups
}

/// Adds the lookups of a node. The depth of the recursion is bounded by that of queries.
fn add<'n>(lookups: &mut Vec<Lookup<'n>>, node: &'n Node) {
    for related in &node.related {
        lookups.push(by_parent(&related.link, &related.node, false));
        // A database can begin with the related records that a condition names, and find the rows by their key.
        if let (true, Link::Direct { pairs }) = (is_condition(node, related), &related.link) {
            let columns = pairs.iter().map(|pair| pair.parent.clone()).collect();
            lookups.push(Lookup { table: &node.table, columns, path: &related.node.path, is_nested: false });
        }
        add(lookups, &related.node);
    }
    for join in &node.joins {
        lookups.push(by_parent(&join.link, &join.node, true));
        add(lookups, &join.node);
    }
}

/// Returns the lookup of records by the keys of their parents.
fn by_parent<'n>(link: &'n Link, node: &'n Node, is_nested: bool) -> Lookup<'n> {
    let (table, columns) = match link {
        Link::Direct { pairs } => (&node.table, pairs.iter().map(|pair| pair.target.clone()).collect()),
        Link::Through { table, from, .. } => (table, vec![from.clone()]),
    };
    Lookup { table, columns, path: &node.path, is_nested }
}

/// Returns whether a condition of the node depends on these records.
fn is_condition(node: &Node, related: &Related) -> bool {
    let mut is_used = false;
    if let Some(filter) = &node.filter {
        filter.for_each_source(&mut |source| {
            let number = match source {
                ColumnSource::Related { related, .. } | ColumnSource::Exists(related) => *related,
                _ => return,
            };
            is_used |= node.related.get(number).is_some_and(|used| std::ptr::eq(used, related));
        });
    }
    is_used
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use mesh_plan::{Mesh, Request};
    use mesh_ql::Format;
    use mesh_schema::{FieldType, JoinDocument, Schema, ThroughDocument};

    use super::*;

    #[track_caller]
    fn check(query: &str, expected: Expect) {
        let fields = |entity: mesh_schema::EntityBuilder| {
            entity.field("id", FieldType::Integer).field("name", FieldType::String)
        };
        let through = ThroughDocument::new("post_tags", "post_id", "tag_id");
        let schema = Schema::builder()
            .entity("user", fields)
            .entity("post", fields)
            .entity("tag", fields)
            .relation("user.posts", JoinDocument::many("post", "posts.author_id = users.id"))
            .relation("post.author", JoinDocument::one("user", "users.id = posts.author_id"))
            .relation("post.tags", JoinDocument::through("tag", through))
            .build()
            .unwrap();
        let plan =
            Mesh::builder(schema).build().unwrap().plan(&Request::collection(Format::Json, query)).unwrap();
        let lookups: Vec<_> = lookups(plan.node())
            .iter()
            .map(|it| format!("{} ({}) for {}", it.table, it.columns.join(", "), it.path))
            .collect();
        expected.assert_eq(&lookups.join("\n"));
    }

    #[test]
    fn nested_relations_find_their_records_by_the_keys_of_parents() {
        check(
            r#"{"user":{"$select":{"posts":{"$select":{"tags":{"$select":{"name":true}}}}}}}"#,
            expect![[r#"
                posts (author_id) for user.posts
                post_tags (post_id) for user.posts.tags"#]],
        );
    }

    #[test]
    fn conditions_begin_on_either_side() {
        check(
            r#"{"post":{"$select":{"id":true},"$where":{"field":"author.name","op":"eq","value":"Ada"}}}"#,
            expect![[r#"
                users (id) for post.author
                posts (author_id) for post.author"#]],
        );
        check(
            r#"{"user":{"$select":{"id":true},"$where":{"relation":"posts","op":"none"}}}"#,
            expect![[r#"
            posts (author_id) for user.posts
            users (id) for user.posts"#]],
        );
    }

    #[test]
    fn orders_find_the_related_records() {
        check(
            r#"{"post":{"$select":{"id":true},"$orderBy":[{"relation":"tags","aggregate":{"fn":"count"},"direction":"desc"},{"field":"author.name","direction":"asc"}]}}"#,
            expect![[r#"
                post_tags (post_id) for post.tags
                users (id) for post.author"#]],
        );
    }
}
