//! The content of reports.

use mesh_conformance::case::paragraphs::{self, SPECIFICATION};
use mesh_conformance::case::{self, Level};
use mesh_conformance::profile::Profile;
use mesh_conformance::report::{self, Format};
use mesh_conformance::run::{self, Grade, Report, Selection};
use mesh_conformance::target::{SETTINGS, Target, description};
use serde_json::Value;

use crate::server::{BODY, Server};

fn report(body: &str, ids: &[&str]) -> Report {
    let server = Server::new(body);
    let mut profile = Profile::reference().unwrap();
    profile.level = Level::L2;
    profile.profiles.clear();
    profile.known.clear();
    profile.servers.insert("open".to_owned(), server.url());
    let ids = ids.iter().map(|id| (*id).to_owned()).collect();
    let selection = Selection { ids, skip_probe: true, ..Selection::default() };
    run::run(&case::embedded().unwrap(), &Target::new(profile).unwrap(), &selection)
}

#[test]
fn each_failure_has_the_text_of_its_rule() {
    let report = report(BODY, &["3.7-", "2.2-"]);
    let failed = report.ids(Grade::Fail);
    assert!(failed.len() > 10, "{failed:?}");
    for format in [Format::Pretty, Format::Tap, Format::Junit, Format::Json] {
        let text = report::render(&report, format);
        assert!(
            text.contains("MUST §3.7: Operators †. Filters compare a field with a value"),
            "{text:.2000}"
        );
    }
    assert!(report::html(&report).contains("MUST §3.7: Operators †."));
}

#[test]
fn every_rule_has_a_text() {
    let (cases, names) = (case::embedded().unwrap(), paragraphs::in_specification(SPECIFICATION));
    assert_eq!(paragraphs::unknown(&names, &cases), []);
    assert_eq!(paragraphs::without_case(&names, &cases), Vec::<&str>::new());
    assert!(
        names.iter().all(|name| paragraphs::text(SPECIFICATION, name).is_some_and(|text| !text.is_empty()))
    );
    let text = paragraphs::text(SPECIFICATION, "§3.8").unwrap();
    assert!(
        text.starts_with("Form of controls.") && text.ends_with("`[A-Za-z_][A-Za-z0-9_]{0,63}`."),
        "{text}"
    );
}

#[test]
fn every_setting_is_described() {
    assert!(SETTINGS.iter().all(|settings| !description(settings).is_empty()));
}

#[test]
fn failures_are_in_the_order_of_the_specification() {
    let report = report(BODY, &[]);
    let failed = report.ids(Grade::Fail);
    let position = |id: &str| failed.iter().position(|failed| *failed == id).unwrap();
    let ids = ["2.1-collection", "2.12-reads", "3.3-order-of-keys", "4-blanks", "3.7-eq-text"];
    assert!(ids.map(position).is_sorted(), "{failed:?}");
}

#[test]
fn a_terminal_shows_the_body_that_was_sent_and_short_lines() {
    let body = "\u{1}".repeat(5_000);
    let text = report::render(&report(&body, &["2.7-collection"]), Format::Pretty);
    assert!(text.contains("sent      POST /mesh  Content-Type: application/json  body {\"query\""), "{text}");
    assert!(text.lines().all(|line| line.len() < 1_100), "{text}");
}

#[test]
fn no_control_bytes_reach_the_terminal() {
    let report = report("\u{0}\u{1b}[31m\u{9b}x\u{202e}\u{7f}\r", &["3.3-order-of-keys", "3.7-"]);
    for format in [Format::Pretty, Format::Tap] {
        let text = report::render(&report, format);
        let raw = text.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
        assert_eq!(raw, None, "{text:.2000}");
        assert!(text.contains("\\u001b[31m\\u009bx\\u202e"), "{text:.2000}");
    }
}

#[test]
fn page_has_failures_first_and_a_filter_and_short_lines() {
    let report = report(BODY, &[]);
    let page = report::html(&report);
    let grades: Vec<&str> =
        page.split("class=\"case ").skip(1).map(|rest| rest.split([' ', '"']).next().unwrap()).collect();
    assert_eq!(grades.len(), report.verdicts.len());
    let last_failure = grades.iter().rposition(|grade| *grade == "fail").unwrap();
    assert_eq!(last_failure + 1, report.count(Grade::Fail), "{grades:?}");
    for grade in Grade::ALL {
        let rule = format!("body:has(#{0}:not(:checked)) .case.{0}", grade.name());
        assert!(page.contains(&rule) && page.contains(&format!("id=\"{}\"", grade.name())), "{rule}");
    }
    assert!(!page.contains("<script") && !page.contains("http-equiv"));
    let longest = page.lines().map(str::len).max().unwrap();
    assert!(longest < 16_000, "a line of {longest} bytes");
    assert!(page.len() < 3_000 * report.verdicts.len(), "{} bytes", page.len());
}

#[test]
fn junit_has_suites_and_reasons() {
    let report = report(BODY, &["3.3-", "3.7-"]);
    let text = report::render(&report, Format::Junit);
    for suite in ["L1", "L2"] {
        assert!(text.contains(&format!("<testsuite name=\"{suite}\" tests=\"")), "{text:.2000}");
    }
    let failures = report.count(Grade::Fail);
    assert_eq!(text.matches("<failure type=\"fail\" message=\"").count(), failures);
    assert!(
        text.contains(&format!("failures=\"{failures}\"")) && !text.contains("message=\"\""),
        "{text:.2000}"
    );
    assert!(text.ends_with("</testsuites>\n"));
}

#[test]
fn tap_has_reasons_as_yaml() {
    let report = report(BODY, &["3.3-order-of-keys"]);
    let text = report::render(&report, Format::Tap);
    let lines: Vec<&str> = text.lines().collect();
    let begin = lines.iter().position(|line| *line == "  reasons:").unwrap();
    let reason = lines[begin + 1].trim().strip_prefix("- ").unwrap();
    let reason: Value = serde_json::from_str(reason).unwrap();
    assert!(reason.as_str().is_some_and(|reason| !reason.is_empty()), "{text}");
    assert!(text.contains("  commands:\n    - \"curl -i"), "{text}");
}
