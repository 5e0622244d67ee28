//! What does a written value mean? Addresses, paths, counts, sizes and times, each with its bounds.
//!
//! A refusal is the end of a sentence that begins with the setting's name.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use mesh_schema::nearest;
use mesh_wire::Base;

use crate::config::sections::features::Hidden;
use crate::config::sources::Value;

/// Any text.
pub(crate) fn text(value: &Value) -> Result<String, String> {
    match value {
        Value::Text(text) => Ok(text.clone()),
        other => Err(format!("must be text in quotes, not {other}")),
    }
}

/// A text that says something; an empty one is as good as none.
pub(crate) fn present<T: From<String>>(value: &Value) -> Result<Option<T>, String> {
    let text = text(value)?;
    Ok((!text.trim().is_empty()).then(|| T::from(text)))
}

/// A text that says something, where there has to be one.
pub(crate) fn filled(value: &Value) -> Result<String, String> {
    present(value)?.ok_or_else(|| "cannot be empty".to_owned())
}

/// Yes or no.
pub(crate) fn boolean(value: &Value) -> Result<bool, String> {
    match value {
        Value::Boolean(value) => Ok(*value),
        Value::Text(text) if text == "true" => Ok(true),
        Value::Text(text) if text == "false" => Ok(false),
        other => Err(format!("must be true or false, not {other}")),
    }
}

/// Texts: a list of them, or one text with commas between, as flags and variables have it.
pub(crate) fn list(value: &Value) -> Result<Vec<String>, String> {
    match value {
        Value::Text(text) => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            Ok(items.map(str::to_owned).collect())
        }
        Value::List(items) => items
            .iter()
            .map(|item| match item {
                Value::Text(text) => Ok(text.clone()),
                other => Err(format!("must be a list of texts in quotes, not with {other} in it")),
            })
            .collect(),
        other => Err(format!("must be a list of texts such as [\"one\", \"two\"], not {other}")),
    }
}

/// A text that is not shown again, not even where it is wrong.
pub(crate) fn secret(value: &Value) -> Result<Option<Hidden>, String> {
    present(value).map_err(|_| "must be text in quotes".to_owned())
}

/// Origins of pages.
pub(crate) fn origins(value: &Value) -> Result<Vec<String>, String> {
    let origins = list(value)?;
    mesh_wire::Cors::new(&origins).map_err(|error| format!("cannot be so: {error}"))?;
    Ok(origins)
}

/// Texts that are not shown again.
pub(crate) fn secrets(value: &Value) -> Result<Vec<Hidden>, String> {
    match list(value) {
        Ok(items) => Ok(items.into_iter().map(Hidden).collect()),
        Err(_) => Err("must be a list of texts in quotes".to_owned()),
    }
}

/// One segment of a path, without slashes.
pub(crate) fn segment(value: &Value) -> Result<String, String> {
    let text = filled(value)?;
    match Base::parse(&format!("/{text}")) {
        Ok(_) if !text.contains('/') => Ok(text),
        _ => Err(format!("must be one segment of a path, such as 'files', not {value}")),
    }
}

/// A path that begins with a slash and is not the root.
pub(crate) fn path(value: &Value) -> Result<String, String> {
    let base = base(value)?;
    match base.as_str() {
        "" => Err("cannot be the root".to_owned()),
        path => Ok(path.to_owned()),
    }
}

/// An address and a port; `localhost` is the IPv4 loopback address.
pub(crate) fn address(value: &Value) -> Result<SocketAddr, String> {
    let text = text(value)?;
    let local = text.strip_prefix("localhost:").and_then(|port| port.parse().ok());
    let local = local.map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    local.or_else(|| text.parse().ok()).ok_or_else(|| {
        format!("must be an address and a port such as '127.0.0.1:4000', '[::]:4000' or 'localhost:4000', not {value}")
    })
}

/// A base path.
pub(crate) fn base(value: &Value) -> Result<Base, String> {
    Base::parse(&text(value)?).map_err(|error| format!("cannot be {value}: {error}"))
}

/// One of a few words.
pub(crate) fn choice<T: Copy>(choices: &[(&'static str, T)]) -> impl FnOnce(&Value) -> Result<T, String> {
    move |value| {
        let word = match value {
            // `false` without its quotes is the word all the same.
            Value::Boolean(value) => value.to_string(),
            value => text(value)?,
        };
        if let Some((_, choice)) = choices.iter().find(|(name, _)| *name == word) {
            return Ok(*choice);
        }
        let names: Vec<_> = choices.iter().map(|(name, _)| format!("'{name}'")).collect();
        let hint = nearest(&word, choices.iter().map(|(name, _)| *name))
            .map_or_else(String::new, |name| format!("; did you mean '{name}'?"));
        Err(format!("must be {}, not {value}{hint}", names.join(" or ")))
    }
}

/// A whole number within bounds.
pub(crate) fn count<T: TryFrom<u64>>(least: u64, most: u64) -> impl FnOnce(&Value) -> Result<T, String> {
    move |value| {
        let number = match value {
            Value::Integer(integer) => u64::try_from(*integer).ok(),
            Value::Text(text) => text.trim().parse().ok(),
            Value::Boolean(_) | Value::List(_) | Value::Other(_) => None,
        };
        number
            .filter(|number| (least..=most).contains(number))
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| format!("must be a whole number from {least} to {most}, not {value}"))
    }
}

/// A number of bytes within bounds, plain or with a unit.
pub(crate) fn size(least: u64, most: u64) -> impl FnOnce(&Value) -> Result<usize, String> {
    const UNITS: [(&str, u64); 5] = [("", 1), ("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
    move |value| {
        let bytes = match value {
            Value::Integer(integer) => u64::try_from(*integer).ok(),
            Value::Text(text) => scaled(text, &UNITS),
            Value::Boolean(_) | Value::List(_) | Value::Other(_) => None,
        };
        bytes
            .filter(|bytes| (least..=most).contains(bytes))
            .and_then(|bytes| usize::try_from(bytes).ok())
            .ok_or_else(|| {
                format!(
                    "must be a number of bytes from {least} to {most}, plain or as '64KiB' or '1MiB', not {value}"
                )
            })
    }
}

/// A span of time within bounds; it always has a unit.
pub(crate) fn duration(least: Duration, most: Duration) -> impl FnOnce(&Value) -> Result<Duration, String> {
    const UNITS: [(&str, u64); 5] =
        [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
    move |value| {
        let milliseconds = match value {
            Value::Text(text) => scaled(text, &UNITS),
            Value::Integer(_) | Value::Boolean(_) | Value::List(_) | Value::Other(_) => None,
        };
        milliseconds.map(Duration::from_millis).filter(|span| (least..=most).contains(span)).ok_or_else(|| {
            let (least, most) = (Span(least), Span(most));
            format!("must be a time with its unit, such as '500ms', '10s' or '15m', from {least} to {most}, not {value}")
        })
    }
}

/// A whole number, then one of the units; blanks between the two are let pass.
fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at_checked(end)?;
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim_start())?;
    digits.parse::<u64>().ok()?.checked_mul(*factor)
}

/// A time in its largest whole unit, as it could be written.
pub(crate) struct Span(pub(crate) Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds = self.0.as_millis();
        for (unit, factor) in [("h", 3_600_000), ("m", 60_000), ("s", 1_000)] {
            if milliseconds >= factor && milliseconds.is_multiple_of(factor) {
                return write!(f, "{}{unit}", milliseconds / factor);
            }
        }
        write!(f, "{milliseconds}ms")
    }
}
