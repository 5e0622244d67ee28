//! Several servers over PostgreSQL: failover, poolers and shared state.

mod changes;
mod collations;
mod comments;
mod failover;
mod network;
mod pooler;
mod promotion;
mod row_security;
mod search_path;
mod settings;
mod shared_state;
