//! How is a part of a text shown? Its line, with marks below it.

use std::ops::Range;

use unicode_width::UnicodeWidthChar;

use super::{Colors, Look};

/// Columns of a line that are shown at most.
const WINDOW: usize = 100;
/// Columns before the part, where not all can be shown.
const BEFORE: usize = 40;

/// The line that the part begins in, and marks below the part.
pub(super) fn excerpt(text: &str, part: Range<usize>, colors: Colors) -> String {
    let start = part.start.min(text.len());
    let begin = text.get(..start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let line = text.get(begin..).unwrap_or_default();
    let line = line.split(['\n', '\r']).next().unwrap_or_default();
    let number = text.get(..begin).unwrap_or_default().matches('\n').count() + 1;
    let (mut shown, mut column, mut from, mut marked) = (Vec::new(), 0, 0, 0);
    for (at, letter) in line.char_indices() {
        let letter = if letter.is_control() { ' ' } else { letter };
        let width = letter.width().unwrap_or_default();
        if begin + at < start {
            from += width;
        } else if begin + at < part.end {
            marked += width;
        }
        shown.push((column, letter));
        column += width;
    }
    let marked = marked.max(1);
    let first = if column > WINDOW { from.saturating_sub(BEFORE) } else { 0 };
    let inside = |at: usize| at >= first && at < first + WINDOW;
    let (mut line, mut cut) = (String::new(), 0);
    if first > 0 {
        line.push('…');
        cut = 1;
    }
    line.extend(shown.into_iter().filter(|(at, _)| inside(*at)).map(|(_, letter)| letter));
    if column > first + WINDOW {
        line.push('…');
    }
    let number = number.to_string();
    let margin = " ".repeat(number.len());
    let blanks = " ".repeat(from - first + cut);
    let marks =
        colors.paint(Look::Wrong, &"^".repeat(marked.min((first + WINDOW).saturating_sub(from).max(1))));
    let bar = |margin: &str| colors.paint(Look::Dim, &format!("{margin} |"));
    format!("{}\n{} {line}\n{} {blanks}{marks}", bar(&margin), bar(&number), bar(&margin))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(text: &str, part: &str, expected: &Expect) {
        let start = text.find(part).unwrap();
        expected.assert_eq(&excerpt(text, start..start + part.len(), Colors::OFF));
    }

    #[test]
    fn marks_stand_below_the_part() {
        check(
            "{ post titel }",
            "titel",
            &expect![[r#"
              |
            1 | { post titel }
              |        ^^^^^"#]],
        );
        check(
            "{\n\tpost 東京 titel }\r\n}",
            "titel",
            &expect![[r#"
              |
            2 |  post 東京 titel }
              |            ^^^^^"#]],
        );
        check(
            "a\nb\nc\nd\ne\nf\ng\nh\ni\n wrong",
            "wrong",
            &expect![[r#"
               |
            10 |  wrong
               |  ^^^^^"#]],
        );
    }

    #[test]
    fn long_lines_are_shown_in_part() {
        let text = format!("{} wrong {}", "x".repeat(300), "y".repeat(300));
        check(
            &text,
            "wrong",
            &expect![[r#"
              |
            1 | …xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx wrong yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy…
              |                                          ^^^^^"#]],
        );
        let text = format!("{}wrong", "東".repeat(300));
        check(
            &text,
            "wrong",
            &expect![[r#"
              |
            1 | …東東東東東東東東東東東東東東東東東東東東wrong
              |                                          ^^^^^"#]],
        );
        check(
            &"z".repeat(200),
            &"z".repeat(200),
            &expect![[r#"
              |
            1 | zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz…
              | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"#]],
        );
    }

    #[test]
    fn the_end_has_a_place_too() {
        let end = |text: &str| excerpt(text, text.len()..text.len(), Colors::OFF);
        expect![[r#"
              |
            1 | { post 
              |        ^"#]]
        .assert_eq(&end("{ post "));
        expect![[r#"
              |
            1 | 
              | ^"#]]
        .assert_eq(&end(""));
        expect![[r#"
              |
            2 | 
              | ^"#]]
        .assert_eq(&end("{\n"));
    }
}
