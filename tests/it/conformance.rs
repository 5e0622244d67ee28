//! Conformance of the reference server, and consistency of the conformance kit.

mod judge;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use mesh_tests::kit::case::{self, Case, Level, Requirement};
use mesh_tests::kit::fixture::{self, Dialect};
use mesh_tests::kit::matcher::KINDS;
use mesh_tests::kit::profile::Profile;
use mesh_tests::kit::reference::Storage;
use mesh_tests::kit::report::{self, Format};
use mesh_tests::kit::run::{self, Grade, Selection};
use mesh_tests::kit::target::{SETTINGS, Target};
use mesh_tests::kit::{json_schema, paragraphs, reference};
use mesh_tests::{Cluster, Database, MariaDb, Server};
use serde_json::Value;

/// The optional profiles that cannot be disabled in the reference server.
const ALWAYS_ON: [&str; 5] = ["relational", "params", "search", "buckets", "json"];

fn cases() -> Vec<Case> {
    case::load(&case::folder()).unwrap()
}

fn specification() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../SPEC.md")).unwrap()
}

/// Returns the level that a profile may claim, given the cases that it lists as known failures.
fn claimable(profile: &Profile, cases: &[Case]) -> Option<Level> {
    let has_known_failure = |level: Level| {
        let of_level = |case: &&Case| {
            case.profile.is_none() && case.level == level && case.requirement == Requirement::Must
        };
        cases.iter().filter(of_level).any(|case| profile.known.contains_key(&case.id))
    };
    Level::ALL.into_iter().take_while(|level| *level <= profile.level && !has_known_failure(*level)).last()
}

#[test]
fn the_reference_server_conforms_to_its_profile() {
    let profile = Profile::reference().unwrap();
    let (profiles, known) = (profile.profiles.clone(), profile.known.clone());
    let level = claimable(&profile, &cases());
    let reference = reference::start(mesh_tests::program(), profile).unwrap();
    let report = run::run(&cases(), &reference.target, &Selection::default());
    let shown = report::render(&report, Format::Pretty);
    println!("{shown}");
    assert!(report.is_good(), "{shown}");
    assert_eq!(report.level(), level, "{shown}");
    let claimed: BTreeSet<&str> = report.profiles().into_iter().collect();
    let cases = cases();
    let unfinished =
        |name: &str| cases.iter().any(|case| case.group() == name && known.contains_key(&case.id));
    for name in &profiles {
        assert_eq!(claimed.contains(name.as_str()), !unfinished(name), "{name}\n{shown}");
    }
    for id in known.keys() {
        assert!(cases.iter().any(|case| case.id == *id), "profile.toml lists {id}, which is not a case");
    }
}

#[test]
fn postgresql_answers_every_case_as_sqlite_does() {
    // Each of the servers may open 33 connections.
    let most = format!("max_connections = {}", 40 * SETTINGS.len());
    let Some(cluster) = Cluster::start_with(&[&most]) else { return };
    let profile = Profile::reference().unwrap();
    let level = claimable(&profile, &cases());
    let reference = reference::start_on(mesh_tests::program(), profile, Storage::Postgres(&cluster)).unwrap();
    let report = run::run(&cases(), &reference.target, &Selection::default());
    let shown = report::render(&report, Format::Pretty);
    assert!(report.is_good(), "{shown}");
    assert_eq!(report.level(), level, "{shown}");
}

#[test]
fn mariadb_answers_every_case_as_sqlite_does() {
    let Some(server) = MariaDb::start() else { return };
    server.load_zones(&["Europe/Berlin", "America/New_York"]);
    let profile = Profile::reference().unwrap();
    let level = claimable(&profile, &cases());
    let reference = reference::start_on(mesh_tests::program(), profile, Storage::MariaDb(&server)).unwrap();
    let report = run::run(&cases(), &reference.target, &Selection::default());
    let shown = report::render(&report, Format::Pretty);
    assert!(report.is_good(), "{shown}");
    assert_eq!(report.level(), level, "{shown}");
}

#[test]
fn a_target_that_requires_signatures_is_tested_with_signed_requests() {
    let reference = reference::start(mesh_tests::program(), Profile::reference().unwrap()).unwrap();
    let mut profile = Profile::reference().unwrap();
    profile.level = Level::L2;
    profile.profiles.retain(|name| ALWAYS_ON.contains(&name.as_str()));
    profile.known.clear();
    let signed = reference.target.profile.servers.get("signed").unwrap();
    profile.servers.insert("signed".to_owned(), signed.clone());
    let report = run::run(&cases(), &Target::new(profile).unwrap(), &Selection::default());
    let shown = report::render(&report, Format::Pretty);
    assert!(report.is_good() && report.level() == Some(Level::L2), "{shown}");
}

#[test]
fn any_base_path_is_supported() {
    let statements = fixture::sql(Dialect::Sqlite).unwrap();
    let schema = fixture::file("schema.json").display().to_string();
    for base in ["/api/v1", "/"] {
        let database = Database::new(&statements);
        let server = Server::start(&["--database", &database.url(), "--schema", &schema, "--base", base]);
        let mut profile = Profile::reference().unwrap();
        profile.level = Level::L1;
        profile.profiles.retain(|name| ALWAYS_ON.contains(&name.as_str()));
        profile.known.clear();
        profile.servers.insert("open".to_owned(), format!("http://{}{}", server.address, server.base));
        let report = run::run(&cases(), &Target::new(profile).unwrap(), &Selection::default());
        let shown = report::render(&report, Format::Pretty);
        assert!(report.is_good() && report.level() == Some(Level::L1), "base '{base}'\n{shown}");
    }
}

#[test]
fn there_are_cases_for_all_levels_and_profiles() {
    let cases = cases();
    assert!(cases.len() >= 300, "{} cases", cases.len());
    let groups: BTreeSet<&str> = cases.iter().map(Case::group).collect();
    let all = [
        "L1",
        "L2",
        "L3",
        "L4",
        "batch",
        "bearer",
        "buckets",
        "caching",
        "computed",
        "cors",
        "docs",
        "events",
        "export",
        "hooks",
        "hosts",
        "inference",
        "json",
        "keys",
        "mutations",
        "params",
        "persisted",
        "policies",
        "relational",
        "search",
    ];
    assert_eq!(groups.into_iter().collect::<Vec<_>>(), all);
}

#[test]
fn every_paragraph_has_a_case() {
    let (cases, all) = (cases(), paragraphs::in_specification(&specification()));
    assert!(all.iter().any(|paragraph| paragraph == "§3.10"), "{all:?}");
    assert_eq!(paragraphs::unknown(&all, &cases), [], "cases that cite what SPEC.md does not have");
    let without = paragraphs::without_case(&all, &cases);
    assert!(without.is_empty(), "paragraphs without a case: {without:?}");
}

#[test]
fn cases_conform_to_their_schema() {
    let folder = case::folder();
    let read = |path: &Path| -> Value { serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap() };
    let schema = read(&folder.join("cases/case.schema.json"));
    let files = case::files(&folder).unwrap();
    assert!(files.len() > 10, "{files:?}");
    let mut faults = Vec::new();
    for file in &files {
        let found = json_schema::violations(&schema, &read(file));
        faults.extend(found.into_iter().map(|fault| format!("{}: {fault}", file.display())));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let wrong = serde_json::json!({"$schema": "../case.schema.json", "about": "x", "cases": [
        {"id": "1-x", "rule": ["§1"], "level": "L9", "why": "because", "steps": [{"sent": 1}], "colour": 1}
    ]});
    assert_eq!(
        json_schema::violations(&schema, &wrong).len(),
        4,
        "{:?}",
        json_schema::violations(&schema, &wrong)
    );
}

#[test]
fn fixture_statements_are_up_to_date() {
    for (dialect, name) in Dialect::ALL {
        let (made, file) = (fixture::sql(dialect).unwrap(), fixture::file(name));
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(&file, &made).unwrap();
        }
        let kept = fs::read_to_string(&file).unwrap_or_default();
        assert!(kept == made, "{name} is not what data.json makes; UPDATE_EXPECT=1 writes it");
    }
}

#[test]
fn the_guide_for_implementers_lists_all_settings_matchers_and_grades() {
    let page = fs::read_to_string(case::folder().join("README.md")).unwrap();
    for name in SETTINGS.iter().chain(KINDS.iter().map(|(name, _)| name)) {
        assert!(page.contains(&format!("`{name}`")), "README.md does not name {name}");
    }
    for grade in Grade::ALL {
        assert!(page.contains(&format!("`{}`", grade.name())), "README.md does not name {}", grade.name());
    }
}

#[test]
fn a_target_without_the_fixture_is_a_setup_error() {
    let mut profile = Profile::reference().unwrap();
    profile.servers.insert("open".to_owned(), "http://127.0.0.1:1/mesh".to_owned());
    let report = run::run(&cases(), &Target::new(profile).unwrap(), &Selection::default());
    assert_eq!((report.count(Grade::Pass), report.count(Grade::Fail)), (0, 0));
    assert!(report.count(Grade::SetupError) > 0 && report.level().is_none());
}

#[test]
fn an_undeclared_choice_is_graded_undeclared() {
    let mut profile = Profile::reference().unwrap();
    profile.level = Level::L2;
    profile.undeclare("limits.page_max");
    let reference = reference::start(mesh_tests::program(), profile).unwrap();
    let selection =
        Selection { ids: vec!["3.10-largest".to_owned(), "3.10-first".to_owned()], ..Selection::default() };
    let report = run::run(&cases(), &reference.target, &selection);
    assert_eq!(report.ids(Grade::Undeclared), ["3.10-largest"]);
    assert!(report.count(Grade::Pass) > 0 && !report.is_good());
}

#[test]
fn reports_are_rendered_in_every_format() {
    let mut profile = Profile::reference().unwrap();
    profile.level = Level::L1;
    let reference = reference::start(mesh_tests::program(), profile).unwrap();
    let mut cases: Vec<Case> = cases().into_iter().filter(|case| case.id.starts_with("5.1-")).collect();
    cases[0].steps[0].expect.as_mut().unwrap().status = Some(418.into());
    let report = run::run(&cases, &reference.target, &Selection::default());
    let id = cases[0].id.clone();
    for (name, format) in Format::ALL {
        let text = report::render(&report, format);
        assert!(text.contains(&id) && text.contains("curl -i"), "{name}: {text}");
    }
    let json: Value = serde_json::from_str(&report::render(&report, Format::Json)).unwrap();
    assert_eq!((&json["counts"]["fail"], &json["good"]), (&Value::from(1), &Value::from(false)));
    let page = report::html(&report);
    assert!(page.contains(&id) && !page.contains("<script") && !page.contains("http-equiv"), "{page}");
}

/// Starts the example server in Python; `None` if Python is not installed.
fn level1() -> Option<Server> {
    let python =
        Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success());
    if !python {
        mesh_tests::skip("python3", "install Debian's python3");
        return None;
    }
    let mut command = Command::new("python3");
    command.arg(case::folder().join("examples/level1.py")).arg("0");
    Some(Server::try_spawn(&mut command, None).unwrap())
}

fn level1_profile(server: &Server) -> Profile {
    let mut profile = Profile::read(&case::folder().join("examples/level1.toml")).unwrap();
    profile.servers.insert("open".to_owned(), format!("http://{}{}", server.address, server.base));
    profile
}

#[test]
fn an_independent_server_passes_level_1() {
    let Some(server) = level1() else { return };
    let target = Target::new(level1_profile(&server)).unwrap();
    let report = run::run(&cases(), &target, &Selection::default());
    let shown = report::render(&report, Format::Pretty);
    assert!(report.is_good(), "{shown}");
    assert_eq!((report.level(), report.profiles().len()), (Some(Level::L1), 0), "{shown}");
    assert!(report.count(Grade::Pass) > 200);
}

#[test]
fn an_independent_server_fails_the_cases_of_level_2() {
    let Some(server) = level1() else { return };
    let mut profile = level1_profile(&server);
    profile.level = Level::L2;
    let report = run::run(&cases(), &Target::new(profile).unwrap(), &Selection::default());
    assert!(!report.is_good() && report.level() == Some(Level::L1));
    let failed = |id: &str| report.ids(Grade::Fail).contains(&id);
    for id in
        ["5.2-envelope", "3.7-eq-text", "3.9-desc", "3.10-first", "3.12-count", "3.13-distinct", "5.4-walk"]
    {
        assert!(failed(id), "{id} does not fail");
    }
    let shown = report::render(&report, Format::Pretty);
    assert!(
        shown.contains("may claim L1") && shown.contains("§3.12") && shown.contains("curl -i"),
        "{shown}"
    );
}
