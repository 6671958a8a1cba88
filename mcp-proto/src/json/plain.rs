//! Plain text of JSON strings: bytes that are neither a quote, a backslash nor a control, and so
//! need no escape in a string.

/// Number of bytes that one step of arithmetic checks.
const WORD: usize = 8;

/// Number of bytes that vector instructions check.
const BLOCK: usize = 32;

/// Number of bytes that vector instructions check in a long text.
const LONG_BLOCK: usize = 128;

/// Exchanges quotes and spaces, and controls with each other: one comparison finds both.
const FLIP: u8 = b'"' ^ b' ';

/// Position of the first byte from `start` on that is not plain, or the length of the text.
#[inline]
pub(super) fn first_special(bytes: &[u8], start: usize) -> usize {
    // Most strings are short.
    match next(bytes, start, in_word) {
        Some(plain @ ..WORD) => start + plain,
        Some(_) => first_special_later(bytes, start, start + WORD),
        None => first_special_later(bytes, start, start),
    }
}

/// The same for a text that is plain from `start` to `at`. With words alone, a text of 33 bytes
/// takes
/// 1.5 times and a text of 1 MB five times as many instructions.
#[inline(never)]
fn first_special_later(bytes: &[u8], start: usize, mut at: usize) -> usize {
    while let Some(plain) = next(bytes, at, in_block) {
        at += plain;
        if plain < BLOCK {
            return at;
        }
        while at - start > LONG_BLOCK && next(bytes, at, is_plain) == Some(true) {
            at += LONG_BLOCK;
        }
    }
    while let Some(plain) = next(bytes, at, in_word) {
        at += plain;
        if plain < WORD {
            return at;
        }
    }
    // The last word overlaps plain text.
    let last = bytes.len().saturating_sub(WORD);
    if last > start && at > last {
        return last + next(bytes, last, in_word).unwrap_or_default();
    }
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| special_flag(**byte) == 0).count()
}

/// The result of `look` for the `N` bytes from `at` on; `None` if there are fewer.
fn next<T, const N: usize>(bytes: &[u8], at: usize, look: fn(&[u8; N]) -> T) -> Option<T> {
    bytes.get(at..)?.first_chunk().map(look)
}

/// Number of plain bytes at the start of a word.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "`next` calls it with a reference")]
fn in_word(word: &[u8; WORD]) -> usize {
    const HIGH: u64 = u64::from_le_bytes([0x80; WORD]);
    const FLIPS: u64 = u64::from_le_bytes([FLIP; WORD]);
    const AFTER_BLANKS: u64 = u64::from_le_bytes([b' ' + 1; WORD]);
    const BACKSLASHES: u64 = u64::from_le_bytes([b'\\'; WORD]);
    const ONES: u64 = u64::from_le_bytes([1; WORD]);
    // The high bit of each byte below `limits`; false positives only above a true one.
    let below = |word: u64, limits: u64| word.wrapping_sub(limits) & !word;
    let word = u64::from_le_bytes(*word);
    let special = (below(word ^ FLIPS, AFTER_BLANKS) | below(word ^ BACKSLASHES, ONES)) & HIGH;
    zero_bytes(special)
}

/// Number of plain bytes at the start of a block. The compiler makes vector instructions of the
/// loop over its bytes.
fn in_block(block: &[u8; BLOCK]) -> usize {
    let mut flags = [0; BLOCK];
    for (flag, byte) in flags.iter_mut().zip(*block) {
        *flag = special_flag(byte);
    }
    let (words, _) = flags.as_chunks::<WORD>();
    let mut at = 0;
    for word in words {
        let plain = zero_bytes(u64::from_le_bytes(*word));
        at += plain;
        if plain < WORD {
            break;
        }
    }
    at
}

/// Number of bytes that are zero at the start of a word.
fn zero_bytes(word: u64) -> usize {
    (word.trailing_zeros() / 8) as usize
}

/// Returns whether all bytes are plain; for long text, in a third of the instructions. The minima
/// take 4 % less of an echo of 1 MB than [`special_flag`].
fn is_plain(block: &[u8; LONG_BLOCK]) -> bool {
    let (low, backslash) = block.iter().fold((u8::MAX, u8::MAX), |(low, backslash), byte| {
        (low.min(byte ^ FLIP), backslash.min(byte ^ b'\\'))
    });
    low > b' ' && backslash > 0
}

/// 1 for a byte that a string cannot contain unescaped, 0 for all others. Without branches, so that
/// a loop over bytes can be made of vector instructions.
fn special_flag(byte: u8) -> u8 {
    u8::from(byte == b'"') | u8::from(byte == b'\\') | u8::from(byte < b' ')
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn text_is_plain_up_to_a_special_byte_anywhere_in_words_and_blocks() {
        for special in [b'"', b'\\', 0x00, 0x1f] {
            for (before, after) in (0..350).flat_map(|before| [(before, 0), (before, 100)]) {
                let mut text = vec![0xC3; before];
                text.push(special);
                text.extend(vec![b'x'; after]);
                for start in [0, before / 2, before] {
                    assert_eq!(first_special(&text, start), before, "{special:#x} from {start}");
                }
            }
        }
        for length in 0..350 {
            assert_eq!(first_special(&vec![0x7f; length], 0), length);
            assert_eq!(first_special(&vec![0x7f; length], length), length);
        }
    }

    #[test]
    fn all_bytes_but_quotes_backslashes_and_controls_are_plain() {
        for byte in 0..=u8::MAX {
            let is_special = byte < b' ' || byte == b'"' || byte == b'\\';
            let flag = special_flag(byte) == 1;
            let word = in_word(&[byte; WORD]) < WORD;
            let block = !is_plain(&[byte; LONG_BLOCK]);
            assert_eq!([flag, word, block], [is_special; 3], "{byte:#x}");
        }
    }
}
