//! State in the schema `mesh` of the primary that all servers share: revoked sessions, used nonces, login attempts and
//! persisted queries.

pub(crate) mod layout;

pub(crate) use mesh_backend::state::State;
use mesh_backend::state::StateStatements;

use crate::database::Database;
use crate::error::BoxError;

/// The number of login counters that are kept.
const ATTEMPTS: u64 = 300_000;

/// Deletes the counters beyond a number, those with the fewest attempts first.
const TRIM_ATTEMPTS: &str = "
DELETE FROM mesh.attempt
WHERE key IN (SELECT key FROM mesh.attempt ORDER BY paid_off DESC, key OFFSET $1::bigint)";

const STATEMENTS: StateStatements = StateStatements {
    sweep: &[
        ("DELETE FROM mesh.nonce WHERE until <= $1::bigint", None),
        ("DELETE FROM mesh.revocation WHERE until <= $1::bigint", None),
        ("DELETE FROM mesh.attempt WHERE paid_off <= $1::bigint", None),
        (TRIM_ATTEMPTS, Some(ATTEMPTS)),
    ],
    // Deletes the records of servers that ended long ago.
    heartbeat: "
WITH ended AS (DELETE FROM mesh.server WHERE seen < clock_timestamp() - interval '1 day')
INSERT INTO mesh.server (id, seen) VALUES ($1::text, clock_timestamp())
ON CONFLICT (id) DO UPDATE SET seen = clock_timestamp()",
    find_query: "SELECT format, text, params FROM mesh.query WHERE id = $1::bytea",
    insert_query: "
INSERT INTO mesh.query (id, format, text, params) VALUES ($1::bytea, $2::text, $3::text, $4::text)
ON CONFLICT (id) DO NOTHING",
    trim_queries: "
DELETE FROM mesh.query WHERE number IN (
    SELECT number FROM (
        SELECT number, row_number() OVER newest AS count, sum(octet_length(text) + coalesce(octet_length(params), 0)) OVER newest AS bytes
        FROM mesh.query WINDOW newest AS (ORDER BY number DESC)
    ) AS q
    WHERE count > $1::bigint OR bytes > $2::bigint
)",
    is_revoked: "SELECT 1 FROM mesh.revocation WHERE session = $1::bytea",
    // Servers of earlier versions keep revoked sessions in memory and are notified.
    revoke: "
WITH revoked AS (
    INSERT INTO mesh.revocation AS r (session, until) VALUES ($1::bytea, $2::bigint)
    ON CONFLICT (session) DO UPDATE SET until = greatest(r.until, excluded.until) RETURNING r.until
)
SELECT pg_notify('mesh_announcements', 'revoked ' || encode($1::bytea, 'hex') || ' ' || until::text || ' 0') FROM revoked",
    mark: "SELECT time FROM mesh.nonce_mark",
    lock_mark: "SELECT time FROM mesh.nonce_mark FOR SHARE",
    claim: &[(
        "
UPDATE mesh.nonce_mark SET time = $1::bigint, previous = time
WHERE time < $1::bigint AND shared_until <= clock_timestamp() AND NOT EXISTS (
    SELECT FROM mesh.server WHERE id <> $2::text AND seen > clock_timestamp() - interval '30 seconds'
)
RETURNING previous",
        &[0, 1],
    )],
    claimed: "
SELECT session, nonce, time, until FROM mesh.nonce WHERE time > $1::bigint AND time <= $2::bigint",
    insert_nonce: &[(
        "
INSERT INTO mesh.nonce AS n (session, nonce, time, until)
SELECT $1::bytea, $2::text, $3::bigint, $4::bigint FROM mesh.nonce_mark WHERE time < $3::bigint
ON CONFLICT (session, nonce) DO UPDATE SET time = excluded.time, until = excluded.until WHERE n.until <= $5::bigint
RETURNING time",
        &[0, 1, 2, 3, 4],
    )],
    count_attempt: &[
        (
            "
INSERT INTO mesh.attempt AS a (key, step, paid_off)
VALUES ($1::bytea, $2::bigint, (extract(epoch FROM statement_timestamp()) * 1000::numeric)::bigint + $2::bigint)
ON CONFLICT (key) DO UPDATE
SET step = excluded.step, paid_off = greatest(a.paid_off + excluded.step, excluded.paid_off)
WHERE a.paid_off <= (extract(epoch FROM statement_timestamp()) * 1000::numeric)::bigint + 60000 - excluded.step
RETURNING step",
            &[0, 1],
        ),
        (
            "
SELECT paid_off + $2::bigint - (extract(epoch FROM statement_timestamp()) * 1000::numeric)::bigint - 60000
FROM mesh.attempt WHERE key = $1::bytea",
            &[0, 1],
        ),
    ],
    undo_attempt: ("UPDATE mesh.attempt SET paid_off = paid_off - $2::bigint WHERE key = $1::bytea", &[0, 1]),
};

/// Opens the state that all servers of a database share, and creates its tables if they are missing. Tables of an
/// earlier version are migrated; earlier servers of the same major version can still use them. At most `queries`
/// persisted queries are kept, with texts of at most 32 MiB; the oldest are deleted.
pub(crate) async fn open(database: &Database, queries: usize) -> Result<State, BoxError> {
    let connection = database.writes.take(false).await?;
    layout::migrate(&connection).await?;
    drop(connection);
    Ok(State::open(database.writes.clone(), database.pool.clone(), &STATEMENTS, queries).await?)
}
