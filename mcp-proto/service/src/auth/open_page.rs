//! Opening of pages in the user's browser.

use alloc::format;
use std::process::{Command, Stdio};
use std::sync::mpsc::sync_channel;
use std::time::Duration;
use std::{env, io};

use mcp_proto::http::Url;

use crate::runtime::spawn;

/// The time in which a program that cannot show a page has failed. `xdg-open` without a display
/// needs 0.1 s; on some systems it runs as long as the browser.
const FAILS_WITHIN: Duration = Duration::from_secs(1);

/// Opens a page in the user's browser, with `xdg-open`, `open` or `rundll32`. The URL is passed as
/// one argument, without a shell. Blocks for at most 1 s. Success does not mean that a browser has
/// opened.
///
/// # Errors
///
/// The error of the system if the program cannot be started. An error with the exit status if the
/// program fails within 1 s, as on a machine without a browser; except on Windows, and where the
/// variable `BROWSER` is set.
#[expect(clippy::disallowed_methods, reason = "it concerns the programs of the system")]
pub fn open_page(url: &Url) -> io::Result<()> {
    let mut command = if cfg!(target_os = "macos") {
        Command::new("open")
    } else if cfg!(windows) {
        let mut command = Command::new("rundll32");
        command.arg("url.dll,FileProtocolHandler");
        command
    } else {
        Command::new("xdg-open")
    };
    command.arg(url.as_str());
    // `rundll32`, and `explorer.exe` as the browser within WSL, fail although the page opens.
    let is_clear = !cfg!(windows) && env::var_os("BROWSER").is_none();
    run(command, is_clear.then_some(FAILS_WITHIN))
}

/// Starts a program; fails if the program fails within this time.
fn run(mut command: Command, fails_within: Option<Duration>) -> io::Result<()> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let (ended, end) = sync_channel(1);
    // The thread reaps the process, which may run as long as the browser. Without a thread the page
    // is open all the same.
    let _ = spawn(move || drop(ended.send(child.wait())));
    match fails_within.map(|time| end.recv_timeout(time)) {
        Some(Ok(Ok(status))) if !status.success() => {
            let program = command.get_program().to_string_lossy();
            Err(io::Error::other(format!("{program} cannot open a browser ({status})")))
        }
        Some(Ok(_) | Err(_)) | None => Ok(()),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_fails_at_once_is_an_error() {
        let with_status = |status: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", &format!("exit {status}")]);
            run(command, Some(Duration::from_secs(60)))
        };
        let error = with_status("3").unwrap_err();
        assert_eq!(format!("{error}"), "sh cannot open a browser (exit status: 3)");
        assert!(with_status("0").is_ok());
    }
}
