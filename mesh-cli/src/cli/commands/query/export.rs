//! `mesh-server query --export`: writes all records of a collection to a file or to standard output.

use std::fs::{self, File};
use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use mesh_plan::backend::ExportFormat;
use mesh_ql::UnknownName;

use crate::cli::failure::Failure;
use crate::cli::output::print_stderr;
use crate::cli::terminal::Spinner;

/// Parses the name of a format.
pub(super) fn format(name: &str) -> Result<ExportFormat, String> {
    name.parse().map_err(|UnknownName { known }| format!("the formats are {}", known.join(" and ")))
}

/// Converts a request for a collection into a request for an export.
pub(super) fn request(mut request: Request<Bytes>, format: ExportFormat) -> Result<Request<Bytes>, Failure> {
    if *request.method() != Method::GET {
        return Err(Failure::usage_error("the query is too long: an export sends its query in a header"));
    }
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static(format.media_type()));
    Ok(request)
}

/// Writes the body of a reply while it arrives. A file gets its final name only when it is complete. On a terminal, either
/// the lines or the spinner are shown, because they would overwrite each other.
pub(super) async fn save(
    reply: Response<Incoming>,
    format: ExportFormat,
    output: Option<&Path>,
    spinner: Spinner,
) -> Result<(), Failure> {
    let content_type = reply.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if !content_type.unwrap_or_default().starts_with(format.media_type()) {
        return Err(Failure::check_failed("the server does not export; is [export] enabled on the server?"));
    }
    let Some(path) = output else {
        let spinner = (!io::stdout().is_terminal()).then_some(spinner);
        return copy(reply, &mut io::stdout().lock(), spinner.as_ref()).await.map(drop);
    };
    let part = PathBuf::from(format!("{}.part", path.display()));
    let failed =
        |error: io::Error| Failure::check_failed(format!("cannot write {}: {error}", part.display()));
    let mut file = File::create(&part).map_err(failed)?;
    let copied = match copy(reply, &mut file, Some(&spinner)).await {
        Ok(copied) => file.sync_all().and_then(|()| fs::rename(&part, path)).map(|()| copied).map_err(failed),
        Err(failure) => Err(failure),
    };
    if copied.is_err() {
        let _ = fs::remove_file(&part);
    }
    let CopyStats { bytes, lines } = copied?;
    drop(spinner);
    print_stderr(format_args!("{}: {lines} lines, {bytes} bytes", path.display()));
    Ok(())
}

struct CopyStats {
    bytes: u64,
    lines: u64,
}

async fn copy(
    reply: Response<Incoming>,
    out: &mut impl Write,
    spinner: Option<&Spinner>,
) -> Result<CopyStats, Failure> {
    let mut body = reply.into_body();
    let mut copied = CopyStats { bytes: 0, lines: 0 };
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|error| Failure::check_failed(format!("the export is incomplete: {error}")))?;
        let Ok(piece) = frame.into_data() else { continue };
        out.write_all(&piece).map_err(write_failure)?;
        copied.bytes += piece.len() as u64;
        copied.lines += piece.iter().filter(|byte| **byte == b'\n').count() as u64;
        if let Some(spinner) = spinner {
            spinner.set_message(format!("{} lines, {} MB so far", copied.lines, copied.bytes / 1_000_000));
        }
    }
    out.flush().map_err(write_failure)?;
    Ok(copied)
}

fn write_failure(error: io::Error) -> Failure {
    Failure::usage_error(format!("cannot write the export: {error}"))
}
