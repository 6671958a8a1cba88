//! A client that knows how HTTP looks on a socket, and no more.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use super::server::TOO_LONG;

const MODERN: &str = "2026-07-28";

/// A client on one connection.
#[derive(Debug)]
pub struct Client {
    socket: BufReader<TcpStream>,
    /// Sent with each request.
    session: Option<String>,
    /// A bearer token, sent with each request.
    pub token: Option<String>,
    /// The id of the last request.
    id: u32,
}

/// A response: its status, its fields by names in lower case, and its body if it has a length.
#[derive(Debug)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The fields, by names in lower case.
    pub fields: BTreeMap<String, String>,
    /// The body; empty for a stream, whose events are to be taken.
    pub body: String,
}

impl Client {
    /// A client that has sent nothing yet.
    pub fn connect(address: SocketAddr) -> io::Result<Self> {
        let socket = TcpStream::connect(address)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(TOO_LONG))?;
        Ok(Self { socket: BufReader::new(socket), session: None, token: None, id: 1 })
    }

    /// Opens a legacy session; requests from here on are in it.
    pub fn initialize(&mut self) -> Result<(), Box<dyn Error>> {
        let client = json!({"name": "suite", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        let response = self.ask(&[], &request(1, "initialize", &params))?;
        self.session = Some(response.field("mcp-session-id")?.to_owned());
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        response.expect(200)?;
        self.ask(&[], &initialized)?.expect(202)
    }

    /// Another one in the same session, on a connection of its own.
    pub fn again(&self) -> io::Result<Self> {
        let other = Self::connect(self.socket.get_ref().peer_addr()?)?;
        let token = self.token.clone();
        Ok(Self { session: self.session.clone(), token, id: self.id.saturating_add(100), ..other })
    }

    /// Calls a tool in the session, or else as a modern client.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> io::Result<()> {
        self.request("tools/call", Some(tool), &json!({"name": tool, "arguments": arguments}))
    }

    /// Sends a request in the session, or else one of a modern client.
    pub fn request(&mut self, method: &str, name: Option<&str>, params: &Value) -> io::Result<()> {
        let mut params = params.clone();
        let mut fields = vec![("Mcp-Method", method)];
        if self.session.is_none() {
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            let members = params.as_object_mut();
            members.map(|members| members.insert("_meta".to_owned(), meta));
            fields.push(("MCP-Protocol-Version", MODERN));
            fields.extend(name.map(|name| ("Mcp-Name", name)));
        }
        self.id += 1;
        self.post(&fields, &request(self.id, method, &params))
    }

    /// Sends a message and reads the whole response.
    pub fn ask(
        &mut self,
        fields: &[(&str, &str)],
        body: &Value,
    ) -> Result<Response, Box<dyn Error>> {
        self.post(fields, body)?;
        self.response()
    }

    /// Sends a message.
    pub fn post(&mut self, fields: &[(&str, &str)], body: &Value) -> io::Result<()> {
        let body = body.to_string();
        let length = body.len().to_string();
        let mut fields = fields.to_vec();
        fields.extend([("Content-Type", "application/json"), ("Content-Length", &length)]);
        self.send("POST", &fields, &body)
    }

    /// Sends a request of any kind.
    pub fn send(&mut self, method: &str, fields: &[(&str, &str)], body: &str) -> io::Result<()> {
        let mut text = format!("{method} /mcp HTTP/1.1\r\n");
        let accept = ("Accept", "application/json, text/event-stream");
        if !fields.iter().any(|(name, _)| *name == "Host") {
            text.push_str("Host: localhost\r\n");
        }
        for (name, value) in fields.iter().chain([&accept]) {
            text.extend([*name, ": ", *value, "\r\n"]);
        }
        if let Some(session) = &self.session {
            text.extend(["Mcp-Session-Id: ", session, "\r\n"]);
        }
        if let Some(token) = &self.token {
            text.extend(["Authorization: Bearer ", token, "\r\n"]);
        }
        self.raw(&format!("{text}\r\n{body}"))
    }

    /// Sends just this.
    pub fn raw(&mut self, text: &str) -> io::Result<()> {
        self.socket.get_mut().write_all(text.as_bytes())
    }

    /// Reads the head of a response, and its body if it has a length.
    pub fn response(&mut self) -> Result<Response, Box<dyn Error>> {
        let line = self.line()?;
        let status = line.split(' ').nth(1).ok_or("no status")?.parse()?;
        let mut fields = BTreeMap::new();
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(": ") else { break };
            fields.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        let length = fields.get("content-length").map_or(Ok(0), |length| length.parse())?;
        let mut body = vec![0; length];
        self.socket.read_exact(&mut body)?;
        Ok(Response { status, fields, body: String::from_utf8(body)? })
    }

    /// The data of the next event of a stream; nothing at its end. What else is in chunks has no
    /// line that begins so.
    pub fn event(&mut self) -> Result<Option<String>, Box<dyn Error>> {
        loop {
            let line = self.line()?;
            if line == "0" {
                self.line()?;
                return Ok(None);
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return Ok(Some(data.to_owned()));
            }
        }
    }

    /// Returns whether the connection is closed; data before the end is dropped.
    pub fn is_closed(&mut self) -> io::Result<bool> {
        match self.socket.read_to_end(&mut Vec::new()) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Returns whether no data comes for a while.
    pub fn is_silent(&mut self) -> io::Result<bool> {
        self.socket.get_ref().set_read_timeout(Some(Duration::from_millis(100)))?;
        let silent = self.socket.fill_buf().is_err();
        self.socket.get_ref().set_read_timeout(Some(TOO_LONG))?;
        Ok(silent)
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        match self.socket.read_line(&mut line)? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(line.trim_end().to_owned()),
        }
    }
}

impl Response {
    /// The value of a field.
    pub fn field(&self, name: &str) -> Result<&str, Box<dyn Error>> {
        Ok(self.fields.get(name).ok_or_else(|| format!("no {name} in {self:?}"))?)
    }

    /// The status is this.
    pub fn expect(&self, status: u16) -> Result<(), Box<dyn Error>> {
        if self.status == status { Ok(()) } else { Err(format!("not {status}: {self:?}").into()) }
    }

    /// The text that a tool has answered.
    pub fn text(&self) -> Result<String, Box<dyn Error>> {
        self.expect(200)?;
        text(&self.body)
    }
}

/// The text in the answer of a tool.
pub(super) fn text(answer: &str) -> Result<String, Box<dyn Error>> {
    let answer: Value = serde_json::from_str(answer)?;
    let text = answer.pointer("/result/content/0/text").and_then(Value::as_str);
    Ok(text.ok_or_else(|| format!("no text in {answer}"))?.to_owned())
}

/// A request.
fn request(id: u32, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}
