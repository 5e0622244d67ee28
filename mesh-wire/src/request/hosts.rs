//! Host names that the server accepts, in `Host` and in the authority of the URL. `SPEC §2.13`
//!
//! In a DNS rebinding attack, a foreign web page makes its own name resolve to the address of the server, so that
//! browsers treat the server as part of the page's origin. `Host` still contains the name of the page.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::header::HOST;
use http::{HeaderMap, Uri, Version};
use thiserror::Error;

use crate::WireError;

/// The names and addresses by which requests may address the server. Ports are ignored. Names are case-insensitive.
///
/// ```
/// use mesh_wire::request::AllowedHosts;
///
/// let hosts = AllowedHosts::parse(["api.example.org", "10.1.2.3"]).unwrap();
/// assert!(hosts.contains("API.example.org:443"));
/// assert!(!hosts.contains("localhost"));
/// assert!(AllowedHosts::Loopback.contains("127.0.0.1:4000"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AllowedHosts {
    /// Every name and address.
    #[default]
    Any,
    /// `localhost` and names that end in it, 127.0.0.0/8 and `[::1]`.
    Loopback,
    /// The listed names and addresses.
    Listed(Vec<Host>),
}

/// A name or an address of a server, without a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// A name, in lowercase and without a trailing dot.
    Name(String),
    /// An address.
    Address(IpAddr),
}

/// A text that is neither a name nor an address of a server.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("'{0}' is not a name or an address of a host; write it without a port, such as 'api.example.org'")]
pub struct HostError(pub String);

impl AllowedHosts {
    /// Parses names and addresses.
    ///
    /// # Errors
    /// [`HostError`] with the first text that is neither.
    pub fn parse<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> Result<Self, HostError> {
        let hosts = texts.into_iter().map(|text| {
            let text = text.as_ref();
            let parsed = match text.parse::<Ipv6Addr>() {
                Ok(address) => Some((Parsed::Address(address.into()), false)),
                Err(_) => split(text),
            };
            match parsed {
                Some((Parsed::Name(name), false)) => Ok(Host::Name(name.to_ascii_lowercase())),
                Some((Parsed::Address(address), false)) => Ok(Host::Address(address)),
                _ => Err(HostError(text.to_owned())),
            }
        });
        Ok(Self::Listed(hosts.collect::<Result<_, _>>()?))
    }

    /// Returns whether a request may have this authority: a host and, optionally, a port.
    pub fn contains(&self, authority: &str) -> bool {
        if matches!(self, Self::Any) {
            return true;
        }
        let Some((host, _)) = split(authority) else { return false };
        match (self, host) {
            (Self::Any, _) => true,
            (Self::Loopback, Parsed::Address(address)) => address.is_loopback(),
            (Self::Loopback, Parsed::Name(name)) => {
                const LOCAL: &str = "localhost";
                let (before, end) =
                    name.split_at_checked(name.len().saturating_sub(LOCAL.len())).unwrap_or_default();
                end.eq_ignore_ascii_case(LOCAL) && (before.is_empty() || before.ends_with('.'))
            }
            (Self::Listed(hosts), host) => hosts.iter().any(|allowed| match (allowed, host) {
                (Host::Name(allowed), Parsed::Name(name)) => allowed.eq_ignore_ascii_case(name),
                (Host::Address(allowed), Parsed::Address(address)) => *allowed == address,
                _ => false,
            }),
        }
    }

    /// Refuses a request for another host. The authority of the URL and `Host` must be allowed if they are present.
    ///
    /// # Errors
    /// 421 if the host is not allowed.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), WireError> {
        if matches!(self, Self::Any) {
            return Ok(());
        }
        let mut names = 0;
        let authority = uri.authority().map(|authority| authority.as_str().as_bytes());
        for name in headers.get_all(HOST).iter().map(|value| value.as_bytes()).chain(authority) {
            names += 1;
            if !std::str::from_utf8(name).is_ok_and(|name| self.contains(name)) {
                return Err(WireError::misdirected());
            }
        }
        if names == 0 { Err(WireError::misdirected()) } else { Ok(()) }
    }
}

/// Refuses a request with several `Host` headers, and an HTTP/1.1 request without one. `SPEC §2.13`
///
/// # Errors
/// 400 if the number of `Host` headers is wrong.
pub fn check_one_host(version: Version, headers: &HeaderMap) -> Result<(), WireError> {
    let mut hosts = headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (_, Some(_)) => Err(WireError::transport("The request has several Host headers; send one")),
        (None, _) if version == Version::HTTP_11 => {
            Err(WireError::transport("The request has no Host header; send one"))
        }
        _ => Ok(()),
    }
}

/// The host of an authority.
#[derive(Clone, Copy)]
enum Parsed<'a> {
    Name(&'a str),
    Address(IpAddr),
}

/// Returns the host of an authority and whether it has a port; `None` if it is malformed.
fn split(authority: &str) -> Option<(Parsed<'_>, bool)> {
    let is_port = |port: &str| port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(rest) = authority.strip_prefix('[') {
        let (address, port) = rest.split_once(']')?;
        let address: Ipv6Addr = address.parse().ok()?;
        let has_port = !port.is_empty();
        if has_port && !port.strip_prefix(':').is_some_and(is_port) {
            return None;
        }
        return Some((Parsed::Address(IpAddr::V6(address).to_canonical()), has_port));
    }
    let (host, port) = authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port)));
    if port.is_some_and(|port| !is_port(port)) {
        return None;
    }
    let host = host.strip_suffix('.').unwrap_or(host);
    let is_name =
        !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if !is_name {
        return None;
    }
    let parsed = host.parse().map_or(Parsed::Name(host), |address: Ipv4Addr| Parsed::Address(address.into()));
    Some((parsed, port.is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_names_are_recognized_exactly() {
        for name in [
            "localhost",
            "LOCALHOST:4000",
            "a.b.localhost",
            "localhost.",
            "localhost.:80",
            "127.0.0.1",
            "127.255.0.9:1",
            "[::1]",
            "[::1]:4000",
            "[::ffff:127.0.0.1]",
        ] {
            assert!(AllowedHosts::Loopback.contains(name), "{name}");
        }
        for name in [
            "",
            ".",
            ":80",
            "localhos",
            "xlocalhost",
            "localhost.example",
            "128.0.0.1",
            "127.0.0.1.example",
            "127.1",
            "0x7f.0.0.1",
            "2130706433",
            "::1",
            "[::1",
            "[::1]80",
            "[::1]:x",
            "[::2]",
            "localhost:http",
            "localhost:123456",
            "localhost:80:80",
            "user@localhost",
            "localhost/",
            "local host",
            "löcalhost",
        ] {
            assert!(!AllowedHosts::Loopback.contains(name), "{name}");
        }
    }

    #[test]
    fn listed_hosts_are_compared_by_meaning() {
        let hosts =
            AllowedHosts::parse(["Api.Example.org.", "10.1.2.3", "[2001:DB8::1]", "2001:db8::2"]).unwrap();
        for name in
            ["api.example.ORG", "api.example.org.:1", "10.1.2.3:80", "[2001:db8:0::1]", "[2001:db8::2]:443"]
        {
            assert!(hosts.contains(name), "{name}");
        }
        for name in ["example.org", "x.api.example.org", "10.1.2.4", "localhost", "127.0.0.1", ""] {
            assert!(!hosts.contains(name), "{name}");
        }
        for text in ["", "a:80", "10.1.2.3:80", "[::1]:80", "*", "*.example.org", "http://a", "a/b", "a b"] {
            assert_eq!(AllowedHosts::parse([text]), Err(HostError(text.to_owned())));
        }
    }

    #[test]
    fn a_request_has_one_host_header() {
        let status = |version, count| {
            let mut headers = HeaderMap::new();
            for _ in 0..count {
                headers.append(HOST, http::HeaderValue::from_static("a"));
            }
            check_one_host(version, &headers).is_ok()
        };
        assert_eq!([0, 1, 2].map(|count| status(Version::HTTP_11, count)), [false, true, false]);
        assert_eq!([0, 1, 2].map(|count| status(Version::HTTP_10, count)), [true, true, false]);
        assert_eq!([0, 1, 2].map(|count| status(Version::HTTP_2, count)), [true, true, false]);
    }
}
