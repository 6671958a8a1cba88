//! Verifiers of tokens that panic: their tokens are refused, and everything else goes on.

use std::future::pending;
use std::task::{Context, Poll, Waker};

use mcp_proto::Limits;
use mcp_proto::http::{Config, Head};
use mcp_proto::resource_server::{Claims, ProtectedResource, TokenRefusal, Verification, Verifier};
use mcp_service::HttpServer;
use serde_json::Value;

use super::site::Site;
use crate::bench::{INITIALIZE, panic_quietly, registry};

/// A value whose drop panics.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic_quietly();
    }
}

/// A verifier that panics in the call for one token, and in the drop of the future for another.
struct Panicking;

impl Verifier for Panicking {
    fn verify(&self, token: &str, _: &Head) -> Verification {
        match token {
            "call" => panic_quietly(),
            "drop" => {
                let bomb = Bomb;
                return Box::pin(async move {
                    let _bomb = bomb;
                    pending().await
                });
            }
            _ => {}
        }
        let known = token == "alice";
        Box::pin(async move {
            let claims = Claims::new("https://auth.example.com", "alice");
            if known { Ok(claims) } else { Err(TokenRefusal::missing()) }
        })
    }
}

fn protected() -> Config {
    let mut config = Config::default();
    let resource = ProtectedResource::new("http://localhost/mcp", "https://auth.example.com");
    config.protect(resource.unwrap(), Panicking);
    config
}

fn with_token(token: &str) -> [(&'static str, String); 1] {
    [("Authorization", format!("Bearer {token}"))]
}

#[test]
fn token_whose_verifier_panics_is_refused() {
    let mut site = Site::with(registry(|_: Value, _| async { "done" }), protected());
    for token in ["call", "drop"] {
        let mut socket = site.connect();
        for (token, status) in [(token, "503"), ("alice", "200")] {
            let fields = with_token(token);
            let fields = fields.each_ref().map(|(name, value)| (*name, &**value));
            socket.send("POST", &fields, INITIALIZE);
            site.pass(Limits::default().verify_timeout);
            socket.turn();
            let answered = socket.out();
            assert!(answered.starts_with(&format!("HTTP/1.1 {status} ")), "{token}: {answered}");
        }
    }
}

#[test]
fn token_whose_verifier_panics_is_refused_behind_another_stack() {
    let catalog = registry(|_: Value, _| async { "done" });
    let server = HttpServer::new(catalog, protected(), || [0; 16], |_| ());
    let mut head = Head::new("POST", "/mcp");
    head.push("Host", b"localhost");
    head.push("Authorization", b"Bearer call");
    let mut verification = server.verification(&head).unwrap();
    let mut context = Context::from_waker(Waker::noop());
    let verified = verification.as_mut().poll(&mut context);
    assert_eq!(verified, Poll::Ready(Err(TokenRefusal::unavailable())));
}
