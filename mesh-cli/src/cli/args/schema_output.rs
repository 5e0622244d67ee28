//! Arguments of commands that describe a schema: `types`, `openapi`, `json-schema`.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use mesh_plan::{Mesh, Principal};
use mesh_schema::Schema;

use super::SourceArgs;
use super::role::check_role;
use crate::cli::failure::Failure;
use crate::cli::output::write;
use crate::config::Config;

/// The schema, the role that sees it, and the file to write.
#[derive(Debug, Args)]
pub(crate) struct SchemaOutputArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Describe only what the policies show to this role; '*' is any role that they do not list
    #[arg(long, value_name = "NAME")]
    role: Option<String>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

impl SchemaOutputArgs {
    /// Reads the settings and the part of the schema that the role can see.
    pub(crate) fn open(&self) -> Result<(Config, Arc<Schema>), Failure> {
        let (config, source) = self.source.open()?;
        let schema = match &self.role {
            Some(role) => {
                check_role(role, &source.schema)?;
                let mesh = Mesh::builder(source.schema).build()?;
                mesh.schema_for(Some(&Principal::new("", "").with_role(role)))
            }
            None => Arc::new(source.schema),
        };
        Ok((config, schema))
    }

    /// Writes a JSON document that describes the schema.
    pub(crate) fn write_json(
        &self,
        document: impl FnOnce(&Config, &Schema) -> serde_json::Value,
    ) -> Result<(), Failure> {
        let (config, schema) = self.open()?;
        write(self.output.as_deref(), &format!("{:#}\n", document(&config, &schema)))
    }
}
