//! `mesh-server demo`: sample data over HTTP, with calls to paste.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::args::DemoArgs;
use super::serve::{serve, start_log};
use super::source::Source;
use super::{Failure, faults_at_start, print, settings};
use crate::demo;

pub(crate) fn run(args: &DemoArgs) -> Result<(), Failure> {
    let mut config = settings(args.settings(), None).map_err(|faults| faults_at_start(&faults))?;
    start_log(&config)?;
    let sample = match &args.database {
        Some(path) => Sample::kept(path)?,
        None => Sample::temporary()?,
    };
    config.database = Some(format!("sqlite:{}", sample.path.display()));
    config.schema = None;
    let source = Source::open(&config).map_err(|faults| faults_at_start(&faults))?;
    serve(&config, source, |url| print(calls(url)))
}

/// The file with the sample data.
struct Sample {
    path: PathBuf,
    /// The folder to be removed at the end.
    folder: Option<PathBuf>,
}

impl Sample {
    fn kept(path: &Path) -> Result<Self, Failure> {
        if !path.exists() {
            fill(path)?;
        }
        Ok(Self { path: path.to_owned(), folder: None })
    }

    /// A file that nobody else can have made, since its folder is new.
    fn temporary() -> Result<Self, Failure> {
        let folder = (0..100)
            .map(|attempt| std::env::temp_dir().join(format!("mesh-demo-{}-{attempt}", std::process::id())))
            .find(|folder| std::fs::create_dir(folder).is_ok())
            .ok_or_else(|| {
                Failure::start("cannot make a folder for the sample data; name a file with --database")
            })?;
        let sample = Self { path: folder.join("blog.db"), folder: Some(folder) };
        fill(&sample.path)?;
        Ok(sample)
    }
}

impl Drop for Sample {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            // What cannot be removed stays where temporary files are.
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

fn fill(path: &Path) -> Result<(), Failure> {
    let failed =
        |error| Failure::start(format!("cannot write the sample data to {}: {error}", path.display()));
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    demo::create(&mut connection).map_err(failed)
}

/// Calls that work when pasted into a shell.
fn calls(url: &str) -> String {
    let encoded = |query: &str| mesh_wire::base64::encode(query);
    let author = encoded("{ post { title author { name } comments { body author { name } } } }");
    let newest = encoded(
        r#"{"post": {"$select": {"title": true, "publishedAt": true, "tags": {"$select": {"label": true}}}, "$where": {"field": "status", "op": "eq", "value": "published"}, "$orderBy": [{"field": "publishedAt", "direction": "desc"}], "$page": {"first": 3}}}"#,
    );
    format!(
        r#"
A sample blog is served: users, posts, comments and tags. Try these in another terminal.

One post with its author and comments; the header holds a query, in base64:

  curl -s {url}/post/1 -H 'X-Mesh-Format: ql' \
    -H 'X-Mesh-Query: {author}'

The three newest published posts with their tags:

  curl -s {url}/post \
    -H 'X-Mesh-Query: {newest}'

A query of your own, without encoding it first:

  curl -s {url} -H 'Content-Type: application/json' \
    -d '{{"format": "ql", "query": "{{ user name role manager {{ name }} reports {{ name }} }}"}}'

Ctrl-C stops the server.
"#
    )
}
