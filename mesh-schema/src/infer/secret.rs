//! Detection of columns that look like secrets.

use super::naming;
use crate::{Column, FieldType};

/// Words that mark a column as a secret, anywhere in its name.
const SECRET_WORDS: [&str; 16] = [
    "secret",
    "secrets",
    "token",
    "tokens",
    "pwd",
    "passphrase",
    "passcode",
    "pass",
    "apikey",
    "credential",
    "credentials",
    "otp",
    "totp",
    "jwt",
    "salt",
    "cvv",
];

/// Pairs of adjacent words that mark a column as a secret.
const SECRET_WORD_PAIRS: [(&str, &str); 15] = [
    ("api", "key"),
    ("api", "keys"),
    ("private", "key"),
    ("access", "key"),
    ("signing", "key"),
    ("encryption", "key"),
    ("session", "key"),
    ("auth", "key"),
    ("auth", "hash"),
    ("pw", "hash"),
    ("recovery", "code"),
    ("recovery", "codes"),
    ("backup", "code"),
    ("backup", "codes"),
    ("auth", "code"),
];

/// Last words of the names of columns that describe a secret but do not contain it.
const METADATA_SUFFIXES: [&str; 13] = [
    "at", "on", "count", "length", "type", "kind", "expiry", "expires", "enabled", "required", "hint",
    "used", "limit",
];

/// Returns whether a column looks like it contains a secret.
pub(super) fn is_secret(column: &Column) -> bool {
    if matches!(column.ty, Some(FieldType::Boolean | FieldType::Datetime | FieldType::Date)) {
        return false;
    }
    let words: Vec<String> = naming::words(&column.name).iter().map(|word| word.to_lowercase()).collect();
    if words.len() > 1 && words.last().is_some_and(|last| METADATA_SUFFIXES.contains(&last.as_str())) {
        return false;
    }
    let contains = |word: &String| word.contains("password") || word.contains("passwd");
    let is_number = column.ty.is_some_and(|ty| ty.is_integer() || ty == FieldType::Number);
    let listed = |word: &String| SECRET_WORDS.contains(&word.as_str()) && !(is_number && word == "tokens");
    words.iter().any(|word| contains(word) || listed(word))
        || words
            .iter()
            .zip(words.iter().skip(1))
            .any(|(a, b)| SECRET_WORD_PAIRS.contains(&(a.as_str(), b.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, ty: Option<FieldType>) -> Column {
        Column { name: name.to_owned(), ty, ..Column::default() }
    }

    #[test]
    fn secrets_are_detected_by_name() {
        let secrets = [
            "password",
            "Password",
            "PasswordHash",
            "password_hash",
            "passwordhash",
            "hashed password",
            "passwd",
            "pwd",
            "secret",
            "client_secret",
            "secretKey",
            "token",
            "reset_token",
            "ACCESS_TOKEN",
            "refreshTokens",
            "api_key",
            "apiKey",
            "APIKey",
            "apikey",
            "private_key",
            "totp",
            "salt",
        ];
        for name in secrets {
            assert!(is_secret(&column(name, Some(FieldType::String))), "{name}");
            assert!(is_secret(&column(name, None)), "{name}");
        }
    }

    #[test]
    fn other_columns_are_not_secrets() {
        let open = [
            "name",
            "key",
            "secretary",
            "tokenized",
            "compass",
            "passenger",
            "keyboard",
            "api_url",
            "password_changed_at",
            "token_count",
            "token_type",
            "hash",
            "primary_key",
            "code",
            "",
            "???",
        ];
        for name in open {
            assert!(!is_secret(&column(name, Some(FieldType::String))), "{name}");
        }
        assert!(!is_secret(&column("is_secret", Some(FieldType::Boolean))));
        assert!(!is_secret(&column("tokens", Some(FieldType::Integer))));
    }
}
