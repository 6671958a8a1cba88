//! Outages of a server whose task is followed.
//!
//! In: the lines of a conversation over HTTP, as [`Client::on_wire`] reports them. Out: a note
//! about the first poll that fails, and one about the next answer.
//!
//! [`Client::on_wire`]: mcp_tokio::Client::on_wire

/// State of the server, by the answers to polls.
#[derive(Default)]
pub(crate) struct Outage {
    /// True once there was a poll: earlier failures are those of the command.
    polls: bool,
    is_down: bool,
}

impl Outage {
    /// Reads a line of the conversation. Returns a note to show.
    pub(crate) fn read(&mut self, line: &str) -> Option<String> {
        let (mark, text) = line.split_once(' ')?;
        if mark == "!" {
            return self.begin(text.strip_prefix("failed: ")?);
        }
        if mark.ends_with('>') {
            self.polls |= text.contains(r#""method":"tasks/get""#);
            return None;
        }
        let (_, status) =
            text.split_once(' ').filter(|(version, _)| version.starts_with("HTTP/"))?;
        match status.split(' ').next()?.parse().ok()? {
            200..300 => self.end(),
            408 | 425 | 429 | 500.. => self.begin(&format!("HTTP status {status}")),
            _ => None,
        }
    }

    fn begin(&mut self, reason: &str) -> Option<String> {
        let is_first = self.polls && !self.is_down;
        self.is_down |= is_first;
        is_first.then(|| format!("the server does not answer: {reason}; asking again"))
    }

    fn end(&mut self) -> Option<String> {
        let was_down = std::mem::take(&mut self.is_down);
        was_down.then(|| "the server answers again".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outage_has_a_note_at_its_begin_and_one_at_its_end() {
        let mut outage = Outage::default();
        let lines = [
            "! failed: before the first poll",
            "1> POST /mcp HTTP/1.1",
            r#"1> {"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":"t"}}"#,
            "1< HTTP/1.1 200 OK",
            "1< Content-Type: application/json",
            "! failed: refused",
            "@ 2s",
            "! failed: refused",
            "2< HTTP/1.1 503 Service Unavailable",
            "2< HTTP/1.1 200 OK",
            "2< HTTP/1.1 200 OK",
            "2< HTTP/1.1 429 Too Many Requests",
            "2< HTTP/1.1 404 Not Found",
        ];
        let notes: Vec<_> = lines.iter().filter_map(|line| outage.read(line)).collect();
        let expected = [
            "the server does not answer: refused; asking again",
            "the server answers again",
            "the server does not answer: HTTP status 429 Too Many Requests; asking again",
        ];
        assert_eq!(notes, expected);
    }
}
