//! Plays a transcript against a machine, and compares.

use std::fmt::{self, Write as _};

use mcp_proto::Instant;
use mcp_proto::client::Decision;
use std::time::Duration;

use super::chunks::Chunks;
use super::client;
use super::http;
use super::http_client;
use super::player::Player;
use super::value::{Content, Input, Role, Step, Transcript};

/// Beginnings of what the player of an invented conversation does wrong itself: it names what is
/// not there, or uses a name twice.
const MISTAKES: [&str; 3] = ["no ", "there was no ", "a call of this name is held"];

/// Player of one side of a conversation.
pub(super) trait Play {
    /// Output after this input.
    fn step(&mut self, input: &Input) -> Vec<String>;

    /// The clock of the driver.
    fn clock(&mut self) -> &mut Instant;

    /// Decisions of the negotiation, if a client is played.
    fn decisions(&self) -> &[Decision] {
        &[]
    }
}

impl Transcript {
    /// Plays the conversation, with its bytes split in several ways.
    pub fn play(&self) -> Result<(), Failure> {
        for way in Chunks::ways() {
            let actual = self.outputs(way);
            if let Some(difference) = self.difference(&actual) {
                let actual = self.with_outputs(&actual);
                return Err(Failure { name: self.name.clone(), way, difference, actual });
            }
        }
        Ok(())
    }

    /// Plays the conversation on a clock that shows `start` at its beginning.
    pub fn play_from(&self, start: Instant) -> Result<(), Failure> {
        let way = Chunks::Whole;
        let actual = self.outputs_at(way, |step, now| if step == 0 { start } else { now });
        match self.difference(&actual) {
            None => Ok(()),
            Some(difference) => {
                let actual = self.with_outputs(&actual);
                Err(Failure { name: self.name.clone(), way, difference, actual })
            }
        }
    }

    /// Plays the inputs on a clock that `jump` sets before each of them. It gets the number of the
    /// input and the time that the clock shows. Whatever comes out, no law is broken.
    pub fn keeps_laws_in_jumps(
        &self,
        jump: impl FnMut(usize, Instant) -> Instant,
    ) -> Result<(), String> {
        let outputs = self.outputs_at(Chunks::Whole, jump);
        self.find_broken(&outputs)
    }

    fn find_broken(&self, outputs: &[Vec<String>]) -> Result<(), String> {
        // The laws of the wire name a connection, such as `1<`.
        let is_broken = |line: &&String| match line.split_once(" broken: ") {
            Some(("!", law)) => MISTAKES.iter().all(|mistake| !law.starts_with(mistake)),
            Some((from, _)) => from.ends_with(['<', '>']) && !from.contains(' '),
            None => false,
        };
        match outputs.iter().flatten().find(is_broken) {
            Some(broken) => {
                Err(format!("{}: {broken}\n\n{}", self.name, self.with_outputs(outputs)))
            }
            None => Ok(()),
        }
    }

    /// Plays the inputs, with their bytes split in several ways: whatever comes out, no law is
    /// broken, and the same comes out of all.
    pub fn keeps_laws(&self) -> Result<(), String> {
        let first = self.outputs(Chunks::Whole);
        self.find_broken(&first)?;
        match Chunks::ways().find(|way| self.outputs(*way) != first) {
            Some(way) => Err(format!("otherwise {way}:\n\n{}", self.with_outputs(&first))),
            None => Ok(()),
        }
    }

    /// Decisions of the negotiation, if a client is played.
    pub fn decisions(&self) -> Vec<Decision> {
        let Ok(mut player) = self.player(Chunks::Whole) else { return Vec::new() };
        for step in self.steps() {
            player.step(&step.input);
        }
        player.decisions().to_vec()
    }

    /// Outputs of each step.
    fn outputs(&self, way: Chunks) -> Vec<Vec<String>> {
        self.outputs_at(way, |_, now| now)
    }

    /// Outputs of each step, on a clock that `jump` sets before it.
    fn outputs_at(
        &self,
        way: Chunks,
        mut jump: impl FnMut(usize, Instant) -> Instant,
    ) -> Vec<Vec<String>> {
        let steps = self.steps();
        match self.player(way) {
            Ok(mut player) => {
                let play = |(number, step): (usize, &Step)| {
                    let before = *player.clock();
                    let now = jump(number, before);
                    let mut outputs = Vec::new();
                    if now != before {
                        *player.clock() = now;
                        outputs = player.step(&Input::Elapse(Duration::ZERO));
                    }
                    outputs.extend(player.step(&step.input));
                    outputs
                };
                steps.iter().enumerate().map(play).collect()
            }
            Err(error) => vec![vec![format!("! broken: {error}")]; steps.len()],
        }
    }

    fn player(&self, way: Chunks) -> Result<Box<dyn Play>, String> {
        match &self.role {
            Role::Server(settings) => {
                Player::new(settings.clone(), way).map(|player| Box::new(player) as _)
            }
            Role::Client(settings) => Ok(Box::new(client::Player::new(settings, way))),
            Role::Http(settings) => {
                http::Player::new(settings, way).map(|player| Box::new(player) as _)
            }
            Role::HttpClient(settings) => Ok(Box::new(http_client::Player::new(settings, way))),
        }
    }

    fn difference(&self, actual: &[Vec<String>]) -> Option<Difference> {
        for (step, actual) in self.steps().iter().zip(actual) {
            let expected = step.outputs.iter().filter_map(|at| self.lines.get(*at));
            let mut expected = expected.map(|line| (line.number, line.text.trim_end()));
            let mut actual = actual.iter();
            let after = self.lines.get(step.last).map_or(0, |line| line.number);
            loop {
                let (line, expected, actual) = match (expected.next(), actual.next()) {
                    (None, None) => break,
                    (Some((_, expected)), Some(actual)) if expected == actual => continue,
                    (Some((line, expected)), actual) => (line, Some(expected), actual),
                    (None, actual) => (after, None, actual),
                };
                let text = |line: Option<&str>| line.unwrap_or("nothing").to_owned();
                return Some(Difference {
                    line,
                    expected: text(expected),
                    actual: text(actual.map(String::as_str)),
                });
            }
        }
        None
    }

    /// The text with these outputs in place of those that it has.
    fn with_outputs(&self, actual: &[Vec<String>]) -> String {
        let steps = self.steps();
        let mut text = String::new();
        for (at, line) in self.lines.iter().enumerate() {
            if !matches!(line.content, Content::Output) {
                let _ = writeln!(text, "{}", line.text);
            }
            let ended = steps.iter().zip(actual).find(|(step, _)| step.last == at);
            for output in ended.map(|(_, outputs)| outputs).into_iter().flatten() {
                let _ = writeln!(text, "{output}");
            }
        }
        text
    }
}

/// A conversation went otherwise than its transcript says.
#[derive(Clone, Debug)]
pub struct Failure {
    name: String,
    way: Chunks,
    difference: Difference,
    actual: String,
}

#[derive(Clone, Debug)]
struct Difference {
    line: usize,
    expected: String,
    actual: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { line, expected, actual } = &self.difference;
        writeln!(f, "{}:{line}, played {}", self.name, self.way)?;
        writeln!(f, "expected: {expected}")?;
        writeln!(f, "  actual: {actual}")?;
        write!(f, "\nThe actual conversation:\n\n{}", self.actual)
    }
}

impl std::error::Error for Failure {}

/// Output since the last input.
#[derive(Debug)]
pub(super) struct Output {
    /// Prefix of a line that was sent.
    sender: &'static str,
    /// Bytes that were sent, and are not a line yet.
    sent: Vec<u8>,
    lines: Vec<String>,
}

impl Output {
    pub(super) fn new(sender: &'static str) -> Self {
        Self { sender, sent: Vec::new(), lines: Vec::new() }
    }

    pub(super) fn transmit(&mut self, bytes: &[u8]) {
        self.sent.extend_from_slice(bytes);
        while let Some(end) = self.sent.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.sent.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            self.lines.push(format!("{}> {}", self.sender, line.trim_end_matches('\n')));
        }
    }

    pub(super) fn push(&mut self, line: String) {
        self.lines.push(line);
    }

    /// A law does not hold.
    pub(super) fn broken(&mut self, law: &str) {
        self.lines.push(format!("! broken: {law}"));
    }

    /// Takes the lines.
    pub(super) fn take(&mut self) -> Vec<String> {
        if !self.sent.is_empty() {
            self.broken("a message without a newline was sent");
        }
        std::mem::take(&mut self.lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(text: &str) -> String {
        let transcript = Transcript::parse("x.mcp", text).unwrap();
        transcript.play().unwrap_err().to_string()
    }

    #[test]
    fn a_failure_shows_the_difference_and_the_actual_conversation() {
        let text = "# x\n\nC> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\nS> {}\n# y\n! eof\n! closed\n";
        let expected = "x.mcp:4, played with whole batches\n\
            expected: S> {}\n  \
            actual: S> {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n\
            The actual conversation:\n\n\
            # x\n\n\
            C> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\
            S> {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\
            # y\n! eof\n! closed\n";
        assert_eq!(failure(text), expected);
    }

    #[test]
    fn what_is_missing_and_what_is_too_much_are_differences() {
        let missing = failure("# x\n! eof\n! closed\n! closed\n");
        assert!(missing.starts_with("x.mcp:4,"), "{missing}");
        assert!(missing.contains("expected: ! closed\n  actual: nothing\n"), "{missing}");

        let too_much = failure("# x\n! eof\n");
        assert!(too_much.starts_with("x.mcp:2,"), "{too_much}");
        assert!(too_much.contains("expected: nothing\n  actual: ! closed\n"), "{too_much}");
    }

    #[test]
    fn what_cannot_be_done_is_a_difference() {
        let unknown = failure("# x\n! release a\n");
        assert!(unknown.contains("actual: ! broken: no call `a` is held\n"), "{unknown}");
    }
}
