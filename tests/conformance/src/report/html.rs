//! Reports as one HTML file without scripts.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::escape;
use crate::run::{Grade, Report, Verdict};

const STYLE: &str = "
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; }
td, th { padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top; }
details { border-top: 1px solid #8884; padding: .3rem 0; }
summary { cursor: pointer; }
code, pre { font: 13px/1.4 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
.g { display: inline-block; min-width: 6.5rem; font-weight: 600; }
.pass .g { color: #188038; } .fail .g, .setup-error .g { color: #c5221f; }
.warn .g, .undeclared .g { color: #b06000; } .skip .g { color: #777; }
";

pub(super) fn render(report: &Report) -> String {
    let mut out = String::new();
    let title = escape(&format!("Conformance of {}", report.target));
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title>\
         <style>{STYLE}</style>\n<h1>{title}</h1>\n<p><strong>{}</strong></p>\n<table><tr>",
        escape(&report.claim())
    );
    for grade in Grade::ALL {
        let _ = write!(out, "<th>{}</th>", grade.name());
    }
    out.push_str("</tr><tr>");
    for grade in Grade::ALL {
        let _ = write!(out, "<td>{}</td>", report.count(grade));
    }
    let _ = writeln!(out, "</tr></table>\n<p>{:.1} seconds</p>", report.took.as_secs_f64());
    let mut groups: BTreeMap<&str, Vec<&Verdict>> = BTreeMap::new();
    for verdict in &report.verdicts {
        groups.entry(verdict.case.group()).or_default().push(verdict);
    }
    for (group, verdicts) in groups {
        let passed = verdicts.iter().filter(|verdict| verdict.grade == Grade::Pass).count();
        let _ = writeln!(out, "<h2>{} <small>{passed} of {}</small></h2>", escape(group), verdicts.len());
        for verdict in verdicts {
            write_verdict(&mut out, verdict);
        }
    }
    out.push_str("</html>\n");
    out
}

fn write_verdict(out: &mut String, verdict: &Verdict) {
    let (case, grade) = (&verdict.case, verdict.grade.name());
    let open = if verdict.is_fine() { "" } else { " open" };
    let _ = write!(
        out,
        "<details class=\"{grade}\"{open}><summary><span class=\"g\">{grade}</span> {} \
         <small>SPEC {}</small></summary><p>{}</p>",
        escape(&case.id),
        escape(&case.rule.join(", ")),
        escape(&case.why)
    );
    if !verdict.reasons.is_empty() {
        let _ = write!(out, "<pre>{}</pre>", escape(&verdict.reasons.join("\n")));
    }
    for logged in &verdict.log {
        let _ = write!(
            out,
            "<pre>{}\n→ {}\n\n{}</pre>",
            escape(&logged.request()),
            escape(&logged.response()),
            escape(&logged.curl().unwrap_or_default())
        );
    }
    out.push_str("</details>\n");
}
