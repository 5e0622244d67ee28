//! The connection of a thread to each database, on which light reads run.
//!
//! Using it takes no lock, and its statements are found by plan ([`PreparedPlans`]). In WAL mode, in which readers do not
//! block writers, its snapshot stays open for other requests that arrive at the same time; each checks that the version of
//! the database is still the same. The snapshot is closed before the thread waits for events, which the runtime announces
//! through [`before_park`]; without that call, after every read.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Weak};

use mesh_plan::{JsonBody, Plan, ResolveError};
use self_cell::self_cell;

use crate::data_version::DataVersion;
use crate::pool::interrupt::Budget;
use crate::pool::prepared_plans::PreparedPlans;
use crate::pool::{Pool, Reader};
use crate::read::failed;

thread_local! {
    static CONNECTIONS: RefCell<Vec<ThreadConnection>> = const { RefCell::new(Vec::new()) };
    static PARKS: Cell<bool> = const { Cell::new(false) };
}

self_cell!(
    /// A connection with the statements that it has prepared, which borrow it.
    struct ConnectionWithPlans {
        owner: Reader,
        #[not_covariant]
        dependent: PreparedPlans,
    }
);

/// A thread's own connection to one database.
struct ThreadConnection {
    pool: Weak<Pool>,
    kept: ConnectionWithPlans,
    /// The state that an open transaction reads.
    snapshot: Option<DataVersion>,
}

/// To be called by a runtime's thread before it waits for more to do, as `on_thread_park` of tokio's builder
/// does: ends what was kept open to be shared by requests that come together. A thread that never calls it
/// keeps nothing open.
pub fn before_park() {
    PARKS.set(true);
    CONNECTIONS.with_borrow_mut(|connections| {
        connections.iter_mut().for_each(ThreadConnection::close_snapshot);
        connections.retain(ThreadConnection::is_good);
    });
}

/// Reads a plan on this thread's connection, and says in which state of the database where that can be told.
/// `stamp` is the state that it is in now.
pub(crate) fn read(
    pool: &Arc<Pool>,
    plan: &Plan,
    budget: Budget,
    version: Option<DataVersion>,
) -> Result<(JsonBody, Option<DataVersion>), ResolveError> {
    let is_of = |connection: &ThreadConnection| std::ptr::eq(connection.pool.as_ptr(), Arc::as_ptr(pool));
    // Taken out while it reads, since code of the application may run meanwhile, and read in its turn.
    let found = CONNECTIONS.with_borrow_mut(|connections| {
        let place = connections.iter().position(is_of)?;
        Some(connections.swap_remove(place))
    });
    let mut connection = match found {
        Some(connection) => connection,
        None => ThreadConnection::open(pool).map_err(failed)?,
    };
    let result = connection.read(plan, budget, version, pool);
    if connection.is_good() {
        CONNECTIONS.with_borrow_mut(|connections| connections.push(connection));
    }
    result
}

impl ThreadConnection {
    fn open(pool: &Arc<Pool>) -> rusqlite::Result<Self> {
        // The connections to databases that are no longer served go now.
        CONNECTIONS.with_borrow_mut(|connections| {
            connections.retain(|connection| connection.pool.strong_count() > 0)
        });
        let kept = ConnectionWithPlans::try_new(Reader::open(pool.path(), pool.is_mapped())?, |reader| {
            PreparedPlans::new(reader.connection())
        })?;
        Ok(Self { pool: Arc::downgrade(pool), kept, snapshot: None })
    }

    /// Whether nothing is under way on it but a snapshot that is known.
    fn is_good(&self) -> bool {
        self.snapshot.is_some() || self.kept.borrow_owner().connection().is_autocommit()
    }

    fn read(
        &mut self,
        plan: &Plan,
        budget: Budget,
        version: Option<DataVersion>,
        pool: &Pool,
    ) -> Result<(JsonBody, Option<DataVersion>), ResolveError> {
        if self.snapshot.is_some() && self.snapshot != version {
            self.close_snapshot();
        }
        let versions = pool.versions();
        let fresh = self.snapshot.is_none();
        let snapshot = &mut self.snapshot;
        self.kept.with_dependent_mut(|reader, prepared| {
            reader.interrupt().begin(budget);
            if fresh {
                prepared.begin()?;
            }
            let read = prepared.read(reader.connection(), plan, pool.statements());
            // The snapshot was taken between two stamps; where they are equal it is of that state.
            let state = version.filter(|version| !fresh || versions.now() == Some(*version));
            if state.is_some() && read.is_ok() && versions.is_wal() && PARKS.get() {
                *snapshot = state;
                return read.map(|body| (body, state));
            }
            *snapshot = None;
            let committed = prepared.commit();
            read.and_then(|body| committed.map(|()| (body, state)))
        })
    }

    /// Ends the transaction that was kept open. Where that fails the connection is not used again.
    fn close_snapshot(&mut self) {
        if self.snapshot.take().is_some() {
            let _ = self.kept.with_dependent_mut(|_, prepared| prepared.commit());
        }
    }
}
