//! JSON numbers.

use nom::Parser;
use nom::branch::alt;
use nom::bytes::complete::{tag, take_while1};
use nom::character::complete::{char, digit1, one_of};
use nom::combinator::{all_consuming, opt, recognize};

use super::{Invalid, Token, TokenError, TokenResult};

/// Parses a number: integers that fit 64 bits are exact, others become the nearest float.
pub(super) fn number(text: &str) -> TokenResult<'_, Token<'_>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let (rest, number) = take_while1(is_part)(text)?;
    let integer = recognize((opt(char('-')), alt((tag("0"), digit1))));
    let fraction = opt((char('.'), digit1));
    let exponent = opt((one_of("eE"), opt(one_of("+-")), digit1));
    let parts: TokenResult<'_, _> = all_consuming((integer, fraction, exponent)).parse(number);
    let Ok((_, (integer, ..))) = parts else {
        return TokenError::fatal(Invalid::Number, text, number.len());
    };
    // `-0` is a float: an integer would lose the sign.
    if integer.len() == number.len() && integer != "-0" {
        if let Ok(value) = integer.parse() {
            return Ok((rest, Token::Integer(value)));
        }
        if let Ok(value) = integer.parse() {
            return Ok((rest, Token::Unsigned(value)));
        }
    }
    match number.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok((rest, Token::Number(value))),
        _ => TokenError::fatal(Invalid::NumberTooLarge, text, number.len()),
    }
}
