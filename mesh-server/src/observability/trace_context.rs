//! Trace context: the W3C header `traceparent`, in requests, in replies and for calls to other services.

use std::fmt;

use http::header::{HeaderMap, HeaderName, HeaderValue};

/// The name of the header.
pub(crate) const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// Bytes of a value of version 0. Later versions may append to it.
const LENGTH: usize = 55;

/// The trace of a request, and the spans of its caller and of this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceContext {
    /// The trace.
    pub(crate) trace: u128,
    /// The span of the caller; 0 if the trace starts here.
    pub(crate) parent: u64,
    /// The span of this server.
    pub(crate) span: u64,
    /// Whether the caller records the trace.
    pub(crate) sampled: bool,
}

impl TraceContext {
    /// Reads the header of a request and continues its trace with a new span. A header that is malformed or repeated is
    /// ignored.
    pub(crate) fn from_headers(headers: &HeaderMap, span: impl FnOnce() -> u64) -> Option<Self> {
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

    /// Starts a trace.
    #[cfg(feature = "otlp")]
    pub(crate) fn new_trace(trace: u128, span: u64) -> Self {
        Self { trace: trace.max(1), parent: 0, span: span.max(1), sampled: true }
    }

    /// Returns the id of the trace as hex digits.
    pub(crate) fn trace_id(&self) -> String {
        format!("{:032x}", self.trace)
    }

    /// Returns the header's value for the reply.
    pub(crate) fn header_value(&self) -> Option<HeaderValue> {
        HeaderValue::try_from(self.to_string()).ok()
    }
}

/// Parses exactly `count` lowercase hex digits.
fn digits(text: &str, count: usize) -> Option<u128> {
    let all = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    (all && text.len() == count).then(|| u128::from_str_radix(text, 16).ok())?
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace, self.span, u8::from(self.sampled))
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
        TraceContext::from_headers(&headers, || 0xabc)
    }

    #[test]
    fn a_trace_continues_with_a_new_span() {
        let context = read(&[GOOD]).unwrap();
        assert_eq!(context.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(context.parent, 0x00f0_67aa_0ba9_02b7);
        assert_eq!(context.to_string(), "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000abc-01");
        assert_eq!(context.header_value().unwrap(), context.to_string().as_str());
        assert!(!read(&[&GOOD.replace("-01", "-00")]).unwrap().sampled);
        assert!(read(&[&GOOD.replace("-01", "-03")]).unwrap().sampled, "unknown flags");
    }

    #[test]
    fn later_versions_may_append_fields() {
        let later = GOOD.replacen("00", "cc", 1);
        assert!(read(&[&later]).is_some());
        assert!(read(&[&format!("{later}-more")]).is_some());
        assert!(read(&[&format!("{later}more")]).is_none());
    }

    #[test]
    fn malformed_or_repeated_headers_are_ignored() {
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
