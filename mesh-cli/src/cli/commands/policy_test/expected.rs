//! The expectations of a case, and their comparison with the observed result.

use std::collections::BTreeSet;
use std::fmt;

use mesh_wire::WireError;
use serde::{Deserialize, Serialize};

/// The expectations of a case. Everything that is present has to hold; without a denial, the request has to succeed.
#[derive(Debug, Default)]
pub(super) struct Expected {
    pub(super) denied: Option<Denial>,
    /// The number of records.
    pub(super) rows: Option<u64>,
    /// The ids of the records, in any order.
    pub(super) ids: Option<BTreeSet<String>>,
    /// The exact names of each of the [`RIGHTS`] on an entity.
    pub(super) rights: [Option<BTreeSet<String>>; 4],
    pub(super) deletes: Option<bool>,
}

/// The rights that a role has on members of an entity: those that it sees, and those that it writes.
const RIGHTS: [&str; 4] = ["fields", "relations", "creates", "updates"];

/// The refusal that a case expects. Everything that is present has to match.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Denial {
    pub(super) status: Option<u64>,
    /// The kind of the error, such as `ValidationError`.
    pub(super) error: Option<String>,
    pub(super) code: Option<String>,
    /// A part of the message.
    pub(super) message: Option<String>,
}

/// The observed result of a case.
#[derive(Debug)]
pub(super) enum Observed {
    /// The records of an answer.
    Read { rows: u64, ids: Option<BTreeSet<String>> },
    /// A write was carried out.
    Written,
    /// The role sees the entity, has the [`RIGHTS`] on the members with these names, and may delete records or not.
    Rights { names: [BTreeSet<String>; 4], deletes: bool },
    /// The role does not see the entity.
    Hidden,
    /// The request was refused or failed.
    Refused(Box<WireError>),
}

/// An expectation that does not hold.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Mismatch {
    pub(super) expected: String,
    pub(super) got: String,
}

impl Expected {
    /// Returns the expectations that do not hold.
    pub(super) fn compare(&self, observed: &Observed) -> Vec<Mismatch> {
        let mut mismatches = Vec::new();
        let mut check = |holds: bool, expected: String, got: String| {
            if !holds {
                mismatches.push(Mismatch { expected, got });
            }
        };
        if let Some(denial) = &self.denied {
            check(denial.matches(observed), denial.to_string(), observed.to_string());
            return mismatches;
        }
        match observed {
            Observed::Refused(_) | Observed::Hidden => check(false, self.to_string(), observed.to_string()),
            Observed::Written => {}
            Observed::Read { rows, ids } => {
                if let Some(expected) = self.rows {
                    check(expected == *rows, counted(expected), observed.to_string());
                }
                if let Some(expected) = &self.ids {
                    let got = match ids {
                        Some(ids) => format!("the ids {}", list(ids)),
                        None => format!(
                            "{observed} without their ids: select the id, and at most a page of records"
                        ),
                    };
                    check(ids.as_ref() == Some(expected), format!("the ids {}", list(expected)), got);
                }
            }
            Observed::Rights { names, deletes } => {
                for ((right, expected), names) in RIGHTS.iter().zip(&self.rights).zip(names) {
                    let expected = expected.as_ref().unwrap_or(names);
                    let shown = |names| format!("{right} {}", list(names));
                    check(expected == names, shown(expected), shown(names));
                }
                let expected = self.deletes.unwrap_or(*deletes);
                let shown = |deletes| format!("deletes = {deletes}");
                check(expected == *deletes, shown(expected), shown(*deletes));
            }
        }
        mismatches
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.rows, &self.ids) {
            (_, Some(ids)) => write!(f, "the ids {}", list(ids)),
            (Some(rows), None) => f.write_str(&counted(rows)),
            (None, None) => f.write_str("allowed"),
        }
    }
}

impl Denial {
    /// Returns whether the request was refused as expected. Failures of the server and conflicts with other records do not
    /// count as refusals, unless their status is expected.
    fn matches(&self, observed: &Observed) -> bool {
        let error = match observed {
            Observed::Refused(error) => error,
            Observed::Hidden => return self.is_unspecific(),
            _ => return false,
        };
        let status = error.status.as_u16();
        let is_refusal =
            self.status.map_or(matches!(status, 400 | 401 | 403 | 404), |wanted| wanted == u64::from(status));
        is_refusal
            && self.error.as_ref().is_none_or(|kind| kind == error.kind.as_str())
            && self.code.as_ref().is_none_or(|code| error.code.is_some_and(|it| it.as_str() == code))
            && self.message.as_ref().is_none_or(|part| error.message.contains(part.as_str()))
    }

    fn is_unspecific(&self) -> bool {
        self.status.is_none() && self.error.is_none() && self.code.is_none() && self.message.is_none()
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("denied")?;
        let status = self.status.map(|status| status.to_string());
        let message = self.message.as_ref().map(|part| format!("{part:?}"));
        let parts: Vec<_> =
            [&status, &self.error, &self.code, &message].into_iter().flatten().map(String::as_str).collect();
        if parts.is_empty() { Ok(()) } else { write!(f, ": {}", parts.join(" ")) }
    }
}

impl fmt::Display for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { rows, .. } => write!(f, "allowed, {}", counted(*rows)),
            Self::Written | Self::Rights { .. } => f.write_str("allowed"),
            Self::Hidden => f.write_str("denied: the role does not see the entity"),
            Self::Refused(error) => {
                let (status, kind) = (error.status.as_u16(), error.kind.as_str());
                let code = error.code.map(|code| format!(" {}", code.as_str())).unwrap_or_default();
                write!(f, "{status} {kind}{code}: {}", error.message)
            }
        }
    }
}

fn counted(rows: u64) -> String {
    format!("{rows} {}", if rows == 1 { "record" } else { "records" })
}

fn list(names: &BTreeSet<String>) -> String {
    format!("[{}]", names.iter().map(String::as_str).collect::<Vec<_>>().join(", "))
}
