//! Settings with URLs that may name a file, and the folder that a relative path is relative to.

use std::fmt;
use std::ops::Deref;
use std::path::Path;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

/// Characters that a path in the parameters of a URL cannot contain.
const PARAMETER: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'&').add(b'+');

/// The text of a setting that may name a file: `sqlite:blog.db`, `blog.db`, `file:uploads`, or the file of certificates in
/// `postgres://host/db?sslrootcert=ca.pem`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location(String);

impl Location {
    /// Resolves a relative path in the location against `folder`.
    pub(super) fn relative_to(self, folder: &Path) -> Self {
        let text = &self.0;
        let (scheme, rest) = split_scheme(text);
        match scheme {
            None | Some("sqlite" | "file") => {
                let path = rest.strip_prefix("//").unwrap_or(rest);
                let is_file = !path.is_empty() && path != ":memory:" && Path::new(path).is_relative();
                let prefix = text.strip_suffix(rest).unwrap_or_default();
                if is_file { Self(format!("{prefix}{}", folder.join(path).display())) } else { self }
            }
            Some("postgres" | "postgresql" | "mysql" | "mariadb") => {
                let Some((url, parameters)) = text.split_once('?') else { return self };
                let parameters: Vec<_> =
                    parameters.split('&').map(|parameter| certificates(parameter, folder)).collect();
                Self(format!("{url}?{}", parameters.join("&")))
            }
            _ => self,
        }
    }
}

/// Splits a location at the colon after its scheme, if it has one. A single letter is a drive, not a scheme.
pub(crate) fn split_scheme(text: &str) -> (Option<&str>, &str) {
    match text.split_once(':') {
        Some((scheme, rest))
            if scheme.len() > 1 && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) =>
        {
            (Some(scheme), rest)
        }
        _ => (None, text),
    }
}

/// Resolves the relative path of certificates in a parameter of the URL of a PostgreSQL or MariaDB database against `folder`.
/// Other parameters are returned unchanged.
fn certificates(parameter: &str, folder: &Path) -> String {
    let (name, file) = parameter.split_once('=').unwrap_or((parameter, ""));
    let is_file = matches!(name, "sslrootcert" | "ssl-ca") && !matches!(file, "" | "system");
    let file = is_file.then_some(file);
    let file = file.and_then(|file| percent_decode_str(file).decode_utf8().ok());
    match file.filter(|file| Path::new(file.as_ref()).is_relative()) {
        Some(file) => {
            let path = folder.join(file.as_ref()).display().to_string();
            format!("{name}={}", utf8_percent_encode(&path, PARAMETER))
        }
        None => parameter.to_owned(),
    }
}

impl From<String> for Location {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl Deref for Location {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether a pooler between the server and PostgreSQL assigns a connection to each transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pooler {
    /// There is none.
    None,
    /// There is one, and changes are polled for.
    Polling,
    /// There is one, and connections that listen for changes go to this URL of the primary itself.
    Listening(Location),
}

#[cfg(test)]
mod tests;
