//! The conditions of a plan, with their origin.

use super::{Node, Plan, display};
use crate::Value;

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
    /// The session values that it compares with, by name. NULL if the session lacks a value or the field cannot hold it.
    pub session: Vec<(String, &'p Value)>,
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
            let mut session: Vec<(String, &Value)> = Vec::new();
            filter.for_each_session(&mut |name, slot| {
                let value = self.session_value(slot);
                if !session.iter().any(|other| (&*other.0, other.1) == (name, value)) {
                    session.push((name.to_owned(), value));
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
