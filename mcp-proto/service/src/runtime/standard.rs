//! Standard input and output, opened by their kind.
//!
//! | kind | read and written by |
//! |---|---|
//! | pipe | [`Runtime::pipe_reader`] and [`Runtime::pipe_writer`] |
//! | socket | [`Runtime::unix_stream`] |
//! | file, terminal, anything else without readiness | a separate thread |

use alloc::boxed::Box;
use std::io;

use super::{BlockingReader, BlockingWriter, Runtime};
use crate::{BoxReader, BoxWriter, Duplex};

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

#[cfg(unix)]
mod unix {
    use alloc::boxed::Box;
    use std::fs::{File, OpenOptions};
    use std::io;
    use std::os::fd::{AsFd, AsRawFd, OwnedFd};
    use std::os::unix::fs::FileTypeExt;
    use std::os::unix::net::UnixStream;

    use crate::runtime::Runtime;
    use crate::{BoxReader, BoxWriter};

    pub(super) fn reader<R: Runtime>(runtime: &R) -> io::Result<Option<BoxReader>> {
        Ok(match Ready::of(&io::stdin(), File::options().read(true))? {
            Some(Ready::Pipe(pipe)) => Some(runtime.pipe_reader(pipe)?),
            Some(Ready::Socket(socket)) => Some(Box::new(runtime.unix_stream(socket)?)),
            None => None,
        })
    }

    pub(super) fn writer<R: Runtime>(runtime: &R) -> io::Result<Option<BoxWriter>> {
        Ok(match Ready::of(&io::stdout(), File::options().write(true))? {
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
        fn of(stream: &(impl AsFd + AsRawFd), options: &OpenOptions) -> io::Result<Option<Self>> {
            let file = File::from(stream.as_fd().try_clone_to_owned()?);
            let kind = file.metadata()?.file_type();
            Ok(if kind.is_fifo() {
                let path = alloc::format!("/proc/self/fd/{}", stream.as_raw_fd());
                Some(Self::Pipe(options.open(path).unwrap_or(file)))
            } else if kind.is_socket() {
                Some(Self::Socket(UnixStream::from(OwnedFd::from(file))))
            } else {
                None
            })
        }
    }
}
