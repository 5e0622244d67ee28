//! The exchanges of a run without a fault. They show which cases a fault can affect.

use std::collections::BTreeMap;

use mesh_tests::kit::case::Case;
use mesh_tests::kit::execute::LoggedExchange;
use mesh_tests::kit::http::{BaseUrl, Request, Response};
use mesh_tests::kit::reference::Reference;
use mesh_tests::kit::run::{self, Grade, Selection};

use super::faults::Fault;
use super::proxy::{IssuedValues, ProxyState, TRUNCATED_MARK};

/// An exchange of a case with the server of some settings.
#[derive(Debug)]
pub(crate) struct RecordedExchange {
    pub(crate) settings: String,
    pub(crate) request: Request,
    pub(crate) response: Response,
}

/// The exchanges of all cases.
#[derive(Debug)]
pub(crate) struct Recording {
    /// The exchanges of each case.
    pub(crate) cases: Vec<(Case, Vec<RecordedExchange>)>,
    upstreams: BTreeMap<String, BaseUrl>,
    issued: IssuedValues,
}

impl Recording {
    /// Runs all cases against servers without a fault. Returns an error unless all of them pass.
    pub(crate) fn make(cases: &[Case], reference: &Reference) -> Result<Self, String> {
        let target = &reference.target;
        let upstreams: BTreeMap<String, BaseUrl> =
            target.base_urls().map(|(settings, url)| (settings.to_owned(), url.clone())).collect();
        let report = run::run(cases, target, &Selection::default());
        let (issued, mut recorded) = (IssuedValues::default(), Vec::new());
        for verdict in report.verdicts {
            if verdict.grade != Grade::Pass {
                return Err(format!(
                    "{} does not pass without a fault: {:?}",
                    verdict.case.id, verdict.reasons
                ));
            }
            let mut exchanges = Vec::new();
            for logged in verdict.log {
                let LoggedExchange::Http { authority, mut request, response } = logged else { continue };
                if response.is_err() {
                    request.add_header(TRUNCATED_MARK, "1");
                }
                let response = response.unwrap_or_default();
                let of_url = upstreams.iter().find(|(_, url)| *url.authority == *authority);
                let Some((settings, _)) = of_url else { continue };
                issued.record(&request, &response);
                exchanges.push(RecordedExchange { settings: settings.clone(), request, response });
            }
            recorded.push((verdict.case, exchanges));
        }
        Ok(Self { cases: recorded, upstreams, issued })
    }

    /// Returns the exchanges of all cases.
    pub(crate) fn exchanges(&self) -> impl Iterator<Item = &RecordedExchange> {
        self.cases.iter().flat_map(|(_, exchanges)| exchanges)
    }

    /// Returns the cases with an exchange that a fault changes. For all other cases the fault makes no difference.
    pub(crate) fn touched_by(&self, fault: &Fault) -> Vec<Case> {
        let touched = self.cases.iter().filter(|(case, exchanges)| {
            if fault.must_fail.contains(&case.id.as_str()) {
                return true;
            }
            let mut states: BTreeMap<&str, ProxyState> = BTreeMap::new();
            exchanges.iter().any(|recorded| {
                let Some(upstream) = self.upstreams.get(&recorded.settings) else { return false };
                let state = states.entry(&recorded.settings).or_insert_with(|| {
                    ProxyState::new(&recorded.settings, upstream.clone(), self.issued.clone())
                });
                changes(fault, recorded, state)
            })
        });
        touched.map(|(case, _)| case.clone()).collect()
    }
}

/// Returns whether a fault changes the request or the response.
fn changes(fault: &Fault, recorded: &RecordedExchange, state: &ProxyState) -> bool {
    let mut request = recorded.request.clone();
    if (fault.on_request)(&mut request, state).is_some() || differ(&request, &recorded.request) {
        return true;
    }
    if recorded.response.is_event_stream() && fault.on_line.is_some() {
        return true;
    }
    let mut response = recorded.response.clone();
    (fault.on_response)(&recorded.request, &mut response, state);
    response.status != recorded.response.status
        || response.body != recorded.response.body
        || sorted(&response.headers) != sorted(&recorded.response.headers)
}

fn differ(one: &Request, other: &Request) -> bool {
    let headers = |request: &Request| {
        let lower = request.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
        let mut headers: Vec<_> = lower.collect();
        headers.sort();
        headers
    };
    one.method != other.method
        || one.target != other.target
        || one.hosts != other.hosts
        || one.body != other.body
        || headers(one) != headers(other)
}

fn sorted(headers: &[(String, String)]) -> Vec<&(String, String)> {
    let mut sorted: Vec<_> = headers.iter().collect();
    sorted.sort();
    sorted
}
