//! How do storage names become names of an API? Camel case, singular and plural, by rules of English.

mod english;

pub(crate) use self::english::{plural, singular};

/// The words of a storage name: split at whatever is neither letter nor digit, and where a new word begins
/// with a capital (`ArtistId`, `HTTPServer`).
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

/// Letters and digits of any script, and the marks that combine with them.
fn is_word_character(c: char) -> bool {
    c.is_alphanumeric() || ('\u{300}'..='\u{36f}').contains(&c)
}

/// `order_details`, `Order Details` and `OrderDetails` → `orderDetails`. Empty if the name has no words.
pub(crate) fn camel(words: &[String]) -> String {
    let mut name = String::new();
    for word in words {
        let small = word.to_lowercase();
        if name.is_empty() { name.push_str(&small) } else { name.push_str(&capitalized(&small)) }
    }
    name
}

/// With its first letter a capital.
pub(crate) fn capitalized(name: &str) -> String {
    let mut rest = name.chars();
    rest.next().map(|first| first.to_uppercase().chain(rest).collect()).unwrap_or_default()
}

/// The camel-case name of an entity for a table: its last word in the singular.
pub(crate) fn entity_key(table: &str) -> String {
    let mut words = words(table);
    if let Some(last) = words.last_mut() {
        *last = singular(&last.to_lowercase());
    }
    camel(&words)
}

/// A name in camel case with its last word in the plural.
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
