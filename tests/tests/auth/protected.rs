//! A protected server: A49, A50, S6, S19 and S20, and what happens around a verdict.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, Waker};
use std::time::Duration;

use mcp_proto::auth::ResourceMetadata;
use mcp_proto::http::{Authorization, Config, Connection, Head, Unauthorized, Url};
use mcp_proto::internals::unreachable_tools;
use mcp_proto::resource_server::{
    ClaimRules, Claims, ProtectedResource, TokenRefusal, VerifiedToken,
};
use mcp_proto::server::{self, ListEntry, Peer};
use mcp_proto::types::{Implementation, Tool};
use mcp_proto::{Action, Bytes, Instant, Json, Machine};
use mcp_service::{Context, Drive, HttpLink, HttpServer, MissingScopes, Registry, Service};
use serde_json::{Value, json};

const ISSUER: &str = "https://auth.example.com";
const OTHER: &str = "https://other.example.com";
const PUBLIC: &str = "https://example.com/gateway/mcp";
const PLACE: &str = "/.well-known/oauth-protected-resource/gateway/mcp";

#[test]
fn auth_a49_the_public_url_decides_behind_a_path() {
    // The server itself is at `/mcp`, behind a proxy that takes `/gateway` away.
    let mut socket = Socket::new(config(known));
    let refused = socket.call("", "anyone", &json!({}));
    assert_eq!(refused.status, 401);
    let unauthorized = Unauthorized::new(401, [refused.field("WWW-Authenticate").as_bytes()]);
    let named = unauthorized.bearer().unwrap().resource_metadata().unwrap().to_owned();
    let named = Url::parse(&named).unwrap();
    assert_eq!((named.host(), named.target()), ("example.com", PLACE));
    let answer =
        socket.send(&format!("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", named.target()));
    assert_eq!(answer.status, 200);
    let metadata = ResourceMetadata::read(answer.body.as_bytes()).unwrap();
    assert_eq!(metadata.resource, PUBLIC);
    assert!(metadata.covers(&Url::parse(PUBLIC).unwrap()));
}

#[test]
fn auth_a50_metadata_is_served_without_a_token_and_nothing_else_is() {
    let mut socket = Socket::new(config(known));
    let mut ask = |method: &str, path: &str, fields: &str| {
        socket.send(&format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n"))
    };
    for fields in ["", "Authorization: Bearer stolen\r\n", "Origin: https://app.example\r\n"] {
        let answer = ask("GET", PLACE, fields);
        assert_eq!((answer.status, answer.field("Content-Type")), (200, "application/json"));
        assert_eq!(answer.field("Access-Control-Allow-Origin"), "*");
        assert!(serde_json::from_str::<Value>(&answer.body).is_ok());
    }
    let preflight = ask("OPTIONS", PLACE, "Origin: https://app.example\r\n");
    assert_eq!(preflight.status, 204);
    assert!(preflight.field("Access-Control-Allow-Headers").contains("mcp-protocol-version"));
    let head = ask("HEAD", PLACE, "");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert_eq!(ask("PUT", PLACE, "").status, 405);
    for path in [
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-authorization-server",
        "/.well-known/openid-configuration",
        "/.well-known/oauth-protected-resource/gateway/mcp/",
    ] {
        let answer = ask("GET", path, "");
        assert_eq!((answer.status, answer.body.as_str()), (404, ""), "{path}");
    }
    // Whoever mounts it at every path gets 404 there, and not 401.
    let mut any_path = config(known);
    any_path.path.clear();
    let mut socket = Socket::new(any_path);
    let place = "/.well-known/oauth-authorization-server";
    assert_eq!(
        socket.send(&format!("GET {place} HTTP/1.1\r\nHost: localhost\r\n\r\n")).status,
        404
    );
    let answer = socket.send(&format!("GET {PLACE} HTTP/1.1\r\nHost: evil.example\r\n\r\n"));
    assert_eq!(answer.status, 403);
}

#[test]
fn tools_with_scopes_are_reported_at_a_server_without_protection() {
    let mut registry = Registry::new(Implementation::new("s", "1"));
    for tool in ["open", "read", "write"] {
        let tool = Tool::new(tool, Json::parse(r#"{"type":"object"}"#).unwrap());
        registry.tool_with(tool, |_: Value, _| async { "done" }).unwrap();
    }
    let advice =
        |registry: &Registry, config: &Config| unreachable_tools(&registry.declaration(), config);
    registry.require_scopes("open", "").unwrap();
    assert_eq!(advice(&registry, &Config::default()), None);
    registry.require_scopes("read", "files:read").unwrap();
    registry.require_scopes("write", "files:write").unwrap();
    let text = "all calls of tools that require scopes get 403, because the server is not \
                protected; call Config::protect, or remove the scopes of: read, write";
    assert_eq!(advice(&registry, &Config::default()).as_deref(), Some(text));
    assert_eq!(advice(&registry, &config(known)), None);
    let mut asks = Config::default();
    asks.authorize = Some(Arc::new(|_| Authorization::Allow(None)));
    assert_eq!(advice(&registry, &asks), None);
}

#[test]
fn auth_s06_confused_deputy() {
    // The token is the claims; whoever gave them to it has verified the signature.
    let rules =
        Arc::new(ClaimRules::new(ISSUER, PUBLIC).audience("https://example.com/second-name"));
    let mut socket = Socket::new(config(move |token| {
        let claims = Claims::read(&mcp_tests::base64::decode(&token));
        let claims = claims.ok_or_else(unknown)?;
        claims.check(Duration::from_secs(1000), &rules)?;
        Ok(claims)
    }));
    let mut ask = |claims: Value| {
        let token = mcp_tests::base64::encode(claims.to_string().as_bytes());
        socket.call(&token, "who", &json!({}))
    };
    let good = ask(json!({"iss": ISSUER, "sub": "alice", "aud": PUBLIC, "exp": 2000}));
    assert_eq!((good.status, good.text()), (200, format!("{ISSUER} alice")));
    for (claims, reason) in [
        (json!({"iss": ISSUER, "sub": "a", "exp": 2000}), "the token is not for this server"),
        (
            json!({"iss": ISSUER, "sub": "a", "aud": "https://example.com/mcp", "exp": 2000}),
            "the token is not for this server",
        ),
        (
            json!({"iss": ISSUER, "sub": "a", "aud": format!("{PUBLIC}/"), "exp": 2000}),
            "the token is not for this server",
        ),
        (
            json!({"iss": OTHER, "sub": "a", "aud": PUBLIC, "exp": 2000}),
            "the token is of another issuer",
        ),
    ] {
        let refused = ask(claims);
        assert_eq!(refused.status, 401);
        assert!(refused.body.contains(reason), "{}", refused.body);
    }
}

#[test]
fn auth_s06_a_subject_of_two_issuers_is_two_principals() {
    let mut socket = Socket::new(config(known));
    let first = socket.call("alice", "who", &json!({})).text();
    let second = socket.call("other-alice", "who", &json!({})).text();
    assert_eq!((first, second), (format!("{ISSUER} alice"), format!("{OTHER} alice")));
}

#[test]
fn auth_s19_a_reason_stays_within_its_quotes() {
    for reason in ["a\"b", "a\r\nX-Evil: 1", "\\", "a\", scope=\"admin", "\u{0}\u{7f}ä"] {
        let mut socket = Socket::new(config(move |_| Err(TokenRefusal::invalid(reason))));
        let refused = socket.call("x", "who", &json!({}));
        assert_eq!(refused.status, 401);
        assert!(!refused.head.contains("\nX-Evil"), "{}", refused.head.replace("\r\n", "|"));
        assert_eq!(refused.head.matches("WWW-Authenticate: ").count(), 1);
        let value = refused.field("WWW-Authenticate");
        let unauthorized = Unauthorized::new(401, [value.as_bytes()]);
        assert_eq!(unauthorized.challenges.len(), 1, "{value}");
        assert_eq!(unauthorized.challenges[0].params.len(), 3, "{value}");
        assert_eq!(unauthorized.challenges[0].scope(), None, "{value}");
        assert!(serde_json::from_str::<Value>(&refused.body).is_ok(), "{}", refused.body);
    }
}

#[test]
fn auth_s20_session_theft() {
    let mut socket = Socket::new(config(known));
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}});
    let opened = socket.post("alice", "", &initialize);
    let session = format!("Mcp-Session-Id: {}\r\n", opened.field("Mcp-Session-Id"));
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(socket.post("alice", &session, &initialized).status, 202);
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "who", "arguments": {}}});
    for (token, status) in [
        ("alice", 200),
        // Another token of the same user.
        ("alice-writes", 200),
        ("other-alice", 404),
        ("bob", 404),
        ("stolen", 401),
        ("", 401),
    ] {
        assert_eq!(socket.post(token, &session, &call).status, status, "{token}");
    }
    let delete = |token| {
        format!(
            "DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n{session}Authorization: Bearer {token}\r\n\r\n"
        )
    };
    assert_eq!(socket.send(&delete("other-alice")).status, 404);
    assert_eq!(socket.send(&delete("alice")).status, 204);
}

#[test]
fn a_tool_with_scopes_does_not_run_without() {
    let ran = Arc::new(AtomicUsize::new(0));
    let mut socket = Socket::counted(config(known), &ran);
    let refused = socket.call("alice", "write", &json!({}));
    assert_eq!(refused.status, 403);
    let value = refused.field("WWW-Authenticate");
    let unauthorized = Unauthorized::new(403, [value.as_bytes()]);
    let challenge = unauthorized.bearer().unwrap();
    assert_eq!((challenge.error(), challenge.scope()), (Some("insufficient_scope"), Some("write")));
    assert!(challenge.resource_metadata().unwrap().ends_with(PLACE));
    assert_eq!(ran.load(Ordering::Relaxed), 0);
    assert_eq!(socket.call("alice-writes", "write", &json!({})).status, 200);
    assert_eq!(ran.load(Ordering::Relaxed), 1);

    // Nor within a batch of the only revision that has batches.
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-03-26", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}});
    let opened = socket.post("alice", "", &initialize);
    let session = format!("Mcp-Session-Id: {}\r\n", opened.field("Mcp-Session-Id"));
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    socket.post("alice", &session, &initialized);
    let call = |id: u32, name: &str| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": name, "arguments": {}}})
    };
    let batch = json!([call(2, "who"), call(3, "write")]);
    assert_eq!(socket.post("alice", &session, &batch).status, 403);
    assert_eq!(ran.load(Ordering::Relaxed), 1);
    assert_eq!(socket.post("alice", &session, &json!([call(4, "who")])).status, 200);

    // A server that nobody protects does not run it either.
    let mut open = Socket::counted(Config::default(), &ran);
    assert_eq!(open.call("", "write", &json!({})).status, 403);
    assert_eq!(open.call("", "who", &json!({})).status, 200);
    assert_eq!(ran.load(Ordering::Relaxed), 1);
}

#[test]
fn scopes_of_a_tool_for_some_clients_are_named_in_both_eras() {
    for era in ["2025-11-25", "2026-07-28"] {
        let mut registry = registry(&Arc::default());
        let reads = |peer: &Peer| peer.client_capabilities().roots.is_some();
        registry.only_for(ListEntry::tool("write"), reads).unwrap();
        let server = HttpServer::new(registry, config(known), || [7; 16], |_| {});
        let mut socket = Socket::of(&server);
        let mut fields = format!("MCP-Protocol-Version: {era}\r\n");
        if era == "2025-11-25" {
            let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "protocolVersion": era, "capabilities": {"roots": {}},
                "clientInfo": {"name": "test", "version": "1"}}});
            let opened = socket.post("alice", "", &initialize);
            let session = opened.field("Mcp-Session-Id");
            fields.extend(["Mcp-Session-Id: ", session, "\r\n"]);
            let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            socket.post("alice", &fields, &initialized);
        } else {
            fields.push_str("Mcp-Method: tools/call\r\nMcp-Name: write\r\n");
        }
        let mut call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "write", "arguments": {}}});
        if era == "2026-07-28" {
            call["params"]["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": era,
                "io.modelcontextprotocol/clientCapabilities": {"roots": {}}});
        }
        let refused = socket.post("alice", &fields, &call);
        assert_eq!(refused.status, 403, "{era} {}", refused.body);
        let value = refused.field("WWW-Authenticate");
        assert!(value.contains("insufficient_scope"), "{era} {}", refused.head);
        assert_eq!(socket.post("alice-writes", &fields, &call).status, 200, "{era}");
    }
}

#[test]
fn scopes_that_a_handler_misses_are_a_result() {
    let mut socket = Socket::new(config(known));
    let answer = socket.call("alice", "maybe", &json!({}));
    assert_eq!(answer.status, 200);
    let result: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(result["result"]["isError"], true);
    assert!(answer.text().contains("`write`"), "{}", answer.text());
    assert_eq!(socket.call("alice-writes", "maybe", &json!({})).text(), "done");
    // An open server has no claims.
    let mut open = Socket::new(Config::default());
    assert!(open.call("", "maybe", &json!({})).body.contains("isError"));
    // On a byte stream nobody has a token.
    let mut pair = mcp_service::testing::Pair::new(registry(&Arc::default()));
    let answer = pair.client().call_tool("maybe", &json!({}));
    assert_eq!(pair.run(answer).unwrap().content[0].as_text(), Some("done"));
    let answer = pair.client().call_tool("write", &json!({}));
    assert_eq!(pair.run(answer).unwrap().content[0].as_text(), Some("written"));
}

#[test]
fn a_server_may_require_scopes_of_every_request() {
    let mut socket = requiring("write");
    let refused = socket.call("", "who", &json!({}));
    assert!(refused.status == 401 && refused.field("WWW-Authenticate").contains("scope=\"write\""));
    assert_eq!(socket.call("alice", "who", &json!({})).status, 403);
    assert_eq!(socket.call("alice-writes", "who", &json!({})).status, 200);
}

#[test]
fn an_invalid_scope_is_a_requirement_that_no_token_fulfils() {
    let mut socket = requiring("öffnen");
    assert_eq!(socket.call("alice-writes", "who", &json!({})).status, 403);
}

/// A server that requires these scopes of every request.
fn requiring(scopes: &str) -> Socket {
    let mut config = Config::default();
    let resource = ProtectedResource::new(PUBLIC, ISSUER).unwrap().require_scopes(scopes);
    config.protect(resource, |token: String| std::future::ready(known(token)));
    Socket::new(config)
}

#[test]
fn a_body_is_not_read_before_the_verdict() {
    let mut socket = Socket::new(config(known));
    // With a token that is refused, nobody asks for the body.
    let head = |token: &str| {
        format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: 1000\r\n\
             Expect: 100-continue\r\nAuthorization: Bearer {token}\r\n\r\n"
        )
    };
    let text = socket.raw(&head("alice"));
    assert_eq!(text, "HTTP/1.1 100 Continue\r\n\r\n");
    let mut socket = Socket::new(config(known));
    let text = socket.raw(&head("stolen"));
    assert!(text.starts_with("HTTP/1.1 401 "), "{text}");
    let mut socket = Socket::with(Config::default(), |config| {
        let resource = ProtectedResource::new(PUBLIC, ISSUER).unwrap();
        config.protect(resource, |_: String| std::future::pending::<VerifiedToken>());
    });
    assert_eq!(socket.raw(&head("alice")), "");
    // It is not waited for longer than 10 s.
    socket.pass(Duration::from_secs(10));
    assert!(socket.raw("").starts_with("HTTP/1.1 503 "));
}

#[test]
fn a_request_without_a_verdict_is_answered_when_the_server_stops() {
    let mut socket = Socket::with(Config::default(), |config| {
        let resource = ProtectedResource::new(PUBLIC, ISSUER).unwrap();
        config.protect(resource, |_: String| std::future::pending::<VerifiedToken>());
    });
    assert_eq!(socket.raw(&request("alice", "", &json!({}))), "");
    socket.service.handle_stop(socket.now);
    let text = socket.raw("");
    assert!(text.starts_with("HTTP/1.1 503 ") && text.contains("Connection: close"), "{text}");
    assert!(socket.service.is_closed());
}

#[test]
fn what_the_application_decides_is_asked_of_each_request() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let mut config = Config::default();
    config.authorize = Some(Arc::new(move |_: &Head| {
        match counted.fetch_add(1, Ordering::Relaxed) {
            // The access ends while the connection lasts.
            0..3 => Authorization::Allow(Some("somebody".into())),
            _ => Authorization::Forbidden("Bearer".into()),
        }
    }));
    let mut socket = Socket::with(config, |_| ());
    let statuses: Vec<_> = (0..5).map(|_| socket.call("", "maybe", &json!({})).status).collect();
    assert_eq!(statuses, [200, 200, 200, 403, 403]);
}

#[test]
fn late_verdict_does_not_admit_the_next_request() {
    let mut config = Config::default();
    let resource = ProtectedResource::new(PUBLIC, ISSUER).unwrap();
    config.protect(resource, |_: String| std::future::pending::<VerifiedToken>());
    let declaration = server::Registry::<()>::new(Implementation::new("s", "1")).declaration();
    let mut connection = Connection::new(Instant::ZERO, declaration, Arc::new(config));
    let call = || Bytes::from(request("alice", "", &json!({})));
    let transmitted = |connection: &mut Connection| {
        let mut said = Vec::new();
        while let Some(Action::Transmit(part)) = connection.poll_action() {
            said.extend_from_slice(&part);
        }
        String::from_utf8(said).unwrap()
    };

    connection.handle_bytes(Instant::ZERO, call());
    let (first, _) = connection.poll_verification().unwrap();
    let late = connection.poll_timeout().unwrap();
    connection.handle_timeout(late);
    assert!(transmitted(&mut connection).starts_with("HTTP/1.1 503 "));

    connection.handle_bytes(late, call());
    let (second, _) = connection.poll_verification().unwrap();
    connection.handle_verified(late, first, known("alice".into()));
    assert!(connection.is_verifying());
    assert_eq!(transmitted(&mut connection), "");
    connection.handle_verified(late, second, known("nobody".into()));
    assert!(transmitted(&mut connection).starts_with("HTTP/1.1 401 "));
}

#[test]
fn a_verifier_that_panics_refuses() {
    let mut config = Config::default();
    let resource = ProtectedResource::new(PUBLIC, ISSUER).unwrap();
    config.protect(resource, |token: String| async move {
        assert_ne!(token, "bomb");
        known(token)
    });
    let mut socket = Socket::new(config);
    assert_eq!(socket.call("bomb", "who", &json!({})).status, 503);
    assert_eq!(socket.call("alice", "who", &json!({})).status, 200);
}

#[test]
fn a_verification_ends_with_its_client() {
    struct Watched(Arc<AtomicUsize>);
    impl Drop for Watched {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let counted = dropped.clone();
    let mut socket = Socket::with(Config::default(), move |config| {
        let resource = ProtectedResource::new(PUBLIC, ISSUER).unwrap();
        config.protect(resource, move |_: String| {
            let watched = Watched(counted.clone());
            async move {
                std::future::pending::<()>().await;
                drop(watched);
                Err(TokenRefusal::missing())
            }
        });
    });
    socket.raw(&request("alice", "", &json!({})));
    assert_eq!(dropped.load(Ordering::Relaxed), 0);
    drop(socket);
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
}

#[test]
fn tokens_are_read_from_one_place() {
    let mut socket = Socket::new(config(known));
    let mut ask = |target: &str, fields: &str| {
        let body = message("who", &json!({}));
        socket.send(&format!(
            "POST {target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: tools/call\r\nMcp-Name: who\r\n{fields}Content-Length: {}\r\n\r\n{body}",
            body.len()
        ))
    };
    assert_eq!(ask("/mcp", "Authorization: bearer alice\r\n").status, 200);
    assert_eq!(ask("/mcp?access_token=alice", "").status, 401);
    assert_eq!(ask("/mcp", "Authorization: Basic YTpi\r\n").status, 401);
    assert_eq!(ask("/mcp", "Authorization: Bearer a b\r\n").status, 400);
    let two = "Authorization: Bearer alice\r\nAuthorization: Bearer bob\r\n";
    assert_eq!(ask("/mcp", two).status, 400);
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(super) struct Nothing {}

fn unknown() -> TokenRefusal {
    TokenRefusal::invalid("the token is unknown")
}

#[expect(clippy::needless_pass_by_value, reason = "a verifier is given a token")]
pub(super) fn known(token: String) -> VerifiedToken {
    match token.as_str() {
        "alice" => Ok(Claims::new(ISSUER, "alice")),
        "alice-writes" => Ok(Claims::new(ISSUER, "alice").with_scopes("read write")),
        "bob" => Ok(Claims::new(ISSUER, "bob")),
        "other-alice" => Ok(Claims::new(OTHER, "alice")),
        _ => Err(unknown()),
    }
}

pub(super) fn config(verify: impl Fn(String) -> VerifiedToken + Send + Sync + 'static) -> Config {
    let mut config = Config::default();
    let resource = ProtectedResource::new(PUBLIC, ISSUER).unwrap();
    // One that has to wait.
    config.protect(resource, move |token: String| {
        let mut verdict = Some(verify(token));
        let mut polls = 0;
        std::future::poll_fn(move |context: &mut std::task::Context<'_>| {
            polls += 1;
            match verdict.take() {
                Some(verdict) if polls > 1 => Poll::Ready(verdict),
                waiting => {
                    verdict = waiting;
                    context.waker().wake_by_ref();
                    Poll::Pending
                }
            }
        })
    });
    config
}

fn registry(ran: &Arc<AtomicUsize>) -> Registry {
    let mut registry = Registry::new(Implementation::new("protected", "1"));
    let who = |_: Nothing, context: Context| async move {
        context.peer().principal.as_deref().unwrap_or("nobody").to_owned()
    };
    registry.tool("who", "Says who asks", who).unwrap();
    let ran = ran.clone();
    let write = move |_: Nothing, _: Context| {
        ran.fetch_add(1, Ordering::Relaxed);
        async { "written" }
    };
    registry.tool("write", "Writes", write).unwrap();
    registry.require_scopes("write", "write").unwrap();
    let maybe = |_: Nothing, context: Context| async move {
        context.require_scopes("write")?;
        Ok::<_, MissingScopes>("done")
    };
    registry.tool("maybe", "Writes, or not", maybe).unwrap();
    assert!(registry.require_scopes("nothing", "write").is_err());
    assert!(registry.require_scopes("who", "a\"b").is_err());
    registry
}

/// A socket of a server, in virtual time.
pub(super) struct Socket {
    service: Service<HttpLink>,
    now: Instant,
}

pub(super) struct Answer {
    pub(super) status: u16,
    head: String,
    pub(super) body: String,
}

impl Socket {
    fn new(config: Config) -> Self {
        Self::counted(config, &Arc::default())
    }

    fn with(mut config: Config, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut config);
        Self::new(config)
    }

    fn counted(config: Config, ran: &Arc<AtomicUsize>) -> Self {
        Self::of(&HttpServer::new(registry(ran), config, || [7; 16], |_| {}))
    }

    pub(super) fn of(server: &HttpServer) -> Self {
        Self { service: server.connect(Instant::ZERO), now: Instant::ZERO }
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
    }

    pub(super) fn raw(&mut self, text: &str) -> String {
        if !text.is_empty() {
            self.service.handle_bytes(self.now, Bytes::copy_from_slice(text.as_bytes()));
        }
        let mut output = Vec::new();
        for _ in 0..10 {
            self.service.turn(self.now, Waker::noop());
            while !self.service.output().is_empty() {
                let count = self.service.output().len();
                output.extend_from_slice(self.service.output());
                self.service.handle_written(count);
            }
        }
        String::from_utf8(output).unwrap()
    }

    fn send(&mut self, text: &str) -> Answer {
        let text = self.raw(text);
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.into(), body: body.into() }
    }

    pub(super) fn post(&mut self, token: &str, fields: &str, body: &Value) -> Answer {
        self.send(&request(token, fields, body))
    }

    fn call(&mut self, token: &str, tool: &str, arguments: &Value) -> Answer {
        let fields = format!(
            "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
        );
        let body: Value = serde_json::from_str(&message(tool, arguments)).unwrap();
        self.post(token, &fields, &body)
    }
}

impl Answer {
    pub(super) fn field(&self, name: &str) -> &str {
        let value = |line: &'_ str| line.split_once(": ").is_some_and(|(own, _)| own == name);
        let line = self.head.split("\r\n").find(|line| value(line)).unwrap_or_default();
        line.split_once(": ").map_or("", |(_, value)| value)
    }

    fn text(&self) -> String {
        let answer: Value = serde_json::from_str(&self.body).unwrap();
        answer["result"]["content"][0]["text"].as_str().unwrap().into()
    }
}

fn message(tool: &str, arguments: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": tool, "arguments": arguments, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}}}})
    .to_string()
}

fn request(token: &str, fields: &str, body: &Value) -> String {
    let token =
        if token.is_empty() { String::new() } else { format!("Authorization: Bearer {token}\r\n") };
    let body = body.to_string();
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{fields}{token}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}
