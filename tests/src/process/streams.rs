//! Kinds of standard input and output.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{self, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Pipe,
    /// A socket, as Node.js gives to its children.
    Socket,
    File,
    Null,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Pipe => "pipe",
            Self::Socket => "socket",
            Self::File => "file",
            Self::Null => "null",
        }
    }

    /// Standard input of a server, and the client's end. The client's end has `input` in it, and
    /// may take more.
    pub(super) fn input(self, input: &[u8]) -> io::Result<(Stdio, Box<dyn Write + Send>)> {
        Ok(match self {
            Self::Pipe => {
                let (theirs, mut ours) = io::pipe()?;
                ours.write_all(input)?;
                (theirs.into(), Box::new(ours))
            }
            Self::Socket => {
                let (theirs, mut ours) = UnixStream::pair()?;
                ours.write_all(input)?;
                (OwnedFd::from(theirs).into(), Box::new(ours))
            }
            Self::File => {
                let mut file = anonymous_file()?;
                file.write_all(input)?;
                file.rewind()?;
                (file.into(), Box::new(io::sink()))
            }
            Self::Null => (Stdio::null(), Box::new(io::sink())),
        })
    }

    /// Standard output of a server, and the client's end.
    pub(super) fn output(self) -> io::Result<(Stdio, Output)> {
        Ok(match self {
            Self::Pipe => {
                let (ours, theirs) = io::pipe()?;
                (theirs.into(), Output::Stream(Box::new(ours)))
            }
            Self::Socket => {
                let (ours, theirs) = UnixStream::pair()?;
                ours.shutdown(Shutdown::Write)?;
                (OwnedFd::from(theirs).into(), Output::Stream(Box::new(ours)))
            }
            Self::File => {
                let file = anonymous_file()?;
                (file.try_clone()?.into(), Output::File(file))
            }
            Self::Null => (Stdio::null(), Output::Stream(Box::new(io::empty()))),
        })
    }
}

/// Client's end of the output.
pub(super) enum Output {
    Stream(Box<dyn Read + Send>),
    /// It shares its offset with the server's end, so it is read when the server has ended.
    File(File),
}

/// A FIFO that is gone when nobody has it open: its reading end, its writing end, and both in one.
/// `None` where there is no `mkfifo`.
pub(super) fn fifo() -> io::Result<Option<(File, File, File)>> {
    let path = unused_path();
    match Command::new("mkfifo").arg(&path).status() {
        Ok(status) if status.success() => {}
        _ => return Ok(None),
    }
    // With both ends in one, no other open waits for anybody.
    let both = OpenOptions::new().read(true).write(true).open(&path)?;
    let (reader, writer) = (File::open(&path)?, OpenOptions::new().write(true).open(&path)?);
    fs::remove_file(path)?;
    Ok(Some((reader, writer, both)))
}

/// A file that is gone when nobody has it open.
fn anonymous_file() -> io::Result<File> {
    let path = unused_path();
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
    fs::remove_file(path)?;
    Ok(file)
}

fn unused_path() -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    env::temp_dir().join(format!("mcp-tests-{}-{count}", process::id()))
}
