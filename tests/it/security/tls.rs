//! TLS with clients of different vendors.

use std::process::{Command, Output};

use mesh_tests::{Database, Request, Server, command, run, skip};
use serde_json::{Value, json};

const QUERY: &str = "{ post id title }";
const FIRST: &str = r#"{"id":1,"title":"Rust at dawn"}"#;

/// A database, a certificate for `localhost`, and settings that use both.
struct TlsSetup {
    database: Database,
    certificate: String,
    settings: String,
}

impl TlsSetup {
    fn new() -> Self {
        let database = Database::blog();
        let pair = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let certificate = database.dir.write("cert.pem", &pair.cert.pem());
        let key = database.dir.write("key.pem", &pair.signing_key.serialize_pem());
        let url = database.url();
        let settings = format!("database = '{url}'\n[tls]\ncert = '{certificate}'\nkey = '{key}'\n");
        let settings = database.dir.write("mesh.toml", &settings);
        Self { database, certificate, settings }
    }

    fn serve(&self) -> Server {
        Server::start(&["--config", &self.settings])
    }
}

fn url(server: &Server) -> String {
    format!("https://localhost:{}{}", server.address.port(), server.base)
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

/// Returns whether a program is installed; otherwise the test is skipped.
fn has(program: &str) -> bool {
    let output = Command::new(program).arg("--version").output();
    let is_installed = output.is_ok_and(|output| output.status.success());
    if !is_installed {
        skip(program, &format!("install {program}"));
    }
    is_installed
}

#[test]
fn the_query_command_verifies_the_certificate() {
    let setup = TlsSetup::new();
    let server = setup.serve();
    let url = url(&server);
    let ask = |arguments: &[&str]| run(&[&["query", "--url", &url, "--id", "1", QUERY], arguments].concat());
    let trusting = ask(&["--ca", &setup.certificate]);
    assert_eq!(trusting.status.code(), Some(0), "{}", said(&trusting));
    assert_eq!(
        serde_json::from_slice::<Value>(&trusting.stdout).unwrap(),
        json!({"id": 1, "title": "Rust at dawn"})
    );

    let untrusting = ask(&[]);
    assert_eq!(untrusting.status.code(), Some(1), "{}", said(&untrusting));
    assert!(said(&untrusting).contains("certificate"), "{}", said(&untrusting));
    let wrong = ask(&["--ca", &setup.settings]);
    assert_eq!(wrong.status.code(), Some(2), "{}", said(&wrong));
    assert!(said(&wrong).contains("--ca"), "{}", said(&wrong));
    // The certificate does not name this address.
    let stranger = format!("https://{}{}", server.address, server.base);
    let stranger = run(&["query", "--url", &stranger, "--ca", &setup.certificate, QUERY]);
    assert_eq!(stranger.status.code(), Some(1), "{}", said(&stranger));

    let plain = server.send(&Request::get("/mesh/post/1", QUERY));
    assert_eq!(plain.status, 400);
    assert!(plain.text().contains("https://"), "{}", plain.text());
}

#[test]
fn curl_negotiates_both_protocols() {
    if !has("curl") {
        return;
    }
    let setup = TlsSetup::new();
    let server = setup.serve();
    let header = format!("X-Mesh-Query: {}", mesh_tests::encode(QUERY));
    for (flags, version) in
        [(vec!["--http2"], "2"), (vec!["--http1.1"], "1.1"), (vec!["--http2", "--tls-max", "1.2"], "2")]
    {
        let output = Command::new("curl")
            .args([
                "-sS",
                "--cacert",
                &setup.certificate,
                "-w",
                " %{http_version}",
                "-H",
                "X-Mesh-Format: ql",
            ])
            .args(["-H", &header])
            .args(&flags)
            .arg(format!("{}/post/1", url(&server)))
            .output()
            .unwrap();
        assert_eq!(said(&output), format!("{FIRST} {version}"), "{flags:?}");
    }
}

#[test]
fn the_python_standard_library_can_connect() {
    if !has("python3") {
        return;
    }
    let setup = TlsSetup::new();
    let server = setup.serve();
    let script = "
import base64, json, ssl, sys, urllib.request
url, trusted, query = sys.argv[1:]
headers = {'X-Mesh-Query': base64.b64encode(query.encode()).decode(), 'X-Mesh-Format': 'ql'}
trust = ssl.create_default_context(cafile=trusted)
with urllib.request.urlopen(urllib.request.Request(url + '/post/1', headers=headers), context=trust) as reply:
    print(json.load(reply)['title'])
";
    let url = url(&server);
    let output =
        Command::new("python3").args(["-c", script, &url, &setup.certificate, QUERY]).output().unwrap();
    assert_eq!(said(&output), "Rust at dawn\n");
}

#[test]
fn an_unusable_certificate_is_reported_at_the_start() {
    let setup = TlsSetup::new();
    let database = setup.database.url();
    let mut cases = vec![
        (format!("cert = '{}'", setup.certificate), "'tls.cert' requires 'tls.key'"),
        (format!("key = '{}'", setup.certificate), "'tls.key' requires 'tls.cert'"),
    ];
    let pair = |cert: &str, key: &str| format!("cert = '{cert}'\nkey = '{key}'");
    cases.push((pair(&setup.certificate, &setup.certificate), "contains no private key"));
    cases.push((pair("/no/such/file", &setup.certificate), "cannot read /no/such/file"));
    cases.push((pair(&setup.settings, &setup.settings), "contains no certificate"));
    for (section, words) in cases {
        let settings = setup.database.dir.write("wrong.toml", &format!("[tls]\n{section}\n"));
        let served =
            command(&["serve", "--listen", "127.0.0.1:0", "--database", &database, "--config", &settings]);
        for (mut command, status) in
            [(served, 2), (command(&["check", "--database", &database, "--config", &settings]), 1)]
        {
            let output = command.output().unwrap();
            assert_eq!(output.status.code(), Some(status), "{section}: {}", said(&output));
            assert!(said(&output).contains(words), "{section}: {}", said(&output));
        }
    }
}
