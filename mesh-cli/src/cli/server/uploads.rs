//! The store of files.

use mesh_server::Uploads;
use mesh_uploads::FileStore;

use crate::cli::failure::{Failure, WithContext as _};
use crate::config::Config;

/// Opens the store of files.
pub(crate) fn uploads(config: &Config) -> Result<Uploads, Failure> {
    let settings = &config.uploads;
    let mut uploads = match settings.store.split_once(':') {
        Some(("file", folder)) if !folder.is_empty() => {
            Uploads::new(FileStore::open(folder).context(format_args!("cannot store files in {folder}"))?)
        }
        #[cfg(feature = "s3")]
        Some(("s3", _)) => Uploads::new(bucket(config)?),
        #[cfg(not(feature = "s3"))]
        Some(("s3", _)) => {
            return Err(Failure::usage_error(
                "'uploads.store': this server was built without the feature 's3'; build it with `--features s3`",
            ));
        }
        _ => {
            return Err(Failure::usage_error(format!(
                "'uploads.store' must be 'file:FOLDER' or 's3://bucket/prefix', not '{}'",
                settings.store
            )));
        }
    };
    uploads.path = settings.path.clone().into();
    uploads.policy.max_bytes = settings.max_bytes;
    uploads.policy.content_types = settings.content_types.clone();
    Ok(uploads)
}

/// Opens a bucket with the `AWS_` variables that other S3 tools use.
#[cfg(feature = "s3")]
fn bucket(config: &Config) -> Result<mesh_uploads::S3Store, Failure> {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let instance = format!("{}-{}", std::process::id(), since.as_nanos());
    let settings = std::env::vars().filter(|(name, _)| name.starts_with("AWS_")).collect();
    let store = config.uploads.store.to_string();
    let without_links = store.strip_suffix("?links=false");
    let url = without_links.unwrap_or(&store);
    let options = mesh_uploads::S3Options {
        settings,
        links: without_links.is_none(),
        timeout: config.request_timeout,
        ..mesh_uploads::S3Options::new(url, instance)
    };
    mesh_uploads::S3Store::new(options).map_err(Failure::usage_error)
}
