//! A server over HTTP without sockets: requests whose heads and bodies are complete.

#![expect(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a test ends here, and says why"
)]

use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

use mcp_proto::frame::http1::Head;
use mcp_proto::{Bytes, Instant, http};
use mcp_service::runtime::Runtime;
use mcp_service::{Answering, Catalog, Clock, HttpServer, Part};

use super::counting;
use super::world::VirtualRuntime as World;

/// The notification after `initialize`.
pub const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// `initialize` of a client that can be asked for its roots.
pub const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{
    "protocolVersion":"2025-11-25","capabilities":{"roots":{}},
    "clientInfo":{"name":"c","version":"1"}}}"#;

/// A server in virtual time. Clones are the same one.
#[derive(Clone, Debug)]
pub struct VirtualSite {
    /// The runtime.
    pub world: World,
    /// The server.
    pub server: HttpServer,
}

/// A response that has begun.
#[derive(Debug)]
pub struct VirtualResponse {
    answering: Answering,
    /// The id in the header `Mcp-Session-Id`.
    pub session: Option<String>,
    /// The body as far as it was read.
    pub text: String,
    has_ended: bool,
}

impl VirtualSite {
    /// Serves a catalog.
    pub fn new(world: &World, catalog: impl Into<Catalog>, config: http::Config) -> Self {
        let catalog = catalog.into();
        world.host_tasks(&catalog);
        let spawns = world.clone();
        let server = HttpServer::new(catalog, config, counting(), move |it| spawns.spawn(it));
        let (background, mut clock) = (server.clone(), world.timer());
        world.spawn(async move { background.run_background(&mut clock).await });
        Self { world: world.clone(), server }
    }

    /// The time.
    pub fn now(&self) -> Instant {
        self.world.timer().now()
    }

    /// Opens a session; returns its id.
    pub async fn open(&self) -> String {
        let session = self.ask(None, INITIALIZE).await.session.unwrap();
        self.ask(Some(&session), INITIALIZED).await;
        session
    }

    /// Sends a POST of a legacy client, and reads the whole response.
    pub async fn ask(&self, session: Option<&str>, body: &str) -> VirtualResponse {
        self.post(session, body).end(self).await
    }

    /// Sends a POST of a legacy client.
    pub fn post(&self, session: Option<&str>, body: &str) -> VirtualResponse {
        self.begin("POST", session, &[], body)
    }

    /// Sends a POST of a legacy client with this `MCP-Protocol-Version`.
    pub fn post_of(&self, session: &str, version: &str, body: &str) -> VirtualResponse {
        self.begin("POST", Some(session), &[("MCP-Protocol-Version", version)], body)
    }

    /// Opens the stream of a session, after the event with this id.
    pub fn get(&self, session: &str, after: Option<&str>) -> VirtualResponse {
        let after = after.map(|event| ("Last-Event-ID", event));
        self.begin("GET", Some(session), after.as_slice(), "")
    }

    /// Ends a session.
    pub async fn delete(&self, session: &str) {
        self.begin("DELETE", Some(session), &[], "").end(self).await;
    }

    /// Sends a POST of a modern client.
    pub fn modern(&self, method: &str, params: &str, capabilities: &str) -> VirtualResponse {
        let name = params.split_once("\"name\":\"").or(params.split_once("\"taskId\":\""));
        let name = name.and_then(|(_, rest)| rest.split_once('"')).map(|(name, _)| name);
        let comma = if params.is_empty() { "" } else { "," };
        let body = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{method}\",\"params\":{{{params}{comma}\
             \"_meta\":{{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\
             \"io.modelcontextprotocol/clientCapabilities\":{{{capabilities}}}}}}}}}"
        );
        let mut fields = vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
        fields.extend(name.map(|name| ("Mcp-Name", name)));
        self.begin("POST", None, &fields, &body)
    }

    fn begin(
        &self,
        method: &str,
        session: Option<&str>,
        fields: &[(&str, &str)],
        body: &str,
    ) -> VirtualResponse {
        let mut head = Head::new(method, "/mcp");
        for (name, value) in [
            ("Host", "localhost"),
            ("Content-Type", "application/json"),
            (
                "Accept",
                if method == "GET" {
                    "text/event-stream"
                } else {
                    "application/json, text/event-stream"
                },
            ),
        ] {
            head.push(name, value.as_bytes());
        }
        for (name, value) in
            session.iter().map(|id| ("Mcp-Session-Id", *id)).chain(fields.iter().copied())
        {
            head.push(name, value.as_bytes());
        }
        let answering =
            self.server.answer(self.now(), head, &Bytes::copy_from_slice(body.as_bytes()));
        VirtualResponse { answering, session: None, text: String::new(), has_ended: false }
    }
}

impl VirtualResponse {
    /// Reads what is there.
    pub fn read(&mut self, site: &VirtualSite) -> &str {
        self.poll(site, &Context::from_waker(Waker::noop()));
        &self.text
    }

    /// Reads until the text contains `wanted`.
    pub async fn until(&mut self, site: &VirtualSite, wanted: &str) {
        poll_fn(|context| {
            self.poll(site, context);
            if self.text.contains(wanted) || self.has_ended {
                return Poll::Ready(());
            }
            Poll::Pending
        })
        .await;
        assert!(self.text.contains(wanted), "{wanted}: {}", self.text);
    }

    /// Reads to the end.
    pub async fn end(mut self, site: &VirtualSite) -> Self {
        poll_fn(|context| {
            self.poll(site, context);
            if self.has_ended { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        self
    }

    fn poll(&mut self, site: &VirtualSite, context: &Context<'_>) {
        while !self.has_ended {
            match self.answering.turn(site.now(), context.waker()) {
                Some(Part::Whole(head, body)) => {
                    self.head(&head);
                    self.text += str::from_utf8(&body).unwrap();
                    self.has_ended = true;
                }
                Some(Part::Head(head)) => self.head(&head),
                Some(Part::Data(data)) => self.text += str::from_utf8(&data).unwrap(),
                Some(Part::End) => self.has_ended = true,
                None => return,
            }
        }
    }

    fn head(&mut self, head: &http::ResponseHead) {
        for (name, value) in head.fields() {
            if name.eq_ignore_ascii_case("Mcp-Session-Id") {
                self.session = Some(value.to_string());
            }
        }
    }
}
