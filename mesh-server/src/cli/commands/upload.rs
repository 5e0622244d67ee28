//! `mesh-server upload`: sends a file to a field of a record. The signed statement contains the hash of the file.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use indicatif::ProgressBar;
use mesh_uploads::{ContentHash, ContentHasher, ContentType, Statement};
use mesh_wire::client::{self, Endpoint, UploadForm, UploadTarget};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde_json::{Map, Value};

use crate::cli::args::UploadArgs;
use crate::cli::client::http::{HttpClient, json_body};
use crate::cli::client::session::{self, UserSession};
use crate::cli::failure::Failure;
use crate::cli::output::print;
use crate::cli::terminal::bytes_bar;

/// Bytes that are read and sent at once.
const BLOCK: usize = 256 * 1024;

pub(crate) fn run(args: &UploadArgs) -> Result<(), Failure> {
    let endpoint = Endpoint::parse(&args.url).map_err(Failure::start)?;
    if let Some(meta) = &args.meta {
        serde_json::from_str::<Map<String, Value>>(meta)
            .map_err(|error| Failure::start(format!("--meta must be a JSON object: {error}")))?;
    }
    let content_type = match &args.content_type {
        Some(text) => ContentType::parse(text).ok_or_else(|| {
            Failure::start(format!("--type: '{text}' is not a content type such as image/png"))
        })?,
        None => content_type_of(&args.file),
    };
    let http = HttpClient::new(&endpoint, args.ca.as_deref())?;
    let password = args.login.as_deref().map(session::password).transpose()?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::start)?;
    runtime.block_on(async {
        let session = match (&args.login, password) {
            (Some(login), Some(password)) => {
                Some(UserSession::log_in(&http, &endpoint, login, password).await?)
            }
            _ => None,
        };
        let sent = send_file(&http, &endpoint, args, session.as_ref(), &content_type).await;
        if let Some(session) = session {
            session.log_out().await;
        }
        let body: Value = serde_json::from_slice(&sent?).map_err(Failure::found)?;
        if io::stdout().is_terminal() { print(format_args!("{body:#}")) } else { print(&body) }
    })
}

async fn send_file(
    http: &HttpClient,
    endpoint: &Endpoint,
    args: &UploadArgs,
    session: Option<&UserSession<'_>>,
    content_type: &ContentType,
) -> Result<Bytes, Failure> {
    let unreadable =
        |error: io::Error| Failure::start(format!("cannot read {}: {error}", args.file.display()));
    let mut file = File::open(&args.file).map_err(unreadable)?;
    let (hash, size) = hash_of(&mut file).map_err(unreadable)?;
    // The open file is read again, rather than opened again, in case another file has taken its name.
    io::Seek::rewind(&mut file).map_err(unreadable)?;

    let (entity, field) = (args.entity.clone(), Some(args.field.clone()));
    let statement = Statement { entity, field, hash: Some(hash) }.to_string();
    let mut fresh = [0; 16];
    SystemRandom::new().fill(&mut fresh).map_err(Failure::start)?;
    let form = UploadForm::new(fresh);
    let target = UploadTarget::Attach { entity: &args.entity, id: &args.id, field: &args.field };
    let mut request = client::upload(endpoint, target, &statement, &form).map_err(Failure::start)?;
    if let Some(session) = session {
        request = session.sign(request)?;
    }
    let name = args.file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let before = form.before(args.meta.as_deref(), &name, content_type.as_str());
    let progress = bytes_bar(size);
    let body = FileBody {
        length: before.len() as u64 + size + form.after().len() as u64,
        before,
        file: file.take(size),
        left: size,
        after: form.after(),
        progress: progress.clone(),
    };
    let reply = http.send(request.map(|_| body)).await;
    progress.abandon();
    let hint = "does the schema list this field under \"uploads\", and is [uploads] enabled on the server?";
    json_body(reply?, "MethodNotAllowed", hint)
}

fn hash_of(file: &mut File) -> io::Result<(ContentHash, u64)> {
    let (mut hasher, mut size) = (ContentHasher::new(), 0);
    let mut block = vec![0; BLOCK];
    loop {
        let length = file.read(&mut block)?;
        let Some(bytes) = block.get(..length).filter(|bytes| !bytes.is_empty()) else { break };
        hasher.update(bytes);
        size += length as u64;
    }
    Ok((hasher.finish(), size))
}

/// A form with a file that is read while it is sent.
struct FileBody {
    length: u64,
    before: Bytes,
    file: io::Take<File>,
    left: u64,
    after: Bytes,
    progress: ProgressBar,
}

impl FileBody {
    fn next(&mut self) -> io::Result<Bytes> {
        if !self.before.is_empty() {
            return Ok(std::mem::take(&mut self.before));
        }
        if self.left == 0 {
            return Ok(std::mem::take(&mut self.after));
        }
        let mut block = vec![0; BLOCK.min(usize::try_from(self.left).unwrap_or(BLOCK))];
        let length = self.file.read(&mut block)?;
        if length == 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the file was truncated while it was sent",
            ));
        }
        block.truncate(length);
        self.left -= length as u64;
        self.progress.inc(length as u64);
        Ok(Bytes::from(block))
    }
}

impl Body for FileBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        // Reading the file may block, which is fine: this thread does nothing else.
        Poll::Ready(match self.next() {
            Ok(bytes) if bytes.is_empty() => None,
            next => Some(next.map(Frame::data)),
        })
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}

/// Returns the content type of a file extension.
fn content_type_of(file: &Path) -> ContentType {
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
        assert_eq!(content_type_of(Path::new("a/b.PNG")).as_str(), "image/png");
        assert_eq!(content_type_of(Path::new("png")), ContentType::unknown());
    }
}
