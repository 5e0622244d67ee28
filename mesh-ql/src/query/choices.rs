//! The operators, functions and directions that queries name.

use crate::named_enum;

named_enum! {
    /// How many related records must match a filter. `SPEC §14.1`
    Quantifier {
        /// At least one.
        Some = "some",
        /// None.
        None = "none",
        /// All; this also matches if there are none.
        Every = "every",
    }
}

named_enum! {
    /// The operators of filters. `SPEC §3.7`, `SPEC §22.2`
    #[expect(missing_docs, reason = "each variant is named as on the wire")]
    FilterOp {
        Eq = "eq",
        Ne = "ne",
        Gt = "gt",
        Gte = "gte",
        Lt = "lt",
        Lte = "lte",
        In = "in",
        Nin = "nin",
        Like = "like",
        Ilike = "ilike",
        IsNull = "isNull",
        IsNotNull = "isNotNull",
        Has = "has",
        HasAny = "hasAny",
        HasAll = "hasAll",
    }
}

named_enum! {
    /// The orders of a search.
    SearchOrder {
        /// The best match first.
        Relevance = "relevance",
    }
}

named_enum! {
    /// The direction of an order key.
    #[expect(missing_docs, reason = "each variant is named as on the wire")]
    Direction {
        Asc = "asc",
        Desc = "desc",
    }
}

named_enum! {
    /// The position of NULL in an order.
    #[derive(Default)]
    #[expect(missing_docs, reason = "each variant is named as on the wire")]
    Nulls {
        First = "first",
        #[default]
        Last = "last",
    }
}

named_enum! {
    /// The aggregate functions.
    #[expect(missing_docs, reason = "each variant is named as on the wire")]
    AggregateFn {
        Count = "count",
        Sum = "sum",
        Avg = "avg",
        Min = "min",
        Max = "max",
    }
}
