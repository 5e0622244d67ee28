//! Building the request of a step, including its signature.

use serde_json::{Map, Value};

use crate::case::{Part, Send};
use crate::encoding;
use crate::expression::{Scope, plain};
use crate::failure::Failure;
use crate::http::Request;
use crate::target::{Session, Target};

/// The host name of the server with the settings `named`.
const OWN_NAME: &str = "mesh.example";

/// Builds the request of a step for the server with the given settings.
pub fn request(send: &Send, settings: &str, target: &Target, scope: &Scope<'_>) -> Result<Request, Failure> {
    let path = scope.text(&send.path.clone().into())?;
    let base = match send.at.as_deref() {
        None => target.base_url(settings)?.base.clone(),
        Some("root") => String::new(),
        Some("docs") => target.profile.choice_text("docs_path")?,
        Some(other) => {
            return Err(Failure::Setup(format!("the case is broken: 'at' cannot be '{other}'")));
        }
    };
    let full = format!("{base}{path}");
    let full = if full.starts_with('/') { full } else { format!("/{full}") };
    let hosts = match &send.host {
        None if settings == "named" => Some(vec![OWN_NAME.to_owned()]),
        None => None,
        Some(Value::Array(hosts)) => {
            Some(hosts.iter().map(|host| scope.text(host)).collect::<Result<_, _>>()?)
        }
        Some(host) => Some(vec![scope.text(host)?]),
    };
    let mut request = Request {
        method: send.method.clone().unwrap_or_else(|| "GET".to_owned()),
        target: format!("{}{full}", send.origin.as_deref().unwrap_or_default()),
        hosts,
        ..Request::default()
    };
    let mut add = |name: &str, value: String| request.add_header(name, value);
    if let Some(query) = &send.query {
        add("X-Mesh-Query", encoding::base64(scope.text(query)?));
    }
    if let Some(id) = &send.query_id {
        add("X-Mesh-Query-Id", scope.text(id)?);
    }
    if let Some(params) = &send.params {
        add("X-Mesh-Params", encoding::base64(scope.text(params)?));
    }
    if let Some(format) = &send.format {
        add("X-Mesh-Format", scope.text(format)?);
    }
    if send.json.is_some() && !send.headers.keys().any(|name| name.eq_ignore_ascii_case("content-type")) {
        add("Content-Type", "application/json".to_owned());
    }
    for (name, value) in &send.headers {
        match scope.eval(value)? {
            Value::Array(values) => values.iter().for_each(|value| add(name, plain(value))),
            value => add(name, plain(&value)),
        }
    }
    if let Some(json) = &send.json {
        request.body = Some(scope.eval(json)?.to_string().into_bytes());
    } else if let Some(body) = &send.body {
        request.body = Some(scope.text(body)?.into_bytes());
    } else if let Some(bytes) = &send.bytes {
        request.body = encoding::from_base64(&scope.text(bytes)?);
    } else if let Some(parts) = &send.multipart {
        let boundary = format!("mesh{}", encoding::random(16));
        request.add_header("Content-Type", format!("multipart/form-data; boundary={boundary}"));
        request.body = Some(multipart(parts, &boundary, scope)?);
    }
    if let Some(length) = &send.declares {
        request.add_header("Content-Length", scope.text(length)?);
    }
    sign(&mut request, send, settings, target, scope)?;
    if request.header_value("Transfer-Encoding").is_some() {
        request.body = request.body.as_deref().map(in_chunks);
    }
    Ok(request)
}

fn in_chunks(body: &[u8]) -> Vec<u8> {
    let chunk = |part: &[u8]| [format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat();
    let chunks: Vec<u8> = body.chunks(20).flat_map(chunk).collect();
    [&chunks[..], b"0\r\n\r\n"].concat()
}

fn multipart(parts: &[Part], boundary: &str, scope: &Scope<'_>) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    for part in parts {
        let mut head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"",
            scope.text(&part.name.clone().into())?
        );
        if let Some(filename) = &part.filename {
            head.push_str(&format!("; filename=\"{}\"", scope.text(&filename.clone().into())?));
        }
        if let Some(media) = &part.media {
            head.push_str(&format!("\r\nContent-Type: {}", scope.text(&media.clone().into())?));
        }
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(b"\r\n\r\n");
        match &part.base64 {
            Some(text) => body.extend(encoding::from_base64(&scope.text(text)?).unwrap_or_default()),
            None if part.text.is_null() => {}
            None => body.extend(scope.text(&part.text)?.into_bytes()),
        }
        body.extend_from_slice(b"\r\n");
    }
    body.extend(format!("--{boundary}--\r\n").into_bytes());
    Ok(body)
}

/// The session that signs, and the deliberate deviations from a correct signature.
#[derive(Default)]
struct Auth {
    session: Option<Session>,
    deviations: Map<String, Value>,
}

fn sign(
    request: &mut Request,
    send: &Send,
    settings: &str,
    target: &Target,
    scope: &Scope<'_>,
) -> Result<(), Failure> {
    let auth = auth(send, settings, target, scope)?;
    let Some(session) = &auth.session else { return Ok(()) };
    let given = |name: &str| auth.deviations.get(name);
    let token = given("token").map_or_else(|| Some(session.token.clone()), text_or_none);
    if let Some(token) = token {
        request.add_header("X-Mesh-Token", token);
    }
    let mut message = match given("over") {
        Some(over) => plain(over),
        None => {
            // Without write routes a PUT is a read. Its body is ignored and therefore not signed.
            let unsigned_body =
                send.multipart.is_some() || (request.method == "PUT" && !Target::writes(settings));
            message(request, unsigned_body)
        }
    };
    if let Some(bound) = given("bound").filter(|bound| **bound != Value::Bool(false)) {
        let part = |name: &str, default: String| bound.get(name).map_or(default, plain);
        let path = request.target.split('?').next().unwrap_or_default().to_owned();
        let has_query = request.header_value("X-Mesh-Query").is_some();
        let format = request.header_value("X-Mesh-Format").filter(|_| has_query).unwrap_or("json").to_owned();
        let now = scope.text(&serde_json::json!({"@now": 0}))?;
        let (timestamp, nonce) = (part("timestamp", now), part("nonce", encoding::random(22)));
        let (method, path) = (part("method", request.method.clone()), part("path", path));
        message = format!("{message}\n{method}\n{path}\n{}\n{timestamp}\n{nonce}", part("format", format));
        request.add_header("X-Mesh-Timestamp", timestamp);
        request.add_header("X-Mesh-Nonce", nonce);
    }
    let key = given("key").map_or_else(|| session.signing_token.clone(), plain);
    let signature = match given("signature") {
        Some(signature) => text_or_none(signature),
        None => Some(encoding::signature(&key, &message)),
    };
    if let Some(signature) = signature {
        request.add_header("X-Mesh-Signature", signature);
    }
    Ok(())
}

fn auth(send: &Send, settings: &str, target: &Target, scope: &Scope<'_>) -> Result<Auth, Failure> {
    let named = |name: &str| {
        let session = scope.values.get(name).and_then(|session| {
            let text = |member: &str| session.get(member).and_then(Value::as_str).map(str::to_owned);
            Some(Session { token: text("token")?, signing_token: text("signingToken")? })
        });
        session.ok_or_else(|| Failure::Setup(format!("the case is broken: there is no session '{name}'")))
    };
    match &send.auth {
        None if Target::signs(settings) => {
            Ok(Auth { session: Some(target.default_session(settings)?), ..Auth::default() })
        }
        None => Ok(Auth::default()),
        Some(Value::String(name)) if name == "none" => Ok(Auth::default()),
        Some(Value::String(name)) => Ok(Auth { session: Some(named(name)?), ..Auth::default() }),
        Some(deviations) => {
            let Value::Object(deviations) = scope.eval(deviations)? else { return Ok(Auth::default()) };
            let session = match deviations.get("as").and_then(Value::as_str) {
                Some(name) => named(name)?,
                None => target.default_session(settings)?,
            };
            Ok(Auth { session: Some(session), deviations })
        }
    }
}

/// Returns the message to sign for a request (SPEC §7.4, §19.4).
fn message(request: &Request, unsigned_body: bool) -> String {
    let query = request
        .header_value("X-Mesh-Query")
        .or_else(|| request.header_value("X-Mesh-Query-Id"))
        .unwrap_or_default()
        .trim_matches([' ', '\t']);
    let second = match request.body.as_deref().filter(|_| !unsigned_body) {
        Some(body) => Some(encoding::sha256(body)),
        None => request.header_value("X-Mesh-Params").map(str::to_owned),
    };
    second.map_or_else(|| query.to_owned(), |second| format!("{query}\n{second}"))
}

fn text_or_none(value: &Value) -> Option<String> {
    (!value.is_null()).then(|| plain(value))
}
