//! `mesh-server upload`: a client that hashes a file, signs what it states, and sends it.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use mesh_uploads::{ContentHash, ContentHasher, ContentType, Statement};
use mesh_wire::client::{self, Endpoint, UploadForm, UploadTarget};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde_json::{Map, Value};

use crate::cli::args::UploadArgs;
use crate::cli::client::http::{Caller, answer};
use crate::cli::client::session::{self, Login};
use crate::cli::failure::Failure;
use crate::cli::output::print;

/// What is read and sent at once.
const BLOCK: usize = 256 * 1024;
/// How often a terminal is told of the progress.
const TICK: Duration = Duration::from_millis(100);

pub(crate) fn run(args: &UploadArgs) -> Result<(), Failure> {
    let endpoint = Endpoint::parse(&args.url).map_err(Failure::start)?;
    if let Some(meta) = &args.meta {
        serde_json::from_str::<Map<String, Value>>(meta)
            .map_err(|error| Failure::start(format!("--meta must be a JSON object: {error}")))?;
    }
    let content_type = match &args.content_type {
        Some(text) => ContentType::parse(text)
            .ok_or_else(|| Failure::start(format!("--type: '{text}' is no content type")))?,
        None => by_extension(&args.file),
    };
    let caller = Caller::new(&endpoint, args.ca.as_deref())?;
    let password = args.login.as_deref().map(session::password).transpose()?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::start)?;
    runtime.block_on(async {
        let session = match (&args.login, password) {
            (Some(login), Some(password)) => Some(Login::begin(&caller, &endpoint, login, password).await?),
            _ => None,
        };
        let sent = send_file(&caller, &endpoint, args, session.as_ref(), &content_type).await;
        if let Some(session) = session {
            session.end().await;
        }
        let body: Value = serde_json::from_slice(&sent?).map_err(Failure::found)?;
        if io::stdout().is_terminal() { print(format_args!("{body:#}")) } else { print(&body) }
    })
}

async fn send_file(
    caller: &Caller,
    endpoint: &Endpoint,
    args: &UploadArgs,
    session: Option<&Login<'_>>,
    content_type: &ContentType,
) -> Result<Bytes, Failure> {
    let unreadable =
        |error: io::Error| Failure::start(format!("cannot read {}: {error}", args.file.display()));
    let mut file = File::open(&args.file).map_err(unreadable)?;
    let (hash, size) = hash_of(&mut file).map_err(unreadable)?;
    // From the start again, of the same file even if its name leads to another one by now.
    io::Seek::rewind(&mut file).map_err(unreadable)?;

    let (entity, field) = (args.entity.clone(), Some(args.field.clone()));
    let statement = Statement { entity, field, hash: Some(hash) }.to_string();
    let mut fresh = [0; 16];
    SystemRandom::new().fill(&mut fresh).map_err(Failure::start)?;
    let form = UploadForm::new(fresh);
    let place = UploadTarget::Attach { entity: &args.entity, id: &args.id, field: &args.field };
    let mut request = client::upload(endpoint, place, &statement, &form).map_err(Failure::start)?;
    if let Some(session) = session {
        request = session.sign(request)?;
    }
    let name = args.file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let before = form.before(args.meta.as_deref(), &name, content_type.as_str());
    let sent = Arc::new(AtomicU64::new(0));
    let body = FileBody {
        length: before.len() as u64 + size + form.after().len() as u64,
        before,
        file: file.take(size),
        left: size,
        after: form.after(),
        sent: Arc::clone(&sent),
    };
    let mut progress = Progress::new(size, sent);
    let sending = caller.send(request.map(|_| body));
    let mut sending = std::pin::pin!(sending);
    let reply = loop {
        tokio::select! {
            reply = &mut sending => break reply,
            () = tokio::time::sleep(TICK) => progress.show(),
        }
    };
    progress.end();
    let hint = "does the schema list this field under \"uploads\", and are [uploads] enabled there?";
    answer(reply?, "MethodNotAllowed", hint)
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

/// A form with a file in it, read while it is sent.
struct FileBody {
    length: u64,
    before: Bytes,
    file: io::Take<File>,
    left: u64,
    after: Bytes,
    sent: Arc<AtomicU64>,
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
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter"));
        }
        block.truncate(length);
        self.left -= length as u64;
        self.sent.fetch_add(length as u64, Ordering::Relaxed);
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
        // Reading a file may block; there is nothing else for this thread to do.
        Poll::Ready(match self.next() {
            Ok(bytes) if bytes.is_empty() => None,
            next => Some(next.map(Frame::data)),
        })
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}

/// The type that a file's name suggests; the server does not look into the bytes either.
fn by_extension(file: &Path) -> ContentType {
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

/// A line on the terminal that says how far it is; nothing where standard error is none.
struct Progress {
    size: u64,
    sent: Arc<AtomicU64>,
    begun: Instant,
    shown: bool,
}

impl Progress {
    fn new(size: u64, sent: Arc<AtomicU64>) -> Self {
        Self { size, sent, begun: Instant::now(), shown: false }
    }

    fn show(&mut self) {
        let mut out = io::stderr();
        if out.is_terminal() {
            self.shown = true;
            let line = bar(self.sent.load(Ordering::Relaxed), self.size, self.begun.elapsed());
            let _ = write!(out, "\r{line}\x1b[K").and_then(|()| out.flush());
        }
    }

    fn end(&mut self) {
        if self.shown {
            self.show();
            let _ = writeln!(io::stderr());
        }
    }
}

fn bar(sent: u64, size: u64, time: Duration) -> String {
    const CELLS: u64 = 30;
    let part = |whole: u64| sent.min(size).saturating_mul(whole).checked_div(size).unwrap_or(whole);
    let full = usize::try_from(part(CELLS)).unwrap_or_default();
    let rate = sent as f64 / time.as_secs_f64().max(0.001) / f64::from(1 << 20);
    let (sent, size) = (sent as f64 / f64::from(1 << 20), size as f64 / f64::from(1 << 20));
    let (done, open) = ("#".repeat(full), ".".repeat((CELLS as usize).saturating_sub(full)));
    format!("[{done}{open}] {:3} %  {sent:.1} of {size:.1} MiB  {rate:.1} MiB/s", part(100))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars() {
        let second = Duration::from_secs(1);
        assert_eq!(
            bar(15 << 20, 30 << 20, second),
            "[###############...............]  50 %  15.0 of 30.0 MiB  15.0 MiB/s"
        );
        assert!(bar(0, 0, second).contains("100 %"));
        assert!(bar(0, 9, second).starts_with("[....."));
    }

    #[test]
    fn types_by_name() {
        assert_eq!(by_extension(Path::new("a/b.PNG")).as_str(), "image/png");
        assert_eq!(by_extension(Path::new("png")), ContentType::unknown());
    }
}
