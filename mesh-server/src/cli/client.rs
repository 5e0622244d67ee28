//! The client side of commands that send requests: arguments, sessions and signatures.

pub(super) mod http_client;

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use clap::Args;
use data_encoding::HEXLOWER;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Body;
use mesh_wire::client::{self as wire, Endpoint, ReplyError, Session, SignatureBinding};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde_json::Map;

use crate::cli::failure::Failure;
use crate::cli::output::remark;
use crate::cli::server::database::block_on;
use crate::cli::terminal::{escaped, read_password};
use crate::config::PASSWORD_VARIABLE;
use http_client::{BoxError, HttpClient};

/// The server that requests are sent to.
#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    /// URL of the server, with the base path
    #[arg(long, value_name = "BASE", default_value = "http://127.0.0.1:4000/mesh")]
    pub(crate) url: String,
    /// Trust the certificates in this PEM file instead of those of the system
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Log in with this name, sign the requests, and log out
    #[arg(long, value_name = "NAME")]
    login: Option<String>,
}

/// Sends requests to one server, signed if there is a session.
pub(crate) struct Client {
    http: HttpClient,
    /// The URL of the server.
    pub(crate) endpoint: Endpoint,
    session: Option<Session>,
}

impl Client {
    /// Runs `work` with a client, within a session if the arguments have a login.
    pub(crate) fn run<T>(
        args: &ServerArgs,
        work: impl AsyncFnOnce(&Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let endpoint = Endpoint::parse(&args.url)?;
        let http = HttpClient::new(&endpoint, args.ca.as_deref())?;
        let mut client = Self { http, endpoint, session: None };
        let password = args.login.as_deref().map(password).transpose()?;
        let done = block_on(async {
            if let Some((login, password)) = args.login.as_deref().zip(password) {
                client.session = Some(client.log_in(login, password).await?);
            }
            let result = work(&client).await;
            if client.session.is_some()
                && let Err(failure) = client.log_out().await
            {
                // The session stays valid until it expires.
                remark(format_args!("cannot log out: {failure}"));
            }
            result
        });
        done?
    }

    /// Signs a request and sends it. `body` converts the signed body to the one that is sent.
    pub(crate) async fn send<B>(
        &self,
        request: Request<Bytes>,
        body: impl FnOnce(Bytes) -> B,
    ) -> Result<Response<Bytes>, Failure>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        self.http.send(self.sign(request)?.map(body)).await
    }

    async fn log_in(&self, login: &str, password: String) -> Result<Session, Failure> {
        let credentials =
            Map::from_iter([("login".to_owned(), login.into()), ("password".to_owned(), password.into())]);
        let request = wire::login(&self.endpoint, &credentials)?;
        let reply = self.send(request, Full::new).await?;
        let body = json_body(reply, "MethodNotAllowed", "is [integrity] enabled on the server?")?;
        Session::from_login_reply(&body)
            .ok_or_else(|| Failure::found("the reply to the login has no session"))
    }

    async fn log_out(&self) -> Result<(), Failure> {
        let request = wire::logout(&self.endpoint)?;
        wire::result(self.send(request, Full::new).await?).map(drop).map_err(Failure::found)
    }

    /// Adds a signature with timestamp and nonce, if there is a session.
    fn sign(&self, request: Request<Bytes>) -> Result<Request<Bytes>, Failure> {
        let Some(session) = &self.session else { return Ok(request) };
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let nonce = HEXLOWER.encode(&random()?);
        let binding = SignatureBinding { timestamp: since_epoch.as_secs(), nonce: &nonce };
        session.sign(request, Some(binding)).map_err(Failure::start)
    }
}

/// Returns the password from the variable, or prompts for it.
fn password(login: &str) -> Result<String, Failure> {
    match std::env::var_os(PASSWORD_VARIABLE) {
        Some(password) => password
            .into_string()
            .map_err(|_| Failure::start(format!("{PASSWORD_VARIABLE} must be UTF-8 text"))),
        None => read_password(&format!("Password for {login}: "))
            .map_err(|error| Failure::start(format!("{error}; type it, or set {PASSWORD_VARIABLE}"))),
    }
}

/// Returns random bytes for a nonce or a boundary.
pub(crate) fn random() -> Result<[u8; 16], Failure> {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).map_err(Failure::start)?;
    Ok(bytes)
}

/// Returns the JSON of a reply. `hint` is added to errors of one kind.
pub(crate) fn json_body(reply: Response<Bytes>, kind: &str, hint: &str) -> Result<Bytes, Failure> {
    wire::result(reply).map_err(|error| match &error {
        ReplyError::Refused { body, .. } if body.error == kind => {
            Failure::found(format_args!("{}\n{hint}", escaped(&error.to_string())))
        }
        _ => Failure::found(escaped(&error.to_string())),
    })
}
