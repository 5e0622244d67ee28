//! The blob store in an S3 bucket, which has neither renames nor locks.
//!
//! Under the prefix, bytes are written to `staging/<unique>`, with the content type as the type of the object. Sealing adds
//! an empty object `sealed/<hash>/<unique>`, and publishing copies the staged object to its key, then removes both. Objects
//! of ended processes cannot be distinguished from active ones, so objects count as abandoned when they exceed a certain
//! age by the clock of the bucket.
//!
//! Requests are made by `requests.rs` only, which limits their duration.

mod published;
mod requests;
mod upload;

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::BytesMut;
use futures_util::future::TryFutureExt as _;
use futures_util::stream::{BoxStream, StreamExt as _, TryStreamExt as _};
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, ClientOptions, Error, GetOptions, GetRange, GetResult, ObjectMeta, RetryConfig,
};
use tokio::sync::Semaphore;

use self::requests::{failed, with_item_timeout};
use self::upload::{SealedObject, StagedObject};
use crate::content_hash::{ContentHash, StorageKey};
use crate::content_type::ContentType;
use crate::error::StoreError;
use crate::store::{Blob, BlobInfo, BlobStore, LinkMethod, Sealed, Staged, StoreFuture, StoredBlob};

/// The maximum number of retries of a request that fails without a response, or because the service is overloaded.
const RETRIES: usize = 3;

/// The unit in which bytes in memory are counted, in bytes.
const BLOCK: usize = 1024;

/// How long a presigned URL is valid.
const LINK_TTL: Duration = Duration::from_secs(300);

/// The location and settings of a bucket.
#[derive(Clone)]
pub struct S3Options {
    /// The URL of the form `s3://bucket/prefix`.
    pub url: String,
    /// Settings with the names of environment variables of other S3 tools: `AWS_ACCESS_KEY_ID`, `AWS_REGION`,
    /// `AWS_ENDPOINT`, `AWS_ALLOW_HTTP` and so on.
    pub settings: Vec<(String, String)>,
    /// A name of letters, digits, `-` and `_` that is unique among the processes that use the bucket.
    pub instance: String,
    /// The age at which unfinished objects count as abandoned. No upload may take longer.
    pub stale_after: Duration,
    /// Whether URLs are signed, which are valid for five minutes. If not, files are read through this store only.
    pub links: bool,
    /// How long a request to the bucket may take, including its retries. Requests that copy or assemble an object get an
    /// additional second for each 16 MiB. While a file is read, the limit applies to each chunk.
    pub timeout: Duration,
    /// How many bytes all unfinished files together may hold in memory. Each file holds up to three parts of 8 MiB. Above
    /// this limit, writes fail.
    pub buffered_bytes: usize,
}

impl S3Options {
    /// Creates options in which unfinished objects are abandoned after one hour, URLs are signed, and requests time
    /// out after 30 seconds. Unfinished files may hold 512 MiB in memory.
    pub fn new(url: impl Into<String>, instance: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            settings: Vec::new(),
            instance: instance.into(),
            stale_after: Duration::from_secs(3600),
            links: true,
            timeout: Duration::from_secs(30),
            buffered_bytes: 512 * 1024 * 1024,
        }
    }
}

/// Omits the settings, which contain secrets.
impl fmt::Debug for S3Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Options").field("url", &self.url).finish_non_exhaustive()
    }
}

/// A store in a bucket with the S3 protocol. It requires a tokio runtime.
#[derive(Clone)]
pub struct S3Store(Arc<Bucket>);

struct Bucket {
    s3: AmazonS3,
    prefix: String,
    instance: String,
    next: AtomicU64,
    stale_after: Duration,
    links: bool,
    timeout: Duration,
    /// A permit for each block that may be in memory.
    blocks: Arc<Semaphore>,
}

impl S3Store {
    /// Creates a store without connecting to the bucket.
    ///
    /// # Errors
    /// [`StoreError`] if the options are invalid.
    pub fn new(options: S3Options) -> Result<Self, StoreError> {
        let invalid = |what: &str| StoreError::new("read its settings", what);
        let rest =
            options.url.strip_prefix("s3://").ok_or_else(|| invalid("the URL must be s3://bucket/prefix"))?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let letters = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if options.instance.is_empty() || !options.instance.bytes().all(letters) {
            return Err(invalid("the instance must have letters, digits, '-' and '_' only"));
        }
        // Disabled, because the timeout of the client would include the bodies of downloads.
        let client = ClientOptions::new().with_timeout_disabled();
        let retries =
            RetryConfig { max_retries: RETRIES, retry_timeout: options.timeout, ..RetryConfig::default() };
        let mut builder =
            AmazonS3Builder::new().with_client_options(client).with_retry(retries).with_bucket_name(bucket);
        for (name, value) in &options.settings {
            // Unknown settings are ignored.
            if let Ok(key) = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>() {
                builder = builder.with_config(key, value);
            }
        }
        // `object_store` uses the default cryptography provider of the process. A provider that is already installed is kept.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let s3 = builder.build().map_err(|error| StoreError::new("read its settings", error))?;
        Ok(Self(Arc::new(Bucket {
            s3,
            prefix: prefix.trim_matches('/').to_owned(),
            instance: options.instance,
            next: AtomicU64::new(0),
            stale_after: options.stale_after,
            links: options.links,
            timeout: options.timeout,
            blocks: Arc::new(Semaphore::new(options.buffered_bytes / BLOCK)),
        })))
    }
}

impl fmt::Debug for S3Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Store").field("prefix", &self.0.prefix).finish_non_exhaustive()
    }
}

impl BlobStore for S3Store {
    fn stage<'a>(&'a self, content_type: &'a ContentType) -> StoreFuture<'a, Box<dyn Staged>> {
        let (bucket, unique) = (Arc::clone(&self.0), self.0.unique_name());
        let attributes = attributes(content_type);
        let staged = StagedObject {
            bucket,
            unique,
            attributes,
            size: 0,
            part: BytesMut::new(),
            permits: None,
            upload: None,
            sending: None,
        };
        Box::pin(async move { Ok(Box::new(staged) as Box<dyn Staged>) })
    }

    fn find(&self, key: StorageKey) -> StoreFuture<'_, Option<BlobInfo>> {
        Box::pin(
            async move { self.0.info_of(&self.0.published(key)).await.map_err(failed("look for a file")) },
        )
    }

    fn open(&self, key: StorageKey, range: Option<Range<u64>>) -> StoreFuture<'_, Option<Blob>> {
        Box::pin(async move {
            let range = range.map(GetRange::Bounded);
            let options = GetOptions { range, ..GetOptions::default() };
            let found = present(self.0.get(&self.0.published(key), options).await);
            let Some(found) = found.map_err(failed("open a file"))? else { return Ok(None) };
            let info = info(&found);
            let bytes = with_item_timeout(self.0.timeout, found.into_stream());
            Ok(Some(Blob { info, bytes: bytes.map_err(io::Error::other).boxed() }))
        })
    }

    fn presigned_url(&self, key: StorageKey, method: LinkMethod) -> StoreFuture<'_, Option<String>> {
        Box::pin(async move {
            if !self.0.links {
                return Ok(None);
            }
            let link = self.0.link(&self.0.published(key), method, LINK_TTL).await;
            link.map(Some).map_err(failed("sign a link"))
        })
    }

    fn find_sealed(&self, key: StorageKey) -> StoreFuture<'_, Option<Box<dyn Sealed>>> {
        Box::pin(async move {
            let folder = self.0.path(&format!("sealed/{}", key.hash().hex()));
            let mut listing = self.0.list(&folder).map_err(failed("look for a sealed file"));
            while let Some(entry) = listing.try_next().await? {
                if let Some(sealed) = self.0.sealed_of(&entry) {
                    return Ok(Some(Box::new(sealed) as Box<dyn Sealed>));
                }
            }
            Ok(None)
        })
    }

    fn abandoned(&self) -> StoreFuture<'_, Vec<Box<dyn Sealed>>> {
        Box::pin(self.0.abandoned().map_err(failed("remove abandoned files")))
    }

    fn list(&self) -> BoxStream<'_, Result<StoredBlob, StoreError>> {
        self.0.stored().map_err(failed("list files")).boxed()
    }

    fn unpublish(&self, key: StorageKey) -> StoreFuture<'_, Option<Box<dyn Sealed>>> {
        Box::pin(self.0.unpublish(key).map_err(failed("unpublish a file")))
    }
}

impl Bucket {
    fn unique_name(&self) -> String {
        format!("{}-{}", self.instance, self.next.fetch_add(1, Ordering::Relaxed))
    }

    fn path(&self, below: &str) -> Path {
        // The path consists of hex digits, constants and the validated name of the instance.
        if self.prefix.is_empty() {
            Path::from(below)
        } else {
            Path::from(format!("{}/{below}", self.prefix))
        }
    }

    fn published(&self, key: StorageKey) -> Path {
        self.path(&key.to_string())
    }

    fn staged(&self, unique: &str) -> Path {
        self.path(&format!("staging/{unique}"))
    }

    fn mark(&self, key: StorageKey, unique: &str) -> Path {
        self.path(&format!("sealed/{}/{unique}", key.hash().hex()))
    }

    fn sealed_of(self: &Arc<Self>, entry: &ObjectMeta) -> Option<SealedObject> {
        let mark = &entry.location;
        let (folders, name) = mark.as_ref().rsplit_once('/')?;
        // Earlier versions wrote `sealed/<hash>.<unique>`.
        let (hash, unique) = match name.split_once('.') {
            Some(parts) => parts,
            None => (folders.rsplit('/').next()?, name),
        };
        let key = ContentHash::from_hex(hash)?.key();
        let unique = unique.to_owned();
        Some(SealedObject { bucket: Arc::clone(self), key, unique, mark: mark.clone() })
    }

    async fn abandoned(self: &Arc<Self>) -> Result<Vec<Box<dyn Sealed>>, Error> {
        let now = self.now().await?;
        let is_stale = |entry: &ObjectMeta| {
            let age = now.last_modified.signed_duration_since(entry.last_modified).to_std();
            age.is_ok_and(|age| age >= self.stale_after)
        };
        let mut sealed = Vec::new();
        let mut known = Vec::new();
        let mut listing = self.list(&self.path("sealed"));
        while let Some(entry) = listing.try_next().await? {
            let Some(found) = self.sealed_of(&entry) else { continue };
            known.push(found.unique.clone());
            if is_stale(&entry) {
                sealed.push(Box::new(found) as Box<dyn Sealed>);
            }
        }
        let mut listing = self.list(&self.path("staging"));
        while let Some(entry) = listing.try_next().await? {
            let is_known = known.iter().any(|known| Some(known.as_str()) == entry.location.filename());
            if is_stale(&entry) && !is_known {
                self.remove(&entry.location).await?;
            }
        }
        Ok(sealed)
    }

    /// Creates an object to get the current time by the clock of the bucket.
    async fn now(&self) -> Result<ObjectMeta, Error> {
        let path = self.path(&format!("clock/{}", self.instance));
        self.put_empty(&path).await?;
        let now = self.get(&path, GetOptions { head: true, ..GetOptions::default() }).await?.meta;
        self.remove(&path).await?;
        Ok(now)
    }

    async fn publish(&self, key: StorageKey, unique: &str, mark: &Path) -> Result<(), Error> {
        let (staged, published) = (self.staged(unique), self.published(key));
        match (self.info_of(&staged).await?, self.info_of(&published).await?) {
            // The copy includes the content type, so equal bytes get the type that was declared last.
            (Some(ours), theirs) if theirs.as_ref() != Some(&ours) => {
                self.copy(&staged, &published, ours.size).await?
            }
            (None, None) => {
                let source = "the sealed object is gone".into();
                return Err(Error::NotFound { path: staged.to_string(), source });
            }
            // Another upload or process has published the same bytes.
            _ => {}
        }
        self.clear(unique, mark).await
    }

    async fn info_of(&self, path: &Path) -> Result<Option<BlobInfo>, Error> {
        let options = GetOptions { head: true, ..GetOptions::default() };
        Ok(present(self.get(path, options).await)?.as_ref().map(info))
    }

    async fn clear(&self, unique: &str, mark: &Path) -> Result<(), Error> {
        self.remove(mark).await?;
        self.remove(&self.staged(unique)).await
    }
}

/// Returns the attributes of an object. Objects of unsafe types become attachments, because the service cannot send
/// `nosniff`.
fn attributes(content_type: &ContentType) -> Attributes {
    let mut attributes = Attributes::new();
    attributes.insert(Attribute::ContentType, content_type.to_string().into());
    if !content_type.is_safe_inline() {
        attributes.insert(Attribute::ContentDisposition, "attachment".into());
    }
    attributes
}

fn info(found: &GetResult) -> BlobInfo {
    let declared = found.attributes.get(&Attribute::ContentType);
    let content_type = declared.and_then(|declared| ContentType::parse(declared));
    BlobInfo { size: found.meta.size, content_type: content_type.unwrap_or_else(ContentType::unknown) }
}

/// Converts a `NotFound` error to `None`.
fn present<T>(result: Result<T, Error>) -> Result<Option<T>, Error> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
