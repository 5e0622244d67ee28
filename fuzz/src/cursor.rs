//! Cursors: only one that was issued for the same read is accepted.

use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::sync::OnceLock;
use std::task::{Context as Cx, Poll, Waker};

use mesh_plan::memory::Tables;
use mesh_plan::{Context, Error, Mesh, Request};
use mesh_ql::Format;
use serde_json::{Value, json};

use super::identifiers;

/// Uses the input as a cursor in reads of four orders.
pub fn cursor(data: &[u8]) {
    static ISSUED: OnceLock<(Mesh, HashMap<String, Vec<usize>>)> = OnceLock::new();
    let (mesh, issued) = ISSUED.get_or_init(|| {
        let mesh = mesh();
        let issued = issue(&mesh);
        (mesh, issued)
    });
    let text = String::from_utf8_lossy(data);
    let text = text.trim_end();
    let orders = issued.get(text).map_or(&[][..], Vec::as_slice);
    for order in 0..ORDERS.len() {
        let query = query(order, &json!(text));
        match mesh.plan(&Request::collection(Format::Json, &query)) {
            Ok(plan) => {
                assert!(orders.contains(&order), "{text:?} was not issued for order {order}");
                let body = now(mesh.read(&plan, &Context::default())).expect("a page");
                assert!(body.bytes.starts_with(b"{\"items\":"));
            }
            // A text that is too long for a query is refused before it is parsed.
            Err(Error::Syntax(_)) => {}
            Err(error) => {
                assert!(!orders.contains(&order), "{text:?} was issued for order {order}: {error}");
                assert!(error.to_string().contains("cursor"), "{error}");
            }
        }
    }
}

const ORDERS: [&str; 4] = [
    r#"[]"#,
    r#"[{"field":"name","direction":"desc"}]"#,
    r#"[{"field":"age","direction":"asc","nulls":"first"},{"field":"name","direction":"asc"}]"#,
    r#"[{"field":"balance","direction":"asc"}]"#,
];

fn query(order: usize, after: &Value) -> String {
    let order = ORDERS[order];
    format!(
        r#"{{"user":{{"$select":{{"id":true}},"$orderBy":{order},"$page":{{"first":1,"after":{after}}}}}}}"#
    )
}

fn mesh() -> Mesh {
    let row =
        |id: i64, name: &str| vec![id.into(), name.into(), mesh_plan::Value::Null, "1.5".into(), 1.into()];
    let rows = [row(1, "Ada"), row(2, ""), row(3, "née\0")];
    let tables = Tables::new().with("users", ["id", "name", "age", "balance", "manager_id"], rows);
    Mesh::builder(identifiers::schema()).default_resolver(tables).build().unwrap()
}

/// Returns the cursors of all pages, with the orders to which they belong.
fn issue(mesh: &Mesh) -> HashMap<String, Vec<usize>> {
    let mut issued: HashMap<String, Vec<usize>> = HashMap::new();
    for order in 0..ORDERS.len() {
        let mut after = Value::Null;
        loop {
            let query = query(order, &after);
            let plan = mesh.plan(&Request::collection(Format::Json, &query)).expect("a plan");
            let body = now(mesh.read(&plan, &Context::default())).expect("a page");
            let body: Value = serde_json::from_slice(&body.bytes).expect("JSON");
            after = body["pageInfo"]["endCursor"].clone();
            let Some(text) = after.as_str() else { break };
            issued.entry(text.to_owned()).or_default().push(order);
        }
    }
    issued
}

/// Returns the output of a future that does not wait for I/O.
pub fn now<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut cx = Cx::from_waker(Waker::noop());
    // A future that only yields is ready after a few polls.
    for _ in 0..1_000_000 {
        if let Poll::Ready(outcome) = future.as_mut().poll(&mut cx) {
            return outcome;
        }
    }
    panic!("the future waits for I/O")
}
