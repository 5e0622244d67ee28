//! The Grafana dashboard and the alert rules, whose queries a real Prometheus evaluates over the metrics of a server.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use mesh_tests::{Connection, Database, Request, Response, Server, TempDir, command, skip, wait_until};
use serde_json::{Value, json};

use super::text;

/// A running Prometheus with the configuration of the example, stopped when this value is dropped.
struct Prometheus {
    process: Child,
    address: SocketAddr,
    _folder: TempDir,
}

impl Prometheus {
    /// Starts Prometheus, which scrapes a server each 200 ms. Returns `None` if it is not installed.
    fn start(scraped: SocketAddr) -> Option<Self> {
        let folder = TempDir::new();
        let config = text("compose/prometheus.yml").replace("15s", "200ms");
        let config = config.replace("mesh:4001", &scraped.to_string());
        let config = folder.write("prometheus.yml", &config);
        let _ = folder.write("alerts.yml", &text("compose/alerts.yml"));
        let started = Command::new("prometheus")
            .arg(format!("--config.file={config}"))
            .arg(format!("--storage.tsdb.path={}/data", folder.path().display()))
            .arg("--web.listen-address=127.0.0.1:0")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let Ok(mut process) = started else {
            skip("prometheus", "install Debian's prometheus");
            return None;
        };
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines().map_while(Result::ok);
        let address = lines.find_map(|line| {
            let (_, rest) = line.split_once("msg=\"Listening on\" address=")?;
            rest.split_whitespace().next()?.parse().ok()
        });
        std::thread::spawn(move || lines.for_each(drop));
        let prometheus = Self { process, address: address.expect("an address"), _folder: folder };
        wait_until("Prometheus is ready", || prometheus.get("/-/ready").status == 200);
        Some(prometheus)
    }

    fn get(&self, path: &str) -> Response {
        Connection::connect(self.address).send(&Request::new("GET", path))
    }

    /// Evaluates a query. Returns the samples.
    fn query(&self, query: &str) -> Vec<Value> {
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let reply = self.get(&format!("/api/v1/query?query={encoded}"));
        assert_eq!(reply.status, 200, "{query}: {}", reply.text());
        reply.json()["data"]["result"].as_array().expect("samples").clone()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the queries of the panels, with values for the variables of Grafana.
fn panels() -> Vec<(String, String)> {
    let dashboard: Value = serde_json::from_str(&text("compose/grafana/mesh.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| {
        let targets = panel["targets"].as_array().into_iter().flatten();
        targets.map(|target| (panel["title"].to_string(), target["expr"].as_str().unwrap().to_owned()))
    });
    targets
        .map(|(title, query)| (title, query.replace("$__rate_interval", "1m").replace("$instance", ".*")))
        .collect()
}

/// Returns the names of the metrics in a query.
fn metrics(query: &str) -> BTreeSet<&str> {
    let words = query.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| word.starts_with("mesh_") || word.starts_with("process_")).collect()
}

#[test]
fn dashboard_and_alerts_query_metrics_that_the_server_has() {
    let database = Database::blog();
    let log = database.dir.path().join("audit.log");
    let mut serve =
        command(&["serve", "--listen", "127.0.0.1:0", "--log", "off", "--database", &database.url()]);
    let server = Server::spawn(
        serve.env("MESH_AUDIT__STORE", format!("file:{}", log.display())).stderr(Stdio::inherit()),
    );
    let Some(prometheus) = Prometheus::start(server.address) else { return };
    assert_eq!(server.get("/post", r#"{"post":{"$select":{"title":true}}}"#).status, 200);
    wait_until("there are two samples of a read", || {
        let _ = server.get("/post", r#"{"post":{"$select":{"title":true}}}"#);
        !prometheus.query("rate(mesh_reads_total[1m]) > 0").is_empty()
    });
    for (title, query) in panels() {
        let samples = prometheus.query(&query);
        for metric in metrics(&query) {
            assert!(!prometheus.query(metric).is_empty(), "{title}: the server has no metric {metric}");
        }
        // All others have data on every server.
        assert!(!samples.is_empty() || query.ends_with("> 0"), "{title}: {query}");
    }

    let rules = prometheus.get("/api/v1/rules").json();
    let rules = rules["data"]["groups"][0]["rules"].as_array().expect("rules").clone();
    assert_eq!(rules.len(), 7);
    for rule in &rules {
        let (name, query) = (rule["name"].to_string(), rule["query"].as_str().unwrap());
        for metric in metrics(query) {
            assert!(!prometheus.query(metric).is_empty(), "{name}: the server has no metric {metric}");
        }
        wait_until("the rule is evaluated", || {
            let rules = prometheus.get("/api/v1/rules").json();
            let rules = rules["data"]["groups"][0]["rules"].as_array().unwrap().clone();
            rules.iter().any(|other| other["name"] == rule["name"] && other["health"] == json!("ok"))
        });
        assert_eq!(rule["state"], json!("inactive"), "{name} is not raised by a server that works");
    }
    drop(server);
    wait_until("an alert says that the server is down", || {
        let alerts = prometheus.get("/api/v1/alerts").json();
        let alerts = alerts["data"]["alerts"].as_array().unwrap().clone();
        alerts.iter().any(|alert| alert["labels"]["alertname"] == json!("MeshIsDown"))
    });
}
