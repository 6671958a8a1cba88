//! `soak`: clients and servers behind a proxy that breaks connections, and what must hold all the
//! same.
//!
//! `soak run MINUTES SEED FOLDER [WORD]` reads from standard input what is made with other SDKs, as
//! `tests/soak/run` lists it, and puts traces into FOLDER.
//! `soak serve` and `soak stdio` are the servers of ours, which the run starts itself.
//!
//! Storms and calms take turns. In a storm the proxy of each link breaks connections and refuses
//! requests, and servers are restarted, in any of their modes. In a calm everything has to work
//! again within a minute. All that is drawn follows from the seed; in which order the requests of a
//! link reach its proxy is up to the machine, so that two runs with one seed differ.

mod connector;
mod fault;
mod ledger;
mod link;
mod memory;
mod other;
mod proxy;
mod random;
mod report;
mod run;
mod serve;
mod server;
mod trace;
mod view;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

/// The resource that changes.
pub const COUNTER: &str = "test://counter";

const USAGE: &str =
    "usage: soak run MINUTES SEED FOLDER [WORD], soak serve ERA SERVING VERSION or soak stdio ERA";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match *words {
        ["serve", era, serving, version] => serve::http(era, serving, version).await?,
        ["stdio", era] => serve::stdio(era).await?,
        ["run", minutes, seed, folder, ref word @ ..] => {
            let word = word.first().copied().unwrap_or_default();
            let holds = run::run(minutes.parse()?, seed.parse()?, Path::new(folder), word).await?;
            if !holds {
                return Ok(ExitCode::FAILURE);
            }
        }
        _ => return Err(USAGE.into()),
    }
    Ok(ExitCode::SUCCESS)
}
