//! `mesh-server files`: which stored files does no record refer to, and away with them.

use std::sync::Arc;
use std::time::Duration;

use mesh_plan::Mesh;
use mesh_server::App;

use crate::cli::args::FilesArgs;
use crate::cli::failure::Failure;
use crate::cli::failure::faults_at_start;
use crate::cli::output::print;
use crate::cli::output::remark;
use crate::cli::server::app_factory::uploads;
use crate::cli::server::data_source::Source;
use crate::cli::settings::settings;
use crate::cli::terminal::Waiting;

pub(crate) fn run(args: &FilesArgs) -> Result<(), Failure> {
    let config =
        settings(args.settings(), args.config.as_deref()).map_err(|faults| faults_at_start(&faults))?;
    if !config.uploads.enabled {
        return Err(Failure::start(
            "'uploads.enabled' is false in these settings: there is no store to look at",
        ));
    }
    let source = Source::awaited(&config).map_err(|faults| faults_at_start(&faults))?;
    let Some(database) = source.database else {
        return Err(Failure::start("records are in a database: name it with --database"));
    };
    let store = uploads(&config)?;
    let mesh = database.serve(Mesh::builder(source.schema).limits(config.plan_limits()), None);
    let app = App::new(Arc::new(mesh.build())).uploads(store);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let swept = {
        let _waiting = Waiting::on("looking for the records of stored files");
        runtime.map_err(Failure::start)?.block_on(app.sweep_uploads(args.older_than, args.remove))
    };
    let swept = swept.map_err(|error| {
        let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
        Failure::start(format!("{error}{}", source.unwrap_or_default()))
    })?;
    for stored in &swept.unrecorded {
        print(format_args!("{} {} {}", stored.key, stored.size, whole(stored.age)))?;
    }
    let bytes: u64 = swept.unrecorded.iter().map(|stored| stored.size).sum();
    let found = format!("{} of {} files have no record, {bytes} bytes", swept.unrecorded.len(), swept.seen);
    remark(match (args.remove, swept.unrecorded.is_empty()) {
        (true, _) => format!("{found}; {} removed", swept.removed),
        (false, true) => found,
        (false, false) => format!("{found}; --remove removes them"),
    });
    match swept.undecided {
        0 => Ok(()),
        undecided => {
            Err(Failure::found(format!("{undecided} files stay: their records could not be looked for")))
        }
    }
}

/// An age in the largest unit that it fills.
fn whole(age: Duration) -> String {
    let seconds = age.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}
