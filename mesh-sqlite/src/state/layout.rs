//! The layout of a state file, with its version and migrations.
//!
//! The version has two parts. Servers of one major version can share a file: a migration to the next minor version only
//! adds tables, indexes, and columns with a default, so servers of earlier minor versions ignore what it adds. The
//! major version is `user_version`; the minor version is in the table `layout`, and is 0 without that table.

use mesh_backend::error::{BoxError, NewerLayout};
use rusqlite::{Connection, TransactionBehavior};

/// The major version of the layout.
const MAJOR: i64 = 1;

/// The migrations to each minor version, from 0 on.
const MIGRATIONS: [&str; 4] = [
    "CREATE TABLE IF NOT EXISTS revocation (
        number INTEGER PRIMARY KEY AUTOINCREMENT, session BLOB NOT NULL UNIQUE, until INTEGER NOT NULL
    );
    CREATE INDEX IF NOT EXISTS revocation_until ON revocation (until);
    CREATE TABLE IF NOT EXISTS nonce (
        session BLOB NOT NULL, nonce TEXT NOT NULL, until INTEGER NOT NULL, PRIMARY KEY (session, nonce)
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS nonce_until ON nonce (until);
    CREATE TABLE IF NOT EXISTS query (
        number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, bytes INTEGER NOT NULL, format TEXT NOT NULL,
        text TEXT NOT NULL
    );",
    "CREATE TABLE layout (minor INTEGER NOT NULL);",
    "ALTER TABLE nonce ADD COLUMN time INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE nonce_mark (time INTEGER NOT NULL, shared_until INTEGER NOT NULL, boot TEXT NOT NULL);
    INSERT INTO nonce_mark (time, shared_until, boot) VALUES (0, 0, '');",
    "ALTER TABLE query ADD COLUMN params TEXT;",
];
/// The first version whose servers support the mark, as an index of [`MIGRATIONS`].
const WITH_MARK: usize = 2;
/// For this time after the migration, servers of earlier versions may still insert nonces.
const SHARE_NONCES: &str =
    "UPDATE nonce_mark SET shared_until = (CAST(strftime('%s') AS INTEGER) + 3600) * 1000";

/// Migrates a file to the current layout. This creates the tables of an empty file.
///
/// # Errors
/// [`NewerLayout`]; the file belongs to another program, and is left unchanged; or the file cannot be written.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), BoxError> {
    // Servers that start together wait here for each other.
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let major: i64 = change.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if major > MAJOR {
        return Err(NewerLayout { tables: "it has", major, max: MAJOR }.into());
    }
    let has_table = |name: &str| {
        change.prepare("SELECT 1 FROM sqlite_schema WHERE name LIKE ?1 AND type = 'table'")?.exists([name])
    };
    let done = match major {
        MAJOR if has_table("layout")? => {
            let minor: i64 =
                change.query_row("SELECT coalesce(max(minor), 0) FROM layout", [], |row| row.get(0))?;
            usize::try_from(minor)? + 1
        }
        MAJOR => 1,
        0 if !has_table("%")? => 0,
        _ => return Err("it belongs to another program".into()),
    };
    if done >= MIGRATIONS.len() {
        return Ok(());
    }
    for migration in MIGRATIONS.iter().skip(done) {
        change.execute_batch(migration)?;
    }
    if (1..=WITH_MARK).contains(&done) {
        change.execute_batch(SHARE_NONCES)?;
    }
    change.pragma_update(None, "user_version", MAJOR)?;
    change.execute("DELETE FROM layout", [])?;
    change.execute("INSERT INTO layout (minor) VALUES (?1)", [i64::try_from(MIGRATIONS.len() - 1)?])?;
    Ok(change.commit()?)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use mesh_integrity::{NonceRow, NonceTable, NonceUse, RevocationStore, SessionId, unix_millis};
    use mesh_plan::persisted::{ParamDeclarations, PersistedQuery, QueryStore};
    use mesh_ql::Format;
    use rusqlite::params;

    use super::*;
    use crate::state::{State, StateLimits};
    use crate::tests::File;

    /// The layout 1.0, as its servers create it.
    const LAYOUT_1_0: &str = include_str!("layout_1_0.sql");
    const FUTURE: i64 = 1 << 50;

    fn open(file: &File) -> Result<State, String> {
        State::open(&State::default_path(&file.path()), StateLimits::default())
            .map_err(|error| error.to_string())
    }

    fn connect(file: &File) -> Connection {
        Connection::open(State::default_path(&file.path())).unwrap()
    }

    fn version(connection: &Connection) -> (i64, Option<i64>) {
        let major = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
        (major, connection.query_row("SELECT minor FROM layout", [], |row| row.get(0)).ok())
    }

    const SESSION: SessionId = SessionId([7; 16]);

    async fn is_new(state: &State, nonce: &str) -> bool {
        let row = NonceRow { session: SESSION, text: nonce.into(), time: 1, until: 2 };
        state.insert(vec![row], 1).await.unwrap() == [NonceUse::New]
    }

    /// Writes as a server of layout 1.0 does.
    fn write_as_1_0(connection: &Connection, query: &PersistedQuery, nonce: &str) {
        connection.execute_batch(LAYOUT_1_0).unwrap();
        let (id, text) = (query.id(), query.text());
        connection
            .execute(
                "INSERT OR REPLACE INTO query (id, bytes, format, text) VALUES (?1, ?2, ?3, ?4)",
                params![id.as_bytes().as_slice(), text.len() as i64, query.format().as_str(), text],
            )
            .unwrap();
        connection
            .execute(
                "INSERT INTO nonce (session, nonce, until) VALUES (?1, ?2, ?3)",
                params![SESSION.0.as_slice(), nonce, FUTURE],
            )
            .unwrap();
        connection
            .execute(
                "INSERT OR REPLACE INTO revocation (session, until) VALUES (?1, ?2)",
                params![SESSION.0.as_slice(), FUTURE],
            )
            .unwrap();
    }

    #[tokio::test]
    async fn the_state_of_the_previous_release_is_kept() {
        let file = File::new("");
        let query = PersistedQuery::new(Format::Ql, "{ post title }");
        write_as_1_0(&connect(&file), &query, "used");
        let state = open(&file).unwrap();
        assert_eq!(version(&connect(&file)), (1, Some(3)));
        assert!(state.is_revoked(SESSION, 0).await.unwrap());
        assert!(!is_new(&state, "used").await);
        assert!(state.find(query.id()).await.unwrap().is_some());
        let now = unix_millis(SystemTime::now());
        assert_eq!(state.claim(now, now).await.unwrap(), None, "a server of that release may still run");
        assert!(state.claim(now, now + 3_601_000).await.unwrap().is_some());
        open(&file).unwrap();
        assert_eq!(version(&connect(&file)), (1, Some(3)), "a second start changes nothing");
    }

    #[tokio::test]
    async fn servers_of_neighboring_versions_share_a_file() {
        let file = File::new("");
        let state = open(&file).unwrap();
        let old = connect(&file);
        let query = PersistedQuery::new(Format::Ql, "{ post id }");
        write_as_1_0(&old, &query, "used");
        assert!(state.find(query.id()).await.unwrap().is_some());
        assert!(!is_new(&state, "used").await);
        // A server of a later version adds to the layout.
        old.execute_batch(
            "ALTER TABLE query ADD COLUMN note TEXT; ALTER TABLE revocation ADD COLUMN reason TEXT DEFAULT '';
             ALTER TABLE nonce ADD COLUMN path TEXT; CREATE TABLE more (id INTEGER); UPDATE layout SET minor = 9",
        )
        .unwrap();
        let again = open(&file).unwrap();
        assert_eq!(version(&old), (1, Some(9)), "the version is not lowered");
        for state in [state, again] {
            let query = PersistedQuery::new(Format::Ql, "{ post body }");
            state.save(&query).await.unwrap();
            assert!(state.find(query.id()).await.unwrap().is_some());
            state.revoke(SESSION, 1_000, 0).await.unwrap();
            assert!(state.is_revoked(SESSION, 0).await.unwrap());
        }
    }

    #[tokio::test]
    async fn declarations_of_parameters_are_added_to_a_file_of_layout_1_2() {
        let file = File::new("");
        drop(open(&file).unwrap());
        let old = connect(&file);
        old.execute_batch("ALTER TABLE query DROP COLUMN params; UPDATE layout SET minor = 2").unwrap();
        let query = PersistedQuery::new(Format::Ql, "{ post title }");
        write_as_1_0(&old, &query, "used");
        let state = open(&file).unwrap();
        assert_eq!(version(&old), (1, Some(3)));
        assert_eq!(state.find(query.id()).await.unwrap(), Some(query.clone()));
        let declared = ParamDeclarations::parse(r#"{"n":{"type":"integer","default":null}}"#).unwrap();
        let with_params = PersistedQuery::new(Format::Json, "{}").with_params(declared);
        state.save(&with_params).await.unwrap();
        // The earlier server still runs.
        let text: String =
            old.query_row("SELECT text FROM query WHERE format = 'json'", [], |row| row.get(0)).unwrap();
        assert_eq!(text, "{}");
        write_as_1_0(&old, &query, "used too");
        for state in [state, open(&file).unwrap()] {
            assert_eq!(state.find(with_params.id()).await.unwrap().as_ref(), Some(&with_params));
            assert_eq!(state.find(query.id()).await.unwrap().as_ref(), Some(&query));
        }
    }

    #[test]
    fn a_newer_major_layout_is_refused_and_unchanged() {
        let file = File::new("");
        connect(&file)
            .execute_batch("CREATE TABLE revocation (other TEXT); PRAGMA user_version = 2")
            .unwrap();
        let error = State::open(&State::default_path(&file.path()), StateLimits::default()).unwrap_err();
        assert!(error.is_newer_layout());
        let error = error.to_string();
        let expected = "it has layout 2, but this server reads only layouts up to 1; use a newer server";
        assert!(error.ends_with(expected), "{error}");
        let tables = "SELECT count(*) FROM sqlite_schema";
        assert_eq!(connect(&file).query_row(tables, [], |row| row.get::<_, i64>(0)), Ok(1));
    }

    #[test]
    fn servers_that_start_together_migrate_once() {
        let file = File::new("");
        connect(&file).execute_batch(LAYOUT_1_0).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| open(&file).unwrap());
            }
        });
        let count = "SELECT count(*) FROM layout";
        assert_eq!(connect(&file).query_row(count, [], |row| row.get::<_, i64>(0)), Ok(1));
    }
}
