//! JSON for a terminal: indented, with a color for each kind of value.

use serde_json::Value;

use super::escape::is_invisible_in_data;
use super::{Colors, Style};

/// Returns a value as indented lines.
pub(crate) fn json(value: &Value, colors: Colors) -> String {
    indented(value, colors, "\n")
}

/// Returns a value as lines. `line` is a line break with the indentation. The parser of the value has limited its depth.
fn indented(value: &Value, colors: Colors, line: &str) -> String {
    let inner = format!("{line}  ");
    match value {
        Value::Object(members) if !members.is_empty() => {
            let member = |(name, value): (&String, &Value)| {
                let name = colors.paint(Style::Name, &quoted(name));
                format!("{inner}{name}: {}", indented(value, colors, &inner))
            };
            format!("{{{}{line}}}", members.iter().map(member).collect::<Vec<_>>().join(","))
        }
        Value::Array(items) if !items.is_empty() => {
            let item = |value| format!("{inner}{}", indented(value, colors, &inner));
            format!("[{}{line}]", items.iter().map(item).collect::<Vec<_>>().join(","))
        }
        Value::Object(_) | Value::Array(_) => value.to_string(),
        Value::String(text) => colors.paint(Style::Text, &quoted(text)),
        Value::Number(number) => colors.paint(Style::Number, &number.to_string()),
        Value::Bool(_) | Value::Null => colors.paint(Style::Keyword, &value.to_string()),
    }
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
