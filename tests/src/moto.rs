//! A server of the S3 protocol for one test: moto (`pip install 'moto[server]'`), which checks neither signatures nor the
//! expiry of links.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use mesh_conformance::http::{Connection, Request, Response};

use crate::parts::Part;
use crate::wait::skip;

/// The name of the bucket.
const BUCKET: &str = "files";

/// A running moto with an empty bucket, stopped when this value is dropped.
#[derive(Debug)]
pub struct Moto {
    process: Child,
    /// The address that it listens on.
    pub address: SocketAddr,
    /// The request lines that it has logged.
    log: Arc<Mutex<Vec<String>>>,
}

impl Moto {
    /// Starts moto. Returns `None` if it is not installed; fails the test instead if `MESH_REQUIRE_SERVICES` is set.
    #[must_use]
    pub fn start() -> Option<Self> {
        if Part::Tools.is_left_out() {
            return None;
        }
        let started = Command::new("moto_server")
            .args(["-H", "127.0.0.1", "-p", "0"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let Ok(mut process) = started else {
            skip("moto_server", "run `pip install 'moto[server]'`, and add its folder to PATH");
            return None;
        };
        let stderr = process.stderr.take().expect("a pipe");
        let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
        let address = lines.find_map(|line| line.split_once("Running on http://")?.1.trim().parse().ok());
        let address = address.expect("the address of moto");
        let log = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in lines {
                if let Some(request) = line.split('"').nth(1) {
                    kept.lock().unwrap_or_else(PoisonError::into_inner).push(request.to_owned());
                }
            }
        });
        let moto = Self { process, address, log };
        assert_eq!(moto.send(&Request::new("PUT", &format!("/{BUCKET}"))).status, 200, "the bucket is made");
        Some(moto)
    }

    /// Returns the setting `uploads.store` of a store with a prefix.
    #[must_use]
    pub fn store(&self) -> String {
        format!("s3://{BUCKET}/up/loads")
    }

    /// Sets the variables with which a program finds the bucket, at `address`: that of moto, or of a proxy before it.
    pub fn configure(&self, command: &mut Command, address: SocketAddr) {
        command
            .env("AWS_ENDPOINT", format!("http://{address}"))
            .env("AWS_ALLOW_HTTP", "true")
            .env("AWS_REGION", "us-east-1")
            .env("AWS_ACCESS_KEY_ID", "access")
            .env("AWS_SECRET_ACCESS_KEY", "secret");
    }

    /// Sends a request without credentials, which moto does not ask for.
    #[must_use]
    pub fn send(&self, request: &Request) -> Response {
        Connection::connect(self.address).send(request)
    }

    /// Writes an object.
    pub fn put(&self, name: &str) {
        let reply = self.send(&Request::new("PUT", &format!("/{BUCKET}/up/loads/{name}")).body(""));
        assert_eq!(reply.status, 200, "{}", reply.text());
    }

    /// Removes an object.
    pub fn delete(&self, name: &str) {
        let request = Request::new("DELETE", &format!("/{BUCKET}/up/loads/{name}"));
        // moto requires a signature for this request, but does not check it.
        let reply = self.send(&request.header("Authorization", "AWS4-HMAC-SHA256 Credential=access/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"));
        assert_eq!(reply.status, 204, "{}", reply.text());
    }

    /// Returns the sorted names of all objects, below the prefix.
    #[must_use]
    pub fn objects(&self) -> Vec<String> {
        let listing = self.send(&Request::new("GET", &format!("/{BUCKET}?list-type=2"))).text();
        let keys = listing.split("<Key>").skip(1).filter_map(|rest| rest.split("</Key>").next());
        let mut names: Vec<String> = keys.map(|key| key.trim_start_matches("up/loads/").to_owned()).collect();
        names.sort();
        names
    }

    /// Returns the lines of the requests that were answered, such as `GET /files/key HTTP/1.1`.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
