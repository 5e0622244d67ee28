//! `mesh-server upload`: sends a file to a field of a record. The signed statement contains the hash and the
//! content type of the file.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Seek as _};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use clap::Args;
use futures_util::stream;
use http::header::CONTENT_LENGTH;
use http_body_util::StreamBody;
use hyper::body::Frame;
use mesh_uploads::{ContentHash, ContentHasher, ContentType, Statement};
use mesh_wire::client::{self as wire, RecordId, UploadForm, UploadTarget};
use serde_json::{Map, Value};

use crate::cli::client::{Client, ServerArgs, json_body, random};
use crate::cli::failure::{Failure, WithContext as _};
use crate::cli::output::print;
use crate::cli::terminal::bytes_bar;

/// Bytes that are read and sent at once.
const BLOCK: usize = 256 * 1024;

/// Arguments of `upload`.
#[derive(Debug, Args)]
pub(crate) struct UploadArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// Further fields of the record to write, as a JSON object
    #[arg(long, value_name = "JSON")]
    meta: Option<String>,
    /// Content type of the file [default: by the extension]
    #[arg(long = "type", value_name = "TYPE")]
    content_type: Option<String>,
    /// Entity of the record
    entity: String,
    /// Id of the record
    #[arg(allow_negative_numbers = true)]
    id: String,
    /// Field that the file is attached to
    field: String,
    /// The file
    file: PathBuf,
}

pub(crate) fn run(args: &UploadArgs) -> Result<(), Failure> {
    if let Some(meta) = &args.meta {
        serde_json::from_str::<Map<String, Value>>(meta).context("--meta must be a JSON object")?;
    }
    let content_type = match &args.content_type {
        Some(text) => ContentType::parse(text).ok_or_else(|| {
            Failure::usage_error(format!("--type: '{text}' is not a content type such as image/png"))
        })?,
        None => guess_content_type(&args.file),
    };
    let body = Client::run(&args.server, async |client| send_file(client, args, &content_type).await)?;
    let body: Value = serde_json::from_slice(&body).map_err(Failure::check_failed)?;
    if io::stdout().is_terminal() { print(format_args!("{body:#}")) } else { print(&body) }
}

async fn send_file(client: &Client, args: &UploadArgs, content_type: &ContentType) -> Result<Bytes, Failure> {
    let unreadable =
        |error: io::Error| Failure::usage_error(format!("cannot read {}: {error}", args.file.display()));
    let mut file = File::open(&args.file).map_err(unreadable)?;
    let size = file.metadata().map_err(unreadable)?.len();
    let mut hasher = ContentHasher::new();
    for block in blocks(&file, size) {
        hasher.update(&block.map_err(unreadable)?);
    }
    // The open file is read again, rather than opened again, in case another file has taken its name.
    file.rewind().map_err(unreadable)?;

    let statement = Statement {
        entity: args.entity.clone(),
        field: Some(args.field.clone()),
        hash: Some(hasher.finish()),
        content_type: Some(content_type.clone()),
        meta_hash: args.meta.as_ref().map(|meta| ContentHash::digest(meta.as_bytes())),
    };
    let form = UploadForm::new(random()?);
    let target = UploadTarget::Attach {
        entity: &args.entity,
        id: &RecordId::from_segment(&args.id),
        field: &args.field,
    };
    let mut request = wire::upload(&client.endpoint, target, &statement.to_string(), &form)?;
    let name = args.file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let before = form.before(args.meta.as_deref(), &name, content_type.as_str());
    let length = before.len() as u64 + size + form.after().len() as u64;
    request.headers_mut().insert(CONTENT_LENGTH, length.into());
    let progress = bytes_bar(size);
    let shown = progress.clone();
    // Reading the file may block, which is fine: this thread does nothing else.
    let sent =
        blocks(file, size).inspect(move |block| shown.inc(block.as_ref().map_or(0, Bytes::len) as u64));
    let parts = [Ok(before)].into_iter().chain(sent).chain([Ok(form.after())]);
    let body = StreamBody::new(stream::iter(parts.map(|part| part.map(Frame::data))));
    let reply = client.send(request, |_| body).await;
    progress.abandon();
    let hint = "does the schema list this field under \"uploads\", and is [uploads] enabled on the server?";
    json_body(reply?, "MethodNotAllowed", hint)
}

/// Reads `size` bytes of a file in blocks.
fn blocks(mut file: impl Read, size: u64) -> impl Iterator<Item = io::Result<Bytes>> {
    let mut left = size;
    std::iter::from_fn(move || {
        let mut block = vec![0; BLOCK.min(usize::try_from(left).unwrap_or(BLOCK))];
        let length = match file.read(&mut block) {
            Ok(0) if left == 0 => return None,
            Ok(0) => return Some(Err(io::Error::other("the file was truncated while it was read"))),
            Ok(length) => length,
            Err(error) => return Some(Err(error)),
        };
        left -= length as u64;
        block.truncate(length);
        Some(Ok(block.into()))
    })
}

/// Returns the content type of a file according to its extension.
fn guess_content_type(file: &Path) -> ContentType {
    let extension = file.extension().and_then(|it| it.to_str()).unwrap_or_default().to_ascii_lowercase();
    let known = match extension.as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "avif" => "image/avif",
        "svg" => "image/svg+xml",
        "txt" | "log" => "text/plain",
        "md" => "text/markdown",
        "csv" => "text/csv",
        "html" | "htm" => "text/html",
        "json" => "application/json",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        "mp3" => "audio/mpeg",
        "mp4" => "video/mp4",
        "webm" => "video/webm",
        _ => return ContentType::unknown(),
    };
    ContentType::parse(known).unwrap_or_else(ContentType::unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_type_follows_the_extension() {
        assert_eq!(guess_content_type(Path::new("a/b.PNG")).as_str(), "image/png");
        assert_eq!(guess_content_type(Path::new("png")), ContentType::unknown());
    }
}
