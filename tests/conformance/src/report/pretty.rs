//! Reports for terminals: failures in full, everything else as counts.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{printable, shortened};
use crate::case::paragraphs;
use crate::execute::LoggedExchange;
use crate::run::{Grade, Report, Verdict};

/// The longest curl command that is printed.
const CURL_MAX: usize = 8_000;

/// The most characters of a request, a response or a reason that are printed.
const SHOWN_MAX: usize = 1_000;

/// The width to which rules are wrapped.
const WIDTH: usize = 110;

pub(super) fn render(report: &Report) -> String {
    let mut out = String::new();
    for verdict in &report.verdicts {
        if !matches!(verdict.grade, Grade::Pass | Grade::Skip) {
            write_verdict(&mut out, verdict);
        }
    }
    let mut skipped: BTreeMap<&str, usize> = BTreeMap::new();
    for verdict in report.verdicts.iter().filter(|verdict| verdict.grade == Grade::Skip) {
        *skipped.entry(verdict.reasons.first().map_or("", String::as_str)).or_default() += 1;
    }
    for (reason, count) in skipped {
        let _ = writeln!(out, "skip        {count} cases: {reason}");
    }
    let mut groups: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for verdict in &report.verdicts {
        let (passed, all) = groups.entry(verdict.case.group()).or_default();
        *passed += usize::from(verdict.grade == Grade::Pass);
        *all += 1;
    }
    for (group, (passed, all)) in groups {
        let _ = writeln!(out, "{group:<12}{passed} of {all}");
    }
    let counts: Vec<String> = Grade::ALL
        .into_iter()
        .map(|grade| (grade.name(), report.count(grade)))
        .filter(|(name, count)| *count > 0 || *name == "pass")
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    let seconds = report.took.as_secs_f64();
    let _ = writeln!(out, "{} cases in {seconds:.1} s: {}", report.verdicts.len(), counts.join(", "));
    let _ = writeln!(out, "{}", report.claim());
    out
}

fn write_verdict(out: &mut String, verdict: &Verdict) {
    let case = &verdict.case;
    let _ = writeln!(out, "{:<12}{}  (SPEC {})", verdict.grade.name(), case.id, case.rule.join(", "));
    for rule in paragraphs::rules(case) {
        write_wrapped(out, "rule", &rule);
    }
    let _ = writeln!(out, "    why       {}", case.why);
    if let Some(known) = &verdict.known {
        let _ = writeln!(out, "    known     {known}");
        return out.push('\n');
    }
    if let Some(last) = verdict.log.last() {
        write_line(out, "sent", &last.request());
        write_line(out, "got", &last.response());
    }
    for reason in &verdict.reasons {
        write_line(out, "wrong", reason);
    }
    for curl in verdict.log.iter().filter_map(LoggedExchange::curl) {
        let _ = match curl.len() {
            length if length > CURL_MAX => {
                writeln!(out, "    (a request of {length} bytes; `--format json` has it in full)")
            }
            _ => writeln!(out, "    {curl}"),
        };
    }
    out.push('\n');
}

/// Writes a label and a text of a server, of which control characters become escapes and little is shown.
fn write_line(out: &mut String, label: &str, text: &str) {
    let _ = writeln!(out, "    {label:<10}{}", shortened(&printable(text).replace('\n', "\\n"), SHOWN_MAX));
}

/// Writes a label and a text in lines of a readable width.
fn write_wrapped(out: &mut String, label: &str, text: &str) {
    let mut label = label;
    for line in text.lines() {
        let mut width = 0;
        for word in line.split(' ') {
            if width == 0 || width + word.len() > WIDTH {
                let _ = write!(out, "{}    {label:<10}{word}", if width == 0 { "" } else { "\n" });
                (label, width) = ("", 0);
            } else {
                let _ = write!(out, " {word}");
            }
            width += word.len() + 1;
        }
        out.push('\n');
    }
}
