//! Secrets of a run. Each has the word `canary` in it, so that one look finds any of them.
//!
//! In: names, and the hosts that may see a secret. Out: texts, and a panic if another host sees
//! one.

use crate::base64;

/// The word in all secrets.
pub(super) const CANARY: &str = "canary";

/// The bytes that are `canaryAA` in Base64.
const CANARY_BYTES: [u8; 6] = [113, 169, 218, 175, 32, 0];

/// The secrets so far, with the hosts that may see them.
#[derive(Default)]
pub(super) struct Canaries {
    known: Vec<(String, Vec<String>)>,
}

impl Canaries {
    /// A new secret, which only these hosts may see.
    pub(super) fn issue(&mut self, name: &str, hosts: &[&str]) -> String {
        let text = format!("{CANARY}-{name}-{:04}", self.known.len());
        self.add(&text, hosts);
        text
    }

    /// A text that only these hosts may see, too.
    pub(super) fn add(&mut self, text: &str, hosts: &[&str]) {
        self.known.push((text.into(), hosts.iter().map(|host| (*host).into()).collect()));
    }

    /// Panics if a request to a host has a secret that is not for it. Within Base64 too.
    pub(super) fn check_sent(&self, host: &str, text: &str) {
        for (secret, hosts) in self.known.iter().filter(|(secret, _)| text.contains(secret)) {
            assert!(hosts.iter().any(|own| own == host), "{host} gets {secret}: {text}");
        }
    }

    /// Panics if a text that anybody may read has a secret.
    pub(super) fn check_shown(text: &str) {
        assert!(!text.contains(CANARY), "a secret is shown: {text}");
    }
}

/// Random bytes that are a canary in Base64.
pub(super) fn random(count: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    for (byte, value) in bytes.iter_mut().zip(CANARY_BYTES.into_iter().chain([0, 0])) {
        *byte = value;
    }
    for (byte, value) in bytes.iter_mut().skip(8).zip(count.to_be_bytes()) {
        *byte = value;
    }
    bytes
}

/// A signature that is a canary in Base64.
pub(super) fn signature(length: usize) -> Vec<u8> {
    CANARY_BYTES.into_iter().chain([0; 64]).take(length).collect()
}

/// The value of `Authorization` for an id and a secret.
pub(super) fn basic(id: &str, secret: &str) -> String {
    base64::encode(format!("{id}:{secret}").as_bytes())
}

/// Bytes of the script, unless they could be taken for a secret.
pub(super) fn harmless(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).into_owned();
    if text.to_ascii_lowercase().contains("can") { String::new() } else { text }
}
