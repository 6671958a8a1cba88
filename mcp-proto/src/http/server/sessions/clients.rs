//! The clients of the last sessions, which sessions of equal clients share.
//!
//! In: the client of a session that opens. Out: an equal client of an open session, if there is
//! one. The clients live only as long as their sessions.
//!
//! Most sessions of a server have one of a few clients, and their idle sessions then cost a seventh
//! less.

use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;

use crate::json::Json;
use crate::server::Peer;

/// The most clients that are remembered.
const MAX_CLIENTS: usize = 8;

/// The clients of sessions, the one of the last session first.
#[derive(Debug, Default)]
pub(super) struct Clients(Vec<Weak<Peer>>);

impl Clients {
    /// Shares the client of a session with earlier sessions, or with later ones.
    pub(super) fn share(&mut self, client: &mut Arc<Peer>) {
        let known = |known: &Weak<Peer>| known.upgrade().filter(|known| is_equal(known, client));
        let found = self.0.iter().enumerate().find_map(|(at, entry)| Some((at, known(entry)?)));
        if let Some((at, known)) = found {
            self.0.remove(at);
            *client = known;
        }
        self.0.insert(0, Arc::downgrade(client));
        self.0.truncate(MAX_CLIENTS);
    }
}

/// Returns whether two clients cannot be distinguished. Clients with values of an HTTP request can.
fn is_equal(one: &Peer, other: &Peer) -> bool {
    let Peer { version, client_info, capabilities, principal, extensions, is_http } = one;
    *version == other.version
        && client_info.as_ref().map(Json::as_bytes)
            == other.client_info.as_ref().map(Json::as_bytes)
        && capabilities.as_bytes() == other.capabilities.as_bytes()
        && *principal == other.principal
        && extensions.is_empty()
        && other.extensions.is_empty()
        && *is_http == other.is_http
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;
    use crate::server::Extensions;
    use crate::version::ProtocolVersion;

    fn client(name: &str) -> Peer {
        Peer {
            version: ProtocolVersion::V2025_11_25,
            client_info: Some(Json::trusted(format!(r#"{{"name":"{name}"}}"#).into_bytes())),
            capabilities: Json::EMPTY_OBJECT,
            principal: Some(name.into()),
            extensions: Extensions::default(),
            is_http: true,
        }
    }

    fn share(clients: &mut Clients, peer: Peer) -> Arc<Peer> {
        let mut client = Arc::new(peer);
        clients.share(&mut client);
        client
    }

    #[test]
    fn equal_clients_are_shared_while_one_of_them_lives() {
        let mut clients = Clients::default();
        let first = share(&mut clients, client("a"));
        let other = share(&mut clients, client("b"));
        let second = share(&mut clients, client("a"));
        assert!(Arc::ptr_eq(&first, &second) && !Arc::ptr_eq(&first, &other));
        assert_eq!(format!("{second:?}"), format!("{:?}", client("a")));
        drop((first, second));
        assert!(clients.0.iter().any(|known| known.upgrade().is_none()), "no client is kept");
        let third = share(&mut clients, client("a"));
        assert_eq!(format!("{third:?}"), format!("{:?}", client("a")));
        let many: Vec<_> =
            (0..100).map(|number| share(&mut clients, client(&format!("{number}")))).collect();
        assert_eq!((many.len(), clients.0.len()), (100, MAX_CLIENTS));
    }

    #[test]
    fn clients_that_differ_are_not_shared() {
        let extensions = Extensions::default().with(1_u8);
        let others = [
            Peer { version: ProtocolVersion::V2025_06_18, ..client("a") },
            Peer { client_info: None, ..client("a") },
            Peer { client_info: client("b").client_info, ..client("a") },
            Peer { capabilities: Json::trusted(&b"{ }"[..]), ..client("a") },
            Peer { principal: None, ..client("a") },
            Peer { principal: Some("b".into()), ..client("a") },
            Peer { extensions, ..client("a") },
            Peer { is_http: false, ..client("a") },
        ];
        for other in others {
            assert!(!is_equal(&client("a"), &other) && !is_equal(&other, &client("a")));
        }
        assert!(is_equal(&client("a"), &client("a")));
    }
}
