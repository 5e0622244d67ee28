//! A user's session with a server: log in, sign requests, log out.

use std::fmt::Display;
use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use data_encoding::HEXLOWER;
use http::Request;
use http_body_util::Full;
use mesh_wire::client::{self as wire, Endpoint, Session, SignatureBinding};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde_json::Map;

use crate::cli::client::http::{HttpClient, json_body};
use crate::cli::failure::Failure;
use crate::cli::output::remark;
use crate::cli::terminal::password;
use crate::config::PASSWORD_VARIABLE;

/// Returns the password from the variable, or prompts for it.
pub(crate) fn password(login: &str) -> Result<String, Failure> {
    match std::env::var_os(PASSWORD_VARIABLE) {
        Some(password) => password
            .into_string()
            .map_err(|_| Failure::start(format!("{PASSWORD_VARIABLE} must be UTF-8 text"))),
        None => password::read(&format!("Password for {login}: ")).map_err(|error: io::Error| {
            Failure::start(format!("{error}; type it, or set {PASSWORD_VARIABLE}"))
        }),
    }
}

/// An open session. It has to be closed with [`UserSession::log_out`].
pub(crate) struct UserSession<'e> {
    client: &'e HttpClient,
    endpoint: &'e Endpoint,
    session: Session,
}

impl<'e> UserSession<'e> {
    /// Logs in.
    pub(crate) async fn log_in(
        client: &'e HttpClient,
        endpoint: &'e Endpoint,
        login: &str,
        password: String,
    ) -> Result<Self, Failure> {
        let mut credentials = Map::new();
        credentials.insert("login".to_owned(), login.into());
        credentials.insert("password".to_owned(), password.into());
        let reply =
            client.send(wire::login(endpoint, &credentials).map_err(Failure::start)?.map(Full::new)).await?;
        let body = json_body(reply, "MethodNotAllowed", "is [integrity] enabled on the server?")?;
        let session = Session::from_login_reply(&body)
            .ok_or_else(|| Failure::found("the reply to the login has no session"))?;
        Ok(Self { client, endpoint, session })
    }

    /// Signs a request, with timestamp and nonce.
    pub(crate) fn sign(&self, request: Request<Bytes>) -> Result<Request<Bytes>, Failure> {
        let clock = |error: &dyn Display| Failure::start(format!("the clock is not set: {error}"));
        let since = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|error| clock(&error))?;
        let mut fresh = [0; 16];
        SystemRandom::new().fill(&mut fresh).map_err(Failure::start)?;
        let nonce = HEXLOWER.encode(&fresh);
        let binding = SignatureBinding { timestamp: since.as_secs(), nonce: &nonce };
        self.session.sign(request, Some(binding)).map_err(Failure::start)
    }

    /// Logs out. If that fails, the session lives until it expires.
    pub(crate) async fn log_out(self) {
        let logout = async {
            let request = self.sign(wire::logout(self.endpoint).map_err(Failure::start)?)?;
            wire::result(self.client.send(request.map(Full::new)).await?).map_err(Failure::found)
        };
        if let Err(failure) = logout.await {
            remark(format_args!("cannot log out: {failure}"));
        }
    }
}
