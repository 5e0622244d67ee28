//! Exact decimals: numbers if a double holds them exactly, else text with all digits.
//!
//! Trailing zeros of the fraction are left out, so that a value has one text regardless of the precision of its column.

use super::Made;

/// Decimals of at most so many digits survive as a double.
const EXACT_DIGITS: usize = 15;
/// Doubles are written without an exponent from here on.
const LEAST: f64 = 1e-4;

const NEGATIVE: u16 = 0x4000;
const NOT_A_NUMBER: u16 = 0xC000;
const INFINITE: u16 = 0xD000;
const MINUS_INFINITE: u16 = 0xF000;

/// Reads the database's binary form: groups of four decimal digits. `None` where it is none.
pub(super) fn read(bytes: &[u8]) -> Option<Made> {
    let (head, groups) = bytes.split_first_chunk::<8>()?;
    let [count, weight, sign, scale] = [head.get(..2)?, head.get(2..4)?, head.get(4..6)?, head.get(6..)?]
        .map(|it| it.try_into().map(u16::from_be_bytes).unwrap_or_default());
    match sign {
        NOT_A_NUMBER => return Some(Made::Real(f64::NAN)),
        INFINITE => return Some(Made::Real(f64::INFINITY)),
        MINUS_INFINITE => return Some(Made::Real(f64::NEG_INFINITY)),
        _ => {}
    }
    let weight = i32::from(weight as i16);
    let group = |index: i32| -> u16 {
        let place = usize::try_from(index).ok().filter(|place| *place < usize::from(count));
        let bytes = place.and_then(|place| groups.get(place * 2..place * 2 + 2));
        bytes.and_then(|it| it.try_into().ok()).map(u16::from_be_bytes).unwrap_or_default()
    };
    let mut text = String::new();
    if sign == NEGATIVE {
        text.push('-');
    }
    text.push_str(&group(0).min(9_999).to_string());
    if weight < 0 {
        text.truncate(text.len() - group(0).to_string().len());
        text.push('0');
    }
    for index in 1..=weight {
        text.push_str(&format!("{:04}", group(index)));
    }
    let whole = text.len();
    if scale > 0 {
        text.push('.');
        let mut digits = String::new();
        let mut index = weight + 1;
        while digits.len() < usize::from(scale) {
            digits.push_str(&format!("{:04}", if index < 0 { 0 } else { group(index) }));
            index += 1;
        }
        digits.truncate(scale.into());
        text.push_str(&digits);
    }
    if scale == 0 {
        return Some(text.parse().map_or(Made::Text(text), Made::Integer));
    }
    let trimmed = text.trim_end_matches('0').trim_end_matches('.');
    let digits = trimmed.bytes().filter(u8::is_ascii_digit).count();
    if digits <= EXACT_DIGITS
        && let Ok(value) = trimmed.parse::<f64>()
        && (value == 0.0 || value.abs() >= LEAST)
    {
        // There is no negative zero among decimals.
        return Some(Made::Real(if value == 0.0 { 0.0 } else { value }));
    }
    text.truncate(trimmed.len().max(whole));
    Some(Made::Text(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(groups: &[u16], weight: i16, sign: u16, scale: u16, expected: &str) {
        let mut bytes = Vec::new();
        for part in [groups.len() as u16, weight as u16, sign, scale].iter().chain(groups) {
            bytes.extend(part.to_be_bytes());
        }
        let text = match read(&bytes) {
            Some(Made::Integer(value)) => format!("{value} whole"),
            Some(Made::Real(value)) => format!("{value:?}"),
            Some(Made::Text(text)) => format!("{text} as text"),
            None => "none".to_owned(),
        };
        assert_eq!(text, expected);
    }

    #[test]
    fn decimals() {
        check(&[], 0, 0, 0, "0 whole");
        check(&[7], 0, 0, 0, "7 whole");
        check(&[1, 5], 1, NEGATIVE, 0, "-10005 whole");
        check(&[12], 1, 0, 0, "120000 whole");
        check(&[1, 5000], 0, 0, 2, "1.5");
        check(&[2], 0, 0, 2, "2.0");
        check(&[5000], -1, NEGATIVE, 1, "-0.5");
        check(&[5], -2, 0, 8, "0.00000005 as text");
        check(&[], 0, 0, 4, "0.0");
        check(&[12, 3456, 7890, 1234, 5678, 9000], 4, 0, 2, "123456789012345678.9 as text");
        check(&[1234, 5678, 9012, 3456, 7890], 4, 0, 0, "12345678901234567890 as text");
        check(&[9223, 3720, 3685, 4775, 8070], 4, 0, 0, "92233720368547758070 as text");
        check(&[], 0, NOT_A_NUMBER, 0, "NaN");
        assert!(read(&[0, 1]).is_none());
    }
}
