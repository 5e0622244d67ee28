//! The matrix of the judge: which cases fail under which fault.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use mesh_tests::kit::case::Case;
use mesh_tests::kit::profile::Profile;
use mesh_tests::kit::reference::Reference;
use mesh_tests::kit::run::{self, Grade, Selection};
use mesh_tests::kit::target::Target;

use super::faults::{Fault, OnLoad};
use super::proxy::{IssuedValues, Proxy};
use super::recording::Recording;
use super::servers;

/// The number of faulty servers that are tested concurrently.
const CONCURRENT: usize = 3;

/// A fault that fails more cases than this is too general to show that a single case detects anything.
const FAILURES_MAX: usize = 180;

/// Id prefixes of cases that depend on all other features, so that a fault of any other feature may fail them.
const CROSS_CUTTING: [&str; 7] = ["10.6-", "14.", "15.", "16.", "17", "18.", "19."];

/// The outcome of one fault.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) name: &'static str,
    pub(crate) touched: usize,
    pub(crate) failed: Vec<String>,
}

/// Returns the cases that fail with a fault-injecting proxy in front of each server.
pub(crate) fn failing_cases(fault: &Fault, reference: &Reference, cases: &[Case]) -> Vec<String> {
    failures(fault, reference, cases).into_iter().map(|(id, _)| id).collect()
}

/// Returns the cases that fail, with the reasons.
pub(crate) fn failures(fault: &Fault, reference: &Reference, cases: &[Case]) -> Vec<(String, Vec<String>)> {
    let mut profile = Profile::reference().unwrap();
    profile.known.clear();
    profile.declare("load", load_command(fault));
    let (mut proxies, issued) = (Vec::new(), IssuedValues::default());
    for (settings, url) in reference.target.base_urls() {
        let proxy = Proxy::start(settings, url, *fault, issued.clone());
        profile.servers.insert(settings.to_owned(), format!("http://{}{}", proxy.address, url.base));
        proxies.push(proxy);
    }
    // The check for the fixture is skipped, since the fault may break it.
    let selection = Selection { skip_probe: true, ..Selection::default() };
    let report = run::run(cases, &Target::new(profile).unwrap(), &selection);
    let failed = report.verdicts.into_iter().filter(|v| !matches!(v.grade, Grade::Pass | Grade::Skip));
    failed.map(|verdict| (verdict.case.id, verdict.reasons)).collect()
}

/// Returns the command that loads a schema document under a fault.
fn load_command(fault: &Fault) -> Vec<String> {
    let program = mesh_tests::program().display().to_string();
    let words: &[&str] = match fault.on_load {
        None => &[&program, "check", "--schema", "{file}"],
        Some(OnLoad::AcceptsAll) => &["true"],
        Some(OnLoad::RefusesAll) => &["false"],
        Some(OnLoad::ReportsFirst) => {
            &["sh", "-c", "\"$0\" check --schema \"$1\" 2>&1 | head -n 1; exit 1", &program, "{file}"]
        }
    };
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Runs, for each fault, every case that the fault touches.
pub(crate) fn run_all(faults: &[Fault], reference: &Reference, recording: &Recording) -> Vec<Outcome> {
    let (next, outcomes) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|threads| {
        for _ in 0..CONCURRENT {
            threads.spawn(|| {
                while let Some(fault) = faults.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let start = Instant::now();
                    let touched = recording.touched_by(fault);
                    let found = start.elapsed();
                    let separate = fault.corrupts_data.then(servers);
                    let servers = separate.as_ref().unwrap_or(reference);
                    let failed =
                        retry_unexpected(fault, servers, &touched, failing_cases(fault, servers, &touched));
                    eprintln!(
                        "{:>6.1} s {:>6.1} s  {:>4} touched {:>4} failed  {}",
                        found.as_secs_f64(),
                        start.elapsed().as_secs_f64(),
                        touched.len(),
                        failed.len(),
                        fault.name
                    );
                    let outcome = Outcome { name: fault.name, touched: touched.len(), failed };
                    outcomes.lock().unwrap().push(outcome);
                }
            });
        }
    });
    outcomes.into_inner().unwrap()
}

/// Repeats cases that unexpectedly fail or pass, if they are few. Other faults use the same servers at the same time, so a
/// server that should be busy with the requests of one run may be busy with those of another.
fn retry_unexpected(
    fault: &Fault,
    reference: &Reference,
    touched: &[Case],
    mut failed: Vec<String>,
) -> Vec<String> {
    const RETRIES_MAX: usize = 8;
    let is_unexpected = |case: &&Case| match failed.contains(&case.id) {
        true => {
            !fault.must_fail.contains(&case.id.as_str())
                && !fault.may_fail.iter().chain(&CROSS_CUTTING).any(|begin| case.id.starts_with(begin))
        }
        false => fault.must_fail.contains(&case.id.as_str()),
    };
    let again: Vec<Case> = touched.iter().filter(is_unexpected).cloned().collect();
    if !again.is_empty() && again.len() <= RETRIES_MAX {
        failed.retain(|id| again.iter().all(|case| case.id != *id));
        failed.extend(failing_cases(fault, reference, &again));
    }
    failed
}

/// Compares the failing cases with the expected ones; returns a message if they differ.
pub(crate) fn unexpected_result(fault: &Fault, failed: &[String]) -> Option<String> {
    let missed: Vec<&&str> =
        fault.must_fail.iter().filter(|id| !failed.iter().any(|id_failed| id_failed == *id)).collect();
    let is_dependent = |id: &str| CROSS_CUTTING.iter().any(|begin| id.starts_with(begin));
    let may_fail_any = !fault.must_fail.iter().any(|id| is_dependent(id));
    let is_related = |id: &String| {
        fault.must_fail.contains(&id.as_str())
            || fault.may_fail.iter().any(|begin| id.starts_with(begin))
            || may_fail_any && is_dependent(id)
    };
    let stray: Vec<&String> = failed.iter().filter(|id| !is_related(id)).collect();
    // A fault that is generated from a table or a recording has no lists.
    let fine = fault.must_fail.is_empty() || missed.is_empty() && stray.is_empty();
    (!fine).then(|| format!("{}: not detected by {missed:?}; unexpected failures: {stray:?}", fault.name))
}

/// Returns the cases of a MUST that no fault fails, apart from faults that fail nearly everything.
pub(crate) fn survivors<'c>(cases: &'c [Case], outcomes: &[Outcome]) -> Vec<&'c Case> {
    let sharp = outcomes.iter().filter(|outcome| outcome.failed.len() <= FAILURES_MAX);
    let killed: BTreeSet<&str> =
        sharp.flat_map(|outcome| outcome.failed.iter().map(String::as_str)).collect();
    cases.iter().filter(|case| !killed.contains(case.id.as_str())).collect()
}

/// Renders the survivors by paragraph.
pub(crate) fn table(survivors: &[&Case]) -> String {
    let mut by_rule: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for case in survivors {
        let rule = case.rule.first().map_or("", String::as_str);
        by_rule.entry(rule).or_default().push(&case.id);
    }
    let mut table = format!("{} cases without a fault that fails them\n", survivors.len());
    for (rule, ids) in by_rule {
        let _ = writeln!(table, "{rule:>8}  {}", ids.join(" "));
    }
    table
}
