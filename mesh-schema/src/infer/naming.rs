//! Conversion of storage names to API names: camel case, English singular and plural.

mod english;

pub(crate) use self::english::{plural, singular};

/// Splits a storage name into words: at characters other than letters and digits, and before capital letters that
/// begin a word (`ArtistId`, `HTTPServer`).
pub(crate) fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut previous: Option<char> = None;
    let mut rest = name.chars().peekable();
    while let Some(c) = rest.next() {
        if !is_word_character(c) {
            words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
            previous = None;
            continue;
        }
        let after_small = previous.is_some_and(|before| !before.is_uppercase());
        let ends_acronym = previous.is_some() && rest.peek().is_some_and(|next| next.is_lowercase());
        if c.is_uppercase() && (after_small || ends_acronym) {
            words.push(std::mem::take(&mut word));
        }
        word.push(c);
        previous = Some(c);
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

/// Returns whether a character is a letter, a digit or a combining mark.
fn is_word_character(c: char) -> bool {
    c.is_alphanumeric() || ('\u{300}'..='\u{36f}').contains(&c)
}

/// Joins words in camel case: `order_details` becomes `orderDetails`. Returns an empty string for no words.
pub(crate) fn camel(words: &[String]) -> String {
    let mut name = String::new();
    for word in words {
        let small = word.to_lowercase();
        if name.is_empty() { name.push_str(&small) } else { name.push_str(&capitalized(&small)) }
    }
    name
}

/// Returns a name with a capital first letter.
pub(crate) fn capitalized(name: &str) -> String {
    let mut rest = name.chars();
    rest.next().map(|first| first.to_uppercase().chain(rest).collect()).unwrap_or_default()
}

/// Returns the entity key of a table: camel case, the last word in the singular.
pub(crate) fn entity_key(table: &str) -> String {
    let mut words = words(table);
    if let Some(last) = words.last_mut() {
        *last = singular(&last.to_lowercase());
    }
    camel(&words)
}

/// Returns a camel-case name with the last word in the plural.
pub(crate) fn plural_name(name: &str) -> String {
    let words = words(name);
    let ending = words.last().filter(|last| name.ends_with(last.as_str()));
    let Some((start, last)) = ending.and_then(|last| name.split_at_checked(name.len() - last.len())) else {
        return format!("{name}s");
    };
    let small = last.to_lowercase();
    let many = plural(&small);
    match many.strip_prefix(&small) {
        Some(suffix) => format!("{name}{suffix}"),
        None if last.starts_with(char::is_uppercase) => format!("{start}{}", capitalized(&many)),
        None => format!("{start}{many}"),
    }
}

#[cfg(test)]
mod tests;
