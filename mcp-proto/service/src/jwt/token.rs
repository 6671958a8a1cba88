//! A JWT before its signature is checked.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcp_proto::Json;
use mcp_proto::resource_server::TokenRefusal;

use super::algorithm::JwtAlgorithm;

/// The longest token, in bytes.
const MAX_BYTES: usize = 16 * 1024;

/// The allowed values of `typ`, which may be missing.
const TYPES: [&str; 3] = ["JWT", "at+jwt", "application/at+jwt"];

/// A JWT with a valid header, without critical extensions.
#[derive(Debug)]
pub(super) struct Jwt {
    pub(super) algorithm: JwtAlgorithm,
    pub(super) key_id: Option<String>,
    /// Header and payload as they are signed.
    pub(super) message: String,
    /// The signature, in base64url.
    pub(super) signature: String,
    pub(super) payload: Vec<u8>,
}

impl Jwt {
    /// Parses a token. Fails with a refusal that names the fault.
    pub(super) fn read(text: &str) -> Result<Self, TokenRefusal> {
        let malformed = || TokenRefusal::invalid("the token is no JWT");
        let mut parts = text.split('.');
        let (Some(header), Some(payload), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(malformed());
        };
        if text.len() > MAX_BYTES {
            return Err(malformed());
        }
        let decoded = URL_SAFE_NO_PAD.decode(header).map_err(|_| malformed())?;
        let json = Json::parse(decoded).map_err(|_| malformed())?;
        let members: Header = json.decode().map_err(|_| malformed())?;
        if members.crit.is_some() {
            return Err(TokenRefusal::invalid("the token has critical headers"));
        }
        let is_type = |name: &String| TYPES.iter().any(|known| known.eq_ignore_ascii_case(name));
        if members.typ.as_ref().is_some_and(|name| !is_type(name)) {
            return Err(TokenRefusal::invalid("the token is no access token"));
        }
        let algorithm = JwtAlgorithm::named(&members.alg);
        Ok(Self {
            algorithm: algorithm.ok_or_else(|| {
                TokenRefusal::invalid("the algorithm of the token is not allowed")
            })?,
            key_id: members.kid,
            message: format!("{header}.{payload}"),
            signature: signature.to_string(),
            payload: URL_SAFE_NO_PAD.decode(payload).map_err(|_| malformed())?,
        })
    }
}

/// The used members of a header. Duplicate members are errors.
#[derive(serde::Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    /// Present even if it is `null`.
    #[serde(default, deserialize_with = "present")]
    crit: Option<()>,
}

fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<()>, D::Error> {
    serde::Deserialize::deserialize(deserializer).map(|_: serde::de::IgnoredAny| Some(()))
}
