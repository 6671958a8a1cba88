//! An agent: a language model calls the tools of a server until it can answer.
//!
//! ```sh
//! cargo run -p mcp-tokio --example agent               # the user agrees to what a tool asks
//! cargo run -p mcp-tokio --example agent -- decline    # the user declines
//! ```
//!
//! The model is a script, so that the program needs no key and always does the same; a real model
//! is another `Model`. This program is also the server, when it is started with `agent serve`.

#![expect(clippy::print_stdout, reason = "the conversation is its output")]

use std::error::Error;

use mcp_tokio::types::{
    ElicitAction, ElicitRequestFormParams, ElicitResult, NumberSchema, RequestedSchema,
};
use mcp_tokio::{
    CallToolResult, Client, Command, Context, ErrorData, Implementation, Registry, Tool,
    connect_command, serve_stdio,
};
use serde_json::{Value, json};

type Failure = Box<dyn Error + Send + Sync>;

/// Turns after which the agent gives up.
const MOST_TURNS: usize = 10;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let action = match std::env::args().nth(1).as_deref() {
        None => ElicitAction::Accept,
        Some("decline") => ElicitAction::Decline,
        Some("serve") => return Ok(serve_stdio(library()?).await?),
        Some(_) => return Err("usage: agent [decline]".into()),
    };
    let client = Client::new(Implementation::new("agent", env!("CARGO_PKG_VERSION")));
    // Here a person would read the question, and answer it.
    client.on_form(move |form| async move {
        println!("the server asks: {}", form.message);
        match action {
            ElicitAction::Accept => form.accept_defaults().map_err(ErrorData::from),
            ElicitAction::Decline | ElicitAction::Cancel => Ok(ElicitResult::new(action)),
        }
    });
    let program = std::env::current_exe()?;
    connect_command(&client, Command::new(program).arg("serve")).await?;
    let answer = run(&client, &mut Script::default(), "Lend me something about whales.").await;
    client.close().await;
    println!("{}", answer?);
    Ok(())
}

/// Lets the model call tools until it answers.
async fn run(client: &Client, model: &mut impl Model, question: &str) -> Result<String, Failure> {
    let tools = client.list_tools().await?.tools;
    let mut turns = vec![Turn::User(question.to_owned())];
    for _ in 0..MOST_TURNS {
        let (name, arguments) = match model.reply(&tools, &turns) {
            Reply::Answer(text) => return Ok(text),
            Reply::Call(name, arguments) => (name, arguments),
        };
        println!("the model calls {name} {arguments}");
        let result = client.call_tool(&name, &arguments).await?;
        let text = text(&result);
        // A model reads errors of tools as well, and may do better with its next call.
        println!("{} {text}", if result.is_error { "the tool fails:" } else { "the tool says:" });
        turns.push(Turn::Tool { text, is_error: result.is_error });
    }
    Err(format!("no answer after {MOST_TURNS} turns").into())
}

fn text(result: &CallToolResult) -> String {
    result.content.iter().filter_map(|block| block.as_text()).collect::<Vec<_>>().join("\n")
}

/// A language model, as far as an agent needs one.
trait Model {
    /// The next thing that the model does. A real one sends `tools`, with their schemas, and
    /// `turns` to its API.
    fn reply(&mut self, tools: &[Tool], turns: &[Turn]) -> Reply;
}

/// Something that was said in the conversation.
enum Turn {
    User(String),
    Tool { text: String, is_error: bool },
}

enum Reply {
    Call(String, Value),
    Answer(String),
}

/// A model that lends the first book about the last word of the question, after a mistake.
#[derive(Default)]
struct Script {
    topic: String,
    has_found: bool,
}

impl Model for Script {
    fn reply(&mut self, tools: &[Tool], turns: &[Turn]) -> Reply {
        let call = |name: &str, arguments| match tools.iter().find(|tool| tool.name == name) {
            Some(tool) => Reply::Call(tool.name.clone(), arguments),
            None => Reply::Answer(format!("I have no tool {name}.")),
        };
        match turns.last() {
            None => Reply::Answer("What can I do for you?".to_owned()),
            Some(Turn::User(question)) => {
                let last = question.trim_end_matches('.').rsplit(' ').next();
                self.topic = last.unwrap_or_default().into();
                call("find", json!({ "subject": self.topic }))
            }
            Some(Turn::Tool { is_error: true, .. }) => call("find", json!({ "topic": self.topic })),
            Some(Turn::Tool { text, .. }) if self.has_found => Reply::Answer(text.clone()),
            Some(Turn::Tool { text, .. }) => {
                self.has_found = true;
                call("lend", json!({ "title": text.lines().next() }))
            }
        }
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Find {
    /// The subject of the books.
    topic: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Lend {
    /// The title of a book.
    title: String,
}

#[derive(serde::Deserialize)]
struct Loan {
    days: u32,
}

/// The server: a library that asks before it lends a book.
fn library() -> Result<Registry, Failure> {
    let mut registry = Registry::new(Implementation::new("library", env!("CARGO_PKG_VERSION")));
    registry.tool("find", "Finds books about a topic", |find: Find, _| async move {
        match &*find.topic {
            "whales" => Ok("Moby-Dick\nThe Whale Rider"),
            _ => Err("There is nothing about this."),
        }
    })?;
    registry.tool(
        "lend",
        "Lends a book to the user",
        |lend: Lend, context: Context| async move {
            let mut days = NumberSchema::new();
            days.default = Some(14.into());
            let fields = RequestedSchema::new().required("days", days);
            let form = ElicitRequestFormParams::new(
                format!("For how many days is {} lent?", lend.title),
                fields,
            );
            Ok::<_, Failure>(
                match context.elicit("days", form)?.accepted::<Loan>().transpose()? {
                    Some(Loan { days }) => format!("You have {} for {days} days.", lend.title),
                    None => format!("{} stays here.", lend.title),
                },
            )
        },
    )?;
    Ok(registry)
}
