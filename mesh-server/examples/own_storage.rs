//! A custom store for uploaded files: `cargo run -p mesh-server --example own_storage`.
//!
//! Portraits of members are kept in memory. A file passes three states: staged while its bytes arrive, sealed when they are
//! checked, and published when its record is written. Only published files are visible.

use std::collections::HashMap;
use std::error::Error;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream;
use mesh_server::mesh_plan::Mesh;
use mesh_server::mesh_schema::{Schema, Upload};
use mesh_server::mesh_uploads::{
    Blob, BlobInfo, BlobStore, ContentType, Sealed, Staged, StorageKey, StoreError,
};
use mesh_server::{App, Server, Uploads};
use mesh_sqlite::Database;
use tokio::net::TcpListener;

/// Published files by the hash of their bytes.
#[derive(Clone, Debug, Default)]
struct Memory(Arc<Mutex<HashMap<StorageKey, (ContentType, Bytes)>>>);

impl Memory {
    fn files(&self) -> MutexGuard<'_, HashMap<StorageKey, (ContentType, Bytes)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BlobStore for Memory {
    fn stage<'a>(&'a self, ty: &'a ContentType) -> BoxFuture<'a, Result<Box<dyn Staged>, StoreError>> {
        let staged = InMemory { store: self.clone(), ty: ty.clone(), bytes: BytesMut::new() };
        Box::pin(async { Ok(Box::new(staged) as Box<dyn Staged>) })
    }

    fn find(&self, key: StorageKey) -> BoxFuture<'_, Result<Option<BlobInfo>, StoreError>> {
        Box::pin(async move { Ok(self.open(key, None).await?.map(|blob| blob.info)) })
    }

    fn open(
        &self,
        key: StorageKey,
        range: Option<Range<u64>>,
    ) -> BoxFuture<'_, Result<Option<Blob>, StoreError>> {
        let found = self.files().get(&key).cloned();
        let blob = found.map(|(content_type, whole)| {
            let info = BlobInfo { size: whole.len() as u64, content_type };
            let part =
                range.map_or_else(|| whole.clone(), |it| whole.slice(it.start as usize..it.end as usize));
            Blob { info, bytes: stream::iter([Ok(part)]).boxed() }
        });
        Box::pin(async { Ok(blob) })
    }

    // Unpublished files end with the process, so there is nothing to recover.
    fn find_sealed(&self, _: StorageKey) -> BoxFuture<'_, Result<Option<Box<dyn Sealed>>, StoreError>> {
        Box::pin(async { Ok(None) })
    }

    fn abandoned(&self) -> BoxFuture<'_, Result<Vec<Box<dyn Sealed>>, StoreError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

/// A file that is being received.
struct InMemory {
    store: Memory,
    ty: ContentType,
    bytes: BytesMut,
}

impl Staged for InMemory {
    fn write(&mut self, bytes: Bytes) -> BoxFuture<'_, Result<(), StoreError>> {
        self.bytes.extend_from_slice(&bytes);
        Box::pin(async { Ok(()) })
    }

    fn seal(self: Box<Self>, key: StorageKey) -> BoxFuture<'static, Result<Box<dyn Sealed>, StoreError>> {
        Box::pin(async move { Ok(Box::new(Checked { key, file: *self }) as Box<dyn Sealed>) })
    }
}

/// A complete file that is not yet published.
struct Checked {
    key: StorageKey,
    file: InMemory,
}

impl Sealed for Checked {
    fn key(&self) -> StorageKey {
        self.key
    }

    fn publish(self: Box<Self>) -> BoxFuture<'static, Result<(), StoreError>> {
        let InMemory { store, ty, bytes } = self.file;
        store.files().insert(self.key, (ty, bytes.freeze()));
        Box::pin(async { Ok(()) })
    }

    fn discard(self: Box<Self>) -> BoxFuture<'static, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::temp_dir().join(format!("mesh-members-{}.db", std::process::id()));
    let _ = std::fs::remove_file(&file);
    rusqlite::Connection::open(&file)?.execute_batch(
        "CREATE TABLE members (id INTEGER PRIMARY KEY, name TEXT NOT NULL, portrait TEXT);
         INSERT INTO members VALUES (1, 'Ines', NULL), (2, 'Tom', NULL);",
    )?;
    let sqlite = Database::open(&file)?;
    let portrait = Upload { max_bytes: Some(1_000_000), content_types: Some(vec!["image/*".to_owned()]) };
    let schema = Schema::builder()
        .entity("member", |it| {
            it.untyped("id").untyped("name").untyped("portrait").upload("portrait", portrait)
        })
        .build_with(&sqlite.contents(&[])?.catalog)?;
    let mesh = Mesh::builder(schema).default_mutator(sqlite.writer()?).default_resolver(sqlite).build()?;
    let mut app = App::builder(mesh);
    app.options.uploads = Some(Uploads::new(Memory::default()));
    let app = app.build()?;

    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:4000".to_owned());
    let listener = TcpListener::bind(address).await?;
    eprintln!("listening on http://{}", listener.local_addr()?);
    Server::new(app).serve(listener, std::future::pending()).await?;
    Ok(())
}
