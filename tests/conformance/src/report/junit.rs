//! Reports as JUnit XML.

use std::fmt::Write as _;

use super::escape;
use crate::execute::LoggedExchange;
use crate::run::{Grade, Report, Verdict};

pub(super) fn render(report: &Report) -> String {
    let bad = report.verdicts.iter().filter(|verdict| !verdict.is_fine()).count();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        out,
        "<testsuite name=\"{}\" tests=\"{}\" failures=\"{bad}\" skipped=\"{}\" time=\"{:.3}\">",
        escape(&report.target),
        report.verdicts.len(),
        report.count(Grade::Skip),
        report.took.as_secs_f64()
    );
    for verdict in &report.verdicts {
        write_verdict(&mut out, verdict);
    }
    out.push_str("</testsuite>\n");
    out
}

fn write_verdict(out: &mut String, verdict: &Verdict) {
    let (group, id) = (escape(verdict.case.group()), escape(&verdict.case.id));
    let _ = write!(
        out,
        "  <testcase classname=\"{group}\" name=\"{id}\" time=\"{:.3}\"",
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
            let curl: Vec<String> = verdict.log.iter().filter_map(LoggedExchange::curl).collect();
            let text = escape(&curl.join("\n"));
            let _ = writeln!(
                out,
                "><failure type=\"{}\" message=\"{reasons}\">{text}</failure></testcase>",
                grade.name()
            );
        }
    }
}
