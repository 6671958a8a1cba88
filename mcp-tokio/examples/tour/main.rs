//! Conversations of one server with clients of both eras: `cargo run -p mcp-tokio --example tour`.
//!
//! The tour prints six conversations, over pipes and over HTTP. Messages of the client are on the
//! left, messages of the server on the right; the last conversation goes through a bridge. Below
//! each conversation are the decisions of both sides. The client shows the era of its server, with
//! the rows of the table `client::probe::TABLE` that decided. The server shows the version in which
//! it served each request. The first printed lines name the parts that are left out.

mod columns;
mod json;
mod restaurant;
mod wire;

use std::error::Error;
use std::io::{self, Write};

use mcp_tokio::{
    Bridge, BridgeConfig, BridgeTarget, Client, ClientConfig, Config, EraPolicy, ErrorData,
    HttpClientConfig, HttpConfig, Implementation, Negotiation, Stream, bridge, connect,
    connect_http, serve, serve_http_until,
};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use columns::Page;
use restaurant::Restaurant;
use wire::{THREE, TWO, Wire};

const LEFT_OUT: &str = "\
Left out are \"jsonrpc\":\"2.0\", which is in every message, most fields of HTTP, and those of MCP that
the same side has sent like that before. … is an object that was shown before, or the rest of a text;
(masked) is a secret; in [brackets] is a row of the table `client::probe::TABLE`.
";

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    show(&mut io::stdout().lock()).await
}

/// Shows all of it.
pub(crate) async fn show(out: &mut impl Write) -> Result<()> {
    let restaurant = Restaurant::open()?;
    let mut page = Page::new(out);
    page.note(LEFT_OUT)?;

    page.title("A legacy client opens with a handshake, over a pipe", TWO)?;
    let guest = Guest::new(Negotiation::Legacy);
    guest.comes_through_a_pipe(&restaurant, EraPolicy::Auto).await?;
    guest.books_a_table().await?;
    guest.leaves(&restaurant, &mut page).await?;

    page.title("Another client asks first, and finds that the same server is modern", TWO)?;
    let guest = Guest::new(Negotiation::Auto);
    guest.comes_through_a_pipe(&restaurant, EraPolicy::Auto).await?;
    guest.books_a_table().await?;
    guest.leaves(&restaurant, &mut page).await?;

    page.title("It asks a server that serves legacy clients alone, and falls back", TWO)?;
    let guest = Guest::new(Negotiation::Auto);
    guest.comes_through_a_pipe(&restaurant, EraPolicy::LegacyOnly).await?;
    guest.leaves(&restaurant, &mut page).await?;

    let (url, close) = serve_over_http(&restaurant).await?;
    page.title("The legacy client over HTTP: a session, and streams", TWO)?;
    let guest = Guest::new(Negotiation::Legacy);
    connect_http(&guest.client, HttpClientConfig::parse(&url)?).await?;
    guest.wire.stream().await;
    guest.books_a_table().await?;
    guest.leaves(&restaurant, &mut page).await?;

    page.title("The client that asks first, at the same address: each request stands alone", TWO)?;
    let guest = Guest::new(Negotiation::Auto);
    connect_http(&guest.client, HttpClientConfig::parse(&url)?).await?;
    guest.books_a_table().await?;
    guest.leaves(&restaurant, &mut page).await?;
    drop(close);

    page.title("A bridge in front of a legacy server: the modern client sees a modern one", THREE)?;
    let guest = Guest::new(Negotiation::Auto);
    let bridge = guest.comes_over_a_bridge(&restaurant).await?;
    guest.books_a_table().await?;
    bridge.close().await;
    guest.leaves(&restaurant, &mut page).await
}

/// A client, and what can be seen of its conversation.
struct Guest {
    client: Client,
    wire: Wire,
}

impl Guest {
    fn new(negotiation: Negotiation) -> Self {
        let mut config = ClientConfig::new(Implementation::new("guest", "1.0.0"));
        config.negotiation = negotiation;
        let client = Client::new(config);
        client.on_form(|form| async move {
            form.accept(&json!({ "seat": "outside" })).map_err(ErrorData::from)
        });
        let wire = Wire::default();
        client.on_wire(wire.tap());
        Self { client, wire }
    }

    /// Connects to a server at the other end of a pipe.
    async fn comes_through_a_pipe(&self, server: &Restaurant, policy: EraPolicy) -> Result<()> {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let mut config = Config::default();
        config.era_policy = policy;
        let (reader, writer) = tokio::io::split(theirs);
        tokio::spawn(serve(server.catalog.clone(), config, reader, writer));
        let (reader, writer) = tokio::io::split(ours);
        connect(&self.client, reader, writer).await?;
        Ok(())
    }

    /// Connects to a bridge, whose server serves legacy clients alone.
    async fn comes_over_a_bridge(&self, server: &Restaurant) -> Result<Bridge> {
        let catalog = server.catalog.clone();
        let target = BridgeTarget::stream(move || {
            let (ours, theirs) = tokio::io::duplex(64 * 1024);
            let mut config = Config::default();
            config.era_policy = EraPolicy::LegacyOnly;
            let (reader, writer) = tokio::io::split(theirs);
            tokio::spawn(serve(catalog.clone(), config, reader, writer));
            Ok(Stream(ours))
        });
        let bridge = bridge(target, BridgeConfig::new(Implementation::new("bridge", "1.0.0")));
        bridge.on_wire(self.wire.upstream_tap());
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (reader, writer) = tokio::io::split(theirs);
        tokio::spawn(serve(bridge.catalog(), Config::default(), reader, writer));
        let (reader, writer) = tokio::io::split(ours);
        connect(&self.client, reader, writer).await?;
        Ok(bridge)
    }

    async fn books_a_table(&self) -> Result<()> {
        self.client.call_tool("book", &json!({ "guests": 2 })).await?;
        Ok(())
    }

    /// Ends the conversation, and shows it with what the two have decided.
    async fn leaves(self, server: &Restaurant, page: &mut Page<impl Write>) -> Result<()> {
        let version = self.client.server().ok_or("the server is gone")?.version;
        self.wire.answers().await;
        self.client.close().await;
        page.rows(&self.wire.rows())?;
        let decisions: Vec<_> = self.client.decisions().iter().map(ToString::to_string).collect();
        page.note(&format!("client: {}; they speak {version}", decisions.join("\nclient: ")))?;
        let calls = server.served();
        if !calls.is_empty() {
            page.note(&format!("server: served `book` {}", calls.join(", and ")))?;
        }
        Ok(())
    }
}

/// Serves whoever connects, until what this returns beside the URL is dropped.
async fn serve_over_http(server: &Restaurant) -> Result<(String, oneshot::Sender<()>)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    let (close, closed) = oneshot::channel();
    let stop = async move { drop(closed.await) };
    let catalog = server.catalog.clone();
    tokio::spawn(serve_http_until(listener, catalog, HttpConfig::default(), stop));
    Ok((url, close))
}
