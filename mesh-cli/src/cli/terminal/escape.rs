//! Escaping of text from clients, databases and files. Control characters move the cursor of a terminal and begin new
//! lines of a log; format characters, such as those that reverse the direction of text, make it read differently.

use std::fmt::Write as _;

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};

/// Returns whether a character is not shown as itself.
fn is_invisible(letter: char) -> bool {
    use GeneralCategory::{Control, Format, LineSeparator, ParagraphSeparator};
    matches!(letter.general_category(), Control | Format | LineSeparator | ParagraphSeparator)
}

/// Returns a text on one line, with every control and format character as an escape such as `\n` or `\u{202e}`.
pub(crate) fn escaped(text: &str) -> String {
    escape(text, |_| false)
}

/// Returns whether a character of data is not shown as itself. Joiners are shown, since emoji and many scripts need them.
pub(super) fn is_invisible_in_data(letter: char) -> bool {
    is_invisible(letter) && !matches!(letter, '\u{200c}' | '\u{200d}')
}

/// Returns a text of data on one line, with control and format characters other than joiners as escapes.
pub(super) fn escaped_data(text: &str) -> String {
    escape(text, |letter| !is_invisible_in_data(letter))
}

/// Returns a text of several lines, with every control and format character except line breaks as an escape.
pub(crate) fn escaped_lines(text: &str) -> String {
    escape(text, |letter| letter == '\n')
}

fn escape(text: &str, is_kept: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_invisible(letter) && !is_kept(letter) {
            // Writing to a string cannot fail.
            let _ = write!(out, "{}", letter.escape_default());
        } else {
            out.push(letter);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_format_characters_are_escaped() {
        let hostile =
            "a\nb\r\t\u{1b}[2J\0\u{7f}\u{9b}\u{85}\u{2028}\u{2029}\u{202e}c\u{200b}\u{feff}\u{e0041}";
        let shown =
            r"a\nb\r\t\u{1b}[2J\u{0}\u{7f}\u{9b}\u{85}\u{2028}\u{2029}\u{202e}c\u{200b}\u{feff}\u{e0041}";
        assert_eq!(escaped(hostile), shown);
        assert_eq!(escaped_lines("a\nb\r\u{202e}"), "a\nb\\r\\u{202e}");
        assert_eq!(escaped_data("👩\u{200d}🚀\n\u{202e}"), "👩\u{200d}🚀\\n\\u{202e}");
        let plain = "Grüße, 'quoted' \"text\" \\ 東京 ไทย e\u{301} \u{a0}€ 🙂";
        assert_eq!(escaped(plain), plain);
    }
}
