//! The requests to a bucket, each within a time limit.

use std::error::Error as _;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use object_store::client::{HttpError, HttpErrorKind};
use object_store::path::Path;
use object_store::signer::Signer as _;
use object_store::{
    Attributes, Error, GetOptions, GetResult, MultipartUpload, ObjectMeta, ObjectStore as _,
    ObjectStoreExt as _, PutMultipartOptions, PutOptions,
};
use tokio::time::error::Elapsed;

use super::{Bucket, present};
use crate::error::{StoreError, StoreErrorKind};
use crate::store::LinkMethod;

/// The minimum rate at which a service is expected to copy, in bytes per second.
const COPIED_PER_SECOND: u64 = 16 * 1024 * 1024;

impl Bucket {
    pub(super) async fn get(&self, path: &Path, options: GetOptions) -> Result<GetResult, Error> {
        with_timeout(self.timeout, self.s3.get_opts(path, options)).await
    }

    pub(super) fn list(&self, folder: &Path) -> BoxStream<'static, Result<ObjectMeta, Error>> {
        with_item_timeout(self.timeout, self.s3.list(Some(folder)))
    }

    pub(super) async fn put(&self, path: &Path, bytes: Bytes, attributes: Attributes) -> Result<(), Error> {
        let options = PutOptions { attributes, ..PutOptions::default() };
        with_timeout(self.timeout, self.s3.put_opts(path, bytes.into(), options)).await.map(drop)
    }

    pub(super) async fn put_empty(&self, path: &Path) -> Result<(), Error> {
        self.put(path, Bytes::new(), Attributes::new()).await
    }

    pub(super) async fn put_parts(
        &self,
        path: &Path,
        attributes: Attributes,
    ) -> Result<Box<dyn MultipartUpload>, Error> {
        let options = PutMultipartOptions { attributes, ..PutMultipartOptions::default() };
        with_timeout(self.timeout, self.s3.put_multipart_opts(path, options)).await
    }

    pub(super) async fn complete(&self, upload: &mut dyn MultipartUpload, size: u64) -> Result<(), Error> {
        with_timeout(self.copy_timeout(size), upload.complete()).await.map(drop)
    }

    /// Removes an object. It is not an error if the object does not exist.
    pub(super) async fn remove(&self, path: &Path) -> Result<(), Error> {
        present(with_timeout(self.timeout, self.s3.delete(path)).await).map(drop)
    }

    pub(super) async fn copy(&self, from: &Path, to: &Path, size: u64) -> Result<(), Error> {
        with_timeout(self.copy_timeout(size), self.s3.copy(from, to)).await
    }

    pub(super) async fn link(&self, path: &Path, method: LinkMethod, ttl: Duration) -> Result<String, Error> {
        let method = match method {
            LinkMethod::Get => reqwest::Method::GET,
            LinkMethod::Head => reqwest::Method::HEAD,
        };
        with_timeout(self.timeout, self.s3.signed_url(method, path, ttl)).await.map(Into::into)
    }

    /// Returns the time limit of a request that makes the service copy `size` bytes.
    fn copy_timeout(&self, size: u64) -> Duration {
        self.timeout.saturating_add(Duration::from_secs(size / COPIED_PER_SECOND))
    }
}

/// Awaits a request within a time limit.
pub(super) async fn with_timeout<T>(
    limit: Duration,
    request: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    tokio::time::timeout(limit, request).await.unwrap_or_else(|elapsed| Err(timed_out(elapsed)))
}

/// Applies a time limit to each item.
pub(super) fn with_item_timeout<T: Send + 'static>(
    limit: Duration,
    items: BoxStream<'static, Result<T, Error>>,
) -> BoxStream<'static, Result<T, Error>> {
    let next = move |items: Option<BoxStream<'static, _>>| async move {
        let mut items = items?;
        match tokio::time::timeout(limit, items.next()).await {
            Ok(next) => Some((next?, Some(items))),
            Err(elapsed) => Some((Err(timed_out(elapsed)), None)),
        }
    };
    stream::unfold(Some(items), next).boxed()
}

fn timed_out(elapsed: Elapsed) -> Error {
    Error::Generic { store: "S3", source: Box::new(elapsed) }
}

pub(super) fn failed(doing: &'static str) -> impl Fn(Error) -> StoreError {
    move |error| {
        let kind = kind_of(&error);
        StoreError::new(doing, error).with_kind(kind)
    }
}

/// Returns the kind of an error, derived from its causes: whether the request timed out or could not reach the service.
fn kind_of(error: &Error) -> StoreErrorKind {
    let mut cause = error.source();
    while let Some(error) = cause {
        if error.is::<Elapsed>() {
            return StoreErrorKind::TimedOut;
        }
        match error.downcast_ref().map(HttpError::kind) {
            Some(HttpErrorKind::Timeout) => return StoreErrorKind::TimedOut,
            Some(HttpErrorKind::Connect | HttpErrorKind::Request | HttpErrorKind::Interrupted) => {
                return StoreErrorKind::Unreachable;
            }
            _ => cause = error.source(),
        }
    }
    StoreErrorKind::Failed
}
