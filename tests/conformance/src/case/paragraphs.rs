//! The paragraphs of SPEC.md, and which of them have no case.

use super::{Case, Requirement};

/// The text of SPEC.md.
pub const SPECIFICATION: &str = include_str!("../../../../SPEC.md");

/// Lists the paragraphs that cases can cite: `§n.m` for numbered paragraphs, `§n` for a section without numbers, and
/// the parts of the introduction by their titles.
#[must_use]
pub fn in_specification(specification: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut section = String::new();
    let mut numbered = false;
    let mut fenced = false;
    let close = |section: &str, numbered: bool, all: &mut Vec<String>| {
        if !section.is_empty() && !numbered && section != "Introduction" {
            all.push(section.to_owned());
        }
    };
    for line in specification.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        if let Some(title) = line.strip_prefix("## ") {
            close(&section, numbered, &mut all);
            numbered = false;
            section = match title.split_once(' ') {
                Some((number, _)) if number.bytes().all(|byte| byte.is_ascii_digit()) => format!("§{number}"),
                _ => title.to_owned(),
            };
        } else if let Some(title) = line.strip_prefix("### ").filter(|_| section == "Introduction") {
            all.push(format!("Introduction: {title}"));
        } else if let Some((number, _)) = line.split_once(". ").filter(|_| section.starts_with('§'))
            && !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
        {
            numbered = true;
            all.push(format!("{section}.{number}"));
        }
    }
    close(&section, numbered, &mut all);
    all
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
    let (mut out, mut section, mut fenced, mut inside) = (String::new(), String::new(), false, false);
    for line in specification.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if fenced {
            continue;
        } else if let Some(title) = line.strip_prefix("## ") {
            let number = title.split_once(' ').map(|(number, _)| number);
            let number = number.filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
            section = number.map_or_else(|| title.to_owned(), |number| format!("§{number}"));
            inside = section == name;
        } else if let Some(title) = line.strip_prefix("### ") {
            inside = section == name || format!("{section}: {title}") == name;
        } else if let Some((number, text)) = line.split_once(". ").filter(|(number, _)| is_number(number)) {
            inside = section == name || format!("{section}.{number}") == name;
            push(&mut out, text, inside);
        } else {
            push(&mut out, line, inside);
        }
    }
    (!out.is_empty()).then_some(out)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn push(out: &mut String, line: &str, inside: bool) {
    let line = line.trim();
    if !inside || line.is_empty() || line.starts_with("|--") {
        return;
    }
    let after_row = out.lines().last().is_some_and(|last| last.starts_with('|'));
    if !out.is_empty() {
        out.push(if line.starts_with('|') || after_row { '\n' } else { ' ' });
    }
    out.push_str(&line.replace("**", ""));
}
