//! A page that compares several servers, from their JSON reports.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;

use super::{escape, html};
use crate::run::Grade;

/// A server with the grades of its cases.
struct Server<'r> {
    name: &'r str,
    report: &'r Value,
    grades: BTreeMap<&'r str, &'r str>,
}

/// Renders a page from JSON reports.
///
/// # Errors
/// Returns a message if a text is not such a report.
pub fn page(reports: &[Value]) -> Result<String, String> {
    let servers: Vec<Server<'_>> = reports.iter().map(server).collect::<Result<_, _>>()?;
    let mut out = html::head("Conformance of several servers");
    out.push_str("<table><tr><th></th>");
    for server in &servers {
        let _ = write!(out, "<th>{}</th>", escape(server.name));
    }
    out.push_str("</tr>\n<tr><th>level</th>");
    for server in &servers {
        let level = server.report.get("level").and_then(Value::as_str).unwrap_or("none");
        let _ = write!(out, "<td>{}</td>", escape(level));
    }
    out.push_str("</tr>\n");
    for grade in Grade::ALL {
        let name = grade.name();
        let _ = write!(out, "<tr><th>{name}</th>");
        for server in &servers {
            let count = server.grades.values().filter(|found| **found == name).count();
            let _ = write!(out, "<td>{count}</td>");
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table>\n");
    cases(&mut out, &servers);
    out.push_str("</html>\n");
    Ok(out)
}

/// Writes the cases that some server does not pass; first those in which the servers differ.
fn cases(out: &mut String, servers: &[Server<'_>]) {
    let ids: BTreeSet<&str> = servers.iter().flat_map(|server| server.grades.keys().copied()).collect();
    let (mut differing, mut agreeing) = (Vec::new(), Vec::new());
    for id in ids {
        let grades: Vec<&str> =
            servers.iter().map(|server| server.grades.get(id).copied().unwrap_or("not run")).collect();
        match grades.first() {
            Some(first) if grades.iter().any(|grade| grade != first) => differing.push((id, grades)),
            Some(&"pass") | None => {}
            Some(_) => agreeing.push((id, grades)),
        }
    }
    for (title, rows) in [("Servers differ", differing), ("No server passes", agreeing)] {
        let _ = writeln!(out, "<h2>{title}: {} cases</h2>\n<table>", rows.len());
        for (id, grades) in rows {
            let _ = write!(out, "<tr><td>{}</td>", escape(id));
            for grade in grades {
                let _ = write!(out, "<td class=\"{0}\">{0}</td>", escape(grade));
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</table>\n");
    }
}

fn server(report: &Value) -> Result<Server<'_>, String> {
    let name = report.get("target").and_then(Value::as_str);
    let cases = report.get("cases").and_then(Value::as_array);
    let (Some(name), Some(cases)) = (name, cases) else {
        return Err("the file is not a report of `--format json`".to_owned());
    };
    let grades =
        cases.iter().filter_map(|case| Some((case.get("id")?.as_str()?, case.get("grade")?.as_str()?)));
    Ok(Server { name, report, grades: grades.collect() })
}
