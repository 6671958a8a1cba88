//! `mcp task`: follows the task of an earlier call, or cancels it.

use std::time::Duration;

use serde_json::json;

use crate::ask;
use crate::call::{finish, show_task};
use crate::failure::{Exit, Failure};
use crate::list::get;
use crate::more_args::TaskArgs;
use crate::print::{self, Output};
use crate::session;
use crate::target::Target;

pub(crate) async fn run(args: TaskArgs, output: Output) -> Result<Exit, Failure> {
    let words: Vec<_> = args.first.iter().chain(&args.second).cloned().collect();
    let (url, words) = args.common.split(&words);
    let target = Target::new(url, &args.common)?;
    let [id] = words else {
        return Err(Failure::usage("which task? `mcp call --detach` shows its id"));
    };
    let client = session::follower(&args.common, &target)?;
    ask::user(&client, output);
    let result = session::with(&client, target, async |_| {
        let task = client.task(id);
        if args.cancel {
            get(task.cancel(), &args.common).await?;
            return Ok(None);
        }
        let call = task.result().timeout(args.common.timeout).max_total(Duration::MAX);
        Ok(Some(call.on_task(move |task| show_task(&task, output)).await?))
    });
    let Some(result) = result.await? else {
        if output.is_json() {
            print::document(&json!({ "result": {} }));
        } else {
            print::note("the server will cancel it if it can");
        }
        return Ok(Exit::Fine);
    };
    Ok(finish(&result, output))
}
