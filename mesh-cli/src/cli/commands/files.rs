//! `mesh-server files`: lists and removes stored files that no record references.

use std::time::Duration;

use clap::Args;
use mesh_backend::error::with_causes;
use mesh_plan::Mesh;
use mesh_server::App;

use crate::cli::args::SourceArgs;
use crate::cli::failure::Failure;
use crate::cli::output::{print, print_stderr};
use crate::cli::server::uploads::uploads;
use crate::cli::terminal::Spinner;
use crate::config::parse;

/// Arguments of `files`.
#[derive(Debug, Args)]
pub(crate) struct FilesArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Skip files that are younger than this, such as 1h or 7d
    #[arg(long, value_name = "TIME", default_value = "1d", value_parser = parse::flag_duration(Duration::ZERO))]
    older_than: Duration,
    /// Remove the listed files
    #[arg(long)]
    remove: bool,
}

pub(crate) fn run(args: &FilesArgs) -> Result<(), Failure> {
    let (config, source) = args.source.open()?;
    if !config.uploads.enabled {
        return Err(Failure::usage_error(
            "uploads are off in these settings; pass those of the server with --config",
        ));
    }
    let Some(database) = source.database else {
        return Err(Failure::usage_error("no database to look for records in: name one with --database"));
    };
    let store = uploads(&config)?;
    let mesh = Mesh::builder(source.schema).limits(config.plan_limits());
    let mesh = mesh.default_shared(database, None);
    let mut app = App::builder(mesh.build()?);
    app.options.uploads = Some(store);
    let app = app.build()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let swept = {
        let _spinner = Spinner::start("looking up the records of stored files");
        let sweep = runtime?.block_on(app.sweep_uploads(args.older_than, args.remove));
        sweep.map_err(|error| Failure::usage_error(with_causes(&error)))?
    };
    for stored in &swept.unrecorded {
        print(format_args!("{} {} {}", stored.key, stored.size, format_age(stored.age)))?;
    }
    let bytes: u64 = swept.unrecorded.iter().map(|stored| stored.size).sum();
    let found = format!("{} of {} files have no record, {bytes} bytes", swept.unrecorded.len(), swept.seen);
    print_stderr(match (args.remove, swept.unrecorded.is_empty()) {
        (true, _) => format!("{found}; {} removed", swept.removed),
        (false, true) => found,
        (false, false) => format!("{found}; --remove removes them"),
    });
    match swept.undecided {
        0 => Ok(()),
        undecided => Err(Failure::check_failed(format!(
            "{undecided} files were kept, because their records could not be looked up"
        ))),
    }
}

/// Formats an age in the largest unit that it fills.
fn format_age(age: Duration) -> String {
    let seconds = age.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}
