//! How do bytes look as lowercase hex, and which bytes does such a text mean?

/// The digits of bytes, two for each.
pub(crate) fn encode<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut text = [0; N];
    for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
        if let [high, low] = pair {
            (*high, *low) = (digit(byte >> 4), digit(byte & 15));
        }
    }
    text
}

/// The bytes of exactly 2N lowercase digits.
pub(crate) fn decode<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    if text.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *byte = value(*high)? << 4 | value(*low)?;
    }
    Some(bytes)
}

fn digit(nibble: u8) -> u8 {
    if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 }
}

fn value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_and_bytes() {
        let bytes: [u8; 32] = std::array::from_fn(|index| (index * 37) as u8);
        assert_eq!(decode::<32>(&encode::<64>(&bytes)), Some(bytes));
        assert_eq!(decode::<2>(b"00ff"), Some([0, 255]));
        for wrong in [&b"00f"[..], b"00fF", b"00fg", b"00ff0", b"", b"0x00", b" 0ff"] {
            assert_eq!(decode::<2>(wrong), None);
        }
    }
}
