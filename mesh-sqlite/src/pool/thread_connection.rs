//! Per-thread connections, one for each database, on which light reads run.
//!
//! Using a connection takes no lock, and its statements are found by plan. In WAL mode, in which readers do not block
//! writers, its snapshot stays open for other requests that arrive at the same time; each of them checks that the
//! version of the database is unchanged. The snapshot is closed before the thread waits for events, which the runtime
//! announces through [`before_park`]. A thread without that call closes it after every read.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Weak};

use mesh_plan::backend::{LocalCache, PlanId, Script, ScriptError, StepResult, run_reads};
use mesh_plan::{JsonBody, Plan, ResolveError};
use rusqlite::{Connection, Statement};
use self_cell::self_cell;

use crate::file::data_version::DataVersion;
use crate::pool::interrupt::Budget;
use crate::pool::{Pool, Reader};
use crate::read::{StatementTree, failed};

thread_local! {
    static CONNECTIONS: RefCell<Vec<ThreadConnection>> = const { RefCell::new(Vec::new()) };
    static HAS_PARK_HOOK: Cell<bool> = const { Cell::new(false) };
}

self_cell!(
    /// A connection with the statements that it has prepared, which borrow it.
    struct ConnectionWithPlans {
        owner: Reader,
        #[not_covariant]
        dependent: PreparedPlans,
    }
);

/// The prepared statements of one connection. Looking up a statement by its text costs more than running it for one
/// row, so the statements of a plan are kept together under the plan's id. Parameters that do not change between runs
/// stay bound.
struct PreparedPlans<'c> {
    begin: Statement<'c>,
    commit: Statement<'c>,
    plans: LocalCache<PlanId, StatementTree<'c>>,
}

impl<'c> PreparedPlans<'c> {
    /// Prepares the statements for transactions. `bytes` bounds the memory of the statements of plans.
    fn new(connection: &'c Connection, bytes: usize) -> rusqlite::Result<Self> {
        let (begin, commit) = (connection.prepare("BEGIN")?, connection.prepare("COMMIT")?);
        Ok(Self { begin, commit, plans: LocalCache::new(bytes) })
    }

    /// Reads a plan inside a transaction.
    fn read(&mut self, reader: &'c Reader, plan: &Plan) -> Result<JsonBody, ResolveError> {
        if let Some(statements) = self.plans.get_mut(plan.id()) {
            return statements.run(plan);
        }
        let lowered = reader.lower(plan)?;
        let mut statements = StatementTree::prepare(&reader.connection, &lowered).map_err(failed)?;
        let read = statements.run(plan);
        let bytes = statements.bytes();
        self.plans.insert(plan.id().clone(), statements, bytes);
        read
    }
}

/// The connection of a thread to one database.
struct ThreadConnection {
    pool: Weak<Pool>,
    connection: ConnectionWithPlans,
    /// The version that the open transaction reads.
    snapshot: Option<DataVersion>,
}

/// Closes the snapshots that this thread keeps open for concurrent requests. Call this on each thread of the runtime
/// before it waits for events, for example with `on_thread_park` of tokio's builder. A thread that never calls it keeps
/// no snapshots open.
pub fn before_park() {
    HAS_PARK_HOOK.set(true);
    CONNECTIONS.with_borrow_mut(|connections| {
        connections.iter_mut().for_each(ThreadConnection::close_snapshot);
        connections.retain(ThreadConnection::is_reusable);
    });
}

/// Reads a plan on the connection of this thread. `version` is the current version of the database. Also returns the version
/// that was read, if it is known.
pub(crate) fn read(
    pool: &Arc<Pool>,
    plan: &Plan,
    budget: Budget,
    version: Option<DataVersion>,
) -> Result<(JsonBody, Option<DataVersion>), ResolveError> {
    with_connection(pool, |connection| {
        connection.read(budget, version, pool, |prepared, reader| prepared.read(reader, plan))
    })
}

/// Runs a script of reads on the connection of this thread, all from one snapshot. `version` is the current version of the
/// database.
pub(crate) fn read_script(
    pool: &Arc<Pool>,
    script: &dyn Script,
    budget: Budget,
    version: Option<DataVersion>,
) -> Result<Vec<StepResult>, ScriptError> {
    let read = with_connection(pool, |connection| {
        connection.read(budget, version, pool, |prepared, reader| {
            run_reads(script, |plan| prepared.read(reader, plan))
        })
    });
    read.map(|(done, _)| done)
}

/// Calls `read` with the connection of this thread.
fn with_connection<T, E: From<ResolveError>>(
    pool: &Arc<Pool>,
    read: impl FnOnce(&mut ThreadConnection) -> Result<T, E>,
) -> Result<T, E> {
    let serves_pool =
        |connection: &ThreadConnection| std::ptr::eq(connection.pool.as_ptr(), Arc::as_ptr(pool));
    // The connection is removed during the read, because application code may run and start another read.
    let found = CONNECTIONS.with_borrow_mut(|connections| {
        let index = connections.iter().position(serves_pool)?;
        Some(connections.swap_remove(index))
    });
    let mut connection = match found {
        Some(connection) => connection,
        None => ThreadConnection::open(pool).map_err(failed)?,
    };
    let result = read(&mut connection);
    if connection.is_reusable() {
        CONNECTIONS.with_borrow_mut(|connections| connections.push(connection));
    }
    result
}

impl ThreadConnection {
    fn open(pool: &Arc<Pool>) -> rusqlite::Result<Self> {
        // Closes connections to databases that are not served any more.
        CONNECTIONS.with_borrow_mut(|connections| {
            connections.retain(|connection| connection.pool.strong_count() > 0)
        });
        let connection =
            ConnectionWithPlans::try_new(Reader::open(&pool.path, pool.settings.memory_map)?, |reader| {
                PreparedPlans::new(&reader.connection, pool.settings.statements)
            })?;
        Ok(Self { pool: Arc::downgrade(pool), connection, snapshot: None })
    }

    /// Returns whether the connection has no open transaction except a known snapshot.
    fn is_reusable(&self) -> bool {
        self.snapshot.is_some() || self.connection.borrow_owner().connection.is_autocommit()
    }

    /// Calls `read` in a transaction. Also returns the version that was read, if it is known.
    fn read<T, E: From<ResolveError>>(
        &mut self,
        budget: Budget,
        version: Option<DataVersion>,
        pool: &Pool,
        read: impl for<'c> FnOnce(&mut PreparedPlans<'c>, &'c Reader) -> Result<T, E>,
    ) -> Result<(T, Option<DataVersion>), E> {
        if self.snapshot.is_some() && self.snapshot != version {
            self.close_snapshot();
        }
        let versions = &pool.versions;
        let fresh = self.snapshot.is_none();
        let snapshot = &mut self.snapshot;
        self.connection.with_dependent_mut(|reader, prepared| {
            reader.interrupt.begin(budget);
            if fresh {
                prepared.begin.raw_execute().map_err(failed)?;
            }
            let read = read(prepared, reader);
            // The version was read before and after the snapshot was taken. If both are equal, the snapshot has that
            // version.
            let read_version = version.filter(|version| !fresh || versions.current() == Some(*version));
            if read_version.is_some() && read.is_ok() && versions.is_wal() && HAS_PARK_HOOK.get() {
                *snapshot = read_version;
                return read.map(|body| (body, read_version));
            }
            *snapshot = None;
            let committed = prepared.commit.raw_execute().map_err(failed);
            let read = read?;
            committed?;
            Ok((read, read_version))
        })
    }

    /// Ends the open transaction. If that fails, the connection is not used again.
    fn close_snapshot(&mut self) {
        if self.snapshot.take().is_some() {
            let _ = self.connection.with_dependent_mut(|_, prepared| prepared.commit.raw_execute());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use mesh_plan::Request;
    use mesh_ql::Format;

    use super::*;
    use crate::tests::{File, mesh};

    /// Returns the number of plans with prepared statements on the connection of this thread, and their memory.
    fn cached() -> (usize, usize) {
        CONNECTIONS.with_borrow_mut(|connections| {
            let connection = &mut connections.last_mut().unwrap().connection;
            connection.with_dependent(|_, prepared| (prepared.plans.len(), prepared.plans.weight()))
        })
    }

    /// Reads `count` queries, each a little longer than the one before, and returns the cached plans and their memory.
    fn read_many(bytes: usize, count: usize) -> (usize, usize) {
        let file =
            File::new("CREATE TABLE t (id INTEGER PRIMARY KEY, parent_id INTEGER REFERENCES t (id), n TEXT)");
        let database = file.database_with(|settings| settings.statements = bytes);
        let mesh = mesh(&database);
        let pool = &database.file.last().pool;
        let budget = || Budget::until(Instant::now() + Duration::from_secs(60));
        for number in 0..count {
            let nested = format!("parent {{ id {} }}", "n ".repeat(number));
            let plan = mesh.plan(&Request::collection(Format::Ql, &format!("{{ t id {nested} }}"))).unwrap();
            read(pool, &plan, budget(), None).unwrap();
            assert!(cached().1 <= bytes, "{:?}", cached());
        }
        cached()
    }

    #[test]
    fn statements_are_bounded_in_bytes() {
        let (all, bytes) = read_many(1 << 20, 20);
        assert_eq!(all, 20);
        assert!(bytes > 20 * 2 * 1_000, "a statement takes more than a kilobyte: {bytes} in all");
        let (few, _) = read_many(bytes / 2, 100);
        assert!((2..all).contains(&few), "{few}");
        assert_eq!(read_many(0, 3), (0, 0), "the cache is off");
    }
}
