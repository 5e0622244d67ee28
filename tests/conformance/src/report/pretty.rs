//! Reports for terminals: failures in full, everything else as counts.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::shortened;
use crate::case::paragraphs;
use crate::execute::LoggedExchange;
use crate::run::{Grade, Report, Verdict};

/// The longest curl command that is printed.
const CURL_MAX: usize = 8_000;

/// The longest rule that is printed.
const RULE_MAX: usize = 400;

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
        let _ = writeln!(out, "    rule      {}", shortened(&rule, RULE_MAX));
    }
    let _ = writeln!(out, "    why       {}", case.why);
    if let Some(known) = &verdict.known {
        let _ = writeln!(out, "    known     {known}");
        return out.push('\n');
    }
    if let Some(last) = verdict.log.last() {
        let _ = writeln!(out, "    sent      {}", last.request());
    }
    for reason in &verdict.reasons {
        let _ = writeln!(out, "    expected  {reason}");
    }
    if let Some(last) = verdict.log.last() {
        let _ = writeln!(out, "    got       {}", last.response());
        for curl in verdict.log.iter().filter_map(LoggedExchange::curl) {
            let _ = match curl.len() {
                length if length > CURL_MAX => {
                    writeln!(out, "    (a request of {length} bytes; `--format json` has it in full)")
                }
                _ => writeln!(out, "    {curl}"),
            };
        }
    }
    out.push('\n');
}
