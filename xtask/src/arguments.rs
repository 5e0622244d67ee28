//! Command-line arguments.

use std::str::FromStr;

/// Splits arguments of the form `--name=value`.
pub(crate) fn split<'a>(arguments: &[&'a str]) -> impl Iterator<Item = &'a str> {
    arguments.iter().flat_map(|argument| match argument.split_once('=') {
        Some((name, value)) if name.starts_with("--") => vec![name, value],
        _ => vec![*argument],
    })
}

/// Parses the value of an option that takes a positive number.
pub(crate) fn positive<T: FromStr + Default + PartialOrd>(
    name: &str,
    value: Option<&str>,
) -> Result<T, String> {
    let text = value.unwrap_or_default();
    let number = text.parse().ok().filter(|number| *number > T::default());
    number.ok_or_else(|| format!("`{name}` takes a number above 0, not '{text}'"))
}
