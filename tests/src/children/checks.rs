//! The checks. Each is a test function of every adapter.

#![expect(
    missing_docs,
    clippy::missing_panics_doc,
    reason = "they are tests, and the names say it"
)]

use std::collections::BTreeSet;
use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use mcp_service::{Command, InheritedEnv, Stderr};

use super::{Check, Host, Server};

/// As long as a test has; what takes so long has not happened.
const LONG: Duration = Duration::from_secs(30);
/// For what has to elapse.
const SHORT: Duration = Duration::from_millis(50);

const SIGTERM: i32 = 15;
const SIGKILL: i32 = 9;

pub fn arguments_and_folder_arrive<H: Host>() -> Check {
    let command = script(r#"printf '%s\n' "$0" "$1" "$2"; pwd"#);
    let mut server = Server::<H>::start(&command.args(["a b", "$HOME"]).arg("").current_dir("/"))?;
    assert_eq!(lines(&mut server)?, ["a b", "$HOME", "", "/"]);
    Ok(())
}

pub fn second_hour_25_a_safe_part_of_the_environment_is_inherited<H: Host>() -> Check {
    let command = Command::new("/usr/bin/env").env("GREETING", "hello");
    let mut server = Server::<H>::start(&command)?;
    let names = ours().filter(|name| InheritedEnv::SAFE_NAMES.iter().any(|safe| name == safe));
    let names: BTreeSet<OsString> = names.chain(["GREETING".into()]).collect();
    assert_eq!(names_of(&lines(&mut server)?), names);
    assert!(ours().any(|name| !names.contains(&name)), "there is nothing else to inherit");
    Ok(())
}

pub fn second_hour_25_the_whole_environment_is_inherited_on_demand<H: Host>() -> Check {
    let command = Command::new("/usr/bin/env").inherit_env().env("GREETING", "hello");
    let mut server = Server::<H>::start(&command)?;
    let names = names_of(&lines(&mut server)?);
    for name in ours().chain(["GREETING".into()]) {
        assert!(names.contains(&name), "{} is missing", name.display());
    }
    Ok(())
}

pub fn a_cleared_environment_has_what_was_set<H: Host>() -> Check {
    let command = Command::new("/usr/bin/env").env_clear().env("ONLY", "this");
    let mut server = Server::<H>::start(&command)?;
    assert_eq!(lines(&mut server)?, ["ONLY=this"]);
    Ok(())
}

pub fn stderr_goes_where_it_is_sent<H: Host>() -> Check {
    if !cfg!(target_os = "linux") {
        return Ok(());
    }
    let ours = std::fs::read_link("/proc/self/fd/2")?.display().to_string();
    for (stderr, place) in [(Stderr::Inherit, &*ours), (Stderr::Null, "/dev/null")] {
        let command = script("readlink /proc/$$/fd/2").stderr(stderr);
        assert_eq!(lines(&mut Server::<H>::start(&command)?)?, [place]);
    }
    Ok(())
}

pub fn lines_of_stderr_arrive_in_order<H: Host>() -> Check {
    let (stderr, told) = told();
    let say = r"printf 'one\n\n\377two\n' >&2; head -c 65537 /dev/zero | tr '\0' x >&2;
        cat; printf '\nlast' >&2";
    Server::<H>::start(&script(say).stderr(stderr))?.end()?;
    let told: Vec<String> = told.try_iter().collect();
    assert_eq!(told, ["one", "", "\u{FFFD}two", &"x".repeat(65536), "x", "last"]);
    Ok(())
}

pub fn much_on_stderr_holds_nothing_up<H: Host>() -> Check {
    let say = r"head -c 1048576 /dev/zero | tr '\0' x >&2; echo done";
    let mut server = Server::<H>::start(&script(say).stderr(Stderr::lines(|_| ())))?;
    assert_eq!(line(&mut server)?, "done\n");
    Ok(())
}

pub fn a_server_exits_at_the_end_of_its_input<H: Host>() -> Check {
    let command = script("cat; exit $0").grace(LONG);
    for code in [0, 3] {
        let mut server = Server::<H>::start(&command.clone().arg(code.to_string()))?;
        server.write(b"hello\n")?;
        assert_eq!(line(&mut server)?, "hello\n");
        assert_eq!(server.end()?.code(), Some(code));
    }
    Ok(())
}

pub fn a_server_that_has_exited_already<H: Host>() -> Check {
    let mut server = Server::<H>::start(&script("exit 7").grace(LONG))?;
    assert_eq!(line(&mut server)?, "");
    assert_eq!(server.end()?.code(), Some(7));
    Ok(())
}

pub fn output_of_a_failed_server_ends_although_a_grandchild_keeps_the_pipe<H: Host>() -> Check {
    for (end, status) in [("exit 3", 3 << 8), ("kill -KILL $$", SIGKILL)] {
        let say = format!("sleep 100 & echo ready; {end}");
        let mut server = ready::<H>(&script(&say).grace(SHORT))?;
        assert_eq!(line(&mut server)?, "");
        assert_eq!(server.end()?.into_raw(), status);
    }
    Ok(())
}

pub fn output_of_a_grandchild_is_read_after_its_launcher_has_exited<H: Host>() -> Check {
    // Longer than it takes to find out that the launcher has exited.
    let say = "{ sleep 1; echo late; } & echo ready; exit 0";
    let mut server = ready::<H>(&script(say).grace(SHORT))?;
    assert_eq!(line(&mut server)?, "late\n");
    Ok(())
}

pub fn a_grandchild_that_outlives_its_launcher_can_flush_its_output<H: Host>() -> Check {
    let (stderr, told) = told();
    // More than a pipe holds.
    let flush = "{ cat <&3; head -c 300000 /dev/zero; echo flushed >&2; } &";
    let say = format!("exec 3<&0; {flush} echo ready; exit 0");
    let server = ready::<H>(&script(&say).stderr(stderr).grace(LONG))?;
    assert_eq!(server.end()?.code(), Some(0));
    assert_eq!(told.try_iter().collect::<Vec<_>>(), ["flushed"]);
    Ok(())
}

pub fn sigterm_ends_a_server_that_ignores_the_end<H: Host>() -> Check {
    let server = ready::<H>(&script("echo ready; exec sleep 100").grace(SHORT))?;
    assert_eq!(server.end()?.signal(), Some(SIGTERM));
    Ok(())
}

pub fn a_server_has_its_time_after_sigterm<H: Host>() -> Check {
    let (stderr, told) = told();
    let say =
        "trap 'kill $! 2>/dev/null; echo stopping >&2; exit 5' TERM; sleep 100 & echo ready; wait";
    // It elapses once, and is enough for a shell.
    let command = script(say).stderr(stderr).grace(Duration::from_secs(1));
    let status = ready::<H>(&command)?.end()?;
    assert_eq!(status.code(), Some(5), "{status}");
    assert_eq!(told.try_iter().collect::<Vec<_>>(), ["stopping"]);
    Ok(())
}

pub fn a_server_that_ignores_everything_is_killed<H: Host>() -> Check {
    let say = "trap '' TERM; echo ready; exec sleep 100";
    let server = ready::<H>(&script(say).grace(SHORT))?;
    assert_eq!(server.end()?.signal(), Some(SIGKILL));
    Ok(())
}

pub fn a_server_that_never_stops_writing_is_killed<H: Host>() -> Check {
    let server = ready::<H>(&script("trap '' TERM; echo ready; exec yes").grace(SHORT))?;
    assert_eq!(server.end()?.signal(), Some(SIGKILL));
    Ok(())
}

pub fn what_is_flushed_at_the_end_is_read<H: Host>() -> Check {
    let (stderr, told) = told();
    let say = "cat; head -c 10485760 /dev/zero && echo flushed >&2";
    let status = Server::<H>::start(&script(say).stderr(stderr).grace(LONG))?.end()?;
    assert!(status.success(), "{status}");
    assert_eq!(told.try_iter().collect::<Vec<_>>(), ["flushed"]);
    Ok(())
}

pub fn what_does_not_start_is_named<H: Host>() -> Check {
    for command in [
        Command::new("no-such-server"),
        Command::new("/bin/sh").arg("no-such-server").current_dir("/no-such-server"),
    ] {
        let error = Server::<H>::start(&command).err().ok_or("it has started")?;
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains("no-such-server"), "{error}");
    }
    Ok(())
}

pub fn a_server_that_is_dropped_is_killed<H: Host>() -> Check {
    is_gone_after::<H>("echo ready; exec sleep 100", drop)
}

pub fn a_server_whose_end_is_dropped_is_killed<H: Host>() -> Check {
    is_gone_after::<H>("echo ready; exec sleep 100", Server::begin_to_end)
}

pub fn what_is_still_on_its_way_is_told<H: Host>() -> Check {
    let (stderr, told) = told();
    // The server is gone before the line is written; who does not wait does not see it.
    let say = "{ sleep 0.3; echo late >&2; } & exit 0";
    Server::<H>::start(&script(say).stderr(stderr).grace(LONG))?.end()?;
    assert_eq!(told.try_iter().collect::<Vec<_>>(), ["late"]);
    Ok(())
}

pub fn who_else_keeps_stderr_is_not_waited_for<H: Host>() -> Check {
    let (stderr, told) = told();
    // It has left the group of the server.
    let server = ready::<H>(&script("setsid sleep 5 & echo ready").stderr(stderr).grace(SHORT))?;
    assert_eq!(server.end()?.code(), Some(0));
    assert_eq!(told.recv_timeout(Duration::ZERO), Err(RecvTimeoutError::Timeout));
    Ok(())
}

pub fn second_hour_24_grandchildren_end_after_their_parent<H: Host>() -> Check {
    for grandchild in ["sleep 100", "(trap '' TERM; exec sleep 100)"] {
        let (stderr, told) = told();
        let say = format!("{grandchild} & echo ready; cat; exit 3");
        let server = ready::<H>(&script(&say).stderr(stderr).grace(SHORT))?;
        assert_eq!(server.end()?.code(), Some(3));
        assert_eq!(told.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected), "{grandchild}");
    }
    Ok(())
}

pub fn second_hour_24_grandchildren_are_killed_with_their_parent<H: Host>() -> Check {
    let (stderr, told) = told();
    let say = "trap '' TERM; sleep 100 & echo ready; wait";
    let server = ready::<H>(&script(say).stderr(stderr).grace(SHORT))?;
    assert_eq!(server.end()?.signal(), Some(SIGKILL));
    assert_eq!(told.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
    Ok(())
}

pub fn second_hour_24_grandchildren_of_a_dropped_server_are_killed<H: Host>() -> Check {
    is_gone_after::<H>("sleep 100 & echo ready; wait", drop)?;
    is_gone_after::<H>("sleep 100 & echo ready; wait", Server::begin_to_end)?;
    // The parent has exited already.
    is_gone_after::<H>("sleep 100 & echo ready", drop)
}

pub fn second_hour_24_a_stopped_server_ends_by_sigterm<H: Host>() -> Check {
    let say = "trap 'exit 6' TERM; echo ready; kill -STOP $$; sleep 100 & wait";
    // It elapses once, and is enough for a shell.
    let server = ready::<H>(&script(say).grace(Duration::from_secs(1)))?;
    assert_eq!(server.end()?.code(), Some(6));
    Ok(())
}

/// A shell with a script; the arguments are `$0`, `$1` and so on.
fn script(text: &str) -> Command {
    Command::new("/bin/sh").args(["-c", text])
}

/// Destination for lines of stderr, and the receiver of these lines. It is disconnected once nobody
/// who could write any is left.
fn told() -> (Stderr, Receiver<String>) {
    let (sender, receiver) = mpsc::channel();
    // A test that has ended is told nothing.
    (Stderr::lines(move |line| drop(sender.send(line.to_owned()))), receiver)
}

/// The names of the variables of this process.
fn ours() -> impl Iterator<Item = OsString> {
    env::vars_os().map(|(name, _)| name)
}

/// The names in the output of `env`.
fn names_of(lines: &[String]) -> BTreeSet<OsString> {
    lines.iter().filter_map(|line| line.split_once('=')).map(|(name, _)| name.into()).collect()
}

/// A server that has come to where it says so.
fn ready<H: Host>(command: &Command) -> Result<Server<H>, Box<dyn Error>> {
    let mut server = Server::<H>::start(command)?;
    assert_eq!(line(&mut server)?, "ready\n");
    Ok(server)
}

/// The server and its children have the pipe of their stderr to themselves, so they are gone when
/// that is at its end.
fn is_gone_after<H: Host>(say: &str, lose: impl FnOnce(Server<H>)) -> Check {
    let (stderr, told) = told();
    let server = ready::<H>(&script(say).stderr(stderr).grace(LONG))?;
    assert_eq!(told.recv_timeout(Duration::ZERO), Err(RecvTimeoutError::Timeout));
    lose(server);
    assert_eq!(told.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
    Ok(())
}

/// The next line of the output, with its newline; it is missing at the end.
fn line(server: &mut Server<impl Host>) -> io::Result<String> {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while line.last() != Some(&b'\n') && server.read(&mut byte)? == 1 {
        line.extend(byte);
    }
    String::from_utf8(line).map_err(io::Error::other)
}

/// All lines of the output.
fn lines(server: &mut Server<impl Host>) -> io::Result<Vec<String>> {
    let mut lines = Vec::new();
    loop {
        match line(server)? {
            line if line.is_empty() => return Ok(lines),
            line => lines.push(line.trim_end_matches('\n').to_owned()),
        }
    }
}
