//! Rules for the language of comments, documentation and messages.
//!
//! The first line of a file states what the file contains. Words that make texts hard to read are refused in comments
//! and in Markdown, except in quotations, code spans and code blocks.

/// Phrases that are refused, with what to write instead.
const RETIRED: [(&str, &str); 16] = [
    ("whoever", "name the subject"),
    ("whichever", "name the alternatives"),
    ("somebody", "name the person or the program"),
    ("nobody", "write a positive sentence"),
    ("dear", "expensive"),
    ("shall", "must, should or will"),
    ("of before", "earlier"),
    ("tells", "returns, reports or shows"),
    ("told", "notified or configured"),
    ("hears", "receives or is notified"),
    ("knows", "has, contains or stores"),
    ("lies", "is"),
    ("tongue", "language or dialect"),
    ("rules of the house", "repository rules"),
    ("chore", "task"),
    ("chores", "tasks"),
];

/// Files whose text is data: names and sentences of sample records, inputs of tests, and this list.
const DATA: [&str; 5] = [
    "CHANGELOG.md",
    "fuzz/corpus/",
    "mesh-schema/src/infer/naming/",
    "tests/fixtures/",
    "xtask/src/tidy/language.rs",
];

/// Returns what is wrong with the language of a file.
pub(super) fn faults(path: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if path.ends_with(".rs") && opens_with_question(text) {
        faults.push("opens with a question; state what the file contains".to_owned());
    }
    if DATA.iter().any(|data| path.starts_with(data)) {
        return faults;
    }
    let mut in_code_block = false;
    for (index, line) in text.lines().enumerate() {
        let prose = if path.ends_with(".md") {
            if line.trim_start().starts_with("```") {
                in_code_block = !in_code_block;
            }
            if in_code_block {
                continue;
            }
            without_quotations(line)
        } else {
            comment(line)
        };
        let words = words(&prose);
        for (phrase, instead) in RETIRED.iter().filter(|(phrase, _)| words.contains(&format!(" {phrase} "))) {
            faults.push(format!("line {}: '{phrase}' is a retired word; {instead}", index + 1));
        }
    }
    faults
}

/// Whether the first paragraph of the module documentation contains a question.
fn opens_with_question(text: &str) -> bool {
    let lines = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let paragraph: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    paragraph.join(" ").split_whitespace().any(|word| word.ends_with('?') && word.len() > 1)
}

/// Returns the comment of a line of code without quotations; an empty text if it has none. In TOML `#` starts a comment.
fn comment(line: &str) -> String {
    let start = line.find("//").or_else(|| line.starts_with('#').then_some(0));
    // A `//` inside a string literal, as in a URL, is not a comment.
    let start =
        start.filter(|start| line.get(..*start).is_some_and(|code| code.matches('"').count() % 2 == 0));
    start.and_then(|start| line.get(start..)).map(without_quotations).unwrap_or_default()
}

/// Returns the words of a line in lower case, each with a blank before and after it.
fn words(line: &str) -> String {
    let words = line.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '_');
    let words: Vec<String> = words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    format!(" {} ", words.join(" "))
}

/// Removes code spans and quotations in double quotes.
fn without_quotations(line: &str) -> String {
    let outside_code: String = line.split('`').step_by(2).collect();
    outside_code.split('"').step_by(2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_open_with_a_question_are_refused() {
        for question in
            ["//! What is it?\n", "//! Who asks? The client.\n", "//! What is\n//! it? This.\n\nuse a;"]
        {
            assert_eq!(faults("a/src/b.rs", question).len(), 1, "{question}");
        }
        for statement in
            ["//! The parser.\n", "//! A set of rules.\n//!\n//! Why? It is fast.\n", "//! `?` in URLs.\n"]
        {
            assert!(faults("a/src/b.rs", statement).is_empty(), "{statement}");
        }
    }

    #[test]
    fn retired_words_are_refused_outside_quotations() {
        let refused = |path: &str, text: &str| faults(path, text).len();
        assert_eq!(refused("a/src/b.rs", "//! A file.\n/// Whoever asks is told.\n"), 2);
        assert_eq!(refused("a/src/b.rs", "//! A file.\nconst A: &str = \"nobody\"; // Nobody.\n"), 1);
        assert_eq!(refused("a/src/b.rs", "//! A file.\nconst A: &str = \"http://nobody\";\n"), 0);
        assert_eq!(refused("a/src/b.rs", "//! A file.\nfn marshall(dearth: u8, told_apart: u8) {}\n"), 0);
        assert_eq!(refused("docs/a.md", "It shall be.\n"), 1);
        assert_eq!(refused("docs/a.md", "It prints \"nobody\" and `whoever`.\n```sh\necho nobody\n```\n"), 0);
    }
}
