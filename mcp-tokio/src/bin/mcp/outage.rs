//! Outages of a server whose task is followed.
//!
//! In: the lines of a conversation over HTTP, as [`Client::on_wire`] reports them. Out: a note
//! about the first request about the task that fails, and one about the next answer. If there is no
//! answer, the note comes with the next request. Failures of other exchanges do not count, unless
//! such a request is pending.
//!
//! [`Client::on_wire`]: mcp_tokio::Client::on_wire

use std::mem;

/// State of the server, by the answers to requests about the task.
#[derive(Default)]
pub(crate) struct Outage {
    /// True while a request about the task has no answer.
    is_pending: bool,
    is_down: bool,
}

impl Outage {
    /// Reads a line of the conversation. Returns a note to show.
    pub(crate) fn read(&mut self, line: &str) -> Option<String> {
        let (mark, text) = line.split_once(' ')?;
        if mark == "!" {
            return self.fail(text.strip_prefix("failed: ")?);
        }
        if mark.ends_with('>') {
            return self.send(text);
        }
        let (_, status) =
            text.split_once(' ').filter(|(version, _)| version.starts_with("HTTP/"))?;
        match status.split(' ').next()?.parse().ok()? {
            200..300 => self.succeed(),
            408 | 425 | 429 | 500.. => self.fail(&format!("HTTP status {status}")),
            _ => {
                self.is_pending = false;
                None
            }
        }
    }

    fn send(&mut self, text: &str) -> Option<String> {
        let methods = [r#""method":"tasks/get""#, r#""method":"tasks/update""#];
        if !methods.iter().any(|method| text.contains(method)) {
            return None;
        }
        let note = self.fail("no answer in time");
        self.is_pending = true;
        note
    }

    fn fail(&mut self, reason: &str) -> Option<String> {
        let is_first = mem::take(&mut self.is_pending) && !self.is_down;
        self.is_down |= is_first;
        is_first.then(|| format!("the server does not answer: {reason}; asking again"))
    }

    fn succeed(&mut self) -> Option<String> {
        self.is_pending = false;
        mem::take(&mut self.is_down).then(|| "the server answers again".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLL: &str =
        r#"9> {"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":"t"}}"#;

    fn notes(lines: &[&str]) -> Vec<String> {
        let mut outage = Outage::default();
        lines.iter().filter_map(|line| outage.read(line)).collect()
    }

    #[test]
    fn outage_has_a_note_at_its_begin_and_one_at_its_end() {
        let lines = [
            "! failed: before the first poll",
            "1> POST /mcp HTTP/1.1",
            POLL,
            "1< HTTP/1.1 200 OK",
            "1< Content-Type: application/json",
            POLL,
            "! failed: refused",
            "@ 2s",
            POLL,
            "! failed: refused",
            POLL,
            "2< HTTP/1.1 503 Service Unavailable",
            POLL,
            "2< HTTP/1.1 200 OK",
            "2< HTTP/1.1 200 OK",
            POLL,
            "2< HTTP/1.1 429 Too Many Requests",
            "2< HTTP/1.1 404 Not Found",
        ];
        let expected = [
            "the server does not answer: refused; asking again",
            "the server answers again",
            "the server does not answer: HTTP status 429 Too Many Requests; asking again",
        ];
        assert_eq!(notes(&lines), expected);
    }

    #[test]
    fn poll_without_an_answer_is_noted_at_the_next_poll() {
        let lines = [POLL, "@ 60s", POLL, "@ 60s", POLL, "3< HTTP/1.1 200 OK", POLL];
        let expected = [
            "the server does not answer: no answer in time; asking again",
            "the server answers again",
        ];
        assert_eq!(notes(&lines), expected);
    }

    #[test]
    fn poll_that_is_sent_again_with_another_token_is_no_outage() {
        let lines = [POLL, "1< HTTP/1.1 401 Unauthorized", "! failed: other", POLL];
        assert_eq!(notes(&lines), [""; 0]);
    }
}
