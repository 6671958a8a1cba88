//! Every cell of the compatibility matrix in virtual time; each is a test that bears its name.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use libtest_mimic::{Arguments, Failed, Trial};
use mcp_service::testing::{Network, Pair};
use mcp_tests::compatibility::{Cell, Tell, answer, meet};

/// Number of runs of a cell on a bad pipe, after one on a good pipe.
const SEEDS: u64 = 5;

fn main() -> ExitCode {
    let trials =
        Cell::all().map(|cell| Trial::test(cell.name(), move || play(cell).map_err(Failed::from)));
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

fn play(cell: Cell) -> Result<(), String> {
    for seed in 0..SEEDS {
        let told = Arc::new(Mutex::new(Vec::new()));
        let hears = told.clone();
        let tell: Tell = Arc::new(move |line| {
            hears.lock().unwrap().push(line.to_owned());
        });
        let network = if seed == 0 { Network::calm() } else { Network::rough() };
        let mut pair = Pair::with_server(move |_| cell.server.start(&tell).unwrap())
            .client_config(cell.config())
            .network(network)
            .seed(seed);
        let client = pair.client();
        answer(&client);
        let met = pair.run(meet(&client));
        let told = told.lock().unwrap().clone();
        let wire = pair.wire();
        let checked = cell.check(&met, &told).and_then(|()| {
            let untold = !wire.contains("notifications/cancelled");
            if untold { Ok(()) } else { Err("something was cancelled".into()) }
        });
        checked.map_err(|error| format!("seed {seed}: {error}\n{wire}"))?;
    }
    Ok(())
}
