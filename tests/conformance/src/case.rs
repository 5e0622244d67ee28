//! The model of the case files under `tests/conformance/cases/`, and the functions that read them.

pub mod paragraphs;

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::files;

/// A file of cases.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile {
    #[serde(rename = "$schema")]
    _schema: String,
    /// The subject of the cases.
    #[serde(rename = "about")]
    _about: String,
    cases: Vec<Case>,
}

/// A test of one rule.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The stable id, which begins with the paragraph of the specification.
    pub id: String,
    /// The paragraphs of SPEC.md that state the rule.
    pub rule: Vec<String>,
    /// The level that a target must claim.
    pub level: Level,
    /// The profile that a target must claim in addition.
    #[serde(default)]
    pub profile: Option<String>,
    /// Further profiles that the case uses. The case does not apply to a target that does not claim all of them.
    #[serde(default)]
    pub with: Vec<String>,
    /// The profile whose absence the case tests. The case does not apply to a target that claims the profile.
    #[serde(default)]
    pub without: Option<String>,
    /// Whether the rule is a MUST or a SHOULD.
    #[serde(default)]
    #[serde(rename = "word")]
    pub requirement: Requirement,
    /// Why the rule matters.
    pub why: String,
    /// The server settings that the case needs; by default `open`, or `signed` if the target has no open server.
    #[serde(default)]
    pub server: Option<String>,
    /// Whether the case has to wait, such as for the expiry of a token.
    #[serde(default)]
    pub slow: bool,
    /// The steps in order.
    pub steps: Vec<Step>,
}

/// The levels of conformance; each includes the lower ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub enum Level {
    /// Core reads.
    L1,
    /// Collections.
    L2,
    /// Integrity.
    L3,
    /// Uploads.
    L4,
}

impl Level {
    /// All levels, the lowest first.
    pub const ALL: [Self; 4] = [Self::L1, Self::L2, Self::L3, Self::L4];

    /// Returns the name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::L1 => "L1",
            Self::L2 => "L2",
            Self::L3 => "L3",
            Self::L4 => "L4",
        }
    }

    /// Parses a name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }
}

/// The requirement level of a rule: violating a MUST fails, violating a SHOULD warns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub enum Requirement {
    /// An absolute requirement.
    #[default]
    #[serde(rename = "MUST")]
    Must,
    /// A recommendation.
    #[serde(rename = "SHOULD")]
    Should,
}

/// One step of a case; its members decide what is done.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Step {
    /// Values computed before anything else, in order.
    #[serde(rename = "let")]
    pub bind: Map<String, Value>,
    /// Logs in with an account of the fixture.
    pub login: Option<Login>,
    /// Makes the target load a schema document with the command that its profile declares.
    pub load: Option<Load>,
    /// Loads a page, given by its path from the root, with everything that it refers to.
    pub page: Option<String>,
    /// Sends a request.
    pub send: Option<Send>,
    /// Follows cursors to the end.
    pub walk: Option<Walk>,
    /// Keeps the response of `send` open as a stream of that name.
    pub open: Option<String>,
    /// Waits for the next event of a stream.
    pub read: Option<String>,
    /// The type of events that `read` skips.
    pub past: Option<String>,
    /// Checks that a stream sends no event for some time.
    pub silent: Option<Silent>,
    /// Checks that a stream ends.
    pub ended: Option<String>,
    /// Waits, in milliseconds.
    pub wait: Option<u64>,
    /// Compares a value with the matcher in `is`.
    #[serde(deserialize_with = "present")]
    pub check: Option<Value>,
    /// The matcher for `check`.
    #[serde(deserialize_with = "present")]
    pub is: Option<Value>,
    /// The expected response.
    pub expect: Option<Expect>,
    /// Binds names to parts of the response: `status`, `header.<name>`, `body`, `body.<path>`, `text`.
    pub capture: Map<String, Value>,
}

/// A schema document that the target loads.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// The document.
    pub schema: Value,
    /// What the refusal must name; a document without it must be accepted.
    #[serde(default)]
    pub refused: Vec<String>,
}

/// A login; later steps refer to its session by name.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Login {
    /// The account.
    pub account: String,
    /// The name of the session.
    #[serde(rename = "as")]
    pub name: String,
}

/// A request. Templates and functions in its values are evaluated before it is sent.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Send {
    /// The method; `GET` by default.
    pub method: Option<String>,
    /// The settings of the server, if it is not the server of the case.
    pub server: Option<String>,
    /// The path after the base path.
    pub path: String,
    /// Replaces the base path: `docs` by the path of the docs surface, `root` by nothing.
    pub at: Option<String>,
    /// What precedes the path in the request line, such as `http://mesh.example`.
    pub origin: Option<String>,
    /// The values of `Host`, in place of the address of the server: a string, or a list with one for each line.
    #[serde(deserialize_with = "present")]
    pub host: Option<Value>,
    /// The query, sent in `X-Mesh-Query` as base64; JSON is written without white space, a string as it is.
    #[serde(deserialize_with = "present")]
    pub query: Option<Value>,
    /// The value of `X-Mesh-Query-Id`.
    #[serde(rename = "queryId")]
    #[serde(deserialize_with = "present")]
    pub query_id: Option<Value>,
    /// The values of parameters, sent in `X-Mesh-Params` as base64 like the query.
    #[serde(deserialize_with = "present")]
    pub params: Option<Value>,
    /// The value of `X-Mesh-Format`.
    #[serde(deserialize_with = "present")]
    pub format: Option<Value>,
    /// Further headers: a string, or a list for a header that is sent several times.
    pub headers: Map<String, Value>,
    /// A JSON body.
    #[serde(deserialize_with = "present")]
    pub json: Option<Value>,
    /// A body, sent as it is.
    #[serde(deserialize_with = "present")]
    pub body: Option<Value>,
    /// The bytes of a body, as base64.
    #[serde(deserialize_with = "present")]
    pub bytes: Option<Value>,
    /// The parts of a `multipart/form-data` body.
    pub multipart: Option<Vec<Part>>,
    /// The value of `Content-Length`, for a body that is announced to be longer than it is.
    #[serde(deserialize_with = "present")]
    pub declares: Option<Value>,
    /// Sends only this many bytes of the body and closes the connection, without waiting for a response.
    #[serde(deserialize_with = "present")]
    pub cut: Option<Value>,
    /// Sends the request without waiting for a response; the connection stays open until the end of the case.
    pub hold: bool,
    /// The signer: `none`, the name of a session, or an object of deviations; by default the default account.
    #[serde(deserialize_with = "present")]
    pub auth: Option<Value>,
}

/// A part of a multipart body.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Part {
    /// The name of the field.
    pub name: String,
    /// The file name, which makes the part a file.
    pub filename: Option<String>,
    /// The content type.
    #[serde(rename = "type")]
    pub media: Option<String>,
    /// The bytes, as text.
    pub text: Value,
    /// The bytes, as base64.
    #[serde(deserialize_with = "present")]
    pub base64: Option<Value>,
}

/// Reads a collection page by page.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Walk {
    /// The collection.
    pub path: String,
    /// The query; `$page` is set for each page.
    pub query: Value,
    /// The number of rows per page.
    pub first: u64,
    /// Whether to follow `startCursor` from the end to the beginning.
    #[serde(default)]
    pub back: bool,
    /// A matcher for the items of all pages.
    pub items: Value,
}

/// A check that a stream sends no event.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Silent {
    /// The name of the stream.
    pub stream: String,
    /// The duration in milliseconds.
    pub ms: u64,
    /// The number of comment lines that must have been received by then.
    #[serde(default)]
    pub comments: usize,
}

/// The expected response; parts that are not given are not checked.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// The status, or a list of allowed ones.
    #[serde(deserialize_with = "present")]
    pub status: Option<Value>,
    /// Matchers by header name.
    pub headers: Map<String, Value>,
    /// A matcher for the body as JSON.
    #[serde(deserialize_with = "present")]
    pub body: Option<Value>,
    /// A matcher for the items of a collection, in an envelope or, at level L1, without one.
    #[serde(deserialize_with = "present")]
    pub items: Option<Value>,
    /// A matcher for the body as text.
    #[serde(deserialize_with = "present")]
    pub text: Option<Value>,
    /// The bytes of the body, as base64.
    #[serde(deserialize_with = "present")]
    pub bytes: Option<Value>,
    /// Whether there must be no body.
    pub empty: bool,
    /// An error body.
    pub error: Option<ErrorBody>,
    /// A matcher for the type of the event.
    #[serde(deserialize_with = "present")]
    pub event: Option<Value>,
    /// A matcher for the event's data as JSON.
    #[serde(deserialize_with = "present")]
    pub data: Option<Value>,
    /// A matcher for the event's id.
    #[serde(rename = "id")]
    #[serde(deserialize_with = "present")]
    pub event_id: Option<Value>,
}

/// An error body.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ErrorBody {
    /// The value of `error`.
    pub error: String,
    /// The value of `code`.
    pub code: Option<String>,
    /// A matcher for `path`.
    #[serde(deserialize_with = "present")]
    pub path: Option<Value>,
    /// A matcher for `line`.
    #[serde(deserialize_with = "present")]
    pub line: Option<Value>,
    /// A matcher for `column`.
    #[serde(deserialize_with = "present")]
    pub column: Option<Value>,
    /// A matcher for `step`.
    #[serde(deserialize_with = "present")]
    pub step: Option<Value>,
    /// Texts that the message must contain; alternatives are separated by `|`.
    pub says: Vec<String>,
}

/// Distinguishes a null from a missing member.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl Case {
    /// Returns the profile or, without one, the level.
    #[must_use]
    pub fn group(&self) -> &str {
        self.profile.as_deref().unwrap_or_else(|| self.level.name())
    }

    /// Returns a key that sorts cases as a server is implemented: levels before profiles, each by sections of SPEC.md.
    fn order(&self) -> (bool, Level, Vec<u32>) {
        let numbers = self.id.split('-').next().unwrap_or_default().split('.');
        let level = if self.profile.is_none() { self.level } else { Level::L4 };
        (self.profile.is_some(), level, numbers.map(|number| number.parse().unwrap_or_default()).collect())
    }

    /// Returns the profile because of which the case does not apply to a target: a profile that the case uses and the target
    /// does not claim, or a claimed profile whose absence the case tests.
    #[must_use]
    pub fn excluded_by(&self, claims: impl Fn(&str) -> bool) -> Option<&str> {
        let missing = self.with.iter().find(|name| !claims(name));
        missing.or_else(|| self.without.as_ref().filter(|name| claims(name))).map(String::as_str)
    }
}

/// Returns the folder of the kit in this repository, for its tests.
#[must_use]
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

/// Lists the case files under the folder of a kit, sorted.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for entry in read_dir(&folder.join("cases"))? {
        if entry.is_dir() {
            files.extend(
                read_dir(&entry)?
                    .into_iter()
                    .filter(|path| path.extension().is_some_and(|end| end == "json")),
            );
        }
    }
    files.sort();
    Ok(files)
}

fn read_dir(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let unreadable = |error| format!("cannot read {}: {error}", folder.display());
    let entries = fs::read_dir(folder).map_err(unreadable)?;
    entries.map(|entry| entry.map(|entry| entry.path()).map_err(unreadable)).collect()
}

/// Returns the cases that the program contains.
///
/// # Errors
/// Returns the first invalid file, duplicate id, or case in the wrong folder.
pub fn embedded() -> Result<Vec<Case>, String> {
    let mut all = Vec::new();
    for (name, text) in files::FILES {
        let place = name.strip_prefix("cases/").and_then(|name| name.split_once('/'));
        if let Some((group, _)) = place {
            add(&mut all, name, group, text)?;
        }
    }
    all.sort_by_key(Case::order);
    Ok(all)
}

/// Reads all cases under the folder of a kit.
///
/// # Errors
/// Returns the first unreadable file, duplicate id, or case in the wrong folder.
pub fn load(folder: &Path) -> Result<Vec<Case>, String> {
    let mut all: Vec<Case> = Vec::new();
    for path in files(folder)? {
        let shown = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
        let text = fs::read_to_string(&path).map_err(|error| format!("cannot read {shown}: {error}"))?;
        let group = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        add(&mut all, &shown, &group, &text)?;
    }
    all.sort_by_key(Case::order);
    Ok(all)
}

/// Adds the cases of a file.
fn add(all: &mut Vec<Case>, shown: &str, group: &str, text: &str) -> Result<(), String> {
    let file: CaseFile = serde_json::from_str(text).map_err(|error| format!("{shown}: {error}"))?;
    for case in file.cases {
        if case.group() != group {
            return Err(format!("{shown}: case {} belongs to folder {}", case.id, case.group()));
        }
        if all.iter().any(|other: &Case| other.id == case.id) {
            return Err(format!("{shown}: there are two cases {}", case.id));
        }
        all.push(case);
    }
    Ok(())
}
