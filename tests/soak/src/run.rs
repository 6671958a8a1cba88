//! One run: servers, links, storms and calms.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::io::{self, BufRead};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mcp_tokio::Negotiation;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use crate::connector::{Connector, Habit, Reach};
use crate::fault::{STORMY, Weather};
use crate::ledger::Ledger;
use crate::link::{Link, Phase};
use crate::memory::Watched;
use crate::other::Other;
use crate::proxy::Proxy;
use crate::random::Random;
use crate::report::{Check, Extra, Report};
use crate::server::{self, Era, Mode, Restart, Server, Serving};
use crate::trace::Trace;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Interval at which the ledger is read, memory looked at and the counters changed.
const TICK: Duration = Duration::from_millis(400);

/// Time for which a calm goes on after everything works.
const STEADY: Duration = Duration::from_secs(3);

/// Everything that a run consists of.
struct Run {
    seed: u64,
    start: Instant,
    report: Arc<Report>,
    ledger: Arc<Ledger>,
    phase: watch::Sender<Phase>,
    word: String,
    servers: Vec<Arc<Server>>,
    links: Vec<Arc<Link>>,
    others: Vec<Arc<Other>>,
}

/// Servers and clients that are made with other SDKs.
#[derive(Default)]
struct Installed {
    /// Servers by SDK, in each of their modes.
    servers: Vec<(String, Vec<Mode>)>,
    /// Clients, and what starts them.
    clients: Vec<(String, Vec<String>)>,
}

/// Runs for as many minutes, and until everything works after that. Returns whether all held.
pub async fn run(minutes: f64, seed: u64, folder: &Path, word: &str) -> Outcome<bool> {
    fs::create_dir_all(folder)?;
    let folder = folder.canonicalize()?;
    let (phase, _) = watch::channel(Phase::Storm);
    let mut run = Run {
        seed,
        start: Instant::now(),
        report: Arc::new(Report::new(seed, folder.clone())),
        ledger: Arc::new(Ledger::create(&folder.join(format!("{seed}-echoes.txt")))?),
        phase,
        word: word.to_owned(),
        servers: Vec::new(),
        links: Vec::new(),
        others: Vec::new(),
    };
    run.build().await?;
    run.weather(Duration::from_secs_f64(minutes * 60.0)).await
}

impl Run {
    /// Makes servers and links.
    async fn build(&mut self) -> Outcome {
        let program = std::env::current_exe()?.display().to_string();
        let all = [Era::Dual, Era::Legacy, Era::Modern];
        let modes = server::ours(&program, &all);
        let has_sessions =
            |mode: &Mode| mode.serving == Serving::Sessions && mode.era != Era::Modern;
        let ours = [("ours", Restart::Within), ("ours killed", Restart::Ours)];
        for (name, restart) in ours {
            let habits = [
                ("auto", Negotiation::Auto, Habit::Stays),
                ("legacy", Negotiation::Legacy, Habit::Stays),
                ("comes back", Negotiation::Auto, Habit::ComesBack),
            ];
            self.add(name, restart, modes.clone(), has_sessions, &habits).await?;
        }
        let habits = [
            ("any mode", Negotiation::Auto, Habit::Stays),
            ("any mode, comes back", Negotiation::Auto, Habit::ComesBack),
        ];
        self.add("ours in any mode", Restart::Ours, modes, |_| true, &habits).await?;
        let habits = [
            ("stdio auto", Negotiation::Auto, Habit::Stays),
            ("stdio comes back", Negotiation::Auto, Habit::ComesBack),
        ];
        for (name, negotiation, habit) in habits {
            self.link(name, Reach::Stdio(program.clone()), negotiation, habit);
        }
        let Installed { servers, clients } = installed()?;
        for (name, modes) in servers {
            let habits = [
                ("auto", Negotiation::Auto, Habit::Stays),
                ("legacy", Negotiation::Legacy, Habit::Stays),
            ];
            self.add(&name, Restart::Others, modes, has_sessions, &habits).await?;
        }
        self.add_others(&program, clients).await
    }

    /// Adds clients that are made with other SDKs, at a server of ours of their own.
    async fn add_others(&mut self, program: &str, clients: Vec<(String, Vec<String>)>) -> Outcome {
        let mut server = None;
        for (name, command) in clients {
            let name = format!("client {name}");
            if !name.contains(&self.word) {
                continue;
            }
            let server = match &server {
                Some(server) => server,
                None => {
                    let modes = server::ours(program, &[Era::Dual, Era::Legacy, Era::Modern]);
                    let calm =
                        |mode: &Mode| (mode.era, mode.serving) == (Era::Dual, Serving::Sessions);
                    let random = Random::new(self.seed, "server for others");
                    let echoes = self.ledger.path().to_owned();
                    let made =
                        Server::new("for others", Restart::Ours, modes, calm, random, echoes);
                    server.insert(Arc::new(made))
                }
            };
            let random = Random::new(self.seed, &format!("proxy {name}"));
            let trace = Trace::new(self.start);
            server.tell(trace.clone());
            let proxy = Proxy::start(server.upstream.clone(), random, trace.clone()).await?;
            let reaches = (proxy, server.clone());
            let reports = (self.report.clone(), trace);
            self.others.push(Arc::new(Other::start(&name, &command, reaches, reports)?));
        }
        if let Some(server) = server {
            server.start().await?;
            self.servers.push(server);
        }
        Ok(())
    }

    /// The proxies of all links.
    fn proxies(&self) -> impl Iterator<Item = &Proxy> {
        let ours = self.links.iter().filter_map(|link| match &link.connector.reach {
            Reach::Http(proxy, _) => Some(proxy),
            Reach::Stdio(_) => None,
        });
        ours.chain(self.others.iter().map(|other| &other.proxy))
    }

    /// Adds a server, and a link for each habit that is wanted; nothing if there is none.
    async fn add(
        &mut self,
        name: &str,
        restart: Restart,
        modes: Vec<Mode>,
        calm: impl Fn(&Mode) -> bool,
        habits: &[(&str, Negotiation, Habit)],
    ) -> Outcome {
        let wanted = |habit: &str| format!("{name} {habit}").contains(&self.word);
        let habits: Vec<_> = habits.iter().filter(|(habit, ..)| wanted(habit)).collect();
        if habits.is_empty() {
            return Ok(());
        }
        let random = Random::new(self.seed, &format!("server {name}"));
        let echoes = self.ledger.path().to_owned();
        let server = Arc::new(Server::new(name, restart, modes, calm, random, echoes));
        for (habit, negotiation, is) in habits {
            let name = format!("{name} {habit}");
            let random = Random::new(self.seed, &format!("proxy {name}"));
            let trace = Trace::new(self.start);
            server.tell(trace.clone());
            let proxy = Proxy::start(server.upstream.clone(), random, trace.clone()).await?;
            let reach = Reach::Http(proxy, server.clone());
            self.link_with(&name, reach, *negotiation, *is, trace);
        }
        server.start().await.map_err(|error| format!("{name}: {error}"))?;
        self.servers.push(server);
        Ok(())
    }

    fn link(&mut self, name: &str, reach: Reach, negotiation: Negotiation, habit: Habit) {
        if name.contains(&self.word) {
            self.link_with(name, reach, negotiation, habit, Trace::new(self.start));
        }
    }

    fn link_with(
        &mut self,
        name: &str,
        reach: Reach,
        negotiation: Negotiation,
        habit: Habit,
        trace: Trace,
    ) {
        let random = Random::new(self.seed, &format!("link {name}"));
        let connector = Connector::new(
            name,
            reach,
            (negotiation, habit),
            (self.report.clone(), trace),
            (random, self.ledger.path().to_owned()),
        );
        self.links.push(Link::new(connector, self.phase.subscribe()));
    }

    /// Storms and calms, and the table.
    async fn weather(self, time: Duration) -> Outcome<bool> {
        let mut watched = vec![Watched::new("the clients", std::process::id(), &self.report)];
        for server in self.servers.iter().filter(|server| server.restart == Restart::Within) {
            let id = server.id().await.ok_or("a server has ended")?;
            watched.push(Watched::new("the server", id, &self.report));
        }
        self.links.iter().for_each(Link::begin);
        let mut random = Random::new(self.seed, "storms");
        let end = self.start + time;
        while Instant::now() < end {
            let length = random.millis(12_000, 30_000);
            self.storm(Instant::now() + length, &mut random, &mut watched).await?;
            self.calm(&mut watched).await?;
        }
        self.phase.send_replace(Phase::Over);
        for link in &self.links {
            link.connector.close().await;
        }
        self.read_ledger()?;
        let trace = Trace::new(self.start);
        let memory: Vec<_> = watched.iter().map(|it| it.end(&self.report, &trace)).collect();
        let mut extras = BTreeMap::new();
        for link in &self.links {
            let extra = match &link.connector.reach {
                Reach::Http(proxy, server) => self.extra(&link.slug(), proxy, server).await,
                Reach::Stdio(_) => {
                    Extra { executed: self.ledger.count(&link.slug()), ..Extra::default() }
                }
            };
            extras.insert(link.connector.name.clone(), extra);
        }
        for other in &self.others {
            let extra = self.extra(&other.slug(), &other.proxy, &other.server).await;
            extras.insert(other.name.clone(), extra);
        }
        Ok(self.report.print(&extras, &memory))
    }

    async fn extra(&self, slug: &str, proxy: &Proxy, server: &Server) -> Extra {
        let mut faults = proxy.faults();
        faults.insert("server restarted", server.restarts().await);
        let (executed, connections) = (self.ledger.count(slug), proxy.connections());
        Extra { executed, connections, faults }
    }

    async fn storm(&self, until: Instant, random: &mut Random, watched: &mut [Watched]) -> Outcome {
        self.links.iter().for_each(|link| link.end_calm());
        self.phase.send_replace(Phase::Storm);
        for proxy in self.proxies() {
            proxy.set_weather(*random.pick(&STORMY));
        }
        let mut tasks = JoinSet::new();
        for server in &self.servers {
            let (server, seed) = (server.clone(), random.below(u64::MAX));
            tasks.spawn(disturb(server, Random::new(seed, "disturb"), until));
        }
        for proxy in self.proxies() {
            let (cutter, mut random) = (proxy.cutter(), Random::new(random.below(u64::MAX), "cut"));
            tasks.spawn(async move {
                loop {
                    let next = Instant::now() + random.millis(2000, 12_000);
                    sleep_until(next.min(until)).await;
                    if Instant::now() >= until {
                        return Ok(());
                    }
                    cutter.cut();
                }
            });
        }
        while Instant::now() < until {
            sleep(TICK).await;
            self.tick(watched)?;
            for server in self.servers.iter().filter(|it| it.restart != Restart::Others) {
                // A server that is down for a while is told later.
                let server = server.clone();
                tokio::spawn(async move { server.bump().await });
            }
        }
        while let Some(done) = tasks.join_next().await {
            done??;
        }
        Ok(())
    }

    async fn calm(&self, watched: &mut [Watched]) -> Outcome {
        for proxy in self.proxies() {
            proxy.set_weather(Weather::Clear);
        }
        for server in &self.servers {
            server.calm_down().await.map_err(|error| format!("{}: {error}", server.name))?;
        }
        self.phase.send_replace(Phase::Calm(Instant::now()));
        let mut checks = JoinSet::new();
        for link in &self.links {
            let link = link.clone();
            checks.spawn(async move { link.check().await });
        }
        for other in &self.others {
            let other = other.clone();
            checks.spawn(async move { other.check().await });
        }
        while !checks.is_empty() {
            tokio::select! {
                done = checks.join_next() => done.transpose()?.unwrap_or_default(),
                () = sleep(TICK) => self.tick(watched)?,
            }
        }
        sleep(STEADY).await;
        self.tick(watched)
    }

    fn tick(&self, watched: &mut [Watched]) -> Outcome {
        let elapsed = self.start.elapsed();
        watched.iter_mut().for_each(|it| it.look(elapsed));
        self.read_ledger()
    }

    fn read_ledger(&self) -> Outcome {
        for key in self.ledger.read()? {
            let slug = key.rsplit_once('.').map_or("", |(slug, _)| slug);
            for link in self.links.iter().filter(|link| link.slug() == slug) {
                let text = format!("{key} was executed twice");
                self.report.fail(&link.connector.name, Check::Once, &text, &link.connector.trace);
            }
            for other in self.others.iter().filter(|other| other.slug() == slug) {
                let text = format!("{key} was executed twice");
                self.report.fail(&other.name, Check::Once, &text, &other.trace);
            }
        }
        Ok(())
    }
}

/// Restarts a server now and then.
async fn disturb(server: Arc<Server>, mut random: Random, until: Instant) -> Result<(), io::Error> {
    let (least, most) = match server.restart {
        Restart::Within | Restart::Ours => (2000, 7000),
        // They take a second or two to start.
        Restart::Others => (6000, 14_000),
    };
    loop {
        let next = Instant::now() + random.millis(least, most);
        if next >= until {
            sleep_until(until).await;
            return Ok(());
        }
        sleep_until(next).await;
        server.disturb().await?;
    }
}

/// Reads what is made with other SDKs from standard input.
fn installed() -> Outcome<Installed> {
    let mut all = Installed::default();
    for line in io::stdin().lock().lines() {
        let line = line?;
        if let Some(client) = line.strip_prefix("client ") {
            let mut words = client.split(' ').map(str::to_owned);
            all.clients.push((words.next().unwrap_or_default(), words.collect()));
            continue;
        }
        let Some((name, mode)) = server::installed(&line) else { continue };
        // These cannot be used once their sessions are lost, and count no executions: see
        // tests/interop/servers/README.md.
        if name.starts_with("rmcp-0") || name.starts_with("everything") {
            continue;
        }
        let sdk = name.split('-').next().unwrap_or(name);
        match all.servers.iter_mut().find(|(known, _)| known == sdk) {
            Some((_, modes)) => modes.push(mode),
            None => all.servers.push((sdk.to_owned(), vec![mode])),
        }
    }
    Ok(all)
}
