//! How does a command of this program act for a user? Logs in, signs what it asks, and logs out.

use std::fmt::Display;
use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use mesh_wire::client::{self, Endpoint, Session, SignatureBinding};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde_json::Map;

use crate::cli::client::http::{Caller, answer};
use crate::cli::failure::Failure;
use crate::cli::output::remark;
use crate::cli::terminal::password;
use crate::config::PASSWORD_VARIABLE;

/// The password of a login: of the variable, else asked for.
pub(crate) fn password(login: &str) -> Result<String, Failure> {
    match std::env::var_os(PASSWORD_VARIABLE) {
        Some(password) => password
            .into_string()
            .map_err(|_| Failure::start(format!("{PASSWORD_VARIABLE} must be UTF-8 text"))),
        None => password::read(&format!("Password of {login}: ")).map_err(|error: io::Error| {
            Failure::start(format!("{error}; type it, or set {PASSWORD_VARIABLE}"))
        }),
    }
}

/// A user's session with a server.
pub(crate) struct Login<'e> {
    caller: &'e Caller,
    at: &'e Endpoint,
    session: Session,
}

impl<'e> Login<'e> {
    /// Begins one.
    pub(crate) async fn begin(
        caller: &'e Caller,
        at: &'e Endpoint,
        login: &str,
        password: String,
    ) -> Result<Self, Failure> {
        let mut credentials = Map::new();
        credentials.insert("login".to_owned(), login.into());
        credentials.insert("password".to_owned(), password.into());
        let reply =
            caller.send(client::login(at, &credentials).map_err(Failure::start)?.map(Full::new)).await?;
        let body = answer(reply, "MethodNotAllowed", "is [integrity] enabled there?")?;
        let session = Session::from_login_reply(&body)
            .ok_or_else(|| Failure::found("the reply to the login has no session in it"))?;
        Ok(Self { caller, at, session })
    }

    /// Signs a request, bound to this one use of it.
    pub(crate) fn sign(&self, request: Request<Bytes>) -> Result<Request<Bytes>, Failure> {
        let clock = |error: &dyn Display| Failure::start(format!("the clock is not set: {error}"));
        let since = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|error| clock(&error))?;
        let mut fresh = [0; 16];
        SystemRandom::new().fill(&mut fresh).map_err(Failure::start)?;
        let nonce: String = fresh.iter().map(|byte| format!("{byte:02x}")).collect();
        let binding = SignatureBinding { timestamp: since.as_secs(), nonce: &nonce };
        self.session.sign(request, Some(binding)).map_err(Failure::start)
    }

    /// Ends it. Where that fails, the session ends by itself before long.
    pub(crate) async fn end(self) {
        let logout = async {
            let request = self.sign(client::logout(self.at).map_err(Failure::start)?)?;
            client::result(self.caller.send(request.map(Full::new)).await?).map_err(Failure::found)
        };
        if let Err(failure) = logout.await {
            remark(format_args!("the session was not ended: {failure}"));
        }
    }
}
