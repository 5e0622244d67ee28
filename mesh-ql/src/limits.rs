//! Limits on the size of queries, which the parser checks while it reads.

/// Limits on one query, with the protocol's defaults. `SPEC §3.5`, `SPEC §3.11`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of query text.
    pub query_bytes: usize,
    /// Levels of nested relations; a query without relations has depth 0. At most [`Limits::MAX_DEPTH`].
    pub depth: usize,
    /// Selected fields and relations in total.
    pub fields: usize,
    /// Selected relations in total. Each relation costs the database a statement or a part of one.
    pub relations: usize,
    /// Levels of a filter tree; a single condition has depth 1.
    pub filter_depth: usize,
    /// Combinators and conditions of one filter tree.
    pub filter_nodes: usize,
    /// Values of one `in` or `nin` list.
    pub in_values: usize,
    /// Fields of `$groupBy`, fields of `$distinct`, and keys of `$orderBy`; each list is limited separately.
    pub group_keys: usize,
    /// Entries of `$aggregate`.
    pub aggregates: usize,
    /// Conditions on relations in the whole query.
    pub relation_conditions: usize,
    /// Keys of `$orderBy` that are aggregates of relations, in the whole query.
    pub aggregate_sorts: usize,
    /// Words of one `search`.
    pub search_words: usize,
    /// The largest `first` or `last`.
    pub page_max: u32,
    /// The largest `skip`.
    pub skip: u32,
}

impl Limits {
    /// The deepest nesting that any configuration may allow, which bounds the recursion over queries.
    pub const MAX_DEPTH: usize = 32;
    /// The deepest filter tree that any configuration may allow.
    pub const MAX_FILTER_DEPTH: usize = 32;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            query_bytes: 64 * 1024,
            depth: 10,
            fields: 1_000,
            relations: 200,
            filter_depth: 8,
            filter_nodes: 64,
            in_values: 200,
            group_keys: 8,
            aggregates: 16,
            relation_conditions: 8,
            aggregate_sorts: 4,
            search_words: 32,
            page_max: 200,
            skip: 10_000,
        }
    }
}
