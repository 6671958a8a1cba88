//! `mcp`: talks to MCP servers of both eras from a terminal.
//!
//! In: a command line ([`args`]). Out: the description of a server, the answer of a tool, or a
//! transcript of the conversation; on standard output for people, or with `--json` for programs.
//! Progress and errors go to standard error. `mcp --help` explains the exit codes.

mod args;
mod arguments;
mod ask;
mod bench;
mod bridge;
mod call;
mod env_file;
mod failure;
mod faults;
mod interrupt;
mod list;
mod login;
mod manual;
mod message;
mod more_args;
mod negotiation_log;
mod outage;
mod print;
mod probe;
mod prompt;
mod property;
mod record;
mod recording;
mod refusals;
mod replay;
mod request;
mod resource;
mod secret_variable;
mod servers_file;
mod session;
mod sign_in;
mod strict;
mod target;
mod task;
#[cfg(unix)]
mod watchdog;

use std::process::ExitCode;
use std::{env, io};

use serde_json::json;
use tokio::runtime::{Builder, Runtime};

use args::{Args, Do};
use failure::{Exit, Failure};
use more_args::{PromptCommand, ResourceCommand};
use print::Output;

fn main() -> ExitCode {
    let args = match args::parse() {
        Ok(args) => args,
        Err(error) => return ExitCode::from(without_command(&error) as u8),
    };
    let common = args.command.common();
    let output = Output::new(common.is_some_and(|common| common.json));
    let done = open_output(&args.command).and_then(|()| run(args, output)).and_then(print::written);
    let exit = done.unwrap_or_else(|failure| output.failed(&failure));
    ExitCode::from(exit as u8)
}

/// Opens the file for standard output, if the command line names one.
fn open_output(command: &Do) -> Result<(), Failure> {
    // Before the file is created.
    if let Do::Bridge(args) = command {
        bridge::check_output(args)?;
    }
    let file = command.common().and_then(|common| common.out.as_deref());
    file.map_or(Ok(()), print::into_file)
}

/// Shows the help or the version that the command line asks for, or the error in it.
fn without_command(error: &clap::Error) -> Exit {
    if error.use_stderr() && args::wants_json(env::args_os()) {
        // The text for people follows.
        let document = print::error(&Failure::usage(args::message(error)));
        print::document(&json!({ "error": document }));
    }
    if let Err(error) = error.print()
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        return print::report(&print::unwritten(&error));
    }
    if error.use_stderr() { Exit::Usage } else { Exit::Fine }
}

/// The runtime of a command.
fn runtime() -> io::Result<Runtime> {
    // For the descriptors of the runtime: tokio panics if there is none for its pipe of signals.
    drop([io::pipe()?, io::pipe()?, io::pipe()?]);
    Builder::new_current_thread().enable_all().build()
}

fn run(args: Args, output: Output) -> Result<Exit, Failure> {
    let runtime = runtime().map_err(|error| {
        Failure::new(Exit::Connection, format!("the system has no room for mcp: {error}"))
    })?;
    let done = runtime.block_on(async {
        match args.command {
            Do::Probe(args) => probe::run(args, output).await,
            Do::Tools(args) => list::tools(args, output).await,
            Do::Resources(args) => list::resources(args, output).await,
            Do::Prompts(args) => list::prompts(args, output).await,
            Do::Call(args) => call::run(args, output).await,
            Do::Task(args) => task::run(args, output).await,
            Do::Login(args) => login::login(args, output).await,
            Do::Logout(args) => login::logout(args, output).await,
            Do::Resource(ResourceCommand::Read(args)) => resource::read(args, output).await,
            Do::Resource(ResourceCommand::Watch(args)) => resource::watch(args, output).await,
            Do::Prompt(PromptCommand::Get(args)) => prompt::get(args, output).await,
            Do::Complete(args) => prompt::complete(args, output).await,
            Do::Request(args) => request::run(args, output).await,
            Do::Bench(args) => bench::run(args, output).await,
            Do::Record(args) => record::run(args, output).await,
            Do::Replay(args) => replay::run(args, output).await,
            Do::Completions(args) => Ok(manual::completions(&args)),
            Do::Man(args) => manual::pages(&args),
            Do::Bridge(args) => bridge::run(args).await,
        }
    });
    // A thread may still wait for the user's input, which is no longer needed.
    runtime.shutdown_background();
    done
}
