//! Creates the sample: a blog with a given number of posts, with identical rows in every run.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mesh_bench::argument;
use rusqlite::types::Value;
use rusqlite::{Connection, Transaction, params, params_from_iter};

type Error = Box<dyn std::error::Error>;

/// Posts per author.
const POSTS_PER_USER: u32 = 10;
/// Average number of comments per post.
const COMMENTS_PER_POST: u32 = 5;

const TABLES: &str = "
    CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL, bio TEXT);
    CREATE TABLE posts (
        id INTEGER PRIMARY KEY, author_id INTEGER NOT NULL REFERENCES users (id), title TEXT NOT NULL,
        body TEXT NOT NULL, published BOOLEAN NOT NULL, published_at DATETIME NOT NULL, views INTEGER NOT NULL
    );
    CREATE TABLE comments (
        id INTEGER PRIMARY KEY, post_id INTEGER NOT NULL REFERENCES posts (id),
        author_id INTEGER NOT NULL REFERENCES users (id), body TEXT NOT NULL, created_at DATETIME NOT NULL
    );
    CREATE TABLE tags (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE post_tags (
        post_id INTEGER NOT NULL REFERENCES posts (id), tag_id INTEGER NOT NULL REFERENCES tags (id),
        PRIMARY KEY (post_id, tag_id)
    ) WITHOUT ROWID;
    CREATE TABLE employees (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL, title TEXT NOT NULL,
        manager_id INTEGER REFERENCES employees (id)
    );
    CREATE TABLE products (
        id INTEGER PRIMARY KEY, supplier_id INTEGER NOT NULL, category TEXT NOT NULL, name TEXT NOT NULL,
        sku TEXT NOT NULL, brand TEXT NOT NULL, color TEXT NOT NULL, size TEXT NOT NULL, material TEXT NOT NULL,
        origin TEXT NOT NULL, status TEXT NOT NULL, note TEXT, price REAL NOT NULL, cost REAL NOT NULL,
        weight REAL NOT NULL, width REAL NOT NULL, height REAL NOT NULL, depth REAL NOT NULL,
        stock INTEGER NOT NULL, reserved INTEGER NOT NULL, sold INTEGER NOT NULL, views INTEGER NOT NULL,
        rating INTEGER NOT NULL, reviews INTEGER NOT NULL, active BOOLEAN NOT NULL, featured BOOLEAN NOT NULL,
        taxable BOOLEAN NOT NULL, created_at DATETIME NOT NULL, updated_at DATETIME NOT NULL, retired_at DATETIME
    );
    CREATE TABLE accounts (id INTEGER PRIMARY KEY, email TEXT NOT NULL, password_hash TEXT NOT NULL, role TEXT);
";

const INDEXES: &str = "
    CREATE INDEX posts_author ON posts (author_id);
    CREATE INDEX posts_newest ON posts (published, published_at);
    CREATE INDEX posts_views ON posts (views);
    CREATE INDEX comments_post ON comments (post_id);
    CREATE INDEX comments_author ON comments (author_id);
    CREATE INDEX post_tags_tag ON post_tags (tag_id);
    CREATE INDEX employees_manager ON employees (manager_id);
    CREATE INDEX products_supplier ON products (supplier_id);
    CREATE VIRTUAL TABLE posts_search USING fts5 (title, content = 'posts', content_rowid = 'id');
    INSERT INTO posts_search (posts_search) VALUES ('rebuild');
    ANALYZE;
";

/// The sizes of the tables that are not part of the blog; two of them grow with the number of posts.
const POSTS_PER_EMPLOYEE: u32 = 10;
const POSTS_PER_PRODUCT: u32 = 5;
const TAGS: u32 = 200;
const SUPPLIERS: u32 = 100;
const REPORTS_PER_MANAGER: u32 = 4;

/// The account that signs requests, with its password hash.
const ACCOUNT: [&str; 2] = [
    "bench@example.com",
    "$argon2id$v=19$m=19456,t=2,p=1$r8MxKwf22ES8/aAgzWTs4A$riv+32BasqWOgZkdOJ/KzmqFU8hE7orNs/OvjOT/8Lg",
];

const WORDS: [&str; 32] = [
    "amber", "basin", "cedar", "delta", "ember", "fjord", "grove", "harbor", "inlet", "jetty", "knoll",
    "lagoon", "meadow", "north", "orchard", "prairie", "quarry", "ridge", "slope", "tundra", "upland",
    "valley", "willow", "yonder", "zephyr", "copper", "silver", "granite", "marble", "thunder", "morning",
    "evening",
];

/// A deterministic pseudo-random number generator (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 32) % u64::from(bound)) as u32
    }

    fn text(&mut self, words: u32) -> String {
        let mut text = String::new();
        for place in 0..words {
            if place > 0 {
                text.push(' ');
            }
            text.push_str(WORDS[self.below(WORDS.len() as u32) as usize]);
        }
        text
    }

    fn moment(&mut self) -> String {
        let (year, month, day) = (2015 + self.below(10), 1 + self.below(12), 1 + self.below(28));
        let (hour, minute, second) = (self.below(24), self.below(60), self.below(60));
        format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

/// Prints progress.
struct Progress {
    start: Instant,
    said: Instant,
    done: u64,
    rows: u64,
}

impl Progress {
    const EVERY: Duration = Duration::from_secs(2);

    fn new(rows: u64) -> Self {
        let now = Instant::now();
        Self { start: now, said: now, done: 0, rows }
    }

    fn row(&mut self) {
        self.done += 1;
        // Reading the clock for each row would be expensive.
        if self.done.is_multiple_of(4_096) && self.said.elapsed() > Self::EVERY {
            self.said = Instant::now();
            let percent = self.done * 100 / self.rows;
            eprintln!("  {percent:>3} % of {} rows, {:.0} s", self.rows, self.start.elapsed().as_secs_f64());
        }
    }

    fn step(&self, what: &str) {
        if self.start.elapsed() > Self::EVERY {
            eprintln!("  {what}, {:.0} s", self.start.elapsed().as_secs_f64());
        }
    }
}

fn main() -> Result<(), Error> {
    let path = PathBuf::from(argument("--out").ok_or("--out FILE is missing")?);
    let posts: u32 = argument("--posts").map_or(Ok(100_000), |text| text.parse())?;
    let journal = argument("--journal").unwrap_or_else(|| "wal".to_owned());
    let unfinished = path.with_extension("unfinished");
    let _ = std::fs::remove_file(&unfinished);
    let made = make(&unfinished, posts, &journal).and_then(|()| Ok(std::fs::rename(&unfinished, &path)?));
    if made.is_err() {
        // Do not leave an incomplete file behind.
        let _ = std::fs::remove_file(&unfinished);
    }
    made
}

fn make(path: &Path, posts: u32, journal: &str) -> Result<(), Error> {
    let (users, comments) = ((posts / POSTS_PER_USER).max(1), posts * COMMENTS_PER_POST);
    let mut progress = Progress::new(u64::from(users) + u64::from(posts) + u64::from(comments));
    let mut connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "off")?;
    connection.pragma_update(None, "synchronous", "off")?;
    // All references are valid; checking them would dominate the run time.
    connection.pragma_update(None, "foreign_keys", false)?;
    // 256 MiB, which index sorting also uses.
    connection.pragma_update(None, "cache_size", -262_144)?;
    connection.execute_batch(TABLES)?;
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let rows = connection.transaction()?;
    {
        let mut insert = rows.prepare("INSERT INTO users VALUES (?, ?, ?, ?)")?;
        for id in 1..=users {
            let name = dice.text(2);
            let email = format!("{}{id}@example.com", name.replace(' ', "."));
            insert.execute(params![id, name, email, dice.text(10)])?;
            progress.row();
        }
        let mut insert = rows.prepare("INSERT INTO posts VALUES (?, ?, ?, ?, ?, ?, ?)")?;
        for id in 1..=posts {
            let (author, title, body) = (1 + dice.below(users), dice.text(5), dice.text(50));
            let (published, moment) = (dice.below(10) > 0, dice.moment());
            insert.execute(params![id, author, title, body, published, moment, dice.below(1_000_000)])?;
            progress.row();
        }
        let mut insert = rows.prepare("INSERT INTO comments VALUES (?, ?, ?, ?, ?)")?;
        for id in 1..=comments {
            let (post, author) = (1 + dice.below(posts), 1 + dice.below(users));
            insert.execute(params![id, post, author, dice.text(18), dice.moment()])?;
            progress.row();
        }
    }
    others(&rows, posts, &mut dice)?;
    rows.execute("INSERT INTO accounts VALUES (1, ?, ?, 'reader')", ACCOUNT)?;
    rows.commit()?;
    for statement in INDEXES.split_inclusive(';').map(str::trim).filter(|text| !text.is_empty()) {
        progress.step(statement);
        connection.execute_batch(statement)?;
    }
    connection.pragma_update(None, "journal_mode", journal)?;
    connection.close().map_err(|(_, error)| error)?;
    Ok(())
}

/// Fills the tables that are not part of the blog: tags, employees and products.
fn others(rows: &Transaction<'_>, posts: u32, dice: &mut Dice) -> Result<(), Error> {
    let mut insert = rows.prepare("INSERT INTO tags VALUES (?, ?)")?;
    for id in 1..=TAGS {
        insert.execute(params![id, format!("{} {id}", dice.text(1))])?;
    }
    let mut insert = rows.prepare("INSERT INTO post_tags VALUES (?, ?)")?;
    for id in 1..=posts {
        // Each post has three different tags.
        let first = dice.below(TAGS);
        for tag in [first, first + 1 + dice.below(90), first + 100 + dice.below(90)] {
            insert.execute([id, 1 + tag % TAGS])?;
        }
    }
    let mut insert = rows.prepare("INSERT INTO employees VALUES (?, ?, ?, ?)")?;
    for id in 1..=(posts / POSTS_PER_EMPLOYEE).max(1) {
        let manager = (id > 1).then(|| (id - 2) / REPORTS_PER_MANAGER + 1);
        insert.execute(params![id, dice.text(2), dice.text(3), manager])?;
    }
    let mut insert = rows.prepare(&format!("INSERT INTO products VALUES ({})", ["?"; 30].join(", ")))?;
    for id in 1..=(posts / POSTS_PER_PRODUCT).max(1) {
        insert.execute(params_from_iter(product(id, dice)))?;
    }
    Ok(())
}

/// Returns the columns of a product.
fn product(id: u32, dice: &mut Dice) -> Vec<Value> {
    let mut columns = vec![Value::from(id), Value::from(1 + id % SUPPLIERS)];
    columns.push(WORDS[dice.below(12) as usize].to_owned().into());
    columns.push(dice.text(4).into());
    columns.push(format!("SKU-{id:08}").into());
    columns.extend((0..6).map(|_| Value::from(dice.text(1))));
    columns.push(if dice.below(2) == 0 { Value::Null } else { dice.text(12).into() });
    columns.extend((0..6).map(|_| Value::from(f64::from(dice.below(100_000)) / 100.0)));
    columns.extend((0..6).map(|_| Value::from(dice.below(10_000))));
    columns.extend((0..3).map(|_| Value::from(dice.below(2))));
    columns.extend((0..2).map(|_| Value::from(dice.moment())));
    columns.push(if dice.below(4) == 0 { dice.moment().into() } else { Value::Null });
    columns
}
