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

/// The names of server settings that cases use. README.md describes them.
pub const SETTINGS: [&str; 21] = [
    "open",
    "writes",
    "signed",
    "signed-writes",
    "bare",
    "only",
    "brief",
    "strict",
    "curtained",
    "tight",
    "rated",
    "metered",
    "named",
    "small",
    "inferred",
    "keys",
    "bearer",
    "bearer-keys",
    "bearer-signed",
    "faulty",
    "busy",
];

/// Returns the description of settings in README.md.
#[must_use]
pub fn description(settings: &str) -> String {
    let guide = files::text("README.md").unwrap_or_default();
    let row = guide.lines().find_map(|line| line.strip_prefix(&format!("| `{settings}` | ")));
    row.unwrap_or_default().trim_end_matches(" |").replace('`', "")
}

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
        if let Some(name) = base_urls.keys().find(|name| !SETTINGS.contains(&name.as_str())) {
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
        self.base_urls.get(settings).ok_or_else(|| match SETTINGS.contains(&settings) {
            true => Failure::Skip(format!("no server is listed as '{settings}' ({})", description(settings))),
            false => Failure::Setup(format!("the case is broken: there are no settings '{settings}'")),
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
