//! Steps that load a page with everything that it refers to, as a browser would.

use std::collections::BTreeSet;

use crate::http::{self, BaseUrl, Request, Response};

/// The most resources that a page may have.
const RESOURCES_MAX: usize = 200;

/// The texts that precede a reference in a page, a style sheet or a script.
const LEADS: [&str; 11] = [
    "src=\"",
    "href=\"",
    "src='",
    "href='",
    "url(",
    "@import \"",
    "from\"",
    "from \"",
    "import(\"",
    "fetch(\"",
    "import \"",
];

/// Loads a page and everything that it refers to; returns the references to other hosts and the resources that are missing.
pub(super) fn faults(url: &BaseUrl, path: &str) -> Result<Vec<String>, String> {
    let (mut faults, mut seen, mut next) = (Vec::new(), BTreeSet::new(), vec![path.to_owned()]);
    while let Some(path) = next.pop() {
        if !seen.insert(path.clone()) || seen.len() > RESOURCES_MAX {
            continue;
        }
        let request = Request::new("GET", &path).header("Accept", "text/html, */*");
        let response = http::send(&url.authority, &request)?;
        if response.status != 200 {
            faults.push(format!("{path} is answered with {}", response.status));
            continue;
        }
        faults.extend(foreign_sources(&response).into_iter().map(|source| format!("{path} allows {source}")));
        for reference in references(&response) {
            let is_inside =
                ["data:", "blob:", "#", "mailto:"].iter().any(|start| reference.starts_with(start));
            if reference.contains("://") || reference.starts_with("//") {
                faults.push(format!("{path} refers to {reference}"));
            } else if !is_inside {
                next.push(resolve(&path, &reference));
            }
        }
    }
    Ok(faults)
}

/// Returns the other hosts that the page's content security policy allows.
fn foreign_sources(response: &Response) -> Vec<String> {
    let is_page = response.header("content-type").is_some_and(|media| media.starts_with("text/html"));
    let Some(policy) = response.header("content-security-policy") else {
        return if is_page {
            vec!["everything, since it has no Content-Security-Policy".to_owned()]
        } else {
            vec![]
        };
    };
    let sources = policy.split(';').flat_map(|directive| directive.split_whitespace().skip(1));
    let is_foreign = |source: &&str| {
        let is_keyword = source.starts_with('\'') || ["data:", "blob:"].contains(source);
        !is_keyword && (source.contains('.') || source.contains('*') || source.contains(':'))
    };
    sources.filter(is_foreign).map(str::to_owned).collect()
}

/// Returns the resources that a page, style sheet or script refers to, without links that a person has to follow.
fn references(response: &Response) -> Vec<String> {
    let media = response.header("content-type").unwrap_or_default();
    let (text, is_script) = (response.text(), media.contains("javascript"));
    if !is_script && !media.starts_with("text/html") && !media.starts_with("text/css") {
        return Vec::new();
    }
    let mut found = Vec::new();
    for lead in LEADS {
        // A script that writes HTML may contain any attribute; only resources that the script itself loads count.
        if is_script && (lead.contains('=') || lead == "url(") {
            continue;
        }
        for (at, _) in text.match_indices(lead) {
            let (before, after) = text.split_at(at);
            if is_script && lead.starts_with("from") && is_quoted_import(before) {
                continue;
            }
            let tag = before.rsplit('<').next().unwrap_or_default();
            let after = after.get(lead.len()..).unwrap_or_default().trim_start_matches(['"', '\'']);
            let end = after.find(['"', '\'', ')', '\n']).unwrap_or(after.len());
            let is_link = lead.starts_with("href") && (tag.starts_with("a ") || tag.starts_with("a\n"));
            let reference = after.get(..end).unwrap_or_default();
            let is_loaded = reference.contains("//") || reference.starts_with(['.', '/']) || !is_script;
            if !is_link && is_loaded && !reference.is_empty() && !reference.contains("${") {
                found.push(reference.to_owned());
            }
        }
    }
    found
}

/// Returns whether an import whose source follows `before` is the beginning of a string, and therefore only text.
fn is_quoted_import(before: &str) -> bool {
    let import = before.rfind("import").and_then(|at| before.get(..at));
    import.is_some_and(|rest| rest.ends_with(['"', '\'', '`']))
}

/// Resolves a relative reference.
fn resolve(page: &str, reference: &str) -> String {
    let reference = reference.split('#').next().unwrap_or_default();
    if reference.starts_with('/') {
        return reference.to_owned();
    }
    let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut segments: Vec<&str> = folder.split('/').collect();
    for segment in reference.split('/') {
        match segment {
            "." => {}
            ".." => drop(segments.pop()),
            other => segments.push(other),
        }
    }
    segments.join("/")
}
