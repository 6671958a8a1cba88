//! Addresses of clients behind trusted proxies.
//!
//! In: the address of the connection's peer, and the head of a request. Out: the address of the
//! client. Called before a request counts towards the limits of its holder.
//!
//! Each proxy appends the address of its own peer to `X-Forwarded-For`. So the field is read from
//! the end. Addresses of trusted proxies are skipped, and the first other address is that of the
//! client. The client itself may have written everything before that address, so the rest is
//! ignored.

use core::fmt;
use core::net::{IpAddr, Ipv6Addr};
use core::str::FromStr;

use crate::frame::http1::Head;

/// The most elements of the field that are read.
const MAX_HOPS: usize = 32;

/// The length of the prefix `::ffff:0:0/96` of IPv4 addresses that are mapped into IPv6.
const MAPPED_BITS: u8 = 96;

/// An address of a proxy, or a network of them: `10.0.0.7`, `10.0.0.0/8`, `fd00::/8`.
///
/// ```
/// use mcp_proto::http::Config;
///
/// let mut config = Config::default();
/// config.trusted_proxies.push("10.0.0.0/8".parse()?);
/// # Ok::<(), mcp_proto::http::ProxyNetworkError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProxyNetwork {
    address: IpAddr,
    bits: u8,
}

/// Error of a text that is neither an IP address, nor an address with a prefix length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProxyNetworkError;

impl ProxyNetwork {
    /// Returns whether an address is in the network. An IPv4 address that is mapped into IPv6
    /// counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.bits)).unwrap_or(0);
                (network.to_bits() ^ address.to_bits()) & mask == 0
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.bits)).unwrap_or(0);
                (network.to_bits() ^ address.to_bits()) & mask == 0
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

impl From<IpAddr> for ProxyNetwork {
    /// The network of one address.
    fn from(address: IpAddr) -> Self {
        let address = address.to_canonical();
        Self { address, bits: if address.is_ipv4() { 32 } else { 128 } }
    }
}

impl FromStr for ProxyNetwork {
    type Err = ProxyNetworkError;

    fn from_str(text: &str) -> Result<Self, ProxyNetworkError> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| ProxyNetworkError)?;
        let Some(bits) = bits else { return Ok(address.into()) };
        let max = if address.is_ipv4() { 32 } else { 128 };
        let is_number = bits.bytes().all(|byte| byte.is_ascii_digit());
        let bits = bits.parse().ok().filter(|bits| *bits <= max && is_number);
        let bits: u8 = bits.ok_or(ProxyNetworkError)?;
        let canonical = address.to_canonical();
        let is_mapped = address != canonical;
        Ok(match bits.checked_sub(MAPPED_BITS).filter(|_| is_mapped) {
            Some(bits) => Self { address: canonical, bits },
            None => Self { address, bits },
        })
    }
}

impl fmt::Display for ProxyNetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a proxy is an IP address or a network such as 10.0.0.0/8")
    }
}

impl core::error::Error for ProxyNetworkError {}

/// Returns whether an address is that of a trusted proxy.
pub(super) fn trusts(proxies: &[ProxyNetwork], address: IpAddr) -> bool {
    proxies.iter().any(|network| network.contains(address))
}

/// The address of the client of a request from `peer`. If no other address is found, the last
/// trusted proxy counts as the client.
pub(super) fn client_address(proxies: &[ProxyNetwork], peer: IpAddr, head: &Head) -> IpAddr {
    if !trusts(proxies, peer) {
        return peer;
    }
    let mut client = peer;
    let values: alloc::vec::Vec<&[u8]> = head.all("x-forwarded-for").collect();
    let hops = values.iter().rev().flat_map(|value| value.rsplit(|byte| *byte == b','));
    for hop in hops.take(MAX_HOPS) {
        let Some(address) = address(hop) else { break };
        client = address;
        if !trusts(proxies, address) {
            break;
        }
    }
    client
}

/// The address in one element of the field, which may have a port.
fn address(hop: &[u8]) -> Option<IpAddr> {
    let text = core::str::from_utf8(hop).ok()?.trim();
    let inner = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    if let Some((address, _)) = inner {
        return address.parse::<Ipv6Addr>().ok().map(IpAddr::V6);
    }
    let without_port = || text.rsplit_once(':').map_or(text, |(address, _)| address);
    text.parse().or_else(|_| without_port().parse()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec::Vec;

    fn proxies() -> Vec<ProxyNetwork> {
        let networks = ["10.0.0.0/8", "192.0.2.1", "fd00::/8"];
        networks.iter().map(|network| network.parse().unwrap()).collect()
    }

    fn client(proxies: &[ProxyNetwork], peer: &str, fields: &[&str]) -> IpAddr {
        let mut head = Head::new("POST", "/mcp");
        for field in fields {
            head.push("X-Forwarded-For", field.as_bytes());
        }
        client_address(proxies, peer.parse().unwrap(), &head)
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        for (peer, fields, expected) in [
            ("198.51.100.7", &["203.0.113.9"][..], "198.51.100.7"),
            ("10.1.2.3", &["203.0.113.9"], "203.0.113.9"),
            ("::ffff:10.1.2.3", &["203.0.113.9"], "203.0.113.9"),
            ("fd00::1", &["[2001:db8::1]:443"], "2001:db8::1"),
            ("192.0.2.1", &["203.0.113.9:1234"], "203.0.113.9"),
            ("192.0.2.2", &["203.0.113.9"], "192.0.2.2"),
            // A client may write anything before the address that the proxy appends.
            ("10.1.2.3", &["1.1.1.1, 10.9.9.9, 203.0.113.9"], "203.0.113.9"),
            ("10.1.2.3", &["1.1.1.1", "203.0.113.9, 10.0.0.4"], "203.0.113.9"),
            ("10.1.2.3", &["1.1.1.1, unknown"], "10.1.2.3"),
            ("10.1.2.3", &["1.1.1.1, , 10.0.0.4"], "10.0.0.4"),
            ("10.1.2.3", &[], "10.1.2.3"),
            ("10.1.2.3", &["10.0.0.4"], "10.0.0.4"),
        ] {
            let expected: IpAddr = expected.parse().unwrap();
            assert_eq!(client(&proxies(), peer, fields), expected, "{peer} {fields:?}");
        }
        assert_eq!(client(&[], "10.1.2.3", &["203.0.113.9"]).to_string(), "10.1.2.3");
    }

    #[test]
    fn a_network_is_an_address_and_a_length() {
        for text in ["", "x", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/+8", "fd00::/129", "10.0.0/8"] {
            assert_eq!(text.parse::<ProxyNetwork>(), Err(ProxyNetworkError), "{text}");
        }
        let contains = |network: &str, address: &str| {
            network.parse::<ProxyNetwork>().unwrap().contains(address.parse().unwrap())
        };
        assert!(contains("0.0.0.0/0", "203.0.113.9") && !contains("0.0.0.0/0", "::1"));
        assert!(contains("::/0", "2001:db8::1") && contains("10.0.0.0/8", "10.255.0.1"));
        assert!(!contains("10.0.0.0/8", "11.0.0.1") && !contains("fd00::/8", "fe80::1"));
        assert!(!ProxyNetworkError.to_string().is_empty());
    }

    #[test]
    fn network_of_mapped_addresses_is_one_of_ipv4() {
        for (mapped, network) in [
            ("::ffff:10.0.0.1/128", "10.0.0.1/32"),
            ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
            ("::ffff:0:0/96", "0.0.0.0/0"),
            ("::ffff:10.0.0.1", "10.0.0.1"),
        ] {
            assert_eq!(mapped.parse::<ProxyNetwork>(), network.parse(), "{mapped}");
        }
        let mapped: ProxyNetwork = "::ffff:10.0.0.1/128".parse().unwrap();
        assert!(mapped.contains("10.0.0.1".parse().unwrap()));
        assert!(mapped.contains("::ffff:10.0.0.1".parse().unwrap()));
        assert!(!mapped.contains("10.0.0.2".parse().unwrap()));
    }
}
