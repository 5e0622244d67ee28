//! The target of a run: its servers, the accounts of the fixture, and their sessions.

pub mod profile;

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

use serde_json::Value;

use crate::case::Case;
use crate::failure::Failure;
use crate::files;
use crate::http::{self, BaseUrl, Network, Request, Response, Timeouts};
use crate::profile::Profile;

/// The names of server settings that cases use, with their descriptions.
pub const SETTINGS: &[(&str, &str)] = &[
    (
        "open",
        "integrity and mutations off; persisted, uploads, events on if claimed; docs open, with SQL and \
         the title 'Fixture'; CORS for https://app.example",
    ),
    ("writes", "as open, with mutations on"),
    ("signed", "integrity on, mutations off; uploads, events, persisted as open; docs for admins only"),
    (
        "signed-writes",
        "as signed, with mutations on, and policies.json of the fixture as the schema document if policies are claimed",
    ),
    ("bare", "integrity, persisted, uploads, events, mutations, docs and CORS all off"),
    ("only", "integrity off; persisted queries only, registration closed, with preload.json of the fixture"),
    ("brief", "as signed, with mutations on and tokens that expire after one second"),
    ("strict", "as signed, with binding = require; bearers as bearer, and signatures required of them"),
    ("curtained", "as open, with sql = false and entities = [user, post] for the docs surface"),
    ("tight", "as signed, with three logins per minute for an account and address"),
    ("rated", "as bare, with two requests per minute and address"),
    ("metered", "as signed, with two requests per minute and session, and with binding = off"),
    ("named", "as open, for requests to the host mesh.example only"),
    ("small", "as open, with mutations on and responses of 4,096 bytes at most"),
    ("inferred", "as open, without a schema document; it is inferred from the database"),
    ("keys", "as writes, with keys.json of the fixture as the schema document"),
    (
        "bearer",
        "as writes, with bearers of the issuer by its secret, the claims 'postIds' and 'app.userIds' for policies, the \
         API keys in the table api_keys, docs for admins only, and policies.json as the schema document if policies \
         are claimed",
    ),
    (
        "bearer-keys",
        "as bearer, with the keys of jwks.json of the fixture in place of the secret, and the role 'visitor' for \
         requests without credentials",
    ),
    ("bearer-signed", "as signed-writes, with bearers as bearer"),
    (
        "faulty",
        "integrity off, events and mutations on, hooks.json of the fixture as the schema document, one second for a \
         request, three persisted queries",
    ),
    ("busy", "as faulty, with one request that may wait"),
];

/// The settings under which requests are signed.
const SIGNED: [&str; 6] = ["signed", "signed-writes", "brief", "strict", "tight", "metered"];

/// The settings with write routes.
const WRITING: [&str; 9] =
    ["writes", "signed-writes", "brief", "small", "keys", "faulty", "bearer", "bearer-keys", "bearer-signed"];

/// The account that signs if a case does not name one.
const DEFAULT_ACCOUNT: &str = "ada";

/// A session from a login response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The opaque token.
    pub token: String,
    /// The key for signatures.
    pub signing_token: String,
}

/// The servers of one target.
#[derive(Debug)]
pub struct Target {
    /// The profile of the target.
    pub profile: Profile,
    /// How long a run waits.
    pub timeouts: Timeouts,
    base_urls: BTreeMap<String, BaseUrl>,
    /// Settings whose server did not start, with the reason.
    unavailable: BTreeMap<String, String>,
    accounts: Value,
    sessions: Mutex<HashMap<String, Session>>,
}

impl Target {
    /// Creates a target with the servers that its profile lists.
    ///
    /// # Errors
    /// Returns a message if a URL or the name of settings is wrong.
    pub fn new(profile: Profile) -> Result<Self, String> {
        Self::with_network(profile, &Network::default())
    }

    /// Creates a target with the servers that its profile lists, which are reached as given.
    ///
    /// # Errors
    /// Returns a message if a URL or the name of settings is wrong, or the certificates cannot be read.
    pub fn with_network(profile: Profile, network: &Network) -> Result<Self, String> {
        let parse = |url| BaseUrl::with_network(url, network);
        let base_urls = profile.servers.iter().map(|(name, url)| Ok((name.clone(), parse(url)?)));
        let base_urls = base_urls.collect::<Result<BTreeMap<_, _>, String>>()?;
        if let Some(name) = base_urls.keys().find(|name| !SETTINGS.iter().any(|(known, _)| known == name)) {
            return Err(format!("profile: there are no settings '{name}'"));
        }
        let text = files::text("fixture/accounts.json")?;
        let accounts = serde_json::from_str(text).map_err(|error| format!("accounts.json: {error}"))?;
        let timeouts = network.timeouts;
        Ok(Self {
            profile,
            timeouts,
            base_urls,
            unavailable: BTreeMap::new(),
            accounts,
            sessions: Mutex::default(),
        })
    }

    /// Records that the server with these settings did not start. Its cases end with a setup error.
    pub fn mark_unavailable(&mut self, settings: &str, why: String) {
        self.unavailable.insert(settings.to_owned(), why);
    }

    /// Returns the settings of the server for a case.
    pub fn settings(&self, case: &Case) -> Result<String, Failure> {
        let wanted = case.server.as_deref().unwrap_or("open");
        let use_signed = case.server.is_none() && !self.base_urls.contains_key("open");
        let name = if use_signed { "signed" } else { wanted };
        self.base_url(name).map(|_| name.to_owned())
    }

    /// Returns the URL of the server with these settings.
    pub fn base_url(&self, settings: &str) -> Result<&BaseUrl, Failure> {
        if let Some(why) = self.unavailable.get(settings) {
            return Err(Failure::Setup(why.clone()));
        }
        let known = SETTINGS.iter().find(|(name, _)| *name == settings);
        self.base_urls.get(settings).ok_or_else(|| match known {
            Some((name, what)) => Failure::Skip(format!("no server is listed as '{name}' ({what})")),
            None => Failure::Setup(format!("the case is broken: there are no settings '{settings}'")),
        })
    }

    /// Returns the URLs of all servers by the name of their settings.
    pub fn base_urls(&self) -> impl Iterator<Item = (&str, &BaseUrl)> {
        self.base_urls.iter().map(|(name, url)| (name.as_str(), url))
    }

    /// Returns whether requests to the server with these settings are signed by default.
    #[must_use]
    pub fn signs(settings: &str) -> bool {
        SIGNED.contains(&settings)
    }

    /// Returns whether the server with these settings has write routes.
    #[must_use]
    pub fn writes(settings: &str) -> bool {
        WRITING.contains(&settings)
    }

    /// Returns the JSON body of a login.
    pub fn credentials(&self, account: &str) -> Result<Value, Failure> {
        let found = self.accounts.get("accounts").and_then(|accounts| accounts.get(account));
        let found = found.ok_or_else(|| Failure::Setup(format!("there is no account '{account}'")))?;
        let mut body = serde_json::Map::new();
        for field in ["login", "password"] {
            let name = self.profile.choice_text(&format!("credentials.{field}"))?;
            body.insert(name, found.get(field).cloned().unwrap_or_default());
        }
        Ok(Value::Object(body))
    }

    /// Sends a login and returns request and response.
    pub fn login(&self, settings: &str, account: &str) -> Result<(Request, Response), Failure> {
        let url = self.base_url(settings)?;
        let request = Request::post(&format!("{}/auth", url.base), &self.credentials(account)?.to_string());
        let response = http::send(&url.authority, &request).map_err(Failure::Setup)?;
        Ok((request, response))
    }

    /// Returns the session of the default account at a server; logs in on first use.
    pub fn default_session(&self, settings: &str) -> Result<Session, Failure> {
        let poisoned = |_| Failure::Setup("another case panicked".to_owned());
        let mut sessions = self.sessions.lock().map_err(poisoned)?;
        if let Some(session) = sessions.get(settings) {
            return Ok(session.clone());
        }
        let (_, response) = self.login(settings, DEFAULT_ACCOUNT)?;
        let session = session(&response).ok_or_else(|| {
            Failure::Setup(format!("'{DEFAULT_ACCOUNT}' cannot log in: {}", response.text()))
        })?;
        sessions.insert(settings.to_owned(), session.clone());
        Ok(session)
    }
}

/// Parses the session of a login response.
#[must_use]
pub fn session(response: &Response) -> Option<Session> {
    let body: Value = serde_json::from_slice(&response.body).ok().filter(|_| response.status == 200)?;
    let text = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
    Some(Session { token: text("token")?, signing_token: text("signingToken")? })
}
