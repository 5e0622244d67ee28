//! The sample database: a small blog with users, posts, comments and tags.

use mesh_sqlite::rusqlite::{Connection, Result};

#[cfg(test)]
mod tests;

/// Creates and fills the tables in one transaction.
pub(super) fn create(connection: &mut Connection) -> Result<()> {
    let transaction = connection.transaction()?;
    transaction.execute_batch(include_str!("data/schema.sql"))?;
    transaction.execute_batch(include_str!("data/rows.sql"))?;
    transaction.commit()
}
