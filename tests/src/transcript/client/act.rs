//! Acts on a client: the `!` lines.

use mcp_proto::client::{CallOptions, Listing};
use mcp_proto::types::{ClientCapabilities, LoggingLevel, Root, SubscriptionFilter};
use mcp_proto::{ErrorCode, ErrorData, Json};

use super::super::parse::Result;
use super::super::settings::{duration, json};
use super::settings::decode;

/// Act on a client. Most acts have a name that outputs use. Most of it bears a name that outputs
/// use.
#[derive(Clone, PartialEq, Debug)]
pub(in super::super) enum Act {
    Open,
    Call { name: String, method: String, params: Json, options: CallOptions },
    Start { name: String, params: Json, options: CallOptions },
    Follow { name: String, task_id: String, options: CallOptions },
    Detach(String),
    List { name: String, listing: Listing, options: CallOptions },
    Ping { name: String, options: CallOptions },
    Level { name: String, level: LoggingLevel },
    Cancel(String),
    Answer { input: String, answer: std::result::Result<Json, ErrorData> },
    Subscribe { name: String, filter: SubscriptionFilter },
    Unsubscribe(String),
    Roots(Vec<Root>),
    Capabilities(ClientCapabilities),
    Notify { method: String, params: Json },
    Store,
    Close,
}

/// Reads the act of a `!` line; `None` if it is a report of the client.
pub(in super::super) fn act(event: &str) -> Result<Option<Act>> {
    let (verb, all) = event.split_once(' ').unwrap_or((event, ""));
    let (first, rest) = all.split_once(' ').unwrap_or((all, ""));
    let name = first.to_owned();
    let act = match verb {
        "connected" | "disconnected:" | "reopen" | "responded" | "failed" | "progressed"
        | "task" | "asked" | "ask-cancelled" | "logged" | "subscribed" | "changed" | "ended"
        | "completed" | "notified" | "tool-rejected" | "unauthorized" | "unauthorized:"
        | "no-stream:" | "undelivered" | "undelivered:" | "peer-fault" | "refused" | "stored"
        | "closed" | "closed:" => {
            return Ok(None);
        }
        "open" => Act::Open,
        "call" | "start" | "follow" | "detach" | "list" | "ping" | "level" | "cancel"
        | "answer" | "refuse" | "subscribe" | "unsubscribe" | "notify"
            if name.is_empty() =>
        {
            return Err(format!("`{verb}` needs a name"));
        }
        "call" => {
            let (method, rest) = rest.split_once(' ').unwrap_or((rest, ""));
            let (params, rest) = params(rest)?;
            Act::Call { name, method: method.into(), params, options: options(rest)? }
        }
        "start" => {
            let (params, rest) = params(rest)?;
            Act::Start { name, params, options: options(rest)? }
        }
        "follow" => {
            let (id, rest) = rest.split_once(' ').unwrap_or((rest, ""));
            Act::Follow { name, task_id: id.into(), options: options(rest)? }
        }
        "detach" => Act::Detach(name),
        "list" => {
            let (list, rest) = rest.split_once(' ').unwrap_or((rest, ""));
            Act::List { name, listing: listing(list)?, options: options(rest)? }
        }
        "ping" => Act::Ping { name, options: options(rest)? },
        "level" => Act::Level { name, level: level(rest)? },
        "cancel" => Act::Cancel(name),
        "answer" => Act::Answer { input: name, answer: Ok(json(rest)?) },
        "refuse" => {
            let code = rest.parse().map_err(|_| format!("`{rest}` is not a code"))?;
            Act::Answer { input: name, answer: Err(ErrorData::new(ErrorCode(code), "refused")) }
        }
        "subscribe" => Act::Subscribe { name, filter: decode(&json(rest)?)? },
        "unsubscribe" => Act::Unsubscribe(name),
        "roots" => Act::Roots(all.split_whitespace().map(Root::new).collect()),
        "capabilities" => Act::Capabilities(decode(&json(all)?)?),
        "notify" => Act::Notify { method: name, params: params(rest)?.0 },
        "store" => Act::Store,
        "close" => Act::Close,
        _ => return Err(format!("no event `{verb}` of a client")),
    };
    Ok(Some(act))
}

/// The JSON at the beginning, `{}` if there is none, and what follows it.
fn params(text: &str) -> Result<(Json, &str)> {
    if !text.starts_with(['{', '[', '"']) {
        return Ok((Json::EMPTY_OBJECT, text));
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Json>();
    let first = values.next().unwrap_or(Ok(Json::EMPTY_OBJECT));
    let rest = text.get(values.byte_offset()..).unwrap_or_default();
    Ok((first.map_err(|error| error.to_string())?, rest))
}

fn options(text: &str) -> Result<CallOptions> {
    let mut options = CallOptions::default();
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("`{word}` needs a value"));
        options = match word {
            "progress" => options.progress(),
            "no-reset" => options.reset_on_progress(false),
            "timeout" => options.timeout(duration(value()?)?),
            "max-total" => options.max_total(duration(value()?)?),
            "level" => options.log_level(level(value()?)?),
            _ => return Err(format!("no option `{word}`")),
        };
    }
    Ok(options)
}

fn listing(name: &str) -> Result<Listing> {
    Ok(match name {
        "tools" => Listing::Tools,
        "prompts" => Listing::Prompts,
        "resources" => Listing::Resources,
        "templates" => Listing::ResourceTemplates,
        _ => return Err(format!("no list `{name}`")),
    })
}

fn level(name: &str) -> Result<LoggingLevel> {
    LoggingLevel::from_name(name).ok_or_else(|| format!("no level `{name}`"))
}

#[cfg(test)]
mod tests {
    use super::super::super::Transcript;

    fn error(text: &str) -> String {
        Transcript::parse("x.mcp", &format!("# x\n= role client\n{text}")).unwrap_err().to_string()
    }

    #[test]
    fn errors_say_where_and_what() {
        for (text, expected) in [
            ("hello\n", "x.mcp:3: a line begins with one of: # = S> S* C> @ !"),
            ("C> {}\n", "x.mcp:3: an output needs an input before it"),
            ("! responded a {}\n", "x.mcp:3: an output needs an input before it"),
            ("= role client\n", "x.mcp:3: the role stands before the other settings"),
            ("= negotiation old\n", "x.mcp:3: no version `old`"),
            ("= era auto\n", "x.mcp:3: no setting `era` of a client"),
            ("! release a\n", "x.mcp:3: no event `release` of a client"),
            ("! call\n", "x.mcp:3: `call` needs a name"),
            ("! call a tools/call {} quickly\n", "x.mcp:3: no option `quickly`"),
            ("! call a tools/call timeout\n", "x.mcp:3: `timeout` needs a value"),
            ("! list a notes\n", "x.mcp:3: no list `notes`"),
            ("! level a loud\n", "x.mcp:3: no level `loud`"),
            ("! refuse i1 no\n", "x.mcp:3: `no` is not a code"),
        ] {
            assert_eq!(error(text), expected);
        }
    }
}
