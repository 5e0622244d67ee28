//! Tests of the conformance cases: a server with an injected fault must fail the cases of the violated rule, and no
//! others.

mod faults;
mod proxy;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use mesh_tests::kit::case::{self, Case, Level};
use mesh_tests::kit::profile::Profile;
use mesh_tests::kit::reference::{self, Reference};
use mesh_tests::kit::run::{self, Grade, Selection};
use mesh_tests::kit::target::Target;

use faults::{Fault, NO_FAULT};
use proxy::Proxy;

/// The number of faulty servers that are tested concurrently.
const CONCURRENT: usize = 2;

fn cases() -> Vec<Case> {
    case::load(&case::folder()).unwrap()
}

/// Returns whether the reference server claims the feature that a fault breaks.
fn is_applicable(fault: &Fault, profile: &Profile) -> bool {
    match Level::parse(fault.requires) {
        Some(level) => level <= profile.level,
        None => profile.profiles.iter().any(|name| name == fault.requires),
    }
}

/// Returns the cases to run for a fault: the cases that may fail, and a fifth of the others, which differs between
/// faults. `MESH_JUDGE=full` selects all cases, which takes minutes.
fn cases_for(fault: &Fault, number: usize, cases: &[Case]) -> Vec<Case> {
    const PARTS: usize = 5;
    let full = std::env::var("MESH_JUDGE").is_ok_and(|word| word == "full");
    let is_about =
        |id: &str| fault.must_fail.contains(&id) || fault.may_fail.iter().any(|begin| id.starts_with(begin));
    let chosen = cases
        .iter()
        .enumerate()
        .filter(|(index, case)| full || is_about(&case.id) || index % PARTS == number % PARTS);
    chosen.map(|(_, case)| case.clone()).collect()
}

/// Returns whether a fault affects unsigned reads, which change nothing and need one server only.
fn affects_reads(fault: &Fault) -> bool {
    Level::parse(fault.requires).is_some_and(|level| level <= Level::L2) || fault.requires == "caching"
}

/// Starts the reference servers that a fault needs.
fn servers(reads_only: bool) -> Result<Reference, String> {
    let mut profile = Profile::reference()?;
    if reads_only {
        profile.level = profile.level.min(Level::L2);
        profile.profiles.retain(|name| name == "caching");
    }
    reference::start(mesh_tests::program(), profile)
}

/// Returns the cases that fail with a fault-injecting proxy in front of each server.
fn failing_cases(
    fault: &'static Fault,
    reference: &Reference,
    cases: &[Case],
) -> Result<Vec<String>, String> {
    let mut profile = Profile::reference()?;
    let known: Vec<String> = profile.known.keys().cloned().collect();
    profile.level = reference.target.profile.level;
    profile.profiles.clone_from(&reference.target.profile.profiles);
    profile.known.clear();
    let mut proxies = Vec::new();
    for (settings, url) in reference.target.base_urls() {
        let proxy = Proxy::start(url, fault);
        profile.servers.insert(settings.to_owned(), format!("http://{}{}", proxy.address, url.base));
        proxies.push(proxy);
    }
    // The check for the fixture is skipped, since the fault may break it. Slow cases are excluded unless the fault is
    // about one of them.
    let is_slow = |id: &str| cases.iter().any(|case| case.id == id && case.slow);
    let quick = !fault.must_fail.iter().any(|id| is_slow(id));
    let selection = Selection { quick, skip_probe: true, ..Selection::default() };
    let report = run::run(cases, &Target::new(profile)?, &selection);
    let failed = report.verdicts.iter().filter(|verdict| !matches!(verdict.grade, Grade::Pass | Grade::Skip));
    Ok(failed.map(|verdict| verdict.case.id.clone()).filter(|id| !known.contains(id)).collect())
}

/// Compares the failing cases with the expected ones; returns a message if they differ.
fn check(fault: &Fault, failed: &[String]) -> Option<String> {
    let missed: Vec<&&str> =
        fault.must_fail.iter().filter(|id| !failed.iter().any(|id_failed| id_failed == *id)).collect();
    let is_related = |id: &String| {
        fault.must_fail.contains(&id.as_str()) || fault.may_fail.iter().any(|begin| id.starts_with(begin))
    };
    let stray: Vec<&String> = failed.iter().filter(|id| !is_related(id)).collect();
    let fine = missed.is_empty() && stray.is_empty();
    (!fine).then(|| format!("{}: not detected by {missed:?}; unexpected failures: {stray:?}", fault.name))
}

/// Tests faulty servers concurrently; each thread starts separate servers.
fn run_faults(chosen: &[&'static Fault], cases: &[Case], reads_only: bool) -> Vec<String> {
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|threads| {
        for _ in 0..CONCURRENT {
            threads.spawn(|| {
                let mut servers_of_thread = None;
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(fault) = chosen.get(number) else { return };
                    let reference = servers_of_thread.get_or_insert_with(|| servers(reads_only).unwrap());
                    let start = std::time::Instant::now();
                    let failed = failing_cases(fault, reference, &cases_for(fault, number, cases)).unwrap();
                    eprintln!(
                        "{:>6.1} s  {:>4} failed  {}",
                        start.elapsed().as_secs_f64(),
                        failed.len(),
                        fault.name
                    );
                    wrong.lock().unwrap().extend(check(fault, &failed));
                    // A faulty server may have written data that affects the next fault.
                    if fault.requires == "L4" || fault.requires == "mutations" {
                        servers_of_thread = None;
                    }
                }
            });
        }
    });
    wrong.into_inner().unwrap()
}

#[test]
fn each_fault_of_reads_fails_its_cases_and_no_others() {
    let (cases, profile) = (cases(), Profile::reference().unwrap());
    let chosen: Vec<&Fault> =
        faults::all().filter(|fault| is_applicable(fault, &profile) && affects_reads(fault)).collect();
    assert!(chosen.len() >= 40, "only {} faults", chosen.len());
    let wrong = run_faults(&chosen, &cases, true);
    assert!(wrong.is_empty(), "{} of {} faults\n{}", wrong.len(), chosen.len(), wrong.join("\n"));
}

#[test]
fn each_other_fault_fails_its_cases_and_no_others() {
    let (cases, profile) = (cases(), Profile::reference().unwrap());
    let chosen: Vec<&Fault> =
        faults::all().filter(|fault| is_applicable(fault, &profile) && !affects_reads(fault)).collect();
    let wrong = run_faults(&chosen, &cases, false);
    assert!(wrong.is_empty(), "{} of {} faults\n{}", wrong.len(), chosen.len(), wrong.join("\n"));
}

#[test]
fn a_proxy_without_a_fault_passes_all_cases() {
    assert_eq!(failing_cases(&NO_FAULT, &servers(false).unwrap(), &cases()).unwrap(), Vec::<String>::new());
}

#[test]
fn every_fault_names_cases_that_exist() {
    let cases = cases();
    let mut names = Vec::new();
    for fault in faults::all() {
        assert!(!fault.must_fail.is_empty(), "{}", fault.name);
        assert!(!names.contains(&fault.name), "two faults are called '{}'", fault.name);
        names.push(fault.name);
        for id in fault.must_fail {
            assert!(cases.iter().any(|case| case.id == *id), "{}: there is no case {id}", fault.name);
        }
    }
}

/// Starts a server that answers every request with fixed bytes, or echoes it.
fn constant_server(answer: Option<&'static str>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            thread::spawn(move || {
                let _ = stream.set_read_timeout(Some(Duration::from_millis(200)));
                let mut buffer = vec![0; 1 << 16];
                let count = stream.read(&mut buffer).unwrap_or_default();
                let echo = String::from_utf8_lossy(&buffer[..count]).into_owned();
                let body = match answer {
                    Some(answer) => answer.to_owned(),
                    None => {
                        format!(
                            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {count}\r\n\r\n{echo}"
                        )
                    }
                };
                let _ = stream.write_all(body.as_bytes());
            });
        }
    });
    format!("http://{address}/mesh")
}

/// Returns the cases of the first two levels that a server with a constant answer passes.
fn passed(answer: Option<&'static str>) -> Vec<String> {
    let mut profile = Profile::reference().unwrap();
    profile.level = Level::L2;
    profile.profiles = vec!["caching".to_owned()];
    profile.known.clear();
    profile.servers.insert("open".to_owned(), constant_server(answer));
    let selection = Selection { skip_probe: true, ..Selection::default() };
    let report = run::run(&cases(), &Target::new(profile).unwrap(), &selection);
    assert_eq!(report.level(), None);
    report.ids(Grade::Pass).into_iter().map(str::to_owned).collect()
}

#[test]
fn servers_with_a_constant_answer_pass_no_case() {
    let ok =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}";
    let refusal = "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: 74\r\n\
                   \r\n{\"error\":\"ValidationError\",\"message\":\"no\",\"requestId\":\"r\",\"code\":\"X\"}    ";
    assert_eq!(passed(Some(ok)), Vec::<String>::new());
    assert_eq!(passed(Some("")), Vec::<String>::new(), "closes every connection");
    assert_eq!(passed(None), Vec::<String>::new(), "echoes");
    assert_eq!(passed(Some(refusal)), Vec::<String>::new());
}
