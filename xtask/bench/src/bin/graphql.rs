//! A carefully written GraphQL server for the reads of the benchmark: async-graphql on axum, batched with DataLoader, over
//! a small pool of SQLite connections on blocking threads with cached statements.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use async_graphql::dataloader::{DataLoader, Loader};
use async_graphql::{ComplexObject, Context, EmptyMutation, EmptySubscription, Object, Schema, SimpleObject};
use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use mesh_bench::argument;
use mesh_bench::sqlite::open;
use rusqlite::{Connection, OpenFlags, Row};
use tokio::net::TcpListener;

type Failure = Arc<dyn std::error::Error + Send + Sync>;

/// Idle connections.
struct Database {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Database {
    /// Runs a function with a connection on a blocking thread.
    async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        run: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Failure> {
        let database = Arc::clone(self);
        let ran = tokio::task::spawn_blocking(move || -> rusqlite::Result<T> {
            let idle = database.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let connection =
                idle.map_or_else(|| open(&database.path, OpenFlags::SQLITE_OPEN_READ_ONLY), Ok)?;
            let result = run(&connection);
            database.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            result
        });
        ran.await.map_err(|error| Arc::new(error) as Failure)?.map_err(|error| Arc::new(error) as Failure)
    }
}

#[derive(SimpleObject, Clone)]
struct User {
    id: i64,
    name: String,
}

#[derive(SimpleObject, Clone)]
#[graphql(complex)]
struct Comment {
    id: i64,
    body: String,
    #[graphql(skip)]
    author_id: i64,
}

#[derive(SimpleObject, Clone)]
#[graphql(complex)]
struct Post {
    id: i64,
    title: String,
    body: String,
    published: bool,
    views: i64,
    published_at: String,
    #[graphql(skip)]
    author_id: i64,
}

#[derive(SimpleObject)]
struct PageInfo {
    has_next_page: bool,
    start_cursor: Option<String>,
    end_cursor: Option<String>,
}

#[derive(SimpleObject)]
struct Posts {
    items: Vec<Post>,
    page_info: PageInfo,
}

struct Users(Arc<Database>);
struct Comments(Arc<Database>);

fn marks(count: usize) -> String {
    vec!["?"; count].join(", ")
}

impl Loader<i64> for Users {
    type Value = User;
    type Error = Failure;

    async fn load(&self, keys: &[i64]) -> Result<HashMap<i64, User>, Failure> {
        let keys = keys.to_vec();
        self.0
            .run(move |connection| {
                let sql = format!("SELECT id, name FROM users WHERE id IN ({})", marks(keys.len()));
                let mut statement = connection.prepare_cached(&sql)?;
                let users = statement.query_map(rusqlite::params_from_iter(keys), |row| {
                    let id = row.get(0)?;
                    Ok((id, User { id, name: row.get(1)? }))
                })?;
                users.collect()
            })
            .await
    }
}

impl Loader<i64> for Comments {
    type Value = Vec<Comment>;
    type Error = Failure;

    async fn load(&self, posts: &[i64]) -> Result<HashMap<i64, Vec<Comment>>, Failure> {
        let posts = posts.to_vec();
        self.0
            .run(move |connection| {
                let sql = format!(
                    "SELECT post_id, id, body, author_id FROM comments WHERE post_id IN ({}) ORDER BY post_id, id",
                    marks(posts.len())
                );
                let mut all: HashMap<i64, Vec<Comment>> = HashMap::with_capacity(posts.len());
                let mut statement = connection.prepare_cached(&sql)?;
                let mut rows = statement.query(rusqlite::params_from_iter(posts))?;
                while let Some(row) = rows.next()? {
                    let comment = Comment { id: row.get(1)?, body: row.get(2)?, author_id: row.get(3)? };
                    all.entry(row.get(0)?).or_default().push(comment);
                }
                Ok(all)
            })
            .await
    }
}

async fn user(cx: &Context<'_>, id: i64) -> async_graphql::Result<Option<User>> {
    Ok(cx.data::<DataLoader<Users>>()?.load_one(id).await?)
}

#[ComplexObject]
impl Post {
    async fn author(&self, cx: &Context<'_>) -> async_graphql::Result<Option<User>> {
        user(cx, self.author_id).await
    }

    async fn comments(&self, cx: &Context<'_>) -> async_graphql::Result<Vec<Comment>> {
        Ok(cx.data::<DataLoader<Comments>>()?.load_one(self.id).await?.unwrap_or_default())
    }
}

#[ComplexObject]
impl Comment {
    async fn author(&self, cx: &Context<'_>) -> async_graphql::Result<Option<User>> {
        user(cx, self.author_id).await
    }
}

const POST: &str = "SELECT id, title, body, published, views, published_at, author_id FROM posts";

fn read_post(row: &Row<'_>) -> rusqlite::Result<Post> {
    Ok(Post {
        id: row.get(0)?,
        title: row.get(1)?,
        body: row.get(2)?,
        published: row.get(3)?,
        views: row.get(4)?,
        published_at: row.get(5)?,
        author_id: row.get(6)?,
    })
}

struct Query;

#[Object]
impl Query {
    async fn post(&self, cx: &Context<'_>, id: i64) -> async_graphql::Result<Option<Post>> {
        let read = move |connection: &Connection| {
            let mut statement = connection.prepare_cached(&format!("{POST} WHERE id = ?"))?;
            let mut rows = statement.query([id])?;
            rows.next()?.map(read_post).transpose()
        };
        Ok(cx.data::<Arc<Database>>()?.run(read).await?)
    }

    async fn posts(&self, cx: &Context<'_>, first: u32) -> async_graphql::Result<Posts> {
        let read = move |connection: &Connection| {
            let mut statement = connection.prepare_cached(&format!(
                "{POST} WHERE published = 1 ORDER BY published_at DESC, id DESC LIMIT ?"
            ))?;
            let posts = statement.query_map([first + 1], read_post)?;
            posts.collect::<rusqlite::Result<Vec<Post>>>()
        };
        let mut items = cx.data::<Arc<Database>>()?.run(read).await?;
        let has_next_page = items.len() > first as usize;
        items.truncate(first as usize);
        let cursor = |post: &Post| format!("{} {}", post.published_at, post.id);
        let (start_cursor, end_cursor) = (items.first().map(cursor), items.last().map(cursor));
        Ok(Posts { items, page_info: PageInfo { has_next_page, start_cursor, end_cursor } })
    }
}

type Service = Schema<Query, EmptyMutation, EmptySubscription>;

/// Creates the loaders of a request, so that nothing is cached between requests.
async fn execute(
    State((schema, database)): State<(Service, Arc<Database>)>,
    Json(request): Json<async_graphql::Request>,
) -> Json<async_graphql::Response> {
    let users = DataLoader::new(Users(Arc::clone(&database)), tokio::spawn);
    let comments = DataLoader::new(Comments(database), tokio::spawn);
    let (users, comments) =
        (users.delay(std::time::Duration::ZERO), comments.delay(std::time::Duration::ZERO));
    Json(schema.execute(request.data(users).data(comments)).await)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = PathBuf::from(argument("--database").ok_or("--database FILE is missing")?);
    let database = Arc::new(Database { path, idle: Mutex::default() });
    let schema = Schema::build(Query, EmptyMutation, EmptySubscription).data(Arc::clone(&database)).finish();
    let router = Router::new().route("/", post(execute)).with_state((schema, database));
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("listening on http://{}", listener.local_addr()?);
        axum::serve(
            axum::serve::ListenerExt::tap_io(listener, |stream| {
                let _ = stream.set_nodelay(true);
            }),
            router,
        )
        .await?;
        Ok(())
    })
}
