//! Resolvers of the application: computed fields and failures.

mod computed;
mod failures;
