//! Hosts that are this machine.
//!
//! In: the host of a URL. Out: whether connections to it stay on this machine.

use core::net::IpAddr;

/// Returns whether a host is this machine by its name or as an address, in the spelling of
/// [`Url::host`](mcp_proto::http::Url::host).
pub(crate) fn is_loopback_host(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse().is_ok_and(|address: IpAddr| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_this_machine_are_known_by_name_and_address() {
        let local = "localhost localhost. a.localhost 127.0.0.1 127.0.0.2 ::1 ::ffff:127.0.0.1";
        let other =
            "example.com localhost.example.com alocalhost 128.0.0.1 10.0.0.1 0.0.0.0 :: ::2";
        for (hosts, expected) in [(local, true), (other, false)] {
            for host in hosts.split_whitespace() {
                assert_eq!(is_loopback_host(host), expected, "{host}");
                #[cfg(feature = "auth")]
                {
                    use mcp_proto::auth::HostKind;
                    assert_eq!(HostKind::of(host) == HostKind::Loopback, expected, "{host}");
                }
            }
        }
    }
}
