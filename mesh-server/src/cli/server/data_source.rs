//! What is served? Database and schema, opened and held against each other.

use std::path::Path;

use mesh_plan::policy::SchemaPolicy;
use mesh_schema::{Catalog, Document, Fault, Schema};

use crate::cli::server::database::Database;
use crate::cli::terminal::Waiting;
use crate::config::Config;

/// A schema, with the database where one is given.
pub(crate) struct Source {
    pub(crate) schema: Schema,
    pub(crate) database: Option<Database>,
    /// What was left out or renamed, and the like.
    pub(crate) notes: Vec<String>,
}

/// Why there is no schema.
#[derive(Debug)]
pub(crate) enum Unread {
    /// The database could not be looked at, which may be otherwise a moment later.
    Away(String),
    /// What stands in the schema is wrong, and stays so until somebody changes it.
    Faults(Vec<String>),
}

impl From<Vec<String>> for Unread {
    fn from(faults: Vec<String>) -> Self {
        Self::Faults(faults)
    }
}

/// What somebody sees while a large database is looked at.
pub(crate) const OPENING: &str = "looking at what the database contains";

impl Source {
    /// The same as [`Source::open`], for commands that end: who waits for one sees what for.
    pub(crate) fn awaited(config: &Config) -> Result<Self, Vec<String>> {
        let _waiting = Waiting::on(OPENING);
        Self::open(config)
    }

    /// Opens what the settings name: a database, a schema document, or both.
    pub(crate) fn open(config: &Config) -> Result<Self, Vec<String>> {
        let mut notes = Vec::new();
        let document = SchemaText::read(config)?;
        let (database, catalog) = match &config.database {
            None => (None, None),
            Some(url) => {
                let opened = Database::open(url, config, &document.time_columns(), &mut notes);
                let (database, catalog) = opened.map_err(|fault| vec![fault])?;
                (Some(database), Some(catalog))
            }
        };
        let schema = document.load(catalog.as_ref(), &mut notes)?;
        Ok(Self { schema, database, notes })
    }

    /// The schema as it is now, of a database that is open already.
    pub(crate) async fn again(
        config: &Config,
        database: Option<&Database>,
    ) -> Result<(Schema, Vec<String>), Unread> {
        let mut notes = Vec::new();
        let document = SchemaText::read(config)?;
        let catalog = match database {
            None => None,
            Some(database) => {
                let contents = database.contents(document.time_columns(), &mut notes).await;
                Some(contents.map_err(Unread::Away)?)
            }
        };
        // A large one takes a moment, in which this thread has requests to answer.
        let loading = tokio::task::spawn_blocking(move || {
            let schema = document.load(catalog.as_ref(), &mut notes)?;
            Ok((schema, notes))
        });
        loading.await.map_err(|error| vec![error.to_string()])?.map_err(Unread::Faults)
    }
}

/// A schema document with its name, where one is given.
struct SchemaText(Option<(String, String)>);

impl SchemaText {
    fn read(config: &Config) -> Result<Self, Vec<String>> {
        config.schema.as_deref().map(read_text).transpose().map(Self)
    }

    /// What it says of columns that hold times.
    fn time_columns(&self) -> Vec<(String, String)> {
        // A document with faults names no columns; they are reported when it is loaded.
        let document = self.0.as_ref().and_then(|(_, text)| Document::parse(text).ok());
        document.map(|document| document.time_columns()).unwrap_or_default()
    }

    /// The schema, inferred where there is no document.
    fn load(&self, catalog: Option<&Catalog>, notes: &mut Vec<String>) -> Result<Schema, Vec<String>> {
        let schema = match (&self.0, catalog) {
            (Some((name, text)), catalog) => {
                Schema::read(text, catalog).map_err(|faults| lines(name, &faults))?
            }
            (None, Some(catalog)) => inferred(catalog, notes).1?,
            (None, None) => {
                return Err(vec![
                    "nothing to serve: name a database with --database, or a schema with --schema".to_owned(),
                ]);
            }
        };
        // Types, which a database may have to tell, are known only now.
        let file = self.0.as_ref().map_or("", |(name, _)| name);
        SchemaPolicy::of(&schema).map_err(|faults| lines(file, &faults))?;
        if schema.entities().next().is_none() {
            let why =
                if self.0.is_some() { "the schema has no entities" } else { "the database has no tables" };
            notes.push(format!("there is nothing to read: {why}"));
        }
        Ok(schema)
    }
}

/// The document that a database suggests, and the schema that it loads to.
pub(crate) fn inferred(
    catalog: &Catalog,
    notes: &mut Vec<String>,
) -> (Document, Result<Schema, Vec<String>>) {
    let inference = mesh_schema::infer(catalog);
    notes.extend(inference.notes.iter().map(ToString::to_string));
    let schema = inference.document.load(Some(catalog)).map_err(|faults| lines("", &faults));
    (inference.document, schema)
}

/// A schema document with its name.
fn read_text(path: &Path) -> Result<(String, String), Vec<String>> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|error| vec![format!("cannot read the schema {name}: {error}")])?;
    Ok((name, text))
}

/// Each fault with the file, and line and column where they are known.
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
