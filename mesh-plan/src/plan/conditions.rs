//! The conditions of a plan, with their origin.

use super::{Node, Plan, Predicate, display};
use crate::policy::SessionInput;

/// A condition on the records of one use of an entity in a plan.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlanCondition<'p> {
    /// Dotted relation names from the root entity, such as `post.comments.author`.
    pub path: &'p str,
    /// The entity's key.
    pub entity: &'p str,
    /// The origin of the condition.
    pub origin: ConditionOrigin,
    /// The condition as in the text of the plan.
    pub text: String,
    /// The session values that it compares with, by name.
    pub session: Vec<(String, &'p SessionInput)>,
}

/// The origin of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionOrigin {
    /// The policies of the application.
    Policy,
    /// The query.
    Query,
}

impl Plan {
    /// Returns the conditions of all nodes. A node precedes the nodes below it, and its condition of policies precedes its
    /// condition of the query.
    pub fn conditions(&self) -> Vec<PlanCondition<'_>> {
        let mut found = Vec::new();
        self.add_conditions(self.node(), &mut found);
        found
    }

    /// Adds the session values of a condition. For the condition of a policy, also adds those of the related records that it
    /// uses. The recursion is bounded by the depth of policies.
    fn add_session<'p>(
        &'p self,
        node: &'p Node,
        filter: &Predicate,
        session: &mut Vec<(String, &'p SessionInput)>,
    ) {
        filter.for_each_session(&mut |value, slot| {
            let entry = (value.to_string(), self.session_input(slot));
            if !session.contains(&entry) {
                session.push(entry);
            }
        });
        let used = node.related.iter().enumerate().filter(|(index, _)| filter.uses_related(*index));
        for (_, related) in used {
            if let Some(filter) = &related.node.filter {
                self.add_session(&related.node, filter, session);
            }
        }
    }

    /// Adds the conditions of a node and of the nodes below it. The recursion is bounded by the depth of queries.
    fn add_conditions<'p>(&'p self, node: &'p Node, found: &mut Vec<PlanCondition<'p>>) {
        let parts = [
            (ConditionOrigin::Policy, node.policy_filter()),
            (ConditionOrigin::Query, node.requested_filter()),
        ];
        for (origin, filter) in parts {
            let Some(filter) = filter else { continue };
            let mut session = Vec::new();
            self.add_session(node, filter, &mut session);
            let text = display::condition_text(filter, node);
            found.push(PlanCondition { path: &node.path, entity: &node.entity, origin, text, session });
        }
        // Related records that the condition of a policy uses are part of that condition.
        let is_of_policy = |index| node.policy_filter().is_some_and(|filter| filter.uses_related(index));
        for (_, related) in node.related.iter().enumerate().filter(|(index, _)| !is_of_policy(*index)) {
            self.add_conditions(&related.node, found);
        }
        for join in &node.joins {
            self.add_conditions(&join.node, found);
        }
    }
}
