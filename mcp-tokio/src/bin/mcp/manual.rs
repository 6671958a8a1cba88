//! `mcp completions` and `mcp man`: shell completions and manual pages.

use std::fs;

use clap::CommandFactory;
use clap_mangen::Man;

use crate::args::Args;
use crate::failure::{Exit, Failure};
use crate::more_args::{CompletionsArgs, ManArgs};
use crate::print;

/// Writes the script for a shell to standard output.
pub(crate) fn completions(args: &CompletionsArgs) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "mcp", &mut script);
    print::bytes(&script);
    Exit::Fine
}

/// Writes the page of the program to standard output, or all pages into a folder.
pub(crate) fn pages(args: &ManArgs) -> Result<Exit, Failure> {
    let failure = |error| Failure::usage(format!("the manual cannot be written: {error}"));
    if let Some(folder) = &args.folder {
        fs::create_dir_all(folder).map_err(failure)?;
        clap_mangen::generate_to(Args::command(), folder).map_err(failure)?;
        return Ok(Exit::Fine);
    }
    let mut page = Vec::new();
    Man::new(Args::command()).render(&mut page).map_err(failure)?;
    print::bytes(&page);
    Ok(Exit::Fine)
}
