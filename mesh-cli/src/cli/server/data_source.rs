//! The data source of a server: the database, and the schema that is checked against it.

use mesh_backend::error::OpenError;
use mesh_plan::policy::SchemaPolicy;
use mesh_schema::{Catalog, Document, Fault, Faults, Schema};
use mesh_server::regular_file;

use crate::cli::failure::Failure;
use crate::cli::server::database::{self, Database, block_on};
use crate::cli::server::internal_tables::without_internal_tables;
use crate::cli::terminal::Spinner;
use crate::config::Config;

/// A schema, and the database if one is configured.
pub(crate) struct DataSource {
    pub(crate) schema: Schema,
    pub(crate) database: Option<Database>,
    /// Notes of inference and loading, such as tables that were left out.
    pub(crate) notes: Vec<String>,
}

/// The parts of a data source that could be opened, and the faults of the others.
#[derive(Default)]
pub(crate) struct OpenedParts {
    /// `None` if there are faults.
    pub(crate) schema: Option<Schema>,
    pub(crate) database: Option<Database>,
    pub(crate) notes: Vec<String>,
    pub(crate) faults: Vec<String>,
}

/// The reason why the schema could not be reloaded.
#[derive(Debug)]
pub(crate) enum ReloadError {
    /// The database was unavailable; trying again can succeed.
    Unavailable(String),
    /// The schema has faults.
    Faults(Vec<String>),
}

impl From<OpenError> for ReloadError {
    fn from(error: OpenError) -> Self {
        Self::Unavailable(Failure::from(error).faults.join("; "))
    }
}

impl From<Failure> for ReloadError {
    fn from(failure: Failure) -> Self {
        Self::Faults(failure.faults)
    }
}

/// The progress message while the catalog of a database is read.
pub(crate) const OPENING_MESSAGE: &str = "reading the catalog of the database";

impl DataSource {
    /// Opens the source with a spinner on the terminal.
    pub(crate) fn open_with_progress(config: &Config) -> Result<Self, Failure> {
        let _spinner = Spinner::start(OPENING_MESSAGE);
        Self::open(config)
    }

    /// Opens what can be opened, with a spinner on the terminal.
    pub(crate) fn open_parts_with_progress(config: &Config) -> OpenedParts {
        let _spinner = Spinner::start(OPENING_MESSAGE);
        Self::open_parts(config, true)
    }

    /// Opens the configured database, schema document, or both. Returns all faults if there are any.
    pub(crate) fn open(config: &Config) -> Result<Self, Failure> {
        let OpenedParts { schema, database, notes, faults } =
            Self::open_parts(config, config.mutations.enabled);
        match schema {
            Some(schema) if faults.is_empty() => Ok(Self { schema, database, notes }),
            _ => Err(Failure::from_faults(faults)),
        }
    }

    /// Opens what can be opened. With `writes`, there are notes about writes that the database would refuse.
    fn open_parts(config: &Config, writes: bool) -> OpenedParts {
        let mut parts = OpenedParts::default();
        let document = SchemaText::read(config);
        let mut catalog = None;
        if let Some(url) = &config.database {
            let times = document.as_ref().map(SchemaText::time_columns).unwrap_or_default();
            match database::open(url, config, &times) {
                Ok((database, contents)) => {
                    (parts.database, catalog) = (Some(database), Some(contents.catalog));
                    parts.notes.extend(contents.notes);
                }
                Err(failure) => parts.faults.extend(failure.faults),
            }
        }
        let schema = match document {
            Err(failure) => Err(failure),
            // Without the catalog of the database, only the document itself can be checked.
            Ok(document) if config.database.is_some() && catalog.is_none() => document.check().map(|()| None),
            Ok(document) => document.load(config, catalog.as_ref(), &mut parts.notes).map(Some),
        };
        match schema {
            Ok(schema) => parts.schema = schema,
            Err(failure) => parts.faults.extend(failure.faults),
        }
        if let (Some(database), Some(schema)) = (&parts.database, &parts.schema) {
            let notes = block_on(database::schema_notes(database, schema, config, writes));
            match notes.map_err(Failure::from).and_then(|notes| Ok(notes?)) {
                Ok(notes) => parts.notes.extend(notes),
                Err(failure) => parts.faults.extend(failure.faults),
            }
        }
        parts
    }

    /// Loads the current schema of a database that is already open.
    pub(crate) async fn reload(
        config: &Config,
        database: Option<&Database>,
    ) -> Result<(Schema, Vec<String>), ReloadError> {
        let mut notes = Vec::new();
        let document = SchemaText::read(config)?;
        let catalog = match database {
            None => None,
            Some(database) => {
                let contents = database.contents(&document.time_columns()).await?;
                notes.extend(contents.notes);
                Some(contents.catalog)
            }
        };
        // Loading a large schema takes a while, and this thread serves requests.
        let settings = config.clone();
        let loading = tokio::task::spawn_blocking(move || {
            document.load(&settings, catalog.as_ref(), &mut notes).map(|schema| (schema, notes))
        });
        let (schema, mut notes) = loading.await.map_err(Failure::from)??;
        if let Some(database) = database {
            notes.extend(database::schema_notes(database, &schema, config, config.mutations.enabled).await?);
        }
        Ok((schema, notes))
    }
}

/// The schema document.
struct SchemaText {
    /// The name of the file; empty without a document.
    file: String,
    /// `None` if no document is configured.
    text: Option<String>,
}

impl SchemaText {
    fn read(config: &Config) -> Result<Self, Failure> {
        let Some(path) = &config.schema else { return Ok(Self { file: String::new(), text: None }) };
        let file = path.display().to_string();
        match regular_file::read_to_string(path) {
            Ok(text) => Ok(Self { file, text: Some(text) }),
            Err(error) => Err(Failure::usage_error(format!("cannot read the schema {file}: {error}"))),
        }
    }

    /// Returns the columns that the document declares as times.
    fn time_columns(&self) -> Vec<(String, String)> {
        // Faults of the document are reported when it is loaded.
        let document = self.text.as_deref().and_then(|text| Document::parse(text).ok());
        document.map(|document| document.time_columns()).unwrap_or_default()
    }

    /// Checks the document, if there is one, without a database.
    fn check(&self) -> Result<(), Failure> {
        let Some(text) = &self.text else { return Ok(()) };
        Schema::read(text, None).map(drop).map_err(|faults| self.failure(&faults))
    }

    fn failure(&self, faults: &Faults) -> Failure {
        Failure::from_faults(lines(&self.file, faults))
    }

    /// Loads the schema, or infers it if there is no document.
    fn load(
        &self,
        config: &Config,
        catalog: Option<&Catalog>,
        notes: &mut Vec<String>,
    ) -> Result<Schema, Failure> {
        let lines = |faults: Faults| self.failure(&faults);
        let schema = match (&self.text, catalog) {
            (Some(text), catalog) => Schema::read(text, catalog).map_err(lines)?,
            (None, Some(catalog)) => {
                let catalog = without_internal_tables(config, catalog, notes);
                let inference = mesh_schema::infer(&catalog);
                notes.extend(inference.notes.iter().map(ToString::to_string));
                inference.document.load(Some(&catalog)).map_err(lines)?
            }
            (None, None) => {
                return Err(Failure::usage_error(
                    "no schema: name a database with --database, or a schema document with --schema",
                ));
            }
        };
        // Policies are checked here, because the types of fields can come from the database.
        SchemaPolicy::from_schema(&schema).map_err(lines)?;
        Ok(schema)
    }
}

/// Returns a warning if the schema has no entities.
pub(crate) fn nothing_to_serve(config: &Config, schema: &Schema) -> Option<&'static str> {
    let warning = match config.schema {
        Some(_) => "there is nothing to serve: the schema has no entities",
        None => "there is nothing to serve: the database has no tables",
    };
    schema.entities().next().is_none().then_some(warning)
}

/// Formats faults as lines with the file, and the position if it is known.
fn lines(file: &str, faults: &[Fault]) -> Vec<String> {
    faults
        .iter()
        .map(|fault| match (fault.line, fault.column) {
            (Some(line), Some(column)) => format!("{file}:{line}:{column}: {fault}"),
            _ if file.is_empty() => fault.to_string(),
            _ => format!("{file}: {fault}"),
        })
        .collect()
}
