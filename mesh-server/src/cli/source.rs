//! What is served? Database and schema, opened and held against each other.

use std::path::Path;

use mesh_plan::policy::SchemaPolicy;
use mesh_schema::{Catalog, Document, Fault, Schema};

use super::database::Database;
use crate::config::Config;

/// A schema, with the database where one is given.
pub(crate) struct Source {
    pub(crate) schema: Schema,
    pub(crate) database: Option<Database>,
    /// What was left out or renamed, and the like.
    pub(crate) notes: Vec<String>,
}

impl Source {
    /// Opens what the settings name: a database, a schema document, or both.
    pub(crate) fn open(config: &Config) -> Result<Self, Vec<String>> {
        let mut notes = Vec::new();
        let text = config.schema.as_deref().map(read_text).transpose()?;
        // A document with faults names no columns; they are reported below.
        let document = text.as_ref().and_then(|(_, text)| Document::parse(text).ok());
        let times = document.map(|document| document.time_columns()).unwrap_or_default();
        let (database, catalog) = match &config.database {
            None => (None, None),
            Some(url) => {
                let opened = Database::open(url, config, &times, &mut notes);
                let (database, catalog) = opened.map_err(|fault| vec![fault])?;
                (Some(database), Some(catalog))
            }
        };
        let schema = match (&text, &catalog) {
            (Some((name, text)), catalog) => {
                Schema::read(text, catalog.as_ref()).map_err(|faults| lines(name, &faults))?
            }
            (None, Some(catalog)) => inferred(catalog, &mut notes).1?,
            (None, None) => {
                return Err(vec![
                    "nothing to serve: name a database with --database, or a schema with --schema".to_owned(),
                ]);
            }
        };
        // Types, which a database may have to tell, are known only now.
        let file = text.as_ref().map_or("", |(name, _)| name);
        SchemaPolicy::of(&schema).map_err(|faults| lines(file, &faults))?;
        if schema.entities().next().is_none() {
            notes.push("there is nothing to read: the database has no tables".to_owned());
        }
        Ok(Self { schema, database, notes })
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
