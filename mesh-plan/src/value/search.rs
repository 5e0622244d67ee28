//! The texts of searches. `SPEC §20.2`

/// The words, prefixes and phrases of a search text.
///
/// Letters and digits form words. No text is malformed: what cannot be understood only separates words.
///
/// ```
/// use mesh_plan::backend::SearchText;
///
/// let search = SearchText::parse("rust \"zero cost\" -async");
/// assert!(search.matches(&["Rust", "abstractions at zero cost"]));
/// assert!(!search.matches(&["Async Rust", "abstractions at zero cost"]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchText {
    terms: Vec<SearchTerm>,
}

/// A word, a prefix or a phrase of a search text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchTerm {
    /// The words, at least one. Several form a phrase.
    pub words: Vec<String>,
    /// Whether words that begin with the word match. Not set for phrases.
    pub is_prefix: bool,
    /// Whether records that contain the term do not match.
    pub is_excluded: bool,
}

impl SearchText {
    /// Parses a text.
    pub fn parse(text: &str) -> Self {
        let mut terms = Vec::new();
        let mut rest = text;
        let (mut can_exclude, mut is_excluded) = (true, false);
        while let Some(next) = rest.chars().next() {
            let mut words = Vec::new();
            let mut is_prefix = false;
            if next.is_alphanumeric() {
                let (word, after) = split_word(rest);
                words.push(word.to_owned());
                is_prefix = after.starts_with('*');
                rest = after;
            } else if let Some(quoted) = rest.strip_prefix('"') {
                let (phrase, after) = quoted.split_once('"').unwrap_or((quoted, ""));
                words.extend(words_of(phrase).map(str::to_owned));
                rest = after;
            } else {
                rest = rest.get(next.len_utf8()..).unwrap_or_default();
                let begins_term =
                    rest.chars().next().is_some_and(|first| first.is_alphanumeric() || first == '"');
                is_excluded = next == '-' && can_exclude && begins_term;
                can_exclude = next.is_whitespace();
                continue;
            }
            if !words.is_empty() {
                terms.push(SearchTerm { words, is_prefix, is_excluded });
            }
            (can_exclude, is_excluded) = (false, false);
        }
        Self { terms }
    }

    /// Returns the words, prefixes and phrases.
    pub fn terms(&self) -> &[SearchTerm] {
        &self.terms
    }

    /// Returns the terms that a record must contain.
    pub fn required(&self) -> impl Iterator<Item = &SearchTerm> {
        self.terms.iter().filter(|term| !term.is_excluded)
    }

    /// Returns whether a record with these texts matches: each term occurs in one of the texts, and no excluded term in any.
    /// Whole words are compared in lower case.
    pub fn matches(&self, texts: &[&str]) -> bool {
        let texts = Words::of(texts);
        self.terms.iter().all(|term| (texts.count(term) > 0) != term.is_excluded)
    }

    /// Returns how often the terms occur in texts.
    pub fn occurrences(&self, texts: &[&str]) -> u64 {
        let texts = Words::of(texts);
        self.required().map(|term| texts.count(term)).sum()
    }
}

/// The words of texts in lower case.
struct Words(Vec<Vec<String>>);

impl Words {
    fn of(texts: &[&str]) -> Self {
        Self(texts.iter().map(|text| words_of(text).map(str::to_lowercase).collect()).collect())
    }

    /// Returns how often a term occurs.
    fn count(&self, term: &SearchTerm) -> u64 {
        let wanted: Vec<String> = term.words.iter().map(|word| word.to_lowercase()).collect();
        let is_word = |(word, wanted): (&String, &String)| {
            if term.is_prefix { word.starts_with(wanted.as_str()) } else { word == wanted }
        };
        let places = self.0.iter().flat_map(|words| words.windows(wanted.len()));
        places.filter(|place| place.iter().zip(&wanted).all(is_word)).count() as u64
    }
}

/// Splits a text into words.
fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// Splits a text after the word with which it begins.
fn split_word(text: &str) -> (&str, &str) {
    let end = text.find(|character: char| !character.is_alphanumeric()).unwrap_or(text.len());
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes terms in one form: `-` for excluded ones, `+` between the words of a phrase, `*` behind a prefix.
    fn shown(text: &str) -> String {
        let terms = SearchText::parse(text).terms;
        let shown = terms.iter().map(|term| {
            let excluded = if term.is_excluded { "-" } else { "" };
            let prefix = if term.is_prefix { "*" } else { "" };
            format!("{excluded}{}{prefix}", term.words.join("+"))
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn texts_are_words_prefixes_and_phrases() {
        let cases = [
            ("", ""),
            (" \t-*\"\"", ""),
            ("Rust größe 2024", "Rust größe 2024"),
            ("snake_case don't a.b", "snake case don t a b"),
            ("pre* *fix in*fix", "pre* fix in* fix"),
            ("\"zero  cost\" \"one\"", "zero+cost one"),
            ("\"a* b*\"*", "a+b"),
            ("\"not closed -x", "not+closed+x"),
            ("-a b -c* -\"d e\"", "-a b -c* -d+e"),
            ("a-b - c --d -\n-e", "a b c d -e"),
            ("x\"y z\"-w", "x y+z w"),
            ("-- -", ""),
            ("-\"\" a", "a"),
            ("OR AND NOT NEAR(a) ^b :c", "OR AND NOT NEAR a b c"),
        ];
        for (text, terms) in cases {
            assert_eq!(shown(text), terms, "{text:?}");
        }
    }

    #[test]
    fn words_match_together_and_phrases_within_one_text() {
        let matches = |search: &str| SearchText::parse(search).matches(&["The Red fox", "runs, red-hot"]);
        let found = ["red", "FOX runs", "\"red fox\"", "ru*", "\"runs red\"", "fox -cat", "red -\"fox red\""];
        let others = ["re", "fox cat", "\"fox runs\"", "fox -red", "fox -ru*", "red -\"red hot\""];
        assert_eq!(found.map(matches), [true; 7]);
        assert_eq!(others.map(matches), [false; 6]);
    }

    #[test]
    fn occurrences_of_required_terms_are_counted() {
        let count = |search: &str| SearchText::parse(search).occurrences(&["a b a", "ab a b"]);
        assert_eq!(["a", "a*", "\"a b\"", "a b -c", "a -b"].map(count), [3, 4, 2, 5, 3]);
    }
}
