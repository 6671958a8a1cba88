//! URIs of skills and of their files.
//!
//! In: a URI. Out: the directory and the name of the skill, or the rule that the URI breaks. A path
//! cannot leave its directory, not even by percent-encoding.

use alloc::string::String;

use super::{SKILL_FILE, SkillError};
use crate::url::{is_scheme, percent};

/// The maximum bytes of a URI.
const MAX_URI: usize = 2048;

/// The directory of the skill whose `SKILL.md` has this URI, and the skill's name.
pub(super) fn skill(uri: &str) -> Result<(&str, &str), SkillError> {
    let invalid = |reason| SkillError::InvalidUri { uri: uri.into(), reason };
    if uri.len() > MAX_URI {
        return Err(invalid("it is longer than 2048 bytes"));
    }
    let directory = uri.strip_suffix(SKILL_FILE).and_then(|rest| rest.strip_suffix('/'));
    let directory = directory.ok_or_else(|| invalid("it must end in /SKILL.md"))?;
    let (scheme, path) =
        directory.split_once("://").ok_or_else(|| invalid("it must have a scheme and ://"))?;
    if !is_scheme(scheme) {
        return Err(invalid("its scheme has characters that none may have"));
    }
    let (authority, rest) =
        path.split_once('/').map_or((path, None), |(it, rest)| (it, Some(rest)));
    // Other schemes, such as `file`, may have no authority.
    let is_other = || authority.is_empty() || is_path(authority);
    if !(if scheme == "skill" { is_reg_name(authority) } else { is_other() }) {
        return Err(invalid("its first segment must be a registered name"));
    }
    if !rest.is_none_or(is_path) {
        return Err(invalid(
            "its path has an empty segment, dots, or characters that must be encoded",
        ));
    }
    let name = path.rsplit('/').next().unwrap_or_default();
    if !is_name(name) {
        return Err(SkillError::InvalidName { name: name.into() });
    }
    Ok((directory, name))
}

/// The path of a file within a directory; `None` if it is outside, or breaks a rule.
pub(super) fn path_within<'a>(directory: &str, uri: &'a str) -> Option<&'a str> {
    let path = uri.strip_prefix(directory)?.strip_prefix('/')?;
    (uri.len() <= MAX_URI && is_path(path)).then_some(path)
}

/// "1-64 characters", "lowercase alphanumeric characters and hyphens", without hyphens at an end or
/// two in a row.
pub(super) fn is_name(name: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty()
            && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    name.len() <= 64 && name.split('-').all(is_word)
}

/// A `reg-name` of RFC 3986, with at least one character.
pub(super) fn is_reg_name(authority: &str) -> bool {
    let is_allowed = |byte| is_path_byte(byte) && byte.is_ascii() && !matches!(byte, b':' | b'@');
    authority.bytes().all(is_allowed) && is_path(authority)
}

/// Returns whether all segments of a path are valid, and none is empty, `.` or `..` when decoded.
pub(super) fn is_path(path: &str) -> bool {
    path.split('/').all(|segment| {
        segment.bytes().all(is_path_byte)
            && decoded(segment).is_some_and(|text| {
                !matches!(&*text, "" | "." | "..")
                    && !text.contains(|c: char| c.is_control() || matches!(c, '/' | '\\'))
            })
    })
}

/// The text of a segment; `None` unless its escapes are valid and decode to UTF-8.
pub(super) fn decoded(segment: &str) -> Option<String> {
    let bytes = percent::is_valid(segment).then(|| percent::decode(segment));
    String::from_utf8(bytes?).ok()
}

/// A byte of a segment: `pchar` of RFC 3986, or a part of a character that is not ASCII.
fn is_path_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"-._~!$&'()*+,;=:@%".contains(&byte)
}
