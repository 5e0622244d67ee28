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

    /// Adds the session values of a condition and, for that of a policy, of the related records that it depends on. The depth
    /// of the recursion is bounded by that of policies.
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

    /// Adds the conditions of a node and of those below it. The depth of the recursion is bounded by that of queries.
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
        // What the condition of a policy relates to is a part of it.
        let is_of_policy = |index| node.policy_filter().is_some_and(|filter| filter.uses_related(index));
        for (_, related) in node.related.iter().enumerate().filter(|(index, _)| !is_of_policy(*index)) {
            self.add_conditions(&related.node, found);
        }
        for join in &node.joins {
            self.add_conditions(&join.node, found);
        }
    }
}
