//! The deployment guide behind nginx and Caddy, with the configuration files of the guide.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use mesh_tests::guide::{Page, Site};
use mesh_tests::kit::encoding;
use mesh_tests::{encode, wait_for};
use serde_json::{Value, json};

const PAGE: &str = "docs/deployment.md";
const NAME: &str = r#"{"member":{"$select":{"name":true}}}"#;

#[test]
fn deployment() {
    if super::are_installed(&["curl", "sqlite3", "openssl", "nginx", "caddy"]) {
        Page::read(PAGE).run_then(|site| {
            for port in [8443, 8444] {
                let proxy = Proxy::open(site, port);
                proxy.passes_queries_of_any_allowed_size();
                proxy.passes_uploads();
                proxy.passes_events_at_once(site);
            }
            counts_clients(site);
            restarts_unnoticed(site);
        });
    }
}

/// A proxy of the page and a session with the server behind it.
struct Proxy {
    url: String,
    folder: std::path::PathBuf,
    token: String,
    signing_token: String,
}

impl Proxy {
    fn open(site: &Site<'_>, port: u16) -> Self {
        let url = format!("https://127.0.0.1:{}", site.port(port));
        let mut proxy =
            Self { url, folder: site.folder(), token: String::new(), signing_token: String::new() };
        let body = json!({"login": "ada@example.org", "password": "correct horse"}).to_string();
        let reply = proxy.curl("/mesh/auth", &["-H", "Content-Type: application/json", "-d", &body]);
        let said = String::from_utf8_lossy(&reply.stdout);
        let session: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{}: {said}", proxy.url));
        for (part, name) in [(&mut proxy.token, "token"), (&mut proxy.signing_token, "signingToken")] {
            session[name].as_str().expect("a text").clone_into(part);
        }
        proxy
    }

    fn command(&self, path: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("curl");
        command.args(["-sS", "--max-time", "20", "--noproxy", "*", "--cacert", "cert.pem"]).args(arguments);
        command.arg(format!("{}{path}", self.url)).current_dir(&self.folder);
        command
    }

    fn curl(&self, path: &str, arguments: &[&str]) -> Output {
        self.command(path, arguments).output().expect("curl runs")
    }

    /// Returns the headers of a request with a bound signature.
    fn signed(&self, method: &str, path: &str, query: &str) -> Vec<String> {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let (query, nonce) = (encode(query), encoding::random(24));
        let signature = encoding::signature(
            &self.signing_token,
            &format!("{query}\n{method}\n{path}\njson\n{time}\n{nonce}"),
        );
        vec![
            format!("X-Mesh-Query: {query}"),
            format!("X-Mesh-Token: {}", self.token),
            format!("X-Mesh-Timestamp: {time}"),
            format!("X-Mesh-Nonce: {nonce}"),
            format!("X-Mesh-Signature: {signature}"),
        ]
    }

    /// Sends a signed read; returns status and body.
    fn read(&self, path: &str, query: &str, more: &[&str]) -> (u16, String) {
        let headers = self.signed("GET", path, query);
        let mut arguments = vec!["-w", "\n%{http_code}"];
        arguments.extend(headers.iter().flat_map(|header| ["-H", header]));
        arguments.extend_from_slice(more);
        let output = self.curl(path, &arguments);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (body, status) = text.rsplit_once('\n').unwrap_or_default();
        (status.parse().unwrap_or(0), body.to_owned())
    }

    fn passes_queries_of_any_allowed_size(&self) {
        assert_eq!(self.read("/mesh/member/1", NAME, &[]), (200, r#"{"name":"Ines"}"#.to_owned()));
        // Over HTTP/1.1 too, because proxies use other header buffers for it.
        let large = format!("{NAME}{}", " ".repeat(22_000));
        for version in ["--http2", "--http1.1"] {
            let (status, body) = self.read("/mesh/member/1", &large, &[version]);
            assert_eq!((status, body.as_str()), (200, r#"{"name":"Ines"}"#), "{} {version}", self.url);
        }
        let (status, body) = self.read("/mesh/member/1", &format!("{NAME}{}", " ".repeat(26_000)), &[]);
        assert!(status == 431 && body.contains("TransportError"), "the server refuses: {status} {body}");
    }

    fn passes_uploads(&self) {
        let bytes: Vec<u8> = (0..5_000_000_u32).map(|n| n.to_le_bytes()[(n % 3) as usize]).collect();
        std::fs::write(self.folder.join("large.png"), &bytes).unwrap();
        let hash = encoding::sha256(&bytes);
        let statement = format!(
            r#"{{"member":{{"portrait":{{"upload":true}}}},"contentHash":"sha256:{hash}","contentType":"image/png"}}"#
        );
        let path = "/mesh/member/1/portrait";
        let headers = self.signed("POST", path, &statement);
        let mut arguments = vec!["-F", "file=@large.png;type=image/png"];
        arguments.extend(headers.iter().flat_map(|header| ["-H", header]));
        let said = String::from_utf8_lossy(&self.curl(path, &arguments).stdout).into_owned();
        let reply: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{}: {said}", self.url));
        assert_eq!(
            (&reply["size"], &reply["contentHash"]),
            (&json!(5_000_000), &json!(format!("sha256:{hash}")))
        );
    }

    fn passes_events_at_once(&self, site: &Site<'_>) {
        let path = "/mesh/member/2/events";
        let headers = self.signed("GET", path, NAME);
        let log = self.folder.join("stream");
        let mut arguments = vec!["-N", "-o", "stream"];
        arguments.extend(headers.iter().flat_map(|header| ["-H", header]));
        let _ = std::fs::remove_file(&log);
        let mut stream = self.command(path, &arguments).spawn().expect("curl runs");
        wait_for_text(&log, "data: {\"name\":\"Tom\"}");
        site.run_checked("sqlite3 club.db \"UPDATE members SET name = 'Thomas' WHERE id = 2\"");
        wait_for_text(&log, "data: {\"name\":\"Thomas\"}");
        let _ = stream.kill().and_then(|()| stream.wait());
        site.run_checked("sqlite3 club.db \"UPDATE members SET name = 'Tom' WHERE id = 2\"");
    }
}

/// Rate limits behind the proxy use the address of the client, not an address from its headers.
fn counts_clients(site: &Site<'_>) {
    site.run_checked("MESH_LIMITS__PER_ADDRESS=6/h mesh-server serve --config mesh.toml");
    for port in [8443, 8444] {
        let proxy = Proxy::open(site, port);
        let from = |address: &str, forged: &str| {
            let forged = format!("X-Forwarded-For: {forged}");
            proxy.read("/mesh/member/1", NAME, &["--interface", address, "-H", &forged]).0
        };
        // Each proxy is used by another client address.
        let client = if port == 8443 { "127.0.0.5" } else { "127.0.0.6" };
        let statuses: Vec<u16> = (0..8).map(|n| from(client, &format!("192.0.2.{n}"))).collect();
        assert_eq!(statuses, [200, 200, 200, 200, 200, 200, 429, 429], "{}", proxy.url);
        assert_eq!(from("127.0.0.7", "192.0.2.1"), 200, "{}", proxy.url);
    }
}

/// Two servers behind nginx are restarted one after the other, and no request fails.
fn restarts_unnoticed(site: &Site<'_>) {
    site.run_checked("mesh-server serve --config mesh.toml");
    let second = format!("mesh-server serve --config mesh.toml --listen 127.0.0.1:{}", site.port(4001));
    site.run_checked(&second);
    // The page starts with one server and then replaces it by two.
    site.run_checked(
        "sed '/^upstream/,/^}/d' mesh.nginx > rest.nginx && cat upstream.nginx rest.nginx > mesh.nginx",
    );
    site.run_checked("nginx -p \"$PWD\" -e nginx.log -c try.nginx -t");
    // Old workers, which know one server only, may accept connections for a moment after the signal.
    site.run_checked(
        "workers=$(grep -ls \"^PPid:[[:space:]]*$(cat nginx.pid)$\" /proc/[0-9]*/status | cut -d/ -f3)
         kill -HUP $(cat nginx.pid)
         for worker in $workers; do
             for _ in {1..200}; do kill -0 $worker 2>&- || break; sleep 0.05; done
         done",
    );
    let proxy = Proxy::open(site, 8443);
    let ended = AtomicBool::new(false);
    let (answered, failed) = std::thread::scope(|scope| {
        let load = scope.spawn(|| {
            let (mut answered, mut failed) = (0, Vec::new());
            while !ended.load(Ordering::Relaxed) {
                match proxy.read("/mesh/member/1", NAME, &[]) {
                    (200, _) => answered += 1,
                    (status, body) => failed.push(format!("{status} {body}")),
                }
            }
            (answered, failed)
        });
        for _ in 0..2 {
            // Starting a server on a used port stops the old one first.
            site.run_checked("mesh-server serve --config mesh.toml");
            site.run_checked(&second);
        }
        ended.store(true, Ordering::Relaxed);
        load.join().expect("the load")
    });
    assert!(failed.is_empty() && answered > 5, "{answered} answers, and {failed:?}");
}

/// Waits until a file contains a text.
fn wait_for_text(file: &Path, text: &str) {
    wait_for(&format!("the text {text:?}"), || {
        let found = std::fs::read_to_string(file).unwrap_or_default();
        if found.contains(text) { Ok(()) } else { Err(found) }
    });
}
