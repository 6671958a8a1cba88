//! Requests to token endpoints.
//!
//! In: a client, and a code or a refresh token. Out: a form and the fields beside it.
//!
//! | method | `client_id` | `client_secret` |
//! |---|---|---|
//! | `none` | in the form | |
//! | `client_secret_post` | in the form | in the form |
//! | `client_secret_basic` | in `Authorization` | in `Authorization` |
//!
//! A refresh has no `scope`: it cannot widen a grant, and some servers refuse it.
//!
//! [RFC 6749, sections 4.1.3 and 6](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.3),
//! [RFC 8707](https://www.rfc-editor.org/rfc/rfc8707)

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::form;
use super::registration::{AuthMethod, RegisteredClient};
use super::secret::Secret;

/// A grant that is exchanged for a token.
pub(super) enum Grant<'a> {
    /// A code of a redirect.
    Code { code: &'a Secret, redirect_uri: &'a str, verifier: &'a Secret },
    /// A refresh token.
    Refresh(&'a Secret),
}

/// A form, and the value of `Authorization` if the client authenticates there.
pub(super) struct TokenRequest {
    pub(super) body: Secret,
    pub(super) authorization: Option<Secret>,
}

impl TokenRequest {
    /// The request for a token that is good for `resource`.
    pub(super) fn new(
        grant: &Grant<'_>,
        resource: Option<&str>,
        client: &RegisteredClient,
    ) -> Self {
        let mut params: Vec<(&str, &str)> = match grant {
            Grant::Code { code, redirect_uri, verifier } => Vec::from([
                ("grant_type", "authorization_code"),
                ("code", code.expose()),
                ("redirect_uri", redirect_uri),
                ("code_verifier", verifier.expose()),
            ]),
            Grant::Refresh(token) => {
                Vec::from([("grant_type", "refresh_token"), ("refresh_token", token.expose())])
            }
        };
        params.extend(resource.map(|resource| ("resource", resource)));
        let secret = client.secret.as_ref().map_or("", Secret::expose);
        let mut authorization = None;
        match client.method {
            AuthMethod::None => params.push(("client_id", &client.id)),
            AuthMethod::SecretPost => {
                params.extend([("client_id", client.id.as_str()), ("client_secret", secret)]);
            }
            AuthMethod::SecretBasic => authorization = Some(basic(&client.id, secret)),
        }
        Self { body: Secret::new(form::encode(params)), authorization }
    }
}

/// The value of `Authorization` for an id and a secret, each encoded as a form first.
fn basic(id: &str, secret: &str) -> Secret {
    let pair: String = format!("{}:{}", form::encode_part(id), form::encode_part(secret));
    Secret::new(format!("Basic {}", STANDARD.encode(pair)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_method_has_its_place() {
        let of = |method| {
            let client =
                RegisteredClient { id: "i:d".into(), secret: Some(Secret::new("s&t")), method };
            let token = Secret::new("r");
            let request = TokenRequest::new(&Grant::Refresh(&token), Some("https://s/"), &client);
            let body = String::from(request.body.expose());
            (body, request.authorization.map(|value| String::from(value.expose())))
        };
        let grant = "grant_type=refresh_token&refresh_token=r&resource=https%3A%2F%2Fs%2F";
        assert_eq!(of(AuthMethod::None), (format!("{grant}&client_id=i%3Ad"), None));
        let post = format!("{grant}&client_id=i%3Ad&client_secret=s%26t");
        assert_eq!(of(AuthMethod::SecretPost), (post, None));
        let basic = format!("Basic {}", STANDARD.encode("i%3Ad:s%26t"));
        assert_eq!(of(AuthMethod::SecretBasic), (grant.into(), Some(basic)));
    }
}
