//! Exports: all rows of one snapshot, part by part. `SPEC §16`

use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_plan::backend::{Export, ExportFormat, ExportSink};
use mesh_plan::{BoxFuture, Context, Request, ResolveError};
use mesh_ql::Format;
use mesh_tests::MariaDb;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::{REFRESH, Served, until};
use crate::{Backend as _, Settings};

/// 1,700 parents, every third without a rank, each with none to four children.
const FAMILIES: &str = "
CREATE TABLE parents (id int PRIMARY KEY, `rank` int, text text NOT NULL);
CREATE TABLE children (id int PRIMARY KEY, parent_id int NOT NULL, FOREIGN KEY (parent_id) REFERENCES parents (id));
INSERT INTO parents SELECT seq, CASE WHEN seq % 3 > 0 THEN seq % 7 END, repeat('x', 1000) FROM seq_1_to_1700;
INSERT INTO children SELECT i.seq * 10 + n.seq, i.seq FROM seq_1_to_1700 i JOIN seq_1_to_4 n ON n.seq <= i.seq % 5;
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exports_have_the_items_of_all_pages_in_one_snapshot() {
    let Some(server) = MariaDb::start() else { return };
    server.execute(FAMILIES);
    let served = Served::open(&server, &Settings::default()).await;
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
        server.execute(
            "UPDATE parents SET text = 'changed', `rank` = 1; INSERT INTO children SELECT -id, id FROM parents",
        );
        assert_eq!(items(exporting, first).await, expected, "{query}");
        server.execute("DROP TABLE children; DROP TABLE parents");
        server.execute(FAMILIES);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_whose_reader_is_gone_or_late_leaves_nothing_behind() {
    let Some(server) = MariaDb::start() else { return };
    server.execute(FAMILIES);
    let served = Served::open(&server, &Settings::default()).await;
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

    let open = format!("{REFRESH}; SELECT COUNT(*) FROM information_schema.INNODB_TRX");
    until("the transactions have ended", async || server.query(&open).as_deref() == Some("0")).await;
}
