//! Questions of a server to the user, on the terminal.
//!
//! In: the forms and URLs of `elicitation/create`, and the input of the user. Out: the answers.
//! Questions are written to standard error, so that standard output can be redirected. Without a
//! terminal, all are declined.
//!
//! [Specification: Elicitation](https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation)

mod dialogue;
mod field;

use std::io;
use std::sync::{Mutex, PoisonError};

use mcp_tokio::Client;
use mcp_tokio::types::{
    ElicitAction, ElicitRequestFormParams, ElicitRequestURLParams, ElicitResult,
};
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use crate::print::{self, Output};
use dialogue::Dialogue;

/// Only one question at a time uses the terminal.
static TERMINAL: Mutex<()> = Mutex::new(());

/// Asks the user for all elicitations.
pub(crate) fn user(client: &Client, output: Output) {
    client.on_form(move |form| async move {
        let message = form.message.clone();
        report(output, &message, ask_user(&message, move |dialogue| dialogue.form(&form)).await)
    });
    client.on_url(move |page: ElicitRequestURLParams| async move {
        let message = format!("{} {}", page.message, page.url);
        report(output, &message, ask_user(&message, move |dialogue| dialogue.url(&page)).await)
    });
    client.on_elicitation_complete(|_| print::note("the interaction at the URL is complete"));
}

/// Declines all elicitations.
pub(crate) fn decline(client: &Client) {
    client.on_form(|_: ElicitRequestFormParams| async { ElicitResult::new(ElicitAction::Decline) });
    client.on_url(|_: ElicitRequestURLParams| async { ElicitResult::new(ElicitAction::Decline) });
}

async fn ask_user(
    message: &str,
    ask: impl FnOnce(&mut Dialogue<io::StdinLock<'_>, io::Stderr>) -> ElicitResult + Send + 'static,
) -> ElicitResult {
    if !print::is_interactive() {
        print::note(&format!("the server asks: {message}"));
        print::note("there is no terminal to answer at: declined");
        return ElicitResult::new(ElicitAction::Decline);
    }
    let answer = spawn_blocking(move || {
        let _alone = TERMINAL.lock().unwrap_or_else(PoisonError::into_inner);
        // Standard error is not locked: other output may come while the user thinks.
        ask(&mut Dialogue::new(io::stdin().lock(), io::stderr()))
    });
    answer.await.unwrap_or_else(|_| ElicitResult::new(ElicitAction::Cancel))
}

fn report(output: Output, message: &str, answer: ElicitResult) -> ElicitResult {
    if output.is_json() {
        print::document(&json!({ "asked": document(message, &answer) }));
    }
    answer
}

/// Question and answer as a document, for programs.
fn document(message: &str, answer: &ElicitResult) -> Value {
    match &answer.content {
        Some(content) => {
            json!({ "message": message, "action": answer.action, "content": content })
        }
        None => json!({ "message": message, "action": answer.action }),
    }
}

#[cfg(test)]
mod tests {
    use mcp_tokio::types::{RequestedSchema, StringSchema};

    use super::*;

    #[test]
    fn answers_are_reported_to_programs() {
        let schema = RequestedSchema::new().required("name", StringSchema::new());
        let form = ElicitRequestFormParams::new("Who?", schema);
        let sent = form.accept(&json!({ "name": "Ada" })).unwrap();
        let expected =
            json!({ "message": "Who?", "action": "accept", "content": { "name": "Ada" } });
        assert_eq!(document("Who?", &sent), expected);
        let declined = ElicitResult::new(ElicitAction::Decline);
        let expected = json!({ "message": "Who?", "action": "decline" });
        assert_eq!(document("Who?", &declined), expected);
    }
}
