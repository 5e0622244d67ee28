//! Parsing of the file of expectations.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use http::Method;
use mesh_plan::error::{PlanErrorKind, WriteFault};
use mesh_plan::policy::ClaimValue;
use mesh_plan::{Error, Fields, Mesh, Principal, Request, WriteRequest};
use mesh_ql::{Format, ParamValues};
use mesh_schema::policy::ANY_ROLE;
use mesh_schema::{Schema, nearest};
use mesh_wire::{BasePath, Profiles, Route};
use toml::de::{DeTable, DeValue};

use super::expected::{Denial, Expected, Right};
use super::reader::{TomlReader, json};
use crate::cli::args::role::check_role;
use crate::cli::failure::Failure;

/// The keys of a session, which a case can also have.
const SESSION_KEYS: [&str; 4] = ["role", "user", "tenant", "claims"];

/// The keys of cases by the subject that they test, and the keys of all cases.
const QUERY_KEYS: [&str; 5] = ["query", "id", "params", "rows", "ids"];
const WRITE_KEYS: [&str; 2] = ["write", "body"];
const ENTITY_KEYS: [&str; 6] = ["entity", "fields", "relations", "creates", "updates", "deletes"];
const COMMON_KEYS: [&str; 8] = ["name", "as", "role", "user", "tenant", "claims", "allowed", "denied"];

/// The expectations of a file.
pub(super) struct Suite {
    pub(super) cases: Vec<Case>,
}

/// A case of a file.
pub(super) struct Case {
    pub(super) name: String,
    /// The line on which it begins.
    pub(super) line: usize,
    pub(super) principal: Option<Principal>,
    pub(super) subject: Subject,
    pub(super) expected: Expected,
}

/// The request or the rights that a case tests.
pub(super) enum Subject {
    /// A read: of one record if there is an id.
    Query { format: Format, text: String, id: Option<String>, params: ParamValues },
    /// A write.
    Write { method: Method, path: String, fields: Option<Fields<'static>> },
    /// The rights on an entity.
    Entity(String),
}

/// The schemas that the names in a file are checked against.
pub(super) struct Sources<'s> {
    /// The schema with the policies.
    pub(super) schema: &'s Schema,
    /// The same schema without policies. It is used only for planning.
    pub(super) unrestricted: &'s Mesh,
    pub(super) has_database: bool,
}

impl Suite {
    /// Parses a file. Returns all faults with their positions if there are any.
    pub(super) fn parse(file: &str, text: &str, sources: &Sources<'_>) -> Result<Self, Failure> {
        let mut parser = Parser { reader: TomlReader::new(file, text), sources, sessions: BTreeMap::new() };
        let document = parser.reader.parse();
        let cases = parser.document(&document);
        let faults = parser.reader.into_faults();
        if !faults.is_empty() {
            return Err(Failure::from_faults(faults));
        }
        if cases.is_empty() {
            return Err(Failure::usage_error(format_args!(
                "{file}: there are no cases; each begins with [[case]]"
            )));
        }
        Ok(Self { cases })
    }
}

struct Parser<'p> {
    reader: TomlReader<'p>,
    sources: &'p Sources<'p>,
    sessions: BTreeMap<String, Option<Principal>>,
}

impl Parser<'_> {
    fn document(&mut self, document: &DeTable<'_>) -> Vec<Case> {
        self.reader.check_keys(document, &["sessions", "case"]);
        if let Some(sessions) = document.get("sessions").and_then(|item| self.reader.table("sessions", item))
        {
            for (name, session) in sessions {
                let Some(session) = self.reader.table(name.get_ref(), session) else { continue };
                self.reader.check_keys(session, &SESSION_KEYS);
                let session = self.session(session);
                self.sessions.insert(name.get_ref().to_string(), session);
            }
        }
        let Some(cases) = document.get("case") else { return Vec::new() };
        let DeValue::Array(cases) = cases.get_ref() else {
            self.reader.fault(cases.span(), "each case begins with [[case]]");
            return Vec::new();
        };
        let mut parsed = Vec::new();
        for case in cases {
            if let Some(table) = self.reader.table("case", case) {
                parsed.extend(self.case(table, case.span()));
            }
        }
        parsed
    }

    /// Returns the session of a table, or `None` if the table has none of a session's keys.
    fn session(&mut self, table: &DeTable<'_>) -> Option<Principal> {
        if SESSION_KEYS.iter().all(|key| table.get(*key).is_none()) {
            return None;
        }
        let role = self.reader.text(table, "role");
        if let (Some(role), Some(item)) = (&role, table.get("role"))
            && let Err(failure) = check_role(role, self.sources.schema)
        {
            self.reader.fault(item.span(), &failure.faults.join("; "));
        }
        let mut id = |key| table.get(key).and_then(|item| self.reader.id(key, item));
        let (user, tenant) = (id("user"), id("tenant"));
        let mut principal = Principal::new(user.unwrap_or_default(), "");
        principal.role = role.filter(|role| role != ANY_ROLE);
        principal.tenant = tenant;
        let claims = table.get("claims").and_then(|item| self.reader.table("claims", item));
        for (name, item) in claims.into_iter().flatten() {
            match json(item.get_ref()).as_ref().and_then(ClaimValue::from_json) {
                Some(value) => principal = principal.with_claim(name.get_ref().to_string(), value),
                None => {
                    self.reader.fault(item.span(), "a claim is text, a number, a boolean or a list of them");
                }
            }
        }
        Some(principal)
    }

    /// Returns the session of a case.
    fn case_session(&mut self, table: &DeTable<'_>) -> Option<Principal> {
        let Some(item) = table.get("as") else { return self.session(table) };
        let name = self.reader.text(table, "as")?;
        if let Some(key) = SESSION_KEYS.iter().find(|key| table.get(**key).is_some()) {
            self.reader.fault(item.span(), &format!("a case must have either 'as' or '{key}'"));
        }
        if let Some(session) = self.sessions.get(&name) {
            return session.clone();
        }
        let hint = match nearest(&name, self.sessions.keys().map(String::as_str)) {
            Some(near) => format!("did you mean '{near}'?"),
            None => format!("declare it as [sessions.{name}]"),
        };
        self.reader.fault(item.span(), &format!("there is no session '{name}'; {hint}"));
        None
    }

    fn case(&mut self, table: &DeTable<'_>, span: Range<usize>) -> Option<Case> {
        let all: Vec<_> = [&COMMON_KEYS[..], &QUERY_KEYS, &WRITE_KEYS, &ENTITY_KEYS].concat();
        self.reader.check_keys(table, &all);
        let kinds = [("query", &QUERY_KEYS[..]), ("write", &WRITE_KEYS), ("entity", &ENTITY_KEYS)];
        let mut present = kinds.into_iter().filter(|(kind, _)| table.get(*kind).is_some());
        let (Some((kind, kind_keys)), None) = (present.next(), present.next()) else {
            self.reader.fault(span, "a case must have exactly one of 'query', 'write' and 'entity'");
            return None;
        };
        for (key, item) in table {
            let name: &str = key.get_ref();
            let fits = COMMON_KEYS.contains(&name) || kind_keys.contains(&name) || !all.contains(&name);
            if !fits {
                self.reader.fault(key.span(), &format!("'{name}' does not belong to a case with '{kind}'"));
            } else if matches!(name, "rows" | "ids") && !self.sources.has_database {
                self.reader.fault(item.span(), &format!("'{name}' needs a database: pass --database"));
            }
        }
        let principal = self.case_session(table);
        let expected = self.expected(table, span.clone());
        let subject = match kind {
            "query" => self.query(table)?,
            "write" => self.write(table)?,
            _ => self.entity(table)?,
        };
        let name = self.reader.text(table, "name");
        let role = principal.as_ref().map_or(ANY_ROLE, |it| it.role.as_deref().unwrap_or(ANY_ROLE));
        let name = name.unwrap_or_else(|| format!("{role}: {subject}"));
        Some(Case { name, line: self.reader.position(span.start).0, principal, subject, expected })
    }

    fn query(&mut self, table: &DeTable<'_>) -> Option<Subject> {
        let text = self.reader.text(table, "query")?;
        let format = Format::detect(&text);
        let id = table.get("id").and_then(|item| self.reader.id("id", item));
        let params = self.reader.object(table, "params").unwrap_or_default();
        let params = ParamValues::parse(&serde_json::Value::Object(params).to_string());
        let params = match params {
            Ok(params) => params,
            Err(error) => {
                self.fault_at(table, "params", &error);
                return None;
            }
        };
        let request = match &id {
            Some(id) => Request::point(format, &text, id),
            None => Request::collection(format, &text),
        };
        // Otherwise a misspelt name would be refused as expected.
        if let Err(error) = self.sources.unrestricted.plan(&request.with_params(Some(&params))) {
            self.fault_at(table, "query", &format!("the query is invalid for every role: {error}"));
        }
        Some(Subject::Query { format, text, id, params })
    }

    fn write(&mut self, table: &DeTable<'_>) -> Option<Subject> {
        let text = self.reader.text(table, "write")?;
        if !self.sources.has_database {
            self.fault_at(table, "write", "a write needs a database: pass --database");
        }
        let form = "a write is a method and a path, such as \"PUT /post/7\"";
        let Some((method, path)) = text.split_once(' ') else {
            self.fault_at(table, "write", form);
            return None;
        };
        let (method, path) = (Method::from_bytes(method.as_bytes()).ok()?, path.trim().to_owned());
        let fields = self.reader.object(table, "body").map(|body| {
            body.iter().fold(Fields::default(), |fields, (name, value)| fields.with(name, value))
        });
        let profiles = Profiles { mutations: true, ..Profiles::default() };
        let route = match Route::parse(&BasePath::root(), &profiles, &method, &path) {
            Ok(route) => route,
            Err(error) => {
                self.fault_at(table, "write", &format!("{form}: {}", error.message));
                return None;
            }
        };
        let Some(target) = route.write_target() else {
            self.fault_at(table, "write", form);
            return None;
        };
        let mut request = WriteRequest::new(target);
        if let Some(fields) = &fields {
            request = request.with_fields(fields);
        }
        if let Err(Error::Plan(error)) = self.sources.unrestricted.plan_write(&request)
            && let Some(unknown_name) = unknown_name(&error.kind)
        {
            self.fault_at(table, "write", &format!("the write is invalid for every role: {unknown_name}"));
        }
        drop(route);
        Some(Subject::Write { method, path, fields })
    }

    fn entity(&mut self, table: &DeTable<'_>) -> Option<Subject> {
        let key = self.reader.text(table, "entity")?;
        let schema = self.sources.unrestricted.schema();
        let Some(id) = schema.find(&key) else {
            let near = nearest(&key, schema.entities().map(|(_, entity)| entity.key.as_str()));
            let hint = near.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
            self.fault_at(table, "entity", &format!("there is no entity '{key}'{hint}"));
            return None;
        };
        let entity = schema.entity(id);
        for right in Right::ALL {
            for name in self.reader.list(table, right.key()).into_iter().flatten() {
                if entity.member(&name).is_none() {
                    let hint = nearest(&name, entity.names()).map(|near| format!("; did you mean '{near}'?"));
                    let message =
                        format!("there is no '{name}' on entity '{key}'{}", hint.unwrap_or_default());
                    self.fault_at(table, right.key(), &message);
                }
            }
        }
        Some(Subject::Entity(key))
    }

    fn expected(&mut self, table: &DeTable<'_>, span: Range<usize>) -> Expected {
        let set = |list: Vec<String>| list.into_iter().collect::<BTreeSet<_>>();
        let rights = Right::ALL
            .into_iter()
            .filter_map(|right| self.reader.list(table, right.key()).map(|names| (right, set(names))));
        let rights: Vec<_> = rights.collect();
        // `allowed` only means that there is no denial.
        let _ = self.reader.boolean(table, "allowed");
        let expected = Expected {
            denied: table.get("denied").and_then(|_| self.denial(table)),
            rows: self.reader.count(table, "rows"),
            ids: self.reader.list(table, "ids").map(set),
            rights,
            deletes: self.reader.boolean(table, "deletes"),
        };
        let is_false =
            |key: &str| matches!(table.get(key).map(|item| item.get_ref()), Some(DeValue::Boolean(false)));
        let others = ["allowed", "rows", "ids", "fields", "relations", "creates", "updates", "deletes"];
        let other = others.into_iter().find(|key| table.get(*key).is_some());
        if is_false("allowed") {
            self.fault_at(table, "allowed", "write 'denied = true'");
        } else if is_false("denied") {
            self.fault_at(table, "denied", "write 'allowed = true'");
        } else if let (Some(other), Some(_)) = (other, table.get("denied")) {
            self.fault_at(table, "denied", &format!("a case must have either 'denied' or '{other}'"));
        } else if other.is_none() && table.get("denied").is_none() {
            self.reader.fault(span, "the case expects nothing; add 'allowed', 'denied', 'rows' or 'ids'");
        }
        expected
    }

    /// Returns the refusal that a case expects: `true`, a part of the message, or a table.
    fn denial(&mut self, table: &DeTable<'_>) -> Option<Denial> {
        let item = table.get("denied")?;
        match item.get_ref() {
            DeValue::Boolean(_) => Some(Denial::default()),
            DeValue::String(text) => Some(Denial { message: Some(text.to_string()), ..Denial::default() }),
            DeValue::Table(parts) => {
                self.reader.check_keys(parts, &["status", "error", "code", "message"]);
                Some(Denial {
                    status: self.reader.count(parts, "status"),
                    error: self.reader.text(parts, "error"),
                    code: self.reader.text(parts, "code"),
                    message: self.reader.text(parts, "message"),
                })
            }
            _ => {
                let message = "'denied' takes true, a part of the message, or a table of status, error, code and message";
                self.reader.fault(item.span(), message);
                None
            }
        }
    }

    /// Adds a fault at the value of a key.
    fn fault_at(&mut self, table: &DeTable<'_>, key: &str, message: &str) {
        self.reader.fault(table.get(key).map_or(0..0, |item| item.span()), message);
    }
}

/// Returns the error of the first name in a write that does not exist for any role.
fn unknown_name(kind: &PlanErrorKind) -> Option<&PlanErrorKind> {
    match kind {
        PlanErrorKind::UnknownEntity { .. } | PlanErrorKind::UnknownField { .. } => Some(kind),
        PlanErrorKind::Write(fault) => match &**fault {
            WriteFault::UnknownRelation { .. } => Some(kind),
            WriteFault::Fields(faults) => faults.iter().find_map(|fault| unknown_name(&fault.kind)),
            _ => None,
        },
        _ => None,
    }
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Query { text, id, .. } => {
                let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
                let id = id.as_ref().map(|id| format!(" of {id}")).unwrap_or_default();
                write!(f, "{text}{id}")
            }
            Self::Write { method, path, .. } => write!(f, "{method} {path}"),
            Self::Entity(key) => f.write_str(key),
        }
    }
}
