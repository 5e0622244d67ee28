//! The client side of commands that send requests: arguments, sessions and signatures.

pub(super) mod http_client;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fs, io};

use bytes::Bytes;
use clap::Args;
use data_encoding::HEXLOWER;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use mesh_wire::client::{self as wire, Endpoint, ReplyError, Session, SignatureBinding};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde_json::Map;

use crate::cli::failure::{Failure, WithContext as _};
use crate::cli::output::print_stderr;
use crate::cli::server::database::block_on;
use crate::cli::terminal::{escaped, read_password};
use crate::config::{BEARER_VARIABLE, PASSWORD_VARIABLE};
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
    /// Send the bearer token in this file (- is standard input): a token of an issuer, or an API key; the variable MESH_BEARER
    /// has the token itself. If the server requires signatures, the token is exchanged for a session
    #[arg(long, value_name = "FILE", conflicts_with = "login")]
    bearer_file: Option<PathBuf>,
}

/// Sends requests to one server, signed if there is a session.
pub(crate) struct Client {
    http: HttpClient,
    /// The URL of the server.
    pub(crate) endpoint: Endpoint,
    session: Option<Session>,
    bearer: Option<String>,
}

impl Client {
    /// Runs `work` with a client, within a session if the arguments have a login or the server exchanges the bearer for one.
    pub(crate) fn run<T>(
        args: &ServerArgs,
        work: impl AsyncFnOnce(&Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let endpoint = Endpoint::parse(&args.url)?;
        let http = HttpClient::new(endpoint.uri().scheme_str() == Some("https"), args.ca.as_deref())?;
        let bearer = if args.login.is_none() { bearer(args.bearer_file.as_deref())? } else { None };
        let mut client = Self { http, endpoint, session: None, bearer };
        let password = args.login.as_deref().map(password).transpose()?;
        block_on(async {
            if let Some((login, password)) = args.login.as_deref().zip(password) {
                client.session = Some(client.log_in(login, password).await?);
            } else if client.bearer.is_some() {
                client.session = client.exchange().await?;
            }
            let result = work(&client).await;
            if client.session.is_some()
                && let Err(failure) = client.log_out().await
            {
                // The session stays valid until it expires.
                print_stderr(format_args!("cannot log out: {failure}"));
            }
            result
        })
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

    /// Signs a request without a body, sends it, and returns the reply without reading its body.
    pub(crate) async fn open(&self, request: Request<Bytes>) -> Result<Response<Incoming>, Failure> {
        self.http.open(self.sign(request)?.map(Full::new)).await
    }

    async fn log_in(&self, login: &str, password: String) -> Result<Session, Failure> {
        let credentials =
            Map::from_iter([("login".to_owned(), login.into()), ("password".to_owned(), password.into())]);
        let request = wire::login(&self.endpoint, &credentials)?;
        let reply = self.send(request, Full::new).await?;
        session(&json_body(reply, "MethodNotAllowed", "is [integrity] enabled on the server?")?)
    }

    /// Exchanges the bearer for a session. Returns `None` if the server has no sessions, so that the bearer suffices.
    async fn exchange(&self) -> Result<Option<Session>, Failure> {
        let reply = self.send(wire::login(&self.endpoint, &Map::new())?, Full::new).await?;
        if matches!(reply.status(), StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED) {
            return Ok(None);
        }
        let body = wire::result(reply).map_err(|error| Failure::check_failed(escaped(&error.to_string())))?;
        session(&body).map(Some)
    }

    async fn log_out(&self) -> Result<(), Failure> {
        let request = wire::logout(&self.endpoint)?;
        wire::result(self.send(request, Full::new).await?).map(drop).map_err(Failure::check_failed)
    }

    /// Adds a signature with timestamp and nonce if there is a session, otherwise the bearer if there is one.
    fn sign(&self, request: Request<Bytes>) -> Result<Request<Bytes>, Failure> {
        let Some(session) = &self.session else {
            return match &self.bearer {
                Some(bearer) => wire::with_bearer(request, bearer).map_err(Failure::usage_error),
                None => Ok(request),
            };
        };
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let nonce = HEXLOWER.encode(&random::<16>()?);
        let binding = SignatureBinding { timestamp: since_epoch.as_secs(), nonce: &nonce };
        session.sign(request, Some(binding)).map_err(Failure::usage_error)
    }
}

/// Returns the session that begins with the reply to a login or an exchange.
fn session(reply: &[u8]) -> Result<Session, Failure> {
    Session::from_login_reply(reply).ok_or_else(|| Failure::check_failed("the reply has no session"))
}

/// Returns the bearer from the file or, without one, from the variable. It is not an argument, because other users of the
/// machine can see arguments.
fn bearer(file: Option<&Path>) -> Result<Option<String>, Failure> {
    let text = match file {
        Some(path) if path == Path::new("-") => {
            io::read_to_string(io::stdin()).context("--bearer-file: cannot read standard input")?
        }
        Some(path) => {
            fs::read_to_string(path).context(format_args!("--bearer-file: cannot read {}", path.display()))?
        }
        None => match secret_variable(BEARER_VARIABLE)? {
            Some(text) => text,
            None => return Ok(None),
        },
    };
    Ok(Some(text.trim().to_owned()))
}

/// Returns the password from the variable, or prompts for it.
fn password(login: &str) -> Result<String, Failure> {
    match secret_variable(PASSWORD_VARIABLE)? {
        Some(password) => Ok(password),
        None => read_password(&format!("Password for {login}: "))
            .map_err(|error| Failure::usage_error(format!("{error}; type it, or set {PASSWORD_VARIABLE}"))),
    }
}

/// Returns the text of a variable, if it is set. The error does not quote it.
fn secret_variable(name: &str) -> Result<Option<String>, Failure> {
    let text = std::env::var_os(name).map(OsString::into_string).transpose();
    text.map_err(|_| Failure::usage_error(format!("{name} must be UTF-8 text")))
}

/// Returns random bytes for a nonce, a boundary or a key.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], Failure> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| Failure::usage_error("the system provides no random numbers"))?;
    Ok(bytes)
}

/// Returns the JSON of a reply. `hint` is added to errors of one kind.
pub(crate) fn json_body(reply: Response<Bytes>, kind: &str, hint: &str) -> Result<Bytes, Failure> {
    wire::result(reply).map_err(|error| match &error {
        ReplyError::Refused { body, .. } if body.error == kind => {
            Failure::check_failed(format_args!("{}\n{hint}", escaped(&error.to_string())))
        }
        _ => Failure::check_failed(escaped(&error.to_string())),
    })
}
