//! Settings of the client of a run, from two bytes.

use mcp_proto::auth::{AuthMethod, Config, IdentityProvider, ProofKey};
use mcp_proto::http::Url;

use super::super::script_bytes::ScriptBytes;
use super::canaries::{Canaries, basic};

pub(super) const SERVER: &str = "https://s.example/mcp";
pub(super) const ISSUER: &str = "https://a.example";
pub(super) const OTHER_ISSUER: &str = "https://b.example";
const PROVIDER: &str = "https://idp.example/token";

/// The settings, and the parts of them that the model needs.
pub(super) struct RunSettings {
    pub(super) config: Config,
    pub(super) omits_resource: bool,
    pub(super) has_proof_key: bool,
    /// The hosts that may see the token of the person or the workload.
    pub(super) subject_hosts: &'static [&'static str],
}

impl RunSettings {
    pub(super) fn read(bytes: &mut ScriptBytes<'_>, canaries: &mut Canaries) -> Option<Self> {
        let (grant, flags) = (bytes.next() % 8, bytes.next());
        let is_set = |bit: u8| flags >> bit & 1 == 1;
        let mut config = Config::new(Url::parse(SERVER).ok()?);
        let secret = canaries.issue("secret", &["a.example"]);
        canaries.add(&basic("preset", &secret), &["a.example"]);
        let mut subject_hosts: &[&str] = &[];
        config = match grant {
            0 | 1 => config,
            2 => config.client(ISSUER, "preset", Some(&secret)),
            3 if is_set(0) => config.client_credentials().unattended(),
            3 => config.client(ISSUER, "preset", Some(&secret)).client_credentials().unattended(),
            4 => config.client(ISSUER, "preset", None).client_credentials(),
            5 => {
                let idp_secret = canaries.issue("idp", &["idp.example"]);
                canaries.add(&basic("app", &idp_secret), &["idp.example"]);
                subject_hosts = &["idp.example"];
                let provider = IdentityProvider::new(PROVIDER, "app").secret(&idp_secret);
                config.client(ISSUER, "preset", Some(&secret)).enterprise(provider)
            }
            6 if is_set(0) => {
                subject_hosts = &["a.example"];
                config.workload(ISSUER)
            }
            6 => {
                // Without metadata the origin of the server is the issuer.
                subject_hosts = &["a.example", "b.example", "s.example"];
                config.workload_of_server()
            }
            _ => {
                let method = AuthMethod::SecretPost;
                config.client_with_method(ISSUER, "preset", Some(&secret), method)
            }
        };
        if grant == 4 {
            config = config.signs_assertions(is_set(0).then_some("key")).unattended();
        }
        if is_set(1) {
            config = config.proof_key(ProofKey::es256([1; 32], [2; 32]));
        }
        if is_set(2) {
            config = config.guesses_endpoints();
        }
        if is_set(3) {
            config = config.omits_resource();
        }
        if is_set(4) {
            let uris = ["http://127.0.0.1/callback"];
            config = config.client_metadata("https://app.example/client.json", uris);
        }
        if is_set(5) {
            config = config.scopes("own");
        }
        if is_set(6) {
            config = config.accepts_issuer(ISSUER, "https://a.example/");
        }
        if is_set(7) {
            config = config.assumes_s256(ISSUER);
        }
        Some(Self { config, omits_resource: is_set(3), has_proof_key: is_set(1), subject_hosts })
    }
}
