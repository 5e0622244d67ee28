//! Tests against real servers. They are skipped if MariaDB is not installed, unless `MESH_REQUIRE_SERVICES` is set.

mod accounts;
mod api_keys;
mod audit;
mod catalog;
mod export;
mod failures;
mod full;
mod reads;
mod search;
mod snapshots;
mod state;
mod tls;
mod types;
mod writes;

#[path = "../../mesh-backend/tests/engines/served.rs"]
mod served;

use mesh_tests::MariaDb;
use served::until;

use crate::{Database, Settings};

const BLOG: &str = served::blog!("AUTO_INCREMENT");

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
