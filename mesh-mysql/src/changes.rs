//! The change feed: the times of the last commits to the tables, polled while there are listeners.
//!
//! For each table, the database shows the second of the last commit to every account that may use the table, without
//! any setup. Triggers with a table of versions could name the records, but they need further rights, slow down each
//! write, and make concurrent writers wait for each other or for gaps in the numbers of versions; the binary log needs
//! the rights of a replica. Every notice therefore states that anything may have changed.

use std::collections::HashMap;
use std::sync::Arc;

use mesh_backend::changes::poll;
use mesh_plan::Changes;

use crate::cells::{integer, text};
use crate::error::BoxError;
use crate::pool::Pool;
use crate::state::layout;

/// Returns the time of the database and of the last commit to each table, in seconds.
const TIMES: &str = "SELECT TABLE_NAME, UNIX_TIMESTAMP(UPDATE_TIME), UNIX_TIMESTAMP(NOW()) FROM information_schema.TABLES \
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE <> 'VIEW'";

/// The storage engines that record the time of the last commit to a table.
pub(crate) const ENGINES: [&str; 2] = ["InnoDB", "MyISAM"];

/// The times of the last commits, with the time at which they were read.
#[derive(Default)]
struct Times {
    read_at: i64,
    tables: HashMap<String, i64>,
}

/// Notifies `changes` of writes to the database. It never ends.
pub(crate) async fn watch(pool: Arc<Pool>, changes: Changes) {
    let read = || async { times(&pool).await.map(Some) };
    poll(changes, None, read, |last, times| !has_changed(last, times)).await;
}

/// Returns whether there may have been a commit since the last reading. More commits may follow in the second in which
/// a table was read.
fn has_changed(last: &Times, times: &Times) -> bool {
    times.tables.len() != last.tables.len()
        || times
            .tables
            .iter()
            .any(|(table, time)| last.tables.get(table) != Some(time) || (*time >= last.read_at && *time > 0))
}

async fn times(pool: &Pool) -> Result<Times, BoxError> {
    let mut connection = pool.take(false).await?;
    let mut times = Times::default();
    for row in connection.query(TIMES, &[]).await? {
        times.read_at = integer(&row, 2).unwrap_or_default();
        let table = text(&row, 0);
        if !layout::TABLES.contains(&table.as_str()) {
            times.tables.insert(table, integer(&row, 1).unwrap_or_default());
        }
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(read_at: i64, commit: i64) -> Times {
        Times { read_at, tables: HashMap::from([("posts".to_owned(), commit)]) }
    }

    #[test]
    fn a_commit_in_the_second_of_the_last_reading_counts() {
        assert!(!has_changed(&times(10, 8), &times(11, 8)));
        assert!(has_changed(&times(10, 8), &times(11, 11)));
        assert!(has_changed(&times(10, 10), &times(10, 10)));
        assert!(!has_changed(&times(11, 10), &times(11, 10)));
        assert!(!has_changed(&times(11, 0), &times(12, 0)));
    }
}
