//! Databases other than SQLite: PostgreSQL and MariaDB, if they are installed.

use mesh_sql::postgres::Postgres;
use tokio::runtime::{Builder, Runtime};

use super::soak;

/// The environment variables of longer runs.
const NAMES_SEEDS: [&str; 2] = ["MESH_DIFF_SEED", "MESH_DIFF_SECONDS"];

/// The databases that all seeds of a run share.
pub(crate) struct Others {
    pub(crate) runtime: Runtime,
    pub(crate) postgres: Option<served::Postgres>,
    mysql: Option<served::MySql>,
    every: u64,
}

impl Others {
    /// Starts the databases. MariaDB takes as long as the others together, so it is compared only for multiples of
    /// `every`, or for all seeds if the environment variables set a seed or a time.
    pub(crate) fn start(every: u64) -> Self {
        let every = if NAMES_SEEDS.iter().any(|name| soak::number(name).is_some()) { 1 } else { every };
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let postgres = served::Postgres::start(runtime.handle());
        let mysql = served::MySql::start(runtime.handle());
        Self { runtime, postgres, mysql, every }
    }

    /// Returns MariaDB if it is compared for a seed.
    pub(crate) fn mysql(&self, seed: u64) -> Option<&served::MySql> {
        self.mysql.as_ref().filter(|_| seed.is_multiple_of(self.every))
    }

    /// Returns the dialect of PostgreSQL in these tests: text is sorted by bytes, so letters are folded by another collation.
    pub(crate) fn dialect(&self) -> Postgres {
        Postgres { icu_folds: true, ..Postgres::default() }
    }
}

pub(crate) mod served {
    use mesh_postgres::Settings;
    use mesh_schema::{Catalog, Column, Document, Schema};
    use mesh_tests::{Cluster, MariaDb};
    use tokio::runtime::Handle;

    use crate::differential::data::Database;

    pub(crate) struct Postgres {
        cluster: Cluster,
        runtime: Handle,
    }

    impl Postgres {
        pub(crate) fn start(runtime: &Handle) -> Option<Self> {
            Some(Self { cluster: Cluster::start()?, runtime: runtime.clone() })
        }

        /// Creates the database, and returns it with its schema.
        pub(crate) fn open(
            &self,
            database: &Database,
            document: &Document,
            catalog: &Catalog,
        ) -> (Schema, mesh_postgres::Database) {
            let script = &database.scripts.postgres;
            self.cluster.execute(&format!(
                "SET client_min_messages = error; DROP SCHEMA public CASCADE; CREATE SCHEMA public; BEGIN; {script} COMMIT;"
            ));
            let (url, settings) = (self.cluster.url(), Settings::default());
            let opened = self.runtime.block_on(mesh_postgres::Database::connect(&url, &settings)).unwrap();
            let own = self.runtime.block_on(opened.contents(&[])).unwrap().catalog;
            (schema(document, catalog.clone(), &own, script), opened)
        }
    }

    pub(crate) struct MySql {
        server: MariaDb,
        runtime: Handle,
    }

    impl MySql {
        pub(crate) fn start(runtime: &Handle) -> Option<Self> {
            let server = MariaDb::start()?;
            server.load_zones(&["Europe/Berlin", "America/New_York"]);
            Some(Self { server, runtime: runtime.clone() })
        }

        /// Creates the database, and returns it with its schema.
        pub(crate) fn open(
            &self,
            database: &Database,
            document: &Document,
            catalog: &Catalog,
        ) -> (Schema, mesh_mysql::Database) {
            let script = &database.scripts.mysql;
            self.server.execute(&format!(
                "DROP DATABASE mesh; CREATE DATABASE mesh {}; USE mesh; BEGIN; {script} COMMIT;",
                MariaDb::COLLATION
            ));
            let (url, settings) = (self.server.url(), mesh_mysql::Settings::default());
            let opened = self.runtime.block_on(mesh_mysql::Database::connect(&url, &settings)).unwrap();
            let own = self.runtime.block_on(opened.contents(&[])).unwrap().catalog;
            (schema(document, catalog.clone(), &own, script), opened)
        }
    }

    /// Returns the schema of a document, SQLite's catalog and the storage types of another database, so that names, types and
    /// orders are planned equally for both.
    fn schema(document: &Document, mut catalog: Catalog, own: &Catalog, script: &str) -> Schema {
        for table in &mut catalog.tables {
            let stored = own.tables.iter().find(|stored| stored.name == table.name).unwrap();
            for column in &mut table.columns {
                column.native = stored.column(&column.name).unwrap().native.clone();
            }
            if let Some(row_id) = stored.column("rowid") {
                table.columns.push(Column { nullable: false, ..row_id.clone() });
            }
        }
        document.load(Some(&catalog)).unwrap_or_else(|faults| panic!("{}\n{script}", faults[0]))
    }
}
