//! SQLite databases and temporary folders for tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rusqlite::Connection;

/// The tables and rows of a small blog.
const BLOG: &str = "
CREATE TABLE users (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, role TEXT, age INTEGER,
    manager_id INTEGER REFERENCES users (id)
);
CREATE TABLE posts (
    id INTEGER PRIMARY KEY, title TEXT NOT NULL, likes INTEGER, score REAL, published BOOLEAN,
    created_at DATETIME, attributes JSON, picture BLOB,
    author_id INTEGER NOT NULL REFERENCES users (id)
);
CREATE TABLE comments (
    id INTEGER PRIMARY KEY, text TEXT NOT NULL,
    post_id INTEGER NOT NULL REFERENCES posts (id), user_id INTEGER REFERENCES users (id)
);
CREATE TABLE tags (id INTEGER PRIMARY KEY, label TEXT NOT NULL UNIQUE);
CREATE TABLE post_tags (
    post_id INTEGER NOT NULL REFERENCES posts (id), tag_id INTEGER NOT NULL REFERENCES tags (id),
    PRIMARY KEY (post_id, tag_id)
);
INSERT INTO users VALUES
    (1, 'Ada', 'admin', 36, NULL), (2, 'Bo', 'editor', 29, 1), (3, 'Cy', 'editor', NULL, 1), (4, 'Di', NULL, 41, 2);
INSERT INTO posts VALUES
    (1, 'Rust at dawn', 5, 1.5, 1, '2024-01-02 03:04:05', '{\"b\":[1,null],\"a\":true}', X'00FF10', 1),
    (2, 'Slow bread', 7, NULL, 0, NULL, NULL, NULL, 2),
    (3, 'A map', NULL, 2.0, 1, '2024-02-03T04:05:06', NULL, NULL, 2),
    (4, 'Bicycle', 7, -0.25, NULL, NULL, NULL, NULL, 3);
INSERT INTO comments VALUES
    (1, 'first', 1, 2), (2, 'second', 1, 3), (3, 'third', 1, NULL), (4, 'yes', 2, 1), (5, 'no', 2, 4);
INSERT INTO tags VALUES (1, 'code'), (2, 'food'), (3, 'travel');
INSERT INTO post_tags VALUES (1, 1), (1, 3), (2, 2), (3, 3), (4, 3), (4, 1);
";

/// A temporary folder, removed when this value is dropped.
#[derive(Debug)]
pub struct TempDir {
    path: PathBuf,
}

impl Default for TempDir {
    fn default() -> Self {
        Self::new()
    }
}

impl TempDir {
    /// Creates an empty folder.
    #[must_use]
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("mesh-tests-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        // A run that was killed may have left a folder of this name.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder for temporary files");
        Self { path }
    }

    /// Returns the path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file in the folder and returns its path.
    pub fn write(&self, name: &str, text: &str) -> String {
        let path = self.path.join(name);
        fs::write(&path, text).expect("a temporary file is written");
        path.display().to_string()
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// A SQLite file in a temporary folder.
#[derive(Debug)]
pub struct Database {
    /// The folder, for further files of the test.
    pub dir: Arc<TempDir>,
}

impl Database {
    /// Creates a database by running statements.
    #[must_use]
    pub fn new(statements: &str) -> Self {
        let database = Self { dir: Arc::new(TempDir::new()) };
        let connection = database.connect();
        // WAL, because one process serves the file while another writes to it. Foreign keys are off so that
        // fixtures can contain dangling keys.
        connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA foreign_keys = OFF;").expect("a setting");
        connection.execute_batch(statements).expect("the statements of the fixture");
        database
    }

    /// Creates a small blog: users with managers, posts, comments, tags.
    #[must_use]
    pub fn blog() -> Self {
        Self::new(BLOG)
    }

    /// Creates the blog with `count` further posts of author 1, from id 101 on.
    #[must_use]
    pub fn blog_with_posts(count: u32) -> Self {
        let database = Self::blog();
        let statement = format!(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
             INSERT INTO posts (id, title, author_id) SELECT 100 + i, 'Post ' || i, 1 FROM n;"
        );
        database.connect().execute_batch(&statement).expect("further posts");
        database
    }

    /// Opens another connection to the file.
    #[must_use]
    pub fn connect(&self) -> Connection {
        let connection = Connection::open(self.file()).expect("the database opens");
        connection.busy_timeout(std::time::Duration::from_secs(5)).expect("a time limit");
        connection
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.dir.path().join("data.db")
    }

    /// Returns the URL of the database for the program's arguments.
    #[must_use]
    pub fn url(&self) -> String {
        format!("sqlite:{}", self.file().display())
    }
}
