//! The code of the guide about ways to a server; it needs the features `http2` and `proxy`.

use std::error::Error;
use std::net::TcpListener;

use mcp_tokio::{Client, HttpClientConfig, Implementation, Proxies, http2};

async fn through_a_proxy(client: &Client, url: &str, proxy: &str) -> Result<(), Box<dyn Error>> {
    let server = HttpClientConfig::parse(url)?;
    let server = server.proxies(Proxies::all_except(proxy, "localhost,10.0.0.0/8")?);
    http2::connect_http(client, server).await?;
    Ok(())
}

#[tokio::test]
async fn absent_proxy_is_named() -> Result<(), Box<dyn Error>> {
    let absent = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let client = Client::new(Implementation::new("app", "1.0.0"));
    let proxy = format!("http://ada:0123@{absent}");
    let connected = through_a_proxy(&client, "https://mcp.invalid/mcp", &proxy).await;
    let error = connected.err().ok_or("it is connected")?.to_string();
    assert!(error.contains(&format!("the proxy {absent} cannot be reached")), "{error}");
    Ok(())
}
