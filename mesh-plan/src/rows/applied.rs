//! Declarations of the controls that a resolver has applied.

use bitflags::bitflags;

bitflags! {
    /// The controls of a plan that a resolver has applied to its rows. [`crate::Mesh`] applies all others.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Applied: u8 {
        /// The id of a point read, and the filters of all nodes, which include the conditions of policies.
        const FILTER = 1;
        /// Grouping, aggregates, `distinct` and the filter on groups.
        const GROUP = 1 << 1;
        /// The order of all nodes.
        const ORDER = 1 << 2;
        /// The pages of all nodes. The root's rows begin after the cursor ([`crate::Plan::cursor`]), and include one row more
        /// than the page if another page follows.
        const PAGE = 1 << 3;
    }
}
