//! Several processes that act as one server: when one process changes a note, the clients of all
//! processes are notified.
//!
//! `cargo build -p mcp-tokio --example broker` builds it into `target/debug/examples`.
//!
//! ```text
//! broker hub --listen 127.0.0.1:7000
//! broker serve --listen 127.0.0.1:8001 --broker tcp://127.0.0.1:7000
//! broker serve --listen 127.0.0.1:8002 --broker tcp://127.0.0.1:7000
//! ```
//!
//! or, without the hub, with `--broker redis://127.0.0.1:6379`.
//!
//! The tool `set_note` writes a note, which is a resource `note://NAME`. The called process sends
//! the note to the broker. Every process, also this one, stores the note when the broker sends it.
//! So all processes write in the same order, and have the same notes. Then each process notifies
//! its clients that subscribed to the note, by `subscriptions/listen` or in a legacy session.
//!
//! The broker carries the application's data, not MCP's notifications: each process notifies its
//! own clients. A real server has its data in a store that all processes share, and the broker
//! names the data to read again. Here a process that starts late does not have the earlier notes. A
//! process that loses its broker ends, because its clients would miss every change.

use std::error::Error;
use std::future::Future;

use futures_util::StreamExt;
use mcp_tokio::types::{Resource, ResourceContents};
use mcp_tokio::{
    Catalog, Change, Handler, HttpConfig, Implementation, List, Registry, UsageError, serve_http,
};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{broadcast, mpsc};

type Failure = Box<dyn Error + Send + Sync>;

/// Message broker, as far as a server needs one. Messages are lines of text.
trait Broker: Clone + Send + Sync + 'static {
    /// Sends a message to all who have subscribed.
    fn publish(&self, message: String) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Subscribes to the messages that are published after the future is ready. All subscribers
    /// receive them in the same order. The channel closes if the broker is lost.
    fn subscribe(&self) -> impl Future<Output = Result<mpsc::Receiver<String>, Failure>> + Send;
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["hub", "--listen", listen] => hub(TcpListener::bind(listen).await?).await,
        ["serve", "--listen", listen, "--broker", url] => match url.strip_prefix("tcp://") {
            Some(address) => serve(listen, Hub { address: address.to_owned() }).await,
            None => serve(listen, Redis::open(url)?).await,
        },
        _ => Err("usage: broker hub --listen ADDRESS\n       \
                  broker serve --listen ADDRESS --broker tcp://ADDRESS|redis://ADDRESS"
            .into()),
    }
}

/// One of the processes.
async fn serve<B: Broker>(listen: &str, broker: B) -> Result<(), Failure> {
    // Before the first client can be told that it will hear of changes.
    let mut messages = broker.subscribe().await?;
    let catalog = Catalog::from(registry(broker)?);
    let listener = TcpListener::bind(listen).await?;
    let config = HttpConfig::default();
    eprintln!("listening on http://{}{}", listener.local_addr()?, config.path);
    let takes_over = async {
        while let Some(message) = messages.recv().await {
            let note = serde_json::from_str(&message).map_err(Failure::from);
            if let Err(error) = note.and_then(|note| Ok(take_over(&catalog, note)?)) {
                eprintln!("left out, here and by all others: {error}");
            }
        }
        Err("the broker is gone: start again when it is there".into())
    };
    tokio::select! {
        served = serve_http(listener, catalog.clone(), config) => Ok(served?),
        lost = takes_over => lost,
    }
}

#[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
struct Note {
    /// The name of the note.
    name: String,
    /// The text of the note.
    text: String,
}

fn registry<B: Broker>(broker: B) -> Result<Registry<Handler>, UsageError> {
    let mut registry = Registry::new(Implementation::new("notes", env!("CARGO_PKG_VERSION")));
    registry.list_changed(List::Resources).subscribe();
    registry.tool("set_note", "Writes a note", move |note: Note, _| {
        let broker = broker.clone();
        async move {
            broker.publish(serde_json::to_string(&note)?).await?;
            Ok::<_, Failure>("on its way to all processes")
        }
    })?;
    Ok(registry)
}

/// Writes a note that this process or another was asked to write. The catalog tells who listens
/// that the list has changed, if it has, and `publish` tells those who subscribed to this note.
fn take_over(catalog: &Catalog, Note { name, text }: Note) -> Result<(), UsageError> {
    let uri = format!("note://{name}");
    let change = Change::ResourceUpdated(uri.clone());
    catalog.update(|registry| {
        registry.remove_resource(&uri);
        registry.resource(Resource::new(uri, name), move |uri, _| {
            let text = text.clone();
            async move { ResourceContents::text(uri, text) }
        })?;
        Ok(())
    })?;
    catalog.publish(&change)
}

/// A broker for tests, in a process of its own: whatever line comes goes to all connections.
async fn hub(listener: TcpListener) -> Result<(), Failure> {
    eprintln!("listening on tcp://{}", listener.local_addr()?);
    let (lines, _) = broadcast::channel(1024);
    loop {
        let (socket, _) = listener.accept().await?;
        let (sender, receiver) = (lines.clone(), lines.subscribe());
        // A connection that breaks, or does not keep up, ends alone.
        tokio::spawn(pass_on(socket, sender, receiver));
    }
}

async fn pass_on(
    mut socket: TcpStream,
    sender: broadcast::Sender<String>,
    mut receiver: broadcast::Receiver<String>,
) -> Result<(), Failure> {
    let (reader, mut writer) = socket.split();
    let mut lines = BufReader::new(reader).lines();
    writer.write_all(b"welcome\n").await?;
    loop {
        tokio::select! {
            line = lines.next_line() => match line? {
                Some(line) => sender.send(line)?,
                None => return Ok(()),
            },
            line = receiver.recv() => {
                writer.write_all(format!("{}\n", line?).as_bytes()).await?;
                continue;
            }
        };
    }
}

/// The hub, for those who use it.
#[derive(Clone)]
struct Hub {
    address: String,
}

impl Hub {
    /// A connection that hears of everything.
    async fn connect(&self) -> Result<BufReader<TcpStream>, Failure> {
        let connected = TcpStream::connect(&self.address).await;
        let mut socket = BufReader::new(connected.map_err(|error| {
            format!("no hub at {}: {error}; start one with `broker hub`", self.address)
        })?);
        let mut welcome = String::new();
        socket.read_line(&mut welcome).await?;
        Ok(socket)
    }
}

impl Broker for Hub {
    async fn publish(&self, message: String) -> Result<(), Failure> {
        let mut socket = self.connect().await?;
        Ok(socket.write_all(format!("{message}\n").as_bytes()).await?)
    }

    async fn subscribe(&self) -> Result<mpsc::Receiver<String>, Failure> {
        let mut lines = self.connect().await?.lines();
        let (sender, receiver) = mpsc::channel(64);
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                if sender.send(line).await.is_err() {
                    break;
                }
            }
        });
        Ok(receiver)
    }
}

/// A Redis server, or one that speaks like it.
#[derive(Clone)]
struct Redis {
    client: redis::Client,
}

/// Channel that these processes share, on a Redis that others use too.
const CHANNEL: &str = "notes";

impl Redis {
    fn open(url: &str) -> Result<Self, Failure> {
        let client = redis::Client::open(url);
        let client = client.map_err(|error| {
            format!("{url:?} is neither tcp://ADDRESS nor a URL of a Redis server: {error}")
        })?;
        Ok(Self { client })
    }
}

impl Broker for Redis {
    async fn publish(&self, message: String) -> Result<(), Failure> {
        let mut connection = self.client.get_multiplexed_async_connection().await?;
        let publish = redis::cmd("PUBLISH").arg(CHANNEL).arg(message).to_owned();
        Ok(publish.exec_async(&mut connection).await?)
    }

    async fn subscribe(&self) -> Result<mpsc::Receiver<String>, Failure> {
        let mut subscription = self.client.get_async_pubsub().await?;
        subscription.subscribe(CHANNEL).await?;
        let (sender, receiver) = mpsc::channel(64);
        tokio::spawn(async move {
            let mut messages = subscription.into_on_message();
            while let Some(message) = messages.next().await {
                let Ok(text) = message.get_payload() else { break };
                if sender.send(text).await.is_err() {
                    break;
                }
            }
        });
        Ok(receiver)
    }
}
