//! Nonces of servers, for use in proofs.
//!
//! In: values of `DPoP-Nonce`, by origin. Out: the last nonce of an origin. At most 8 origins are
//! stored. A nonce is ignored if it is longer than 512 bytes, or would need escapes in a JSON
//! string.
//!
//! [RFC 9449, sections 8 and 9](https://www.rfc-editor.org/rfc/rfc9449#section-8)

use alloc::collections::VecDeque;
use alloc::string::String;

use super::secret::Secret;
use crate::url::Url;

const MAX_ORIGINS: usize = 8;
const MAX_BYTES: usize = 512;

/// The last nonce of each origin.
#[derive(Debug, Default)]
pub(super) struct Nonces(VecDeque<(String, Secret)>);

impl Nonces {
    /// The nonce for a request to this URL.
    pub(super) fn of(&self, url: &Url) -> Option<&Secret> {
        self.0.iter().find(|(own, _)| *own == url.origin()).map(|(_, nonce)| nonce)
    }

    /// Stores the nonce of an answer from this URL.
    pub(super) fn set(&mut self, url: &Url, nonce: &str) {
        let is_nonce = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
        if nonce.is_empty() || nonce.len() > MAX_BYTES || !nonce.bytes().all(is_nonce) {
            return;
        }
        let origin = url.origin();
        self.0.retain(|(own, _)| *own != origin);
        if self.0.len() >= MAX_ORIGINS {
            self.0.pop_front();
        }
        self.0.push_back((origin.into(), Secret::new(nonce)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn an_origin_has_its_last_nonce() {
        let mut nonces = Nonces::default();
        let of = |nonces: &Nonces, text| nonces.of(&url(text)).map(|it| String::from(it.expose()));
        nonces.set(&url("https://a.example/token"), "1");
        nonces.set(&url("https://b.example/token"), "2");
        nonces.set(&url("https://a.example/other?x"), "3");
        assert_eq!(of(&nonces, "https://a.example/"), Some("3".into()));
        assert_eq!(of(&nonces, "https://b.example:443/"), of(&nonces, "https://b.example/"));
        assert_eq!(of(&nonces, "https://b.example:8443/"), None);
        for bad in ["", "a b", "a\"", "a\\", "\u{e9}", &"x".repeat(513)] {
            nonces.set(&url("https://a.example"), bad);
        }
        assert_eq!(of(&nonces, "https://a.example/"), Some("3".into()));
        for number in 0..20 {
            nonces.set(&url(&alloc::format!("https://{number}.example")), "n");
        }
        assert_eq!((nonces.0.len(), of(&nonces, "https://a.example/")), (MAX_ORIGINS, None));
    }
}
