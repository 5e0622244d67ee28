//! Runs of a fixed number of characters in a pattern, and the search for them.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use memchr::memmem::Finder;

use super::{Pattern, fold};

/// The number of bytes that are searched between two calls of `spend`.
const CHUNK: usize = 64 * 1_024;
/// The number of bytes that the search for literal text covers in a step.
const LITERAL_BYTES_PER_STEP: usize = 8;
/// The number of bits in a word. Each bit represents a character of a run.
const BITS: usize = u64::BITS as usize;
/// The number of words for the longest run.
const WORDS: usize = Pattern::MAX_CHARS.div_ceil(BITS);

/// A run of characters; `None` matches any one character.
#[derive(Clone, Debug, Default)]
pub(super) struct Run(Vec<Option<char>>);

impl Run {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn push(&mut self, char: Option<char>) {
        self.0.push(char);
    }

    /// Removes the `_` at the end, and returns their number.
    pub(super) fn trim_any_chars(&mut self) -> usize {
        let length = self.0.len();
        let kept = self.0.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        self.0.truncate(kept);
        length - kept
    }

    pub(super) fn literal_prefix(&self) -> String {
        self.0.iter().map_while(|char| *char).collect()
    }

    /// Returns the text, if the run has no `_`.
    fn literal(&self) -> Option<String> {
        self.0.iter().copied().collect()
    }

    /// Returns the end of the run if the text contains it at `start`.
    pub(super) fn end(&self, text: &str, start: usize, ignore_case: bool) -> Option<usize> {
        let mut rest = text.get(start..)?.chars();
        for wanted in &self.0 {
            let char = rest.next()?;
            if wanted.is_some_and(|wanted| wanted != fold(char, ignore_case)) {
                return None;
            }
        }
        Some(text.len() - rest.as_str().len())
    }

    /// Returns the index at which a run at the end of the text would start; `None` if the text is shorter.
    pub(super) fn start_at_end_of(&self, text: &str) -> Option<usize> {
        match self.0.len().checked_sub(1) {
            None => Some(text.len()),
            Some(before) => text.char_indices().rev().nth(before).map(|(index, _)| index),
        }
    }
}

/// Finds the first occurrence of a run.
#[derive(Clone, Debug)]
pub(super) enum Searcher {
    /// A literal text.
    Literal(Finder<'static>),
    /// A run with `_`, or one whose letter case is ignored.
    Automaton(Automaton),
}

impl Searcher {
    pub(super) fn new(run: Run, ignore_case: bool) -> Self {
        match run.literal() {
            Some(text) if !ignore_case => Self::Literal(Finder::new(&text).into_owned()),
            _ => Self::Automaton(Automaton::new(&run, ignore_case)),
        }
    }

    /// Returns the end of the first occurrence at or after an index. `spend` is called with the steps of each chunk.
    pub(super) fn find<E>(
        &self,
        text: &str,
        from: usize,
        spend: &mut impl FnMut(usize) -> Result<(), E>,
    ) -> Result<Option<usize>, E> {
        match self {
            Self::Literal(finder) => find_literal(finder, text.as_bytes(), from, spend),
            Self::Automaton(automaton) => automaton.find(text, from, spend),
        }
    }
}

/// Searches overlapping chunks. The overlap is one byte shorter than the literal.
fn find_literal<E>(
    finder: &Finder<'_>,
    text: &[u8],
    from: usize,
    spend: &mut impl FnMut(usize) -> Result<(), E>,
) -> Result<Option<usize>, E> {
    let length = finder.needle().len();
    let mut start = from;
    loop {
        let rest = text.get(start..).unwrap_or_default();
        let chunk = rest.get(..CHUNK + length).unwrap_or(rest);
        let found = finder.find(chunk);
        spend(found.unwrap_or(chunk.len()) / LITERAL_BYTES_PER_STEP)?;
        if let Some(index) = found {
            return Ok(Some(start + index + length));
        }
        if chunk.len() == rest.len() {
            return Ok(None);
        }
        start += CHUNK + 1;
    }
}

/// The Shift-And algorithm. Its state is the set of all prefixes of the run that end at the current character, as bits. Each
/// character of the text takes one operation per 64 characters of the run.
#[derive(Clone, Debug)]
pub(super) struct Automaton {
    ignore_case: bool,
    words: usize,
    /// The bit of the last character of the run, in the last word.
    accept: u64,
    /// The bit masks of the characters of the run.
    masks: HashMap<char, [u64; WORDS], RandomState>,
    /// The mask of all other characters, which has only the `_`.
    other: [u64; WORDS],
}

impl Automaton {
    fn new(run: &Run, ignore_case: bool) -> Self {
        let (mut masks, mut other) = (HashMap::default(), [0; WORDS]);
        for (index, wanted) in run.0.iter().enumerate() {
            let mask: &mut [u64; WORDS] = match wanted {
                Some(char) => masks.entry(*char).or_default(),
                None => &mut other,
            };
            if let Some(word) = mask.get_mut(index / BITS) {
                *word |= 1 << (index % BITS);
            }
        }
        for mask in masks.values_mut() {
            mask.iter_mut().zip(other).for_each(|(word, other)| *word |= other);
        }
        let words = run.0.len().div_ceil(BITS);
        let accept = 1 << (run.0.len().saturating_sub(1) % BITS);
        Self { ignore_case, words, accept, masks, other }
    }

    fn mask(&self, char: char) -> &[u64] {
        let mask = self.masks.get(&fold(char, self.ignore_case)).unwrap_or(&self.other);
        mask.get(..self.words).unwrap_or_default()
    }

    fn find<E>(
        &self,
        text: &str,
        from: usize,
        spend: &mut impl FnMut(usize) -> Result<(), E>,
    ) -> Result<Option<usize>, E> {
        let mut state = [0u64; WORDS];
        let state = state.get_mut(..self.words).unwrap_or_default();
        let (mut reported, rest) = (0, text.get(from..).unwrap_or_default());
        for (index, char) in rest.char_indices() {
            let mut carry = 1;
            for (word, mask) in state.iter_mut().zip(self.mask(char)) {
                let shifted = (*word << 1) | carry;
                carry = *word >> (BITS - 1);
                *word = shifted & mask;
            }
            if state.last().is_some_and(|word| word & self.accept != 0) {
                spend((index - reported) * self.words)?;
                return Ok(Some(from + index + char.len_utf8()));
            }
            if index - reported >= CHUNK / WORDS {
                spend((index - reported) * self.words)?;
                reported = index;
            }
        }
        spend((rest.len() - reported) * self.words)?;
        Ok(None)
    }
}
