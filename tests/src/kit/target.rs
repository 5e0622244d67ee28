//! What is judged? Servers at addresses, the accounts of the fixture, and sessions at them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

use serde_json::Value;

use super::case::{Case, folder};
use super::http::{self, Place, Request, Response};
use super::profile::Profile;
use super::trouble::Trouble;

/// Settings of servers, by the name that cases use, and what they mean for whoever sets one up.
pub const SETTINGS: &[(&str, &str)] = &[
    (
        "open",
        "integrity and mutations off; persisted, uploads, events on as far as claimed; docs open, with SQL and \
         the title 'Fixture'; CORS for https://app.example",
    ),
    ("writes", "as open, with mutations on"),
    ("signed", "integrity on, mutations off; uploads, events, persisted as open; docs for admins only"),
    ("signed-writes", "as signed, with mutations on"),
    ("bare", "integrity, persisted, uploads, events, mutations, docs and CORS all off"),
    ("only", "integrity off; persisted queries only, registration closed, with preload.json of the fixture"),
    ("brief", "as signed-writes, with tokens that live for one second"),
    ("bound", "as signed, with binding = require"),
    ("unbound", "as signed, with binding = off"),
    ("curtained", "as open, with sql = false and entities = [user, post] for the docs surface"),
    ("tight", "as signed, with three logins a minute for an account and address"),
    ("rated", "as bare, with two requests a minute for an address"),
];

/// The settings under which requests are signed.
const SIGNED: [&str; 6] = ["signed", "signed-writes", "brief", "bound", "unbound", "tight"];

/// The account that signs where a case does not care.
const DEFAULT_ACCOUNT: &str = "ada";

/// A session as the login response gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The opaque token.
    pub token: String,
    /// The key of signatures.
    pub signing_token: String,
}

/// The servers of one target.
#[derive(Debug)]
pub struct Target {
    /// What it says about itself.
    pub profile: Profile,
    places: BTreeMap<String, Place>,
    /// Settings whose server did not start, and why.
    broken: BTreeMap<String, String>,
    accounts: Value,
    sessions: Mutex<HashMap<String, Session>>,
}

impl Target {
    /// A target with the servers that its profile lists.
    pub fn new(profile: Profile) -> Result<Self, String> {
        let places = profile.servers.iter().map(|(name, url)| Ok((name.clone(), Place::parse(url)?)));
        let places = places.collect::<Result<BTreeMap<_, _>, String>>()?;
        if let Some(name) = places.keys().find(|name| !SETTINGS.iter().any(|(known, _)| known == name)) {
            return Err(format!("profile: there are no settings '{name}'"));
        }
        let file = folder().join("fixture").join("accounts.json");
        let text = std::fs::read_to_string(&file);
        let text = text.map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        let accounts = serde_json::from_str(&text).map_err(|error| format!("accounts.json: {error}"))?;
        Ok(Self { profile, places, broken: BTreeMap::new(), accounts, sessions: Mutex::default() })
    }

    /// Notes that the server with these settings did not start: what needs it is a fault of the setup.
    pub fn note_broken(&mut self, settings: &str, why: String) {
        self.broken.insert(settings.to_owned(), why);
    }

    /// The settings whose server answers a case.
    pub fn settings(&self, case: &Case) -> Result<String, Trouble> {
        let wanted = case.server.as_deref().unwrap_or("open");
        let stands_in = case.server.is_none() && !self.places.contains_key("open");
        let name = if stands_in { "signed" } else { wanted };
        self.place(name).map(|_| name.to_owned())
    }

    /// Where the server with these settings is.
    pub fn place(&self, settings: &str) -> Result<&Place, Trouble> {
        if let Some(why) = self.broken.get(settings) {
            return Err(Trouble::Setup(why.clone()));
        }
        let known = SETTINGS.iter().any(|(name, _)| *name == settings);
        self.places.get(settings).ok_or_else(|| match known {
            true => Trouble::Skip(format!("the target lists no server with the settings '{settings}'")),
            false => Trouble::Setup(format!("the case is broken: there are no settings '{settings}'")),
        })
    }

    /// The servers, by their settings.
    pub fn places(&self) -> impl Iterator<Item = (&str, &Place)> {
        self.places.iter().map(|(name, place)| (name.as_str(), place))
    }

    /// Whether requests to the server with these settings are signed unless a case says otherwise.
    #[must_use]
    pub fn signs(settings: &str) -> bool {
        SIGNED.contains(&settings)
    }

    /// Whether the server with these settings has write routes.
    #[must_use]
    pub fn writes(settings: &str) -> bool {
        ["writes", "signed-writes", "brief"].contains(&settings)
    }

    /// The JSON body that logs an account in.
    pub fn credentials(&self, account: &str) -> Result<Value, Trouble> {
        let found = self.accounts.get("accounts").and_then(|accounts| accounts.get(account));
        let found = found.ok_or_else(|| Trouble::Setup(format!("there is no account '{account}'")))?;
        let mut body = serde_json::Map::new();
        for half in ["login", "password"] {
            let name = self.profile.choice_text(&format!("credentials.{half}"))?;
            body.insert(name, found.get(half).cloned().unwrap_or_default());
        }
        Ok(Value::Object(body))
    }

    /// Logs in and returns the session with the exchange, for whoever logs it.
    pub fn login(&self, settings: &str, account: &str) -> Result<(Request, Response), Trouble> {
        let place = self.place(settings)?;
        let request = Request {
            method: "POST".to_owned(),
            target: format!("{}/auth", place.base),
            headers: vec![("Content-Type".to_owned(), "application/json".to_owned())],
            body: Some(self.credentials(account)?.to_string().into_bytes()),
        };
        let response = http::send(&place.authority, &request).map_err(Trouble::Setup)?;
        Ok((request, response))
    }

    /// The session of the default account at a server, logged in once.
    pub fn default_session(&self, settings: &str) -> Result<Session, Trouble> {
        let poisoned = |_| Trouble::Setup("another case panicked".to_owned());
        let mut sessions = self.sessions.lock().map_err(poisoned)?;
        if let Some(session) = sessions.get(settings) {
            return Ok(session.clone());
        }
        let (_, response) = self.login(settings, DEFAULT_ACCOUNT)?;
        let session = session(&response).ok_or_else(|| {
            Trouble::Setup(format!("'{DEFAULT_ACCOUNT}' cannot log in: {}", response.text()))
        })?;
        sessions.insert(settings.to_owned(), session.clone());
        Ok(session)
    }
}

/// The session that a login response gives.
#[must_use]
pub fn session(response: &Response) -> Option<Session> {
    let body: Value = serde_json::from_slice(&response.body).ok().filter(|_| response.status == 200)?;
    let text = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
    Some(Session { token: text("token")?, signing_token: text("signingToken")? })
}
