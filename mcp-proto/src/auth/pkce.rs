//! Proof Key for Code Exchange: a secret that binds a code to the client that asked for it.
//!
//! In: 32 random bytes. Out: the verifier, which is sent to the token endpoint, and its challenge
//! by the method `S256`, which is sent to the authorization endpoint.
//!
//! [RFC 7636](https://www.rfc-editor.org/rfc/rfc7636)

use alloc::string::String;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use super::secret::Secret;

/// The only method: `plain` would send the verifier through the browser.
pub(super) const METHOD: &str = "S256";

/// A verifier of 43 characters from 32 random bytes.
pub(super) fn verifier(bytes: [u8; 32]) -> Secret {
    Secret::new(URL_SAFE_NO_PAD.encode(bytes))
}

/// The challenge of a verifier.
pub(super) fn challenge(verifier: &Secret) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.expose().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_7636() {
        let bytes = [
            116, 24, 223, 180, 151, 153, 224, 37, 79, 250, 96, 125, 216, 173, 187, 186, 22, 212,
            37, 77, 105, 214, 191, 240, 91, 88, 5, 88, 83, 132, 141, 121,
        ];
        let verifier = verifier(bytes);
        assert_eq!(verifier.expose(), "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        assert_eq!(challenge(&verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }
}
