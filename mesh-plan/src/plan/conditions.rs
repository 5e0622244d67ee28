//! The conditions of a plan, with their origin.

use super::{Node, Plan, display};
use crate::policy::SessionInput;

/// A condition on the records of one use of an entity in a plan.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlanCondition<'p> {
    /// Dotted relation names from the root entity, such as `post.comments.author`.
    pub path: &'p str,
    /// The entity's key.
    pub entity: &'p str,
    /// Who wrote the condition.
    pub origin: ConditionOrigin,
    /// The condition as the text of the plan has it.
    pub text: String,
    /// The session values that it compares with, by name.
    pub session: Vec<(String, &'p SessionInput)>,
}

/// Who wrote a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionOrigin {
    /// The policies of the application.
    Policy,
    /// The query.
    Query,
}

impl Plan {
    /// Returns the conditions of all nodes: of each node before those below it, and of policies before those of the query.
    pub fn conditions(&self) -> Vec<PlanCondition<'_>> {
        let mut found = Vec::new();
        self.add_conditions(self.node(), &mut found);
        found
    }

    /// Adds the conditions of a node and of those below it. The depth of the recursion is bounded by that of queries.
    fn add_conditions<'p>(&'p self, node: &'p Node, found: &mut Vec<PlanCondition<'p>>) {
        let parts = [
            (ConditionOrigin::Policy, node.policy_filter()),
            (ConditionOrigin::Query, node.requested_filter()),
        ];
        for (origin, filter) in parts {
            let Some(filter) = filter else { continue };
            let mut session: Vec<(String, &SessionInput)> = Vec::new();
            filter.for_each_session(&mut |value, slot| {
                let entry = (value.to_string(), self.session_input(slot));
                if !session.contains(&entry) {
                    session.push(entry);
                }
            });
            let text = display::condition_text(filter, node);
            found.push(PlanCondition { path: &node.path, entity: &node.entity, origin, text, session });
        }
        for related in &node.related {
            self.add_conditions(&related.node, found);
        }
        for join in &node.joins {
            self.add_conditions(&join.node, found);
        }
    }
}
