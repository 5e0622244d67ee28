//! The corpus and random mutations of it, for compilers without a fuzzer.

use std::fs;
use std::path::Path;

/// Loads the inputs of a target with the names of their files.
///
/// # Panics
/// Panics if the folder cannot be read.
pub fn load(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut inputs: Vec<_> = entries
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (name, fs::read(&path).expect("an input"))
        })
        .collect();
    inputs.sort();
    inputs
}

/// Tokens with a meaning to some parser, which mutations insert.
const TOKENS: [&str; 56] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    ":",
    ",",
    "\\u0000",
    "\\ud800",
    "null",
    "true",
    "-0",
    "1e99",
    "1e-999",
    "9223372036854775808",
    "0.1",
    "$select",
    "$where",
    "$orderBy",
    "$page",
    "$aggregate",
    "$having",
    "$groupBy",
    "$distinct",
    "\"and\":[",
    "\"not\":{",
    "\"id\":true",
    "\"value\":",
    "\"op\":\"in\"",
    "__proto__",
    "constructor",
    "toString",
    "' OR 1=1 --",
    "\";--",
    "%",
    "_",
    "%00",
    "%2f",
    "%252e",
    "..",
    "/",
    "\n",
    "\r",
    "\r\n",
    "\r\n\r\n",
    "\0",
    "\u{feff}",
    "\u{202e}",
    "😀",
    "é",
    "--b0",
    "name=\"file\"",
    "sha256=",
    "tok_",
    " AND ",
];

/// A pseudorandom generator with equal output on all machines.
pub struct Dice(u64);

impl Dice {
    /// Creates a generator from a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// Returns one of the inputs with a few changes.
    ///
    /// # Panics
    /// Panics if there are no inputs.
    pub fn change(&mut self, inputs: &[(String, Vec<u8>)]) -> Vec<u8> {
        let mut bytes = inputs[self.below(inputs.len())].1.clone();
        for _ in 0..=self.below(4) {
            self.change_once(&mut bytes, inputs);
        }
        bytes.truncate(64 * 1024);
        bytes
    }

    fn change_once(&mut self, bytes: &mut Vec<u8>, inputs: &[(String, Vec<u8>)]) {
        let at = self.below(bytes.len() + 1);
        let end = at + self.below((bytes.len() - at).min(64) + 1);
        match self.below(9) {
            0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            1 if at < bytes.len() => bytes[at] = self.next() as u8,
            2 => drop(bytes.drain(at..end)),
            3 => {
                let token = TOKENS[self.below(TOKENS.len())];
                bytes.splice(at..at, token.bytes());
            }
            4 => {
                let token = TOKENS[self.below(TOKENS.len())];
                bytes.splice(at..end, token.bytes());
            }
            // Repeat a fragment, which increases depth or count.
            5 => {
                let piece = bytes[at..end].repeat(1 + self.below(200));
                bytes.splice(at..at, piece);
            }
            // Append the end of another input.
            6 => {
                let other = &inputs[self.below(inputs.len())].1;
                let from = self.below(other.len() + 1);
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
            7 => {
                let piece = bytes[at..end].to_vec();
                let to = self.below(bytes.len() + 1);
                bytes.splice(to..to, piece);
            }
            _ => bytes.truncate(at),
        }
    }
}
