//! A server for a REST API: each operation of an OpenAPI 3.1 document is a tool.
//!
//! ```sh
//! cd mcp-tokio/examples/integrations
//! API_TOKEN=… cargo run --bin rest_api -- openapi.json https://api.example.com/v1
//! ```
//!
//! The arguments of a tool are the parameters of its operation in paths and queries, and its JSON
//! body as `body`. They are checked against the document before anything is sent. Operations that
//! need more, such as headers, are left out. For `https` give `reqwest` one of its TLS features.

use std::error::Error;
use std::slice;
use std::sync::Arc;

use mcp_tokio::{
    CallToolResult, Context, Handler, Implementation, Json, Registry, Tool, serve_stdio,
};
use oas3::spec::{Operation, Parameter, ParameterIn, Spec};
use reqwest::{Client, Method, Url, redirect};
use serde_json::{Map, Value, json};

type Failure = Box<dyn Error + Send + Sync>;

type Arguments = Map<String, Value>;

/// Most bytes of an answer that a model gets.
const MAX_BYTES: usize = 256 * 1024;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [document, base] = &arguments[..] else {
        return Err("usage: rest_api OPENAPI.json BASE_URL".into());
    };
    let spec = oas3::from_json(std::fs::read_to_string(document)?)?;
    let api = Api {
        base: base.parse()?,
        token: std::env::var("API_TOKEN").ok(),
        // A redirection could take the token and the arguments to another host.
        client: Client::builder().redirect(redirect::Policy::none()).build()?,
    };
    Ok(serve_stdio(registry(&spec, Arc::new(api))?).await?)
}

fn registry(spec: &Spec, api: Arc<Api>) -> Result<Registry<Handler>, Failure> {
    let mut registry = Registry::new(Implementation::new(&*spec.info.title, &*spec.info.version));
    registry.validate_all()?;
    for (path, item) in spec.paths.iter().flatten() {
        for (method, operation) in item.methods() {
            // Parameters of the path hold for all of its operations.
            let mut parameters = operation.parameters(spec)?;
            for shared in &item.parameters {
                let shared = shared.resolve(spec)?;
                if !parameters.iter().any(|own| own.name == shared.name) {
                    parameters.push(shared);
                }
            }
            let route = Arc::new(Route { method, path: path.clone(), parameters });
            let Some(tool) = tool(spec, operation, &route)? else {
                eprintln!("left out: {} {path}", route.method);
                continue;
            };
            let api = api.clone();
            registry.tool_with(tool, move |arguments: Arguments, _: Context| {
                let (api, route) = (api.clone(), route.clone());
                async move { api.call(&route, &arguments).await }
            })?;
        }
    }
    Ok(registry)
}

/// The tool of an operation; `None` if it needs more than a path, a query and a JSON body.
fn tool(spec: &Spec, operation: &Operation, route: &Route) -> Result<Option<Tool>, Failure> {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for parameter in &route.parameters {
        let is_required = parameter.required == Some(true);
        if !matches!(parameter.location, ParameterIn::Path | ParameterIn::Query) {
            if is_required {
                return Ok(None);
            }
            continue;
        }
        let mut schema = serde_json::to_value(&parameter.schema)?;
        if let (Some(schema), Some(text)) = (schema.as_object_mut(), &parameter.description) {
            schema.insert("description".into(), json!(text));
        }
        properties.insert(parameter.name.clone(), schema);
        required.extend(is_required.then(|| parameter.name.clone()));
    }
    if let Some(body) = operation.request_body(spec)? {
        let Some(json) = body.content.get("application/json") else { return Ok(None) };
        properties.insert("body".into(), serde_json::to_value(&json.schema)?);
        required.extend((body.required == Some(true)).then(|| "body".to_owned()));
    }
    let mut schema = json!({"type": "object", "properties": properties, "required": required});
    if let Some(components) = &spec.components {
        schema["$defs"] = serde_json::to_value(&components.schemas)?;
    }
    // A tool has the shared schemas within itself.
    let schema = schema.to_string().replace("\"#/components/schemas/", "\"#/$defs/");

    let generated = || format!("{}_{}", route.method, route.path).to_lowercase();
    let name = operation.operation_id.clone().unwrap_or_else(generated);
    let name = name.replace(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-', "_");
    let texts = [&operation.summary, &operation.description];
    let description = texts.into_iter().flatten().cloned().collect::<Vec<_>>().join("\n\n");
    let tool = Tool::new(name, Json::parse(schema)?).description(description);
    Ok(Some(tool.annotate(|hints| match route.method {
        Method::GET | Method::HEAD => hints.read_only_hint(true),
        Method::PUT | Method::DELETE => hints.destructive_hint(true).idempotent_hint(true),
        _ => hints,
    })))
}

/// An operation, as requests need it.
struct Route {
    method: Method,
    path: String,
    parameters: Vec<Parameter>,
}

struct Api {
    base: Url,
    token: Option<String>,
    client: Client,
}

impl Api {
    async fn call(&self, route: &Route, arguments: &Arguments) -> Result<CallToolResult, Failure> {
        let mut request = self.client.request(route.method.clone(), self.url(route, arguments)?);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        if let Some(body) = arguments.get("body") {
            request = request.header("Content-Type", "application/json").body(body.to_string());
        }
        let mut response = request.send().await?;
        let (status, mut text) = (response.status(), Vec::new());
        while let Some(chunk) = response.chunk().await? {
            text.extend_from_slice(&chunk);
            if text.len() > MAX_BYTES {
                return Err(format!("{status}: the answer has more than {MAX_BYTES} bytes").into());
            }
        }
        let text = String::from_utf8_lossy(&text);
        Ok(if status.is_success() {
            CallToolResult::text(text)
        } else {
            CallToolResult::error(format!("{status}: {text}"))
        })
    }

    /// The URL of a call. Whatever an argument is, it stays within its segment of the path.
    fn url(&self, route: &Route, arguments: &Arguments) -> Result<Url, Failure> {
        let mut url = self.base.clone();
        let mut segments = url.path_segments_mut().map_err(|()| "the base URL has no path")?;
        segments.pop_if_empty();
        for segment in route.path.split('/').skip(1) {
            let mut filled = segment.to_owned();
            for parameter in route.parameters.iter().filter(|it| it.location == ParameterIn::Path) {
                let value = arguments.get(&parameter.name).map(plain).unwrap_or_default();
                filled = filled.replace(&format!("{{{}}}", parameter.name), &value);
            }
            if segment != filled && ["", ".", ".."].contains(&&*filled) {
                return Err(format!("{filled:?} cannot be a part of a path").into());
            }
            segments.push(&filled);
        }
        drop(segments);
        for parameter in route.parameters.iter().filter(|it| it.location == ParameterIn::Query) {
            let values = match arguments.get(&parameter.name) {
                None | Some(Value::Null) => continue,
                Some(Value::Array(values)) => values.as_slice(),
                Some(value) => slice::from_ref(value),
            };
            for value in values {
                url.query_pairs_mut().append_pair(&parameter.name, &plain(value));
            }
        }
        Ok(url)
    }
}

/// A value as a URL has it.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
