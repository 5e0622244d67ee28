//! The data source of a server: the database, and the schema that is checked against it.

use mesh_backend::error::OpenError;
use mesh_plan::policy::SchemaPolicy;
use mesh_schema::{Catalog, Document, Fault, Faults, Schema};
use mesh_server::regular_file;

use crate::cli::failure::{Failure, WithContext as _};
use crate::cli::server::database::{self, Database, block_on};
use crate::cli::server::internal_tables::remove_internal_tables;
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

/// The reason why the schema could not be loaded.
#[derive(Debug)]
pub(crate) enum LoadError {
    /// The database was unavailable; trying again can succeed.
    Unavailable(String),
    /// The schema has faults.
    Faults(Vec<String>),
}

impl From<OpenError> for LoadError {
    fn from(error: OpenError) -> Self {
        Self::Unavailable(Failure::from(error).faults.join("; "))
    }
}

impl From<Failure> for LoadError {
    fn from(failure: Failure) -> Self {
        Self::Faults(failure.faults)
    }
}

/// The progress message while the catalog of a database is read.
pub(crate) const READING_MESSAGE: &str = "reading the catalog of the database";

impl DataSource {
    /// Opens the configured database, schema document, or both. Returns all faults if there are any.
    pub(crate) fn open(config: &Config) -> Result<Self, Failure> {
        let OpenedParts { schema, database, notes, faults } =
            OpenedParts::open(config, config.mutations.enabled)?;
        match schema {
            Some(schema) if faults.is_empty() => Ok(Self { schema, database, notes }),
            _ => Err(Failure::from_faults(faults)),
        }
    }

    /// Loads the current schema of a database that is already open.
    pub(crate) async fn reload(
        config: &Config,
        database: Option<&Database>,
    ) -> Result<(Schema, Vec<String>), LoadError> {
        load(config, &SchemaText::read(config)?, database, config.mutations.enabled).await
    }
}

impl OpenedParts {
    /// Opens what can be opened, with a spinner on the terminal. With `writes`, there are notes about writes that the database
    /// would refuse.
    pub(crate) fn open(config: &Config, writes: bool) -> Result<Self, Failure> {
        let _spinner = Spinner::start(READING_MESSAGE);
        block_on(async {
            let database = match &config.database {
                Some(url) => database::connect(url, config).await.map(Some),
                None => Ok(None),
            };
            Ok::<_, Failure>(match (database, SchemaText::read(config)) {
                (Ok(database), Ok(document)) => {
                    match load(config, &document, database.as_ref(), writes).await {
                        Ok((schema, notes)) => {
                            Self { schema: Some(schema), database, notes, faults: Vec::new() }
                        }
                        Err(LoadError::Faults(faults)) => Self { database, faults, ..Self::default() },
                        Err(LoadError::Unavailable(fault)) => {
                            Self { faults: [vec![fault], document.faults()].concat(), ..Self::default() }
                        }
                    }
                }
                (database, document) => {
                    let (database, unavailable) = database
                        .map_or_else(|failure| (None, failure.faults), |database| (database, Vec::new()));
                    let wrong = document.map_or_else(|failure| failure.faults, |document| document.faults());
                    Self { database, faults: [unavailable, wrong].concat(), ..Self::default() }
                }
            })
        })
    }
}

/// Loads the schema of a document, of a database or of both, with notes.
async fn load(
    config: &Config,
    document: &SchemaText,
    database: Option<&Database>,
    writes: bool,
) -> Result<(Schema, Vec<String>), LoadError> {
    let mut notes = Vec::new();
    let mut catalog = None;
    if let Some(database) = database {
        let contents = database.contents(&document.time_columns()).await?;
        notes.extend(contents.notes);
        catalog = Some(contents.catalog);
    }
    // Loading a large schema takes a while, and a server that reloads it uses this thread for requests.
    let (settings, document) = (config.clone(), document.clone());
    let loading = tokio::task::spawn_blocking(move || {
        document.load(&settings, catalog, &mut notes).map(|schema| (schema, notes))
    });
    let (schema, mut notes) = loading.await.map_err(Failure::from)??;
    if let Some(database) = database {
        notes.extend(database::schema_notes(database, &schema, config, writes).await?);
    }
    Ok((schema, notes))
}

/// The schema document.
#[derive(Clone)]
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
        let text = regular_file::read_to_string(path);
        let text = text.context(format_args!("cannot read the schema {file}"))?;
        Ok(Self { file, text: Some(text) })
    }

    /// Returns the columns that the document declares as times.
    fn time_columns(&self) -> Vec<(String, String)> {
        // Faults of the document are reported when it is loaded.
        let document = self.text.as_deref().and_then(|text| Document::parse(text).ok());
        document.map(|document| document.time_columns()).unwrap_or_default()
    }

    /// Returns the faults that the document, if there is one, has without a database.
    fn faults(&self) -> Vec<String> {
        let checked = self.text.as_ref().map(|text| Schema::read(text, None));
        checked.and_then(Result::err).map(|faults| lines(&self.file, &faults)).unwrap_or_default()
    }

    /// Loads the schema, or infers it if there is no document.
    fn load(
        &self,
        config: &Config,
        mut catalog: Option<Catalog>,
        notes: &mut Vec<String>,
    ) -> Result<Schema, Failure> {
        let lines = |faults: Faults| Failure::from_faults(lines(&self.file, &faults));
        let schema = match (&self.text, &mut catalog) {
            (Some(text), catalog) => Schema::read(text, catalog.as_ref()).map_err(lines)?,
            (None, Some(catalog)) => {
                remove_internal_tables(config, catalog, notes);
                let inference = mesh_schema::infer(catalog);
                notes.extend(inference.notes.iter().map(ToString::to_string));
                inference.document.load(Some(catalog)).map_err(lines)?
            }
            (None, None) => {
                return Err(Failure::usage_error(
                    "no schema: name a database with --database, or a schema document with --schema",
                ));
            }
        };
        notes.extend(catalog.iter().flat_map(|catalog| mesh_schema::search_notes(&schema, catalog)));
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
