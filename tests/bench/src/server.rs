//! A server's process, from the line that tells where it listens to its end.

use std::error::Error;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, Stdio};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

pub struct Server {
    child: Child,
    stderr: BufReader<ChildStderr>,
    address: String,
}

impl Server {
    pub fn start(command: &[String]) -> Result<Self> {
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut stderr = BufReader::new(child.stderr.take().ok_or("no stderr")?);
        let mut line = String::new();
        stderr.read_line(&mut line)?;
        let address = line
            .trim_end()
            .strip_prefix("listening on http://")
            .and_then(|rest| rest.strip_suffix("/mcp"))
            .ok_or_else(|| format!("the server says: {line}"))?;
        let address = address.to_owned();
        Ok(Self { child, stderr, address })
    }

    /// Host and port.
    pub fn address(&self) -> &str {
        &self.address
    }

    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Ends it and expects that it has nothing to complain about.
    pub fn stop(mut self) -> Result<()> {
        Command::new("kill").args(["-TERM", &self.process().to_string()]).status()?;
        self.child.wait()?;
        // Who watches it, such as strace, holds the other end until it has written down what it
        // saw.
        let mut complaints = String::new();
        self.stderr.read_to_string(&mut complaints)?;
        if complaints.is_empty() { Ok(()) } else { Err(format!("on stderr: {complaints}").into()) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended already unless something failed, which is what to tell of.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
