//! Does the Rust of the guides compile? Each page with Rust is documentation of an item here, in doc tests only.

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
