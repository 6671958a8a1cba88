//! Verification of JWTs with the keys of their issuer.
//!
//! In: a token. Out: its claims, or a refusal with the kind of fault: the format, an unknown key,
//! the signature, a claim. The crate `jsonwebtoken` checks signatures; this module selects the key
//! and the algorithm.
//!
//! | a token is refused if | because |
//! |---|---|
//! | it is longer than 16 KiB or not three parts of base64url | it is no JWT |
//! | its `alg` is not that of the key | `none`, HMAC with a public key, and other confusions are no algorithms of a key |
//! | its `typ` is neither `JWT` nor `at+jwt`, also written `application/at+jwt` | an ID token of another kind is no access token |
//! | it has `crit` | "If any of the listed extension Header Parameters are not understood […] the JWS is invalid" |
//! | it has no `kid` and there are several keys of its algorithm | keys are not tried one by one |
//! | [`ClaimRules`] refuse it | it is for another server, has expired, … |
//!
//! Keys are fetched for the first token, after 1 h, and when a token has an unknown `kid`, but at
//! most once a minute, or 5 s after a failure. A fetch takes at most 5 s. Known keys stay in use
//! while they cannot be fetched. Tokens with an unknown key that arrive during a fetch wait for it.
//!
//! [RFC 7515](https://www.rfc-editor.org/rfc/rfc7515), [RFC 7517](https://www.rfc-editor.org/rfc/rfc7517),
//! [RFC 8725](https://www.rfc-editor.org/rfc/rfc8725)

mod algorithm;
mod key_cache;
mod key_source;
mod keys;
mod token;

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;

use mcp_proto::Duration;
use mcp_proto::http::Head;
use mcp_proto::resource_server::{
    ClaimRules, Claims, TokenRefusal, Verification, VerifiedToken, Verifier,
};

use crate::io::unix_time;

use key_cache::{KeyCache, KeyLookup};
use token::Jwt;

pub use algorithm::JwtAlgorithm;
pub use key_source::KeySource;

/// A verifier of JWTs of one issuer. Clones share the keys.
///
/// ```
/// use mcp_proto::http::Config;
/// use mcp_proto::resource_server::{ClaimRules, ProtectedResource};
/// use mcp_service::JwtVerifier;
///
/// let rules = ClaimRules::new("https://auth.example.com", "https://mcp.example.com/mcp");
/// let keys = async || Ok(br#"{"keys":[]}"#.to_vec());
/// let resource = ProtectedResource::new("https://mcp.example.com/mcp", "https://auth.example.com")?;
/// let mut config = Config::default();
/// config.protect(resource, JwtVerifier::new(rules, move || keys()));
/// # Ok::<(), mcp_proto::http::UrlError>(())
/// ```
#[derive(Clone)]
pub struct JwtVerifier {
    rules: Arc<ClaimRules>,
    keys: Arc<KeyCache>,
    allowed: Arc<[JwtAlgorithm]>,
    unix_time: Arc<dyn Fn() -> Duration + Send + Sync>,
}

impl JwtVerifier {
    /// A verifier of tokens that satisfy `rules`, with the keys of their issuer. It allows RS256,
    /// ES256 and `EdDSA`.
    pub fn new(rules: ClaimRules, keys: impl KeySource + 'static) -> Self {
        Self {
            rules: Arc::new(rules),
            keys: Arc::new(KeyCache::new(Box::new(keys))),
            allowed: Arc::new([JwtAlgorithm::Rs256, JwtAlgorithm::Es256, JwtAlgorithm::EdDsa]),
            unix_time: Arc::new(unix_time),
        }
    }

    /// Sets the allowed algorithms; default RS256, ES256 and `EdDSA`. A key of RSA that names no
    /// algorithm is for RS256 and PS256.
    #[must_use]
    pub fn algorithms(mut self, allowed: &[JwtAlgorithm]) -> Self {
        self.allowed = allowed.into();
        self
    }

    /// Sets the source of the time since the Unix epoch; default the system clock. It also counts
    /// the age of the keys, the pauses between fetches and [`Claims::time_left`], so it must
    /// advance.
    #[must_use]
    pub fn clock(mut self, unix_time: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        self.unix_time = Arc::new(unix_time);
        self
    }

    async fn claims(self, token: Result<Jwt, TokenRefusal>) -> VerifiedToken {
        let token = token?;
        if !self.allowed.contains(&token.algorithm) {
            return Err(TokenRefusal::invalid("the algorithm of the token is not allowed"));
        }
        let found = self.keys.find(&*self.unix_time, &token).await;
        let key = match found {
            KeyLookup::Key(key) => key,
            KeyLookup::Nothing => {
                return Err(TokenRefusal::invalid("the token is signed with an unknown key"));
            }
            KeyLookup::Unavailable => return Err(TokenRefusal::unavailable()),
        };
        if !key.verifies(&token) {
            return Err(TokenRefusal::invalid("the signature of the token is wrong"));
        }
        let claims = Claims::read(&token.payload);
        let mut claims = claims.ok_or_else(|| TokenRefusal::invalid("the token has no claims"))?;
        let now = (self.unix_time)();
        claims.check(now, &self.rules)?;
        claims.time_left = claims.expires_at.map(|expires_at| expires_at.saturating_sub(now));
        Ok(claims)
    }
}

impl Verifier for JwtVerifier {
    fn verify(&self, token: &str, _head: &Head) -> Verification {
        Box::pin(self.clone().claims(Jwt::read(token)))
    }
}

impl fmt::Debug for JwtVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JwtVerifier")
            .field("rules", &self.rules)
            .field("allowed", &self.allowed)
            .finish_non_exhaustive()
    }
}
