//! The paragraphs of SPEC.md, and which of them have no case.

use super::Case;

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
