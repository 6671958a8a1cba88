//! Quoted by `docs/guide/client.md`: both sides of HTTP on streams that the application opens.

use std::env;
use std::error::Error;
use std::future::pending;
use std::io;
use std::path::PathBuf;
use std::process;

use mcp_tokio::mcp_service::runtime::{self, Runtime};
use mcp_tokio::mcp_service::{Connecting, Connector, Socket};
use mcp_tokio::{
    Client, HttpClientConfig, HttpConfig, Implementation, Registry, Stream, Tokio, Url,
};
use tokio::net::{UnixListener, UnixStream};

/// Connects to a Unix socket, whatever the URL.
struct LocalConnector {
    path: PathBuf,
}

impl Connector for LocalConnector {
    fn connect(&mut self, _url: &Url) -> Connecting {
        let path = self.path.clone();
        Box::pin(async move {
            let socket: Box<dyn Socket> = Box::new(Stream(UnixStream::connect(path).await?));
            Ok(socket)
        })
    }
}

async fn connect_at(client: &Client, path: PathBuf) -> Result<(), Box<dyn Error>> {
    let server = HttpClientConfig::parse("http://localhost/mcp")?;
    let connector = LocalConnector { path };
    runtime::connect_http_with(&Tokio::current(), client, server, connector).await?;
    Ok(())
}

async fn serve_at(listener: UnixListener, registry: Registry) -> io::Result<()> {
    let host = Tokio::current();
    let server = runtime::http_server(&host, registry, HttpConfig::default());
    let (background, mut clock) = (server.clone(), host.timer());
    host.spawn(async move { background.run_background(&mut clock).await });
    loop {
        let (socket, _) = listener.accept().await?;
        let (host, server) = (host.clone(), server.clone());
        tokio::spawn(async move {
            let socket = Stream(socket);
            runtime::serve_http_stream(&host, &server, socket, None, pending()).await
        });
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

#[tokio::test]
async fn client_and_server_meet_at_a_unix_socket() -> Result<(), Box<dyn Error>> {
    let path = env::temp_dir().join(format!("mcp-own-streams-{}", process::id()));
    let listener = UnixListener::bind(&path)?;
    let mut registry = Registry::new(Implementation::new("local", "1.0.0"));
    registry.tool("hello", "Says hello", |Nothing {}, _| async { "hello" })?;
    let serving = tokio::spawn(serve_at(listener, registry));
    let client = Client::new(Implementation::new("app", "1.0.0"));
    let called = async {
        connect_at(&client, path.clone()).await?;
        Ok::<_, Box<dyn Error>>(client.call_tool("hello", &serde_json::json!({})).await?)
    };
    let called = called.await;
    std::fs::remove_file(&path)?;
    assert_eq!(called?.content[0].as_text(), Some("hello"));
    client.close().await;
    serving.abort();
    Ok(())
}
