//! Configuration files of hosts, which list servers.
//!
//! In: a file of Claude, Cursor, Gemini (`mcpServers`) or VS Code (`servers`), which may have
//! comments, and the name of a server. Out: the command or the URL of that server, with its
//! variables expanded. A disabled server has to be named.

use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs};

use mcp_service::nearest;
use mcp_tokio::Command;
use serde_json::{Map, Value};

use crate::env_file;
use crate::failure::Failure;

/// A server of a file.
pub(crate) enum Entry {
    Command(Command),
    Http { url: String, headers: Vec<(String, String)> },
}

/// Reads one server of a file, with its name: the named one, or the only one that is enabled.
pub(crate) fn read(file: &Path, name: Option<&str>) -> Result<(String, Entry), Failure> {
    let shown = file.display();
    let servers = servers(file)?;
    let name = pick(&servers, name).map_err(|failure| Failure {
        message: format!("{shown}: {}", failure.message),
        ..failure
    })?;
    Ok((name.to_owned(), of_name(file, &servers, name)?))
}

/// A server of a file with its name, or the failure that tells why it cannot be used.
type Named = (String, Result<Entry, Failure>);

/// Reads all servers of a file that are enabled. There is at least one.
pub(crate) fn read_all(file: &Path) -> Result<Vec<Named>, Failure> {
    let servers = servers(file)?;
    let names = enabled(&servers);
    if names.is_empty() {
        let message = format!("{}: all servers are disabled", file.display());
        return Err(Failure::usage(message).advice("--server chooses a disabled one as well"));
    }
    let read = |name: &str| (name.to_owned(), of_name(file, &servers, name));
    Ok(names.into_iter().map(read).collect())
}

/// The names of the servers that no member `disabled` switches off.
fn enabled(servers: &Map<String, Value>) -> Vec<&str> {
    let is_enabled = |server: &Value| server.get("disabled") != Some(&Value::Bool(true));
    servers.iter().filter(|(_, it)| is_enabled(it)).map(|(name, _)| name.as_str()).collect()
}

fn of_name(file: &Path, servers: &Map<String, Value>, name: &str) -> Result<Entry, Failure> {
    let server = servers.get(name).unwrap_or(&Value::Null);
    let wrong =
        |what: String| Failure::usage(format!("{}: the server {name:?} {what}", file.display()));
    entry(server, &|variable| env::var(variable).ok()).map_err(wrong)
}

/// The servers of a file, at least one.
fn servers(file: &Path) -> Result<Map<String, Value>, Failure> {
    let shown = file.display();
    let text = fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("{shown} cannot be read: {error}")))?;
    let document: Value = serde_json::from_str(&without_comments(&text))
        .map_err(|error| Failure::usage(format!("{shown} is no JSON: {error}")))?;
    let servers = ["mcpServers", "servers"].iter().find_map(|member| document.get(member));
    let servers = servers.and_then(Value::as_object).filter(|servers| !servers.is_empty());
    servers.cloned().ok_or_else(|| {
        Failure::usage(format!("{shown} names no servers"))
            .advice("hosts have them in the member `mcpServers`, VS Code in `servers`")
    })
}

fn pick<'a>(servers: &'a Map<String, Value>, name: Option<&'a str>) -> Result<&'a str, Failure> {
    let names: Vec<_> = servers.keys().map(String::as_str).collect();
    let all = format!("its servers: {}", names.join(", "));
    match (name, enabled(servers).as_slice()) {
        (Some(name), _) if servers.contains_key(name) => Ok(name),
        (Some(name), _) => Err(Failure::usage(format!("there is no server {name:?}")).advice(
            match nearest(name, names.iter().copied()) {
                Some(near) => format!("did you mean {near}? {all}"),
                None => all,
            },
        )),
        (None, [only]) => Ok(only),
        (None, []) => {
            Err(Failure::usage("all servers are disabled; --server names one").advice(all))
        }
        (None, _) => Err(Failure::usage("which server? --server names one").advice(all)),
    }
}

fn entry(server: &Value, variable: &dyn Fn(&str) -> Option<String>) -> Result<Entry, String> {
    let text = |value: &Value, what: &str| -> Result<String, String> {
        let text = value.as_str().ok_or_else(|| format!("has a {what} that is not a string"))?;
        filled(text, variable)
    };
    let given = |member: &str| server.get(member).filter(|value| !value.is_null());
    let pairs = |member: &str| -> Result<Vec<(String, String)>, String> {
        let pairs = given(member).map(|value| value.as_object().ok_or(value)).transpose();
        let pairs = pairs.map_err(|_| format!("has `{member}` that is no object"))?;
        let what = format!("value in `{member}`");
        let pairs = pairs.into_iter().flatten().filter(|(_, value)| !value.is_null());
        pairs.map(|(name, value)| Ok((name.clone(), text(value, &what)?))).collect()
    };
    // Gemini has `httpUrl`, Windsurf `serverUrl`.
    let url = ["httpUrl", "url", "serverUrl"].iter().find_map(|member| given(member));
    if let Some(url) = url {
        return Ok(Entry::Http { url: text(url, "`url`")?, headers: pairs("headers")? });
    }
    let program = given("command").ok_or("has neither `command` nor `url`")?;
    let mut command = Command::new(text(program, "`command`")?);
    let args = given("args").map(|value| value.as_array().ok_or("has `args` that are no array"));
    for arg in args.transpose()?.into_iter().flatten() {
        command = command.arg(text(arg, "value in `args`")?);
    }
    let mut variables = BTreeMap::new();
    if let Some(file) = given("envFile") {
        let file = text(file, "`envFile`")?;
        let read = fs::read_to_string(&file);
        let read = read.map_err(|error| format!("has the `envFile` {file}: {error}"))?;
        variables.extend(env_file::parse(&read));
    }
    variables.extend(pairs("env")?);
    // VS Code: a variable that is `null` is not set, even if the file of variables has it.
    for (name, value) in given("env").and_then(Value::as_object).into_iter().flatten() {
        if value.is_null() {
            variables.remove(name);
        }
    }
    for (name, value) in variables {
        command = command.env(name, value);
    }
    if let Some(folder) = given("cwd") {
        command.current_dir = Some(text(folder, "`cwd`")?.into());
    }
    Ok(Entry::Command(command))
}

/// Expands `${NAME}` and `${NAME:-DEFAULT}` of Claude, `${env:NAME}`, `${userHome}` and
/// `${workspaceFolder}` of VS Code and Cursor. Any other `$` is kept.
fn filled(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, after)) = after.split_once('}') else { break };
        out.push_str(before);
        let (name, default) = match name.split_once(":-") {
            Some((name, default)) => (name, Some(default.to_owned())),
            None => (name, None),
        };
        let name = name.strip_prefix("env:").unwrap_or(name);
        let value = match name {
            "userHome" => variable("HOME").or_else(|| variable("USERPROFILE")),
            "workspaceFolder" => env::current_dir().ok().map(|it| it.display().to_string()),
            input if input.starts_with("input:") => {
                return Err(format!("asks the user for ${{{input}}}, which only its host can"));
            }
            _ => variable(name),
        };
        let value = value.or(default);
        out.push_str(&value.ok_or_else(|| format!("wants the variable {name}, which is not set"))?);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// Replaces the comments and trailing commas that VS Code allows by spaces.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.trim_start_matches('\u{feff}').chars().peekable();
    // A comma before a possible bracket.
    let mut comma = None;
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('"', _) => {
                comma = None;
                out.push(c);
                while let Some(c) = chars.next() {
                    out.push(c);
                    match c {
                        '"' => break,
                        '\\' => out.extend(chars.next()),
                        _ => {}
                    }
                }
            }
            ('/', Some('/')) => while chars.next_if(|c| *c != '\n').is_some() {},
            ('/', Some('*')) => {
                chars.next();
                let mut last = ' ';
                for c in chars.by_ref() {
                    if (last, c) == ('*', '/') {
                        break;
                    }
                    last = c;
                }
            }
            _ => {
                if let (']' | '}', Some(at)) = (c, comma) {
                    out.replace_range(at..=at, " ");
                }
                comma = match c {
                    ',' => Some(out.len()),
                    c if c.is_whitespace() => comma,
                    _ => None,
                };
                out.push(c);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(name: &str) -> Option<String> {
        (name == "TOKEN").then(|| "sesame".to_owned())
    }

    #[test]
    fn variables_are_filled_in() {
        for (text, expected) in [
            ("Bearer ${TOKEN}", Ok("Bearer sesame")),
            ("${env:TOKEN}${TOKEN:-x}", Ok("sesamesesame")),
            ("${PORT:-80}/$a", Ok("80/$a")),
            ("${open", Ok("${open")),
            ("${PORT}", Err("wants the variable PORT, which is not set")),
            ("${input:key}", Err("asks the user for ${input:key}, which only its host can")),
        ] {
            assert_eq!(filled(text, &variable), expected.map(str::to_owned).map_err(str::to_owned));
        }
    }

    #[test]
    fn comments_and_last_commas_are_left_out() {
        let text = "\u{feff}{ // one\n \"a\": [1, 2, /* , */ ], \"b\": \"//\\\"/*,}\", }";
        let value: Value = serde_json::from_str(&without_comments(text)).unwrap();
        assert_eq!(value, serde_json::json!({ "a": [1, 2], "b": "//\"/*,}" }));
    }
}
