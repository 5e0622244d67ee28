//! Resolvers of the application.

mod failures;
