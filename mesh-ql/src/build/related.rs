//! Conditions on the records of a relation, and aggregates of these records as sort keys.

use super::name;
use crate::{Aggregate, Filter, Name, OrderKey, Quantifier, RelationCondition};

/// Returns a relation, for conditions on its records and for sorting by an aggregate of its records.
pub fn related(relation: impl Into<String>) -> Related {
    Related(name(relation))
}

/// The records of a relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related(Name);

impl Related {
    /// Matches if at least one record exists.
    pub fn exists(self) -> Filter {
        self.condition(Quantifier::Some, None)
    }

    /// Matches if at least one record matches the filter.
    pub fn some(self, filter: Filter) -> Filter {
        self.condition(Quantifier::Some, Some(filter))
    }

    /// Matches if no record exists.
    pub fn is_empty(self) -> Filter {
        self.condition(Quantifier::None, None)
    }

    /// Matches if no record matches the filter.
    pub fn none(self, filter: Filter) -> Filter {
        self.condition(Quantifier::None, Some(filter))
    }

    /// Matches if all records match the filter, or if there are no records.
    pub fn every(self, filter: Filter) -> Filter {
        self.condition(Quantifier::Every, Some(filter))
    }

    /// Returns an aggregate of the records to order by, as in `desc(related("comments").aggregate(count()))`.
    pub fn aggregate(self, aggregate: Aggregate) -> OrderKey {
        OrderKey::Relation { relation: self.0, aggregate }
    }

    fn condition(self, op: Quantifier, filter: Option<Filter>) -> Filter {
        let filter = filter.map(Box::new);
        Filter::Relation(RelationCondition { relation: self.0, op: op.into(), filter })
    }
}
