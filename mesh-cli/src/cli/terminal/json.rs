//! JSON for a terminal: indented, with a color for each kind of value.

use serde_json::Value;

use super::escape::is_invisible_in_data;
use super::{Colors, Style};

/// Returns a value as indented lines.
pub(crate) fn json(value: &Value, colors: Colors) -> String {
    let mut out = String::new();
    write(&mut out, value, colors, "\n");
    out
}

/// Writes a value. `line` is a line break with the indentation. The parser of the value has limited its depth.
fn write(out: &mut String, value: &Value, colors: Colors, line: &str) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            let members = members.iter().map(|(name, value)| (Some(name), value));
            list(out, members, ['{', '}'], colors, line);
        }
        Value::Array(items) if !items.is_empty() => {
            list(out, items.iter().map(|value| (None, value)), ['[', ']'], colors, line);
        }
        Value::Object(_) | Value::Array(_) => out.push_str(&value.to_string()),
        Value::String(text) => out.push_str(&colors.paint(Style::Text, &quoted(text))),
        Value::Number(number) => out.push_str(&colors.paint(Style::Number, &number.to_string())),
        Value::Bool(_) | Value::Null => out.push_str(&colors.paint(Style::Keyword, &value.to_string())),
    }
}

fn list<'v>(
    out: &mut String,
    members: impl Iterator<Item = (Option<&'v String>, &'v Value)>,
    [open, close]: [char; 2],
    colors: Colors,
    line: &str,
) {
    let inner = format!("{line}  ");
    out.push(open);
    for (index, (name, value)) in members.enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(&inner);
        if let Some(name) = name {
            out.push_str(&colors.paint(Style::Name, &quoted(name)));
            out.push_str(": ");
        }
        write(out, value, colors, &inner);
    }
    out.push_str(line);
    out.push(close);
}

/// Returns a JSON string with control and format characters escaped.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    for letter in Value::from(text).to_string().chars() {
        if is_invisible_in_data(letter) {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(letter);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn output_without_colors_equals_serde_json() {
        let value = json!({"a": [1, -2.5, null, true], "b": {}, "c": [], "d": {"e\"": "ü\n"}});
        assert_eq!(json(&value, Colors::OFF), format!("{value:#}"));
    }

    #[test]
    fn each_kind_has_a_color() {
        let shown = json(&json!({"a": ["x", 1, null]}), Colors(true));
        let line = "{\n  \x1b[36m\"a\"\x1b[0m: [\n    \x1b[32m\"x\"\x1b[0m,\n    \x1b[33m1\x1b[0m,\n    \x1b[35mnull\x1b[0m\n  ]\n}";
        assert_eq!(shown, line);
    }

    #[test]
    fn control_characters_are_escaped() {
        let value = json!("\x1b[2J \u{9b}2J \u{7f}");
        assert_eq!(json(&value, Colors::OFF), r#""\u001b[2J \u009b2J \u007f""#);
        let read: Value = serde_json::from_str(&json(&value, Colors::OFF)).unwrap();
        assert_eq!(read, value);
    }
}
