//! The text of numbers.

/// Returns the text of a real in responses: the shortest that parses to it. Whole numbers have no fraction.
pub fn number_text(value: f64) -> String {
    without_fraction(zmij::Buffer::new().format(value)).to_owned()
}

/// Returns the text of a number without the fraction of a whole one.
pub(crate) fn without_fraction(text: &str) -> &str {
    text.strip_suffix(".0").unwrap_or(text)
}
