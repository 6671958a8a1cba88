//! Opening of pages in the user's browser.

use std::io;
use std::process::{Command, Stdio};

use mcp_proto::http::Url;

use crate::runtime::spawn;

/// Opens a page in the user's browser, with `xdg-open`, `open` or `rundll32`. The URL is passed as
/// one argument, without a shell. Success does not mean that a browser has opened.
///
/// # Errors
///
/// The error of the system if the program cannot be started.
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
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    // The thread reaps the process, which may run as long as the browser. Without a thread the page
    // is open all the same.
    let _ = spawn(move || drop(child.wait()));
    Ok(())
}
