//! Parsers of setting values: addresses, paths, counts, sizes and times, each with its bounds.
//!
//! An error message is the end of a sentence that begins with the setting's name.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use mesh_schema::nearest;
use mesh_server::{HttpUrl, Jwks, Rate, otlp};
use mesh_wire::BasePath;
use mesh_wire::response::CacheControl;
use percent_encoding::percent_decode_str;
use tracing_subscriber::filter::Targets;

use crate::config::location::{Location, Pooler};
use crate::config::sources::Value;

/// One millisecond.
pub(crate) const MILLISECOND: Duration = Duration::from_millis(1);
/// One second.
pub(crate) const SECOND: Duration = Duration::from_secs(1);
/// One hour.
pub(crate) const HOUR: Duration = Duration::from_secs(3_600);
/// Bytes of a mebibyte.
pub(crate) const MEBIBYTE: u64 = 1 << 20;
/// Bytes of a gibibyte.
pub(crate) const GIBIBYTE: u64 = 1 << 30;

/// A type with a fixed set of named values.
pub(crate) trait Choice: Copy + PartialEq + 'static {
    /// The values, by name.
    const CHOICES: &[(&'static str, Self)];
}

/// Secret text, which must not appear in logs and messages; its `Debug` output is masked.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SecretText(pub(crate) String);

impl SecretText {
    /// Returns the name and the value of a header line.
    pub(crate) fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        let (name, value) = self.0.split_once(':')?;
        let mut value = HeaderValue::from_str(value.trim()).ok()?;
        value.set_sensitive(true);
        Some((name.trim().parse().ok()?, value))
    }
}

impl From<String> for SecretText {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

/// Parses any text.
pub(crate) fn text(value: &Value) -> Result<String, String> {
    match value {
        Value::Text(text) => Ok(text.clone()),
        other => Err(format!("must be a quoted string, not {other}")),
    }
}

/// Parses text; blank text counts as not set.
pub(crate) fn optional_text<T: From<String>>(value: &Value) -> Result<Option<T>, String> {
    let text = text(value)?;
    Ok((!text.trim().is_empty()).then(|| T::from(text)))
}

/// Parses text that must not be blank.
pub(crate) fn required_text<T: From<String>>(value: &Value) -> Result<T, String> {
    optional_text(value)?.ok_or_else(|| "must not be empty".to_owned())
}

/// Parses a value that may be left blank.
pub(crate) fn optional<T>(
    parse: impl FnOnce(&Value) -> Result<T, String>,
) -> impl FnOnce(&Value) -> Result<Option<T>, String> {
    move |value| match value {
        Value::Text(text) if text.trim().is_empty() => Ok(None),
        value => parse(value).map(Some),
    }
}

/// Parses `true` or `false`.
pub(crate) fn boolean(value: &Value) -> Result<bool, String> {
    match value {
        Value::Boolean(value) => Ok(*value),
        Value::Text(text) if text == "true" => Ok(true),
        Value::Text(text) if text == "false" => Ok(false),
        other => Err(format!("must be true or false, not {other}")),
    }
}

/// Parses a list of strings, or one string with commas, the form of a list in flags and variables.
pub(crate) fn list<T: From<String>>(value: &Value) -> Result<Vec<T>, String> {
    match value {
        Value::Text(text) => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            Ok(items.map(|item| T::from(item.to_owned())).collect())
        }
        Value::List(items) => items
            .iter()
            .map(|item| match item {
                Value::Text(text) => Ok(T::from(text.clone())),
                other => Err(format!("must be a list of quoted strings, not a list with {other}")),
            })
            .collect(),
        other => Err(format!("must be a list such as [\"one\", \"two\"], not {other}")),
    }
}

/// Parses a list of strings by a function of the library that uses it.
pub(crate) fn parsed_list<T, E: fmt::Display>(
    parse: impl FnOnce(Vec<String>) -> Result<T, E>,
) -> impl FnOnce(&Value) -> Result<T, String> {
    move |value| parse(list(value)?).map_err(|error| format!("is invalid: {error}"))
}

/// Parses a list of strings that `parse` accepts.
pub(crate) fn checked_list<T, E: fmt::Display>(
    parse: impl FnOnce(Vec<String>) -> Result<T, E>,
) -> impl FnOnce(&Value) -> Result<Vec<String>, String> {
    parsed_list(|items| parse(items.clone()).map(|_| items))
}

/// Parses a list of content types, such as `image/png` or `image/*`.
pub(crate) fn content_types(value: &Value) -> Result<Vec<String>, String> {
    let types: Vec<String> = list(value)?;
    let is_valid =
        |item: &str| item.split_once('/').is_some_and(|(kind, rest)| !kind.is_empty() && !rest.is_empty());
    match types.iter().find(|item| !is_valid(item)) {
        Some(wrong) => Err(format!(
            "must be a list of content types such as \"image/png\" or \"image/*\", not '{wrong}'"
        )),
        None => Ok(types),
    }
}

/// Parses the file or the table of the audit log.
pub(crate) fn audit_store(value: &Value) -> Result<Location, String> {
    let text = text(value)?;
    match text.split_once(':') {
        Some(("file" | "table", name)) if !name.is_empty() => Ok(text.into()),
        _ => Err(format!("must be 'file:PATH' or 'table:NAME', not {value}")),
    }
}

/// Parses a secret; the message does not quote it.
pub(crate) fn secret(value: &Value) -> Result<Option<SecretText>, String> {
    optional_text(value).map_err(|_| "must be a quoted string".to_owned())
}

/// Parses the location of a key set.
pub(crate) fn jwks(value: &Value) -> Result<Option<Location>, String> {
    let text: Option<String> = optional_text(value)?;
    let Some(text) = text else { return Ok(None) };
    Jwks::parse(&text).map_err(|error| format!("{error}, not {value}"))?;
    Ok(Some(text.into()))
}

/// Parses the URLs of shared caches.
pub(crate) fn purge_urls(value: &Value) -> Result<Vec<HttpUrl>, String> {
    let urls = list::<String>(value)?.iter().map(|url| HttpUrl::parse(url)).collect::<Result<_, _>>();
    urls.map_err(|error| format!("is invalid: {error}"))
}

/// Parses a line such as `Fastly-Key: KEY`; the message does not quote it.
pub(crate) fn header(value: &Value) -> Result<Option<SecretText>, String> {
    let line = secret(value)?;
    match &line {
        Some(line) if line.header().is_none() => {
            Err("must be the name of a header, a colon and its value, such as 'Fastly-Key: KEY'".to_owned())
        }
        _ => Ok(line),
    }
}

/// Parses the directives of `Cache-Control`.
pub(crate) fn cache_control(value: &Value) -> Result<CacheControl, String> {
    text(value)?.parse().map_err(|error| format!("is invalid, {value}: {error}"))
}

/// Parses a table of `Cache-Control` by entity, or text such as `post = max-age=60; user = no-store`, the form in variables.
pub(crate) fn cache_controls(value: &Value) -> Result<BTreeMap<String, CacheControl>, String> {
    let entries: Vec<(String, Value)> = match value {
        Value::Table(entries) => entries.clone(),
        Value::Text(text) => {
            let parts = text.split(';').filter(|part| !part.trim().is_empty());
            let entries = parts.map(|part| {
                let (entity, control) = part.split_once('=')?;
                Some((entity.trim().to_owned(), Value::Text(control.trim().to_owned())))
            });
            entries.collect::<Option<_>>().ok_or("must be 'entity = value', separated by ';'")?
        }
        other => {
            return Err(format!("must be a table such as {{ post = \"public, max-age=60\" }}, not {other}"));
        }
    };
    let control = |(entity, value): (String, Value)| match cache_control(&value) {
        Ok(control) => Ok((entity, control)),
        Err(error) => Err(format!("of '{entity}' {error}")),
    };
    entries.into_iter().map(control).collect()
}

/// Parses `true`, `false` or the URL of the primary.
pub(crate) fn pooler(value: &Value) -> Result<Pooler, String> {
    match (value, boolean(value)) {
        (_, Ok(true)) => Ok(Pooler::Polling),
        (_, Ok(false)) => Ok(Pooler::None),
        (Value::Text(text), _) if text.contains("://") => Ok(Pooler::Listening(text.clone().into())),
        _ => Err(format!("must be true, false or the URL of the primary, not {value}")),
    }
}

/// Parses a list of secrets; the message does not quote them.
pub(crate) fn secrets(value: &Value) -> Result<Vec<SecretText>, String> {
    list(value).map_err(|_| "must be a list of quoted strings".to_owned())
}

/// Parses a log filter.
pub(crate) fn log_filter(value: &Value) -> Result<String, String> {
    let text = text(value)?;
    match text.parse::<Targets>() {
        Ok(_) => Ok(text),
        Err(error) => Err(format!(
            "is invalid, {value}: {error}; write a level such as 'info', or levels by target such as \
             'info,mesh_server=debug'"
        )),
    }
}

/// Parses one path segment.
pub(crate) fn segment(value: &Value) -> Result<String, String> {
    let text: String = required_text(value)?;
    match BasePath::parse(&format!("/{text}")) {
        Ok(_) if !text.contains('/') => Ok(text),
        _ => Err(format!("must be one segment of a path, such as 'files', not {value}")),
    }
}

/// Parses a path other than the root.
pub(crate) fn path(value: &Value) -> Result<String, String> {
    let base = base(value)?;
    match base.as_str() {
        "" => Err("must not be the root".to_owned()),
        path => Ok(path.to_owned()),
    }
}

/// Parses an address and a port; `localhost` is the IPv4 loopback address.
pub(crate) fn address(value: &Value) -> Result<SocketAddr, String> {
    let text = text(value)?;
    let local = text.strip_prefix("localhost:").and_then(|port| port.parse().ok());
    let local = local.map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    local.or_else(|| text.parse().ok()).ok_or_else(|| {
        format!("must be an address and a port such as '127.0.0.1:4000', '[::]:4000' or 'localhost:4000', not {value}")
    })
}

/// Parses a base path.
pub(crate) fn base(value: &Value) -> Result<BasePath, String> {
    BasePath::parse(&text(value)?).map_err(|error| format!("is invalid, {value}: {error}"))
}

/// Parses a rate such as `100/s`; a count of 0 turns the limit off.
pub(crate) fn rate(value: &Value) -> Result<Option<Rate>, String> {
    let text = text(value)
        .map_err(|_| format!("must be a quoted rate such as '100/s', or '0/s' for no limit, not {value}"))?;
    Rate::parse(&text).map_err(|error| format!("is invalid: {error}"))
}

/// Parses the URL of a collector of traces.
pub(crate) fn collector(value: &Value) -> Result<HttpUrl, String> {
    // The message does not quote the value, which may contain a credential.
    otlp::traces_url(&text(value)?).ok_or_else(|| {
        "must be the URL of a collector, such as 'http://127.0.0.1:4318', without credentials and query"
            .to_owned()
    })
}

/// Parses header lines such as `X-Api-Key: KEY`, or pairs `name=value` with escapes as OpenTelemetry writes them; the message
/// does not quote them.
pub(crate) fn headers(value: &Value) -> Result<Vec<SecretText>, String> {
    let line = |SecretText(item): SecretText| match item.split_once('=') {
        Some((name, value)) if !name.contains(':') => {
            SecretText(format!("{name}: {}", percent_decode_str(value).decode_utf8_lossy()))
        }
        _ => SecretText(item),
    };
    let lines: Vec<_> = secrets(value)?.into_iter().map(line).collect();
    if lines.iter().all(|line| line.header().is_some()) {
        return Ok(lines);
    }
    Err("must be a list of headers, such as 'X-Api-Key: KEY'".to_owned())
}

/// Parses one of a few names.
pub(crate) fn choice<T: Choice>(value: &Value) -> Result<T, String> {
    let name = match value {
        // `false` is a name of some settings, and may be written without quotes.
        Value::Boolean(value) => value.to_string(),
        value => text(value)?,
    };
    if let Some((_, choice)) = T::CHOICES.iter().find(|(known, _)| *known == name) {
        return Ok(*choice);
    }
    let names: Vec<_> = T::CHOICES.iter().map(|(name, _)| format!("'{name}'")).collect();
    let near = nearest(&name, T::CHOICES.iter().map(|(name, _)| *name)).map(|name| format!("'{name}'"));
    Err(format!("must be {}, not {value}{}", names.join(" or "), did_you_mean(near)))
}

/// Returns the end of a message about an unknown name, with the probable one as it is written there.
pub(crate) fn did_you_mean(near: Option<String>) -> String {
    near.map_or_else(String::new, |near| format!("; did you mean {near}?"))
}

/// Parses a whole number within bounds.
pub(crate) fn count<T: TryFrom<u64>>(min: u64, max: u64) -> impl FnOnce(&Value) -> Result<T, String> {
    move |value| {
        number(value, &[("", 1)], min, max)
            .ok_or_else(|| format!("must be a whole number from {min} to {max}, not {value}"))
    }
}

/// Parses a number of bytes within bounds, with or without a unit.
pub(crate) fn size<T: TryFrom<u64>>(min: u64, max: u64) -> impl FnOnce(&Value) -> Result<T, String> {
    const UNITS: [(&str, u64); 5] = [("", 1), ("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
    move |value| {
        number(value, &UNITS, min, max).ok_or_else(|| {
            format!(
                "must be a number of bytes from {min} to {max}, such as 4096, '64KiB' or '1MiB', not {value}"
            )
        })
    }
}

/// Parses a time within bounds; the unit is required.
pub(crate) fn duration(min: Duration, max: Duration) -> impl FnOnce(&Value) -> Result<Duration, String> {
    const UNITS: [(&str, u64); 5] =
        [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
    move |value| {
        let milliseconds = match value {
            Value::Text(text) => scaled(text, &UNITS),
            _ => None,
        };
        milliseconds.map(Duration::from_millis).filter(|time| (min..=max).contains(time)).ok_or_else(|| {
            let (min, max) = (DisplayDuration(min), DisplayDuration(max));
            format!("must be a time with its unit, such as '500ms', '10s' or '15m', from {min} to {max}, not {value}")
        })
    }
}

/// Returns a number within bounds; as text, it may have a unit.
fn number<T: TryFrom<u64>>(value: &Value, units: &[(&str, u64)], min: u64, max: u64) -> Option<T> {
    let number = match value {
        Value::Integer(integer) => u64::try_from(*integer).ok(),
        Value::Text(text) => scaled(text, units),
        _ => None,
    };
    number.filter(|number| (min..=max).contains(number))?.try_into().ok()
}

/// Parses a whole number and a unit, which blanks may separate.
fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at_checked(end)?;
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim_start())?;
    digits.parse::<u64>().ok()?.checked_mul(*factor)
}

/// Parses the time of a flag, such as `7d`, which is `min` or longer.
pub(crate) fn flag_duration(min: Duration) -> impl Fn(&str) -> Result<Duration, String> + Clone {
    const LONGEST: Duration = Duration::from_secs(100_000 * 86_400);
    move |text| duration(min, LONGEST)(&Value::Text(text.to_owned()))
}

/// A time in its largest whole unit, in the form that [`duration`] parses.
pub(crate) struct DisplayDuration(pub(crate) Duration);

impl fmt::Display for DisplayDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds = self.0.as_millis();
        let whole = |factor: u128| milliseconds >= factor && milliseconds.is_multiple_of(factor);
        let units = [("h", 3_600_000), ("m", 60_000), ("s", 1_000)];
        let (unit, factor) = units.into_iter().find(|(_, factor)| whole(*factor)).unwrap_or(("ms", 1));
        write!(f, "{}{unit}", milliseconds / factor)
    }
}
