//! Uploads that are refused while their clients are still sending: the response is delivered. Some clients send the whole
//! request before they read, and others treat an error while sending as the failure of the request.

use std::process::{Command, Stdio};

use mesh_tests::{Connection, encode, skip};

use super::signed::{SETTINGS, Session, refusal};
use super::*;

/// The number of uploads that each client sends.
const TRIES: usize = 40;
const SIZES: [usize; 4] = [200_000, 1_000_000, 2_000_000, 5_000_000];

/// Sends each request with a body of its size; prints how many answers had the expected status, and the first failure.
const NODE: &str = r#"
import http2 from "node:http2";
import { readFileSync } from "node:fs";
const [url, kind, ca] = process.argv.slice(2);
const tries = JSON.parse(readFileSync(0, "utf8"));
const trust = ca ? { ca: readFileSync(ca) } : {};
function overHttp2(path, headers, body) {
  return new Promise((resolve, reject) => {
    const session = http2.connect(url, trust);
    session.on("error", reject);
    const request = session.request({ ":method": "POST", ":path": path, ...headers, "content-length": body.length });
    let status, text = "";
    request.on("response", (head) => (status = head[":status"]));
    request.on("data", (data) => (text += data));
    request.on("error", reject);
    request.on("end", () => { session.close(); resolve([status, text]); });
    request.end(body);
  });
}
async function overFetch(path, headers, body) {
  const reply = await fetch(url + path, { method: "POST", headers, body });
  return [reply.status, await reply.text()];
}
let delivered = 0, failure = "";
for (const { path, headers, size, status } of tries) {
  try {
    const send = kind === "http2" ? overHttp2 : overFetch;
    const [found, text] = await send(path, headers, Buffer.alloc(size, "-"));
    if (found === status && JSON.parse(text).error) delivered++;
    else failure ||= `${found} ${text}`;
  } catch (error) {
    failure ||= `${error} ${error.cause}`;
  }
}
console.log(delivered, failure);
"#;

const PYTHON: &str = r#"
import json, ssl, sys, urllib.error, urllib.request
url, kind, ca = sys.argv[1:]
trust = ssl.create_default_context(cafile=ca) if ca else None
delivered, failure = 0, ""
for one in json.load(sys.stdin):
    request = urllib.request.Request(url + one["path"], b"-" * one["size"], one["headers"], method="POST")
    try:
        urllib.request.urlopen(request, context=trust)
        failure = failure or "accepted"
    except urllib.error.HTTPError as reply:
        text = reply.read()
        if reply.code == one["status"] and json.loads(text)["error"]:
            delivered += 1
        else:
            failure = failure or f"{reply.code} {text}"
    except OSError as error:
        failure = failure or repr(error)
print(delivered, failure)
"#;

/// An upload that is refused by its head.
struct RefusedUpload {
    request: Request,
    size: usize,
    status: u16,
}

/// Returns uploads without a token, with a wrong signature, to a missing record, and above the limit of the field.
fn refused_uploads(session: &Session) -> Vec<RefusedUpload> {
    let stated = statement("user", "avatar", b"x");
    let head = |id: u32| head(&format!("/user/{id}/avatar"), &stated);
    (0..TRIES)
        .map(|number| {
            let size = SIZES[number / 4 % SIZES.len()];
            let (request, status, least) = match number % 4 {
                0 => (head(7), 401, 0),
                1 => (session.sign(head(7), "another message"), 403, 0),
                2 => (session.sign(head(9), &encode(&stated)), 404, 0),
                _ => (session.sign(head(7), &encode(&stated)), 413, 2_000_000),
            };
            // The record is looked up after the limit of the field.
            let size = if status == 404 { size.min(1_000_000) } else { size.max(least) };
            RefusedUpload { request, size, status }
        })
        .collect()
}

/// Runs a script with the uploads as input. Returns its output; `None` if the program is not installed.
fn run(program: &str, arguments: [&str; 4], uploads: &[RefusedUpload]) -> Option<String> {
    let version = Command::new(program).arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        skip(program, &format!("install {program}"));
        return None;
    }
    let uploads: Vec<Value> = uploads
        .iter()
        .map(|RefusedUpload { request, size, status }| {
            let headers = request.headers.iter();
            let headers: serde_json::Map<String, Value> = headers
                .map(|(name, value)| (name.clone(), Value::from(String::from_utf8_lossy(value).into_owned())))
                .collect();
            json!({"path": request.target, "headers": headers, "size": size, "status": status})
        })
        .collect();
    let mut command = Command::new(program);
    command.env("NODE_EXTRA_CA_CERTS", arguments[3]);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    serde_json::to_writer(child.stdin.take().unwrap(), &uploads).unwrap();
    let output = child.wait_with_output().unwrap();
    Some(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).trim().to_owned())
}

#[test]
fn the_answer_to_a_refused_upload_is_delivered() {
    let plain = Files::with(SETTINGS);
    let pair = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let folder = Database::new("").dir;
    let certificate = folder.write("cert.pem", &pair.cert.pem());
    let key = folder.write("key.pem", &pair.signing_key.serialize_pem());
    let session = Session::begin(&plain);
    let tls = Files::with(&format!("{SETTINGS}[tls]\ncert = '{certificate}'\nkey = '{key}'\n"));
    // Both servers have the same secret.
    let uploads = refused_uploads(&session);
    let node = folder.write("client.mjs", NODE);
    let python = folder.write("client.py", PYTHON);
    let mut faults = Vec::new();
    for (scheme, files, ca) in [("http", &plain, ""), ("https", &tls, certificate.as_str())] {
        let url = format!("{scheme}://localhost:{}", files.server.address.port());
        for (program, script, kind) in
            [("node", &node, "fetch"), ("node", &node, "http2"), ("python3", &python, "urllib")]
        {
            let Some(said) = run(program, [script, &url, kind, ca], &uploads) else { continue };
            println!("{scheme} {kind}: {said}");
            if said != TRIES.to_string() {
                faults.push(format!("{scheme} {kind}: {said} of {TRIES}"));
            }
        }
    }
    let mut delivered = 0;
    for RefusedUpload { request, size, status } in &uploads {
        let mut connection = Connection::connect(plain.server.address);
        connection.write(&request.clone().body(vec![b'-'; *size]).bytes());
        let head = connection.read_head().ok().flatten();
        let reply = head.and_then(|head| connection.read_body(head, false).ok());
        delivered += usize::from(reply.is_some_and(|reply| refusal(&reply).0 == *status));
    }
    println!("sockets: {delivered}");
    if delivered != TRIES {
        faults.push(format!("sockets: {delivered} of {TRIES}"));
    }
    crate::support::refusals::report(&faults);
    plain.settled();
}

/// The server reads on only for a limited time: it disconnects a client that never ends, and one that pauses.
#[test]
fn a_refused_upload_is_not_read_forever() {
    let files = Files::with(SETTINGS);
    let upload = head("/user/7/avatar", &statement("user", "avatar", b"x"));
    for length in ["1000000", "4000000000"] {
        let mut connection = files.server.connect();
        connection.write(&upload.clone().header("Content-Length", length).bytes());
        let reply = connection.read(false).unwrap();
        assert_eq!((reply.status, reply.header("connection")), (401, Some("close")));
        // Nothing is sent, and the server ends the connection.
        assert!(connection.read(false).is_none());
    }
    let mut connection = files.server.connect();
    connection.write(&upload.header("Content-Length", "4000000000").bytes());
    let mut stream = connection.into_stream();
    let block = vec![b'-'; 1 << 20];
    let sent = (0..4_000).take_while(|_| std::io::Write::write_all(stream.get_mut(), &block).is_ok()).count();
    assert!((32..200).contains(&sent), "{sent} MiB were taken");
}
