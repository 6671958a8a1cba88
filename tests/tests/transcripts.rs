//! Plays every transcript; each is a test that bears its name.

use std::error::Error;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use mcp_tests::transcript::{self, Transcript};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for path in transcript::files()? {
        let name = path.strip_prefix(transcript::folder())?.with_extension("");
        let name = name.to_string_lossy().replace('\\', "/");
        let play = move || Transcript::load(&path)?.play().map_err(Failed::from);
        trials.push(Trial::test(name, play));
    }
    Ok(libtest_mimic::run(&arguments, trials).exit_code())
}
