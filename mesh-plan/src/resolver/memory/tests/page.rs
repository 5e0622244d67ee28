//! Tests of pages and cursors. `SPEC §5.4`

use serde_json::json;

use super::{condition, read, schema, tables};
use crate::{Error, Limits, Mesh, ResolveError};

/// `SPEC §14.9`
#[test]
fn an_order_by_values_of_related_records_sorts_a_bounded_number_of_rows() {
    let mesh = |related_sort_rows| {
        let limits = Limits { related_sort_rows, ..Limits::default() };
        Mesh::builder(schema()).default_resolver(tables()).limits(limits).build().unwrap()
    };
    let by_count = json!([{"relation": "comments", "aggregate": {"fn": "count"}, "direction": "desc"}]);
    let by_path = json!([{"field": "author.name", "direction": "asc"}]);
    for order in [&by_count, &by_path] {
        let query = json!({"post": {"$select": {"id": true}, "$orderBy": order, "$page": {"first": 1}}});
        assert!(read(&mesh(5), &query).is_ok());
        let error = read(&mesh(4), &query).unwrap_err();
        let is_refused = matches!(&error, Error::Resolve(ResolveError::SortTooLarge { path, scanned: 5, bound: 4, .. }) if path == "post");
        assert!(is_refused, "{error:?}");
        // Rows that the filter removes are not sorted.
        let mut filtered = query.clone();
        filtered["post"]["$where"] = condition("id", "lte", 4);
        assert!(read(&mesh(4), &filtered).is_ok());
    }
    let own =
        json!({"post": {"$select": {"id": true}, "$orderBy": [{"field": "title", "direction": "asc"}]}});
    assert!(read(&mesh(0), &own).is_ok());
}
