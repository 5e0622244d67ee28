//! Reports as one HTML file without scripts: problems come first, and style sheets filter by grade.

use std::fmt::Write as _;

use super::{escape, shortened};
use crate::case::paragraphs;
use crate::run::{Grade, Report, Verdict};

/// The longest request, response or command that is shown.
const SHOWN_MAX: usize = 4_000;

/// The number of exchanges of a case that are shown, the last ones.
const EXCHANGES_MAX: usize = 4;

/// The style of all pages. Each grade has a checkbox with its name as the id.
pub(super) const STYLE: &str = "
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; }
td, th { padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top; }
details, .row { border-top: 1px solid #8884; padding: .3rem 0; }
summary { cursor: pointer; }
code, pre { font: 13px/1.4 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
label { margin-right: 1rem; white-space: nowrap; }
.g { display: inline-block; min-width: 6.5rem; font-weight: 600; }
.pass .g, td.pass { color: #188038; } .fail .g, .setup-error .g, td.fail, td.setup-error { color: #c5221f; }
.warn .g, .undeclared .g, td.warn, td.undeclared { color: #b06000; } .skip .g, td.skip { color: #777; }
";

pub(super) fn render(report: &Report) -> String {
    let mut out = head(&format!("Conformance of {}", report.target));
    let _ = writeln!(out, "<p><strong>{}</strong></p>", escape(&report.claim()));
    if let Some(why) = &report.unreachable {
        let _ = writeln!(out, "<p class=\"fail\">No server could be tested: {}</p>", escape(why));
    }
    out.push_str("<p>Show: ");
    for grade in Grade::ALL {
        let (name, count) = (grade.name(), report.count(grade));
        let _ = write!(out, "<label><input type=\"checkbox\" id=\"{name}\" checked> {count} {name}</label>");
    }
    let seconds = report.took.as_secs_f64();
    let _ = writeln!(out, "</p>\n<p>{} cases in {seconds:.1} seconds</p>", report.verdicts.len());
    let mut verdicts: Vec<&Verdict> = report.verdicts.iter().collect();
    // The sort is stable, so cases of a rank keep their order.
    verdicts.sort_by_key(|verdict| rank(verdict));
    for verdict in verdicts {
        write_verdict(&mut out, verdict);
    }
    out.push_str("</html>\n");
    out
}

/// Returns the beginning of a page with a heading, and the style rules that hide grades whose checkbox is not checked.
pub(super) fn head(title: &str) -> String {
    let title = escape(title);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title>\n<style>{STYLE}"
    );
    for grade in Grade::ALL {
        let name = grade.name();
        let _ = writeln!(out, "body:has(#{name}:not(:checked)) .case.{name} {{ display: none; }}");
    }
    let _ = writeln!(out, "</style>\n<h1>{title}</h1>");
    out
}

fn rank(verdict: &Verdict) -> usize {
    match verdict.grade {
        Grade::Fail if !verdict.is_fine() => 0,
        Grade::SetupError => 1,
        Grade::Undeclared => 2,
        Grade::Fail => 3,
        Grade::Warn => 4,
        Grade::Skip => 6,
        Grade::Pass => 5,
    }
}

fn write_verdict(out: &mut String, verdict: &Verdict) {
    let (case, grade) = (&verdict.case, verdict.grade.name());
    let title = format!(
        "<span class=\"g\">{grade}</span> {} <small>{} SPEC {}</small>",
        escape(&case.id),
        escape(case.group()),
        escape(&case.rule.join(", ")),
    );
    if matches!(verdict.grade, Grade::Pass | Grade::Skip) {
        let why = verdict.reasons.first().unwrap_or(&case.why);
        let _ = writeln!(out, "<div class=\"case row {grade}\">{title} <small>{}</small></div>", escape(why));
        return;
    }
    let open = if verdict.is_fine() { "" } else { " open" };
    let _ = writeln!(out, "<details class=\"case {grade}\"{open}><summary>{title}</summary>");
    for rule in paragraphs::rules(case) {
        let _ = writeln!(out, "<p>{}</p>", escape(&rule).replace('\n', "<br>"));
    }
    let _ = writeln!(out, "<p><em>{}</em></p>", escape(&case.why));
    if let Some(known) = &verdict.known {
        let _ = writeln!(out, "<p>Known: {}</p>", escape(known));
    }
    let _ = writeln!(out, "<pre>{}</pre>", escape(&shortened(&verdict.reasons.join("\n"), SHOWN_MAX)));
    let hidden = verdict.log.len().saturating_sub(EXCHANGES_MAX);
    if hidden > 0 {
        let _ = writeln!(out, "<p>{hidden} earlier exchanges are in the JSON report.</p>");
    }
    for logged in verdict.log.iter().skip(hidden) {
        let parts = [logged.request(), format!("→ {}", logged.response()), logged.curl().unwrap_or_default()];
        let parts: Vec<String> = parts.iter().map(|part| escape(&shortened(part, SHOWN_MAX))).collect();
        let _ = writeln!(out, "<pre>{}</pre>", parts.join("\n"));
    }
    out.push_str("</details>\n");
}
