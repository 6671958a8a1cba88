//! The least that can be done with a call of the tool `echo`: serde around its JSON.
//! It knows nothing of the protocol and believes whatever it reads.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: &'a str,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    arguments: Arguments<'a>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    message: Cow<'a, str>,
}

#[derive(Serialize)]
struct Response<'a, R> {
    jsonrpc: &'a str,
    id: &'a RawValue,
    result: R,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallResult<'a> {
    content: [Content<'a>; 1],
    is_error: bool,
}

#[derive(Serialize)]
struct Content<'a> {
    r#type: &'a str,
    text: &'a str,
}

#[derive(Serialize)]
struct Empty {}

/// Appends the answer to a message, or nothing if it is a notification.
pub fn answer(message: &[u8], replies: &mut Vec<u8>) -> serde_json::Result<()> {
    let request: Request = serde_json::from_slice(message)?;
    let Some(id) = request.id else { return Ok(()) };
    let params = request.params.map_or("{}", RawValue::get);
    if request.method == "tools/call" {
        let call: Call = serde_json::from_str(params)?;
        let content = [Content { r#type: "text", text: &call.arguments.message }];
        let result = CallResult { content, is_error: false };
        serde_json::to_writer(replies, &Response { jsonrpc: "2.0", id, result })
    } else {
        serde_json::to_writer(replies, &Response { jsonrpc: "2.0", id, result: Empty {} })
    }
}
