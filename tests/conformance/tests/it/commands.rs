//! Commands that repeat requests.

use mesh_conformance::http::{Endpoint, Request, curl};

fn command(request: &Request) -> String {
    curl(request, &Endpoint::from("localhost:8080"))
}

#[test]
fn control_characters_are_sent_as_they_are() {
    let request = Request::new("POST", "/mesh").header("X-A", "b\u{1}c").body("a 'b' 50%\r\n\\\r\n");
    assert_eq!(
        command(&request),
        r#"printf 'a '\''b'\'' 50%%\r\n\\\r\n' | curl -i --path-as-is -X POST -H "$(printf 'X-A: b\001c')" -H 'Content-Type:' --data-binary @- 'http://localhost:8080/mesh'"#
    );
    let binary = Request::post("/mesh", "").body([0, 159, 146, 150]);
    assert!(command(&binary).starts_with("printf %s AJ+Slg== | base64 -d | curl "), "{}", command(&binary));
}

#[test]
fn a_get_with_a_body_stays_one() {
    let command = command(&Request::new("GET", "/mesh/user").header("Content-Type", "a/b").body("{}"));
    assert_eq!(
        command,
        "curl -i --path-as-is -X GET -H 'Content-Type: a/b' --data-binary '{}' 'http://localhost:8080/mesh/user'"
    );
}

#[test]
fn several_hosts_are_all_sent() {
    let hosts = Some(vec!["a".to_owned(), "b".to_owned()]);
    let request = Request { hosts, ..Request::new("GET", "/mesh") };
    let sent = r"GET /mesh HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n";
    let expected = format!("bash -c 'exec 3<>/dev/tcp/localhost/8080; printf '\\''{sent}'\\'' >&3; cat <&3'");
    assert_eq!(command(&request), expected);
}
