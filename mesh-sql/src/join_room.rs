//! The rule for how many records are joined to the rows of a statement. What has no room is read in another way: a to-one
//! relation as a level or statement of its own, and the record at the end of a path by subqueries.

use mesh_schema::Link;

use mesh_plan::Node;
use mesh_plan::plan::{Join, Related};

/// The largest number of tables that are joined to the rows of one level. The memory for planning grows faster than this
/// number: PostgreSQL 15 takes 5 MB for 16 tables, 40 MB for 60 and 590 MB for 199; MariaDB 10.11 keeps 0.1 MB for 16 and
/// 2 MB for 40.
const JOINED_MAX: usize = 16;

/// The largest number of joined tables that a database plans for one level which it evaluates anew for each level below it.
/// MariaDB 10.11 takes about 75 KB for each of them, so this is 10 MB.
const REPEATED_MAX: usize = 128;

/// The number of tables that can still be joined to the rows of a level.
#[derive(Clone, Debug)]
pub(super) struct JoinRoom(usize);

impl Default for JoinRoom {
    /// Returns the room in a level that is evaluated once.
    fn default() -> Self {
        Self(JOINED_MAX)
    }
}

impl JoinRoom {
    /// Returns the room in the level of a node which the database evaluates anew for each level below it. Relations that
    /// find no room become such levels.
    pub(super) fn of_repeated(node: &Node, may_join: &dyn Fn(&Join) -> bool) -> Self {
        let (joined, levels) = joined_and_levels(node, may_join);
        let fits = |room: &usize| (1 + room) * (1 + levels + joined.saturating_sub(*room)) <= REPEATED_MAX;
        Self((0..=joined.min(JOINED_MAX)).rev().find(fits).unwrap_or_default())
    }

    /// Takes the room of a relation's record, with the tables that its conditions read. Returns whether there is enough.
    pub(super) fn take(&mut self, join: &Join) -> bool {
        self.take_tables(tables_of_join(join))
    }

    /// Takes the room of the record at the end of a path, without the rest of the path. Returns whether there is enough.
    pub(super) fn take_related(&mut self, related: &Related) -> bool {
        self.take_tables(1 + junctions(&related.link))
    }

    fn take_tables(&mut self, tables: usize) -> bool {
        let left = self.0.checked_sub(tables);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}

/// Returns the number of tables that the rows of a node and their conditions read, without nested relations.
fn tables(node: &Node) -> usize {
    1 + node.related.iter().map(|related| junctions(&related.link) + tables(&related.node)).sum::<usize>()
}

/// Returns the number of tables that a relation of its parents reads.
fn tables_of_join(join: &Join) -> usize {
    junctions(&join.link) + tables(&join.node)
}

fn junctions(link: &Link) -> usize {
    usize::from(matches!(link, Link::Through { .. }))
}

/// Returns the number of tables that could be joined to a node's rows, and the number of other levels below it.
fn joined_and_levels(node: &Node, may_join: &dyn Fn(&Join) -> bool) -> (usize, usize) {
    node.joins.iter().fold((0, 0), |(joined, levels), join| {
        let below = joined_and_levels(&join.node, may_join);
        if may_join(join) {
            (joined + tables_of_join(join) + below.0, levels + below.1)
        } else {
            (joined, levels + 1 + below.1)
        }
    })
}
