//! Several servers over PostgreSQL: failover, poolers and shared state.

mod failover;
mod network;
mod pooler;
mod shared_state;
