//! Lines of a transcript of a client over HTTP.

use super::super::client;
use super::super::parse::{Result, bytes};
use super::super::value::Input;
use super::settings::field;

/// Part of the answer to one request.
#[derive(Clone, PartialEq, Debug)]
pub(in super::super) struct Answer {
    pub(in super::super) exchange: usize,
    pub(in super::super) parts: Vec<Part>,
}

/// Some of what comes back.
#[derive(Clone, PartialEq, Debug)]
pub(in super::super) enum Part {
    Status(u16, Option<String>),
    Field(String, String),
    Body(Vec<u8>),
    /// The rest is yet to come.
    More,
    End,
    CutOff,
}

/// Reads a line of an answer; `None` if it is a line of the client.
pub(in super::super) fn came(mark: &str, line: &str) -> Result<Option<Answer>> {
    let (number, direction) = mark.split_at(mark.len().saturating_sub(1));
    let exchange = number.parse().map_err(|_| format!("`{number}` is not a request"))?;
    match direction {
        ">" => Ok(None),
        "<" => Ok(Some(Answer { exchange, parts: vec![part(line)?] })),
        _ => Err("what comes back stands behind `<`".into()),
    }
}

fn part(line: &str) -> Result<Part> {
    let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
    Ok(match line {
        "..." => Part::More,
        "end" => Part::End,
        "cut off" => Part::CutOff,
        ":" => Part::Body(b":\n\n".into()),
        _ if line.starts_with(['{', '[']) => Part::Body(line.into()),
        _ if line.starts_with('"') => Part::Body(bytes(line)?),
        _ if first == "retry:" => Part::Body(format!("retry: {rest}\n\n").into()),
        _ if first == "event" || first == "event:" => Part::Body(event(line)?.into()),
        _ => match first.parse() {
            Ok(status) => Part::Status(status, (!rest.is_empty()).then(|| rest.into())),
            Err(_) => field(line).map(|(name, value)| Part::Field(name, value))?,
        },
    })
}

/// The text of an event.
fn event(line: &str) -> Result<String> {
    let line = line.strip_prefix("event").unwrap_or(line);
    let (id, data) = line.split_once(':').ok_or("an event is an id and its data")?;
    let (id, data) = (id.trim(), data.trim());
    let mut text = String::new();
    if !data.is_empty() {
        text.push_str("event: message\n");
    }
    if !id.is_empty() {
        text.extend(["id: ", id, "\n"]);
    }
    text.extend(["data: ", data, "\n\n"]);
    Ok(text)
}

/// Reads the input of a `!` line; `None` if it is a report of the client.
pub(in super::super) fn input(event: &str) -> Result<Option<Input>> {
    if event == "finished" {
        return Ok(None);
    }
    if let Some(given) = event.strip_prefix("field ") {
        let (name, value) = field(given)?;
        return Ok(Some(Input::Field(name, value)));
    }
    Ok(client::act(event)?.map(Input::Client))
}

#[cfg(test)]
mod tests {
    use super::super::super::Transcript;

    fn error(text: &str) -> String {
        let settings = "= role client\n= transport http\n";
        Transcript::parse("x.mcp", &format!("# x\n{settings}{text}")).unwrap_err().to_string()
    }

    #[test]
    fn errors_say_where_and_what() {
        for (text, expected) in [
            ("hello\n", "x.mcp:4: a line begins with one of: # = 1< 1< 1> @ !"),
            ("1> POST\n", "x.mcp:4: an output needs an input before it"),
            ("! open\n1* \"a\"\n", "x.mcp:5: what comes back stands behind `<`"),
            ("! open\n1< hello\n", "x.mcp:5: a field is a name and a value"),
            ("! open\n1< event\n", "x.mcp:5: an event is an id and its data"),
            ("! eof\n", "x.mcp:4: no event `eof` of a client"),
            ("! field a\n", "x.mcp:4: a field is a name and a value"),
            ("= url ftp://a\n", "x.mcp:4: "),
            ("= random 256\n", "x.mcp:4: `256` is not a byte"),
            ("= transport http\n", "x.mcp:4: the transport stands before the other settings"),
        ] {
            assert!(error(text).starts_with(expected), "{}", error(text));
        }
    }
}
