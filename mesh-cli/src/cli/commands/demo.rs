//! `mesh-server demo`: serves sample data and prints example calls.

mod data;

use std::path::{Path, PathBuf};

use clap::Args;
use mesh_sqlite::rusqlite::{Connection, OpenFlags};

use crate::cli::args::{LogArgs, collect_flags};
use crate::cli::failure::{Failure, WithContext as _};
use crate::cli::output::print;
use crate::cli::server::data_source::DataSource;
use crate::cli::server::logging;
use crate::cli::server::run::serve;
use crate::cli::settings::load_config;
use crate::cli::temp_folder::TempFolder;
use crate::cli::terminal::Spinner;
use crate::config::Flags;

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Address and port to listen on; port 0 picks a free one [default: 127.0.0.1:4000]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Keep the sample data in this file, which is created if it does not exist
    #[arg(long, value_name = "FILE")]
    pub(crate) database: Option<PathBuf>,
    #[command(flatten)]
    log: LogArgs,
}

impl DemoArgs {
    /// Returns the flags that are settings. The database is not one of them.
    pub(crate) fn flags(&self) -> Flags {
        [collect_flags([("listen", &self.listen)]), self.log.flags()].concat()
    }
}

pub(crate) fn run(args: &DemoArgs) -> Result<(), Failure> {
    let mut config = load_config(args.flags(), None)?;
    let _logging = logging::start(&config)?;
    let (path, _folder) = sample(args.database.as_deref())?;
    config.database = Some(format!("sqlite:{}", path.display()).into());
    config.schema = None;
    config.docs.enabled = config.listen.ip().is_loopback();
    if config.docs.title.is_empty() {
        "Sample blog".clone_into(&mut config.docs.title);
    }
    let source = DataSource::open(&config)?;
    if !["user", "post", "comment", "tag"].iter().all(|entity| source.schema.find(entity).is_some()) {
        let path = path.display();
        return Err(Failure::usage_error(format!(
            "{path} is not a sample database: name a file that does not exist, or serve it with `mesh-server serve \
             --database sqlite:{path}`"
        )));
    }
    // The name under which this program was started, so that the printed command works when it is pasted.
    let program = std::env::args().next().filter(|name| !name.is_empty());
    let program = program.unwrap_or_else(|| "mesh-server".to_owned());
    serve(&config, source, |url| {
        let origin = url.strip_suffix(config.base.as_str()).unwrap_or(url);
        let playground = config.docs.enabled.then(|| format!("{origin}{}", config.docs.path));
        print(introduction(url, playground.as_deref(), &program))
    })
}

/// Returns the database file, and its folder if it is temporary, which is removed on drop. Fills a file that does not exist.
fn sample(file: Option<&Path>) -> Result<(PathBuf, Option<TempFolder>), Failure> {
    if let Some(path) = file {
        if !path.exists() {
            fill(path)?;
        }
        return Ok((path.to_owned(), None));
    }
    let folder = TempFolder::create("mesh-demo").map_err(|error| {
        Failure::usage_error(format!(
            "cannot create a folder for the sample data: {error}; name a file with --database"
        ))
    })?;
    let path = folder.path().join("blog.db");
    fill(&path)?;
    Ok((path, Some(folder)))
}

fn fill(path: &Path) -> Result<(), Failure> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let _spinner = Spinner::start("writing the sample data");
    let written =
        Connection::open_with_flags(path, flags).and_then(|mut connection| data::create(&mut connection));
    written.context(format_args!("cannot write the sample data to {}", path.display()))
}

/// One post with its author and comments, in the QL format.
const POST: &str = "{ post { title author { name } comments { body author { name } } } }";
/// A filtered and ordered page of posts, in JSON.
const NEWEST: &str = r#"{"post": {"$select": {"title": true, "publishedAt": true, "tags": {"$select": {"label": true}}}, "$where": {"field": "status", "op": "eq", "value": "published"}, "$orderBy": [{"field": "publishedAt", "direction": "desc"}], "$page": {"first": 3}}}"#;
/// A self relation in both directions.
const STAFF: &str = "{ user name role manager { name } users { name } }";

/// Returns example calls that work when they are pasted into a shell. `program` is the command that starts this program.
fn introduction(url: &str, playground: Option<&str>, program: &str) -> String {
    let playground = match playground {
        Some(url) => format!(
            "The playground, where you can build queries by clicking and see their SQL, is at\n\n  {url}"
        ),
        None => "The playground is off, because the server does not listen at a loopback address.".to_owned(),
    };
    let (post, newest) = (mesh_wire::base64::encode(POST), mesh_wire::base64::encode(NEWEST));
    format!(
        r#"
The sample blog has users, posts, comments and tags.

{playground}

Try these calls in another terminal. One post with its author and comments; the header holds a query in base64:

  curl -s {url}/post/1 -H 'X-Mesh-Format: ql' \
    -H 'X-Mesh-Query: {post}'

The three newest published posts with their tags:

  curl -s {url}/post \
    -H 'X-Mesh-Query: {newest}'

All users with their managers and the users that they manage, with the query in the body:

  curl -s {url} -H 'Content-Type: application/json' \
    -d '{{"format": "ql", "query": "{STAFF}"}}'

The same query without curl:

  {program} query --url {url} '{STAFF}'

Press Ctrl-C to stop the server.
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
    fn printed_calls_fit_the_sample() {
        let (path, _folder) = sample(None).unwrap();
        let database = Some(format!("sqlite:{}", path.display()).into());
        let source = DataSource::open(&Config { database, ..Config::default() }).unwrap();
        let mesh = Mesh::builder(source.schema).build().unwrap();
        mesh.plan(&Request::point(Format::Ql, POST, "1")).unwrap();
        mesh.plan(&Request::collection(Format::Json, NEWEST)).unwrap();
        mesh.plan(&Request::collection(Format::Ql, STAFF)).unwrap();
        let text =
            introduction("http://127.0.0.1:4000/mesh", Some("http://127.0.0.1:4000/docs"), "./mesh-server");
        assert!(text.contains(&mesh_wire::base64::encode(NEWEST)) && text.contains(STAFF));
        assert!(text.contains("  http://127.0.0.1:4000/docs\n"));
        assert!(text.contains("  ./mesh-server query --url"));
    }

    #[test]
    fn temporary_sample_is_removed() {
        let (path, folder) = sample(None).unwrap();
        drop(folder);
        assert!(!path.exists());
    }
}
