//! Databases other than SQLite: PostgreSQL, if it is installed.

use mesh_plan::sql::postgres::Features;
use tokio::runtime::{Builder, Runtime};

/// The databases that all seeds of a run share.
pub(crate) struct Others {
    pub(crate) runtime: Runtime,
    pub(crate) postgres: Option<served::Served>,
}

impl Others {
    pub(crate) fn start() -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let postgres = served::Served::start(runtime.handle());
        Self { runtime, postgres }
    }

    /// Returns the features of PostgreSQL here: text is sorted by bytes, so letters are folded by another collation.
    pub(crate) fn features(&self) -> Features {
        Features { icu_folds: true, ..Features::default() }
    }
}

pub(crate) mod served {
    use mesh_postgres::Settings;
    use mesh_schema::{Catalog, Column, Document, Schema};
    use mesh_tests::Cluster;
    use tokio::runtime::Handle;

    use crate::differential::data::Database;

    pub(crate) struct Served {
        cluster: Cluster,
        runtime: Handle,
    }

    impl Served {
        pub(crate) fn start(runtime: &Handle) -> Option<Self> {
            Some(Self { cluster: Cluster::start()?, runtime: runtime.clone() })
        }

        /// Creates the database. Returns it with the schema of a document, SQLite's catalog and PostgreSQL's storage types,
        /// so that names, types and orders are planned equally for both.
        pub(crate) fn open(
            &self,
            database: &Database,
            document: &Document,
            catalog: &Catalog,
        ) -> (Schema, mesh_postgres::Database) {
            self.cluster.execute(&format!(
                "SET client_min_messages = error; DROP SCHEMA public CASCADE; CREATE SCHEMA public; BEGIN; {} COMMIT;",
                database.scripts.postgres
            ));
            let (url, settings) = (self.cluster.url(), Settings::default());
            let opened = self.runtime.block_on(mesh_postgres::Database::connect(&url, &settings)).unwrap();
            let own = self.runtime.block_on(opened.contents(&[])).unwrap().catalog;
            let mut catalog = catalog.clone();
            for table in &mut catalog.tables {
                let stored = own.tables.iter().find(|stored| stored.name == table.name).unwrap();
                for column in &mut table.columns {
                    column.native = stored.column(&column.name).unwrap().native.clone();
                }
                if let Some(row_id) = stored.column("rowid") {
                    table.columns.push(Column { nullable: false, ..row_id.clone() });
                }
            }
            let schema = document
                .load(Some(&catalog))
                .unwrap_or_else(|faults| panic!("{}\n{}", faults[0], database.scripts.postgres));
            (schema, opened)
        }
    }
}
