//! The layout of the tables that keep state, with its version and migrations.
//!
//! The version has two parts. Servers of one major version can share the tables: a migration to the next minor version only adds
//! tables, indexes, and columns with a default, so servers of earlier minor versions ignore what it adds.

use crate::cells::integer;
use crate::error::{BoxError, NewerLayout};
use crate::pool::connection::Connection;

/// The tables. They are not served.
pub(crate) const TABLES: [&str; 7] = [
    "mesh_attempt",
    "mesh_layout",
    "mesh_nonce",
    "mesh_nonce_mark",
    "mesh_query",
    "mesh_revocation",
    "mesh_server",
];

/// The major version of the layout.
const MAJOR: i64 = 1;

/// The statements of the migrations to each minor version, from 0 on. The database commits each statement, and all of
/// them can be repeated.
const MIGRATIONS: [&[&str]; 1] = [&[
    "CREATE TABLE IF NOT EXISTS mesh_revocation (session VARBINARY(64) PRIMARY KEY, until BIGINT NOT NULL, INDEX (until)) \
     ENGINE = InnoDB",
    "CREATE TABLE IF NOT EXISTS mesh_nonce (session VARBINARY(64) NOT NULL, nonce VARBINARY(255) NOT NULL, \
     time BIGINT NOT NULL, until BIGINT NOT NULL, PRIMARY KEY (session, nonce), INDEX (until), INDEX (time)) ENGINE = InnoDB",
    "CREATE TABLE IF NOT EXISTS mesh_nonce_mark (one TINYINT PRIMARY KEY, time BIGINT NOT NULL, previous BIGINT NOT NULL) \
     ENGINE = InnoDB",
    "INSERT IGNORE INTO mesh_nonce_mark (one, time, previous) VALUES (1, 0, 0)",
    "CREATE TABLE IF NOT EXISTS mesh_server (id VARBINARY(64) PRIMARY KEY, seen DATETIME(3) NOT NULL) ENGINE = InnoDB",
    "CREATE TABLE IF NOT EXISTS mesh_query (number BIGINT AUTO_INCREMENT PRIMARY KEY, id BINARY(16) NOT NULL UNIQUE, \
     format VARCHAR(16) CHARACTER SET ascii NOT NULL, text LONGTEXT CHARACTER SET utf8mb4 NOT NULL, \
     params LONGTEXT CHARACTER SET utf8mb4) ENGINE = InnoDB",
    "CREATE TABLE IF NOT EXISTS mesh_attempt (id VARBINARY(255) PRIMARY KEY, step BIGINT NOT NULL, paid_off BIGINT NOT NULL, \
     INDEX (paid_off)) ENGINE = InnoDB",
]];

const CREATE_LAYOUT: &str = "CREATE TABLE IF NOT EXISTS mesh_layout \
    (one TINYINT PRIMARY KEY, major INT NOT NULL, minor INT NOT NULL) ENGINE = InnoDB";
const HAS_LAYOUT: &str = "SELECT 1 FROM information_schema.TABLES \
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'mesh_layout'";
const VERSION: &str = "SELECT major, minor FROM mesh_layout";

/// Serializes servers that start together.
const LOCK: &str = "SELECT GET_LOCK(CONCAT('mesh_layout.', DATABASE()), 30)";
const UNLOCK: &str = "SELECT RELEASE_LOCK(CONCAT('mesh_layout.', DATABASE()))";

/// Migrates the tables to the current layout, or creates them. If the layout is current, no right to create tables is
/// needed.
///
/// # Errors
/// [`NewerLayout`], or the database cannot be reached, or the account may not create the tables.
pub(super) async fn migrate(connection: &mut Connection) -> Result<(), BoxError> {
    if done(connection).await? == MIGRATIONS.len() {
        return Ok(());
    }
    let locked = connection.query(LOCK, &[]).await?;
    if locked.first().and_then(|row| integer(row, 0)) != Some(1) {
        return Err("another server has been creating the state tables for too long".into());
    }
    let migrated = migrate_locked(connection).await;
    connection.query(UNLOCK, &[]).await?;
    migrated
}

async fn migrate_locked(connection: &mut Connection) -> Result<(), BoxError> {
    // Another server may have migrated in the meantime.
    let done = done(connection).await?;
    let missing: Vec<&str> = MIGRATIONS.iter().skip(done).copied().flatten().copied().collect();
    for statement in missing {
        connection.execute(statement).await?;
    }
    connection.execute(CREATE_LAYOUT).await?;
    let minor = MIGRATIONS.len().saturating_sub(1);
    connection
        .execute(&format!("REPLACE INTO mesh_layout (one, major, minor) VALUES (1, {MAJOR}, {minor})"))
        .await?;
    Ok(())
}

/// Returns the number of completed migrations.
async fn done(connection: &mut Connection) -> Result<usize, BoxError> {
    if connection.query(HAS_LAYOUT, &[]).await?.is_empty() {
        return Ok(0);
    }
    let rows = connection.query(VERSION, &[]).await?;
    let Some(row) = rows.first() else { return Ok(0) };
    let (major, minor) = (integer(row, 0).unwrap_or(MAJOR), integer(row, 1).unwrap_or_default());
    if major > MAJOR {
        return Err(NewerLayout { tables: "the tables of the state have", major, max: MAJOR }.into());
    }
    Ok(usize::try_from(minor).unwrap_or(0) + 1)
}
