//! Secrets in variables of the environment: the list of processes would show those in arguments.

use std::env::{self, VarError};

use crate::failure::Failure;

/// The secret in the variable that an option names.
pub(crate) fn read(name: &str) -> Result<String, Failure> {
    let reason = match env::var(name) {
        Ok(secret) if !secret.is_empty() => return Ok(secret),
        Ok(_) => format!("the variable {name} is empty"),
        Err(VarError::NotPresent) => format!("the environment has no variable {name}"),
        Err(VarError::NotUnicode(_)) => format!("the variable {name} is not UTF-8"),
    };
    Err(Failure::usage(reason))
}
