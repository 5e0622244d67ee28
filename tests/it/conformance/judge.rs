//! Tests of the conformance cases: a server with an injected fault must fail the cases of the violated rule, and no
//! others.

mod bearer;
mod condition;
mod document;
mod edits;
mod faults;
mod generated;
mod matrix;
mod path;
mod proxy;
mod recording;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use mesh_tests::Part;
use mesh_tests::kit::case::{self, Case, Level};
use mesh_tests::kit::profile::Profile;
use mesh_tests::kit::reference::{self, Reference};
use mesh_tests::kit::run::{self, Grade, Selection};
use mesh_tests::kit::target::Target;

use faults::Fault;
use recording::Recording;

/// Returns the cases that apply to the reference server.
fn cases() -> Vec<Case> {
    let profile = Profile::reference().unwrap();
    let mut cases = case::load(&case::folder()).unwrap();
    cases.retain(|case| {
        let is_excluded = case.excluded_by(|name| profile.claims_profile(name)).is_some();
        profile.claims(case.level, case.profile.as_deref()) && !is_excluded
    });
    cases
}

fn servers() -> Reference {
    reference::start(mesh_tests::program(), Profile::reference().unwrap()).unwrap()
}

#[test]
fn every_case_fails_under_a_fault_and_every_fault_fails_its_cases_and_no_others() {
    if Part::Judge.is_left_out() {
        return;
    }
    let (cases, reference) = (cases(), servers());
    let recording = Recording::make(&cases, &reference).unwrap();
    let mut faults = [faults::written().unwrap(), generated::faults(&recording).unwrap()].concat();
    let filter = std::env::var("MESH_JUDGE").unwrap_or_default();
    faults.retain(|fault| format!("{}: {}", fault.file, fault.name).contains(&filter));
    faults.sort_by_key(|fault| fault.must.is_empty());
    let table = std::env::var_os("MESH_JUDGE_TABLE");
    let outcomes = matrix::run_all(&faults, &reference, &recording, table.is_some());
    if let Some(file) = table {
        let line = |it: &matrix::Outcome| format!("{}\t{}\t{}\n", it.name, it.touched, it.failed.join(" "));
        std::fs::write(file, outcomes.iter().map(line).collect::<String>()).unwrap();
    }
    let unexpected: Vec<String> = outcomes
        .iter()
        .filter_map(|outcome| {
            let fault = faults.iter().find(|fault| fault.name == outcome.name)?;
            matrix::unexpected_result(fault, &outcome.failed)
        })
        .collect();
    let unnoticed = outcomes.iter().filter(|outcome| outcome.failed.is_empty());
    let undetected: Vec<&str> = unnoticed.map(|outcome| outcome.name.as_str()).collect();
    let survivors = if filter.is_empty() { matrix::survivors(&cases, &outcomes) } else { Vec::new() };
    println!("{} cases, {} faults", cases.len(), faults.len());
    assert!(
        unexpected.is_empty() && undetected.is_empty() && survivors.is_empty(),
        "{} faults with other cases than expected\n{}\n{} faults that no case notices\n{}\n{} cases that no fault fails\n{}",
        unexpected.len(),
        unexpected.join("\n"),
        undetected.len(),
        undetected.join("\n"),
        survivors.len(),
        survivors.join(" ")
    );
}

#[test]
fn no_case_fails_with_a_variant_that_conforms() {
    if Part::Judge.is_left_out() {
        return;
    }
    let cases = cases();
    let unchanged = matrix::failing_cases(&Fault::default(), &servers(), &cases);
    assert_eq!(unchanged, Vec::<String>::new(), "a proxy without a fault");
    // New servers, because the login limits of those above are used up.
    let reference = servers();
    let recording = Recording::make(&cases, &reference).unwrap();
    let variants = faults::read("variants.json").unwrap();
    let outcomes = matrix::run_all(&variants, &reference, &recording, true);
    let mut wrong = Vec::new();
    for variant in &variants {
        let outcome = outcomes.iter().find(|outcome| outcome.name == variant.name).unwrap();
        // Repeat the cases alone, because other variants use the same servers at the same time.
        let failed: Vec<Case> =
            cases.iter().filter(|case| outcome.failed.contains(&case.id)).cloned().collect();
        let failures = matrix::failures(variant, &reference, &failed);
        if !failures.is_empty() || outcome.touched == 0 {
            wrong.push(format!("{}: {failures:?}", variant.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The profiles with cases about their absence.
const ABSENT: &[&str] = &["relational", "params", "search", "buckets", "json"];

/// A server without a profile passes the cases about its absence; a server that has the profile but does not claim it fails
/// each of them.
#[test]
fn forms_of_an_absent_profile_are_refused() {
    let profile = Profile::reference().unwrap();
    for name in ABSENT.iter().copied().filter(|name| profile.claims_profile(name)) {
        let mut cases = case::load(&case::folder()).unwrap();
        cases.retain(|case| case.without.as_deref() == Some(name));
        assert!(!cases.is_empty(), "{name}");
        let reference = servers();
        let without =
            faults::read("absent.json").unwrap().into_iter().find(|fault| fault.name == *name).unwrap();
        let failed = |fault: Fault| {
            let upstream = reference.target.base_url("open").unwrap();
            let proxy =
                proxy::Proxy::start("open", upstream, Arc::new(fault), proxy::IssuedValues::default());
            let mut profile = Profile::reference().unwrap();
            profile.profiles.retain(|claimed| claimed.as_str() != name);
            profile.servers.insert("open".to_owned(), format!("http://{}{}", proxy.address, upstream.base));
            let report = run::run(&cases, &Target::new(profile).unwrap(), &Selection::default());
            report.ids(Grade::Fail).len()
        };
        assert_eq!(failed(without), 0, "{name}");
        assert_eq!(failed(Fault::default()), cases.len(), "{name}");
    }
}

#[test]
fn every_fault_names_cases_that_exist() {
    let cases = cases();
    let mut names = Vec::new();
    for fault in faults::written().unwrap() {
        assert!(!names.contains(&fault.name), "two faults are called '{}'", fault.name);
        for id in &fault.must {
            assert!(cases.iter().any(|case| case.id == *id), "{}: there is no case {id}", fault.name);
        }
        names.push(fault.name);
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
                let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ";
                let body = answer.map_or_else(|| format!("{head}{count}\r\n\r\n{echo}"), str::to_owned);
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
