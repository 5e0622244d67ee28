//! The layout of the schema `mesh`, with its version and migrations.
//!
//! The version has two parts. Servers of one major version can share the schema: a migration to the next minor version
//! only adds tables, indexes, and columns with a default, so servers of earlier minor versions ignore what it adds.
//! Both parts are in the table `mesh.layout`; without that table, the version is 1.0.

use crate::error::{BoxError, NewerLayout};
use crate::pool::connection::Connection;
use crate::sql::TextParam;

/// The major version of the layout.
const MAJOR: i32 = 1;

/// The migrations to each minor version, from 0 on.
const MIGRATIONS: [&str; 4] = [
    "CREATE SCHEMA IF NOT EXISTS mesh;
    CREATE TABLE IF NOT EXISTS mesh.revocation (session bytea PRIMARY KEY, until bigint NOT NULL);
    CREATE INDEX IF NOT EXISTS revocation_until ON mesh.revocation (until);
    CREATE TABLE IF NOT EXISTS mesh.nonce (
        session bytea NOT NULL, nonce text NOT NULL, until bigint NOT NULL, PRIMARY KEY (session, nonce)
    );
    CREATE INDEX IF NOT EXISTS nonce_until ON mesh.nonce (until);
    CREATE TABLE IF NOT EXISTS mesh.query (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id bytea NOT NULL UNIQUE, format text NOT NULL,
        text text NOT NULL
    );
    CREATE TABLE IF NOT EXISTS mesh.attempt (
        key bytea PRIMARY KEY, step bigint NOT NULL, paid_off bigint NOT NULL
    );",
    "CREATE TABLE mesh.layout (major integer NOT NULL, minor integer NOT NULL);
    INSERT INTO mesh.layout (major, minor) VALUES (1, 0);",
    "ALTER TABLE mesh.nonce ADD COLUMN time bigint NOT NULL DEFAULT 0;
    CREATE TABLE mesh.nonce_mark (time bigint NOT NULL, previous bigint NOT NULL, shared_until timestamptz NOT NULL);
    INSERT INTO mesh.nonce_mark (time, previous, shared_until) VALUES (0, 0, '-infinity');
    CREATE TABLE mesh.server (id text PRIMARY KEY, seen timestamptz NOT NULL);",
    "ALTER TABLE mesh.query ADD COLUMN params text;",
];
/// The first version whose servers support the mark, as an index of [`MIGRATIONS`].
const WITH_MARK: usize = 2;
/// For this time after the migration, servers of earlier versions may still insert nonces.
const SHARE_NONCES: &str = "UPDATE mesh.nonce_mark SET shared_until = now() + interval '1 hour'";

/// Serializes servers that start together, until the end of the transaction.
const LOCK: &str = "SELECT pg_advisory_xact_lock(7815104972317)";
/// Counts a table of each of the first two minor versions. `to_regclass` does not see what another session has just created.
const HAS_TABLES: &str = "
SELECT count(*) FILTER (WHERE c.relname = 'revocation'), count(*) FILTER (WHERE c.relname = 'layout')
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = 'mesh' AND c.relkind = 'r'";
const VERSION: &str = "SELECT major, minor FROM mesh.layout ORDER BY major DESC, minor DESC LIMIT 1";
const SET_MINOR: &str = "UPDATE mesh.layout SET minor = $1::integer";

/// Migrates the schema to the current layout, or creates it. If the layout is current, no right to create objects is
/// needed.
///
/// # Errors
/// [`NewerLayout`], or the database cannot be reached, or the account may not create the tables.
pub(super) async fn migrate(connection: &Connection) -> Result<(), BoxError> {
    connection.begin().await?;
    // Changes that another server commits while this one waits for the lock have to be visible.
    connection.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED").await?;
    if done(connection).await? < MIGRATIONS.len() {
        connection.query_once(LOCK, &[]).await?;
        // Another server may have migrated in the meantime.
        let done = done(connection).await?;
        for migration in MIGRATIONS.iter().skip(done) {
            connection.execute(migration).await?;
        }
        if (1..=WITH_MARK).contains(&done) {
            connection.execute(SHARE_NONCES).await?;
        }
        if done < MIGRATIONS.len() {
            connection.query_once(SET_MINOR, &[TextParam::number(MIGRATIONS.len() as u64 - 1)]).await?;
        }
    }
    Ok(connection.end("COMMIT").await?)
}

/// Returns the number of completed migrations.
async fn done(connection: &Connection) -> Result<usize, BoxError> {
    let rows = connection.query_once(HAS_TABLES, &[]).await?;
    let (tables, layouts) = rows.first().map_or((0, 0), |row| (row.get::<_, i64>(0), row.get::<_, i64>(1)));
    if layouts == 0 {
        return Ok(usize::from(tables > 0));
    }
    let rows = connection.query_once(VERSION, &[]).await?;
    let (major, minor) = rows.first().map_or((MAJOR, 0), |row| (row.get::<_, i32>(0), row.get::<_, i32>(1)));
    if major > MAJOR {
        return Err(
            NewerLayout { tables: "the schema 'mesh' has", major: major.into(), max: MAJOR.into() }.into()
        );
    }
    Ok(usize::try_from(minor).unwrap_or(0) + 1)
}
