//! The guides that contain Rust, included as documentation so that doc tests compile their examples.

#[doc = include_str!("../../docs/events.md")]
struct Events;

#[doc = include_str!("../../docs/policies.md")]
struct Policies;

#[doc = include_str!("../../docs/resolvers.md")]
struct Resolvers;

#[doc = include_str!("../../docs/uploads.md")]
struct Uploads;

#[doc = include_str!("../../docs/writes.md")]
struct Writes;

#[doc = include_str!("../../mesh-plan/README.md")]
struct Plan;

#[doc = include_str!("../../mesh-server/README.md")]
struct Server;
