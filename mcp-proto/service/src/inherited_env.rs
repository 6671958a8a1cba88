//! The environment variables that a server inherits from its client.
//!
//! In: the environment of the client, when a server is started. Out: the variables that the server
//! gets. The default is the list of the official SDKs, which has no variables for secrets: an API
//! key for one server is not for the others.

use std::env;
use std::ffi::{OsStr, OsString};
use std::process::Command;

/// The variables that a server inherits from the environment of its client.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum InheritedEnv {
    /// None.
    Nothing,
    /// Those of [`InheritedEnv::SAFE_NAMES`] that are set, without values that begin with `()`:
    /// some shells read such values as functions and run them.
    #[default]
    Safe,
    /// All, including secrets.
    All,
}

impl InheritedEnv {
    /// The variables that are safe to inherit, the same as in the official SDKs.
    #[cfg(not(windows))]
    pub const SAFE_NAMES: &[&str] = &["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];

    /// The variables that are safe to inherit, the same as in the official SDKs.
    #[cfg(windows)]
    pub const SAFE_NAMES: &[&str] = &[
        "APPDATA",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATH",
        "PATHEXT",
        "PROCESSOR_ARCHITECTURE",
        "PROGRAMFILES",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "USERNAME",
        "USERPROFILE",
    ];

    /// Sets the environment of `command`.
    pub(super) fn apply(self, command: &mut Command) {
        #[expect(clippy::disallowed_methods, reason = "a child inherits from this process")]
        let read = |name: &str| env::var_os(name);
        match self {
            Self::All => {}
            Self::Nothing => {
                command.env_clear();
            }
            Self::Safe => {
                command.env_clear().envs(safe(read));
            }
        }
    }
}

/// The safe part of an environment.
fn safe(
    read: impl Fn(&str) -> Option<OsString>,
) -> impl Iterator<Item = (&'static OsStr, OsString)> {
    InheritedEnv::SAFE_NAMES.iter().filter_map(move |name| {
        let value = read(name).filter(|value| !value.as_encoded_bytes().starts_with(b"()"))?;
        Some((OsStr::new(*name), value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn second_hour_25_secrets_and_functions_are_not_safe() {
        let read = |name: &str| match name {
            "PATH" => Some("/bin".into()),
            "TERM" => Some("() { :; }; rm -r /".into()),
            "SHELL" => None,
            _ => Some("other".into()),
        };
        let safe: Vec<_> = safe(read).collect();
        assert!(safe.contains(&(OsStr::new("PATH"), "/bin".into())));
        let names: Vec<_> = safe.iter().map(|(name, _)| *name).collect();
        for missing in ["TERM", "SHELL", "GITHUB_TOKEN"] {
            assert!(!names.contains(&OsStr::new(missing)), "{missing}");
        }
    }
}
