//! Kinds of hosts, by name or address.
//!
//! In: the host of a URL. Out: a [`HostKind`]. Names are not resolved here. A connector resolves
//! names, and drops addresses that are not public under
//! [`FetchReach::Public`](super::FetchReach::Public).
//!
//! [RFC 6890](https://www.rfc-editor.org/rfc/rfc6890),
//! [Specification: Server-Side Request Forgery](https://modelcontextprotocol.io/specification/2026-07-28/basic/security_best_practices)

use core::net::{Ipv4Addr, Ipv6Addr};

/// A kind of host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum HostKind {
    /// A name or address of the Internet.
    Public,
    /// This machine: `localhost`, 127.0.0.0/8, `::1`.
    Loopback,
    /// A network of an organization: `*.local`, `*.internal`, 10.0.0.0/8, `fc00::/7` and others.
    Private,
    /// An address of the local link, such as the metadata service of a cloud: 169.254.0.0/16,
    /// `fe80::/10`.
    LinkLocal,
    /// Not a host that a client may connect to: 0.0.0.0/8, multicast, and numbers that some
    /// resolvers read as addresses.
    Unusable,
}

impl HostKind {
    /// The kind of a host, in the spelling of [`Url::host`](crate::http::Url::host).
    pub fn of(host: &str) -> Self {
        let host = host.strip_suffix('.').unwrap_or(host);
        if let Ok(address) = host.parse::<Ipv6Addr>() {
            return Self::of_v6(address);
        }
        if let Ok(address) = host.parse::<Ipv4Addr>() {
            return Self::of_v4(address);
        }
        let label = host.rsplit('.').next().unwrap_or_default();
        match label {
            "localhost" => Self::Loopback,
            "local" | "internal" => Self::Private,
            // Resolvers read `127.1`, `0x7f000001` and `2130706433` as addresses.
            _ if label.starts_with("0x") || label.bytes().all(|byte| byte.is_ascii_digit()) => {
                Self::Unusable
            }
            _ => Self::Public,
        }
    }

    /// The kind of an address.
    pub fn of_address(address: core::net::IpAddr) -> Self {
        match address {
            core::net::IpAddr::V4(address) => Self::of_v4(address),
            core::net::IpAddr::V6(address) => Self::of_v6(address),
        }
    }

    fn of_v4(address: Ipv4Addr) -> Self {
        match address.octets() {
            [127, ..] => Self::Loopback,
            [10, ..] | [192, 168, ..] => Self::Private,
            [172, second, ..] if second & 0xf0 == 16 => Self::Private,
            [100, second, ..] if second & 0xc0 == 64 => Self::Private,
            [169, 254, ..] => Self::LinkLocal,
            [192, 0, 0, _] | [0 | 224.., ..] => Self::Unusable,
            _ => Self::Public,
        }
    }

    fn of_v6(address: Ipv6Addr) -> Self {
        let v4 = |high: u16, low: u16| {
            let [[a, b], [c, d]] = [high.to_be_bytes(), low.to_be_bytes()];
            Self::of_v4(Ipv4Addr::new(a, b, c, d))
        };
        match address.segments() {
            [0, 0, 0, 0, 0, 0, 0, 1] => Self::Loopback,
            // IPv4 addresses inside IPv6 addresses: mapped, compatible, translated, NAT64, 6to4.
            [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
            | [0, 0, 0, 0, 0xffff, 0, high, low]
            | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
            | [0x2002, high, low, ..] => v4(high, low),
            // NAT64 of the own network (RFC 8215), and addresses that were once site-local.
            [0x64, 0xff9b, 1, ..] => Self::Private,
            [first, ..] if first & 0xffc0 == 0xfec0 => Self::Private,
            [first, ..] if first & 0xfe00 == 0xfc00 => Self::Private,
            [first, ..] if first & 0xffc0 == 0xfe80 => Self::LinkLocal,
            [first, ..] if first & 0xff00 == 0xff00 => Self::Unusable,
            _ => Self::Public,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_kinds() {
        for (hosts, kind) in [
            (
                "a.example 8.8.8.8 2606:4700::1 172.15.0.1 172.32.0.1 100.63.0.1 100.128.0.1 \
              192.0.2.1 64:ff9b::808:808 2002:808:808::1 locals.example xn--a",
                HostKind::Public,
            ),
            (
                "localhost localhost. a.localhost 127.0.0.1 127.255.0.9 ::1 ::ffff:127.0.0.1 \
              ::ffff:0:127.0.0.1 64:ff9b::7f00:1 2002:7f00:1::",
                HostKind::Loopback,
            ),
            (
                "10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 100.64.0.1 fd00::1 fc00::1 fec0::1 \
              64:ff9b:1::808:808 a.local \
              a.b.internal ::ffff:10.0.0.1 ::10.0.0.1 2002:a00:1::",
                HostKind::Private,
            ),
            (
                "169.254.169.254 fe80::1 ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe",
                HostKind::LinkLocal,
            ),
            (
                "0.0.0.0 0.1.2.3 :: 224.0.0.1 255.255.255.255 192.0.0.1 ff02::1 127.1 2130706433 \
              0x7f000001 0x7f.0x1 a.1 10.0.0.1.",
                HostKind::Unusable,
            ),
        ] {
            for host in hosts.split_whitespace() {
                let expected = if host == "10.0.0.1." { HostKind::Private } else { kind };
                assert_eq!(HostKind::of(host), expected, "{host}");
            }
        }
    }
}
