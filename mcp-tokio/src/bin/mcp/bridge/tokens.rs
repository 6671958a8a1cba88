//! Tokens of clients of `mcp bridge`: a shared one from the environment, or JWTs of an issuer.
//!
//! In: arguments. Out: settings of the server over HTTP, which reject clients without a token.

use std::net::SocketAddr;

use crate::failure::Failure;
use crate::secret_variable;

/// The tokens that clients must send over HTTP.
#[derive(clap::Args)]
pub(crate) struct TokenArgs {
    /// The variable with the bearer token that clients must send; required for an address that
    /// other machines can reach, unless there is an issuer
    #[arg(long, value_name = "VARIABLE", requires = "listen")]
    pub(crate) require_bearer_env: Option<String>,
    #[cfg(feature = "jwt")]
    #[command(flatten)]
    pub(crate) jwt: jwt::JwtArgs,
}

impl TokenArgs {
    /// The token that clients must send, if there is one.
    ///
    /// Fails if other machines can reach the address, and no token is required.
    pub(super) fn required(&self, address: SocketAddr) -> Result<Option<String>, Failure> {
        match &self.require_bearer_env {
            Some(name) => secret_variable::read(name).map(Some),
            None if address.ip().is_loopback() || self.has_issuer() => Ok(None),
            None => Err(Failure::usage(format!(
                "other machines can reach {address}, and no token is required"
            ))
            .advice("require one with --require-bearer-env, or listen at 127.0.0.1")),
        }
    }

    #[cfg_attr(
        not(feature = "jwt"),
        expect(clippy::unused_self, reason = "with `jwt` it has arguments for an issuer")
    )]
    pub(super) fn has_issuer(&self) -> bool {
        #[cfg(feature = "jwt")]
        return self.jwt.require_issuer.is_some();
        #[cfg(not(feature = "jwt"))]
        false
    }
}

#[cfg(feature = "jwt")]
mod jwt {
    //! JWTs of an issuer, for the allowed subjects.

    use std::sync::Arc;

    use mcp_tokio::mcp_proto::http::Head;
    use mcp_tokio::mcp_proto::resource_server::Verification;
    use mcp_tokio::{
        ClaimRules, HttpConfig, JwtVerifier, ProtectedResource, TokenRefusal, Url, Verifier, jwks,
    };

    use crate::failure::Failure;

    #[derive(clap::Args)]
    pub(crate) struct JwtArgs {
        /// The issuer of the JWTs that clients must send
        #[arg(long, value_name = "URL", requires_all = ["listen", "audience", "jwks", "subject"],
              conflicts_with = "require_bearer_env")]
        pub(crate) require_issuer: Option<String>,
        /// The URL of this server that clients use, which is the audience of the tokens
        #[arg(long, value_name = "URL", requires = "require_issuer")]
        pub(crate) audience: Option<String>,
        /// The URL of the issuer's keys, as in the issuer's metadata
        #[arg(long, value_name = "URL", requires = "require_issuer")]
        pub(crate) jwks: Option<String>,
        /// A person or client that may use the server, as sub of tokens, or * for all; may be
        /// repeated
        #[arg(long, value_name = "SUBJECT", requires = "require_issuer")]
        pub(crate) subject: Vec<String>,
    }

    impl JwtArgs {
        /// Makes the server verify tokens, if there is an issuer.
        pub(crate) fn protect(&self, config: &mut HttpConfig) -> Result<(), Failure> {
            let (Some(issuer), Some(audience), Some(jwks_url)) =
                (&self.require_issuer, &self.audience, &self.jwks)
            else {
                return Ok(());
            };
            let failed = |url: &str| {
                let url = url.to_owned();
                move |error| Failure::usage(format!("{url}: {error}"))
            };
            // The error does not say which of the two URLs it is about.
            let is_audience = ProtectedResource::new(audience, audience).is_err();
            let wrong = if is_audience { audience } else { issuer };
            let resource = ProtectedResource::new(audience, issuer).map_err(failed(wrong))?;
            let keys = jwks(Url::parse(jwks_url).map_err(failed(jwks_url))?);
            let host = Url::parse(audience).map_err(failed(audience))?.host().to_owned();
            let verifier = JwtVerifier::new(ClaimRules::new(issuer, audience), keys);
            config.allowed_hosts.push(host);
            config.protect(resource, Subjects { verifier, allowed: self.subject.clone().into() });
            Ok(())
        }
    }

    /// A verifier that rejects subjects that are not allowed.
    struct Subjects {
        verifier: JwtVerifier,
        allowed: Arc<[String]>,
    }

    impl Verifier for Subjects {
        fn verify(&self, token: &str, head: &Head) -> Verification {
            let (verification, allowed) = (self.verifier.verify(token, head), self.allowed.clone());
            Box::pin(async move {
                let claims = verification.await?;
                let is_allowed = |it: &String| it == "*" || claims.subject.as_ref() == Some(it);
                if allowed.iter().any(is_allowed) {
                    Ok(claims)
                } else {
                    Err(TokenRefusal::invalid("its subject may not use this server"))
                }
            })
        }
    }
}
