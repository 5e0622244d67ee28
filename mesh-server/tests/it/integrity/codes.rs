//! Each refusal has its code and status, and altered requests are refused.

use std::time::UNIX_EPOCH;

use mesh_server::App;
use mesh_server::mesh_integrity::{Gate, Identity, Keys, Secret, SigningKey};
use mesh_server::mesh_wire::base64;
use serde_json::json;

use super::site::*;

fn refused(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

#[tokio::test]
async fn a_session_lasts_from_login_to_logout() {
    let site = Site::new();
    let before = u64::try_from(since_1970().as_millis()).unwrap();
    let reply = site.send(Ask::post("/mesh/auth", &credentials("pw"))).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.headers["cache-control"], "no-store");
    let login = site.login().await;
    assert!(login.token.starts_with("tok_") && login.signing_token.len() == 64);
    assert!((900_000..=910_000).contains(&(login.expires_at - before)), "15 minutes: {}", login.expires_at);

    let read = || login.sign(Ask::get("/mesh/post/1", TITLE));
    let reply = site.send(read()).await;
    assert_eq!((reply.status, reply.text.as_str()), (200, r#"{"title":"Hello"}"#));
    let put = login.sign(Ask { method: "PUT", ..Ask::get("/mesh/post/1", TITLE) });
    assert_eq!(site.send(put).await.status, 200);
    let head = login.sign(Ask { method: "HEAD", ..Ask::get("/mesh/post/1", TITLE) });
    assert_eq!(site.send(head).await.status, 200);
    let posted = login.sign(Ask::post("/mesh", &json!({"query": TITLE, "id": 2})));
    assert_eq!(site.send(posted).await.text, r#"{"title":"Goodbye"}"#);

    let logout = || Ask::new("POST", "/mesh/logout").header("X-Mesh-Token", &login.token);
    let reply = site.send(logout()).await;
    assert_eq!((reply.status, reply.json()), (200, json!({"loggedOut": true})));
    assert_eq!(site.send(read()).await.why(), refused(401, "TOKEN_REVOKED"));
    assert_eq!(site.send(logout()).await.why(), refused(401, "TOKEN_REVOKED"));
    assert_eq!(site.send(site.login().await.sign(Ask::get("/mesh/post/1", TITLE))).await.status, 200);
}

#[tokio::test]
async fn every_code_has_its_status() {
    let site = Site::new();
    let login = site.login().await;
    let get = || Ask::get("/mesh/post/1", TITLE);
    let old = gate().login(&Identity::new("ada"), [1; 16], UNIX_EPOCH).unwrap();
    let old = Login { token: old.token, signing_token: old.signing_token, expires_at: 0 };
    let signed = login.sign(get());
    let signature = signed.value("X-Mesh-Signature").to_owned();
    for (ask, status, code) in [
        (get(), 401, "TOKEN_MISSING"),
        (get().header("X-Mesh-Signature", &signature), 401, "TOKEN_MISSING"),
        (login.sign(get()).with("X-Mesh-Token", ""), 401, "TOKEN_INVALID"),
        (login.sign(get()).with("X-Mesh-Token", "tok_AAAA"), 401, "TOKEN_INVALID"),
        (old.sign(get()), 401, "TOKEN_EXPIRED"),
        (get().header("X-Mesh-Token", &login.token), 401, "SIGNATURE_MISSING"),
        (login.sign(get()).with("X-Mesh-Signature", ""), 403, "SIGNATURE_INVALID"),
        (login.sign(get()).with("X-Mesh-Query", base64::encode("{}")), 403, "SIGNATURE_INVALID"),
        (Ask::post("/mesh/auth", &credentials("wrong")), 401, "BAD_CREDENTIALS"),
    ] {
        let reply = site.send(ask).await;
        assert_eq!(reply.why(), refused(status, code));
        assert_eq!(reply.json()["error"], "IntegrityError");
        assert_eq!(reply.headers["cache-control"], "no-store");
        assert_eq!(reply.headers["content-type"], "application/json; charset=utf-8");
        let challenge = reply.headers.get("www-authenticate").map(|it| it.to_str().unwrap());
        assert_eq!(challenge, (status == 401).then_some("Mesh"), "{code}");
    }
}

#[tokio::test]
async fn an_altered_character_is_refused_at_any_position() {
    let site = Site::new();
    let login = site.login().await;
    let signed = || login.sign(Ask::get("/mesh/post/1", TITLE));
    for name in ["X-Mesh-Token", "X-Mesh-Signature", "X-Mesh-Query"] {
        let value = signed().value(name).to_owned();
        for at in 0..value.len() {
            let mut altered = value.clone();
            altered.replace_range(at..=at, if &value[at..=at] == "A" { "B" } else { "A" });
            let why = site.send(signed().with(name, altered)).await.why();
            let token = name == "X-Mesh-Token";
            let expected =
                if token { refused(401, "TOKEN_INVALID") } else { refused(403, "SIGNATURE_INVALID") };
            assert_eq!(why, expected, "{name} at {at}");
        }
    }
    assert_eq!(site.send(signed()).await.status, 200);
}

#[tokio::test]
async fn a_body_is_signed_as_sent() {
    let site = Site::new();
    let login = site.login().await;
    let body = json!({"query": TITLE, "id": 1});
    let good = login.sign(Ask::post("/mesh", &body));
    for at in 0..good.body.len() {
        let mut altered = login.sign(Ask::post("/mesh", &body));
        altered.body[at] ^= 1;
        assert_eq!(site.send(altered).await.why(), refused(403, "SIGNATURE_INVALID"), "byte {at}");
    }
    let mut longer = login.sign(Ask::post("/mesh", &body));
    longer.body.push(b' ');
    assert_eq!(site.send(longer).await.why(), refused(403, "SIGNATURE_INVALID"));
    assert_eq!(site.send(good).await.status, 200);
    // A query header is part of the message.
    let both = login.sign(Ask::post("/mesh", &body).header("X-Mesh-Query", "e30="));
    assert_eq!(site.send(both).await.status, 200);
    let added = login.sign(Ask::post("/mesh", &body)).header("X-Mesh-Query", "e30=");
    assert_eq!(site.send(added).await.why(), refused(403, "SIGNATURE_INVALID"));
}

#[tokio::test]
async fn repeated_headers_are_refused() {
    let site = Site::new();
    let login = site.login().await;
    for name in ["X-Mesh-Token", "X-Mesh-Signature", "X-Mesh-Query", "X-Mesh-Format", "X-Mesh-Nonce"] {
        let ask = login.sign(Ask::get("/mesh/post/1", TITLE));
        let ask = ask.header(name, "json").header(name, "json");
        assert_eq!(site.send(ask).await.why(), refused(400, "TransportError"), "{name}");
    }
    let twice = Ask::new("POST", "/mesh/logout");
    let twice = twice.header("X-Mesh-Token", &login.token).header("X-Mesh-Token", &login.token);
    assert_eq!(site.send(twice).await.why(), refused(400, "TransportError"));
    let open = Site::from(App::builder(mesh()));
    let twice = Ask::get("/mesh/post/1", TITLE).header("X-Mesh-Token", "a").header("X-Mesh-Token", "b");
    assert_eq!(open.send(twice).await.why(), refused(400, "TransportError"), "with integrity off too");
}

#[tokio::test]
async fn malformed_logins_are_refused() {
    let site = Site::new();
    let ask = |body: &str| Ask { body: body.into(), ..Ask::post("/mesh/auth", &json!(null)) };
    for (ask, status, error) in [
        (ask("[]"), 400, "TransportError"),
        (ask("{"), 400, "TransportError"),
        (ask(""), 400, "TransportError"),
        (ask("{}"), 400, "TransportError"),
        (ask(r#"{"login":"ada"}"#), 400, "TransportError"),
        (ask(r#"{"login":1,"password":"pw"}"#), 400, "TransportError"),
        (Ask::post("/mesh/auth", &credentials("pw")).without("Content-Type"), 415, "TransportError"),
        (ask(&format!(r#"{{"login":"{}"}}"#, "x".repeat(70_000))), 413, "TransportError"),
        (ask(r#"{"login":"broken","password":"pw"}"#), 500, "InternalError"),
    ] {
        let reply = site.send(ask).await;
        assert_eq!(reply.why(), refused(status, error), "{}", reply.text);
        assert!(!reply.text.contains("directory"), "the cause is only logged");
    }
}

#[tokio::test]
async fn failed_logins_are_limited() {
    let site = Site::new();
    let wrong = || Ask::post("/mesh/auth", &credentials("wrong"));
    for _ in 0..20 {
        site.login().await;
    }
    for _ in 0..10 {
        assert_eq!(site.send(wrong()).await.why(), refused(401, "BAD_CREDENTIALS"));
    }
    let reply = site.send(wrong()).await;
    assert_eq!(reply.why(), refused(429, "RateLimitError"));
    let wait: u32 = reply.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    let right = || Ask::post("/mesh/auth", &credentials("pw"));
    assert_eq!(site.send(right()).await.status, 429, "the right password too, or its reply would reveal it");
    assert_eq!(site.send_from(right(), [192, 0, 2, 2]).await.status, 200, "from another address");
    let other = Ask::post("/mesh/auth", &json!({"login": "bo", "password": "pw"}));
    assert_eq!(site.send(other).await.status, 200, "another account");
}

#[tokio::test]
async fn logout_with_and_without_a_signature() {
    let site = Site::new();
    let login = site.login().await;
    let logout = |signature: &str| {
        let ask = Ask::new("POST", "/mesh/logout").header("X-Mesh-Token", &login.token);
        ask.header("X-Mesh-Signature", signature)
    };
    assert_eq!(site.send(Ask::new("POST", "/mesh/logout")).await.why(), refused(401, "TOKEN_MISSING"));
    let wrong = site.send(logout(&login.signature("x"))).await;
    assert_eq!(wrong.why(), refused(403, "SIGNATURE_INVALID"));
    assert_eq!(site.send(login.sign(Ask::get("/mesh/post/1", TITLE))).await.status, 200, "nothing ended");
    assert_eq!(site.send(logout(&login.signature(""))).await.status, 200);
}

#[tokio::test]
async fn secrets_can_be_rotated() {
    let before = Site::new();
    let login = before.login().await;
    let secret = |text: &str| Secret::new(text).unwrap();
    let next = "another secret of the tests, thirty-two bytes and more";
    let keys = Keys::new(&secret(next)).with_previous(&Secret::new(SECRET).unwrap());
    let during = Site::with(Gate::new(keys));
    let after = Site::with(Gate::new(Keys::new(&secret(next))));
    let read = |login: &Login| login.sign(Ask::get("/mesh/post/1", TITLE));
    assert_eq!(during.send(read(&login)).await.status, 200);
    assert_eq!(after.send(read(&login)).await.why(), refused(401, "TOKEN_INVALID"));
    let fresh = during.login().await;
    assert_eq!(after.send(read(&fresh)).await.status, 200);
    assert_eq!(before.send(read(&fresh)).await.why(), refused(401, "TOKEN_INVALID"));
}

#[tokio::test]
async fn a_signature_without_its_prefix_is_refused() {
    let site = Site::new();
    let login = site.login().await;
    let ask = login.sign(Ask::get("/mesh/post/1", TITLE));
    let bare = ask.value("X-Mesh-Signature")["sha256=".len()..].to_owned();
    for wrong in [bare.clone(), bare.to_uppercase(), format!("sha256={}", bare.to_uppercase())] {
        let ask = login.sign(Ask::get("/mesh/post/1", TITLE)).with("X-Mesh-Signature", wrong);
        assert_eq!(site.send(ask).await.why(), refused(403, "SIGNATURE_INVALID"));
    }
}

#[tokio::test]
async fn altered_tokens_are_refused() {
    let site = Site::new();
    let login = site.login().await;
    let gate = Gate::new(Keys::new(&Secret::new([9; 32]).unwrap()));
    // A token with more rights, sealed with another key and signed with the real signing token.
    let forged = gate.login(&Identity::new("ada").with_role("admin"), [1; 16], UNIX_EPOCH).unwrap();
    let far = Login { token: forged.token, ..login.clone() };
    assert_eq!(
        site.send(far.sign(Ask::get("/mesh/post/1", TITLE))).await.why(),
        refused(401, "TOKEN_INVALID")
    );
    // The text in the token, replaced.
    let bytes = decode(&login.token);
    for (from, to) in [(&b"editor"[..], &b"bigadm"[..]), (b"acme", b"evil"), (b"ada", b"bob")] {
        let at = bytes.windows(from.len()).position(|part| part == from).unwrap();
        let mut altered = bytes.clone();
        altered[at..at + from.len()].copy_from_slice(to);
        let altered = Login { token: encode(&altered), ..login.clone() };
        let reply = site.send(altered.sign(Ask::get("/mesh/post/1", TITLE))).await;
        assert_eq!(reply.why(), refused(401, "TOKEN_INVALID"));
    }
    let mut later = bytes.clone();
    assert_eq!(later[1..9], login.expires_at.to_be_bytes());
    later[1..9].copy_from_slice(&(login.expires_at + 1).to_be_bytes());
    let later = Login { token: encode(&later), ..login.clone() };
    assert_eq!(
        site.send(later.sign(Ask::get("/mesh/post/1", TITLE))).await.why(),
        refused(401, "TOKEN_INVALID")
    );
    assert_eq!(encode(&bytes), login.token, "an unaltered token is equal");
}

/// Attack without a session: a forged logout of another session.
#[tokio::test]
async fn a_forged_logout_ends_no_session() {
    let site = Site::new();
    let login = site.login().await;
    let mut bytes = decode(&login.token);
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    for forged in [encode(&bytes), "tok_".to_owned(), "nonsense".to_owned()] {
        let ask = Ask::new("POST", "/mesh/logout").header("X-Mesh-Token", forged);
        assert_eq!(site.send(ask).await.why(), refused(401, "TOKEN_INVALID"));
    }
    assert_eq!(site.send(login.sign(Ask::get("/mesh/post/1", TITLE))).await.status, 200);
}

#[tokio::test]
async fn a_logout_reaches_all_servers_that_share_the_store() {
    let (here, there) = Site::pair();
    let login = here.login().await;
    assert_eq!(there.send(login.sign(Ask::get("/mesh/post/1", TITLE))).await.status, 200);
    let logout = Ask::new("POST", "/mesh/logout").header("X-Mesh-Token", &login.token);
    assert_eq!(there.send(logout).await.status, 200);
    let reply = here.send(login.sign(Ask::get("/mesh/post/1", TITLE))).await;
    assert_eq!(reply.why(), refused(401, "TOKEN_REVOKED"));
}

#[tokio::test]
async fn refusals_are_replies() {
    let site = Site::new();
    for (ask, code) in [
        (Ask::post("/mesh/auth", &credentials("wrong")), "BAD_CREDENTIALS"),
        (Ask::new("POST", "/mesh/logout").header("X-Mesh-Token", "%%%"), "TOKEN_INVALID"),
        (Ask::new("POST", "/mesh/logout").header("X-Mesh-Token", "tok_\u{e9}"), "TOKEN_INVALID"),
    ] {
        let reply = site.send(ask).await;
        assert_eq!(reply.why(), refused(401, code));
        assert!(reply.json()["requestId"].is_string());
    }
}

#[tokio::test]
async fn the_key_of_another_session_is_refused() {
    let site = Site::new();
    let (one, other) = (site.login().await, site.login().await);
    assert_ne!(one.token, other.token);
    let ask = one.sign(Ask::get("/mesh/post/1", TITLE));
    let message = ask.value("X-Mesh-Query").to_owned();
    let signature = SigningKey::new(&other.signing_token).sign(message.as_bytes());
    assert_eq!(
        site.send(ask.with("X-Mesh-Signature", signature)).await.why(),
        refused(403, "SIGNATURE_INVALID")
    );
}

fn decode(token: &str) -> Vec<u8> {
    let text = token.strip_prefix("tok_").unwrap();
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'-' => 62,
        _ => 63,
    };
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0u32, 0);
    for byte in text.bytes() {
        (bits, count) = (bits << 6 | u32::from(value(byte)), count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}

fn encode(bytes: &[u8]) -> String {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = "tok_".to_owned();
    for part in bytes.chunks(3) {
        let word =
            part.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - part.len()));
        for index in 0..=part.len() {
            text.push(char::from(digits[(word >> (18 - 6 * index) & 63) as usize]));
        }
    }
    text
}
