//! The exchanges of a run without a fault. They show which cases a fault can affect.

use std::collections::BTreeMap;

use mesh_tests::kit::case::Case;
use mesh_tests::kit::execute::LoggedExchange;
use mesh_tests::kit::http::BaseUrl;
use mesh_tests::kit::reference::Reference;
use mesh_tests::kit::run::{self, Grade, Selection};
use serde_json::Value;

use super::document;
use super::faults::Fault;
use super::proxy::{IssuedValues, ProxyState, TRUNCATED_MARK};

/// The exchanges of all cases, as documents.
#[derive(Debug)]
pub(crate) struct Recording {
    cases: Vec<(Case, Vec<Value>)>,
}

impl Recording {
    /// Runs all cases against servers without a fault. Returns an error unless all of them pass.
    pub(crate) fn make(cases: &[Case], reference: &Reference) -> Result<Self, String> {
        let target = &reference.target;
        let upstreams: BTreeMap<String, BaseUrl> =
            target.base_urls().map(|(settings, url)| (settings.to_owned(), url.clone())).collect();
        let report = run::run(cases, target, &Selection::default());
        let (issued, mut logs) = (IssuedValues::default(), Vec::new());
        for verdict in report.verdicts {
            if verdict.grade != Grade::Pass {
                let (id, reasons) = (verdict.case.id, verdict.reasons);
                return Err(format!("{id} does not pass without a fault: {reasons:?}"));
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
                exchanges.push((settings.clone(), request, response));
            }
            logs.push((verdict.case, exchanges));
        }
        let documents = |(case, exchanges): (Case, Vec<_>)| {
            let mut states: BTreeMap<String, ProxyState> = BTreeMap::new();
            let document = |(settings, request, response): (String, _, _)| {
                let upstream = upstreams.get(&settings)?.clone();
                let new = || ProxyState::new(&settings, upstream, issued.clone());
                let state = states.entry(settings.clone()).or_insert_with(new);
                let mut document = document::of_request(&request, state);
                document::add_response(&mut document, &response);
                Some(document)
            };
            (case, exchanges.into_iter().filter_map(document).collect())
        };
        Ok(Self { cases: logs.into_iter().map(documents).collect() })
    }

    /// Returns the responses of all cases.
    pub(crate) fn responses(&self) -> impl Iterator<Item = &Value> {
        self.cases.iter().flat_map(|(_, exchanges)| exchanges).map(|exchange| &exchange["response"])
    }

    /// Returns the cases with an exchange that a fault changes. For all other cases the fault makes no difference.
    pub(crate) fn touched_by(&self, fault: &Fault) -> Vec<Case> {
        let is_stream = |exchange: &Value| {
            let media = exchange["response"]["headers"]["content-type"].as_str();
            media.is_some_and(|media| media.starts_with("text/event-stream"))
        };
        let changes = |exchange: &Value| {
            fault.has_lines() && is_stream(exchange) || fault.rules.iter().any(|rule| rule.changes(exchange))
        };
        let touched = self
            .cases
            .iter()
            .filter(|(case, exchanges)| fault.must.contains(&case.id) || exchanges.iter().any(changes));
        touched.map(|(case, _)| case.clone()).collect()
    }
}
