//! The body of a message.
//!
//! In: bytes, and the framing from the head. Out: the data, as slices of the input. Extensions of
//! chunks and the fields of a trailer are checked and dropped, because nothing here needs them. A
//! trailer that was merged into the head could change decisions that depend on the head.
//!
//! [RFC 9112, section 7.1](https://www.rfc-editor.org/rfc/rfc9112#section-7.1)

use bytes::Bytes;

use super::bounds::Bounds;
use super::buffer::Buffer;
use super::fields::check_field;
use super::refusal::Refusal;
use super::syntax::is_field_text;

/// The maximum length of the line before a chunk, in bytes.
const MAX_CHUNK_LINE: usize = 1024;

/// Framing of a message body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BodyKind {
    /// The message has no body.
    None,
    /// The body has this many bytes.
    Length(u64),
    /// The body consists of chunks, and its length is unknown.
    Chunked,
    /// The end of the connection ends the body. Only responses have such bodies.
    Close,
}

impl BodyKind {
    /// Returns whether the body is empty.
    pub fn is_empty(self) -> bool {
        matches!(self, Self::None | Self::Length(0))
    }

    /// Returns whether the body is not empty, and not known to be too long.
    pub(super) fn is_wanted(self, bounds: &Bounds) -> bool {
        match self {
            Self::None => false,
            Self::Length(length) => (1..=bounds.max_body_bytes).contains(&length),
            Self::Chunked | Self::Close => true,
        }
    }
}

/// Read position in a body.
#[derive(Debug)]
pub(super) enum BodyDecoder {
    /// This many bytes follow.
    Length(u64),
    /// Chunks with a total of `total` bytes have begun.
    Chunked { total: u64, place: ChunkPosition },
    /// All bytes up to the end of the connection.
    Close,
}

#[derive(Debug)]
pub(super) enum ChunkPosition {
    /// Before a chunk.
    Size,
    /// This many bytes of a chunk follow.
    Data(u64),
    /// After the data of a chunk.
    DataEnd,
    /// After the last chunk; this much of the trailer was read.
    Trailer { bytes: usize, fields: usize },
}

/// Next piece of a body: data, or its end.
pub(super) enum Piece {
    Data(Bytes),
    End,
}

impl BodyDecoder {
    pub(super) fn new(kind: BodyKind) -> Self {
        match kind {
            BodyKind::None => Self::Length(0),
            BodyKind::Length(length) => Self::Length(length),
            BodyKind::Chunked => Self::Chunked { total: 0, place: ChunkPosition::Size },
            BodyKind::Close => Self::Close,
        }
    }

    /// Takes the whole body, if its length is known, it is not too long, and it has arrived.
    pub(super) fn take_whole(&self, buffer: &mut Buffer, bounds: &Bounds) -> Option<Bytes> {
        let Self::Length(length) = self else { return None };
        if *length > bounds.max_body_bytes {
            return None;
        }
        let length = usize::try_from(*length).ok()?;
        (buffer.len() >= length).then(|| buffer.take(length))
    }

    /// Reads the next piece. Returns `None` if more bytes are needed.
    pub(super) fn next(
        &mut self,
        buffer: &mut Buffer,
        bounds: &Bounds,
    ) -> Result<Option<Piece>, Refusal> {
        let (total, place) = match self {
            Self::Length(0) => return Ok(Some(Piece::End)),
            Self::Length(left) if *left > bounds.max_body_bytes => {
                return Err(bounds.body_too_long());
            }
            Self::Length(left) => return Ok(take(left, buffer)),
            Self::Chunked { total, place } => (total, place),
            Self::Close => return Ok(take(&mut { u64::MAX }, buffer)),
        };
        loop {
            match place {
                ChunkPosition::Size => {
                    let Some(size) = chunk_size(buffer)? else { return Ok(None) };
                    *total = total.saturating_add(size);
                    if *total > bounds.max_body_bytes {
                        return Err(bounds.body_too_long());
                    }
                    *place = match size {
                        0 => ChunkPosition::Trailer { bytes: 0, fields: 0 },
                        size => ChunkPosition::Data(size),
                    };
                }
                ChunkPosition::Data(0) => *place = ChunkPosition::DataEnd,
                ChunkPosition::Data(left) => return Ok(take(left, buffer)),
                ChunkPosition::DataEnd => match buffer.bytes() {
                    [] | [b'\r'] => return Ok(None),
                    [b'\r', b'\n', ..] => {
                        buffer.skip(2);
                        *place = ChunkPosition::Size;
                    }
                    _ => return Err(Refusal::ChunkEnd),
                },
                ChunkPosition::Trailer { bytes, fields } => {
                    return Ok(trailer(buffer, bytes, fields, bounds)?.then_some(Piece::End));
                }
            }
        }
    }
}

/// Takes buffered data, at most `left` bytes, and subtracts its length from `left`.
fn take(left: &mut u64, buffer: &mut Buffer) -> Option<Piece> {
    let data = buffer.take(usize::try_from(*left).unwrap_or(usize::MAX));
    *left = left.saturating_sub(data.len() as u64);
    (!data.is_empty()).then_some(Piece::Data(data))
}

/// Takes the line before a chunk, and reads the size.
fn chunk_size(buffer: &mut Buffer) -> Result<Option<u64>, Refusal> {
    let Some(line_feed) = buffer.find_line_feed(MAX_CHUNK_LINE) else {
        let fits = buffer.len() < MAX_CHUNK_LINE;
        return if fits { Ok(None) } else { Err(Refusal::ChunkExtension) };
    };
    let line = buffer.bytes().get(..line_feed).unwrap_or_default();
    let line = line.strip_suffix(b"\r").ok_or(Refusal::BareLineFeed)?;
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let (digits, extensions) = line.split_at_checked(digits).unwrap_or_default();
    if digits.is_empty() {
        return Err(Refusal::ChunkSize);
    }
    let mut size = 0_u64;
    for digit in digits {
        let digit = char::from(*digit).to_digit(16).unwrap_or_default();
        size = size.checked_mul(16).ok_or(Refusal::ChunkSize)? | u64::from(digit);
    }
    check_extensions(extensions)?;
    buffer.skip(line_feed + 1);
    Ok(Some(size))
}

/// Checks chunk extensions, which begin with a semicolon after optional whitespace.
fn check_extensions(extensions: &[u8]) -> Result<(), Refusal> {
    if extensions.is_empty() {
        return Ok(());
    }
    let blanks = extensions.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    if extensions.get(blanks) != Some(&b';') {
        return Err(Refusal::ChunkSize);
    }
    if is_field_text(extensions) { Ok(()) } else { Err(Refusal::ChunkExtension) }
}

/// Skips the fields of a trailer, and counts them in `bytes` and `fields`; returns whether the
/// trailer has ended.
fn trailer(
    buffer: &mut Buffer,
    bytes: &mut usize,
    fields: &mut usize,
    bounds: &Bounds,
) -> Result<bool, Refusal> {
    let max_head_bytes = bounds.max_head_bytes;
    loop {
        let max = max_head_bytes.saturating_sub(*bytes);
        let Some(line_feed) = buffer.find_line_feed(max) else {
            let fits = buffer.len() < max;
            return if fits { Ok(false) } else { Err(Refusal::TrailerTooLong { max_head_bytes }) };
        };
        let line = buffer.bytes().get(..line_feed).unwrap_or_default();
        match line.strip_suffix(b"\r").ok_or(Refusal::BareLineFeed)? {
            [] => {
                buffer.skip(line_feed + 1);
                return Ok(true);
            }
            _ if *fields >= bounds.max_fields => {
                return Err(Refusal::TooManyFields { max_fields: bounds.max_fields });
            }
            line => check_field(line)?,
        }
        buffer.skip(line_feed + 1);
        *bytes += line_feed + 1;
        *fields += 1;
    }
}
