//! Rows of a conversation, from the lines that [`Client::on_wire`](mcp_tokio::Client::on_wire) and
//! [`Bridge::on_wire`](mcp_tokio::Bridge::on_wire) see.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// The lines of a conversation.
#[derive(Clone, Default)]
pub(super) struct Wire(Arc<(Mutex<Vec<String>>, Notify)>);

/// The lines that each side sends: first the client, then whoever answers.
pub(super) type Row = Vec<Vec<String>>;

/// Sides of a conversation without a bridge, and with one.
pub(super) const TWO: &[&str] = &["client", "server"];
pub(super) const THREE: &[&str] = &["modern client", "bridge", "legacy server"];

impl Wire {
    /// The function that writes down the lines of a client.
    pub(super) fn tap(&self) -> impl Fn(&str) + Send + Sync + 'static {
        let wire = self.clone();
        move |line| wire.push(line.into())
    }

    /// The function that writes down the lines between a bridge and its server.
    pub(super) fn upstream_tap(&self) -> impl Fn(&str) + Send + Sync + 'static {
        let wire = self.clone();
        move |line| wire.push(format!("{UPSTREAM}{line}"))
    }

    fn push(&self, line: String) {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        self.0.1.notify_waiters();
    }

    /// Waits until there is a stream on which the server can tell something.
    pub(super) async fn stream(&self) {
        let head = "< Content-Type: text/event-stream";
        self.until(|lines| lines.iter().any(|line| line.ends_with(head))).await;
    }

    /// Waits until every request of HTTP has at least the head of its answer.
    pub(super) async fn answers(&self) {
        self.until(|lines| {
            let requests = lines.iter().filter(|line| line.ends_with(" HTTP/1.1")).count();
            let heads = lines.iter().filter(|line| line.contains("< HTTP/1.1 ")).count();
            requests == heads
        })
        .await;
    }

    async fn until(&self, is_so: impl Fn(&[String]) -> bool) {
        loop {
            let another = self.0.1.notified();
            if is_so(&self.lines()) {
                return;
            }
            another.await;
        }
    }

    /// The conversation so far.
    pub(super) fn rows(&self) -> Vec<Row> {
        let lines = self.lines();
        if lines.iter().any(|line| line.starts_with(UPSTREAM)) {
            return bridged_rows(lines);
        }
        let mut rows = Rows::default();
        for line in lines {
            let Some((mark, text)) = line.split_once(' ') else { continue };
            match (mark, mark.strip_suffix('>'), mark.strip_suffix('<')) {
                ("C>", ..) => rows.client("", text),
                ("S>", ..) => rows.server("", text, false),
                (_, Some(connection), _) => rows.request(connection, text),
                (_, _, Some(connection)) => rows.response(connection, text),
                // Times, and what happens; the decisions say more.
                _ => {}
            }
        }
        rows.rows
    }

    fn lines(&self) -> Vec<String> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The rows of a conversation with a bridge between the two: `→` is for the server, `←` for the
/// client.
fn bridged_rows(lines: Vec<String>) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for line in lines {
        let Some((mark, text)) = line.split_once(' ') else { continue };
        let (column, text) = match mark {
            "C>" => (0, text.to_owned()),
            "bridge:C>" => (1, format!("→ {text}")),
            "S>" => (1, format!("← {text}")),
            "bridge:S>" => (2, text.to_owned()),
            _ => continue,
        };
        // It stands beside what it follows, unless something stands there.
        let is_taken = |row: &Row| row.iter().skip(column).any(|cell| !cell.is_empty());
        if rows.last().is_none_or(is_taken) {
            rows.push(vec![Vec::new(); THREE.len()]);
        }
        if let Some(cell) = rows.last_mut().and_then(|row| row.get_mut(column)) {
            cell.push(text);
        }
    }
    rows
}

/// The beginning of a line between a bridge and its server.
const UPSTREAM: &str = "bridge:";

#[derive(Default)]
struct Rows {
    rows: Vec<Row>,
    /// Where the request of a connection stands, and later on its answer.
    places: BTreeMap<String, usize>,
}

impl Rows {
    /// The client begins to say something.
    fn client(&mut self, connection: &str, text: &str) {
        self.places.insert(connection.into(), self.rows.len());
        self.rows.push(vec![vec![text.into()], Vec::new()]);
    }

    /// The server says something: beside what it answers if that stands last or if the two `belong`
    /// together, else below all that was said.
    fn server(&mut self, connection: &str, text: &str, belong: bool) {
        let place = self.places.entry(connection.into()).or_default();
        if *place + 1 < self.rows.len() && !belong {
            *place = self.rows.len();
            self.rows.push(vec![Vec::new(); TWO.len()]);
        }
        if let Some([_, server]) = self.rows.get_mut(*place).map(Vec::as_mut_slice) {
            server.push(text.into());
        }
    }

    /// A line of a request.
    fn request(&mut self, connection: &str, text: &str) {
        if let Some(start) = text.strip_suffix(" HTTP/1.1") {
            self.client(connection, start);
        } else if matters(text)
            && let Some(place) = self.places.get(connection)
            && let Some([client, _]) = self.rows.get_mut(*place).map(Vec::as_mut_slice)
        {
            client.push(text.into());
        }
    }

    /// A line of a response. A head stands beside its request, whenever it comes.
    fn response(&mut self, connection: &str, text: &str) {
        if let Some(status) = text.strip_prefix("HTTP/1.1 ") {
            self.server(connection, status, true);
        } else if matters(text) {
            self.server(connection, text, !is_message(text));
        }
    }
}

fn is_message(text: &str) -> bool {
    text.starts_with('{') || text.starts_with("data: {")
}

/// Returns whether a line below the first one is of interest: a message, or a field that has to do
/// with MCP.
fn matters(text: &str) -> bool {
    let is_field = text.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("mcp-"));
    is_message(text) || is_field || text == "Content-Type: text/event-stream"
}
