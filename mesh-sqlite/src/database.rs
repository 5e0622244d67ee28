//! A database file that is open for reading.

pub(crate) mod current_file;

use std::fmt;
use std::future::ready;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use mesh_backend::Contents;
use mesh_backend::transaction::DEFAULT_TIMEOUT;
use mesh_plan::backend::{Either, Export, MaybeReady, Script, ScriptError, StepResult};
use mesh_plan::{Answer, BoxFuture, Context, Error, JsonBody, Plan, ResolveError, Resolver};

use crate::catalog;
use crate::error::{OpenError, open_error};
use crate::file::data_version::DataVersion;
use crate::pool::interrupt::Budget;
use crate::pool::{connect_waiting, slow_read_thread, thread_connection};
use crate::read::failed;
use crate::settings::Settings;
use current_file::{CurrentFile, OpenFile};

/// A SQLite database that is open for reading. Clones share connections and caches.
#[derive(Clone)]
pub struct Database {
    pub(crate) file: Arc<CurrentFile>,
}

impl Database {
    /// Opens a file for reading and checks that it is a database.
    ///
    /// # Errors
    /// The file is missing, cannot be read or is not a SQLite database.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::open_with(path, &Settings::default())
    }

    /// Opens a file as [`Self::open`] does, with other settings.
    ///
    /// # Errors
    /// The file is missing, cannot be read or is not a SQLite database.
    pub fn open_with(path: impl AsRef<Path>, settings: &Settings) -> Result<Self, OpenError> {
        let path = path.as_ref();
        // SQLite reports many causes with one message; these are the usual ones.
        if path.is_dir() {
            return Err(open_error(path, "it is a folder"));
        }
        if !path.exists() {
            return Err(open_error(path, "there is no such file"));
        }
        // Opening a pipe would block until another program writes to it.
        if !path.is_file() {
            return Err(open_error(path, "it is not a regular file"));
        }
        let file = CurrentFile::open(path, settings).map_err(|error| open_error(path, error))?;
        Ok(Self { file: Arc::new(file) })
    }

    /// Reads the catalog. `times` names tables and columns that hold times although their declared types do not show it
    /// ([`mesh_schema::Document::time_columns`]).
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn contents(&self, times: &[(String, String)]) -> Result<Contents, OpenError> {
        let path = self.path();
        // Another server may be changing the journal mode.
        let contents = connect_waiting(&path).and_then(|mut it| catalog::read(&mut it, times));
        let (catalog, notes) = contents.map_err(|error| open_error(&path, error))?;
        Ok(Contents { catalog, notes })
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> PathBuf {
        self.file.last().pool.path.clone()
    }
}

impl OpenFile {
    /// Returns the version of the database, or `None` if it is unknown.
    fn version(&self) -> Result<Option<DataVersion>, ResolveError> {
        let version = self.pool.versions.current();
        // Pages are read through a memory map, whose part beyond the end of the file must not be accessed.
        if version.is_none() && self.pool.versions.is_cut_off() {
            return Err(ResolveError::new("the database file was cut short"));
        }
        Ok(version)
    }

    /// Answers from the response cache, or by a read on the calling thread. Returns `None` if the read is heavy or has to
    /// wait for a writer.
    fn read_inline(&self, plan: &Plan, deadline: Option<Instant>) -> Result<Option<JsonBody>, ResolveError> {
        let version = self.version()?;
        if let Some(version) = version
            && let Some(body) = self.cache.get(plan, version)
        {
            return Ok(Some(body));
        }
        if self.is_heavy(plan.id()) {
            return Ok(None);
        }
        match thread_connection::read(&self.pool, plan, Budget::light(), version) {
            Ok(read) => Ok(Some(self.cache_answer(plan, read))),
            // The budget is used up, or a writer has locked the file. The read starts again on a thread that may block.
            Err(ResolveError::TimedOut) if deadline.is_none_or(|it| Instant::now() < it) => {
                self.mark(plan.id(), true);
                Ok(None)
            }
            Err(ResolveError::Busy) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads on a thread of low priority, which may block until a writer has finished.
    async fn read_on_thread(
        self: &Arc<Self>,
        plan: Plan,
        context: Context,
    ) -> Result<JsonBody, ResolveError> {
        self.version()?;
        let deadline = context.deadline.unwrap_or_else(|| Instant::now() + DEFAULT_TIMEOUT);
        let permit = self.pool.slow_reads.take(deadline).await?;
        let mut reader = self.pool.take().map_err(failed)?;
        let _interrupt = reader.interrupt.cancel_on_drop();
        let file = Arc::clone(self);
        let reading = slow_read_thread::run(move || {
            let start = Instant::now();
            let result = reader.read(&plan, deadline, &file.pool.versions, context.trace.as_deref());
            if file.is_heavy(plan.id()) {
                file.mark(plan.id(), result.is_err() || !reader.interrupt.was_light(start.elapsed()));
            }
            file.pool.release(reader);
            drop(permit);
            result.map(|read| file.cache_answer(&plan, read))
        });
        reading.await?
    }

    /// Runs a script of reads on the calling thread. Returns `None` if it is heavy or has to wait for a writer.
    fn read_script_inline(
        &self,
        script: &dyn Script,
        deadline: Instant,
    ) -> Option<Result<Vec<StepResult>, ScriptError>> {
        let version = match self.version() {
            Ok(version) => version,
            Err(error) => return Some(Err(error.into())),
        };
        let done = thread_connection::read_script(&self.pool, script, Budget::light(), version);
        match done.as_ref().map_err(|failure| &*failure.error) {
            Err(Error::Resolve(ResolveError::Busy)) => None,
            Err(Error::Resolve(ResolveError::TimedOut)) if Instant::now() < deadline => None,
            _ => Some(done),
        }
    }

    /// Runs a script of reads on a thread of low priority, which may block until a writer has finished.
    async fn read_script_on_thread(
        self: &Arc<Self>,
        script: Arc<dyn Script>,
        deadline: Instant,
    ) -> Result<Vec<StepResult>, ScriptError> {
        let permit = self.pool.slow_reads.take(deadline).await?;
        let mut reader = self.pool.take().map_err(failed)?;
        let _interrupt = reader.interrupt.cancel_on_drop();
        let file = Arc::clone(self);
        let reading = slow_read_thread::run(move || {
            let done = reader.read_script(&*script, deadline);
            file.pool.release(reader);
            drop(permit);
            done
        });
        reading.await?
    }

    /// Caches an answer if the version that it was read from is known.
    fn cache_answer(&self, plan: &Plan, (body, version): (JsonBody, Option<DataVersion>)) -> JsonBody {
        match version {
            Some(version) => self.cache.insert(plan, version, body),
            None => body,
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
        // A traced read uses no caches.
        if context.trace.is_none()
            && let Some(read) = file.read_inline(plan, context.deadline).transpose()
        {
            return Either::Left(ready(read.map(Answer::Json)));
        }
        Either::Right(Box::pin(async move {
            file.read_on_thread(plan.clone(), context.clone()).await.map(Answer::Json)
        }))
    }

    fn export<'a>(
        &'a self,
        plan: &'a Plan,
        context: &'a Context,
        export: Export,
    ) -> BoxFuture<'a, Result<u64, ResolveError>> {
        Box::pin(async move { self.file.current()?.export(plan.clone(), context, export).await })
    }

    fn read_script<'a>(
        &'a self,
        script: Arc<dyn Script>,
        context: &'a Context,
    ) -> Option<BoxFuture<'a, Result<Vec<StepResult>, ScriptError>>> {
        Some(Box::pin(async move {
            let file = Arc::clone(&*self.file.current()?);
            let deadline = context.deadline.unwrap_or_else(|| Instant::now() + DEFAULT_TIMEOUT);
            match file.read_script_inline(&*script, deadline) {
                Some(done) => done,
                None => file.read_script_on_thread(script, deadline).await,
            }
        }))
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
