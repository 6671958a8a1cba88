//! Starts a server that speaks HTTP, calls its tools, checks the answers, and prints what they
//! cost.

use std::env;
use std::error::Error;
use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

use mcp_bench::usage::{cpu_time, resident_memory};

mod client;

use client::{Call, Client, Era, NUMBER};
use mcp_bench::server::Server;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const USAGE: &str = "usage:
load-http calls ERA CALL COUNT -- SERVER...                     makes calls on one connection
load-http sessions COUNT -- SERVER...                           opens sessions, from many addresses
load-http connections COUNT -- SERVER...                        opens them, one call on each
load-http pending COUNT CALLS -- SERVER...                      makes calls in a session in which so
                                                                many others have no answer
load-http turns COUNT CALLS -- SERVER...                        makes calls in so many sessions, which
                                                                take turns
load-http gateway COUNT CALLS -- SERVER...                      does the same on one connection
load-http beside sessions|connections COUNT CALLS -- SERVER...  makes calls beside so many others
load-http idle COUNT CHANGES -- SERVER...                       publishes changes beside so many
                                                                connections
load-http listeners COUNT CHANGES -- SERVER...                  publishes them to so many listeners
load-http wrk ERA CALL CONNECTIONS SECONDS CPU SCRIPT -- SERVER...
                                                                has wrk make calls, from that CPU
ERA is session, stateless (a legacy client without a session) or modern; CALL is echo, report, which
reports progress once, or fixed, which is echo, but the ids of answers are not looked at.";

const WARM_UP: u64 = 300;

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let mut sides = arguments.splitn(2, |argument| argument == "--");
    let what: Vec<&str> = sides.next().unwrap_or_default().iter().map(String::as_str).collect();
    let server = Server::start(sides.next().filter(|command| !command.is_empty()).ok_or(USAGE)?)?;
    match what[..] {
        ["calls", era, call, count] => {
            make_calls(&server, era.parse()?, call.parse()?, count.parse()?)?;
        }
        ["sessions", count] => open_sessions(&server, count.parse()?)?,
        ["connections", count] => open_connections(&server, count.parse()?)?,
        ["pending", count, calls] => call_beside(&server, count.parse()?, calls.parse()?)?,
        ["turns", count, calls] => {
            let open = || Client::open(server.address(), Era::Session);
            call_by_turns(open, count.parse()?, calls.parse()?)?;
        }
        ["gateway", count, calls] => {
            let gateway = Client::open(server.address(), Era::Session)?;
            call_by_turns(|| gateway.join_connection(), count.parse()?, calls.parse()?)?;
        }
        ["beside", "sessions", count, calls] => {
            call_beside_sessions(&server, count.parse()?, calls.parse()?)?;
        }
        ["beside", "connections", count, calls] => {
            call_beside_connections(&server, count.parse()?, calls.parse()?)?;
        }
        ["idle", count, changes] => publish_beside(&server, count.parse()?, changes.parse()?)?,
        ["listeners", count, changes] => publish_to(&server, count.parse()?, changes.parse()?)?,
        ["wrk", era, call, connections, seconds, cpu, script] => {
            let wrk = Wrk { connections: connections.parse()?, seconds, cpu, script };
            wrk.run(&server, era.parse()?, call.parse()?)?;
        }
        _ => return Err(USAGE.into()),
    }
    server.stop()
}

fn make_calls(server: &Server, era: Era, call: Call, count: u64) -> Result<()> {
    let mut client = Client::open(server.address(), era)?;
    (0..WARM_UP + count).try_for_each(|id| client.call(call, NUMBER + id))
}

/// The number of sessions that one address opens. A server refuses more than 1,000 in a row.
const SESSIONS_OF_A_HOST: u64 = 500;

/// Prints the memory of an idle session, without the first few, for which room was made at once.
fn open_sessions(server: &Server, count: u64) -> Result<()> {
    let mut opened = 0;
    let mut client = Client::connect_from(0, server.address())?;
    let mut open = |count: u64| -> Result<()> {
        for _ in 0..count {
            opened += 1;
            if opened % SESSIONS_OF_A_HOST == 0 {
                let host = u16::try_from(opened / SESSIONS_OF_A_HOST)?;
                client = Client::connect_from(host, server.address())?;
            }
            client.open_session()?;
        }
        Ok(())
    };
    let aside = count / 100;
    open(aside)?;
    let before = settled(server)?;
    open(count - aside)?;
    println!("bytes={}", (settled(server)? - before) / (count - aside));
    Ok(())
}

/// Prints the memory of an idle connection, likewise.
fn open_connections(server: &Server, count: u64) -> Result<()> {
    let mut clients = Vec::new();
    let mut open = |count| -> Result<()> {
        for _ in 0..count {
            let mut client = Client::open(server.address(), Era::Modern)?;
            client.call(Call::Echo, NUMBER)?;
            clients.push(client);
        }
        Ok(())
    };
    let aside = count / 100;
    open(aside)?;
    let before = settled(server)?;
    open(count - aside)?;
    println!("bytes={}", (settled(server)? - before) / (count - aside));
    Ok(())
}

/// Calls in a session with so many requests that get no answer, each on a connection of its own.
fn call_beside(server: &Server, count: u64, calls: u64) -> Result<()> {
    let mut client = Client::open(server.address(), Era::Session)?;
    let mut pending = Vec::new();
    for id in 0..count {
        let mut other = client.join_session()?;
        other.start(Call::Wait, NUMBER + id)?;
        pending.push(other);
    }
    (0..WARM_UP + calls).try_for_each(|id| client.call(Call::Echo, NUMBER + count + id))
}

/// Calls in so many sessions, each with a connection of its own, which take turns.
fn call_by_turns(open: impl Fn() -> Result<Client>, count: usize, calls: u64) -> Result<()> {
    let opened = (0..count).map(|_| open());
    let mut clients = opened.collect::<Result<Vec<_>>>()?;
    (0..WARM_UP + calls).try_for_each(|id| {
        clients.rotate_left(1);
        clients.first_mut().ok_or("no session")?.call(Call::Echo, NUMBER + id)
    })
}

/// Calls in a session beside so many others.
fn call_beside_sessions(server: &Server, count: u64, calls: u64) -> Result<()> {
    let mut client = Client::open(server.address(), Era::Session)?;
    let mut other = Client::connect_from(1, server.address())?;
    (0..count).try_for_each(|_| other.open_session())?;
    (0..WARM_UP + calls).try_for_each(|id| client.call(Call::Echo, NUMBER + id))
}

/// Calls on a connection beside so many others.
fn call_beside_connections(server: &Server, count: usize, calls: u64) -> Result<()> {
    let others = many(server, count, |client| client.call(Call::Echo, NUMBER))?;
    let mut client = Client::open(server.address(), Era::Modern)?;
    (0..WARM_UP + calls).try_for_each(|id| client.call(Call::Echo, NUMBER + id))?;
    drop(others);
    Ok(())
}

/// Publishes changes beside so many connections that wait for nothing.
fn publish_beside(server: &Server, count: usize, changes: u64) -> Result<()> {
    let idle = many(server, count, |client| client.call(Call::Echo, NUMBER))?;
    let mut client = Client::open(server.address(), Era::Modern)?;
    (0..changes).try_for_each(|id| client.call(Call::Publish, NUMBER + id))?;
    drop(idle);
    Ok(())
}

/// Publishes changes to so many listeners; prints the CPU time of the server by listener.
fn publish_to(server: &Server, count: usize, changes: u64) -> Result<()> {
    let mut listeners = many(server, count, Client::listen)?;
    let mut client = Client::open(server.address(), Era::Modern)?;
    client.call(Call::Publish, NUMBER)?;
    listeners.iter_mut().try_for_each(Client::hear)?;
    let before = cpu_time(server.process())?;
    for change in 1..=changes {
        client.call(Call::Publish, NUMBER + change)?;
        listeners.iter_mut().try_for_each(Client::hear)?;
    }
    let spent = cpu_time(server.process())? - before;
    println!("cpu_us={:.3}", spent.as_secs_f64() * 1e6 / (changes * count as u64) as f64);
    Ok(())
}

/// So many modern clients that have done the same, from several addresses.
fn many(
    server: &Server,
    count: usize,
    act: impl Fn(&mut Client) -> Result<()>,
) -> Result<Vec<Client>> {
    let mut clients = Vec::new();
    for number in 0..count {
        let host = u16::try_from(number / 1000)?;
        let mut client = Client::open_from(host, server.address(), Era::Modern)?;
        act(&mut client)?;
        clients.push(client);
    }
    Ok(clients)
}

/// The server's memory once it has done what is left to do behind an answer.
fn settled(server: &Server) -> Result<u64> {
    thread::sleep(Duration::from_millis(500));
    resident_memory(server.process())
}

struct Wrk<'a> {
    connections: usize,
    seconds: &'a str,
    cpu: &'a str,
    script: &'a str,
}

impl Wrk<'_> {
    /// CPU time of the server by request, while each connection keeps one in flight. There are as
    /// many sessions as connections.
    fn run(&self, server: &Server, era: Era, call: Call) -> Result<()> {
        let mut requests = Vec::new();
        for _ in 0..self.connections {
            let mut client = Client::open(server.address(), era)?;
            (0..WARM_UP / 10).try_for_each(|id| client.call(call, NUMBER + id))?;
            requests.push(client.template(call));
        }
        let file = env::temp_dir().join(format!("load-http-{}", std::process::id()));
        fs::write(&file, requests.join("\n\n\n"))?;

        let before = cpu_time(server.process())?;
        let ran = Command::new("taskset")
            .args(["-c", self.cpu, "wrk", "-t1", "-s", self.script, "-d", self.seconds])
            .args([&format!("-c{}", self.connections), &format!("http://{}", server.address())])
            .arg("--")
            .arg(&file)
            .output();
        let spent = cpu_time(server.process())? - before;
        fs::remove_file(&file)?;

        let printed = String::from_utf8(ran?.stdout)?;
        let count = |name: &str| {
            let found = printed.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
            found.and_then(|count| count.parse::<u64>().ok()).ok_or_else(|| printed.clone())
        };
        if count("errors")? > 0 {
            return Err(printed.into());
        }
        println!("cpu_us_per_call={:.2}", spent.as_secs_f64() * 1e6 / count("requests")? as f64);
        Ok(())
    }
}
