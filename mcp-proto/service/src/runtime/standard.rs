//! Standard input and output, opened by their kind.
//!
//! | kind | read and written by |
//! |---|---|
//! | pipe | [`Runtime::pipe_reader`] and [`Runtime::pipe_writer`] |
//! | socket | [`Runtime::unix_stream`] |
//! | file, terminal, anything else without readiness | a separate thread |

use alloc::boxed::Box;
use core::future::Future;
use std::io;

use mcp_proto::server::Config;

use super::{BlockingReader, BlockingWriter, Runtime, serve};
use crate::{BoxReader, BoxWriter, Catalog, Duplex};

/// Standard input, to read, and standard output, to write.
///
/// Fails if their kind cannot be read, or if the runtime cannot use them.
pub fn standard_stream<R: Runtime>(runtime: &R) -> io::Result<Duplex<BoxReader, BoxWriter>> {
    #[cfg(unix)]
    let (reader, writer) = (unix::reader(runtime)?, unix::writer(runtime)?);
    #[cfg(not(unix))]
    let (reader, writer) = (None, None);
    let _ = runtime;
    Ok(Duplex {
        reader: reader.unwrap_or_else(|| Box::new(BlockingReader::new(io::stdin()))),
        writer: writer.unwrap_or_else(|| Box::new(BlockingWriter::new(io::stdout()))),
    })
}

/// Serves the client at the other end of the [`standard_stream`], as [`serve`] does.
///
/// On Unix the standard streams of the process lead away from the client meanwhile, if they are
/// pipes or sockets. Standard input is empty, and standard output is standard error. Otherwise a
/// program that a handler starts would inherit both: it could read the messages of the client, and
/// its output would be among the messages to the client. The same holds for text that a handler
/// prints. A process may have one such server at a time.
///
/// Fails as [`standard_stream`] and [`serve`] do.
pub async fn serve_stdio<R: Runtime>(
    runtime: &R,
    catalog: impl Into<Catalog>,
    config: Config,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    #[cfg(unix)]
    let _blocking = unix::BlockingStreams::now();
    let stream = standard_stream(runtime)?;
    #[cfg(unix)]
    let _diverted = unix::DivertedStreams::new();
    serve(runtime, catalog, config, stream, stop).await
}

#[cfg(unix)]
mod unix {
    use alloc::boxed::Box;
    use std::fs::{File, OpenOptions};
    use std::io::{self, Write as _};
    use std::os::fd::{AsFd, AsRawFd, OwnedFd};
    use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
    use std::os::unix::net::UnixStream;

    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    use rustix::stdio::{dup2_stdin, dup2_stdout};

    use crate::runtime::Runtime;
    use crate::{BoxReader, BoxWriter};

    const NOTHING: &str = "/dev/null";

    pub(super) fn reader<R: Runtime>(runtime: &R) -> io::Result<Option<BoxReader>> {
        Ok(match Ready::of(&io::stdin(), reopen_to_read)? {
            Some(Ready::Pipe(pipe)) => Some(runtime.pipe_reader(pipe)?),
            Some(Ready::Socket(socket)) => Some(Box::new(runtime.unix_stream(socket)?)),
            None => None,
        })
    }

    pub(super) fn writer<R: Runtime>(runtime: &R) -> io::Result<Option<BoxWriter>> {
        Ok(match Ready::of(&io::stdout(), reopen_to_write)? {
            Some(Ready::Pipe(pipe)) => Some(runtime.pipe_writer(pipe)?),
            Some(Ready::Socket(socket)) => Some(Box::new(runtime.unix_stream(socket)?)),
            None => None,
        })
    }

    /// A standard stream that has readiness.
    enum Ready {
        /// Reopened where the system permits that. Other processes (the shell, a `2>&1`) may share
        /// the inherited file description, and do not expect it to become non-blocking.
        Pipe(File),
        Socket(UnixStream),
    }

    impl Ready {
        fn of(
            stream: &(impl AsFd + AsRawFd),
            reopen: fn(&str) -> io::Result<File>,
        ) -> io::Result<Option<Self>> {
            let file = File::from(stream.as_fd().try_clone_to_owned()?);
            let kind = file.metadata()?.file_type();
            Ok(if kind.is_fifo() {
                let path = alloc::format!("/proc/self/fd/{}", stream.as_raw_fd());
                Some(Self::Pipe(reopen(&path).unwrap_or(file)))
            } else if kind.is_socket() {
                Some(Self::Socket(UnixStream::from(OwnedFd::from(file))))
            } else {
                None
            })
        }
    }

    /// Fails if the pipe cannot be opened to write as well, such as another user's.
    fn reopen_to_read(path: &str) -> io::Result<File> {
        let reader = open(path, File::options().read(true))?;
        // If all writers of a FIFO left before this open, Linux reports the end of input to the
        // new reader only after another writer has come and gone.
        drop(reopen_to_write(path)?);
        Ok(reader)
    }

    /// Fails if a FIFO has no reader left.
    fn reopen_to_write(path: &str) -> io::Result<File> {
        open(path, File::options().write(true))
    }

    /// Opens a pipe, for blocking reads and writes. Opening does not block, as it otherwise would
    /// for a FIFO whose other end has left.
    fn open(path: &str, options: &mut OpenOptions) -> io::Result<File> {
        let file = options.custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
        fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
        Ok(file)
    }

    /// The standard streams that block. A runtime makes them non-blocking, also for processes that
    /// share them: a socket, or a pipe that cannot be reopened. A drop makes them block again.
    pub(super) struct BlockingStreams {
        input: bool,
        output: bool,
    }

    impl BlockingStreams {
        pub(super) fn now() -> Self {
            Self { input: blocks(io::stdin()), output: blocks(io::stdout()) }
        }
    }

    impl Drop for BlockingStreams {
        fn drop(&mut self) {
            if self.input {
                block(io::stdin());
            }
            if self.output {
                block(io::stdout());
            }
        }
    }

    fn blocks(stream: impl AsFd) -> bool {
        fcntl_getfl(stream).is_ok_and(|flags| !flags.contains(OFlags::NONBLOCK))
    }

    fn block(stream: impl AsFd) {
        // An error is ignored: the descriptors are valid.
        let _ = fcntl_getfl(&stream).and_then(|it| fcntl_setfl(&stream, it - OFlags::NONBLOCK));
    }

    /// The standard streams of the process while they lead away from the client. A drop restores
    /// the streams.
    pub(super) struct DivertedStreams {
        input: Option<File>,
        output: Option<File>,
    }

    impl DivertedStreams {
        /// Leads the streams away that have another descriptor while they are served.
        pub(super) fn new() -> Self {
            Self { input: divert_input(), output: divert_output() }
        }
    }

    impl Drop for DivertedStreams {
        fn drop(&mut self) {
            // The descriptors are valid; standard error may be closed.
            let _ = self.input.take().map(dup2_stdin);
            let _ = self.output.take().map(lead_output);
        }
    }

    /// Makes standard input empty; returns the input from the client.
    fn divert_input() -> Option<File> {
        let input = of_client(&io::stdin())?;
        dup2_stdin(File::open(NOTHING).ok()?).ok()?;
        Some(input)
    }

    /// Leads standard output to standard error; returns the output to the client. If both lead to
    /// the client, nothing that is printed is kept.
    fn divert_output() -> Option<File> {
        let output = of_client(&io::stdout())?;
        let place = |file: &File| file.metadata().ok().map(|it| (it.dev(), it.ino()));
        let errors = File::from(io::stderr().as_fd().try_clone_to_owned().ok()?);
        if place(&errors) == place(&output) {
            lead_output(OpenOptions::new().write(true).open(NOTHING).ok()?).ok()?;
        } else {
            lead_output(errors).ok()?;
        }
        Some(output)
    }

    fn of_client(stream: &impl AsFd) -> Option<File> {
        let file = File::from(stream.as_fd().try_clone_to_owned().ok()?);
        let kind = file.metadata().ok()?.file_type();
        (kind.is_fifo() || kind.is_socket()).then_some(file)
    }

    /// Leads standard output to another stream. Text that was printed before goes where it led.
    fn lead_output(to: impl AsFd) -> io::Result<()> {
        io::stdout().flush()?;
        Ok(dup2_stdout(to)?)
    }
}
