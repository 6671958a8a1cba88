//! A client whose credentials are in the keychain of a desktop:
//!
//! ```sh
//! cargo run -p mcp-tokio --example keychain -- https://mcp.example.com/mcp
//! ```
//!
//! The client signs in to the server at the URL, in the browser, and lists its tools; later runs
//! use the stored tokens. `secret-tool` of libsecret stores the records, in GNOME Keyring or
//! `KWallet`; the variable `SECRET_TOOL` can name another program with its arguments. Records go
//! through standard input and output, so that no other user sees them among the arguments. Two
//! processes must not refresh a token at once, so the locks are those of a `FileVault`, in a
//! directory of the user without records. In a shared directory another user could hold the locks.

#![expect(clippy::print_stdout, reason = "the list of tools is its output")]

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;

use mcp_tokio::auth::{AuthFuture, FileVault, Loopback, Secret, SignIn, Vault, VaultLock};
use mcp_tokio::{Client, HttpClientConfig, Implementation, connect_http};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = env::args().nth(1).ok_or("usage: keychain URL")?;
    let vault = Keychain {
        program: env::var_os("SECRET_TOOL").unwrap_or_else(|| "secret-tool".into()),
        locks: FileVault::open(own_directory()?.join("mcp-keychain-locks"))?,
    };
    let client = Client::new(Implementation::new("keychain", env!("CARGO_PKG_VERSION")));
    let sign_in = SignIn::new(vault).consent(Loopback::new());
    connect_http(&client, HttpClientConfig::parse(&url)?.sign_in(sign_in)).await?;
    for tool in client.list_tools().await?.tools {
        println!("{}", tool.name);
    }
    client.close().await;
    Ok(())
}

/// A directory that belongs to the user.
fn own_directory() -> Result<PathBuf, &'static str> {
    // On Windows the directory for temporary files is one of the user.
    if cfg!(windows) {
        return Ok(env::temp_dir());
    }
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || set("HOME").map(|home| home.join(".cache"));
    set("XDG_RUNTIME_DIR").or_else(home).ok_or("XDG_RUNTIME_DIR or HOME must be set")
}

/// Credentials in the keychain.
struct Keychain {
    program: OsString,
    locks: FileVault,
}

impl Keychain {
    /// Runs the program; its standard output, or `None` if it has failed without a message, as for
    /// a key that is not there.
    fn run(&self, verb: &'static str, key: &str, input: Option<String>) -> AuthFuture<Found> {
        let mut command = Command::new(&self.program);
        command.arg(verb);
        if input.is_some() {
            command.arg("--label=MCP credentials");
        }
        command.args(["application", "mcp-keychain", "key", key]).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Box::pin(async move {
            let mut child = command.spawn()?;
            // Closing it is the end of the record.
            if let (Some(mut stdin), Some(record)) = (child.stdin.take(), input) {
                stdin.write_all(record.as_bytes()).await?;
            }
            let output = child.wait_with_output().await?;
            match (output.status.success(), String::from_utf8_lossy(&output.stderr)) {
                (true, _) => Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned())),
                (false, message) if message.is_empty() => Ok(None),
                (false, message) => Err(io::Error::other(message.into_owned())),
            }
        })
    }
}

type Found = io::Result<Option<String>>;

impl Vault for Keychain {
    fn read(&self, key: &str) -> AuthFuture<io::Result<Option<Secret>>> {
        let found = self.run("lookup", key, None);
        Box::pin(async move { Ok(found.await?.map(Secret::new)) })
    }

    fn write(&self, key: &str, record: &Secret) -> AuthFuture<io::Result<()>> {
        let stored = self.run("store", key, Some(record.expose().to_owned()));
        Box::pin(async move {
            stored.await?.map(drop).ok_or_else(|| io::Error::other("the keychain refuses it"))
        })
    }

    fn remove(&self, key: &str) -> AuthFuture<io::Result<()>> {
        let removed = self.run("clear", key, None);
        Box::pin(async move { removed.await.map(drop) })
    }

    fn lock(&self, key: &str) -> AuthFuture<io::Result<VaultLock>> {
        self.locks.lock(key)
    }
}
