//! Excerpts of queries that errors point at.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use mesh_ql::Position;

use super::Colors;

/// Maximum number of columns of an excerpt.
const WIDTH: usize = 100;

/// Returns a line break, the line of the query at a position, and marks below the faulty token. Returns an empty text if
/// the query has no such line.
pub(crate) fn excerpt(text: &str, position: Position, colors: Colors) -> String {
    let Some(start) = offset(text, position) else { return String::new() };
    let renderer = if colors.0 { Renderer::styled() } else { Renderer::plain() };
    let mark = AnnotationKind::Primary.span(token(text, start));
    let group = Group::with_level(Level::ERROR).element(Snippet::source(text).annotation(mark));
    format!("\n{}", renderer.term_width(WIDTH).render(&[group]))
}

/// Returns the offset in bytes of a position. A column past the end of its line counts as the end of the line.
fn offset(text: &str, Position { line, column }: Position) -> Option<usize> {
    let line = usize::try_from(line).ok()?.checked_sub(1)?;
    let column = usize::try_from(column).ok()?.checked_sub(1)?;
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let rest = text.split('\n').nth(line)?;
    Some(start + rest.char_indices().nth(column).map_or(rest.len(), |(at, _)| at))
}

/// Returns the range of the string, name, number or character that begins at `start`.
fn token(text: &str, start: usize) -> Range<usize> {
    let rest = text.get(start..).unwrap_or_default();
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | '+' | '-');
    let line = rest.lines().next().unwrap_or_default();
    let length = match line.strip_prefix('"') {
        Some(inside) => inside.find('"').map_or(line.len(), |end| end + 2),
        None => line.find(|c| !is_part(c)).unwrap_or(line.len()),
    };
    let first = rest.chars().next().map_or(0, char::len_utf8);
    start..start + length.max(first)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use mesh_ql::Span;

    use super::*;

    #[track_caller]
    fn check(text: &str, part: &str, expected: &Expect) {
        let start = text.find(part).unwrap();
        expected.assert_eq(&excerpt(text, Span::new(start, start).position(text), Colors::OFF));
    }

    #[test]
    fn marks_cover_the_offender() {
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
            2 |     post 東京 titel }
              |               ^^^^^"#]],
        );
        check(
            "a\nb\nc\nd\ne\nf\ng\nh\ni\n wrong",
            "wrong",
            &expect![[r#"

               |
            10 |  wrong
               |  ^^^^^"#]],
        );
        check(
            r#"{"post": {"$limit": 3}}"#,
            r#""$limit"#,
            &expect![[r#"

              |
            1 | {"post": {"$limit": 3}}
              |           ^^^^^^^^"#]],
        );
    }

    #[test]
    fn long_lines_are_cut_around_the_offender() {
        check(
            &format!("{} wrong {}", "x".repeat(300), "y".repeat(300)),
            "wrong",
            &expect![[r#"

              |
            1 | ...xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx wrong yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy...
              |                                              ^^^^^"#]],
        );
        check(
            &format!("{} wrong", "東".repeat(300)),
            "wrong",
            &expect![[r#"

              |
            1 | ... 東東東東東東東東東東東東東東東東東東東東 wrong
              |                                              ^^^^^"#]],
        );
        check(
            &"z".repeat(200),
            "z",
            &expect![[r#"

              |
            1 | zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz...zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz
              | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^...^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"#]],
        );
    }

    #[test]
    fn the_end_of_a_text_is_marked() {
        let end = |text: &str| excerpt(text, Span::new(text.len(), text.len()).position(text), Colors::OFF);
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
            1 | {
              |  ^"#]]
        .assert_eq(&end("{\n"));
    }

    #[test]
    fn positions_outside_of_a_text_have_no_excerpt() {
        for (line, column) in [(0, 1), (1, 0), (3, 1)] {
            assert_eq!(excerpt("{\n", Position { line, column }, Colors::OFF), "");
        }
        assert_ne!(excerpt("{ post", Position { line: 1, column: 99 }, Colors::OFF), "");
    }

    #[test]
    fn control_characters_are_not_sent_to_the_terminal() {
        let shown = excerpt("{ \u{1b}[2Jpost }", Position { line: 1, column: 1 }, Colors::OFF);
        assert!(!shown.contains('\u{1b}'), "{shown:?}");
    }
}
