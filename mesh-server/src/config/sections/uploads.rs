//! Files, streams of changes and writes: `[uploads]`, `[events]`, `[mutations]`.

use std::time::Duration;

use crate::config::define::settings;
use crate::config::parse::{self, HOUR, SECOND};

settings! {
    /// Files: the section `[uploads]`. `SPEC §9`
    Uploads["uploads."] {
        /// Whether files are accepted and served.
        enabled: bool = false, parse::boolean;
        /// Where files are kept: `file:FOLDER` or `s3://bucket/prefix`.
        store: String = "file:uploads".to_owned(), parse::filled;
        /// Path segment under the base at which files are served.
        path: String = "files".to_owned(), parse::segment;
        /// Largest file, unless the schema sets another limit for the field.
        max_bytes: usize = 25 << 20, parse::size(1, 1 << 50);
        /// Accepted content types, unless the schema lists others for the field; empty: any.
        content_types: Vec<String> = Vec::new(), parse::list;
    }
    sections {}
}

settings! {
    /// Streams of changes: the section `[events]`. `SPEC §10`
    Events["events."] {
        /// Whether streams are offered.
        enabled: bool = true, parse::boolean;
        /// Time between two heartbeats of a stream.
        heartbeat: Duration = mesh_server::Events::DEFAULT_HEARTBEAT, parse::duration(SECOND, HOUR);
    }
    sections {}
}

settings! {
    /// Writes: the section `[mutations]`. `SPEC §11`
    Mutations["mutations."] {
        /// Whether write routes are offered.
        enabled: bool = false, parse::boolean;
    }
    sections {}
}
