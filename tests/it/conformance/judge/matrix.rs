//! The matrix of the judge: which cases fail under which fault.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use mesh_tests::kit::case::Case;
use mesh_tests::kit::profile::Profile;
use mesh_tests::kit::reference::Reference;
use mesh_tests::kit::run::{self, Grade, Selection};
use mesh_tests::kit::target::Target;

use super::faults::Fault;
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
    pub(crate) name: String,
    pub(crate) touched: usize,
    pub(crate) failed: Vec<String>,
    /// Whether it fails so much that it does not show that a single case detects anything.
    is_general: bool,
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
    let (mut proxies, issued, fault) = (Vec::new(), IssuedValues::default(), Arc::new(fault.clone()));
    for (settings, url) in reference.target.base_urls() {
        let proxy = Proxy::start(settings, url, Arc::clone(&fault), issued.clone());
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
    let usual = ["{program}", "check", "--schema", "{file}"].map(str::to_owned).to_vec();
    let words = fault.load.as_ref().unwrap_or(&usual);
    words.iter().map(|word| word.replace("{program}", &program)).collect()
}

/// Runs, for each fault, the cases that it touches: all of them, or, for a fault without a list of cases, as many as show
/// that it is noticed and that each case is failed by a fault. Faults with lists should come first.
pub(crate) fn run_all(
    faults: &[Fault],
    reference: &Reference,
    recording: &Recording,
    all: bool,
) -> Vec<Outcome> {
    let (next, outcomes) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let run = |fault: &Fault| {
        let start = Instant::now();
        let touched = recording.touched_by(fault);
        let separate = fault.corrupts.then(servers);
        let servers = separate.as_ref().unwrap_or(reference);
        let outcome = match all || !fault.must.is_empty() {
            true => run_touched(fault, servers, &touched),
            false => {
                let killed = killed(&outcomes.lock().unwrap());
                run_until_noticed(fault, servers, touched, &killed)
            }
        };
        let (seconds, failed) = (start.elapsed().as_secs_f64(), outcome.failed.len());
        eprintln!("{seconds:>6.1} s  {:>4} touched {failed:>4} failed  {}", outcome.touched, outcome.name);
        outcomes.lock().unwrap().push(outcome);
    };
    thread::scope(|threads| {
        for _ in 0..CONCURRENT {
            threads.spawn(|| {
                while let Some(fault) = faults.get(next.fetch_add(1, Ordering::Relaxed)) {
                    run(fault);
                }
            });
        }
    });
    outcomes.into_inner().unwrap()
}

/// Runs all cases. Repeats those that unexpectedly fail or pass, if they are few: other faults use the same servers at the
/// same time, so a server that should be busy with the requests of one run may be busy with those of another.
fn run_touched(fault: &Fault, reference: &Reference, touched: &[Case]) -> Outcome {
    const RETRIES_MAX: usize = 8;
    let mut failed = failing_cases(fault, reference, touched);
    let is_unexpected = |case: &&Case| match failed.contains(&case.id) {
        true => !may_fail(fault, &case.id),
        false => fault.must.contains(&case.id),
    };
    let again: Vec<Case> = touched.iter().filter(is_unexpected).cloned().collect();
    if !again.is_empty() && again.len() <= RETRIES_MAX {
        failed.retain(|id| again.iter().all(|case| case.id != *id));
        failed.extend(failing_cases(fault, reference, &again));
    }
    let is_general = failed.len() > FAILURES_MAX;
    Outcome { name: fault.name.clone(), touched: touched.len(), failed, is_general }
}

/// Runs the cases that no other fault has failed, and others until one fails. A sample of many cases shows whether the fault
/// is too general.
fn run_until_noticed(
    fault: &Fault,
    reference: &Reference,
    touched: Vec<Case>,
    killed: &BTreeSet<String>,
) -> Outcome {
    const SAMPLE: usize = 60;
    let count = touched.len();
    let (known, fresh): (Vec<Case>, Vec<Case>) =
        touched.into_iter().partition(|case| killed.contains(&case.id));
    let step = if count > FAILURES_MAX { known.len().div_ceil(SAMPLE).max(1) } else { usize::MAX };
    let sample: Vec<Case> = known.iter().skip(step / 2).step_by(step).cloned().collect();
    let mut failed = failing_cases(fault, reference, &sample);
    let is_general = failed.len() * count > FAILURES_MAX * sample.len();
    if !is_general {
        failed.extend(failing_cases(fault, reference, &fresh));
    }
    for some in known.chunks(SAMPLE) {
        if !failed.is_empty() {
            break;
        }
        failed = failing_cases(fault, reference, some);
    }
    Outcome { name: fault.name.clone(), touched: count, failed, is_general }
}

fn may_fail(fault: &Fault, id: &str) -> bool {
    let is_cross_cutting = |id: &str| CROSS_CUTTING.iter().any(|begin| id.starts_with(begin));
    let may_fail_any = !fault.must.iter().any(|id| is_cross_cutting(id));
    fault.must.iter().any(|must| must == id)
        || fault.may.iter().any(|begin| id.starts_with(begin))
        || may_fail_any && is_cross_cutting(id)
}

/// Compares the failing cases with the expected ones; returns a message if they differ.
pub(crate) fn unexpected_result(fault: &Fault, failed: &[String]) -> Option<String> {
    let missed: Vec<&String> = fault.must.iter().filter(|id| !failed.contains(*id)).collect();
    let stray: Vec<&String> = failed.iter().filter(|id| !may_fail(fault, id)).collect();
    // A fault that is generated or one of many of a kind has no list.
    let is_fine = fault.must.is_empty() || missed.is_empty() && stray.is_empty();
    (!is_fine).then(|| format!("{}: not detected by {missed:?}; unexpected failures: {stray:?}", fault.name))
}

/// Returns the cases that a fault fails, apart from faults that are too general.
fn killed(outcomes: &[Outcome]) -> BTreeSet<String> {
    let sharp = outcomes.iter().filter(|outcome| !outcome.is_general);
    sharp.flat_map(|outcome| outcome.failed.iter().cloned()).collect()
}

/// Returns the cases that no fault fails, apart from faults that are too general.
pub(crate) fn survivors<'c>(cases: &'c [Case], outcomes: &[Outcome]) -> Vec<&'c str> {
    let killed = killed(outcomes);
    cases.iter().map(|case| case.id.as_str()).filter(|id| !killed.contains(*id)).collect()
}
