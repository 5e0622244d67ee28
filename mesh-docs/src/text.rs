//! Cleaning of texts that people wrote, such as descriptions, for output that is generated from a schema.

/// Returns a text on one line, without invisible characters.
///
/// Compilers and language models read text in tag characters, bidirectional controls and similar characters, but people
/// who review a schema or generated code do not see it.
pub(crate) fn one_line(text: &str) -> String {
    let is_hidden = |c: char| {
        matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
    };
    let words =
        text.split(|c: char| c.is_whitespace() || c.is_control()).map(|word| word.replace(is_hidden, ""));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_hidden_characters_are_left_out() {
        assert_eq!(one_line("a\n\n# b\tc\u{0}d"), "a # b c d");
        assert_eq!(one_line("pay\u{200b}\u{202e}\u{e0041}\u{e0042} attention"), "pay attention");
    }
}
