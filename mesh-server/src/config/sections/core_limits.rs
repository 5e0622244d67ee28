//! What do the settings mean to the core and to the transport?

use crate::config::Config;

impl Config {
    /// The bounds that queries and responses are held to.
    pub(crate) fn plan_limits(&self) -> mesh_plan::Limits {
        let limits = &self.limits;
        mesh_plan::Limits {
            query: mesh_ql::Limits {
                query_bytes: limits.query_bytes,
                depth: limits.depth,
                fields: limits.fields,
                filter_depth: limits.filter_depth,
                filter_nodes: limits.filter_nodes,
                in_values: limits.in_values,
                group_keys: limits.group_keys,
                aggregates: limits.aggregates,
                page_max: limits.page_max,
            },
            page_default: limits.page_default,
            rows: limits.rows,
            plans: self.cache.plans,
        }
    }

    /// The bounds that requests are held to.
    pub(crate) fn transport_limits(&self) -> mesh_server::Limits {
        mesh_server::Limits {
            header_bytes: self.limits.header_bytes,
            body_bytes: self.limits.body_bytes,
            request_timeout: self.request_timeout,
            body_timeout: self.body_timeout,
            requests: self.limits.requests,
        }
    }
}
