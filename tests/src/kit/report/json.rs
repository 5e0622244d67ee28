//! Reports as JSON.

use serde_json::{Map, Value, json};

use crate::kit::case::{Level, Requirement};
use crate::kit::run::{Grade, Report};

pub(super) fn render(report: &Report) -> String {
    let cases: Vec<Value> = report
        .verdicts
        .iter()
        .map(|verdict| {
            let case = &verdict.case;
            let log = verdict.log.iter().map(
                |logged| json!({"request": logged.request, "response": logged.response, "curl": logged.curl}),
            );
            let log: Vec<Value> = if verdict.grade == Grade::Pass { Vec::new() } else { log.collect() };
            json!({
                "id": case.id,
                "rule": case.rule,
                "level": case.level.name(),
                "profile": case.profile,
                "word": if case.requirement == Requirement::Must { "MUST" } else { "SHOULD" },
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
        "seconds": report.took.as_secs_f64(),
        "counts": counts,
        "cases": cases,
    });
    format!("{whole:#}\n")
}
