//! Related records that a filter or an order uses, but that are not part of the response.

use mesh_schema::Link;

use super::Node;

/// The related records of a relation condition, of a path or of an order by an aggregate.
#[derive(Clone, Debug)]
pub struct Related {
    /// The name of their table in flat rows: the name of the relation, a `$` and a number.
    pub name: String,
    /// The columns that connect the two nodes.
    pub link: Link,
    /// Whether a key of the database guarantees that a parent has at most one record.
    pub is_unique: bool,
    /// Whether the columns that the link compares have the same type in the database, so that none is converted.
    pub is_same_type: bool,
    /// The names of the columns in flat rows of the parent that `link` compares.
    pub parent_keys: Vec<String>,
    /// The names of the columns with the parent's key in flat rows of these records, in the order of `parent_keys`.
    pub child_keys: Vec<String>,
    /// The records. For a relation condition, `filter` contains the whole condition. `columns` contains the values that the
    /// parent uses.
    pub node: Node,
}

impl Related {
    /// Returns the name of the relation.
    pub fn relation(&self) -> &str {
        self.name.rsplit_once('$').map_or(&*self.name, |(relation, _)| relation)
    }
}
