//! `mesh-server demo`: sample data over HTTP, with calls to paste.

use std::path::{Path, PathBuf};

use mesh_sqlite::rusqlite::{Connection, OpenFlags};

use crate::cli::args::DemoArgs;
use crate::cli::commands::serve::{serve, start_log};
use crate::cli::failure::Failure;
use crate::cli::output::print;
use crate::cli::server::data_source::DataSource;
use crate::cli::settings::settings;
use crate::cli::terminal::Spinner;
use crate::demo;

pub(crate) fn run(args: &DemoArgs) -> Result<(), Failure> {
    let mut config = settings(args.settings(), None).map_err(Failure::faults)?;
    let _logging = start_log(&config)?;
    let sample = match &args.database {
        Some(path) => Sample::kept(path)?,
        None => Sample::temporary()?,
    };
    config.database = Some(format!("sqlite:{}", sample.path.display()));
    config.schema = None;
    // Whoever tries the demo wants to look around, on this machine.
    config.docs.enabled = config.listen.ip().is_loopback();
    if config.docs.title.is_empty() {
        "Sample blog".clone_into(&mut config.docs.title);
    }
    let source = Source::open(&config).map_err(Failure::faults)?;
    serve(&config, source, |url| {
        let origin = url.strip_suffix(config.base.as_str()).unwrap_or(url);
        let page = config.docs.enabled.then(|| format!("{origin}{}", config.docs.path));
        print(calls(url, page.as_deref()))
    })
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
    let _waiting = Waiting::on("writing the sample data");
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    demo::create(&mut connection).map_err(failed)
}

/// One post with what belongs to it, in the brace format.
const POST: &str = "{ post { title author { name } comments { body author { name } } } }";
/// A page of posts, filtered and ordered, in JSON.
const NEWEST: &str = r#"{"post": {"$select": {"title": true, "publishedAt": true, "tags": {"$select": {"label": true}}}, "$where": {"field": "status", "op": "eq", "value": "published"}, "$orderBy": [{"field": "publishedAt", "direction": "desc"}], "$page": {"first": 3}}}"#;
/// A self relation, both ways.
const STAFF: &str = "{ user name role manager { name } users { name } }";

/// Calls that work when pasted into a shell.
fn calls(url: &str, page: Option<&str>) -> String {
    let page = page.map_or_else(String::new, |page| {
        format!("\nThe playground, to click queries together and see their SQL, is at\n\n  {page}\n")
    });
    let (post, newest) = (mesh_wire::base64::encode(POST), mesh_wire::base64::encode(NEWEST));
    format!(
        r#"
A sample blog is served: users, posts, comments and tags.
{page}
Try these in another terminal. One post with its author and comments; the header holds a query, in base64:

  curl -s {url}/post/1 -H 'X-Mesh-Format: ql' \
    -H 'X-Mesh-Query: {post}'

The three newest published posts with their tags:

  curl -s {url}/post \
    -H 'X-Mesh-Query: {newest}'

Everyone with their manager and those they manage, without encoding the query first:

  curl -s {url} -H 'Content-Type: application/json' \
    -d '{{"format": "ql", "query": "{STAFF}"}}'

The same without curl:

  mesh-server query --url {url} '{STAFF}'

Ctrl-C stops the server.
"#
    )
}

#[cfg(test)]
mod tests {
    use mesh_plan::{Mesh, Request};
    use mesh_ql::Format;

    use super::*;
    use crate::config::Config;

    #[test]
    fn the_calls_fit_the_sample() {
        let sample = Sample::temporary().unwrap();
        let database = Some(format!("sqlite:{}", sample.path.display()));
        let source = Source::open(&Config { database, ..Config::default() }).unwrap();
        let mesh = Mesh::builder(source.schema).build();
        mesh.plan(&Request::point(Format::Ql, POST, "1")).unwrap();
        mesh.plan(&Request::collection(Format::Json, NEWEST)).unwrap();
        mesh.plan(&Request::collection(Format::Ql, STAFF)).unwrap();
        let text = calls("http://127.0.0.1:4000/mesh", Some("http://127.0.0.1:4000/docs"));
        assert!(text.contains(&mesh_wire::base64::encode(NEWEST)) && text.contains(STAFF));
        assert!(text.contains("  http://127.0.0.1:4000/docs\n"));
        let folder = sample.folder.clone().unwrap();
        drop(sample);
        assert!(!folder.exists());
    }
}
