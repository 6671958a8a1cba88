//! `mcp resource`, `mcp prompt`, `mcp complete`, `mcp request`, `mcp bench`, `mcp completions`,
//! `mcp man`; and the options that name servers in files, folders and outputs.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::pantry;
use super::replay::with_replay;
#[cfg(unix)]
use super::run::Running;
use super::run::{run, run_in, with_server, with_server_in};
use super::scratch::Scratch;
use super::server::{ODD, SERVER, over_http};

crate::all!(
    a_resource_is_read,
    a_resource_is_watched,
    a_prompt_is_got,
    arguments_are_completed,
    any_method_is_sent,
    result_is_shown_on_one_line,
    calls_are_measured,
    help_of_each_command_describes_its_json,
    shells_and_man,
    servers_of_a_file,
    variables_of_an_env_file_are_set,
    disabled_server_has_to_be_named,
    wrong_files_of_servers,
    output_into_a_file,
    output_that_cannot_be_written_is_a_failure,
    watch_ends_once_its_reader_is_gone,
    watch_goes_on_with_the_next_server,
    watch_goes_on_with_the_next_server_over_http,
    watch_has_a_time_limit_for_its_subscription,
    watch_reads_again_after_an_outage,
    roots,
);

const KINDS: [&str; 2] = ["both", "legacy"];
const PANTRIES: [&str; 2] = ["pantry", "legacy pantry"];

fn a_resource_is_read() {
    for kind in KINDS {
        let ran = with_server(kind, &["resource", "read", "-q", "kitchen://stock"]);
        assert_eq!((ran.exit, &*ran.out, &*ran.err), (0, "3 eggs\n", ""), "{kind}");
        let missing = with_server(kind, &["resource", "read", "-q", "kitchen://cellar"]);
        assert_eq!((missing.exit, &*missing.out), (5, ""), "{kind}: {missing:?}");
    }
    let ran = run(&["resource", "read", &over_http(None), "kitchen://recipes/soup", "--json"]);
    let read: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(read["result"]["contents"][0]["text"], "Break the eggs.");
    assert_eq!(run(&["resource", "read", "http://127.0.0.1/mcp"]).exit, 2);
}

fn a_resource_is_watched() {
    for kind in PANTRIES {
        let words = ["resource", "watch", "-q", "pantry://jars", "--changes", "1", "--json"];
        // The pantry reports a change whenever its stock is read.
        let ran = with_server(kind, &words);
        let lines: Vec<Value> =
            ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((ran.exit, lines.len()), (0, 2), "{kind}: {ran:?}");
        for (line, text) in lines.iter().zip(["1 jars", "2 jars"]) {
            assert_eq!(line["read"]["result"]["contents"][0]["text"], text, "{kind}");
        }
    }
    let ran = with_server("both", &["resource", "watch", "-q", "kitchen://none"]);
    assert_eq!(ran.exit, 5, "{ran:?}");
}

fn a_prompt_is_got() {
    for kind in KINDS {
        let ran = with_server(kind, &["prompt", "get", "-q", "cook", "dish=soup"]);
        assert_eq!((ran.exit, &*ran.out), (0, "user:\n  Cook soup.\n"), "{kind}");
    }
    for (words, err) in [
        (&["cok"][..], "mcp: the server has no prompt \"cok\"\n     did you mean cook?\n"),
        (
            &["cook"],
            "mcp: the prompt needs the argument \"dish\"\n     the prompt has dish (required)\n",
        ),
        (
            &["cook", "dsh=1"],
            "mcp: the prompt has no argument \"dsh\"\n     the prompt has dish (required)\n",
        ),
    ] {
        let ran = with_server("both", &[&["prompt", "get", "-q"], words].concat());
        assert_eq!((ran.exit, &*ran.err), (2, err));
    }
}

fn arguments_are_completed() {
    for kind in KINDS {
        let ran = with_server(kind, &["complete", "-q", "cook", "dish=o"]);
        assert_eq!((ran.exit, &*ran.out), (0, "omelette\n"), "{kind}");
    }
    assert_eq!(with_server("both", &["complete", "-q", "cook"]).exit, 2);
}

fn any_method_is_sent() {
    for kind in KINDS {
        let words = ["request", "-q", "tools/call", "name=burn", "arguments={}"];
        let result: Value = serde_json::from_str(&with_server(kind, &words).out).unwrap();
        assert_eq!(result["isError"], true, "{kind}");
        let ran = with_server(kind, &["request", "-q", "--json", "kitchen/none", "--params", "{}"]);
        let failure: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!((ran.exit, &failure["error"]["kind"]), (5, &json!("json-rpc")), "{kind}");
    }
    assert_eq!(with_server("both", &["request", "a", "--params", "{}", "b=1"]).exit, 2);
    assert_eq!(with_server("both", &["request", "a", "b"]).exit, 2);
}

fn result_is_shown_on_one_line() {
    let ran = with_server("spaced", &["request", "-q", "kitchen/any"]);
    let begin = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"#;
    assert!(ran.exit == 0 && ran.out.starts_with(begin), "{ran:?}");
    assert!(ran.out.ends_with("}\n") && ran.out.lines().count() == 1, "{ran:?}");
    assert!(ran.out.contains(r#""a b""#) && !ran.out.contains('\r'), "{ran:?}");
    let ran = with_server("odd", &["request", "-q", "tools/call", "name=weigh", "arguments={}"]);
    assert!(ran.exit == 0 && ran.out.contains(ODD), "{ran:?}");
}

fn calls_are_measured() {
    let options = ["bench", "-q", "--calls", "20", "--in-flight", "4", "--json"];
    for kind in KINDS {
        let ran = with_server(kind, &[&options[..], &["red"]].concat());
        let measured: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!((ran.exit, &measured["calls"], &measured["failed"]), (0, &json!(20), &json!(0)));
        assert!(
            measured["latency_ms"]["p50"].as_f64() <= measured["latency_ms"]["max"].as_f64(),
            "{measured}"
        );
    }
    let failed = with_server("both", &[&options[..], &["burn"]].concat());
    assert_eq!((failed.exit, failed.out.contains("the first call has failed")), (1, true));
    let err = "mcp: the first call has failed: the tool returned an error: It burns.\n";
    assert_eq!(failed.err, err);
    let unknown = with_server("both", &[&options[..], &["rod"]].concat());
    assert_eq!(unknown.exit, 2);
    let many = ["bench", "-q", "--calls", "1500", "--in-flight", "1500", "--json", "red"];
    let ran = with_server("roomy", &many);
    assert!(ran.exit == 0 && ran.out.contains(r#""failed":0"#), "{ran:?}");
}

fn help_of_each_command_describes_its_json() {
    for command in [
        "probe",
        "tools",
        "resources",
        "prompts",
        "call",
        "task",
        "login",
        "logout",
        "complete",
        "request",
        "bench",
        "record",
        "replay",
        "resource read",
        "resource watch",
        "prompt get",
    ] {
        let words: Vec<_> = command.split(' ').chain(["--help"]).collect();
        let ran = run(&words);
        let help = ran.out.replace('\n', " ").to_lowercase();
        assert!(ran.exit == 0 && help.contains("with --json"), "{command}: {ran:?}");
    }
}

fn shells_and_man() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = run(&["completions", shell]);
        assert!(ran.exit == 0 && ran.out.contains("resource"), "{shell}");
    }
    assert!(run(&["man"]).out.contains(".TH mcp 1"));
    let folder = Scratch::new("man");
    assert_eq!(run(&["man", &folder.path("")]).exit, 0);
    let page = fs::read_to_string(folder.path("mcp-resource-read.1")).unwrap();
    assert!(page.contains("mcp resource read"), "{page}");
}

/// The file that hosts have, with this test as a server.
fn servers(folder: &Scratch, member: &str) -> String {
    let this = std::env::current_exe().unwrap();
    let servers = json!({ member: {
        "kitchen": { "command": this, "args": [], "env": { SERVER: "${KIND:-legacy}" } },
        "web": {
            "type": "http",
            "url": over_http(Some("sesame")),
            "headers": { "Authorization": "Bearer ${env:KEY}" },
        },
    }});
    // As VS Code allows it.
    folder.write("servers.json", &format!("// Servers.\n{servers}\n"))
}

fn servers_of_a_file() {
    let folder = Scratch::new("servers");
    for member in ["mcpServers", "servers"] {
        let file = servers(&folder, member);
        let at = ["--config", &file, "--server"];
        let probe = run(&[&["probe", "-q", "--json"], &at[..], &["kitchen"]].concat());
        assert!(probe.out.contains(r#""era":"legacy""#), "{probe:?}");
        let words = [&["probe", "-q", "--json"], &at[..], &["kitchen"]].concat();
        assert!(run_in(&[("KIND", "both")], &words).out.contains(r#""era":"modern""#));
        let words = [&["call", "red"], &at[..], &["web"]].concat();
        assert_eq!(run_in(&[("KEY", "sesame")], &words).exit, 0);
        assert_eq!(run_in(&[("KEY", "mellon")], &words).exit, 7);
        let ran = run(&words);
        assert!(ran.exit == 2 && ran.err.contains("the variable KEY"), "{ran:?}");
        // What the command line says comes last.
        let bearer = ["--header", "Authorization: Bearer sesame"];
        assert_eq!(run_in(&[("KEY", "mellon")], &[&words[..], &bearer].concat()).exit, 0);
    }
}

fn variables_of_an_env_file_are_set() {
    let folder = Scratch::new("env-file");
    let this = std::env::current_exe().unwrap();
    let variables = folder.write("one.env", &format!("# The kind.\n{SERVER}='legacy'\n"));
    for (env, era) in [(json!(null), "legacy"), (json!({ SERVER: "both", "A": null }), "modern")] {
        let server =
            json!({ "command": this, "url": null, "cwd": null, "envFile": variables, "env": env });
        let file = folder.write("a.json", &json!({ "servers": { "a": server } }).to_string());
        let ran = run(&["probe", "-q", "--json", "--config", &file]);
        assert!(ran.out.contains(&format!(r#""era":"{era}""#)), "{ran:?}");
    }
}

fn disabled_server_has_to_be_named() {
    let folder = Scratch::new("disabled");
    let this = std::env::current_exe().unwrap();
    let env = json!({ SERVER: "both" });
    let kitchen = |disabled: bool| json!({ "command": this, "env": env, "disabled": disabled });
    let servers = json!({ "mcpServers": { "a": kitchen(true), "b": kitchen(false) } });
    let file = folder.write("servers.json", &servers.to_string());
    let tools = ["tools", "-q", "--config", &file];
    assert_eq!(run(&tools).exit, 0);
    assert_eq!(run(&[&tools[..], &["--server", "a"]].concat()).exit, 0);
    let servers = json!({ "mcpServers": { "a": kitchen(true) } });
    let file = folder.write("servers.json", &servers.to_string());
    let ran = run(&["tools", "--config", &file]);
    assert!(ran.exit == 2 && ran.err.contains("all servers are disabled"), "{ran:?}");
    let ran = run(&["bridge", "--listen", "127.0.0.1:0", "--config", &file]);
    assert!(ran.exit == 2 && ran.err.contains("all servers are disabled"), "{ran:?}");
}

fn wrong_files_of_servers() {
    let folder = Scratch::new("wrong-servers");
    let file = servers(&folder, "mcpServers");
    for (words, err) in [
        (
            &["--config", &file][..],
            "which server? --server names one\n     its servers: kitchen, web",
        ),
        (&["--config", &file, "--server", "kitchn"], "did you mean kitchen?"),
        (&["--config", "/no/such/file"], "cannot be read"),
        (&["--config", &folder.write("list.json", "[]")], "names no servers"),
        (&["--config", &folder.write("text.json", "{")], "is no JSON"),
        (&["--config", &folder.write("a.json", r#"{"servers":{"a":{}}}"#)], "neither `command`"),
        (
            &[
                "--config",
                &folder.write("b.json", r#"{"servers":{"b":{"command":"b","args":"c"}}}"#),
            ],
            "the server \"b\" has `args` that are no array",
        ),
        (
            &[
                "--config",
                &folder.write("c.json", r#"{"servers":{"c":{"command":"c","env":["A=1"]}}}"#),
            ],
            "the server \"c\" has `env` that is no object",
        ),
        (
            &[
                "--config",
                &folder.write("d.json", r#"{"servers":{"d":{"url":"e","headers":"A: 1"}}}"#),
            ],
            "the server \"d\" has `headers` that is no object",
        ),
        (
            &[
                "--config",
                &folder.write("e.json", r#"{"servers":{"e":{"command":"e","env":{"A":1}}}}"#),
            ],
            "the server \"e\" has a value in `env` that is not a string",
        ),
        (
            &["--config", &folder.write("f.json", r#"{"servers":{"f":{"url":"g"}}}"#)],
            "f.json: the server \"f\": \"g\" is not the URL of a server: ",
        ),
        (
            &[
                "--config",
                &folder.write("h.json", r#"{"servers":{"h":{"command":"h","envFile":"/no/e"}}}"#),
            ],
            "the server \"h\" has the `envFile` /no/e: ",
        ),
        (&["--config", &file, "--server", "kitchen", "--header", "A: b"], "--header is for a URL"),
        (
            &["--config", &folder.path("f.json"), "--cwd", "/"],
            "--cwd is for a server that is started here",
        ),
        (&["--config", &file, "--server", "web", "--", "cat"], "there are two servers"),
        (&["--server", "web"], "--config"),
    ] {
        let ran = run(&[&["tools"], words].concat());
        assert!(ran.exit == 2 && ran.err.contains(err), "{words:?}: {ran:?}");
    }
}

fn output_into_a_file() {
    let folder = Scratch::new("out");
    let file = folder.path("stock");
    let ran = with_server("both", &["resource", "read", "-q", "kitchen://stock", "--out", &file]);
    assert_eq!((ran.exit, &*ran.out), (0, ""));
    // As it is, without a line feed.
    assert_eq!(fs::read_to_string(&file).unwrap(), "3 eggs");
    // A command that fails leaves the file as it was.
    let read = |uri: &str| with_server("both", &["resource", "read", "-q", uri, "--out", &file]);
    assert_ne!(read("kitchen://nothing").exit, 0);
    assert_eq!(fs::read_to_string(&file).unwrap(), "3 eggs");
    fs::write(&file, "a longer text").unwrap();
    assert_eq!(read("kitchen://stock").exit, 0);
    assert_eq!(fs::read_to_string(&file).unwrap(), "3 eggs");
    let nowhere = folder.path("no/such/folder");
    assert_eq!(with_server("both", &["tools", "-q", "--out", &nowhere]).exit, 2);
}

fn output_that_cannot_be_written_is_a_failure() {
    #[cfg(target_os = "linux")]
    for words in [&["tools"][..], &["tools", "--json"], &["resource", "read", "kitchen://stock"]] {
        let ran = with_server("both", &[words, &["-q", "--out", "/dev/full"]].concat());
        let err = "mcp: the output cannot be written: No space left on device";
        assert!(ran.exit == 2 && ran.err.starts_with(err), "{words:?}: {ran:?}");
    }
}

fn watch_ends_once_its_reader_is_gone() {
    #[cfg(unix)]
    for kind in PANTRIES {
        let mut watch = Running::start(kind, &["resource", "watch", "--json", "pantry://jars"]);
        assert!(watch.out_line().contains("1 jars"), "{kind}");
        let ran = watch.end_without_reader();
        assert!(ran.exit == 0 && !ran.err.contains("mcp:"), "{kind}: {ran:?}");
    }
}

fn watch_goes_on_with_the_next_server() {
    #[cfg(unix)]
    for (kind, told) in [
        ("mortal", "the connection to the server has ended; connecting again\n"),
        ("legacy mortal", "the connection to the server has ended; connecting again\n"),
        ("polite", "the server has ended the subscription; subscribing again\n"),
    ] {
        let words = ["resource", "watch", "-q", "--changes", "1", "pantry://jars"];
        let ran = with_server(kind, &words);
        assert_eq!((ran.exit, ran.out.matches("1 jar").count()), (0, 2), "{kind}: {ran:?}");
        assert!(ran.err.contains(told), "{kind}: {ran:?}");
    }
}

fn watch_goes_on_with_the_next_server_over_http() {
    // The client opens the stream of a legacy session again by itself.
    for (era, told) in
        [("modern", "subscribing again\n"), ("legacy", "pantry://jars has changed\n")]
    {
        let url = pantry::over_http();
        let words = ["resource", "watch", "--changes", "1", "--era", era, &url, "pantry://jars"];
        let ran = run(&words);
        assert_eq!((ran.exit, ran.out.matches("1 jar").count()), (0, 2), "{era}: {ran:?}");
        assert!(ran.err.contains(told), "{era}: {ran:?}");
    }
}

fn watch_has_a_time_limit_for_its_subscription() {
    let folder = Scratch::new("unanswered-subscription");
    let opened = r#"{"protocolVersion":"2025-11-25","serverInfo":{"name":"s","version":"1"},"capabilities":{"resources":{"subscribe":true}}}"#;
    let recording = folder.write(
        "server.mcp",
        &format!(
            "C> {{\"id\":1,\"method\":\"initialize\"}}\n\
             S> {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{opened}}}\n\
             C> {{\"id\":2,\"method\":\"resources/subscribe\",\"params\":{{\"uri\":\"a:b\"}}}}\n"
        ),
    );
    let start = Instant::now();
    let ran = with_replay(&["resource", "watch", "--timeout", "0.5", "a:b"], &recording);
    assert_eq!((ran.exit, ran.err.contains("has not answered in time")), (6, true), "{ran:?}");
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

fn watch_reads_again_after_an_outage() {
    let folder = Scratch::new("outage");
    let opened = r#"{"protocolVersion":"2025-11-25","serverInfo":{"name":"s","version":"1"},"capabilities":{"resources":{"subscribe":true}}}"#;
    let answered =
        |id, result: &str| format!("S> {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n");
    let asked = |id, method: &str| {
        format!("C> {{\"id\":{id},\"method\":\"{method}\",\"params\":{{\"uri\":\"a:b\"}}}}\n")
    };
    let read = |id, text: &str| {
        answered(id, &format!(r#"{{"contents":[{{"uri":"a:b","text":"{text}"}}]}}"#))
    };
    let updated =
        r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b"}}"#;
    let recording = [
        "C> {\"id\":1,\"method\":\"initialize\"}\n".to_owned(),
        answered(1, opened),
        asked(2, "resources/subscribe"),
        answered(2, "{}"),
        asked(3, "resources/read"),
        read(3, "before"),
        format!("S> {updated}\n"),
        // There is no answer to this request.
        asked(4, "resources/read"),
        asked(5, "resources/read"),
        read(5, "after"),
    ];
    let recording = folder.write("server.mcp", &recording.concat());
    // All other answers come within this time, on a busy machine too.
    let words = ["resource", "watch", "--changes", "1", "--timeout", "10", "a:b"];
    let ran = with_replay(&words, &recording);
    assert_eq!((ran.exit, &*ran.out), (0, "beforeafter\n"), "{ran:?}");
    assert!(ran.err.contains("the server has not answered in time; reading again\n"), "{ran:?}");
}

fn roots() {
    let folder = Scratch::new("a root");
    for kind in PANTRIES {
        let ran = with_server(kind, &["call", "-q", "where", "--root", &folder.path("")]);
        assert!(ran.out.ends_with("a%20root\n") && ran.out.contains("file:///"), "{ran:?}");
        let ran = with_server(kind, &["call", "-q", "where", "--root", "file:///srv"]);
        assert_eq!(&*ran.out, "file:///srv\n");
    }
    for root in ["/no/such/folder", "http://a"] {
        assert_eq!(with_server_in(&[], "both", &["tools", "-q", "--root", root]).exit, 2, "{root}");
    }
    let there = ["call", "-q", "here", "--cwd", &folder.path("")];
    assert!(with_server("pantry", &there).out.trim_end().ends_with("a root"));
}
