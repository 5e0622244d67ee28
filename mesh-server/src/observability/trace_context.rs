//! Which trace is a request part of? What W3C's `traceparent` says, in and out.

use std::fmt;

use http::header::{HeaderMap, HeaderName, HeaderValue};

/// Says which trace a request belongs to, and which step of it called.
pub(crate) const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// Bytes of a value of the version that is known here; later ones may add to it.
const LENGTH: usize = 55;

/// A request's place in a trace that somebody else has begun.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct TraceContext {
    /// The trace.
    pub(crate) trace: u128,
    /// The caller's step in it; 0: there is none.
    pub(crate) parent: u64,
    /// This server's own.
    pub(crate) span: u64,
    /// Whether the caller records it.
    pub(crate) sampled: bool,
}

impl TraceContext {
    /// The place that the request's header names, with that number for the own step. What is no such header, or
    /// stands there twice, is as good as none.
    pub(crate) fn of(headers: &HeaderMap, span: impl FnOnce() -> u64) -> Option<Self> {
        let mut values = headers.get_all(&TRACEPARENT).iter();
        let value = values.next()?;
        if values.next().is_some() {
            return None;
        }
        let text = value.to_str().ok()?;
        let (known, more) = text.split_at_checked(LENGTH)?;
        let mut parts = known.split('-');
        let [version, trace, parent, flags] = [parts.next()?, parts.next()?, parts.next()?, parts.next()?];
        let version = digits(version, 2)?;
        if parts.next().is_some()
            || version == 0xff
            || !(more.is_empty() || version > 0 && more.starts_with('-'))
        {
            return None;
        }
        let trace = digits(trace, 32).filter(|trace| *trace != 0)?;
        let parent = digits(parent, 16).and_then(|parent| u64::try_from(parent).ok());
        let parent = parent.filter(|parent| *parent != 0)?;
        Some(Self { trace, parent, span: span().max(1), sampled: digits(flags, 2)? & 1 == 1 })
    }

    /// The first place of a trace that begins here.
    #[cfg(feature = "otlp")]
    pub(crate) fn first(trace: u128, span: u64) -> Self {
        Self { trace: trace.max(1), parent: 0, span: span.max(1), sampled: true }
    }

    /// The trace, as logs and collectors name it.
    pub(crate) fn trace_id(&self) -> String {
        format!("{:032x}", self.trace)
    }

    /// The header for whoever is called on behalf of the request, and for the reply.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        HeaderValue::try_from(self.to_string()).ok()
    }
}

/// So many digits of base 16, in lower case only.
fn digits(text: &str, count: usize) -> Option<u128> {
    let all = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    (all && text.len() == count).then(|| u128::from_str_radix(text, 16).ok())?
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace, self.span, u8::from(self.sampled))
    }
}

impl fmt::Debug for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn read(values: &[&str]) -> Option<TraceContext> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(TRACEPARENT, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        TraceContext::of(&headers, || 0xabc)
    }

    #[test]
    fn the_trace_goes_on_with_a_step_of_our_own() {
        let place = read(&[GOOD]).unwrap();
        assert_eq!(place.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(place.parent, 0x00f0_67aa_0ba9_02b7);
        assert_eq!(place.to_string(), "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000abc-01");
        assert_eq!(place.header().unwrap(), place.to_string().as_str());
        assert!(!read(&[&GOOD.replace("-01", "-00")]).unwrap().sampled);
        assert!(read(&[&GOOD.replace("-01", "-03")]).unwrap().sampled, "flags that are not known here");
    }

    #[test]
    fn later_versions_may_say_more() {
        let later = GOOD.replacen("00", "cc", 1);
        assert!(read(&[&later]).is_some());
        assert!(read(&[&format!("{later}-more")]).is_some());
        assert!(read(&[&format!("{later}more")]).is_none());
    }

    #[test]
    fn what_is_no_place_is_as_good_as_none() {
        let zero = "0".repeat(32);
        for wrong in [
            "",
            "00",
            &GOOD[..54],
            &format!("{GOOD}-more"),
            &GOOD.to_ascii_uppercase(),
            &GOOD.replacen("00", "ff", 1),
            &GOOD.replace("4bf92f3577b34da6a3ce929d0e0e4736", &zero),
            &GOOD.replace("00f067aa0ba902b7", "0000000000000000"),
            &GOOD.replace('-', "_"),
            &GOOD.replace("4b", "+b"),
            &GOOD.replace("-01", "-\u{fc}"),
        ] {
            assert_eq!(read(&[wrong]), None, "{wrong:?}");
        }
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[GOOD, GOOD]), None);
    }
}
