//! Reports as JSON.

use serde_json::{Map, Value, json};

use crate::case::{Level, Requirement, paragraphs};
use crate::execute::LoggedExchange;
use crate::run::{Grade, Report};

pub(super) fn render(report: &Report) -> String {
    let cases: Vec<Value> = report
        .verdicts
        .iter()
        .map(|verdict| {
            let case = &verdict.case;
            let logged = |logged: &LoggedExchange| {
                let curl = logged.curl().unwrap_or_default();
                json!({"request": logged.request(), "response": logged.response(), "curl": curl})
            };
            let is_shown = |_: &&LoggedExchange| verdict.grade != Grade::Pass;
            let log: Vec<Value> = verdict.log.iter().filter(is_shown).map(logged).collect();
            let rules = if log.is_empty() { Vec::new() } else { paragraphs::rules(case) };
            json!({
                "id": case.id,
                "rule": case.rule,
                "level": case.level.name(),
                "profile": case.profile,
                "word": if case.requirement == Requirement::Must { "MUST" } else { "SHOULD" },
                "group": case.group(),
                "why": case.why,
                "rules": rules,
                "grade": verdict.grade.name(),
                "reasons": verdict.reasons,
                "known": verdict.known,
                "milliseconds": verdict.took.as_secs_f64() * 1e3,
                "log": log,
            })
        })
        .collect();
    let counts: Map<String, Value> =
        Grade::ALL.into_iter().map(|grade| (grade.name().to_owned(), report.count(grade).into())).collect();
    let whole = json!({
        "target": report.target,
        "good": report.is_good(),
        "level": report.level().map(Level::name),
        "profiles": report.profiles(),
        "partial": report.partial,
        "unreachable": report.unreachable,
        "seconds": report.took.as_secs_f64(),
        "counts": counts,
        "cases": cases,
    });
    format!("{whole:#}\n")
}
