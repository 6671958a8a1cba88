//! Servers on named pipes, also on those whose other end has left before the server starts.

use std::io::{self, Write};

use super::server::Server;
use super::streams::{Kind, Output, fifo};
use super::{Check, Named};

pub(super) const CHECKS: [Named; 4] = [
    ("a_fifo_whose_writer_left_is_read_to_its_end", a_fifo_whose_writer_left),
    ("an_empty_fifo_whose_writer_left_has_ended", an_empty_fifo_whose_writer_left),
    ("a_fifo_whose_writer_leaves_later_is_read_to_its_end", a_fifo_whose_writer_leaves_later),
    ("a_fifo_whose_reader_left_ends_the_server", a_fifo_whose_reader_left),
];

const PING: &[u8] = br#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
const PONG: &str = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;

fn a_fifo_whose_writer_left(server: &str) -> Check {
    let Some((reader, mut writer, both)) = fifo()? else { return Ok(()) };
    writer.write_all(PING)?;
    drop((writer, both));
    let input = (reader.into(), Box::new(io::sink()) as _);
    let server = Server::on(server, input, Kind::Pipe.output()?, false)?;
    assert_eq!(server.end_by_itself()?, [PONG]);
    Ok(())
}

fn an_empty_fifo_whose_writer_left(server: &str) -> Check {
    let Some((reader, writer, both)) = fifo()? else { return Ok(()) };
    drop((writer, both));
    let input = (reader.into(), Box::new(io::sink()) as _);
    let server = Server::on(server, input, Kind::Pipe.output()?, false)?;
    assert_eq!(server.end_by_itself()?, [""; 0]);
    Ok(())
}

fn a_fifo_whose_writer_leaves_later(server: &str) -> Check {
    let Some((reader, writer, both)) = fifo()? else { return Ok(()) };
    drop(both);
    let input = (reader.into(), Box::new(writer) as _);
    let mut server = Server::on(server, input, Kind::Pipe.output()?, false)?;
    server.send_bytes(PING)?;
    server.send_bytes(b"\n")?;
    assert_eq!(server.line()?, PONG);
    assert_eq!(server.end()?, [""; 0]);
    Ok(())
}

fn a_fifo_whose_reader_left(server: &str) -> Check {
    let Some((reader, writer, both)) = fifo()? else { return Ok(()) };
    drop((reader, both));
    let output = (writer.into(), Output::Stream(Box::new(io::empty())));
    let mut server = Server::on(server, Kind::Pipe.input(b"")?, output, false)?;
    server.send_bytes(PING)?;
    server.send_bytes(b"\n")?;
    // A client that is gone is no error, as on other pipes.
    assert_eq!(server.end_by_itself()?, [""; 0]);
    Ok(())
}
