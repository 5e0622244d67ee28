//! Reports in the Test Anything Protocol.

use std::fmt::Write as _;

use crate::case::paragraphs;
use crate::execute::LoggedExchange;
use crate::run::{Grade, Report};

pub(super) fn render(report: &Report) -> String {
    let mut out = format!("TAP version 14\n1..{}\n", report.verdicts.len());
    for (index, verdict) in report.verdicts.iter().enumerate() {
        let status = if verdict.is_fine() { "ok" } else { "not ok" };
        let _ = write!(out, "{status} {} - {}", index + 1, verdict.case.id);
        match verdict.grade {
            Grade::Skip => {
                let _ = write!(out, " # SKIP {}", verdict.reasons.join("; ").replace('\n', " "));
            }
            Grade::Warn => out.push_str(" # TODO a SHOULD"),
            _ => {}
        }
        out.push('\n');
        if !verdict.is_fine() || verdict.grade == Grade::Warn {
            out.push_str("  ---\n");
            let _ = writeln!(out, "  grade: {}", verdict.grade.name());
            // Lists of JSON strings are YAML.
            let curls: Vec<_> = verdict.log.iter().filter_map(LoggedExchange::curl).collect();
            for (name, lines) in [
                ("rules", &paragraphs::rules(&verdict.case)),
                ("reasons", &verdict.reasons),
                ("commands", &curls),
            ] {
                let _ = writeln!(out, "  {name}:");
                for line in lines {
                    let _ = writeln!(out, "    - {}", serde_json::Value::from(line.as_str()));
                }
            }
            out.push_str("  ...\n");
        }
    }
    let _ = writeln!(out, "# {}", report.claim());
    out
}
