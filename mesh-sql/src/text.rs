//! Extraction of names from SQL text that databases store or report, such as conditions of constraints.

use mesh_plan::mutation::GuardedEntity;

/// A token of SQL text, as far as it matters for finding names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// A keyword or a name without quotation marks.
    Word(String),
    /// A quoted name, without its quotation marks.
    Quoted(String),
    /// A string literal, without its quotation marks.
    Text(String),
    /// Any other character.
    Symbol(char),
}

/// Splits SQL into tokens. Numbers, white space and comments are left out.
pub fn tokens(sql: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let (token, after) = match first {
            '\'' => {
                let (text, after) = quoted(rest, '\'');
                (Some(Token::Text(text)), after)
            }
            '"' | '`' => {
                let (name, after) = quoted(rest, first);
                (Some(Token::Quoted(name)), after)
            }
            '[' => {
                let (name, after) = split(rest.trim_start_matches('['), |c| c == ']');
                (Some(Token::Quoted(name.to_owned())), after.strip_prefix(']').unwrap_or(after))
            }
            '-' if rest.starts_with("--") => (None, split(rest, |c| c == '\n').1),
            '/' if rest.starts_with("/*") => (None, rest.split_once("*/").map_or("", |(_, after)| after)),
            _ if first.is_alphanumeric() || first == '_' => {
                let (word, after) = split(rest, |c| !(c.is_alphanumeric() || c == '_' || c == '$'));
                ((!first.is_numeric()).then(|| Token::Word(word.to_owned())), after)
            }
            _ => {
                let token = (!first.is_whitespace()).then_some(Token::Symbol(first));
                (token, rest.get(first.len_utf8()..).unwrap_or_default())
            }
        };
        tokens.extend(token);
        rest = after;
    }
    tokens
}

/// Returns the names in a condition. They include keywords, but not functions and types.
pub fn names(tokens: &[Token]) -> Vec<&str> {
    let mut names = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let is_type = index.checked_sub(1).and_then(|before| tokens.get(before)) == Some(&Token::Symbol(':'));
        let is_function = tokens.get(index + 1) == Some(&Token::Symbol('('));
        match token {
            Token::Word(name) if !is_type && !is_function => names.push(name.as_str()),
            Token::Quoted(name) if !is_type && !is_function => names.push(name.as_str()),
            _ => {}
        }
    }
    names
}

/// Returns the given columns that a condition names, in their order.
pub fn columns<'c>(condition: &[Token], columns: impl Iterator<Item = &'c str>) -> Vec<&'c str> {
    let names = names(condition);
    columns.filter(|column| names.iter().any(|name| name.eq_ignore_ascii_case(column))).collect()
}

/// Returns the fields that a condition names, if the principal may see them. For messages.
pub fn fields(subject: &GuardedEntity, condition: &str) -> Vec<String> {
    let all = subject.entity().fields.iter().map(|field| field.column.as_str());
    subject.fields_of_columns(columns(&tokens(condition), all).into_iter())
}

/// Splits a text after the quoted part at its start, and returns that part unquoted. Quotation marks inside it are doubled.
fn quoted(text: &str, mark: char) -> (String, &str) {
    let mut content = String::new();
    let mut rest = text.strip_prefix(mark).unwrap_or(text);
    loop {
        let (part, after) = split(rest, |c| c == mark);
        content.push_str(part);
        let after = after.strip_prefix(mark).unwrap_or_default();
        let Some(further) = after.strip_prefix(mark) else { return (content, after) };
        content.push(mark);
        rest = further;
    }
}

/// Splits a text before the first character for which `ends` holds.
fn split(text: &str, ends: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(ends).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn found(condition: &str, expected: &[&str]) {
        let all = ["area", "Label", "odd \"name", "text", "length", "x"];
        assert_eq!(columns(&tokens(condition), all.into_iter()), expected, "{condition}");
    }

    #[test]
    fn columns_of_conditions_are_found() {
        found("area > 0", &["area"]);
        found("length(label) <= 5 AND area<>1e5", &["area", "Label"]);
        found("\"odd \"\"name\" = 'area'", &["odd \"name"]);
        found("[area] = `label` -- text\n/* x */", &["area", "Label"]);
        found("(x ->> 'area'::text)", &["x"]);
        found("'it''s text", &[]);
        found("\"area", &["area"]);
        found("", &[]);
    }
}
