//! Which connection does a runtime's thread read on? One of its own for each database, always at hand.
//!
//! Taking it costs no lock, and its prepared statements need not be looked up ([`Prepared`]). In WAL mode,
//! where readers hold up no writer, its snapshot is left open for the other requests that came in at the same
//! time; each of them makes sure that the database is still in that state. It is closed before the thread
//! waits for more to do, which the runtime must tell ([`before_park`]); else with every read.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Weak};

use mesh_plan::{JsonBody, Plan, ResolveError};
use self_cell::self_cell;

use super::alarm::Budget;
use super::pool::{Pool, Reader};
use super::prepared::Prepared;
use super::read::failed;
use super::stamp::Stamp;

thread_local! {
    static LOCALS: RefCell<Vec<Local>> = const { RefCell::new(Vec::new()) };
    static PARKS: Cell<bool> = const { Cell::new(false) };
}

self_cell!(
    /// A connection with the statements that it has prepared, which borrow it.
    struct Kept {
        owner: Reader,
        #[not_covariant]
        dependent: Prepared,
    }
);

/// A thread's own connection to one database.
struct Local {
    pool: Weak<Pool>,
    kept: Kept,
    /// The state that an open transaction reads.
    snapshot: Option<Stamp>,
}

/// To be called by a runtime's thread before it waits for more to do, as `on_thread_park` of tokio's builder
/// does: ends what was kept open to be shared by requests that come together. A thread that never calls it
/// keeps nothing open.
pub fn before_park() {
    PARKS.set(true);
    LOCALS.with_borrow_mut(|locals| {
        locals.iter_mut().for_each(Local::close_snapshot);
        locals.retain(Local::is_good);
    });
}

/// Reads a plan on this thread's connection, and says in which state of the database where that can be told.
/// `stamp` is the state that it is in now.
pub(super) fn read(
    pool: &Arc<Pool>,
    plan: &Plan,
    budget: Budget,
    stamp: Option<Stamp>,
) -> Result<(JsonBody, Option<Stamp>), ResolveError> {
    let is_of = |local: &Local| std::ptr::eq(local.pool.as_ptr(), Arc::as_ptr(pool));
    // Taken out while it reads, since code of the application may run meanwhile, and read in its turn.
    let found = LOCALS.with_borrow_mut(|locals| {
        let place = locals.iter().position(is_of)?;
        Some(locals.swap_remove(place))
    });
    let mut local = match found {
        Some(local) => local,
        None => Local::open(pool).map_err(failed)?,
    };
    let result = local.read(plan, budget, stamp, pool);
    if local.is_good() {
        LOCALS.with_borrow_mut(|locals| locals.push(local));
    }
    result
}

impl Local {
    fn open(pool: &Arc<Pool>) -> rusqlite::Result<Self> {
        // The connections to databases that are no longer served go now.
        LOCALS.with_borrow_mut(|locals| locals.retain(|local| local.pool.strong_count() > 0));
        let kept = Kept::try_new(Reader::open(pool.path(), pool.is_mapped())?, |reader| {
            Prepared::new(reader.connection())
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
        stamp: Option<Stamp>,
        pool: &Pool,
    ) -> Result<(JsonBody, Option<Stamp>), ResolveError> {
        if self.snapshot.is_some() && self.snapshot != stamp {
            self.close_snapshot();
        }
        let stamps = pool.stamps();
        let fresh = self.snapshot.is_none();
        let snapshot = &mut self.snapshot;
        self.kept.with_dependent_mut(|reader, prepared| {
            reader.alarm().begin(budget);
            if fresh {
                prepared.begin()?;
            }
            let read = prepared.read(reader.connection(), plan, pool.statements());
            // The snapshot was taken between two stamps; where they are equal it is of that state.
            let state = stamp.filter(|stamp| !fresh || stamps.now() == Some(*stamp));
            if state.is_some() && read.is_ok() && stamps.is_wal() && PARKS.get() {
                *snapshot = state;
                return read.map(|body| (body, state));
            }
            *snapshot = None;
            let ended = prepared.commit();
            read.and_then(|body| ended.map(|()| (body, state)))
        })
    }

    /// Ends the transaction that was kept open. Where that fails the connection is not used again.
    fn close_snapshot(&mut self) {
        if self.snapshot.take().is_some() {
            let _ = self.kept.with_dependent_mut(|_, prepared| prepared.commit());
        }
    }
}
