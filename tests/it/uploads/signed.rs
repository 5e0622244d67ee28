//! The stored file is the signed one, and only its session can use the signature.

use std::io::Write as _;
use std::process::Stdio;

use super::*;

const PASSWORD: &str = "correct horse";
pub(super) const SETTINGS: &str = "[integrity]\nenabled = true\nsecret = \"a secret of this test, of more than 32 bytes\"\n\
    [integrity.users]\ntable = \"users\"\nid = \"id\"\nlogin = \"login\"\npassword = \"password_hash\"\nrole = \"role\"\n";

pub(super) struct Session {
    token: String,
    key: String,
}

impl Session {
    pub(super) fn begin(files: &Files) -> Self {
        Self::log_in(&files.server)
    }

    pub(super) fn log_in(server: &Server) -> Self {
        let body = json!({"login": "ada", "password": PASSWORD}).to_string();
        let reply = server.send(&Request::post("/mesh/auth", &body));
        assert_eq!(reply.status, 200, "{}", reply.text());
        let text = |name: &str| reply.json()[name].as_str().unwrap().to_owned();
        Self { token: text("token"), key: text("signingToken") }
    }

    pub(super) fn sign(&self, request: Request, message: &str) -> Request {
        let signature = encoding::signature(&self.key, message);
        request.header("X-Mesh-Token", &self.token).header("X-Mesh-Signature", signature)
    }
}

pub(super) fn refusal(reply: &Response) -> (u16, Value) {
    (reply.status, reply.json()["code"].clone())
}

#[test]
fn the_command_logs_in() {
    // The same holds if signatures must be bound to one use.
    let files = Files::with(&SETTINGS.replacen("enabled = true", "enabled = true\nbinding = \"require\"", 1));
    let url = format!("http://{}/mesh", files.server.address);
    let file = files.database.dir.write("me.txt", "signed");
    let run = |password: &str| {
        let mut command =
            mesh_tests::command(&["upload", "--url", &url, "--login", "ada", "user", "7", "avatar", &file]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        writeln!(child.stdin.take().unwrap(), "{password}").unwrap();
        let output = child.wait_with_output().unwrap();
        let texts = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
        (output.status.code(), texts.concat())
    };
    let (status, text) = run("wrong");
    assert!(status == Some(1) && text.contains("IntegrityError"), "{status:?} {text}");
    let (status, text) = run(PASSWORD);
    assert!(status == Some(0) && text.contains(&key("signed")), "{status:?} {text}");
}
