//! Logins and logouts of an application.

use serde_json::json;

use super::site::*;

fn refused(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

#[tokio::test]
async fn a_login_that_fails_reveals_no_cause() {
    let ask = Ask::post("/mesh/auth", &json!({"login": "broken", "password": "pw"}));
    let reply = Site::new().send(ask).await;
    assert_eq!(reply.why(), refused(500, "InternalError"));
    assert!(!reply.text.contains("directory"), "the cause is only logged: {}", reply.text);
}

/// Attack without a session: a forged logout of another session.
#[tokio::test]
async fn a_forged_logout_ends_no_session() {
    let site = Site::new();
    let login = site.login().await;
    let mut altered = login.token.clone();
    let last = altered.pop().unwrap();
    altered.push(if last == 'A' { 'Q' } else { 'A' });
    for forged in [altered.as_str(), "tok_", "nonsense"] {
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
