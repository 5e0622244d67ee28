//! Where in the query does a read node stand? Its path from the root entity.

/// A read node's name and the nodes around it. It lives on the stack while its node is read, so a path costs
/// nothing until an error wants one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    /// The node around, `None` at the root.
    pub(crate) parent: Option<&'a Self>,
    /// The entity key at the root, a ref below.
    pub(crate) name: &'a str,
}

impl Place<'_> {
    /// The names from the root to here, joined by dots.
    pub(crate) fn path(&self) -> String {
        let mut names: Vec<&str> =
            std::iter::successors(Some(self), |place| place.parent).map(|p| p.name).collect();
        names.reverse();
        names.join(".")
    }
}
