//! Settings of a transcript's server: the `=` lines, and their defaults.

use std::collections::BTreeMap;
use std::time::Duration;

use mcp_proto::ext::Feature;
use mcp_proto::server::{Cacheable, List};
use mcp_proto::types::CacheHint;
use mcp_proto::{EraPolicy, Json, Limits};

use super::fixture::{Prompt, Resource, Template, Tool};

type Result<T> = std::result::Result<T, String>;

/// Settings of a transcript's server.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) era_policy: EraPolicy,
    pub(super) tools: Vec<Tool>,
    pub(super) resources: Vec<Resource>,
    pub(super) templates: Vec<Template>,
    pub(super) prompts: Vec<Prompt>,
    pub(super) completions: Vec<Completes>,
    pub(super) methods: Vec<String>,
    pub(super) notifications: Vec<String>,
    pub(super) fallback: bool,
    pub(super) logging: bool,
    pub(super) list_changed: Vec<List>,
    pub(super) subscribe: bool,
    pub(super) cache: Vec<(Cacheable, CacheHint)>,
    pub(super) extensions: BTreeMap<String, Json>,
    /// Features, each with the extension that it needs.
    pub(super) requires: Vec<(Feature, String)>,
    pub(super) experimental: BTreeMap<String, Json>,
    pub(super) page_size: Option<usize>,
    pub(super) instructions: Option<String>,
    pub(super) limits: Limits,
}

/// Prompt or template whose arguments are completed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Completes {
    Prompt(Prompt),
    Template(Template),
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            era_policy: EraPolicy::Auto,
            tools: Tool::DEFAULT.to_vec(),
            resources: Vec::new(),
            templates: Vec::new(),
            prompts: Vec::new(),
            completions: Vec::new(),
            methods: Vec::new(),
            notifications: Vec::new(),
            fallback: false,
            logging: false,
            list_changed: Vec::new(),
            subscribe: false,
            cache: Vec::new(),
            extensions: BTreeMap::new(),
            requires: Vec::new(),
            experimental: BTreeMap::new(),
            page_size: None,
            instructions: None,
            limits: Limits::default(),
        }
    }
}

impl Settings {
    /// Reads what stands behind the `=` of a line.
    pub(super) fn set(&mut self, setting: &str) -> Result<()> {
        let (name, value) = setting.split_once(' ').unwrap_or((setting, ""));
        match name {
            "era" => {
                self.era_policy = match value {
                    "auto" => EraPolicy::Auto,
                    "legacy-only" => EraPolicy::LegacyOnly,
                    "modern-only" => EraPolicy::ModernOnly,
                    _ => return Err("an era is auto, legacy-only or modern-only".into()),
                }
            }
            "tools" => self.tools = names(value, Tool::ALL, Tool::name)?,
            "resources" => self.resources = names(value, Resource::ALL, Resource::name)?,
            "templates" => self.templates = names(value, Template::ALL, Template::name)?,
            "prompts" => self.prompts = names(value, Prompt::ALL, Prompt::name)?,
            "completion" => self.completions.push(completion(value)?),
            "method" => self.methods.push(value.into()),
            "notification" => self.notifications.push(value.into()),
            "fallback" => self.fallback = true,
            "logging" => self.logging = true,
            "list-changed" => {
                self.list_changed = value.split_whitespace().map(list).collect::<Result<_>>()?;
            }
            "subscribe" => self.subscribe = true,
            "cache" => self.cache.push(cache(value)?),
            "extension" => self.extensions.extend([named_json(value)?]),
            "requires" => self.requires.push(required(value)?),
            "experimental" => self.experimental.extend([named_json(value)?]),
            "page-size" => self.page_size = Some(number(value)?),
            "instructions" => self.instructions = Some(value.into()),
            "limit" => limit(&mut self.limits, value)?,
            _ => return Err(format!("no setting `{name}`")),
        }
        Ok(())
    }
}

/// A kind of feature, its name, and the extension that it needs.
fn required(text: &str) -> Result<(Feature, String)> {
    match text.split_whitespace().collect::<Vec<_>>()[..] {
        ["tool", name, identifier] => Ok((Feature::tool(name), identifier.into())),
        ["method", name, identifier] => Ok((Feature::method(name), identifier.into())),
        _ => Err("a feature is `tool` or `method`, its name and an extension".into()),
    }
}

/// A field of `Limits`, and what it is to be.
pub(super) fn limit(limits: &mut Limits, text: &str) -> Result<()> {
    let (field, value) = text.split_once(' ').ok_or("a limit has a name and a value")?;
    match field {
        "max_line_bytes" => limits.max_line_bytes = number(value)?,
        "max_sse_event_bytes" => limits.max_sse_event_bytes = number(value)?,
        "max_depth" => limits.max_depth = number(value)?,
        "max_in_flight" => limits.max_in_flight = number(value)?,
        "max_unsent_bytes" => limits.max_unsent_bytes = number(value)?,
        "max_in_flight_bytes" => limits.max_in_flight_bytes = number(value)?,
        "max_batch_bytes" => limits.max_batch_bytes = number(value)?,
        "max_endpoint_bytes" => limits.max_endpoint_bytes = number(value)?,
        "max_id_bytes" => limits.max_id_bytes = number(value)?,
        "max_client_bytes" => limits.max_client_bytes = number(value)?,
        "max_subscriptions" => limits.max_subscriptions = number(value)?,
        "max_subscriptions_per_holder" => limits.max_subscriptions_per_holder = number(value)?,
        "max_connections" => limits.max_connections = number(value)?,
        "max_subscription_bytes" => limits.max_subscription_bytes = number(value)?,
        "max_pages" => limits.max_pages = number(value)?,
        "max_list_bytes" => limits.max_list_bytes = number(value)?,
        "max_input_rounds" => limits.max_input_rounds = number(value)?,
        "input_timeout" => limits.input_timeout = duration(value)?,
        "handler_timeout" => limits.handler_timeout = duration(value)?,
        "drain" => limits.drain = duration(value)?,
        "max_head_bytes" => limits.max_head_bytes = number(value)?,
        "max_fields" => limits.max_fields = number(value)?,
        "max_body_bytes" => limits.max_body_bytes = number(value)?,
        "max_client_connections" => limits.max_client_connections = number(value)?,
        "max_sessions" => limits.max_sessions = number(value)?,
        "max_sessions_per_holder" => limits.max_sessions_per_holder = number(value)?,
        "max_initialize_burst" => limits.max_initialize_burst = number(value)?,
        "initialize_interval" => limits.initialize_interval = duration(value)?,
        "max_replay_events" => limits.max_replay_events = number(value)?,
        "max_replay_bytes" => limits.max_replay_bytes = number(value)?,
        "head_timeout" => limits.head_timeout = duration(value)?,
        "body_timeout" => limits.body_timeout = duration(value)?,
        "verify_timeout" => limits.verify_timeout = duration(value)?,
        "connection_idle_timeout" => limits.connection_idle_timeout = duration(value)?,
        "keep_alive" => limits.keep_alive = duration(value)?,
        "session_idle_timeout" => limits.session_idle_timeout = duration(value)?,
        "session_init_timeout" => limits.session_init_timeout = duration(value)?,
        "replay_timeout" => limits.replay_timeout = duration(value)?,
        "retry" => limits.retry = duration(value)?,
        _ => return Err(format!("no limit `{field}`")),
    }
    Ok(())
}

/// The list with this name.
pub(super) fn list(name: &str) -> Result<List> {
    Ok(match name {
        "tools" => List::Tools,
        "prompts" => List::Prompts,
        "resources" => List::Resources,
        _ => return Err(format!("no list `{name}` changes: tools, prompts, resources do")),
    })
}

pub(super) fn number(text: &str) -> Result<usize> {
    text.parse().map_err(|_| format!("`{text}` is not a number"))
}

/// A number and its unit, `s` or `ms`.
pub(super) fn duration(text: &str) -> Result<Duration> {
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 0.001),
        None => (text.strip_suffix('s').unwrap_or_default(), 1.0),
    };
    let seconds = number.parse::<f64>().ok().map(|number| number * unit);
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| format!("`{text}` is not a duration, such as 30s, 1.5s, 20ms"))
}

pub(super) fn json(text: &str) -> Result<Json> {
    Json::parse(text.to_owned()).map_err(|error| error.to_string())
}

/// Those of `all` that are named; `none` is none.
fn names<T: Copy>(text: &str, all: &[T], name: fn(T) -> &'static str) -> Result<Vec<T>> {
    let find = |word: &str| {
        let found = all.iter().copied().find(|it| name(*it) == word);
        found.ok_or_else(|| format!("the fixture has no `{word}`"))
    };
    text.split_whitespace().filter(|word| *word != "none").map(find).collect()
}

fn completion(text: &str) -> Result<Completes> {
    match text.split_once(' ') {
        Some(("prompt", name)) => {
            one(&names(name, Prompt::ALL, Prompt::name)?).map(Completes::Prompt)
        }
        Some(("template", name)) => {
            one(&names(name, Template::ALL, Template::name)?).map(Completes::Template)
        }
        _ => Err("a completion is of a prompt or a template".into()),
    }
}

fn one<T: Copy>(found: &[T]) -> Result<T> {
    match found {
        [one] => Ok(*one),
        _ => Err("a completion is of one thing".into()),
    }
}

fn cache(text: &str) -> Result<(Cacheable, CacheHint)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [what, scope, ttl] = words.as_slice() else {
        return Err("a cache hint is what, for whom, and for how many milliseconds".into());
    };
    let what = match *what {
        "discover" => Cacheable::Discover,
        "tools" => Cacheable::Tools,
        "prompts" => Cacheable::Prompts,
        "resources" => Cacheable::Resources,
        "templates" => Cacheable::ResourceTemplates,
        "contents" => Cacheable::Contents,
        _ => return Err(format!("nobody caches `{what}`")),
    };
    let ttl = ttl.parse().map_err(|_| format!("`{ttl}` is not a number"))?;
    match *scope {
        "public" => Ok((what, CacheHint::public(ttl))),
        "private" => Ok((what, CacheHint::private(ttl))),
        _ => Err("a cache scope is public or private".into()),
    }
}

/// A name and what JSON it has.
fn named_json(text: &str) -> Result<(String, Json)> {
    let (name, text) = text.split_once(' ').ok_or("a name, and its settings as JSON")?;
    Ok((name.into(), json(text)?))
}
