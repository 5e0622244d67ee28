//! Exports: all rows of one snapshot, part by part. `SPEC §16`

use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_backend::pool::RowBudget;
use mesh_plan::backend::{Export, ExportFormat, ExportSink};
use mesh_plan::{BoxFuture, Context, Request, ResolveError};
use mesh_ql::Format;
use mesh_tests::Cluster;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::{Served, Settings, until};
use crate::Backend as _;

/// 1,700 parents, every third without a rank, each with none to four children.
const FAMILIES: &str = "
CREATE TABLE parents (id integer PRIMARY KEY, rank integer, text text NOT NULL);
CREATE TABLE children (id integer PRIMARY KEY, parent_id integer NOT NULL REFERENCES parents);
CREATE INDEX ON children (parent_id);
INSERT INTO parents SELECT i, CASE WHEN i % 3 > 0 THEN i % 7 END, repeat('x', 1000) FROM generate_series(1, 1700) i;
INSERT INTO children SELECT i * 10 + n, i FROM generate_series(1, 1700) i, generate_series(1, i % 5) n;
";

struct Channel(mpsc::Sender<Vec<u8>>);

impl ExportSink for Channel {
    fn send(&mut self, piece: Vec<u8>) -> BoxFuture<'_, Result<(), ResolveError>> {
        Box::pin(async move { self.0.send(piece).await.map_err(|_| ResolveError::TimedOut) })
    }
}

type Exporting = (mpsc::Receiver<Vec<u8>>, JoinHandle<Result<u64, ResolveError>>);

fn start(served: &Served, query: &str, context: Context) -> Exporting {
    let (sender, pieces) = mpsc::channel(1);
    let export = Export::new(ExportFormat::Ndjson, Channel(sender));
    let plan = served.mesh.plan(&Request::collection(Format::Json, query).exported()).unwrap();
    let mesh = Arc::clone(&served.mesh);
    (pieces, tokio::spawn(async move { mesh.export(&plan, &context, export).await }))
}

async fn items((mut pieces, task): Exporting, mut text: Vec<u8>) -> Vec<Value> {
    while let Some(piece) = pieces.recv().await {
        text.extend(piece);
    }
    let text = String::from_utf8(text).unwrap();
    let items: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(task.await.unwrap().unwrap(), items.len() as u64);
    items
}

#[tokio::test]
async fn exports_have_the_items_of_all_pages_in_one_snapshot() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(FAMILIES);
    let served = Served::open(&cluster, &Settings::default()).await;
    let queries = [
        r#"{"parent":{"$select":{"id":true,"text":true}}}"#,
        r#"{"parent":{"$select":{"id":true,"text":true,"children":{"$select":{"id":true}}},
            "$orderBy":[{"field":"rank","direction":"asc"}]}}"#,
        r#"{"parent":{"$select":{"id":true,"text":true,"children":{"$select":{"id":true}}},
            "$orderBy":[{"field":"rank","direction":"desc"}],"$where":{"field":"id","op":"gt","value":200}}}"#,
        r#"{"child":{"$select":{"id":true,"parent":{"$select":{"text":true}}}}}"#,
        r#"{"parent":{"$select":{"id":true,"children":{"$select":{"id":true}}},"$where":{"field":"id","op":"lt","value":0}}}"#,
    ];
    for query in queries {
        let mut expected = Vec::new();
        let mut after = String::new();
        loop {
            let page = format!(r#","$page":{{"first":200{after}}}}}}}"#);
            let page = query.strip_suffix("}}").unwrap().to_owned() + &page;
            let page: Value = serde_json::from_str(&served.collection(&page).await.unwrap()).unwrap();
            expected.extend(page["items"].as_array().unwrap().clone());
            if page["pageInfo"]["hasNextPage"] == false {
                break;
            }
            after = format!(r#","after":{}"#, page["pageInfo"]["endCursor"]);
        }
        let mut exporting = start(&served, query, Context::new("test"));
        let first = exporting.0.recv().await.unwrap_or_default();
        cluster.execute(
            "UPDATE parents SET text = 'changed', rank = 1; INSERT INTO children SELECT -id, id FROM parents",
        );
        assert_eq!(items(exporting, first).await, expected, "{query}");
        cluster.execute("DROP TABLE children; DROP TABLE parents");
        cluster.execute(FAMILIES);
    }
}

#[tokio::test]
async fn an_export_whose_reader_is_gone_or_late_leaves_nothing_behind() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(FAMILIES);
    let served = Served::open(&cluster, &Settings::default()).await;
    let query = r#"{"parent":{"$select":{"id":true,"text":true}}}"#;
    // The connection of an export is one more than the settings allow, so it is closed.
    let idle = served.database.usage().idle;
    items(start(&served, query, Context::new("test")), Vec::new()).await;
    assert_eq!(served.database.usage().idle, idle);
    let (mut pieces, task) = start(&served, query, Context::new("test"));
    pieces.recv().await.unwrap();
    drop(pieces);
    assert!(matches!(task.await.unwrap(), Err(ResolveError::TimedOut)));

    let context = Context::new("test").with_deadline(Instant::now() + Duration::from_millis(300));
    let (mut pieces, task) = start(&served, query, context);
    pieces.recv().await.unwrap();
    assert!(matches!(task.await.unwrap(), Err(ResolveError::TimedOut)), "nobody took the second piece");

    let open =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND xact_start IS NOT NULL
        AND pid <> pg_backend_pid()";
    until("the transactions have ended", async || {
        let rows = served.database.pool.read(open, &[], RowBudget::UNLIMITED).await.unwrap();
        rows[0].get::<_, i64>(0) == 0
    })
    .await;
}
