//! `mesh-server json-schema`: writes a JSON Schema of queries, for editors.

use mesh_docs::json_schema;

use crate::cli::args::SchemaOutputArgs;
use crate::cli::failure::Failure;

pub(crate) fn run(args: &SchemaOutputArgs) -> Result<(), Failure> {
    args.write_json(|config, schema| json_schema::of_queries(schema, &config.plan_limits().query))
}
