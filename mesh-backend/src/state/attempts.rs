//! Login attempts, counted by all servers together. `SPEC §12.6`
//!
//! Times come from the database, because the clocks of servers differ. Rows are locked in the order of their keys, so
//! servers that count the same keys cannot deadlock.

use std::time::SystemTime;

use mesh_integrity::{AttemptKey, AttemptStore, BoxFuture, StoreError, unix_millis};
use mesh_plan::Value;

use super::{OperationStatement, State, bind, number, number_in};
use crate::tables::Cells;

fn bind_key(operation: &[OperationStatement], key: &AttemptKey) -> Vec<(&'static str, Cells)> {
    bind(operation, &[Value::Bytes(key.key.to_vec()), number(key.interval)])
}

impl State {
    async fn undo(&self, keys: &[&AttemptKey]) -> Result<(), StoreError> {
        for (sql, params) in keys.iter().flat_map(|key| bind_key(&[self.0.statements.undo_attempt], key)) {
            self.run(sql, &params).await?;
        }
        Ok(())
    }
}

impl AttemptStore for State {
    fn begin(&self, mut keys: [AttemptKey; 3]) -> BoxFuture<'_, Result<Option<u64>, StoreError>> {
        Box::pin(async move {
            self.sweep_if_due(unix_millis(SystemTime::now()));
            keys.sort_by_key(|key| key.key);
            let operation = self.0.statements.count_attempt;
            let statements: Vec<_> = keys.iter().flat_map(|key| bind_key(operation, key)).collect();
            let ran = self.transact(&statements).await?;
            let (mut counted, mut wait) = (Vec::new(), None);
            for (key, ran) in keys.iter().zip(ran.chunks(operation.len())) {
                match ran {
                    [.., count, left] if count.count == 0 => {
                        let left = left.rows.first().map_or(0, |row| number_in(row, 0));
                        wait = wait.max(Some(left.max(1)));
                    }
                    _ => counted.push(key),
                }
            }
            if wait.is_some() {
                self.undo(&counted).await?;
            }
            Ok(wait)
        })
    }

    fn forget(&self, keys: [AttemptKey; 3]) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move { self.undo(&keys.each_ref()).await })
    }
}
