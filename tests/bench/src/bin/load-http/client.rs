//! One connection of a client, which sends what the specification wants of it, makes one request
//! after the other, and takes answers both as JSON and as streams of events.

use std::borrow::Cow;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;
use socket2::{Domain, Socket, Type};

use super::Result;

/// First id. They have one length each, so that all requests of a kind have.
pub const NUMBER: u64 = 1_000_000;

/// Placeholder of the id in a template.
const PLACE: &str = "@@@@@@@";

const MESSAGE: &str = "Pack my box with five dozen jugs. P";

/// For whatever the server has to do, under valgrind too.
const PATIENCE: Duration = Duration::from_secs(60);

const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{},"clientInfo":{"name":"load","version":"1.0"}}}"#,
);
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const META: &str = concat!(
    r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientCapabilities":{},"#,
    r#""io.modelcontextprotocol/clientInfo":{"name":"load","version":"1.0"}"#,
);

#[derive(Clone, Copy, PartialEq)]
pub enum Era {
    /// Legacy, in a session.
    Session,
    /// Legacy, of servers that have no sessions.
    Stateless,
    Modern,
}

impl FromStr for Era {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        match name {
            "session" => Ok(Self::Session),
            "stateless" => Ok(Self::Stateless),
            "modern" => Ok(Self::Modern),
            _ => Err(format!("no such era: {name}")),
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
pub enum Call {
    Echo,
    /// Of a server that has one answer for all: its id is not looked at.
    Fixed,
    /// Of the tool that reports progress once before it answers.
    Report,
    /// Of the tool that publishes a change of the list of tools.
    Publish,
    /// Of the tool that never answers.
    Wait,
}

impl Call {
    fn tool(self) -> &'static str {
        match self {
            Self::Echo | Self::Fixed => "echo",
            Self::Report => "report",
            Self::Publish => "publish",
            Self::Wait => "wait",
        }
    }
}

impl FromStr for Call {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        match name {
            "echo" => Ok(Self::Echo),
            "fixed" => Ok(Self::Fixed),
            "report" => Ok(Self::Report),
            _ => Err(format!("no such call: {name}")),
        }
    }
}

pub struct Client {
    socket: TcpStream,
    address: String,
    era: Era,
    session: Option<String>,
}

impl Client {
    /// A legacy client that has sent nothing.
    pub fn connect(address: &str) -> Result<Self> {
        Self::with(TcpStream::connect(address)?, address)
    }

    /// The same from a loopback address of its own: `host` chooses it.
    pub fn connect_from(host: u16, address: &str) -> Result<Self> {
        let [high, low] = host.to_be_bytes();
        let own = SocketAddr::from(([127, 1, high, low], 0));
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.bind(&own.into())?;
        socket.connect(&address.parse::<SocketAddr>()?.into())?;
        Self::with(socket.into(), address)
    }

    fn with(socket: TcpStream, address: &str) -> Result<Self> {
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { socket, address: address.to_owned(), era: Era::Session, session: None })
    }

    /// A client that may call.
    pub fn open(address: &str, era: Era) -> Result<Self> {
        let mut client = Self { era, ..Self::connect(address)? };
        if era == Era::Session {
            client.open_session()?;
        }
        Ok(client)
    }

    /// The same from a loopback address of its own.
    pub fn open_from(host: u16, address: &str, era: Era) -> Result<Self> {
        Ok(Self { era, ..Self::connect_from(host, address)? })
    }

    /// Goes on in a session of its own; the last one stays open.
    pub fn open_session(&mut self) -> Result<()> {
        self.session = None;
        let answer = self.exchange(&self.post("", INITIALIZE))?;
        self.session = Some(answer.session.ok_or("no session")?);
        let accepted = self.exchange(&self.post(&self.version_header(), INITIALIZED))?;
        if accepted.status == 202 { Ok(()) } else { Err("initialized is not accepted".into()) }
    }

    /// Another client on the same connection, in a session of its own.
    pub fn join_connection(&self) -> Result<Self> {
        let mut client = Self::with(self.socket.try_clone()?, &self.address)?;
        client.open_session()?;
        Ok(client)
    }

    /// Another connection of the same session.
    pub fn join_session(&self) -> Result<Self> {
        let (era, session) = (self.era, self.session.clone());
        Ok(Self { era, session, ..Self::connect(&self.address)? })
    }

    /// Sends the call without waiting for an answer.
    pub fn start(&mut self, call: Call, id: u64) -> Result<()> {
        let request = self.template(call).replace(PLACE, &id.to_string());
        Ok(self.socket.write_all(request.as_bytes())?)
    }

    /// Opens a stream of changes of the list of tools, on this connection, as a modern client.
    pub fn listen(&mut self) -> Result<()> {
        let headers = format!("{}Mcp-Method: subscriptions/listen\r\n", self.version_header());
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"subscriptions/listen","params":{{"_meta":{{{META}}},"notifications":{{"toolsListChanged":true}}}}}}"#,
        );
        self.socket.write_all(&self.post(&headers, &body))?;
        self.read_past("notifications/subscriptions/acknowledged")
    }

    /// Reads the next change of a stream that `listen` has opened.
    pub fn hear(&mut self) -> Result<()> {
        self.read_past("notifications/tools/list_changed")
    }

    /// Reads until an event has come whose text has `part`.
    fn read_past(&mut self, part: &str) -> Result<()> {
        let (mut read, mut chunk) = (Vec::new(), [0; 4 * 1024]);
        loop {
            let count = self.socket.read(&mut chunk)?;
            if count == 0 {
                return Err("the server closed the stream".into());
            }
            read.extend_from_slice(&chunk[..count]);
            let is_there = memchr::memmem::find(&read, part.as_bytes()).is_some();
            if is_there && read.ends_with(b"\n\r\n") {
                return Ok(());
            }
        }
    }

    /// Makes the call and checks the answer.
    pub fn call(&mut self, call: Call, id: u64) -> Result<()> {
        let answer =
            self.exchange(self.template(call).replace(PLACE, &id.to_string()).as_bytes())?;
        if answer.status != 200 {
            return Err(format!("status {}: {}", answer.status, answer.text()).into());
        }
        let (last, before) = answer.messages.split_last().ok_or("no answer")?;
        if before.len() != usize::from(call == Call::Report) {
            return Err(format!("{} messages before the answer", before.len()).into());
        }
        let reply: Reply = serde_json::from_slice(last)?;
        let is_its = call == Call::Fixed || reply.id == id;
        if is_its && matches!(&reply.result.content[..], [content] if content.text == MESSAGE) {
            return Ok(());
        }
        Err(format!("no answer to {id}: {}", answer.text()).into())
    }

    /// A call, with a place for its id.
    pub fn template(&self, call: Call) -> String {
        let tool = call.tool();
        let mut meta = Vec::new();
        if self.era == Era::Modern {
            meta.push(META.to_owned());
        }
        if call == Call::Report {
            meta.push(format!(r#""progressToken":{PLACE}"#));
        }
        let meta = match &meta[..] {
            [] => String::new(),
            members => format!(r#""_meta":{{{}}},"#, members.join(",")),
        };
        let arguments = format!(r#""name":"{tool}","arguments":{{"message":"{MESSAGE}"}}"#);
        let mut headers = self.version_header();
        if self.era == Era::Modern {
            headers.push_str(&format!("Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"));
        }
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{PLACE},"method":"tools/call","params":{{{meta}{arguments}}}}}"#,
        );
        String::from_utf8_lossy(&self.post(&headers, &body)).into_owned()
    }

    fn version_header(&self) -> String {
        let version = if self.era == Era::Modern { "2026-07-28" } else { "2025-11-25" };
        format!("MCP-Protocol-Version: {version}\r\n")
    }

    fn post(&self, headers: &str, body: &str) -> Vec<u8> {
        let mut request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nUser-Agent: load/1.0\r\n\
             Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n\
             {headers}",
            self.address,
        );
        if let Some(session) = &self.session {
            request.push_str(&format!("Mcp-Session-Id: {session}\r\n"));
        }
        request.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        request.into_bytes()
    }

    fn exchange(&mut self, request: &[u8]) -> Result<Answer> {
        self.socket.write_all(request)?;
        let (mut read, mut chunk) = (Vec::new(), [0; 16 * 1024]);
        loop {
            let count = self.socket.read(&mut chunk)?;
            if count == 0 {
                return Err("the server closed the connection".into());
            }
            read.extend_from_slice(&chunk[..count]);
            if let Some(answer) = Answer::parse(&read)? {
                return Ok(answer);
            }
        }
    }
}

struct Answer {
    status: u16,
    session: Option<String>,
    /// The body if it is JSON, or the data of its events.
    messages: Vec<Vec<u8>>,
}

impl Answer {
    /// `None` until all of it has come.
    fn parse(read: &[u8]) -> Result<Option<Self>> {
        let mut headers = [httparse::EMPTY_HEADER; 32];
        let mut response = httparse::Response::new(&mut headers);
        let httparse::Status::Complete(head) = response.parse(read)? else { return Ok(None) };
        let header = |name: &str| -> Option<&str> {
            let mut headers = response.headers.iter();
            let found = headers.find(|header| header.name.eq_ignore_ascii_case(name))?;
            str::from_utf8(found.value).ok()
        };
        let body = if header("transfer-encoding") == Some("chunked") {
            unchunk(&read[head..])?
        } else {
            let length = header("content-length").unwrap_or("0").parse::<usize>()?;
            read[head..].get(..length).map(<[u8]>::to_vec)
        };
        let Some(body) = body else { return Ok(None) };
        let messages = match header("content-type") {
            Some("text/event-stream") => events(&body),
            _ => Vec::from([body]),
        };
        let status = response.code.ok_or("no status")?;
        Ok(Some(Self { status, session: header("mcp-session-id").map(str::to_owned), messages }))
    }

    fn text(&self) -> Cow<'_, str> {
        self.messages.last().map_or("".into(), |message| String::from_utf8_lossy(message))
    }
}

/// Content of the chunks, once the last has come.
fn unchunk(mut read: &[u8]) -> Result<Option<Vec<u8>>> {
    let mut body = Vec::new();
    loop {
        let httparse::Status::Complete((start, length)) =
            httparse::parse_chunk_size(read).map_err(|_| "no size of a chunk")?
        else {
            return Ok(None);
        };
        let end = start + usize::try_from(length)?;
        let Some(chunk) = read.get(start..end) else { return Ok(None) };
        let Some(rest) = read.get(end + 2..) else { return Ok(None) };
        if chunk.is_empty() {
            return Ok(Some(body));
        }
        body.extend_from_slice(chunk);
        read = rest;
    }
}

/// Their data. One without data names an id to come back to.
fn events(body: &[u8]) -> Vec<Vec<u8>> {
    body.split(|byte| *byte == b'\n')
        .filter_map(|line| line.strip_prefix(b"data:"))
        .map(|data| data.trim_ascii().to_vec())
        .filter(|data| !data.is_empty())
        .collect()
}

#[derive(Deserialize)]
struct Reply<'a> {
    id: u64,
    #[serde(borrow)]
    result: CallResult<'a>,
}

#[derive(Deserialize)]
struct CallResult<'a> {
    #[serde(borrow)]
    content: Vec<Content<'a>>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}
