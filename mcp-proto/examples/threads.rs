//! A server over HTTP without async: `std::net`, threads, several sockets and one [`Endpoint`].
//!
//! ```sh
//! cargo run -p mcp-proto --example threads
//! ```
//!
//! prints its URL, such as `http://127.0.0.1:40123/mcp`, and serves clients of both eras there
//! until its standard input ends. The tool `note` stores a note. The resource `notes://all` has all
//! notes, and its subscribers are notified of each new note.
//!
//! Each socket has two threads: one reads on request, and the other does everything else. A thread
//! cannot wait for a socket and for a wake-up at once, but it can wait for a channel that receives
//! both.

#![expect(clippy::disallowed_types, reason = "sockets share what is theirs, by locks")]

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time;

use mcp_proto::http::{Config, Connection, Endpoint, EndpointAction};
use mcp_proto::server::{Change, Outcome, Registry, Reply, Request, ServerEvent};
use mcp_proto::types::{
    CallToolResult, Implementation, ReadResourceResult, Resource, ResourceContents, Tool,
};
use mcp_proto::{Action, Bytes, Duration, ErrorData, Instant, Json, Machine};

fn main() -> Result<(), Box<dyn Error>> {
    let site = &Site::new()?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    writeln!(io::stdout(), "http://{address}{}", site.config.path)?;
    thread::scope(|scope| {
        scope.spawn(move || {
            let _ = io::copy(&mut io::stdin(), &mut io::sink());
            site.stop();
            // Whoever accepts sees that it is over when somebody comes.
            let _ = TcpStream::connect(address);
        });
        for (number, socket) in (0..).zip(listener.incoming()) {
            if site.lock().stopping {
                break;
            }
            // What goes wrong with one connection concerns no other.
            scope.spawn(move || socket.and_then(|socket| site.serve(number, &socket)));
        }
    });
    Ok(())
}

/// State that all connections share.
struct Site {
    registry: Registry<Handler>,
    config: Arc<Config>,
    start: time::Instant,
    notes: Mutex<Vec<String>>,
    shared: Mutex<Shared>,
}

struct Shared {
    endpoint: Endpoint<u64>,
    /// Channel to each connection, by its number.
    connections: BTreeMap<u64, Sender<Input>>,
    stopping: bool,
}

/// Input of a connection.
enum Input {
    Bytes(Bytes),
    End,
    /// There is something at the endpoint.
    Wake,
    Stop,
}

impl Site {
    /// Drives a connection from its first byte to its close.
    fn drive(&self, me: u64, mut socket: &TcpStream, inputs: &Receiver<Input>, read: &Sender<()>) {
        let declaration = self.registry.declaration();
        let mut connection = Connection::new(self.now(), declaration, self.config.clone());
        let mut is_reading = false;
        loop {
            self.at_endpoint(|endpoint| connection.visit(self.now(), endpoint, &me));
            while let Some(action) = connection.poll_action() {
                match action {
                    Action::Transmit(bytes) => {
                        if socket.write_all(&bytes).is_err() {
                            connection.handle_disconnect(self.now());
                        }
                    }
                    Action::Event(ServerEvent::Request(request)) => {
                        let (reply, outcome) = self.call(request);
                        connection.respond(self.now(), reply, outcome);
                    }
                    Action::Event(_) => {}
                    Action::Close => return,
                }
            }
            // The next request may have been read already.
            if connection.needs_endpoint() {
                continue;
            }
            if connection.wants_read() && !is_reading {
                is_reading = read.send(()).is_ok();
            }
            match inputs.recv_timeout(self.until(connection.poll_timeout())) {
                Ok(Input::Bytes(bytes)) => {
                    is_reading = false;
                    connection.handle_bytes(self.now(), bytes);
                }
                Ok(Input::End) => connection.handle_eof(self.now()),
                Ok(Input::Wake) => {}
                Ok(Input::Stop) => connection.shutdown(self.now()),
                Err(_) => connection.handle_timeout(self.now()),
            }
        }
    }

    /// Does something at the endpoint, and then what the endpoint wants done. Nothing waits while
    /// it is locked: handlers run without the lock.
    #[expect(clippy::wildcard_enum_match_arm, reason = "nothing else is of interest")]
    fn at_endpoint(&self, work: impl FnOnce(&mut Endpoint<u64>)) {
        let mut shared = self.lock();
        // Sessions that are due end when somebody looks.
        shared.endpoint.handle_timeout(self.now());
        work(&mut shared.endpoint);
        while let Some(action) = shared.endpoint.poll_action() {
            match action {
                EndpointAction::Wake(number) => shared.tell(number, Input::Wake),
                EndpointAction::Event(ServerEvent::Request(request)) => {
                    drop(shared);
                    let (reply, outcome) = self.call(request);
                    shared = self.lock();
                    shared.endpoint.respond(self.now(), reply, outcome);
                }
                _ => {}
            }
        }
    }

    fn call(&self, request: Request) -> (Reply, Outcome) {
        let outcome = match self.registry.handler(request.handler) {
            Some(handler) => handler(self, &request.arguments),
            None => Outcome::Error(ErrorData::internal("there is no such handler")),
        };
        (request.reply, outcome)
    }

    /// Serves a client that has connected.
    fn serve(&self, me: u64, socket: &TcpStream) -> io::Result<()> {
        let limits = &self.config.server.limits;
        socket.set_nodelay(true)?;
        // A client that does not read for so long is as good as gone.
        socket.set_write_timeout(Some(limits.connection_idle_timeout))?;
        let (sender, inputs) = mpsc::channel();
        {
            let mut shared = self.lock();
            if shared.stopping || shared.connections.len() >= limits.max_connections {
                return Ok(());
            }
            shared.connections.insert(me, sender.clone());
        }
        thread::scope(|scope| {
            let (read, permits) = mpsc::channel();
            scope.spawn(move || read_when_told(socket, &permits, &sender));
            self.drive(me, socket, &inputs, &read);
            // The other thread may be about to read.
            let _ = socket.shutdown(Shutdown::Both);
        });
        self.lock().connections.remove(&me);
        Ok(())
    }

    /// Lets what is in flight be answered, and ends the rest.
    fn stop(&self) {
        self.at_endpoint(|endpoint| endpoint.shutdown(self.now()));
        let mut shared = self.lock();
        shared.stopping = true;
        for connection in shared.connections.values() {
            let _ = connection.send(Input::Stop);
        }
    }

    /// Time until the next deadline.
    fn until(&self, due: Option<Instant>) -> Duration {
        let due = due.into_iter().chain(self.lock().endpoint.poll_timeout()).min();
        due.map_or(Duration::MAX, |at| at.duration_since(self.now()))
    }

    fn now(&self) -> Instant {
        Instant::ZERO + self.start.elapsed()
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// A connection that has closed need not hear of anything.
    fn tell(&self, number: u64, input: Input) {
        let _ = self.connections.get(&number).map(|connection| connection.send(input));
    }
}

/// Reads once for each permit, so that a client that sends more than is answered has to wait.
fn read_when_told(mut socket: &TcpStream, permits: &Receiver<()>, inputs: &Sender<Input>) {
    let mut buffer = vec![0; 64 * 1024];
    for () in permits {
        let count = socket.read(&mut buffer).unwrap_or(0);
        let input = match buffer.get(..count) {
            Some(data @ [_, ..]) => Input::Bytes(Bytes::copy_from_slice(data)),
            _ => Input::End,
        };
        let _ = inputs.send(input);
    }
}

/// Handler of a tool.
type Handler = fn(&Site, &Json) -> Outcome;

const NOTES: &str = "notes://all";

#[derive(serde::Deserialize)]
struct Note {
    text: String,
}

fn note(site: &Site, arguments: &Json) -> Outcome {
    let result = match arguments.decode::<Note>() {
        Ok(note) => {
            site.notes.lock().unwrap_or_else(PoisonError::into_inner).push(note.text);
            let change = Change::ResourceUpdated(NOTES.into());
            // It fails after the end, when nobody listens; `new` declares subscriptions.
            site.at_endpoint(|endpoint| _ = endpoint.publish(site.now(), &change));
            CallToolResult::text("noted")
        }
        Err(error) => CallToolResult::error(error.to_string()),
    };
    complete(&result)
}

fn notes(site: &Site, _: &Json) -> Outcome {
    let text = site.notes.lock().unwrap_or_else(PoisonError::into_inner).join("\n");
    complete(&ReadResourceResult::new(vec![ResourceContents::text(NOTES, text)]))
}

fn complete(result: &impl serde::Serialize) -> Outcome {
    match Json::encode(result) {
        Ok(result) => Outcome::Complete(result),
        Err(error) => Outcome::Error(ErrorData::internal(error.to_string())),
    }
}

impl Site {
    #[expect(clippy::disallowed_methods, reason = "the clock is the driver's part")]
    fn new() -> Result<Self, Box<dyn Error>> {
        let schema =
            r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#;
        let tool = Tool::new("note", Json::parse(schema)?).description("Keeps a note");
        let mut registry = Registry::new(Implementation::new("notes", env!("CARGO_PKG_VERSION")));
        registry.add_tool(tool, note as Handler)?;
        registry.add_resource(Resource::new(NOTES, "notes"), notes)?;
        registry.subscribe();
        let mut config = Config::default();
        // Each has two threads.
        config.server.limits.max_connections = 256;
        let config = Arc::new(config);
        let endpoint = Endpoint::new(registry.declaration(), config.clone(), Box::new(random));
        let shared = Shared { endpoint, connections: BTreeMap::new(), stopping: false };
        let (notes, shared) = (Mutex::default(), Mutex::new(shared));
        Ok(Self { registry, config, start: time::Instant::now(), notes, shared })
    }
}

/// 128 bits that nobody can guess.
fn random() -> [u8; 16] {
    let mut bits = [0; 16];
    if let Err(error) = getrandom::fill(&mut bits) {
        eprintln!("no session is safe on a system without randomness: {error}");
        process::abort();
    }
    bits
}
