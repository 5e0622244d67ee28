//! The injected faults. They are data: `faults/*.json`, one file for each area.
//!
//! A file has a list of faults, and the name of the profile that they are about if it is optional. A fault has
//!
//! - `name`: the wrong behavior;
//! - `must`: the cases that must fail; `may`: prefixes of the ids of other cases that may fail. If `must` is left out, any
//!   case may fail, and at least one must;
//! - what it does, as a [`Rule`]; further rules are in the list `also`;
//! - `load`: what it does with schema documents, as a command in place of the one of the program;
//! - `corrupts`: whether servers store data that they should refuse, so that it needs servers of its own;
//! - `for`: an object, or several, each of which makes a fault of its own: `<x>` in a text is replaced by the member `x`. A
//!   member that is a list makes a fault for each of its items. `must`, `may` and `when` are added to those of the fault.

use std::path::PathBuf;

use mesh_tests::kit::http::{Request, Response};
use mesh_tests::kit::profile::Profile;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::document::{self, plain};
use super::edits::{Phase, Rule};
use super::proxy::ProxyState;

/// A fault, which violates one rule.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fault {
    /// The file that it is from.
    pub(crate) file: String,
    /// The wrong behavior.
    pub(crate) name: String,
    /// Cases that must fail.
    pub(crate) must: Vec<String>,
    /// Prefixes of the ids of other cases that may fail, because they depend on the rule.
    pub(crate) may: Vec<String>,
    /// What it does to exchanges.
    pub(crate) rules: Vec<Rule>,
    /// The command that loads a schema document, in which `{program}` and `{file}` are replaced.
    pub(crate) load: Option<Vec<String>>,
    /// Whether servers store data that they should refuse, so that no other fault can be tested with the same servers.
    pub(crate) corrupts: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "about")]
    _about: String,
    profile: Option<String>,
    faults: Vec<Value>,
}

/// The members of a fault besides those of its first rule.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    name: String,
    #[serde(default)]
    must: Vec<String>,
    #[serde(default)]
    may: Vec<String>,
    #[serde(default)]
    also: Vec<Map<String, Value>>,
    load: Option<Vec<String>>,
    #[serde(default)]
    corrupts: bool,
}

/// The members of a fault that are not clauses of its first rule.
const HEAD: [&str; 6] = ["name", "must", "may", "also", "load", "corrupts"];

/// The members of `for` that are added to those of the fault.
const LISTS: [&str; 3] = ["must", "may", "when"];

impl Fault {
    /// Parses a fault.
    pub(crate) fn parse(file: &str, value: Value) -> Result<Self, String> {
        let Value::Object(mut clauses) = value else { return Err(format!("{file}: a fault is an object")) };
        let members = HEAD.iter().filter_map(|name| Some(((*name).to_owned(), clauses.shift_remove(*name)?)));
        let head: Map<String, Value> = members.collect();
        let shown = head.get("name").cloned().unwrap_or_default();
        let head: Head =
            serde_json::from_value(head.into()).map_err(|error| format!("{file}: {shown}: {error}"))?;
        let rules = std::iter::once(clauses).filter(|clauses| !clauses.is_empty()).chain(head.also);
        let in_fault = |error: String| format!("{file}: '{}': {error}", head.name);
        Ok(Self {
            file: file.to_owned(),
            rules: rules.map(Rule::parse).collect::<Result<_, _>>().map_err(in_fault)?,
            name: head.name,
            must: head.must,
            may: head.may,
            load: head.load,
            corrupts: head.corrupts,
        })
    }

    /// Modifies a request or answers it, given its document.
    pub(crate) fn on_request(
        &self,
        document: &Value,
        request: &mut Request,
        state: &ProxyState,
    ) -> Option<Response> {
        let mut document = document.clone();
        let mut rules = self.rules.iter().filter(|rule| rule.is_of(Phase::Request));
        rules.find_map(|rule| rule.on_request(&mut document, request, state))
    }

    /// Modifies a response, given the original request and its document.
    pub(crate) fn on_response(&self, document: &Value, request: &Request, response: &mut Response) {
        let rules: Vec<&Rule> = self.rules.iter().filter(|rule| rule.is_of(Phase::Response)).collect();
        if !rules.is_empty() {
            let mut document = document.clone();
            document::add_response(&mut document, response);
            rules.iter().for_each(|rule| rule.on_response(&mut document, request, response));
        }
    }

    /// Returns whether it modifies lines of event streams.
    pub(crate) fn has_lines(&self) -> bool {
        self.rules.iter().any(|rule| rule.is_of(Phase::Line))
    }

    /// Modifies a line of an event stream, or leaves it out.
    pub(crate) fn on_line(&self, line: &str) -> Option<String> {
        let mut rules = self.rules.iter().filter(|rule| rule.is_of(Phase::Line));
        rules.try_fold(line.to_owned(), |line, rule| rule.on_line(line))
    }
}

/// Returns the faults that are written down, apart from those of profiles that the reference server does not claim.
pub(crate) fn written() -> Result<Vec<Fault>, String> {
    let folder = folder().join("faults");
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "json"));
    files.sort();
    let mut faults = Vec::new();
    for file in files {
        faults.extend(read(&file.strip_prefix(self::folder()).unwrap_or(&file).display().to_string())?);
    }
    Ok(faults)
}

/// Returns the faults of a file.
pub(crate) fn read(file: &str) -> Result<Vec<Fault>, String> {
    let in_file = |error: String| format!("{file}: {error}");
    let text = std::fs::read_to_string(folder().join(file)).map_err(|error| in_file(error.to_string()))?;
    let parsed: File = serde_json::from_str(&text).map_err(|error| in_file(error.to_string()))?;
    let profile = Profile::reference()?;
    if parsed.profile.is_some_and(|name| !profile.claims_profile(&name)) {
        return Ok(Vec::new());
    }
    let all = parsed.faults.into_iter().flat_map(expand);
    all.map(|fault| Fault::parse(file, fault)).collect()
}

/// The folder of the data.
pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("it/conformance/judge")
}

/// Returns a fault for each combination of the values of its member `for`.
fn expand(mut fault: Value) -> Vec<Value> {
    let items = match fault.as_object_mut().and_then(|members| members.shift_remove("for")) {
        None => return vec![fault],
        Some(Value::Array(items)) => items,
        Some(one) => vec![one],
    };
    let combined = items.iter().filter_map(Value::as_object).flat_map(combinations);
    combined.map(|values| instance(&fault, &values)).collect()
}

/// Returns the combinations of the items of lists, apart from the members of a fault.
fn combinations(members: &Map<String, Value>) -> Vec<Map<String, Value>> {
    let mut all = vec![Map::new()];
    for (name, value) in members {
        let choices = match value.as_array() {
            Some(choices) if !LISTS.contains(&name.as_str()) => choices.clone(),
            _ => vec![value.clone()],
        };
        let with = |values: &Map<String, Value>, choice: &Value| {
            let mut values = values.clone();
            values.insert(name.clone(), choice.clone());
            values
        };
        all = all.iter().flat_map(|values| choices.iter().map(move |choice| with(values, choice))).collect();
    }
    all
}

/// Returns a fault with the values of one combination.
fn instance(fault: &Value, values: &Map<String, Value>) -> Value {
    let mut fault = fault.clone();
    for (name, value) in values.iter().filter(|(name, _)| LISTS.contains(&name.as_str())) {
        match (&mut fault[name], value) {
            (Value::Array(own), Value::Array(others)) => own.extend(others.iter().cloned()),
            (Value::Object(own), Value::Object(others)) => own.extend(others.clone()),
            (own, value) => *own = value.clone(),
        }
    }
    fill(&fault, values)
}

fn fill(template: &Value, values: &Map<String, Value>) -> Value {
    let fill_text = |text: &str| {
        values
            .iter()
            .fold(text.to_owned(), |text, (name, value)| text.replace(&format!("<{name}>"), &plain(value)))
    };
    match template {
        Value::String(text) => {
            let whole = text.strip_prefix('<').and_then(|text| text.strip_suffix('>'));
            whole.and_then(|name| values.get(name)).cloned().unwrap_or_else(|| fill_text(text).into())
        }
        Value::Array(items) => items.iter().map(|item| fill(item, values)).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, member)| (fill_text(name), fill(member, values))).collect()
        }
        scalar => scalar.clone(),
    }
}
