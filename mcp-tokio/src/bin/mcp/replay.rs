//! `mcp replay`: a recorded conversation as a server, and as a test of a server.

use std::collections::VecDeque;
use std::io::{self, BufRead};
use std::path::PathBuf;

use mcp_tokio::{CallError, Client, Json, Negotiation, ProtocolVersion};
use serde_json::{Value, json};

use crate::ask;
use crate::failure::{Exit, Failure};
use crate::message::{Message, decoded, is_same_id};
use crate::more_args::ReplayArgs;
use crate::print::{self, Output};
use crate::recording::{Exchange, Recording};
use crate::session;
use crate::target::Target;

pub(crate) async fn run(mut args: ReplayArgs, output: Output) -> Result<Exit, Failure> {
    let (file, url) = match args.words.as_slice() {
        [file] => (file, None),
        [file, url] => (file, Some(url.to_string_lossy().into_owned())),
        words => {
            let more: Vec<_> = words.iter().skip(2).map(PathBuf::as_path).collect();
            return Err(Failure::usage(format!("a file, a URL, and then {more:?}?")));
        }
    };
    let recording = Recording::read(file)?;
    if url.is_none() && !args.common.names_server() {
        return serve(recording);
    }
    if args.common.era == Negotiation::Auto
        && let Some(version) = recording.version().as_deref().and_then(ProtocolVersion::from_name)
    {
        args.common.era = Negotiation::Pinned(version);
    }
    let target = Target::new(url.as_deref(), &args.common)?;
    if recording.calls().next().is_none() {
        return Err(Failure::usage(format!("{} has no answer to compare", file.display())).advice(
            "only answers after initialize or server/discover are compared, and no subscriptions",
        ));
    }
    let client = session::client(&args.common, &target)?;
    ask::decline(&client);
    let compared =
        session::with(&client, target, async |_| compare(&client, &recording, &args.common).await);
    let (count, differences) = compared.await?;
    if output.is_json() {
        let differences: Vec<_> = differences.iter().map(Difference::document).collect();
        print::document(&json!({ "compared": count, "differences": differences }));
    } else {
        let lines: String = differences.iter().map(Difference::describe).collect();
        print::text(&lines);
        print::text(&format!("{count} answers compared, {} differences", differences.len()));
    }
    Ok(if differences.is_empty() { Exit::Fine } else { Exit::Differs })
}

/// Serves the recording on standard input and output, until the input ends.
fn serve(mut recording: Recording) -> Result<Exit, Failure> {
    let failure = |error: io::Error| Failure::new(Exit::Connection, error);
    // Replies after a request of the server, until the client has answered that request.
    let mut pending: Vec<(Json, VecDeque<Message>)> = Vec::new();
    for line in io::stdin().lock().split(b'\n') {
        if print::has_failed() {
            break;
        }
        let line = line.map_err(failure)?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let message = match Message::parse(&line) {
            Ok(message) => message,
            Err(error) => {
                print::document(&error);
                continue;
            }
        };
        let answered = message.id().filter(|_| message.is_response());
        let is_answered = |(id, _): &(Json, _)| answered.is_some_and(|it| is_same_id(it, id));
        let mut replies = match pending.iter().position(is_answered) {
            Some(at) => pending.swap_remove(at).1,
            None => recording.answer(&message),
        };
        while let Some(reply) = replies.pop_front() {
            print::document(&reply);
            if reply.has("method")
                && let Some(id) = reply.id()
            {
                pending.push((id.clone(), replies));
                break;
            }
        }
    }
    Ok(Exit::Fine)
}

/// A difference between a recorded and a new answer.
struct Difference {
    request: String,
    /// A JSON Pointer into the response.
    path: String,
    recorded: Option<Value>,
    found: Option<Value>,
}

/// Sends the recorded requests. Returns their number, and the differences.
async fn compare(
    client: &Client,
    recording: &Recording,
    common: &crate::args::Common,
) -> Result<(usize, Vec<Difference>), Failure> {
    let (mut count, mut all) = (0, Vec::new());
    for (exchange, recorded) in recording.calls() {
        let call = client.call::<Json>(exchange.method.clone(), &exchange.params);
        let found = match call.timeout(common.timeout).await {
            Ok(result) => json!({ "result": decoded(&result) }),
            Err(CallError::Error { error, .. }) => {
                let (code, message) = (error.code.0, error.message);
                match error.data.as_ref().map(decoded) {
                    Some(data) => {
                        json!({ "error": { "code": code, "message": message, "data": data } })
                    }
                    None => json!({ "error": { "code": code, "message": message } }),
                }
            }
            Err(error) => return Err(error.into()),
        };
        count += 1;
        let request = describe(exchange);
        for member in ["result", "error"] {
            let (recorded, found) = (recorded.get(member), found.get(member));
            if recorded.is_some() || found.is_some() {
                let recorded = recorded.map(|it| without_meta(decoded(it)));
                let found = found.map(|it| without_meta(it.clone()));
                differ(
                    &request,
                    &format!("/{member}"),
                    recorded.as_ref(),
                    found.as_ref(),
                    &mut all,
                );
            }
        }
    }
    Ok((count, all))
}

/// A value without its `_meta`.
fn without_meta(mut value: Value) -> Value {
    if let Some(members) = value.as_object_mut() {
        members.remove("_meta");
    }
    value
}

/// The method, and the name in its parameters.
fn describe(exchange: &Exchange) -> String {
    let params = decoded(&exchange.params);
    let name = ["name", "uri"].iter().find_map(|member| params.get(member)?.as_str());
    [&*exchange.method].into_iter().chain(name).collect::<Vec<_>>().join(" ")
}

/// Adds the differences of two values, at the deepest places.
fn differ(
    request: &str,
    path: &str,
    recorded: Option<&Value>,
    found: Option<&Value>,
    all: &mut Vec<Difference>,
) {
    match (recorded, found) {
        (Some(Value::Object(recorded)), Some(Value::Object(found))) => {
            let added = found.keys().filter(|key| !recorded.contains_key(*key));
            for key in recorded.keys().chain(added) {
                let path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
                differ(request, &path, recorded.get(key), found.get(key), all);
            }
        }
        (Some(Value::Array(recorded)), Some(Value::Array(found))) => {
            for at in 0..recorded.len().max(found.len()) {
                let path = format!("{path}/{at}");
                differ(request, &path, recorded.get(at), found.get(at), all);
            }
        }
        (recorded, found) if recorded == found => {}
        (recorded, found) => all.push(Difference {
            request: request.to_owned(),
            path: path.to_owned(),
            recorded: recorded.cloned(),
            found: found.cloned(),
        }),
    }
}

impl Difference {
    fn document(&self) -> Value {
        let Self { request, path, recorded, found } = self;
        json!({ "request": request, "path": path, "recorded": recorded, "found": found })
    }

    fn describe(&self) -> String {
        let Self { request, path, recorded, found } = self;
        let text =
            |value: &Option<Value>| value.as_ref().map_or("nothing".into(), Value::to_string);
        format!("{request} {path}: {} was recorded, found {}\n", text(recorded), text(found))
    }
}
