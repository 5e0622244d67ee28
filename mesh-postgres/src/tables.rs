//! Statements on tables that Mesh uses itself, on the primary.

use mesh_backend::own_table::{ApiKeyDialect, ColumnTypes, TableDialect};
use mesh_backend::pool::RowBudget;
use mesh_backend::rows::Decoder as _;
use mesh_backend::tables::{Cells, TableError, Tables};
use mesh_backend::transaction::{Failure, Ran};
use mesh_plan::{BoxFuture, Value};
use mesh_sql::postgres;
use tokio_postgres::Row;

use crate::cells::BinaryCells;
use crate::pool::{Pool, PoolError};
use crate::sql::TextParam;

/// The SQL for tables that Mesh uses itself.
pub(crate) const DIALECT: TableDialect = TableDialect {
    is_same: |column, name| column == name,
    api_keys: ApiKeyDialect {
        types: Some(ColumnTypes {
            texts: &["text", "varchar", "bpchar"],
            bytes: &["bytea"],
            times: &["timestamptz", "timestamp", "date"],
            hash: "text or bytea",
            expires: "timestamptz, timestamp or date",
        }),
        new_types: ["text", "timestamptz"],
        // A date is the start of its day in UTC.
        selected: "hash, CAST(owner AS text), CAST(role AS text), CAST(EXTRACT(EPOCH FROM expires) AS double precision)",
        equals: "OPERATOR(pg_catalog.=)",
        params: ["$1", "$2", "$3", "$4"],
    },
    audit_types: ["timestamptz", "text", "jsonb"],
    audit_params: ["$1::timestamptz", "$2", "$3::jsonb"],
};

/// Runs statements within their time limit, which the database cannot enforce on a lost connection.
impl Tables for Pool {
    fn read<'a>(
        &'a self,
        sql: &'a str,
        params: &'a [Value],
    ) -> BoxFuture<'a, Result<Vec<Cells>, TableError>> {
        Box::pin(async move {
            let params = texts(params);
            let run = tokio::time::timeout(
                self.statement_timeout(),
                Self::read(self, sql, &params, RowBudget::UNLIMITED),
            )
            .await;
            let rows = run.unwrap_or(Err(PoolError::TimedOut))?;
            Ok(rows.iter().map(BinaryCells::values).collect())
        })
    }

    fn transact<'a>(
        &'a self,
        statements: &'a [(&'a str, Cells)],
        fresh: bool,
    ) -> BoxFuture<'a, Result<Vec<Ran<Cells>>, Failure<TableError>>> {
        Box::pin(async move {
            let running = async {
                let statements: Vec<_> =
                    statements.iter().map(|(sql, params)| (*sql, texts(params))).collect();
                let connection = self.take(fresh).await?;
                let (all, error) = connection.query_all(connection.begin(), &statements).await;
                if let Some(error) = error {
                    // If this fails, the connection is closed with its transaction.
                    let _ = connection.end("ROLLBACK").await;
                    return Err(PoolError::Failed(error));
                }
                connection.end("COMMIT").await.map_err(PoolError::Failed)?;
                Ok(all)
            };
            let ran = tokio::time::timeout(self.statement_timeout(), running).await;
            let all = ran.unwrap_or(Err(PoolError::TimedOut));
            let all = all.map_err(|error| error.failure(TableError::from))?;
            let ran = |rows: &Vec<Row>| Ran {
                rows: rows.iter().map(BinaryCells::values).collect(),
                count: rows.len() as u64,
            };
            Ok(all.iter().map(ran).collect())
        })
    }
}

fn texts(params: &[Value]) -> Vec<TextParam<'static>> {
    params.iter().map(|param| TextParam(postgres::text(param).map(Into::into))).collect()
}
