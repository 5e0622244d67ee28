//! The cases of a file, with their names checked against the schema.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use http::Method;
use mesh_plan::error::{PlanErrorKind, WriteFault};
use mesh_plan::policy::ClaimValue;
use mesh_plan::{Error, Fields, Mesh, Mutation, Principal, Request, WriteRequest};
use mesh_ql::{Format, ParamValues, Position, Span};
use mesh_schema::policy::ANY_ROLE;
use mesh_schema::{Schema, nearest};
use mesh_wire::{BasePath, Profiles, Route};
use toml::Spanned;

use super::expected::{Denial, Expected};
use super::file::{CaseTable, Denied, Id, SessionTable, SuiteFile, to_json};
use crate::cli::args::role::check_role;
use crate::cli::failure::Failure;
use crate::cli::server::entity_settings::unknown_entity;
use crate::config::parse::did_you_mean;

/// The expectations of a file.
pub(super) struct Suite {
    pub(super) cases: Vec<Case>,
}

/// A case of a file.
pub(super) struct Case {
    pub(super) name: String,
    /// The line on which it begins.
    pub(super) line: u32,
    pub(super) principal: Option<Principal>,
    pub(super) subject: Subject,
    pub(super) expected: Expected,
}

/// The request or the rights that a case tests.
pub(super) enum Subject {
    /// A read: of one record if there is an id.
    Query { format: Format, text: String, id: Option<String>, params: ParamValues },
    /// A write.
    Write(Write),
    /// The rights on an entity.
    Entity(String),
}

/// A request to a write route.
pub(super) struct Write {
    method: Method,
    path: String,
    fields: Option<Fields<'static>>,
}

impl Write {
    /// Plans the write. The outer error says why the path is no write route.
    pub(super) fn plan(
        &self,
        mesh: &Mesh,
        principal: Option<&Principal>,
    ) -> Result<Result<Mutation, Error>, String> {
        let profiles = Profiles { mutations: true, ..Profiles::default() };
        let route = Route::parse(&BasePath::root(), &profiles, &self.method, &self.path);
        let route = route.map_err(|error| error.message.to_string())?;
        let target = route.write_target().ok_or("the path is that of a read")?;
        let mut request = WriteRequest::new(target).with_principal(principal);
        if let Some(fields) = &self.fields {
            request = request.with_fields(fields);
        }
        Ok(mesh.plan_write(&request))
    }
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
    /// Parses a file. Returns the first fault of its form, or all names in it that are wrong, with their positions.
    pub(super) fn parse(file: &str, text: &str, sources: &Sources<'_>) -> Result<Self, Failure> {
        let mut checker = Checker { file, text, sources, sessions: BTreeMap::new(), faults: Vec::new() };
        let document: SuiteFile = match toml::from_str(text) {
            Ok(document) => document,
            Err(error) => {
                checker.fault(error.span().unwrap_or_default(), error.message());
                return Err(checker.into_failure());
            }
        };
        for (name, session) in document.sessions {
            let principal = checker.principal(session);
            checker.sessions.insert(name, principal);
        }
        let cases: Vec<_> = document.cases.into_iter().filter_map(|case| checker.case(case)).collect();
        if !checker.faults.is_empty() {
            return Err(checker.into_failure());
        }
        if cases.is_empty() {
            return Err(Failure::usage_error(format_args!(
                "{file}: there are no cases; each begins with [[case]]"
            )));
        }
        Ok(Self { cases })
    }
}

/// Converts the tables of a file, and collects the faults.
struct Checker<'p> {
    file: &'p str,
    text: &'p str,
    sources: &'p Sources<'p>,
    sessions: BTreeMap<String, Option<Principal>>,
    /// Each fault with the offset by which it is sorted.
    faults: Vec<(usize, String)>,
}

impl Checker<'_> {
    fn position(&self, span: &Range<usize>) -> Position {
        Span::new(span.start, span.end).position(self.text)
    }

    fn fault(&mut self, span: Range<usize>, message: impl fmt::Display) {
        let Position { line, column } = self.position(&span);
        self.faults.push((span.start, format!("{}:{line}:{column}: {message}", self.file)));
    }

    /// Returns the faults in the order of the text.
    fn into_failure(mut self) -> Failure {
        self.faults.sort_by_key(|(offset, _)| *offset);
        Failure::from_faults(self.faults.into_iter().map(|(_, fault)| fault).collect())
    }

    /// Returns the principal of a session, or `None` if the session is empty.
    fn principal(&mut self, session: SessionTable) -> Option<Principal> {
        let SessionTable { role, user, tenant, claims } = session;
        if role.is_none() && user.is_none() && tenant.is_none() && claims.is_empty() {
            return None;
        }
        let mut principal = Principal::new(user.as_ref().map(Id::to_text).unwrap_or_default(), "");
        principal.tenant = tenant.as_ref().map(Id::to_text);
        if let Some(role) = role {
            if let Err(failure) = check_role(role.get_ref(), self.sources.schema) {
                self.fault(role.span(), failure.faults.join("; "));
            }
            principal.role = Some(role.into_inner()).filter(|role| role != ANY_ROLE);
        }
        for (name, value) in claims {
            match ClaimValue::from_json(&to_json(value.get_ref())) {
                Some(value) => principal = principal.with_claim(name, value),
                None => self.fault(value.span(), "a claim is text, a number, a boolean or a list of them"),
            }
        }
        Some(principal)
    }

    /// Returns the principal of the session that a case names.
    fn named_principal(&mut self, name: &Spanned<String>) -> Option<Principal> {
        let (span, name) = (name.span(), name.get_ref());
        if let Some(principal) = self.sessions.get(name) {
            return principal.clone();
        }
        let hint = match nearest(name, self.sessions.keys().map(String::as_str)) {
            Some(near) => format!("did you mean '{near}'?"),
            None => format!("declare it as [sessions.{name}]"),
        };
        self.fault(span, format_args!("there is no session '{name}'; {hint}"));
        None
    }

    fn case(&mut self, case: Spanned<CaseTable>) -> Option<Case> {
        let (span, mut table) = (case.span(), case.into_inner());
        let kinds = [("query", &table.query), ("write", &table.write), ("entity", &table.entity)];
        let written: Vec<_> =
            kinds.into_iter().filter_map(|(kind, text)| Some((kind, text.clone()?))).collect();
        let [(kind, text)] = written.as_slice() else {
            self.fault(span, "a case must have exactly one of 'query', 'write' and 'entity'");
            return None;
        };
        for (key, owner, span) in table.keys_of_kinds() {
            if owner != *kind {
                self.fault(span, format_args!("'{key}' does not belong to a case with '{kind}'"));
            } else if matches!(key, "rows" | "ids") && !self.sources.has_database {
                self.fault(span, format_args!("'{key}' needs a database: pass --database"));
            }
        }
        let own = SessionTable {
            role: table.role.take(),
            user: table.user.take(),
            tenant: table.tenant.take(),
            claims: std::mem::take(&mut table.claims),
        };
        let own = self.principal(own);
        let principal = match &table.session {
            Some(name) => {
                if own.is_some() {
                    self.fault(name.span(), "a case must have either 'as' or the keys of a session");
                }
                self.named_principal(name)
            }
            None => own,
        };
        let subject = match *kind {
            "query" => self.query(&table, text.get_ref()),
            "write" => self.write(&table, text.get_ref()),
            _ => self.entity(&table, text.get_ref()),
        };
        let subject = subject.map_err(|message| self.fault(text.span(), message)).ok();
        let (name, expected) = (table.name.take(), self.expected(table, span.clone()));
        let subject = subject?;
        let role = principal.as_ref().and_then(|principal| principal.role.as_deref()).unwrap_or(ANY_ROLE);
        let name = name.unwrap_or_else(|| format!("{role}: {subject}"));
        Some(Case { name, line: self.position(&span).line, principal, subject, expected })
    }

    fn query(&self, table: &CaseTable, text: &str) -> Result<Subject, String> {
        let format = Format::detect(text);
        let id = table.id.as_ref().map(|id| id.get_ref().to_text());
        let params = table.params.as_ref().map(|params| params.get_ref().0.clone()).unwrap_or_default();
        let request = match &id {
            Some(id) => Request::point(format, text, id),
            None => Request::collection(format, text),
        };
        // Otherwise a misspelt name would be refused as expected.
        let plan = self.sources.unrestricted.plan(&request.with_params(Some(&params)));
        plan.map_err(|error| format!("the query is invalid for every role: {error}"))?;
        Ok(Subject::Query { format, text: text.to_owned(), id, params })
    }

    fn write(&self, table: &CaseTable, text: &str) -> Result<Subject, String> {
        if !self.sources.has_database {
            return Err("a write needs a database: pass --database".to_owned());
        }
        let form = "a write is a method and a path, such as \"PUT /post/7\"";
        let (method, path) = text.split_once(' ').ok_or(form)?;
        let fields = table.body.as_ref().map(|body| {
            body.get_ref().0.iter().fold(Fields::default(), |fields, (name, value)| fields.with(name, value))
        });
        let method = Method::from_bytes(method.as_bytes()).map_err(|_| form)?;
        let write = Write { method, path: path.trim().to_owned(), fields };
        let planned = write.plan(self.sources.unrestricted, None);
        if let Err(Error::Plan(error)) = planned.map_err(|error| format!("{form}: {error}"))?
            && let Some(name) = unknown_name(&error.kind)
        {
            return Err(format!("the write is invalid for every role: {name}"));
        }
        Ok(Subject::Write(write))
    }

    fn entity(&mut self, table: &CaseTable, key: &str) -> Result<Subject, String> {
        let schema = self.sources.unrestricted.schema();
        let id = schema.find(key).ok_or_else(|| unknown_entity(key, schema))?;
        let entity = schema.entity(id);
        for names in [&table.fields, &table.relations, &table.creates, &table.updates].into_iter().flatten() {
            for name in names.get_ref().iter().filter(|name| entity.member(name).is_none()) {
                let hint = did_you_mean(nearest(name, entity.names()).map(|near| format!("'{near}'")));
                self.fault(names.span(), format_args!("there is no '{name}' on entity '{key}'{hint}"));
            }
        }
        Ok(Subject::Entity(key.to_owned()))
    }

    /// Returns the expectations of a case, which has at least one.
    fn expected(&mut self, table: CaseTable, span: Range<usize>) -> Expected {
        let is_expectation = |key: &&str| !matches!(*key, "id" | "params" | "body");
        let special = table.keys_of_kinds().map(|(key, ..)| key).find(is_expectation);
        let other = if table.allowed.is_some() { Some("allowed") } else { special };
        match (&table.allowed, &table.denied) {
            (Some(allowed), _) if !allowed.get_ref() => self.fault(allowed.span(), "write 'denied = true'"),
            (_, Some(denied)) => match (denied.get_ref(), other) {
                (Denied::Any(false), _) => self.fault(denied.span(), "write 'allowed = true'"),
                (_, Some(other)) => {
                    self.fault(denied.span(), format_args!("a case must have either 'denied' or '{other}'"));
                }
                (_, None) => {}
            },
            (_, None) if other.is_none() => {
                self.fault(span, "the case expects nothing; add 'allowed', 'denied', 'rows' or 'ids'");
            }
            (_, None) => {}
        }
        Expected {
            denied: table.denied.map(|denied| match denied.into_inner() {
                Denied::Any(_) => Denial::default(),
                Denied::Message(message) => Denial { message: Some(message), ..Denial::default() },
                Denied::Parts(parts) => parts,
            }),
            rows: table.rows.map(Spanned::into_inner),
            ids: table.ids.map(|ids| ids.get_ref().iter().map(Id::to_text).collect()),
            rights: [table.fields, table.relations, table.creates, table.updates]
                .map(|names| names.map(Spanned::into_inner)),
            deletes: table.deletes.map(Spanned::into_inner),
        }
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

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Query { text, id, .. } => {
                let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
                let id = id.as_ref().map(|id| format!(" of {id}")).unwrap_or_default();
                write!(f, "{text}{id}")
            }
            Self::Write(Write { method, path, .. }) => write!(f, "{method} {path}"),
            Self::Entity(key) => f.write_str(key),
        }
    }
}
