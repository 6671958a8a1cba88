//! `mcp bench`: the time that calls of a tool take, many at a time.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use mcp_tokio::types::CallToolResult;
use mcp_tokio::{Client, Json};
use serde_json::json;
use tokio::task::JoinSet;

use crate::arguments;
use crate::ask;
use crate::call::{find, split, words};
use crate::failure::{Exit, Failure};
use crate::list::all_tools;
use crate::more_args::BenchArgs;
use crate::print::{self, Output, rows};
use crate::refusals::excerpt;
use crate::session;
use crate::target::Target;

/// The outcome of all calls.
struct Measured {
    /// The time of each call, the shortest first.
    times: Vec<Duration>,
    /// The number of failed calls, and the error of the first one.
    failed: usize,
    failure: Option<String>,
    elapsed: Duration,
}

pub(crate) async fn run(args: BenchArgs, output: Output) -> Result<Exit, Failure> {
    let (url, words) = args.common.split(&args.words);
    let target = Target::new(url, &args.common)?;
    let (tool, words) = split(words, args.args.as_ref())?;
    let client = session::fast_client(&args.common, args.in_flight)?;
    ask::decline(&client);
    let measured = session::with(&client, target, async |server| {
        let tools = all_tools(&client, &server, &args.common).await?;
        let tool = find(&tools, tool)?;
        let arguments = match &args.args {
            Some(arguments) => arguments.clone(),
            None => arguments::read_all(words, &tool.input_schema)?,
        };
        measure(&client, &tool.name, &arguments, &args).await
    });
    let measured = measured.await?;
    if output.is_json() {
        print::document(&measured.document(args.in_flight));
    } else {
        print::text(&measured.describe());
    }
    if let Some(failure) = measured.failure {
        print::note(&format!("mcp: {} calls have failed, the first: {failure}", measured.failed));
        return Ok(Exit::Tool);
    }
    Ok(Exit::Fine)
}

async fn measure(
    client: &Client,
    tool: &str,
    arguments: &Json,
    args: &BenchArgs,
) -> Result<Measured, Failure> {
    // The first call may set up more than the others.
    call(client, tool, arguments, args.common.timeout).await?.1.map_err(|reason| {
        Failure::new(Exit::Tool, format!("the first call has failed: {reason}"))
    })?;
    let start = Instant::now();
    let (mut running, mut left) = (JoinSet::new(), args.calls);
    let mut done = VecDeque::new();
    loop {
        while left > 0 && running.len() < args.in_flight as usize {
            left -= 1;
            let (client, tool, arguments) = (client.clone(), tool.to_owned(), arguments.clone());
            let timeout = args.common.timeout;
            running.spawn(async move { call(&client, &tool, &arguments, timeout).await });
        }
        match running.join_next().await {
            Some(ended) => {
                done.push_back(ended.map_err(|error| Failure::new(Exit::Connection, error))??);
            }
            None => break,
        }
    }
    let elapsed = start.elapsed();
    let failed = done.iter().filter(|(_, outcome)| outcome.is_err()).count();
    let failure = done.iter().find_map(|(_, outcome)| outcome.clone().err());
    let mut times: Vec<_> = done.into_iter().map(|(time, _)| time).collect();
    times.sort_unstable();
    Ok(Measured { times, failed, failure, elapsed })
}

/// The time of a call, and its error, if any. Fails without a connection.
async fn call(
    client: &Client,
    tool: &str,
    arguments: &Json,
    timeout: Duration,
) -> Result<(Duration, Result<(), String>), Failure> {
    let start = Instant::now();
    let result = client.call_tool(tool, arguments).timeout(timeout).await;
    let time = start.elapsed();
    match result {
        Ok(result) if result.is_error => Ok((time, Err(tool_error(&result)))),
        Ok(_) => Ok((time, Ok(()))),
        Err(error) => {
            let failure = Failure::from(error);
            if matches!(failure.exit, Exit::Connection | Exit::Unauthorized) {
                return Err(failure);
            }
            Ok((time, Err(failure.message)))
        }
    }
}

/// The error that a tool has returned, on one line.
fn tool_error(result: &CallToolResult) -> String {
    let text: Vec<_> = result.content.iter().map(words).collect();
    match excerpt(&text.join(" ")) {
        text if text.is_empty() => "the tool returned an error".into(),
        text => format!("the tool returned an error: {text}"),
    }
}

impl Measured {
    /// The time in milliseconds within which this percentage of the calls completed.
    fn percentile(&self, percent: usize) -> f64 {
        let at = (self.times.len() * percent).div_ceil(100).saturating_sub(1);
        let time = self.times.get(at).copied().unwrap_or_default();
        (time.as_secs_f64() * 1e6).round() / 1e3
    }

    fn per_second(&self) -> f64 {
        let calls = u32::try_from(self.times.len()).unwrap_or(u32::MAX);
        (f64::from(calls) / self.elapsed.as_secs_f64().max(1e-9)).round()
    }

    fn document(&self, in_flight: u32) -> serde_json::Value {
        json!({
            "calls": self.times.len(),
            "failed": self.failed,
            "in_flight": in_flight,
            "seconds": self.elapsed.as_secs_f64(),
            "per_second": self.per_second(),
            "latency_ms": {
                "min": self.percentile(0),
                "p50": self.percentile(50),
                "p90": self.percentile(90),
                "p99": self.percentile(99),
                "max": self.percentile(100),
            },
        })
    }

    fn describe(&self) -> String {
        let time = |percent| format!("{} ms", self.percentile(percent));
        rows(&[
            ("calls", self.times.len().to_string()),
            ("failed", self.failed.to_string()),
            ("per second", self.per_second().to_string()),
            ("min", time(0)),
            ("p50", time(50)),
            ("p90", time(90)),
            ("p99", time(99)),
            ("max", time(100)),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_of_calls() {
        let times = (1..=200).map(Duration::from_millis).collect();
        let measured =
            Measured { times, failed: 0, failure: None, elapsed: Duration::from_secs(4) };
        let found = [0, 50, 90, 99, 100].map(|percent| measured.percentile(percent));
        assert_eq!(json!(found), json!([1.0, 100.0, 180.0, 198.0, 200.0]));
        assert_eq!(json!(measured.per_second()), json!(50.0));
    }
}
