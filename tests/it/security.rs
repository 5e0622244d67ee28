//! Attacks, sessions and signatures, policies, limits and TLS.

mod api_keys;
pub(crate) mod attack;
mod bearer;
pub(crate) mod bounds;
mod clients;
mod hosts;
mod integrity;
mod persisted;
mod policies;
mod rates;
pub(crate) mod replay;
mod side_routes;
mod state;
mod tls;
