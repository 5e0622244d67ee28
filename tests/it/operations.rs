//! Running a server: start and stop, reload, failures, logs, health and deployment.

mod audit;
mod caching;
mod cancellation;
mod cluster_examples;
mod departures;
mod deploy;
mod failures;
mod health;
mod image;
mod lifecycle;
mod logs;
mod memory;
mod reload;
mod soak;
mod storage;
