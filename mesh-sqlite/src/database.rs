//! A database file that is open for reading.

pub(crate) mod current_file;

use std::fmt;
use std::future::ready;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_plan::{Answer, Context, Either, JsonBody, MaybeReady, Plan, ResolveError, Resolver, Usage};
use mesh_schema::Catalog;

use crate::database::current_file::{CurrentFile, OpenFile};
use crate::error::{Cause, OpenError};
use crate::file::data_version::DataVersion;
use crate::pool::interrupt::Budget;
use crate::pool::{DEFAULT_TIMEOUT, Reader, slow_reads, thread_connection};
use crate::{catalog, read};

/// The budget of a read on the calling thread, one or two milliseconds of work. Most reads take a fraction of it, and
/// moving them to another thread would cost more than running them. Counted in steps of SQLite rather than in time,
/// because on a busy machine every read takes long.
const INLINE_CHECKS: u32 = 20;

/// The time limit of these steps.
const INLINE_TIME: Duration = Duration::from_millis(10);

/// The default size of the response cache in bytes.
const RESPONSE_CACHE: usize = 64 << 20;

/// A SQLite database that is open for reading. Clones share connections and caches.
#[derive(Clone)]
pub struct Database {
    pub(crate) file: Arc<CurrentFile>,
}

/// The contents of a database.
#[derive(Clone, Debug)]
pub struct Contents {
    /// The tables and views.
    pub catalog: Catalog,
    /// Notes for the log: what was left out, and why.
    pub notes: Vec<String>,
}

impl Database {
    /// Opens a file for reading and checks that it is a database.
    ///
    /// # Errors
    /// The file is missing, cannot be read or is not a SQLite database.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let failed = |cause| OpenError { path: path.display().to_string(), cause };
        slow_reads::record_processors();
        // SQLite reports many causes with one message; these two are the usual ones.
        if path.is_dir() {
            return Err(failed(Cause::Folder));
        }
        if !path.exists() {
            return Err(failed(Cause::Missing));
        }
        let opened =
            OpenFile::open(path, RESPONSE_CACHE, true).map_err(|error| failed(Cause::Sqlite(error)))?;
        Ok(Self { file: Arc::new(CurrentFile::new(opened, RESPONSE_CACHE)) })
    }

    /// Sets the size of the response cache in bytes; 0 turns it off. A cached answer is served only while the database
    /// is unchanged, which is checked for every request. Turn the cache off for databases on network file systems, whose
    /// clients may see writes of others late.
    #[must_use]
    pub fn response_cache(self, bytes: usize) -> Self {
        Self { file: Arc::new(self.file.with_cache(bytes)) }
    }

    /// Sets whether the file is mapped into memory, which saves a copy of each page that is read. On by default. If
    /// another program truncates a mapped file during a read, the process is killed; without the map the read fails.
    #[must_use]
    pub fn memory_map(self, on: bool) -> Self {
        self.file.last().pool.map_files(on);
        self
    }

    /// Reads the catalog. `times` names tables and columns that hold times although their declared types do not say so
    /// ([`mesh_schema::Document::time_columns`]).
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn contents(&self, times: &[(String, String)]) -> Result<Contents, OpenError> {
        let pool = &self.file.last().pool;
        let failed =
            |error| OpenError { path: pool.path().display().to_string(), cause: Cause::Sqlite(error) };
        let reader = pool.take().map_err(failed)?;
        let (catalog, notes) = catalog::read(reader.connection(), times).map_err(failed)?;
        pool.give(reader);
        Ok(Contents { catalog, notes })
    }

    /// Checks on a new connection that the file exists and can be read.
    ///
    /// # Errors
    /// The file is missing or cannot be read.
    pub async fn ping(&self) -> Result<(), OpenError> {
        let path = self.path();
        let opening = tokio::task::spawn_blocking(move || Self::open(&path).map(drop));
        opening.await.unwrap_or_else(|_| {
            let path = self.path().display().to_string();
            Err(OpenError { path, cause: Cause::Missing })
        })
    }

    /// Returns usage figures of the connections and the response cache.
    pub fn usage(&self) -> Usage {
        let file = self.file.last();
        let mut usage = file.pool.usage();
        file.cache.as_ref().inspect(|cache| cache.add_usage(&mut usage));
        usage
    }

    /// Returns the query plan of each statement of a plan: its SQL text, and a line for each step.
    ///
    /// # Errors
    /// A statement cannot be prepared.
    pub fn query_plan(&self, plan: &Plan) -> Result<Vec<(String, Vec<String>)>, ResolveError> {
        let pool = &self.file.current()?.pool;
        let reader = pool.take().map_err(read::failed)?;
        let steps =
            read::query_plan(reader.connection(), &pool.statements().of_plan(plan)).map_err(read::failed)?;
        pool.give(reader);
        Ok(steps)
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> PathBuf {
        self.file.last().pool.path().to_owned()
    }
}

impl OpenFile {
    async fn read(&self, plan: Plan, context: Context) -> Result<JsonBody, ResolveError> {
        self.version()?;
        if let Some(trace) = context.trace.clone() {
            return self.read_traced(plan, context, trace).await;
        }
        self.read_on_thread(plan, context).await
    }

    /// Returns the version of the database, or `None` if it is unknown.
    fn version(&self) -> Result<Option<DataVersion>, ResolveError> {
        let versions = self.pool.versions();
        let version = versions.current();
        // Pages are read through a memory map, in which those past the end of the file must not be accessed.
        if version.is_none() && versions.is_cut_off() {
            return Err(ResolveError::new("the database file was cut short"));
        }
        Ok(version)
    }

    /// Answers from the response cache, or by a read on the calling thread. Returns `None` if the read has to run on
    /// another thread.
    fn read_here(&self, plan: &Plan, deadline: Option<Instant>) -> Option<Result<JsonBody, ResolveError>> {
        let version = match self.version() {
            Ok(version) => version,
            Err(error) => return Some(Err(error)),
        };
        if let (Some(cache), Some(version)) = (&self.cache, &version)
            && let Some(body) = cache.get(plan, *version)
        {
            return Some(Ok(body));
        }
        self.read_inline(plan, version, deadline)
    }

    /// Records that reads of the plan's query take long.
    pub(crate) fn mark_heavy(&self, plan: &Plan) {
        self.heavy.insert(plan.id().clone(), (), 1);
    }

    /// Reads on the calling thread. Returns `None` if the read is heavy or would have to wait for a writer.
    fn read_inline(
        &self,
        plan: &Plan,
        version: Option<DataVersion>,
        deadline: Option<Instant>,
    ) -> Option<Result<JsonBody, ResolveError>> {
        if self.heavy.get(plan.id()).is_some() {
            return None;
        }
        let budget = Budget::Steps { checks: INLINE_CHECKS, time: INLINE_TIME };
        match thread_connection::read(&self.pool, plan, budget, version) {
            Ok(read) => Some(Ok(self.keep(plan, read))),
            // The budget is used up, or a writer holds the file. The read starts again on a thread that may block.
            Err(ResolveError::TimedOut) if deadline.is_none_or(|it| Instant::now() < it) => {
                self.mark_heavy(plan);
                None
            }
            Err(ResolveError::Busy) => None,
            Err(error) => Some(Err(error)),
        }
    }

    /// Reads on a thread of low priority.
    async fn read_on_thread(&self, plan: Plan, context: Context) -> Result<JsonBody, ResolveError> {
        let deadline = context.deadline.unwrap_or_else(|| Instant::now() + DEFAULT_TIMEOUT);
        let permit = self.pool.slow_reads().take(deadline).await?;
        let mut reader = self.pool.take().map_err(read::failed)?;
        let interrupt = reader.interrupt().cancel_on_drop();
        let database = self.clone();
        let running = slow_reads::run(move || {
            let result = database.read_blocking(&mut reader, &plan, deadline);
            database.pool.give(reader);
            drop(permit);
            result
        });
        let result = running.await;
        drop(interrupt);
        result?
    }

    /// Reads on a thread that may block until a writer has finished.
    fn read_blocking(
        &self,
        reader: &mut Reader,
        plan: &Plan,
        deadline: Instant,
    ) -> Result<JsonBody, ResolveError> {
        let left = deadline.saturating_duration_since(Instant::now());
        reader.wait_for_writers(left).map_err(read::failed)?;
        let result = reader.read(plan, Budget::Until(deadline), &self.pool);
        reader.wait_for_writers(Duration::ZERO).map_err(read::failed)?;
        result.map(|read| self.keep(plan, read))
    }

    /// Caches an answer if the version that it was read from is known.
    fn keep(&self, plan: &Plan, (body, version): (JsonBody, Option<DataVersion>)) -> JsonBody {
        match (&self.cache, version) {
            (Some(cache), Some(version)) => cache.insert(plan, version, body),
            _ => body,
        }
    }
}

impl Resolver for Database {
    fn resolve<'a>(
        &'a self,
        plan: &'a Plan,
        context: &'a Context,
    ) -> MaybeReady<'a, Result<Answer, ResolveError>> {
        let file = match self.file.current() {
            Ok(file) => file,
            Err(error) => return Either::Left(ready(Err(error))),
        };
        if context.trace.is_none()
            && let Some(read) = file.read_here(plan, context.deadline)
        {
            return Either::Left(ready(read.map(Answer::Json)));
        }
        Either::Right(Box::pin(
            async move { file.read(plan.clone(), context.clone()).await.map(Answer::Json) },
        ))
    }

    fn is_personal(&self) -> bool {
        false
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sqlite").field("path", &self.path()).finish_non_exhaustive()
    }
}
