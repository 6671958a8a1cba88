//! Answers to requests of an authorizer, from bytes: those of good servers, of broken and of evil
//! ones.

use mcp_proto::http::Url;
use serde_json::{Value, json};

use super::super::script_bytes::ScriptBytes;
use super::canaries::{Canaries, basic, harmless};
use super::settings::{ISSUER, OTHER_ISSUER, SERVER};

/// URLs that no client may go to.
const PRIVATE: [&str; 8] = [
    "http://a.example/x",
    "https://169.254.169.254/x",
    "https://10.0.0.1/x",
    "https://[::ffff:10.0.0.1]/x",
    "https://localhost/x",
    "https://2130706433/x",
    "javascript:alert(1)",
    "https://u@a.example/x",
];

/// An answer; status 0 is none.
#[derive(Default)]
pub(super) struct ScriptedAnswer {
    pub(super) status: u16,
    pub(super) location: Option<String>,
    pub(super) nonce: Option<String>,
    pub(super) body: String,
    /// True if nobody knows what the body says.
    pub(super) is_raw: bool,
}

impl ScriptedAnswer {
    fn json(status: u16, body: &Value) -> Self {
        Self { status, body: body.to_string(), ..Self::default() }
    }

    fn status(status: u16) -> Self {
        Self { status, ..Self::default() }
    }

    fn error(error: &str) -> Self {
        Self::json(400, &json!({"error": error, "error_description": "so"}))
    }

    fn raw(bytes: &mut ScriptBytes<'_>) -> Self {
        let (status, length) = (200 + u16::from(bytes.next()) * 2, usize::from(bytes.next()));
        let body = harmless(bytes.take(length));
        Self { status, body, is_raw: true, ..Self::default() }
    }
}

/// The answer to a question for metadata. `hops` numbers the redirects of a run.
pub(super) fn metadata(url: &Url, bytes: &mut ScriptBytes<'_>, hops: &mut u32) -> ScriptedAnswer {
    match bytes.next() % 16 {
        0..=5 if url.target().contains("oauth-protected-resource") => resource(bytes),
        0..=6 => issuer(url.host(), bytes.next()),
        7 => resource(bytes),
        8 => ScriptedAnswer::status(404),
        9 => ScriptedAnswer::status(503),
        10 => ScriptedAnswer::status(0),
        11 => ScriptedAnswer { body: "<html>".into(), ..ScriptedAnswer::status(200) },
        12 | 13 => {
            *hops += 1;
            let places = ["https://s.example/hop", "https://a.example/hop", "/hop"];
            let place = bytes.pick(&places).copied().unwrap_or_default();
            let location = Some(format!("{place}{hops}"));
            ScriptedAnswer { location, ..ScriptedAnswer::status(302) }
        }
        14 => {
            let location = bytes.pick(&PRIVATE).map(|url| (*url).into());
            ScriptedAnswer { location, ..ScriptedAnswer::status(302) }
        }
        _ => ScriptedAnswer::raw(bytes),
    }
}

fn resource(bytes: &mut ScriptBytes<'_>) -> ScriptedAnswer {
    let flavor = bytes.next();
    let resource = match flavor >> 5 {
        0..=3 => SERVER,
        4 => "https://s.example",
        5 => "https://s.example/",
        6 => "https://s.example/mcp2",
        _ => "https://evil.example/mcp",
    };
    let issuers = match flavor & 3 {
        0 | 1 => json!([ISSUER, OTHER_ISSUER]),
        2 => json!([OTHER_ISSUER]),
        _ => json!(["https://10.0.0.1"]),
    };
    let mut document = json!({"resource": resource, "authorization_servers": issuers});
    let members = document.as_object_mut();
    if let Some(members) = members {
        if flavor & 4 != 0 {
            members.insert("scopes_supported".into(), json!(["a", "b", "\"c"]));
        }
        if flavor & 8 != 0 {
            members.insert("dpop_bound_access_tokens_required".into(), true.into());
        }
    }
    ScriptedAnswer::json(200, &document)
}

/// Metadata of the issuer at a host.
fn issuer(host: &str, flavor: u8) -> ScriptedAnswer {
    let issuer = format!("https://{host}");
    let stated = if flavor & 1 != 0 { format!("{issuer}/") } else { issuer.clone() };
    let mut document = json!({
        "issuer": stated,
        "authorization_endpoint": format!("{issuer}/authorize?tenant=7"),
        "token_endpoint": format!("{issuer}/token"),
        "registration_endpoint": format!("{issuer}/register"),
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": flavor & 2 != 0,
        "client_id_metadata_document_supported": flavor & 4 != 0,
    });
    if let Some(members) = document.as_object_mut() {
        if flavor & 8 != 0 {
            members.insert("scopes_supported".into(), json!(["offline_access"]));
        }
        if flavor & 16 != 0 {
            members.remove("registration_endpoint");
        }
        if flavor & 32 != 0 {
            members.remove("code_challenge_methods_supported");
        }
        if flavor & 64 != 0 {
            members.insert("grant_types_supported".into(), json!(["client_credentials"]));
        }
        if flavor & 128 != 0 {
            let private = PRIVATE.get(usize::from(flavor) % PRIVATE.len());
            members.insert("token_endpoint".into(), private.copied().into());
        }
    }
    ScriptedAnswer::json(200, &document)
}

/// The answer to a registration at a host.
pub(super) fn registration(
    host: &str,
    bytes: &mut ScriptBytes<'_>,
    canaries: &mut Canaries,
) -> ScriptedAnswer {
    match bytes.next() % 8 {
        0 | 1 => ScriptedAnswer::json(201, &json!({"client_id": "dynamic"})),
        2 | 3 => {
            let secret = canaries.issue("dynamic", &[host]);
            canaries.add(&basic("dynamic", &secret), &[host]);
            let expires = u32::from(bytes.next() & 1);
            let document = json!({
                "client_id": "dynamic", "client_secret": secret,
                "client_secret_expires_at": expires,
            });
            ScriptedAnswer::json(201, &document)
        }
        4 => ScriptedAnswer::error("invalid_redirect_uri"),
        5 => ScriptedAnswer::status(0),
        6 => ScriptedAnswer::status(503),
        _ => ScriptedAnswer::raw(bytes),
    }
}

/// A request to a token endpoint, as far as an answer needs it.
pub(super) struct TokenQuery<'a> {
    pub(super) host: &'a str,
    pub(super) grant_type: &'a str,
    pub(super) has_proof: bool,
    /// The host of the issuer that an assertion is for.
    pub(super) audience: &'a str,
}

/// The answer of a token endpoint.
pub(super) fn token(
    query: &TokenQuery<'_>,
    bytes: &mut ScriptBytes<'_>,
    canaries: &mut Canaries,
) -> ScriptedAnswer {
    let choice = bytes.next() % 16;
    let nonce = (choice == 8 || choice == 9 || bytes.next() & 8 != 0)
        .then(|| format!("nonce{}", bytes.next()));
    let answer = match choice {
        0..=5 if query.grant_type.ends_with("token-exchange") => {
            let id_jag = canaries.issue("jag", &[query.audience]);
            ScriptedAnswer::json(
                200,
                &json!({
                    "access_token": id_jag, "token_type": "N_A",
                    "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
                }),
            )
        }
        0..=5 => tokens(query, bytes.next(), canaries),
        6 => ScriptedAnswer::error("invalid_grant"),
        7 => ScriptedAnswer::error("invalid_client"),
        8 | 9 => ScriptedAnswer::error("use_dpop_nonce"),
        10 => ScriptedAnswer::error("invalid_scope"),
        11 => ScriptedAnswer::status(503),
        12 => ScriptedAnswer::status(0),
        13 => {
            let location = Some("https://a.example/after-post".into());
            ScriptedAnswer { location, ..ScriptedAnswer::status(307) }
        }
        14 => ScriptedAnswer { body: "<html>".into(), ..ScriptedAnswer::status(200) },
        _ => ScriptedAnswer::raw(bytes),
    };
    ScriptedAnswer { nonce, ..answer }
}

fn tokens(query: &TokenQuery<'_>, flavor: u8, canaries: &mut Canaries) -> ScriptedAnswer {
    let is_bound = query.has_proof != (flavor & 64 != 0);
    let mut document = json!({
        "access_token": canaries.issue("access", &[]),
        "token_type": if is_bound { "DPoP" } else { "bearer" },
    });
    let lifetime = match flavor & 7 {
        0 | 1 => json!(3600),
        2 => json!(0),
        3 => json!("30"),
        4 => json!(u64::MAX),
        5 => json!(-1),
        6 => json!(1),
        _ => Value::Null,
    };
    if let Some(members) = document.as_object_mut() {
        members.insert("expires_in".into(), lifetime);
        if flavor & 8 == 0 {
            members.insert("refresh_token".into(), canaries.issue("refresh", &[query.host]).into());
        }
    }
    ScriptedAnswer::json(200, &document)
}
