//! Reports as JUnit XML, with a suite for each level and profile.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use super::escape;
use crate::case::paragraphs;
use crate::execute::LoggedExchange;
use crate::run::{Grade, Report, Verdict};

pub(super) fn render(report: &Report) -> String {
    let mut suites: BTreeMap<&str, Vec<&Verdict>> = BTreeMap::new();
    for verdict in &report.verdicts {
        suites.entry(verdict.case.group()).or_default().push(verdict);
    }
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let all: Vec<&Verdict> = report.verdicts.iter().collect();
    let _ = writeln!(out, "<testsuites name=\"{}\"{}>", escape(&report.target), counts(&all, report.took));
    for (name, verdicts) in suites {
        let took = verdicts.iter().map(|verdict| verdict.took).sum();
        let _ = writeln!(out, "  <testsuite name=\"{}\"{}>", escape(name), counts(&verdicts, took));
        for verdict in verdicts {
            write_verdict(&mut out, verdict);
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn counts(verdicts: &[&Verdict], took: Duration) -> String {
    let count = |holds: fn(&Verdict) -> bool| verdicts.iter().filter(|verdict| holds(verdict)).count();
    format!(
        " tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3}\"",
        verdicts.len(),
        count(|verdict| !verdict.is_fine() && verdict.grade != Grade::SetupError),
        count(|verdict| !verdict.is_fine() && verdict.grade == Grade::SetupError),
        count(|verdict| verdict.grade == Grade::Skip),
        took.as_secs_f64()
    )
}

fn write_verdict(out: &mut String, verdict: &Verdict) {
    let (group, id) = (escape(verdict.case.group()), escape(&verdict.case.id));
    let _ = write!(
        out,
        "    <testcase classname=\"{group}\" name=\"{id}\" time=\"{:.3}\"",
        verdict.took.as_secs_f64()
    );
    let reasons = escape(&verdict.reasons.join("\n"));
    match verdict.grade {
        Grade::Pass => out.push_str("/>\n"),
        Grade::Skip => {
            let _ = writeln!(out, "><skipped message=\"{reasons}\"/></testcase>");
        }
        _ if verdict.is_fine() => {
            let _ = writeln!(out, "><system-out>{reasons}</system-out></testcase>");
        }
        grade => {
            let element = if grade == Grade::SetupError { "error" } else { "failure" };
            let mut lines = paragraphs::rules(&verdict.case);
            lines.extend(verdict.reasons.iter().cloned());
            lines.extend(verdict.log.iter().filter_map(LoggedExchange::curl));
            let text = escape(&lines.join("\n"));
            let first = escape(verdict.reasons.first().map_or("", String::as_str));
            let _ = writeln!(
                out,
                "><{element} type=\"{}\" message=\"{first}\">{text}</{element}></testcase>",
                grade.name()
            );
        }
    }
}
