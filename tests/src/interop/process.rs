//! A server over HTTP as a child process.
//!
//! In: its command, which reads its port from PORT, 0 for any, and tells of its URL on standard
//! error. Out: the URL, and what else it writes.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;

use super::Outcome;
use super::observe::Observed;

pub(super) struct Process {
    command: Vec<String>,
    url: String,
    child: Child,
}

impl Process {
    /// Starts a server, and waits until it listens.
    pub(super) fn start(command: &[String], observed: &Observed) -> Outcome<Self> {
        let (child, url) = start(command, "0", observed)?;
        Ok(Self { command: command.to_vec(), url, child })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn has_ended(&mut self) -> Outcome<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// Ends the server without a word, and starts it anew where it was.
    pub(super) fn restart(&mut self, observed: &Observed) -> Outcome {
        self.end()?;
        let authority = self.url.split('/').nth(2);
        let port = authority.and_then(|authority| authority.rsplit(':').next());
        let url;
        (self.child, url) = start(&self.command, port.ok_or("its URL has no port")?, observed)?;
        super::equal("its URL", &url, &self.url)
    }

    /// Ends the server without a word.
    pub(super) fn end(&mut self) -> Outcome {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

/// However a run ends, its server does.
impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.end());
    }
}

/// The process, and its URL. A thread reads what it writes, as long as it does.
fn start(command: &[String], port: &str, observed: &Observed) -> Outcome<(Child, String)> {
    let [program, arguments @ ..] = command else { return Err("there is no command".into()) };
    let mut child = Command::new(program)
        .args(arguments)
        .env("PORT", port)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let stderr = child.stderr.take().ok_or("its standard error is not read")?;
    let observed = observed.clone();
    let (listening, urls) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            match line.strip_prefix("listening on ") {
                // Nobody waits for a second one.
                Some(url) => drop(listening.send(url.to_owned())),
                None => observed.line(&line),
            }
        }
    });
    if let Ok(url) = urls.recv() {
        return Ok((child, url));
    }
    child.kill()?;
    child.wait()?;
    Err("it does not listen".into())
}
