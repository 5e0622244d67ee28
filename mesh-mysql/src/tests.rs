//! Tests against real servers. They are skipped if MariaDB is not installed, unless `MESH_REQUIRE_SERVICES` is set.

mod accounts;
mod api_keys;
mod audit;
mod catalog;
mod export;
mod failures;
mod full;
mod reads;
mod state;
mod tls;
mod types;
mod writes;

#[path = "../../mesh-backend/tests/engines/served.rs"]
mod served;

use mesh_tests::MariaDb;
use served::until;

use crate::{Database, Settings};

const BLOG: &str = "
CREATE TABLE users (
    id int PRIMARY KEY, name varchar(100) NOT NULL, email varchar(100) UNIQUE, manager_id int,
    FOREIGN KEY (manager_id) REFERENCES users (id)
);
CREATE TABLE posts (
    id bigint AUTO_INCREMENT PRIMARY KEY, title varchar(100) NOT NULL, likes int, author_id int NOT NULL,
    FOREIGN KEY (author_id) REFERENCES users (id)
);
CREATE TABLE comments (
    id int PRIMARY KEY, body text NOT NULL, post_id bigint NOT NULL, FOREIGN KEY (post_id) REFERENCES posts (id)
);
CREATE TABLE tags (id int PRIMARY KEY, label varchar(20) NOT NULL);
CREATE TABLE post_tags (
    post_id bigint NOT NULL, tag_id int NOT NULL, PRIMARY KEY (post_id, tag_id),
    FOREIGN KEY (post_id) REFERENCES posts (id), FOREIGN KEY (tag_id) REFERENCES tags (id)
);
INSERT INTO users VALUES (1, 'Ada', 'ada@example.org', NULL), (2, 'Bo', NULL, 1), (3, 'Cy', NULL, 1);
INSERT INTO posts VALUES (1, 'Dawn', 5, 1), (2, 'Bread', 7, 2), (3, 'Map', NULL, 2);
INSERT INTO comments VALUES (1, 'first', 1), (2, 'second', 1), (3, 'yes', 2);
INSERT INTO tags VALUES (1, 'code'), (2, 'food');
INSERT INTO post_tags VALUES (1, 1), (1, 2), (2, 2);
";

/// Precedes statements that read `INNODB_TRX`, which the database updates only if it was not read for 0.1 seconds.
const REFRESH: &str = "DO SLEEP(0.2)";

type Served = served::Served<Database>;

impl Served {
    async fn open(server: &MariaDb, settings: &Settings) -> Self {
        Self::open_at(&server.url(), settings).await
    }

    async fn open_at(url: &str, settings: &Settings) -> Self {
        Self::serve(Database::connect(url, settings).await.unwrap()).await
    }
}
