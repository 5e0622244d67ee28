//! Tokens and their locations.

use super::*;

/// Returns the first token of the text with its location.
#[track_caller]
fn first(text: &str) -> (Token<'_>, u32, u32) {
    let tokenizer = Tokenizer::new(text);
    (tokenizer.token.clone(), tokenizer.span.start, tokenizer.span.end)
}

#[track_caller]
fn check_number(text: &str, expected: Token<'_>) {
    let (token, start, end) = first(text);
    assert_eq!((token, start, end as usize), (expected, 0, text.len()));
}

#[test]
fn spans_cover_tokens_without_white_space() {
    let mut tokenizer = Tokenizer::new(" {\"ü\" :\t-1.5,é_]\r\n");
    let mut tokens = Vec::new();
    loop {
        let span = tokenizer.span;
        let token = tokenizer.advance();
        if token == Token::End {
            assert_eq!(span, Span::new(20, 20));
            break;
        }
        tokens.push((token, span.slice(tokenizer.text)));
    }
    let expected = [
        (Token::OpenBrace, "{"),
        (Token::Text("ü".into()), "\"ü\""),
        (Token::Colon, ":"),
        (Token::Number(-1.5), "-1.5"),
        (Token::Comma, ","),
        (Token::Invalid(Invalid::Character), "é"),
        (Token::Name("_"), "_"),
        (Token::CloseBracket, "]"),
    ];
    assert_eq!(tokens, expected);
    assert_eq!(tokenizer.advance(), Token::End);
}

#[test]
fn integers_are_exact_and_floats_the_nearest() {
    check_number("0", Token::Integer(0));
    check_number("-9223372036854775808", Token::Integer(i64::MIN));
    check_number("9223372036854775807", Token::Integer(i64::MAX));
    check_number("9223372036854775808", Token::Unsigned(9_223_372_036_854_775_808));
    check_number("18446744073709551616", Token::Number(18_446_744_073_709_551_616.0));
    check_number("1.0", Token::Number(1.0));
    check_number("2e1", Token::Number(20.0));
    check_number("1E-7", Token::Number(1e-7));
    check_number("0.1", Token::Number(0.1));
    check_number("5e-324", Token::Number(5e-324));
    check_number("1e-999", Token::Number(0.0));
    let (token, ..) = first("-0");
    assert!(matches!(token, Token::Number(zero) if zero == 0.0 && zero.is_sign_negative()));
}

#[test]
fn malformed_numbers_are_invalid_as_a_whole() {
    for text in ["-", "01", "-01", "1.", "1.e5", "1e", "1e+", "1x", "1.2.3", "0x10", "1-2", "-a"] {
        check_number(text, Token::Invalid(Invalid::Number));
    }
    for text in ["1e999", "-1e999"] {
        check_number(text, Token::Invalid(Invalid::NumberTooLarge));
    }
}

#[test]
fn strings_are_unescaped() {
    let cases = [
        (r#""""#, ""),
        (r#""plain ü 東""#, "plain ü 東"),
        (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
        (r#""a\u00e9\u0000b""#, "aé\0b"),
        (r#""\ud83d\uDE00 \uFFFF""#, "😀 \u{ffff}"),
        ("\"\u{7f}\"", "\u{7f}"),
    ];
    for (text, expected) in cases {
        assert_eq!(first(text), (Token::Text(expected.into()), 0, text.len() as u32));
    }
    assert!(matches!(first(r#""plain""#).0, Token::Text(Cow::Borrowed(_))));
}

#[test]
fn invalid_parts_of_strings_are_located() {
    let cases = [
        (r#""abc"#, Invalid::Unterminated, ""),
        (r#""abc\""#, Invalid::Unterminated, ""),
        ("\"a\tb\"", Invalid::ControlCharacter, "\t"),
        ("\"\\n\u{0}b\"", Invalid::ControlCharacter, "\u{0}"),
        (r#""a\xb""#, Invalid::Escape, r"\x"),
        (r#""a\é""#, Invalid::Escape, r"\é"),
        (r#""a\"#, Invalid::Escape, r"\"),
        (r#""a\u12""#, Invalid::Escape, r"\u"),
        (r#""a\u12é4""#, Invalid::Escape, r"\u"),
        (r#""\ud800""#, Invalid::Surrogate, r"\ud800"),
        (r#""\ud800\u0041""#, Invalid::Surrogate, r"\ud800"),
        (r#""\ud800\n""#, Invalid::Surrogate, r"\ud800"),
        (r#""\udc00""#, Invalid::Surrogate, r"\udc00"),
    ];
    for (text, invalid, part) in cases {
        let tokenizer = Tokenizer::new(text);
        assert_eq!(tokenizer.token, Token::Invalid(invalid), "{text}");
        assert_eq!(tokenizer.span.slice(text), part, "{text}");
    }
}
