//! Records in the store: tokens of a server, and registrations of a client.
//!
//! In: stored text, or a record to store. Out: a record, or its text. A record is a JSON object
//! with `v`. An object with another version is ignored, and unknown members are kept.
//!
//! | key | members |
//! |---|---|
//! | `server:` and the URL of the server | `issuer`, `resource`, `asked`, `granted`, `granted_of`, `access_token`, `expires_at`, `refresh_token`, `proof_key`, `token_endpoint`, `metadata`, `client_id`, `client_secret`, `method`, `dynamic` |
//! | `client:`, the issuer, a space and the configured redirect URI | `client_id`, `client_secret`, `secret_expires_at`, `method`, `redirect_uri` |
//!
//! The secret of a configured client is not stored. `granted_of` repeats the `asked` that `granted`
//! belongs to: a program that does not know `granted` keeps it when it stores other tokens.

use alloc::string::String;

use serde_json::{Map, Value};

use super::registration::{AuthMethod, RegisteredClient};
use super::scopes::{OFFLINE_ACCESS, Scopes};
use super::secret::Secret;
use crate::time::Duration;

const VERSION: u64 = 1;

/// The tokens of a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ServerRecord {
    pub(super) issuer: String,
    pub(super) resource: String,
    pub(super) requested_scopes: Scopes,
    /// The scopes that the authorization server has named; `None` if it has granted all.
    pub(super) granted_scopes: Option<Scopes>,
    pub(super) access_token: Secret,
    /// Time since the Unix epoch; `None` if it is unknown.
    pub(super) expires_at: Option<Duration>,
    pub(super) refresh_token: Option<Secret>,
    /// The thumbprint of the key that the tokens are bound to, if any.
    pub(super) proof_key: Option<String>,
    pub(super) token_endpoint: String,
    /// The URL of the server's metadata, if a challenge has named it.
    pub(super) metadata_url: Option<String>,
    pub(super) client: RegisteredClient,
    /// True if the client was registered by this machine.
    pub(super) is_dynamic: bool,
}

/// A registered client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ClientRecord {
    pub(super) client: RegisteredClient,
    pub(super) secret_expires_at: Option<u64>,
    pub(super) redirect_uri: String,
}

impl ServerRecord {
    /// Reads a record with usable tokens: they are bound to this key, or to no key.
    pub(super) fn read_for(text: &str, proof_key: Option<&str>) -> Option<Self> {
        Self::read(text).filter(|it| it.proof_key.is_none() || it.proof_key.as_deref() == proof_key)
    }

    /// The configured client of a record, and its issuer; `None` for other clients and records.
    pub(super) fn read_configured_client(text: &str) -> Option<(String, String)> {
        let record = Self::read(text).filter(|record| !record.is_dynamic)?;
        Some((record.client.id, record.issuer))
    }

    /// The scopes of a refresh. The request "MUST NOT include any scope not originally granted by
    /// the resource owner" (RFC 6749, section 6). Microsoft Entra ID grants `offline_access`
    /// without naming it.
    pub(super) fn scopes_to_repeat(&self) -> Scopes {
        let Some(granted) = &self.granted_scopes else { return self.requested_scopes.clone() };
        let is_unnamed = |scope: &&str| *scope == OFFLINE_ACCESS;
        granted.union(&self.requested_scopes.iter().filter(is_unnamed).collect())
    }

    fn read(text: &str) -> Option<Self> {
        let map = read(text)?;
        let text = |name: &str| Some(String::from(map.get(name)?.as_str()?));
        let granted = text("granted").filter(|_| text("granted_of") == text("asked"));
        Some(Self {
            issuer: text("issuer")?,
            resource: text("resource")?,
            requested_scopes: Scopes::words(&text("asked").unwrap_or_default()),
            granted_scopes: granted.map(|scopes| Scopes::words(&scopes)),
            access_token: Secret::new(text("access_token").filter(|it| is_visible(it))?),
            expires_at: map.get("expires_at").and_then(Value::as_u64).map(Duration::from_secs),
            refresh_token: text("refresh_token").map(Secret::new),
            proof_key: text("proof_key"),
            token_endpoint: text("token_endpoint")?,
            metadata_url: text("metadata"),
            client: read_client(&map)?,
            is_dynamic: map.get("dynamic").and_then(Value::as_bool).unwrap_or_default(),
        })
    }

    /// The record as text, with the unknown members of the stored record.
    pub(super) fn write(&self, stored: Option<&str>) -> Secret {
        let mut map = stored.and_then(read).unwrap_or_default();
        let secret = |it: &Option<Secret>| it.as_ref().map(|it| it.expose().into());
        set(&mut map, "issuer", Some(self.issuer.as_str().into()));
        set(&mut map, "resource", Some(self.resource.as_str().into()));
        let requested = self.requested_scopes.to_param();
        set(&mut map, "asked", Some(requested.as_str().into()));
        let granted = self.granted_scopes.as_ref();
        set(&mut map, "granted", granted.map(|scopes| scopes.to_param().into()));
        set(&mut map, "granted_of", granted.map(|_| requested.into()));
        set(&mut map, "access_token", Some(self.access_token.expose().into()));
        set(&mut map, "expires_at", self.expires_at.map(|at| at.as_secs().into()));
        set(&mut map, "refresh_token", secret(&self.refresh_token));
        set(&mut map, "proof_key", self.proof_key.as_deref().map(Value::from));
        set(&mut map, "token_endpoint", Some(self.token_endpoint.as_str().into()));
        set(&mut map, "metadata", self.metadata_url.as_deref().map(Value::from));
        set(&mut map, "dynamic", Some(self.is_dynamic.into()));
        write_client(&mut map, &self.client, self.is_dynamic);
        finish(map)
    }
}

impl ClientRecord {
    pub(super) fn read(text: &str) -> Option<Self> {
        let map = read(text)?;
        Some(Self {
            client: read_client(&map)?,
            secret_expires_at: map.get("secret_expires_at").and_then(Value::as_u64),
            redirect_uri: map.get("redirect_uri")?.as_str()?.into(),
        })
    }

    pub(super) fn write(&self) -> Secret {
        let mut map = Map::new();
        write_client(&mut map, &self.client, true);
        set(&mut map, "secret_expires_at", self.secret_expires_at.map(Value::from));
        set(&mut map, "redirect_uri", Some(self.redirect_uri.as_str().into()));
        finish(map)
    }

    /// True if the client can be used with this redirect URI at this time since the Unix epoch.
    pub(super) fn is_good(&self, redirect_uri: &str, unix: Duration) -> bool {
        self.redirect_uri == redirect_uri
            && self.secret_expires_at.is_none_or(|at| at > unix.as_secs())
    }
}

/// Reads an object of this version.
fn read(text: &str) -> Option<Map<String, Value>> {
    let map: Map<String, Value> = serde_json::from_str(text).ok()?;
    (map.get("v").and_then(Value::as_u64) == Some(VERSION)).then_some(map)
}

fn read_client(map: &Map<String, Value>) -> Option<RegisteredClient> {
    Some(RegisteredClient {
        id: map.get("client_id")?.as_str()?.into(),
        secret: map.get("client_secret").and_then(Value::as_str).map(Secret::new),
        method: AuthMethod::named(map.get("method")?.as_str()?)?,
    })
}

fn write_client(map: &mut Map<String, Value>, client: &RegisteredClient, with_secret: bool) {
    let secret = client.secret.as_ref().filter(|_| with_secret);
    set(map, "client_id", Some(client.id.as_str().into()));
    set(map, "client_secret", secret.map(|secret| secret.expose().into()));
    set(map, "method", Some(client.method.name().into()));
}

fn set(map: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    match value {
        Some(value) => drop(map.insert(name.into(), value)),
        None => drop(map.remove(name)),
    }
}

fn finish(mut map: Map<String, Value>) -> Secret {
    set(&mut map, "v", Some(VERSION.into()));
    Secret::new(serde_json::to_string(&map).unwrap_or_default())
}

fn is_visible(token: &str) -> bool {
    !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> ServerRecord {
        ServerRecord {
            issuer: "https://a.example".into(),
            resource: "https://s.example/mcp".into(),
            requested_scopes: Scopes::words("a b"),
            granted_scopes: Some(Scopes::words("a")),
            access_token: Secret::new("t"),
            expires_at: Some(Duration::from_secs(1_000)),
            refresh_token: Some(Secret::new("r")),
            proof_key: Some("k".into()),
            token_endpoint: "https://a.example/token".into(),
            metadata_url: Some("https://s.example/m".into()),
            client: RegisteredClient {
                id: "i".into(),
                secret: Some(Secret::new("canary")),
                method: AuthMethod::SecretPost,
            },
            is_dynamic: true,
        }
    }

    #[test]
    fn records_round_trip_with_unknown_members() {
        let text = record().write(Some(r#"{"v":1,"later":[1],"expires_at":5}"#));
        assert_eq!(ServerRecord::read(text.expose()), Some(record()));
        assert!(text.expose().contains(r#""later":[1]"#));
        let client = ClientRecord {
            client: record().client,
            secret_expires_at: Some(9),
            redirect_uri: "http://127.0.0.1:1/callback".into(),
        };
        assert_eq!(ClientRecord::read(client.write().expose()), Some(client.clone()));
        assert!(client.is_good("http://127.0.0.1:1/callback", Duration::from_secs(8)));
        assert!(!client.is_good("http://127.0.0.1:1/callback", Duration::from_secs(9)));
        assert!(!client.is_good("http://127.0.0.1:2/callback", Duration::ZERO));
    }

    #[test]
    fn granted_scopes_of_an_earlier_request_are_ignored() {
        let text = record().write(None);
        // An earlier program has asked for more scopes; it does not know `granted`.
        let text = text.expose().replace(r#""asked":"a b""#, r#""asked":"a b c""#);
        let read = ServerRecord::read(&text).unwrap();
        assert_eq!(read.granted_scopes, None);
        assert_eq!(read.scopes_to_repeat(), Scopes::words("a b c"));
    }

    #[test]
    fn secrets_of_configured_clients_are_not_stored() {
        let text = ServerRecord { is_dynamic: false, ..record() }.write(None);
        assert!(!text.expose().contains("canary"), "{}", text.expose());
    }

    #[test]
    fn records_of_other_versions_are_ignored() {
        let text = record().write(None);
        let other = text.expose().replace("\"v\":1", "\"v\":2");
        for text in [other.as_str(), "", "[]", "{}", r#"{"v":1}"#] {
            assert_eq!(ServerRecord::read(text), None, "{text}");
        }
    }
}
