//! `mcp request`: a request with any method.

use std::collections::BTreeMap;

use mcp_tokio::Json;

use crate::arguments;
use crate::ask;
use crate::failure::{Exit, Failure};
use crate::list::get;
use crate::more_args::RequestArgs;
use crate::print::{self, Output};
use crate::session;
use crate::target::Target;

pub(crate) async fn run(args: RequestArgs, output: Output) -> Result<Exit, Failure> {
    let (url, words) = args.common.split(&args.words);
    let target = Target::new(url, &args.common)?;
    let (method, words) = words
        .split_first()
        .ok_or_else(|| Failure::usage("which method? An example is tools/list"))?;
    let params = match &args.params {
        Some(_) if !words.is_empty() => {
            return Err(Failure::usage(
                "parameters are KEY=VALUE, or JSON behind --params, and not both",
            ));
        }
        Some(params) => params.clone(),
        None => params(words)?,
    };
    let client = session::client(&args.common, &target)?;
    ask::user(&client, output);
    let result: Json = session::with(&client, target, async |_| {
        get(client.call(method.clone(), &params), &args.common).await
    })
    .await?;
    if output.is_json() {
        print::member("result", &result);
    } else {
        print::bytes(format!("{}\n", print::one_line(result.as_str())).as_bytes());
    }
    Ok(Exit::Fine)
}

/// An object from `key=value` words.
fn params(words: &[String]) -> Result<Json, Failure> {
    let mut params = BTreeMap::new();
    let advice = || "parameters are KEY=VALUE, or JSON behind --params".to_owned();
    for (key, text) in arguments::pairs(words, "parameter", advice)? {
        // Numbers keep their digits.
        let value = Json::parse(text.to_owned()).or_else(|_| Json::encode(text));
        params.insert(key, value.map_err(Failure::usage)?);
    }
    Json::encode(&params).map_err(Failure::usage)
}
