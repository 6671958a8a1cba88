//! A host with the servers of an `mcpServers` file, as hosts for language models have them.
//!
//! `cargo run -p mcp-tokio --example tool_host -- servers.json` reads commands from standard input:
//!
//! ```text
//! list
//! call weather__forecast {"city": "Oslo"}
//! ```
//!
//! A tool has the name of its server as a prefix, so that two servers may have tools of the same
//! name. The next call starts a server again that has ended. A server that cannot be reached is
//! left out.

#![expect(clippy::print_stdout, reason = "it answers its commands there")]

use std::collections::BTreeMap;
use std::error::Error;

use mcp_tokio::{
    CallError, CallToolResult, Client, ClientConfig, Command, HttpClientConfig, Implementation,
    Restart, Tool, connect_command, connect_http,
};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::task::JoinSet;

type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let file = std::env::args().nth(1).ok_or("usage: tool_host FILE")?;
    let file: File = serde_json::from_str(&std::fs::read_to_string(file)?)?;
    let host = Host::start(file).await;
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        match line.trim().split_once(' ').unwrap_or((line.trim(), "")) {
            ("list", _) => {
                for (name, (_, tool)) in host.tools().await {
                    println!("{name}: {}", tool.description.unwrap_or_default());
                }
            }
            ("call", rest) => {
                let (name, arguments) = rest.split_once(' ').unwrap_or((rest, "{}"));
                match host.call(name, arguments).await {
                    Ok(result) if result.is_error => println!("failed: {}", text(&result)),
                    Ok(result) => println!("{}", text(&result)),
                    Err(error) => println!("error: {error}"),
                }
            }
            _ => println!("error: say list, or call TOOL ARGUMENTS"),
        }
    }
    host.close().await;
    Ok(())
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    mcp_servers: BTreeMap<String, Entry>,
}

#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Entry {
    Program {
        command: String,
        #[serde(default)]
        args: Vec<String>,
        #[serde(default)]
        env: BTreeMap<String, String>,
    },
    Remote {
        url: String,
        #[serde(default)]
        headers: BTreeMap<String, String>,
    },
}

impl Entry {
    async fn connect(self) -> Result<Client, Failure> {
        let config = ClientConfig::new(Implementation::new("host", env!("CARGO_PKG_VERSION")));
        let client = Client::new(config.restart(Restart::OnCall));
        match self {
            Self::Program { command, args, env } => {
                let mut command = Command::new(command).args(args);
                for (name, value) in env {
                    command = command.env(name, value);
                }
                connect_command(&client, command).await?;
            }
            Self::Remote { url, headers } => {
                let mut server = HttpClientConfig::parse(&url)?;
                for (name, value) in headers {
                    server = server.field(&name, &value)?;
                }
                connect_http(&client, server).await?;
            }
        }
        Ok(client)
    }
}

/// The servers that could be reached, by their names.
struct Host {
    servers: BTreeMap<String, Client>,
}

impl Host {
    /// Starts all servers at the same time.
    async fn start(file: File) -> Self {
        let mut starts = JoinSet::new();
        for (name, entry) in file.mcp_servers {
            // Otherwise two tools could get the same name: `a__b` of the server `c`, `b` of `c__a`.
            if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
                eprintln!("{name} is left out: its name has more than letters, digits and hyphens");
                continue;
            }
            starts.spawn(async move { (name, entry.connect().await) });
        }
        let mut servers = BTreeMap::new();
        for (name, connected) in starts.join_all().await {
            match connected {
                Ok(client) => drop(servers.insert(name, client)),
                Err(error) => eprintln!("{name} is left out: {error}"),
            }
        }
        Self { servers }
    }

    /// The tools of all servers, each with its client, by the names that a model uses.
    async fn tools(&self) -> BTreeMap<String, (Client, Tool)> {
        let mut lists = JoinSet::new();
        for (name, client) in self.servers.clone() {
            lists.spawn(async move { (name, list(&client).await, client) });
        }
        let mut tools = BTreeMap::new();
        for (server, list, client) in lists.join_all().await {
            match list {
                Ok(list) => tools.extend(list.into_iter().map(|tool| {
                    let name = format!("{server}__{}", tool.name);
                    (name, (client.clone(), tool))
                })),
                Err(error) => eprintln!("{server} does not list its tools: {error}"),
            }
        }
        tools
    }

    /// Calls a tool by the name that a model uses. `arguments` is JSON that a model has written.
    async fn call(&self, name: &str, arguments: &str) -> Result<CallToolResult, Failure> {
        let arguments: Value = serde_json::from_str(arguments)?;
        let tools = self.tools().await;
        let (client, tool) = tools.get(name).ok_or_else(|| format!("there is no tool {name}"))?;
        Ok(client.call_tool(&tool.name, &arguments).await?)
    }

    /// Ends all servers.
    async fn close(self) {
        let mut ends = JoinSet::new();
        for client in self.servers.into_values() {
            ends.spawn(async move { client.close().await });
        }
        ends.join_all().await;
    }
}

/// The tools of a server. One that has just ended is started again by the second request.
async fn list(client: &Client) -> Result<Vec<Tool>, CallError> {
    match client.list_tools().await {
        Err(CallError::Closed) => Ok(client.list_tools().await?.tools),
        list => Ok(list?.tools),
    }
}

fn text(result: &CallToolResult) -> String {
    result.content.iter().filter_map(|block| block.as_text()).collect::<Vec<_>>().join("\n")
}
