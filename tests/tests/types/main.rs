//! The objects of the schema.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test ends here, and says why"
)]

mod derived;
mod examples;
mod forms;
mod members;
mod nulls;
mod peers;
mod portable;
mod shapes;
mod tool_results;

use mcp_proto::Json;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

type Check = Result<(), String>;

/// Reads a value and writes it: it must be the same.
fn same<T: DeserializeOwned + Serialize>(text: &str) -> Check {
    let original: Value = serde_json::from_str(text).unwrap();
    let written = written::<T>(text)?;
    expect(&written, &original)?;
    // A value that is no slice of a text reads alike.
    let owned: T = serde_json::from_value(original.clone()).map_err(|e| format!("a value: {e}"))?;
    expect(&serde_json::to_value(&owned).unwrap(), &original)
}

fn written<T: DeserializeOwned + Serialize>(text: &str) -> Result<Value, String> {
    let value: T = decode(text).map_err(|error| error.to_string())?;
    let json = Json::encode(&value).map_err(|error| error.to_string())?;
    Ok(json.decode().unwrap())
}

/// A flag that is false need not be written.
fn expect(written: &Value, original: &Value) -> Check {
    let mut original = original.clone();
    let flags = [("/isError", ""), ("/completion/hasMore", "/completion")];
    for (flag, object) in flags {
        if original.pointer(flag) == Some(&json!(false)) {
            let object = original.pointer_mut(object).and_then(Value::as_object_mut).unwrap();
            object.remove(flag.rsplit('/').next().unwrap());
        }
    }
    if *written == original { Ok(()) } else { Err(format!("{original}\nbecame {written}")) }
}

fn decode<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    Json::parse(text.to_owned()).unwrap().decode()
}

fn read<T: DeserializeOwned>(text: &str) -> T {
    decode(text).unwrap()
}
