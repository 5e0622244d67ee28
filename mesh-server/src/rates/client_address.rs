//! The address of a client, taken from the connection or from the headers of trusted proxies.

use std::net::{IpAddr, Ipv6Addr, SocketAddrV4};

use http::HeaderMap;
use http::header::HeaderName;
use ipnet::IpNet;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The address of a client, as an extension of a request.
///
/// [`crate::Server`] sets it; a program with its own listener inserts it to get rate limits per address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientAddress(pub IpAddr);

/// Proxies whose `X-Forwarded-For` header is trusted. `SPEC §12.1`
///
/// Each proxy appends the address of its peer, so the client is the rightmost address that is not a trusted proxy.
/// Addresses further left are claims of the client.
///
/// ```
/// use mesh_server::Proxies;
///
/// let proxies = Proxies::parse(["10.0.0.0/8", "::1"]).unwrap();
/// assert!(proxies.contains("10.1.2.3".parse().unwrap()));
/// assert!(Proxies::parse(["10.0.0.0/33"]).is_err());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxies {
    networks: Vec<IpNet>,
}

impl Proxies {
    /// Parses addresses and networks such as `10.0.0.0/8`.
    ///
    /// # Errors
    /// A text is neither an address nor a network; the error names the first one.
    pub fn parse<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> Result<Self, ProxyError> {
        let networks = texts.into_iter().map(|text| {
            let text = text.as_ref();
            parse_network(text.trim()).ok_or_else(|| ProxyError { text: text.to_owned() })
        });
        Ok(Self { networks: networks.collect::<Result<_, _>>()? })
    }

    /// Returns whether an address belongs to a trusted proxy.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.networks.iter().any(|network| network.contains(&address))
    }

    /// Returns the networks in the form that [`parse`](Self::parse) accepts.
    pub fn texts(&self) -> impl Iterator<Item = String> {
        self.networks.iter().map(ToString::to_string)
    }

    /// Returns the address of the client that sent a request over a connection from `peer`. An invalid entry in the
    /// header ends the search at the last trusted address.
    pub(crate) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer.to_canonical();
        if self.networks.is_empty() || !self.contains(client) {
            return client;
        }
        let lines: Vec<&[u8]> = headers.get_all(FORWARDED_FOR).iter().map(|line| line.as_bytes()).collect();
        let hops = lines.iter().rev().flat_map(|line| line.rsplit(|byte| *byte == b','));
        for hop in hops {
            let Some(address) = parse_hop(hop) else { return client };
            client = address;
            if !self.contains(client) {
                break;
            }
        }
        client
    }
}

fn parse_network(text: &str) -> Option<IpNet> {
    let network = match text.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().into(),
        Err(_) => text.parse::<IpNet>().ok()?,
    };
    // Addresses are compared in canonical form, so a network of IPv4-mapped addresses would never match.
    (network.addr() == network.addr().to_canonical()).then_some(network)
}

/// Parses an address as proxies write it: plain, with a port, or in brackets.
fn parse_hop(hop: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(hop).ok()?.trim_matches([' ', '\t']);
    let bare = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?.0,
        None => text,
    };
    let with_port = || bare.parse::<SocketAddrV4>().ok().map(|address| IpAddr::V4(*address.ip()));
    bare.parse::<IpAddr>().ok().or_else(with_port).map(|address| address.to_canonical())
}

/// Returns the address by which a client is counted. IPv6 clients usually control a /64 network, so their addresses are
/// reduced to it.
pub(crate) fn counted_address(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64))),
        address => address,
    }
}

/// The error of a text that is neither an address nor a network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is neither an address nor a network such as '10.0.0.0/8'")]
pub struct ProxyError {
    text: String,
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn client(proxies: &[&str], peer: &str, lines: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(FORWARDED_FOR, HeaderValue::from_bytes(line.as_bytes()).unwrap());
        }
        Proxies::parse(proxies).unwrap().client(address(peer), &headers).to_string()
    }

    #[test]
    fn the_header_is_used_from_trusted_proxies_only() {
        assert_eq!(client(&[], "127.0.0.1", &["9.9.9.9"]), "127.0.0.1");
        assert_eq!(client(&["10.0.0.1"], "10.0.0.2", &["9.9.9.9"]), "10.0.0.2");
        assert_eq!(client(&["10.0.0.1"], "10.0.0.1", &[]), "10.0.0.1");
        assert_eq!(client(&["10.0.0.1"], "10.0.0.1", &["9.9.9.9"]), "9.9.9.9");
        assert_eq!(client(&["10.0.0.1"], "::ffff:10.0.0.1", &["::ffff:9.9.9.9"]), "9.9.9.9");
    }

    #[test]
    fn the_rightmost_address_that_is_no_proxy_is_the_client() {
        let two = ["10.0.0.0/8", "fd00::/8"];
        assert_eq!(client(&two, "10.0.0.1", &["1.1.1.1, 9.9.9.9, 10.3.3.3"]), "9.9.9.9");
        assert_eq!(client(&two, "10.0.0.1", &["1.1.1.1", "9.9.9.9,fd00::7"]), "9.9.9.9");
        assert_eq!(client(&two, "fd12::1", &["8.8.8.8", "10.1.1.1"]), "8.8.8.8");
        assert_eq!(client(&two, "10.0.0.1", &["10.2.2.2, 10.3.3.3"]), "10.2.2.2");
    }

    #[test]
    fn ports_and_brackets_are_accepted_and_invalid_entries_end_the_search() {
        let one = ["10.0.0.1"];
        assert_eq!(client(&one, "10.0.0.1", &["9.9.9.9:4711"]), "9.9.9.9");
        assert_eq!(client(&one, "10.0.0.1", &["[2001:db8::1]:80"]), "2001:db8::1");
        assert_eq!(client(&one, "10.0.0.1", &[" 2001:db8::1\t"]), "2001:db8::1");
        for invalid in ["unknown", "", "9.9.9.9, ", "1.2.3", "_hidden", "9.9.9.9:99999", "[::1", "\u{fc}"] {
            assert_eq!(client(&one, "10.0.0.1", &[invalid]), "10.0.0.1", "{invalid:?}");
        }
        assert_eq!(client(&["10.0.0.0/8"], "10.0.0.1", &["9.9.9.9, junk, 10.0.0.7"]), "10.0.0.7");
    }

    #[test]
    fn addresses_and_networks_are_parsed_and_matched() {
        for (text, inside, outside) in [
            ("10.0.0.0/8", "10.255.0.1", "11.0.0.1"),
            ("192.0.2.7", "192.0.2.7", "192.0.2.8"),
            ("0.0.0.0/0", "8.8.8.8", "::8"),
            ("::/0", "2001:db8::1", "8.8.8.8"),
            ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::1"),
            ("::ffff:10.0.0.1", "10.0.0.1", "10.0.0.2"),
        ] {
            let proxies = Proxies::parse([text]).unwrap();
            assert!(proxies.contains(address(inside)) && !proxies.contains(address(outside)), "{text}");
            let again = Proxies::parse(proxies.texts()).unwrap();
            assert_eq!(again, proxies);
        }
        for text in [
            "10.0.0.0/33",
            "::/129",
            "host.example",
            "10.0.0.0/",
            "10.0.0.0/-1",
            "",
            "10.0.0",
            "::ffff:10.0.0.0/104",
        ] {
            assert!(Proxies::parse([text]).is_err(), "{text}");
        }
    }

    #[test]
    fn ipv6_addresses_are_counted_by_their_network() {
        assert_eq!(counted_address(address("2001:db8::1")), counted_address(address("2001:db8::ffff:1")));
        assert_ne!(counted_address(address("2001:db8::1")), counted_address(address("2001:db8:0:1::1")));
        assert_eq!(counted_address(address("::ffff:192.0.2.1")), address("192.0.2.1"));
    }
}
