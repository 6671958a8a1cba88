//! The examples that are clients, run as they are: what their first lines promise holds.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use mcp_tests::examples;
use tokio::process::Command;

#[tokio::test]
async fn an_agent_mends_its_call_and_asks_the_user() {
    let shown = agent(&[]).await;
    assert_eq!(
        shown.lines().collect::<Vec<_>>(),
        [
            r#"the model calls find {"subject":"whales"}"#,
            "the tool fails: The arguments do not fit the input schema: /topic: is required",
            r#"the model calls find {"topic":"whales"}"#,
            "the tool says: Moby-Dick",
            "The Whale Rider",
            r#"the model calls lend {"title":"Moby-Dick"}"#,
            "the server asks: For how many days is Moby-Dick lent?",
            "the tool says: You have Moby-Dick for 14 days.",
            "You have Moby-Dick for 14 days.",
        ]
    );
}

#[tokio::test]
async fn an_agent_whose_user_declines_lends_nothing() {
    let shown = agent(&["decline"]).await;
    assert!(shown.contains("the server asks: For how many days is Moby-Dick lent?"), "{shown}");
    assert_eq!(shown.lines().last(), Some("Moby-Dick stays here."));
}

async fn agent(arguments: &[&str]) -> String {
    let program = examples::path("mcp-tokio", "agent").unwrap();
    let done = Command::new(program).args(arguments).output().await.unwrap();
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).unwrap()
}

#[cfg(unix)]
mod tool_host {
    use std::path::Path;
    use std::process::Stdio;
    use std::time::Duration;
    use std::{env, fs, process};

    use mcp_tokio::{HttpConfig, Implementation, Registry, serve_http};
    use rustix::process::{Pid, Signal, kill_process};
    use serde_json::json;
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
    use tokio::net::TcpListener;
    use tokio::process::{Child, ChildStdin, ChildStdout};

    use super::*;

    #[tokio::test]
    async fn a_host_has_the_tools_of_all_servers_that_it_reaches() {
        let mut host = Host::start("all").await;
        host.send("list").await;
        for expected in [
            "echo__echo: Echoes its message",
            "remote__forecast: Tells yesterday's weather",
            "weather__forecast: Tells tomorrow's weather",
        ] {
            assert_eq!(host.line().await, expected);
        }
        for (call, expected) in [
            (r#"weather__forecast {"city": "Oslo"}"#, "Rain in Oslo."),
            ("remote__forecast {}", "It was fine."),
            (r#"echo__echo {"message": "x"}"#, "x"),
            ("forecast {}", "error: there is no tool forecast"),
            ("missing__x {}", "error: there is no tool missing__x"),
            ("odd__name__echo {}", "error: there is no tool odd__name__echo"),
            ("echo__echo {", "error: EOF while parsing an object at line 1 column 1"),
            (
                "echo__echo {}",
                "failed: The arguments do not fit the input schema: /message: is required",
            ),
        ] {
            host.send(&format!("call {call}")).await;
            assert_eq!(host.line().await, expected, "{call}");
        }
        host.end().await;
    }

    #[tokio::test]
    async fn a_server_that_has_died_is_started_again() {
        let mut host = Host::start("died").await;
        for _ in 0..2 {
            let pid = host.pid().await;
            kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
            host.send(r#"call weather__forecast {"city": "Oslo"}"#).await;
            assert_eq!(host.line().await, "Rain in Oslo.");
            assert_ne!(host.pid().await, pid);
        }
        let pid = host.pid().await;
        host.end().await;
        // The host has ended its servers.
        assert!(kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).is_err());
    }

    struct Host {
        child: Child,
        stdin: ChildStdin,
        lines: Lines<BufReader<ChildStdout>>,
        folder: std::path::PathBuf,
    }

    impl Host {
        async fn start(name: &str) -> Self {
            let folder = env::temp_dir().join(format!("tool-host-{}-{name}", process::id()));
            fs::create_dir_all(&folder).unwrap();
            let program = |name| examples::path("mcp-tokio", name).unwrap();
            let file = folder.join("servers.json");
            // The shell becomes the server, whose process id it has written.
            let command = r#"echo $$ > "$0"; exec "$1""#;
            let servers = json!({"mcpServers": {
                "weather": {
                    "command": "sh",
                    "args": ["-c", command, folder.join("pid"), program("weather")],
                },
                "echo": {"command": program("echo"), "args": ["stdio"], "env": {"X": "1"}},
                "odd__name": {"command": program("echo"), "args": ["stdio"]},
                "missing": {"command": "/no/such/program"},
                "remote": {"url": remote().await, "headers": {"X-Key": "1"}},
            }});
            fs::write(&file, servers.to_string()).unwrap();
            let mut command = Command::new(program("tool_host"));
            command.arg(file).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
            let mut child = command.spawn().unwrap();
            let lines = BufReader::new(child.stdout.take().unwrap()).lines();
            Self { stdin: child.stdin.take().unwrap(), child, lines, folder }
        }

        async fn send(&mut self, line: &str) {
            self.stdin.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        }

        async fn line(&mut self) -> String {
            let line = tokio::time::timeout(Duration::from_secs(60), self.lines.next_line());
            line.await.unwrap().unwrap().unwrap()
        }

        /// The process id of `weather`, once it is there.
        async fn pid(&mut self) -> i32 {
            self.send(r#"call weather__forecast {"city": "x"}"#).await;
            assert_eq!(self.line().await, "Rain in x.");
            read_pid(&self.folder.join("pid"))
        }

        async fn end(mut self) {
            drop(self.stdin);
            assert!(self.child.wait().await.unwrap().success());
            fs::remove_dir_all(&self.folder).unwrap();
        }
    }

    fn read_pid(file: &Path) -> i32 {
        fs::read_to_string(file).unwrap().trim().parse().unwrap()
    }

    /// A server over HTTP, with a tool of the same name.
    async fn remote() -> String {
        #[derive(serde::Deserialize, schemars::JsonSchema)]
        struct Nothing {}
        let mut registry = Registry::new(Implementation::new("remote", "1.0.0"));
        let forecast = |_: Nothing, _| async { "It was fine." };
        registry.tool("forecast", "Tells yesterday's weather", forecast).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        tokio::spawn(serve_http(listener, registry, HttpConfig::default()));
        url
    }
}
