//! Whose request is it? The client's address: that of the connection, or the one that trusted proxies tell of.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use http::HeaderMap;
use http::header::HeaderName;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The address of the client's end of the connection, as an extension of the request.
///
/// [`crate::Server`] passes it on by itself; a program with a listener of its own inserts it for rate limits per
/// address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientAddress(pub IpAddr);

/// Proxies whose `X-Forwarded-For` is believed. `SPEC §12.1`
///
/// Each proxy adds the address that it was called from at the right end. So the client is the rightmost address
/// that is no proxy's: what stands to its left is the client's own word.
///
/// ```
/// use mesh_server::Proxies;
///
/// let proxies = Proxies::parse(["10.0.0.0/8", "::1"]).unwrap();
/// assert!(proxies.trust("10.1.2.3".parse().unwrap()));
/// assert!(Proxies::parse(["10.0.0.0/33"]).is_err());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxies {
    networks: Vec<Network>,
}

impl Proxies {
    /// Reads addresses, and networks as `10.0.0.0/8`.
    ///
    /// # Errors
    /// The first text that is neither.
    pub fn parse<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> Result<Self, ProxyError> {
        let networks = texts.into_iter().map(|text| text.as_ref().parse());
        Ok(Self { networks: networks.collect::<Result<_, _>>()? })
    }

    /// Whether an address is one of theirs.
    pub fn trust(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.networks.iter().any(|network| network.contains(address))
    }

    /// The proxies as they could be written.
    pub fn texts(&self) -> impl Iterator<Item = String> {
        self.networks.iter().map(ToString::to_string)
    }

    /// The client's address, given the connection's other end. What cannot be read ends the search at the last
    /// address that can be relied on.
    pub(crate) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer.to_canonical();
        if self.networks.is_empty() || !self.trust(client) {
            return client;
        }
        let lines: Vec<&[u8]> = headers.get_all(FORWARDED_FOR).iter().map(|line| line.as_bytes()).collect();
        let hops = lines.iter().rev().flat_map(|line| line.rsplit(|byte| *byte == b','));
        for hop in hops {
            let Some(address) = hop_address(hop) else { return client };
            client = address;
            if !self.trust(client) {
                break;
            }
        }
        client
    }
}

/// An address as proxies write it: plain, with a port, or in brackets.
fn hop_address(hop: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(hop).ok()?.trim_matches([' ', '\t']);
    let bare = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?.0,
        None => text,
    };
    let address = bare.parse::<IpAddr>().ok().or_else(|| {
        let (address, port) = bare.rsplit_once(':')?;
        port.parse::<u16>().ok()?;
        address.parse::<std::net::Ipv4Addr>().ok().map(IpAddr::V4)
    })?;
    Some(address.to_canonical())
}

/// One party's addresses as one: in IPv6 a single machine has as many as it likes of the same first half.
pub(crate) fn party(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(first_bits(address, 64)),
        address => address,
    }
}

fn first_bits(address: Ipv6Addr, length: u8) -> Ipv6Addr {
    let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
    (u128::from(address) & mask).into()
}

/// Addresses with the same first bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    length: u8,
}

impl Network {
    fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.length)).unwrap_or(0);
                u32::from(own) & mask == u32::from(other) & mask
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                first_bits(own, self.length) == first_bits(other, self.length)
            }
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = ProxyError;

    fn from_str(text: &str) -> Result<Self, ProxyError> {
        let refused = || ProxyError { text: text.to_owned() };
        let (address, length) = match text.trim().split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text.trim(), None),
        };
        let address = address.parse::<IpAddr>().map_err(|_| refused())?.to_canonical();
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = length.map_or(Ok(most), |length| length.parse().map_err(|_| refused()))?;
        if length > most {
            return Err(refused());
        }
        Ok(Self { address, length })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

/// A text that is neither an address nor a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyError {
    text: String,
}

impl fmt::Display for ProxyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is neither an address nor a network such as '10.0.0.0/8'", self.text)
    }
}

impl std::error::Error for ProxyError {}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn at(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn client(proxies: &[&str], peer: &str, lines: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(FORWARDED_FOR, HeaderValue::from_bytes(line.as_bytes()).unwrap());
        }
        Proxies::parse(proxies).unwrap().client(at(peer), &headers).to_string()
    }

    #[test]
    fn a_header_counts_from_trusted_proxies_only() {
        assert_eq!(client(&[], "127.0.0.1", &["9.9.9.9"]), "127.0.0.1");
        assert_eq!(client(&["10.0.0.1"], "10.0.0.2", &["9.9.9.9"]), "10.0.0.2");
        assert_eq!(client(&["10.0.0.1"], "10.0.0.1", &[]), "10.0.0.1");
        assert_eq!(client(&["10.0.0.1"], "10.0.0.1", &["9.9.9.9"]), "9.9.9.9");
        assert_eq!(client(&["10.0.0.1"], "::ffff:10.0.0.1", &["::ffff:9.9.9.9"]), "9.9.9.9");
    }

    #[test]
    fn the_rightmost_address_that_is_no_proxy_counts() {
        let two = ["10.0.0.0/8", "fd00::/8"];
        assert_eq!(client(&two, "10.0.0.1", &["1.1.1.1, 9.9.9.9, 10.3.3.3"]), "9.9.9.9");
        assert_eq!(client(&two, "10.0.0.1", &["1.1.1.1", "9.9.9.9,fd00::7"]), "9.9.9.9");
        assert_eq!(client(&two, "fd12::1", &["8.8.8.8", "10.1.1.1"]), "8.8.8.8");
        assert_eq!(client(&two, "10.0.0.1", &["10.2.2.2, 10.3.3.3"]), "10.2.2.2");
    }

    #[test]
    fn ports_and_brackets_are_let_pass_and_nonsense_ends_the_search() {
        let one = ["10.0.0.1"];
        assert_eq!(client(&one, "10.0.0.1", &["9.9.9.9:4711"]), "9.9.9.9");
        assert_eq!(client(&one, "10.0.0.1", &["[2001:db8::1]:80"]), "2001:db8::1");
        assert_eq!(client(&one, "10.0.0.1", &[" 2001:db8::1\t"]), "2001:db8::1");
        for nonsense in ["unknown", "", "9.9.9.9, ", "1.2.3", "_hidden", "9.9.9.9:99999", "[::1", "\u{fc}"] {
            assert_eq!(client(&one, "10.0.0.1", &[nonsense]), "10.0.0.1", "{nonsense:?}");
        }
        assert_eq!(client(&["10.0.0.0/8"], "10.0.0.1", &["9.9.9.9, junk, 10.0.0.7"]), "10.0.0.7");
    }

    #[test]
    fn networks() {
        for (text, inside, outside) in [
            ("10.0.0.0/8", "10.255.0.1", "11.0.0.1"),
            ("192.0.2.7", "192.0.2.7", "192.0.2.8"),
            ("0.0.0.0/0", "8.8.8.8", "::8"),
            ("::/0", "2001:db8::1", "8.8.8.8"),
            ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::1"),
            ("::ffff:10.0.0.1", "10.0.0.1", "10.0.0.2"),
        ] {
            let proxies = Proxies::parse([text]).unwrap();
            assert!(proxies.trust(at(inside)) && !proxies.trust(at(outside)), "{text}");
            let again = Proxies::parse(proxies.texts()).unwrap();
            assert_eq!(again, proxies);
        }
        for text in ["10.0.0.0/33", "::/129", "host.example", "10.0.0.0/", "10.0.0.0/-1", "", "10.0.0"] {
            assert!(Proxies::parse([text]).is_err(), "{text}");
        }
    }

    #[test]
    fn neighbors_in_ipv6_are_one() {
        assert_eq!(party(at("2001:db8::1")), party(at("2001:db8::ffff:1")));
        assert_ne!(party(at("2001:db8::1")), party(at("2001:db8:0:1::1")));
        assert_eq!(party(at("::ffff:192.0.2.1")), at("192.0.2.1"));
    }
}
