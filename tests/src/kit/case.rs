//! What does a case say? The model of the files under `tests/conformance/`, and how they are read.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// A file of cases.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile {
    #[serde(rename = "$schema")]
    _schema: String,
    /// What the cases of this file have in common.
    #[serde(rename = "about")]
    _about: String,
    cases: Vec<Case>,
}

/// One rule put to the test.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The stable name, which begins with the paragraph.
    pub id: String,
    /// The paragraphs of SPEC.md that it comes from.
    pub rule: Vec<String>,
    /// The level that a target must claim.
    pub level: Level,
    /// The profile that a target must claim besides.
    #[serde(default)]
    pub profile: Option<String>,
    /// How much weight it has.
    #[serde(default)]
    pub word: Word,
    /// Why it matters.
    pub why: String,
    /// The settings of the server that it needs; `open`, or whatever answers reads, unless given.
    #[serde(default)]
    pub server: Option<String>,
    /// Whether it has to wait for time to pass.
    #[serde(default)]
    pub slow: bool,
    /// What is done, in order.
    pub steps: Vec<Step>,
}

/// The levels, each of which contains those before.
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
    /// All of them, the lowest first.
    pub const ALL: [Self; 4] = [Self::L1, Self::L2, Self::L3, Self::L4];

    /// The name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::L1 => "L1",
            Self::L2 => "L2",
            Self::L3 => "L3",
            Self::L4 => "L4",
        }
    }

    /// The level of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }
}

/// The weight of a rule: a broken MUST fails, a broken SHOULD warns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub enum Word {
    /// No way around.
    #[default]
    #[serde(rename = "MUST")]
    Must,
    /// With good reason only.
    #[serde(rename = "SHOULD")]
    Should,
}

/// One thing that is done; which one, its members tell.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Step {
    /// Values computed before anything else, in order.
    #[serde(rename = "let")]
    pub bind: Map<String, Value>,
    /// Logs in with an account of the fixture.
    pub login: Option<Login>,
    /// Sends a request.
    pub send: Option<Send>,
    /// Follows cursors to the end.
    pub walk: Option<Walk>,
    /// Keeps the response of `send` open as a stream of that name.
    pub open: Option<String>,
    /// Waits for the next event of a stream.
    pub read: Option<String>,
    /// Makes sure that a stream says nothing for a while.
    pub silent: Option<Silent>,
    /// Makes sure that a stream ends.
    pub ended: Option<String>,
    /// Lets time pass, in milliseconds.
    pub wait: Option<u64>,
    /// Holds a value against the matcher in `is`.
    #[serde(deserialize_with = "present")]
    pub check: Option<Value>,
    /// The matcher for `check`.
    #[serde(deserialize_with = "present")]
    pub is: Option<Value>,
    /// What must come back.
    pub expect: Option<Expect>,
    /// Names for parts of the response: `status`, `header.<name>`, `body`, `body.<path>`, `text`.
    pub capture: Map<String, Value>,
}

/// A login, whose session later steps use by name.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Login {
    /// The account.
    pub account: String,
    /// The name of the session.
    #[serde(rename = "as")]
    pub name: String,
}

/// A request. Templates and functions in its values are worked out before it is sent.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Send {
    /// GET unless given.
    pub method: Option<String>,
    /// Sent to another kind of server than the case's.
    pub server: Option<String>,
    /// The path after the base.
    pub path: String,
    /// What stands in the place of the base: `docs` the docs surface, `root` nothing.
    pub at: Option<String>,
    /// The query, put into `X-Mesh-Query` as base64; JSON is written without blanks, text as it is.
    #[serde(deserialize_with = "present")]
    pub query: Option<Value>,
    /// The value of `X-Mesh-Query-Id`.
    #[serde(rename = "queryId")]
    #[serde(deserialize_with = "present")]
    pub query_id: Option<Value>,
    /// The value of `X-Mesh-Format`.
    #[serde(deserialize_with = "present")]
    pub format: Option<Value>,
    /// Further headers: text, or a list for a header that is sent several times.
    pub headers: Map<String, Value>,
    /// A JSON body.
    #[serde(deserialize_with = "present")]
    pub json: Option<Value>,
    /// A body as it is.
    #[serde(deserialize_with = "present")]
    pub body: Option<Value>,
    /// The parts of a `multipart/form-data` body.
    pub multipart: Option<Vec<Part>>,
    /// Who signs: `none`, the name of a session, or an object of deviations; the default account unless given.
    #[serde(deserialize_with = "present")]
    pub auth: Option<Value>,
}

/// A part of a multipart body.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Part {
    /// The field's name.
    pub name: String,
    /// The file's name, which makes it a file.
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

/// A walk from page to page.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Walk {
    /// The collection.
    pub path: String,
    /// The query, whose `$page` is set for each page.
    pub query: Value,
    /// Rows a page.
    pub first: u64,
    /// What all items together must match.
    pub items: Value,
}

/// A stream that must be quiet.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Silent {
    /// Which one.
    pub stream: String,
    /// For how many milliseconds.
    pub ms: u64,
    /// How many comment lines must have come by then.
    #[serde(default)]
    pub comments: usize,
}

/// What must come back; parts left out are not looked at.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// The status, or a list of those that are right.
    #[serde(deserialize_with = "present")]
    pub status: Option<Value>,
    /// Header → matcher.
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
    /// The kind of the event that was read.
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
    /// What the message must name; alternatives are parted by `|`.
    pub says: Vec<String>,
}

/// A value that is there, even where it is null.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl Case {
    /// What groups it with others: its profile, else its level.
    #[must_use]
    pub fn group(&self) -> &str {
        self.profile.as_deref().unwrap_or_else(|| self.level.name())
    }
}

/// The folder of the cases and the fixture in this repository.
#[must_use]
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance")
}

/// The files of cases under a folder, sorted.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for entry in read_dir(folder)? {
        let is_group = entry.is_dir() && !["fixture", "examples"].iter().any(|name| entry.ends_with(name));
        if is_group {
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

/// Reads every case under a folder. An id that stands twice, or a case in the wrong folder, is a fault.
pub fn load(folder: &Path) -> Result<Vec<Case>, String> {
    let mut all: Vec<Case> = Vec::new();
    for path in files(folder)? {
        let shown = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
        let text = fs::read_to_string(&path).map_err(|error| format!("cannot read {shown}: {error}"))?;
        let file: CaseFile = serde_json::from_str(&text).map_err(|error| format!("{shown}: {error}"))?;
        let group = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        for case in file.cases {
            if case.group() != group {
                return Err(format!("{shown}: case {} belongs to folder {}", case.id, case.group()));
            }
            if all.iter().any(|other| other.id == case.id) {
                return Err(format!("{shown}: there are two cases {}", case.id));
            }
            all.push(case);
        }
    }
    Ok(all)
}
