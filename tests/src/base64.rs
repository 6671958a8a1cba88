//! URL-safe Base64 without padding, by other means than the library's.

/// The alphabet.
pub const SYMBOLS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The one text that strict readers accept for these bytes.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = [16, 8, 0]
            .iter()
            .zip(chunk)
            .fold(0, |bits, (shift, byte)| bits | u32::from(*byte) << shift);
        for shift in [18, 12, 6, 0].iter().take(chunk.len() + 1) {
            let symbol = SYMBOLS.get((bits >> shift & 63) as usize);
            text.extend(symbol.map(|symbol| char::from(*symbol)));
        }
    }
    text
}

/// The bytes of a text, as far as it goes; what is left of the last symbol is not looked at.
pub fn decode(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for symbol in text.bytes() {
        let Some(value) = SYMBOLS.iter().position(|known| *known == symbol) else { break };
        bits = bits << 6 | u32::try_from(value).unwrap_or(0);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.extend(u8::try_from(bits >> count & 0xff));
        }
    }
    bytes
}
