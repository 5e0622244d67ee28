//! State in tables of the served database that all servers share: revoked sessions, used nonces, login attempts and
//! persisted queries. The names of the tables begin with `mesh_`, because a MySQL database does not contain schemas.
//!
//! Revoked sessions are looked up in the table: the database sends no messages that would keep a copy in memory current.

pub(crate) mod layout;

pub(crate) use mesh_backend::state::State;
use mesh_backend::state::StateStatements;

use crate::database::Database;
use crate::error::BoxError;

/// Columns are set from left to right.
const STATEMENTS: StateStatements = StateStatements {
    sweep: &[
        ("DELETE FROM mesh_nonce WHERE until <= ?", None),
        ("DELETE FROM mesh_revocation WHERE until <= ?", None),
        ("DELETE FROM mesh_attempt WHERE paid_off <= ?", None),
    ],
    heartbeat: "REPLACE INTO mesh_server (id, seen) VALUES (?, NOW(3))",
    find_query: "SELECT format, text, params FROM mesh_query WHERE id = ?",
    insert_query: "INSERT IGNORE INTO mesh_query (id, format, text, params) VALUES (?, ?, ?, ?)",
    trim_queries: "
DELETE FROM mesh_query WHERE number IN (
    SELECT number FROM (
        SELECT number, ROW_NUMBER() OVER (ORDER BY number DESC) AS count,
            SUM(LENGTH(text) + COALESCE(LENGTH(params), 0)) OVER (ORDER BY number DESC) AS bytes
        FROM mesh_query
    ) AS q
    WHERE count > ? OR bytes > ?
)",
    is_revoked: "SELECT 1 FROM mesh_revocation WHERE session = ?",
    revoke: "INSERT INTO mesh_revocation (session, until) VALUES (?, ?) \
             ON DUPLICATE KEY UPDATE until = GREATEST(until, VALUES(until))",
    mark: "SELECT time FROM mesh_nonce_mark",
    lock_mark: "SELECT time FROM mesh_nonce_mark LOCK IN SHARE MODE",
    claim: &[
        (
            "
UPDATE mesh_nonce_mark SET previous = time, time = ?
WHERE time < ? AND NOT EXISTS (
    SELECT 1 FROM mesh_server WHERE id <> ? AND seen > NOW(3) - INTERVAL 30 SECOND
)",
            &[0, 0, 1],
        ),
        ("SELECT previous FROM mesh_nonce_mark", &[]),
    ],
    claimed: "SELECT session, nonce, time, until FROM mesh_nonce WHERE time > ? AND time <= ?",
    insert_nonce: &[
        ("DELETE FROM mesh_nonce WHERE session = ? AND nonce = ? AND until <= ?", &[0, 1, 4]),
        (
            "INSERT IGNORE INTO mesh_nonce (session, nonce, time, until) \
             SELECT ?, ?, ?, ? FROM mesh_nonce_mark WHERE time < ?",
            &[0, 1, 2, 3, 2],
        ),
    ],
    count_attempt: &[
        // Creates the row of a key, or locks it for the update that follows. `INSERT IGNORE` would lock it for reading, and
        // two servers that both do so cannot update it.
        (
            "INSERT INTO mesh_attempt (id, step, paid_off) VALUES (?, ?, 0) ON DUPLICATE KEY UPDATE step = VALUES(step)",
            &[0, 1],
        ),
        (
            "
UPDATE mesh_attempt SET step = ?,
    paid_off = GREATEST(paid_off + ?, CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED) + ?)
WHERE id = ? AND paid_off <= CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED) + 60000 - ?",
            &[1, 1, 1, 0, 1],
        ),
        (
            "
SELECT paid_off + ? - CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED) - 60000 FROM mesh_attempt WHERE id = ?",
            &[1, 0],
        ),
    ],
    undo_attempt: ("UPDATE mesh_attempt SET paid_off = paid_off - ? WHERE id = ?", &[1, 0]),
};

/// Deletes the records of servers that ended long ago.
const DELETE_ENDED_SERVERS: &str = "DELETE FROM mesh_server WHERE seen < NOW(3) - INTERVAL 1 DAY";

/// Opens the state that all servers of a database share, and creates its tables if they are missing. At most `queries` persisted
/// queries are kept, with texts of at most 32 MiB; the oldest are deleted.
pub(crate) async fn open(database: &Database, queries: usize) -> Result<State, BoxError> {
    let mut connection = database.writes.take(false).await?;
    layout::migrate(&mut connection).await?;
    connection.execute(DELETE_ENDED_SERVERS).await?;
    drop(connection);
    Ok(State::open(database.writes.clone(), database.writes.clone(), &STATEMENTS, queries).await?)
}
