//! The paragraphs of SPEC.md, and which of them have no case.

use super::{Case, Requirement};

/// The text of SPEC.md.
pub const SPECIFICATION: &str = include_str!("../../../../SPEC.md");

/// Lists the paragraphs that cases can cite: `§n.m` for numbered paragraphs, `§n` for a section without numbers, and
/// the parts of the introduction by their titles.
#[must_use]
pub fn in_specification(specification: &str) -> Vec<String> {
    all(specification).into_iter().map(|(name, _)| name).collect()
}

/// Returns the paragraphs that no case cites.
#[must_use]
pub fn without_case<'p>(paragraphs: &'p [String], cases: &[Case]) -> Vec<&'p str> {
    let cited = |paragraph: &String| cases.iter().any(|case| case.rule.contains(paragraph));
    paragraphs.iter().filter(|paragraph| !cited(paragraph)).map(String::as_str).collect()
}

/// Returns the citations, with the id of their case, that the specification does not contain.
#[must_use]
pub fn unknown<'c>(paragraphs: &[String], cases: &'c [Case]) -> Vec<(&'c str, &'c str)> {
    let mut unknown = Vec::new();
    for case in cases {
        for rule in case.rule.iter().filter(|rule| !paragraphs.contains(rule)) {
            unknown.push((case.id.as_str(), rule.as_str()));
        }
    }
    unknown
}

/// Returns the rules of a case, each as `MUST §n.m` with the text of the paragraph.
#[must_use]
pub fn rules(case: &Case) -> Vec<String> {
    let word = match case.requirement {
        Requirement::Must => "MUST",
        Requirement::Should => "SHOULD",
    };
    let text = |name: &String| match text(SPECIFICATION, name) {
        Some(text) => format!("{word} {name}: {text}"),
        None => format!("{word} {name}"),
    };
    case.rule.iter().map(text).collect()
}

/// Returns the text of a paragraph without examples, in one line, but with a line for each row of a table.
#[must_use]
pub fn text(specification: &str, name: &str) -> Option<String> {
    all(specification).into_iter().find(|(found, _)| found == name).map(|(_, text)| text)
}

/// Returns the names and texts of all paragraphs.
fn all(specification: &str) -> Vec<(String, String)> {
    let (mut all, mut section, mut fenced) = (Vec::<(String, String)>::new(), String::new(), false);
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    for line in specification.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if fenced {
            continue;
        } else if let Some(title) = line.strip_prefix("## ") {
            let number = title.split_once(' ').map(|(number, _)| number).filter(|number| is_number(number));
            section = number.map_or_else(|| title.to_owned(), |number| format!("§{number}"));
            all.push((section.clone(), String::new()));
        } else if let Some(title) = line.strip_prefix("### ") {
            let is_part = section == "Introduction";
            let name = if is_part { format!("{section}: {title}") } else { section.clone() };
            // What follows such a title in a section with numbers belongs to none of them.
            if all.last().is_some_and(|(last, _)| *last != name) {
                all.push((name, String::new()));
            }
        } else if let Some((number, text)) = line.split_once(". ")
            && section.starts_with('§')
            && is_number(number)
        {
            all.push((format!("{section}.{number}"), String::new()));
            push(&mut all, text);
        } else {
            push(&mut all, line);
        }
    }
    let numbered = |name: &str| all.iter().any(|(other, _)| other.starts_with(&format!("{name}.")));
    let kept: Vec<bool> = all.iter().map(|(name, _)| name != "Introduction" && !numbered(name)).collect();
    all.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|(paragraph, _)| paragraph).collect()
}

/// Adds a line to the last paragraph.
fn push(all: &mut [(String, String)], line: &str) {
    let line = line.trim();
    let Some((_, out)) = all.last_mut().filter(|_| !line.is_empty() && !line.starts_with("|--")) else {
        return;
    };
    let after_row = out.lines().last().is_some_and(|last| last.starts_with('|'));
    if !out.is_empty() {
        out.push(if line.starts_with('|') || after_row { '\n' } else { ' ' });
    }
    out.push_str(&line.replace("**", ""));
}
