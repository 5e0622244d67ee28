//! Conditions on the records of a relation, and aggregates of them to order by.

use super::name;
use crate::{Aggregate, Filter, Name, OrderKey, Quantifier, RelationCondition};

/// Returns a relation, for conditions on its records and for orders by an aggregate of them.
pub fn related(relation: impl Into<String>) -> Related {
    Related(name(relation))
}

/// The records of a relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related(Name);

impl Related {
    /// At least one record exists.
    pub fn exists(self) -> Filter {
        self.condition(Quantifier::Some, None)
    }

    /// At least one record matches.
    pub fn some(self, filter: Filter) -> Filter {
        self.condition(Quantifier::Some, Some(filter))
    }

    /// There is no record.
    pub fn is_empty(self) -> Filter {
        self.condition(Quantifier::None, None)
    }

    /// No record matches.
    pub fn none(self, filter: Filter) -> Filter {
        self.condition(Quantifier::None, Some(filter))
    }

    /// All records match, or there are none.
    pub fn every(self, filter: Filter) -> Filter {
        self.condition(Quantifier::Every, Some(filter))
    }

    /// An aggregate of the records, to order by: `desc(related("comments").aggregate(count()))`.
    pub fn aggregate(self, aggregate: Aggregate) -> OrderKey {
        OrderKey::Relation { relation: self.0, aggregate }
    }

    fn condition(self, op: Quantifier, filter: Option<Filter>) -> Filter {
        let filter = filter.map(Box::new);
        Filter::Relation(RelationCondition { relation: self.0, op: op.into(), filter })
    }
}
