//! Exact decimals: numbers if a double holds them exactly, else text with all digits.

use mesh_backend::rows::decimal;
use mesh_plan::Value;

const NEGATIVE: u16 = 0x4000;
const NOT_A_NUMBER: u16 = 0xC000;
const INFINITE: u16 = 0xD000;
const MINUS_INFINITE: u16 = 0xF000;

/// Reads the binary form: the number of groups, the weight of the first group, the sign, the number of fraction digits,
/// and groups of four decimal digits. `None` if it is invalid.
pub(super) fn read(bytes: &[u8]) -> Option<Value> {
    let mut parts =
        bytes.chunks_exact(2).map(|pair| pair.try_into().map(u16::from_be_bytes).unwrap_or_default());
    let (count, weight, sign, scale) = (parts.next()?, parts.next()? as i16, parts.next()?, parts.next()?);
    match sign {
        NOT_A_NUMBER => return Some("NaN".into()),
        INFINITE => return Some("Infinity".into()),
        MINUS_INFINITE => return Some("-Infinity".into()),
        _ => {}
    }
    let digits: String = parts.take(count.into()).map(|group| format!("{group:04}")).collect();
    let digit = |index: i32| {
        let digit = usize::try_from(index).ok().and_then(|index| digits.as_bytes().get(index));
        digit.map_or('0', |digit| char::from(*digit))
    };
    let point = 4 * (i32::from(weight) + 1);
    let whole: String = (0..point).map(digit).collect();
    let fraction: String = (point..point + i32::from(scale)).map(digit).collect();
    let mut text = String::from(if sign == NEGATIVE { "-" } else { "" });
    text.push_str(match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    });
    if scale > 0 {
        text.extend([".", &fraction]);
    }
    Some(decimal(text.as_bytes()).to_value())
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
            Some(Value::Integer(value)) => format!("{value} whole"),
            Some(Value::Real(value)) => format!("{value:?}"),
            Some(Value::Text(text)) => format!("{text} as text"),
            _ => "none".to_owned(),
        };
        assert_eq!(text, expected);
    }

    #[test]
    fn decimals_are_numbers_if_a_double_is_exact() {
        check(&[], 0, 0, 0, "0 whole");
        check(&[7], 0, 0, 0, "7 whole");
        check(&[1, 5], 1, NEGATIVE, 0, "-10005 whole");
        check(&[12], 1, 0, 0, "120000 whole");
        check(&[1, 5000], 0, 0, 2, "1.5");
        check(&[2], 0, 0, 2, "2 whole");
        check(&[5000], -1, NEGATIVE, 1, "-0.5");
        check(&[5], -2, 0, 8, "0.00000005 as text");
        check(&[], 0, 0, 4, "0 whole");
        check(&[12, 3456, 7890, 1234, 5678, 9000], 4, 0, 2, "123456789012345678.9 as text");
        check(&[1234, 5678, 9012, 3456, 7890], 4, 0, 0, "12345678901234567890 as text");
        check(&[9223, 3720, 3685, 4775, 8070], 4, 0, 0, "92233720368547758070 as text");
        check(&[], 0, NOT_A_NUMBER, 0, "NaN as text");
        check(&[], 0, INFINITE, 0, "Infinity as text");
        check(&[], 0, MINUS_INFINITE, 0, "-Infinity as text");
        assert!(read(&[0, 1]).is_none());
    }
}
