//! Parser for challenges, in one pass.
//!
//! In: the values of `WWW-Authenticate`. Out: challenges, within limits.
//!
//! Commas separate challenges, and also the parameters of one challenge. A word before `=` is a
//! parameter of the current challenge. Any other word after a comma is the scheme of the next
//! challenge.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::Challenge;
use crate::headers::is_tchar;

const MAX_CHALLENGES: usize = 16;
const MAX_PARAMS: usize = 32;
const MAX_BYTES: usize = 8 * 1024;

/// Reads the challenges in these values. Skips parts that are unreadable or exceed the limits.
pub(super) fn challenges<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Vec<Challenge> {
    let mut kept = ChallengeReader { challenges: Vec::new(), remaining_bytes: MAX_BYTES };
    for value in values {
        kept.read(Cursor { rest: value });
    }
    kept.challenges
}

struct ChallengeReader {
    challenges: Vec<Challenge>,
    /// Bytes of text that may still be kept.
    remaining_bytes: usize,
}

impl ChallengeReader {
    fn read(&mut self, mut cursor: Cursor<'_>) {
        // `has_challenge`: parameters belong to the last challenge. `may_begin`: a challenge may
        // begin here.
        let mut has_challenge = false;
        let mut may_begin = true;
        loop {
            may_begin |= cursor.separators();
            if cursor.rest.is_empty() {
                return;
            }
            let word = cursor.word();
            let is_whole = cursor.is_at_separator();
            if word.is_empty() {
                cursor.junk();
            } else if cursor.equals() {
                let value = cursor.value();
                if let Some(value) = value.filter(|_| has_challenge) {
                    self.param(word, &value);
                }
            } else if may_begin && is_whole {
                let token = cursor.token68();
                has_challenge = self.challenge(word, token);
            } else {
                cursor.junk();
            }
            may_begin = false;
        }
    }

    /// Adds a challenge. Returns false if there is no room.
    fn challenge(&mut self, scheme: &[u8], token: Option<&[u8]>) -> bool {
        if self.challenges.len() >= MAX_CHALLENGES {
            return false;
        }
        let Some(scheme) = self.text(scheme) else { return false };
        let token = token.and_then(|token| self.text(token));
        self.challenges.push(Challenge { scheme, token, params: Vec::new() });
        true
    }

    fn param(&mut self, name: &[u8], value: &[u8]) {
        if self.challenges.last().is_none_or(|last| last.params.len() >= MAX_PARAMS) {
            return;
        }
        let (Some(name), Some(value)) = (self.text(name), self.text(value)) else { return };
        if let Some(last) = self.challenges.last_mut() {
            last.params.push((name, value));
        }
    }

    fn text(&mut self, text: &[u8]) -> Option<String> {
        let text = String::from_utf8_lossy(text);
        self.remaining_bytes = self.remaining_bytes.checked_sub(text.len())?;
        Some(text.into_owned())
    }
}

/// The unread rest of a value.
struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// Skips blanks and commas; returns whether there was a comma.
    fn separators(&mut self) -> bool {
        self.take(is_separator).contains(&b',')
    }

    fn word(&mut self) -> &'a [u8] {
        self.take(is_tchar)
    }

    fn is_at_separator(&self) -> bool {
        self.rest.first().is_none_or(|byte| is_separator(*byte))
    }

    /// Skips `=` and the blanks around it; returns false if there is no `=`.
    fn equals(&mut self) -> bool {
        let mut ahead = Self { rest: self.rest };
        ahead.take(is_blank);
        let Some((b'=', rest)) = ahead.rest.split_first() else { return false };
        self.rest = rest;
        self.take(is_blank);
        true
    }

    /// The value of a parameter: a quoted string, or a token. The token may contain characters that
    /// need quotes, such as the slashes of a URL.
    fn value(&mut self) -> Option<Cow<'a, [u8]>> {
        if let Some((b'"', rest)) = self.rest.split_first() {
            self.rest = rest;
            let value = self.quoted().map(Cow::Owned);
            if !self.is_at_separator() {
                self.junk();
            }
            return value;
        }
        let value = self.take(|byte| !is_separator(byte));
        (!value.is_empty()).then_some(Cow::Borrowed(value))
    }

    /// Reads a quoted string after its first quote; `None` if the last quote is missing.
    fn quoted(&mut self) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        let mut escaped = false;
        while let Some((byte, rest)) = self.rest.split_first() {
            self.rest = rest;
            match byte {
                b'\\' if !escaped => escaped = true,
                b'"' if !escaped => return Some(text),
                byte => {
                    text.push(*byte);
                    escaped = false;
                }
            }
        }
        None
    }

    /// Reads a `token68`, which a challenge may have in place of parameters, up to a comma or the
    /// end; `None` if parameters follow.
    fn token68(&mut self) -> Option<&'a [u8]> {
        let mut ahead = Self { rest: self.rest };
        ahead.take(is_blank);
        let whole = ahead.rest;
        let letters = ahead.take(is_token68_byte).len();
        let padding = ahead.take(|byte| byte == b'=').len();
        ahead.take(is_blank);
        if letters == 0 || ahead.rest.first().is_some_and(|byte| *byte != b',') {
            return None;
        }
        self.rest = ahead.rest;
        whole.get(..letters + padding)
    }

    /// Skips to the next comma that is not in quotes.
    fn junk(&mut self) {
        loop {
            self.take(|byte| !matches!(byte, b',' | b'"'));
            let Some((b'"', rest)) = self.rest.split_first() else { return };
            self.rest = rest;
            self.quoted();
        }
    }

    fn take(&mut self, is: impl Fn(u8) -> bool) -> &'a [u8] {
        let end = self.rest.iter().position(|byte| !is(*byte)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at_checked(end).unwrap_or_default();
        self.rest = rest;
        taken
    }
}

/// Line ends occur where a server has folded a field.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn is_separator(byte: u8) -> bool {
    byte == b',' || is_blank(byte)
}

fn is_token68_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/')
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::{format, vec};

    /// Challenges as `scheme:token name=[value] …`, with bars between them.
    fn drawn(values: &[&[u8]]) -> String {
        let draw = |challenge: &Challenge| {
            let mut drawn = vec![challenge.scheme.clone()];
            drawn.extend(challenge.token.iter().map(|token| format!(":{token}")));
            let params = challenge.params.iter();
            drawn.extend(params.map(|(name, value)| format!(" {name}=[{value}]")));
            drawn.concat()
        };
        challenges(values.iter().copied()).iter().map(draw).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn challenges_are_read_by_the_grammar() {
        for (value, expected) in [
            ("Basic", "Basic"),
            ("Basic realm=\"simple\"", "Basic realm=[simple]"),
            ("Basic realm=simple", "Basic realm=[simple]"),
            (
                "Newauth realm=\"apps\", type=1, title=\"Login to \\\"apps\\\"\", Basic realm=\"simple\"",
                "Newauth realm=[apps] type=[1] title=[Login to \"apps\"] | Basic realm=[simple]",
            ),
            ("Negotiate, Basic realm=a", "Negotiate | Basic realm=[a]"),
            ("Basic realm=a, Negotiate", "Basic realm=[a] | Negotiate"),
            (
                "Negotiate a87421000492aa874209af8bc028==",
                "Negotiate:a87421000492aa874209af8bc028==",
            ),
            ("NTLM aA-._~+/0= , Basic realm=x", "NTLM:aA-._~+/0= | Basic realm=[x]"),
            ("Bearer realm=", "Bearer:realm="),
            ("Bearer a=b", "Bearer a=[b]"),
            ("Bearer a=\"b,c\", d=\"e=f\"", "Bearer a=[b,c] d=[e=f]"),
            ("Bearer a=\"\\\\\\a\\\",\"", "Bearer a=[\\a\",]"),
            ("Bearer a=\"\"", "Bearer a=[]"),
            ("Bearer a = b ,c\t=\t\"d\"", "Bearer a=[b] c=[d]"),
            (", ,Basic ,, a=b, ,", "Basic a=[b]"),
            ("A,B,C", "A | B | C"),
            ("A a=1,B b=2,c=3", "A a=[1] | B b=[2] c=[3]"),
            ("", ""),
            (" ,\t", ""),
        ] {
            assert_eq!(drawn(&[value.as_bytes()]), expected, "{value}");
        }
        assert_eq!(drawn(&[b"A a=1", b"B", b"C c"]), "A a=[1] | B | C:c");
    }

    #[test]
    fn what_cannot_be_read_is_skipped() {
        for (value, expected) in [
            // Parameters without a challenge.
            ("a=b, Basic c=d", "Basic c=[d]"),
            ("realm=\"a, Basic b=c\"", ""),
            // Values that should be in quotes.
            (
                "Bearer resource_metadata=https://a/b?c=d, e=f",
                "Bearer resource_metadata=[https://a/b?c=d] e=[f]",
            ),
            ("Bearer realm=My Site, error=x", "Bearer realm=[My] error=[x]"),
            // Missing commas.
            ("Bearer a=\"b\" c=\"d\"", "Bearer a=[b] c=[d]"),
            ("Bearer a=\"b\"c, d=e", "Bearer a=[b] d=[e]"),
            ("Bearer Basic realm=x, y=z", "Bearer y=[z]"),
            // Missing values.
            ("Bearer a=b, c=, d=e", "Bearer a=[b] d=[e]"),
            ("Bearer realm=, a=b", "Bearer:realm= a=[b]"),
            ("Bearer a=b, c=\"d, Basic e=f", "Bearer a=[b]"),
            // Other junk.
            ("Bearer: a=b, Basic c=d", "Basic c=[d]"),
            ("\"Basic a=b, \" Digest, Basic", "Basic"),
            ("@, (a, b), Basic a=b, =c, d=e", "Basic a=[b] d=[e]"),
            ("Bearer a=\"\u{e9}\"", "Bearer a=[\u{e9}]"),
            ("\u{e9}, Basic", "Basic"),
            ("Bearer\r\n a=b,\r\n\tc=d", "Bearer a=[b] c=[d]"),
        ] {
            assert_eq!(drawn(&[value.as_bytes()]), expected, "{value}");
        }
        assert_eq!(drawn(&[b"Bearer a=\"\xff\", \xff=b, c=d"]), "Bearer a=[\u{fffd}] c=[d]");
        // An unterminated quote in one field does not affect the next field.
        assert_eq!(drawn(&[b"Bearer a=\"b", b"c=d", b"Basic e=f"]), "Bearer | Basic e=[f]");
    }

    #[test]
    fn it_is_bounded() {
        let schemes = (0..20).map(|n| format!("S{n} a={n}")).collect::<Vec<_>>().join(", ");
        let read = challenges([schemes.as_bytes()]);
        assert_eq!(read.len(), MAX_CHALLENGES);
        let last = [("a".to_string(), "15".to_string())];
        assert_eq!(read.last().map(|last| &last.params[..]), Some(&last[..]));

        let params = (0..40).map(|n| format!("p{n}={n}")).collect::<Vec<_>>().join(", ");
        let value = format!("A {params}, B {params}");
        let counts =
            challenges([value.as_bytes()]).iter().map(|c| c.params.len()).collect::<Vec<_>>();
        assert_eq!(counts, [MAX_PARAMS, MAX_PARAMS]);

        // A parameter that does not fit is skipped; a later parameter that fits is kept.
        let value =
            format!("A a={}, b={}, c={}", "x".repeat(5000), "y".repeat(5000), "z".repeat(3000));
        assert_eq!(
            challenges([value.as_bytes()])[0]
                .params
                .iter()
                .map(|(name, _)| name.as_str())
                .collect::<Vec<_>>(),
            ["a", "c"]
        );
        let value = vec![0xff; 9000];
        let value = [&b"A a=\""[..], &value, b"\", ", &vec![b'B'; 9000], b" b=c"].concat();
        assert_eq!(drawn(&[&value]), "A");
    }

    /// The time is linear in the repetitions; quadratic time would take hours.
    #[test]
    fn it_is_linear() {
        for part in
            ["\"\\", "\\\"", "a ", "a=", "a=\"", ",", "=", " ", "a,", "a =", "\"a\"", "a==", "/"]
        {
            for start in ["", "A ", "A a=", "A a=\""] {
                let value = format!("{start}{}", part.repeat(1_000_000 / part.len()));
                assert!(challenges([value.as_bytes()]).len() <= MAX_CHALLENGES);
            }
        }
    }
}
