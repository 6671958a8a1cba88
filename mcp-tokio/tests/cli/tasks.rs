//! `mcp call` of a tool that becomes a task, and `mcp task`.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::run::{run, with_server};
use super::scratch::Scratch;
use super::server::{SERVER, by_hand};

crate::all!(
    a_call_follows_its_task,
    for_programs,
    a_call_may_leave_its_task,
    a_task_is_followed_again,
    a_task_is_cancelled,
    what_is_wrong_is_told,
    outage_is_reported_once,
    server_of_a_file_that_answers_has_no_outage,
);

fn a_call_follows_its_task() {
    let ran = with_server("tasks", &["call", "--quiet", "render"]);
    let err = "task working\ntask working  1 of 2\ntask completed\n";
    assert_eq!((ran.exit, &*ran.out, &*ran.err), (0, "a film\n", err));
    let ran = with_server("tasks", &["call", "--quiet", "fail"]);
    let err = "task working\ntask failed  no room\nmcp: no room (-32603)\n";
    assert_eq!((ran.exit, &*ran.out, &*ran.err), (5, "", err));
}

fn for_programs() {
    let ran = with_server("tasks", &["call", "--quiet", "--json", "render"]);
    let lines: Vec<Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((ran.exit, lines.len(), &*ran.err), (0, 4, ""));
    assert_eq!(lines[1]["task"]["statusMessage"], "1 of 2");
    assert_eq!(lines[1]["task"]["taskId"], "render");
    assert_eq!(lines[3]["result"]["content"][0]["text"], "a film");
    let ran = with_server("tasks", &["call", "--quiet", "--json", "--detach", "render"]);
    assert_eq!((ran.exit, &*ran.out), (0, "{\"task\":{\"taskId\":\"render\"}}\n"));
}

fn a_call_may_leave_its_task() {
    let ran = with_server("tasks", &["call", "--quiet", "--detach", "render"]);
    assert_eq!((ran.exit, &*ran.out, &*ran.err), (0, "render\n", ""));
    // One that the server answers at once has a result as ever.
    let ran = with_server("tasks", &["call", "--quiet", "--detach", "glance"]);
    assert_eq!((ran.exit, &*ran.out, &*ran.err), (0, "a film\n", ""));
}

fn a_task_is_followed_again() {
    let ran = with_server("tasks", &["task", "--quiet", "render"]);
    let err = "task working  1 of 2\ntask completed\n";
    assert_eq!((ran.exit, &*ran.out, &*ran.err), (0, "a film\n", err));
}

fn a_task_is_cancelled() {
    let ran = with_server("tasks", &["task", "--cancel", "render"]);
    let err = "cancelled: render\nthe server will cancel it if it can\n";
    assert_eq!((ran.exit, &*ran.out, &*ran.err), (0, "", err));
    let ran = with_server("tasks", &["task", "--quiet", "--json", "--cancel", "render"]);
    assert_eq!((ran.exit, &*ran.out, &*ran.err), (0, "{\"result\":{}}\n", ""));
}

fn what_is_wrong_is_told() {
    let ran = with_server("tasks", &["task", "--quiet", "another"]);
    assert_eq!((ran.exit, &*ran.err), (5, "mcp: the server has no task `another`\n"));
    // One of 64 ids of this project's servers begins like an option.
    for words in [&["-q", "-another"][..], &["--quiet", "-q_1", "--timeout", "9"], &["--x", "-q"]] {
        let ran = with_server("tasks", &[&["task"], words].concat());
        let id = words.iter().find(|it| ["-another", "-q_1", "--x"].contains(it)).unwrap();
        let err = format!("mcp: the server has no task `{id}`\n");
        assert_eq!((ran.exit, &*ran.err), (5, &*err));
    }
    let ran = with_server("tasks", &["task", "--quiet"]);
    assert_eq!(ran.exit, 2);
    assert!(ran.err.starts_with("mcp: which task?"), "{}", ran.err);
    let ran = with_server("tasks", &["call", "--quiet", "leave"]);
    assert_eq!(ran.exit, 3, "{}", ran.err);
    assert!(ran.err.contains("`mcp task` follows it again, by its id: leave"), "{}", ran.err);
    let ran = with_server("tasks", &["task", "--quiet", "stop"]);
    assert_eq!((ran.exit, &*ran.err), (1, "task cancelled\nmcp: the task was cancelled\n"));
}

fn outage_is_reported_once() {
    let polls = Arc::new(AtomicUsize::new(0));
    let counted = polls.clone();
    let head = move |body: &str| {
        let is_poll = body.contains("\"tasks/get\"");
        match counted.fetch_add(usize::from(is_poll), Ordering::Relaxed) {
            1 if is_poll => "503 Service Unavailable".into(),
            _ => "200 OK\r\nContent-Type: application/json".into(),
        }
    };
    let url = by_hand(head, move |body| {
        let request: Value = serde_json::from_str(body).unwrap();
        let result = match (request["method"].as_str(), polls.load(Ordering::Relaxed)) {
            (Some("tasks/get"), 1) => task("complete", "render", "working", None),
            (Some("tasks/get"), 2) => return String::new(),
            (Some("tasks/get"), _) => task("complete", "render", "completed", None),
            _ => discovered(),
        };
        json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }).to_string()
    });
    let ran = run(&["task", "--quiet", &url, "render"]);
    let err = "task working\nthe server does not answer: HTTP status 503 Service Unavailable; \
               asking again\nthe server answers again\ntask completed\n";
    assert_eq!((ran.exit, &*ran.out, &*ran.err), (0, "a film\n", err));
}

fn server_of_a_file_that_answers_has_no_outage() {
    let folder = Scratch::new("tasks-of-a-file");
    let this = std::env::current_exe().unwrap();
    let server = json!({ "command": this, "env": { SERVER: "tasks" } });
    let file = folder.write("a.json", &json!({ "servers": { "a": server } }).to_string());
    let ran = run(&["task", "--quiet", "--config", &file, "render"]);
    let err = "task working  1 of 2\ntask completed\n";
    assert_eq!((ran.exit, &*ran.out, &*ran.err), (0, "a film\n", err));
}

/// Serves tools on standard input and output whose tasks have the names of the tools.
pub(crate) fn serve() -> io::Result<()> {
    let mut polls = 0;
    for line in io::stdin().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let method = request["method"].as_str().unwrap_or_default();
        let params = &request["params"];
        let name = params["name"].as_str().or(params["taskId"].as_str()).unwrap_or_default();
        polls += usize::from(method == "tasks/get");
        let body = match method {
            "server/discover" => json!({ "result": discovered() }),
            "tools/list" => json!({ "result": {
                "resultType": "complete", "tools": tools(), "ttlMs": 0, "cacheScope": "private",
            } }),
            "tools/call" if name == "glance" => json!({ "result": film() }),
            "tools/call" => json!({ "result": task("task", name, "working", None) }),
            "tasks/get" => match (name, polls) {
                ("render", 1) => {
                    json!({ "result": task("complete", name, "working", Some("1 of 2")) })
                }
                ("render", _) => json!({ "result": task("complete", name, "completed", None) }),
                ("fail", _) => {
                    json!({ "result": task("complete", name, "failed", Some("no room")) })
                }
                ("leave", _) => return Ok(()),
                ("stop", _) => json!({ "result": task("complete", name, "cancelled", None) }),
                ("wait", _) => json!({ "result": task("complete", name, "working", None) }),
                _ => json!({ "error": { "code": -32602, "message": "no such task" } }),
            },
            "tasks/cancel" => {
                // In one write: the client writes to the same pipe.
                let line = format!("cancelled: {name}\n");
                eprint!("{line}");
                json!({ "result": { "resultType": "complete" } })
            }
            _ => continue,
        };
        let mut answer = body;
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = request["id"].clone();
        writeln!(io::stdout(), "{answer}")?;
    }
    Ok(())
}

fn discovered() -> Value {
    json!({
        "resultType": "complete", "supportedVersions": ["2026-07-28"],
        "capabilities": { "tools": {} }, "ttlMs": 0, "cacheScope": "private",
    })
}

fn tools() -> Value {
    let tool = |name: &&str| json!({ "name": name, "inputSchema": { "type": "object" } });
    ["render", "fail", "glance", "leave", "wait"].iter().map(tool).collect()
}

fn film() -> Value {
    json!({ "resultType": "complete", "content": [{ "type": "text", "text": "a film" }] })
}

fn task(kind: &str, id: &str, status: &str, message: Option<&str>) -> Value {
    let mut task = json!({
        "resultType": kind, "taskId": id, "status": status, "createdAt": "2026-11-24T12:00:00Z",
        "lastUpdatedAt": "2026-11-24T12:00:00Z", "ttlMs": null, "pollIntervalMs": 100,
        "result": film(), "error": { "code": -32603, "message": "no room" },
    });
    if let Some(message) = message {
        task["statusMessage"] = json!(message);
    }
    task
}
