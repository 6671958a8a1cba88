//! Vaults, and the redirect to a loopback address, on the file system and sockets of this machine.

use std::collections::BTreeSet;
use std::future::Future;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use mcp_proto::auth::{AuthAction, Authorizer, Config, ConsentPage};
use mcp_proto::http::{Unauthorized, Url};
use mcp_proto::types::Implementation;
use mcp_proto::{Duration, Instant, UsageError};
use mcp_service::auth::{Consent, FileVault, Loopback, MemoryVault, Paste, Secret, SignIn, Vault};
use mcp_service::{Client, HttpClientConfig, HttpClientService};

/// Runs a future on this thread.
pub(super) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = Box::pin(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

fn is_pending<F: Future + ?Sized>(future: Pin<&mut F>) -> bool {
    future.poll(&mut Context::from_waker(Waker::noop())).is_pending()
}

/// A directory of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("mcp-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn keeps_records(vault: &impl Vault) {
    let read = |key: &str| block_on(vault.read(key)).unwrap().map(|it| it.expose().to_owned());
    assert_eq!(read("server:https://s.example/mcp"), None);
    block_on(vault.write("server:https://s.example/mcp", &Secret::new("one"))).unwrap();
    block_on(vault.write("server:https://s.example/mcp", &Secret::new("two"))).unwrap();
    block_on(vault.write("server:https://t.example/mcp", &Secret::new("three"))).unwrap();
    assert_eq!(read("server:https://s.example/mcp").as_deref(), Some("two"));
    block_on(vault.remove("server:https://s.example/mcp")).unwrap();
    block_on(vault.remove("server:https://s.example/mcp")).unwrap();
    assert_eq!(read("server:https://s.example/mcp"), None);
    assert_eq!(read("server:https://t.example/mcp").as_deref(), Some("three"));
}

#[test]
fn vault_in_memory_keeps_records_and_locks_keys() {
    let vault = MemoryVault::new();
    keeps_records(&vault);
    let lock = block_on(vault.lock("a")).unwrap();
    let other = block_on(vault.lock("b")).unwrap();
    let mut waiting = vault.lock("a");
    assert!(is_pending(waiting.as_mut()));
    drop(lock);
    drop(block_on(waiting).unwrap());
    drop(other);
}

#[test]
fn vault_of_files_keeps_records_for_their_user_only() {
    let folder = Folder::new("vault");
    let vault = FileVault::open(&folder.0).unwrap();
    keeps_records(&vault);
    let files: Vec<_> = std::fs::read_dir(&folder.0).unwrap().map(Result::unwrap).collect();
    // No file is left of what was written beside.
    assert_eq!(files.len(), 1);
    assert!(!files[0].file_name().to_string_lossy().contains("example"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder.0), mode(&files[0].path())), (0o700, 0o600));
    }
}

/// The variable that makes the test below the other process.
const OTHER: &str = "MCP_TEST_VAULT";

#[test]
fn auth_a21_lock_of_a_file_holds_between_processes() {
    if let Ok(path) = std::env::var(OTHER) {
        let vault = FileVault::open(path).unwrap();
        let lock = block_on(vault.lock("k")).unwrap();
        let seen = block_on(vault.read("k")).unwrap().unwrap();
        block_on(vault.write("k", &Secret::new(format!("{} other", seen.expose())))).unwrap();
        drop(lock);
        return;
    }
    let folder = Folder::new("lock");
    let vault = FileVault::open(&folder.0).unwrap();
    let lock = block_on(vault.lock("k")).unwrap();
    let name = "sign_in::auth_a21_lock_of_a_file_holds_between_processes";
    let mut other = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--quiet"])
        .env(OTHER, &folder.0)
        .spawn()
        .unwrap();
    // The other process cannot read before this is written: it would find nothing.
    block_on(vault.write("k", &Secret::new("own"))).unwrap();
    drop(lock);
    assert!(other.wait().unwrap().success());
    assert_eq!(block_on(vault.read("k")).unwrap().unwrap().expose(), "own other");
}

/// Another process may hold a lock for hours, for example if it is stopped.
#[cfg(target_os = "linux")]
#[test]
fn abandoned_waits_for_the_lock_of_a_file_leave_nothing_open() {
    let folder = Folder::new("waits");
    let vault = FileVault::open(&folder.0).unwrap();
    let open_files = || {
        let files = std::fs::read_dir("/proc/self/fd").unwrap();
        let targets = files.filter_map(|file| std::fs::read_link(file.unwrap().path()).ok());
        targets.filter(|target| target.starts_with(&folder.0)).count()
    };
    let lock = block_on(vault.lock("key")).unwrap();
    for _ in 0..20 {
        assert!(is_pending(vault.lock("key").as_mut()));
    }
    let wait = |seconds, is_done: &dyn Fn() -> bool| {
        let until = std::time::Instant::now() + Duration::from_secs(seconds);
        while !is_done() && std::time::Instant::now() < until {
            thread::yield_now();
        }
    };
    // The threads start, and end.
    wait(1, &|| open_files() > 20);
    wait(10, &|| open_files() == 1);
    assert_eq!(open_files(), 1);
    drop(lock);
    block_on(vault.lock("key")).unwrap();
}

/// A client that is dropped while its tokens are written: the next one must not find the refresh
/// token that they replace.
#[test]
fn key_of_a_vault_of_files_is_locked_until_a_dropped_change_has_ended() {
    let folder = Folder::new("dropped");
    let vault = FileVault::open(&folder.0).unwrap();
    let record = Secret::new("x".repeat(1 << 20));
    for is_removed in [false, true] {
        let lock = block_on(vault.lock("key")).unwrap();
        let mut change = if is_removed { vault.remove("key") } else { vault.write("key", &record) };
        // On a busy machine the change may already have ended.
        let _ = is_pending(change.as_mut());
        drop((change, lock));
        // As another process does.
        let other = FileVault::open(&folder.0).unwrap();
        let _lock = block_on(other.lock("key")).unwrap();
        let found = block_on(other.read("key")).unwrap();
        assert_eq!(found.is_none(), is_removed);
    }
}

/// A page as an authorizer wants it shown.
fn page(redirect_uri: &str) -> ConsentPage {
    page_with(redirect_uri, 7)
}

/// A page whose `state` is made of this byte.
fn page_with(redirect_uri: &str, random: u8) -> ConsentPage {
    let server = Url::parse("https://s.example/mcp").unwrap();
    let config = Config::new(server.clone()).client("https://a.example", "id", None);
    let mut authorizer = Authorizer::new(config, Box::new(move || [random; 16]));
    let now = Instant::ZERO;
    authorizer.access(now, "POST", &server);
    let sent = mcp_proto::auth::SentRequest::new("x");
    let mut is_refused = false;
    loop {
        let Some(action) = authorizer.poll_action() else {
            assert!(!is_refused, "no page");
            authorizer.handle_refusal(now, &Unauthorized::new(401, []), &sent);
            is_refused = true;
            continue;
        };
        match action {
            AuthAction::Load { id, .. } => {
                authorizer.handle_loaded(now, id, Duration::from_secs(1), None);
            }
            AuthAction::Fetch(fetch) => {
                let body = if fetch.url.as_str().starts_with("https://s.example/") {
                    r#"{"resource":"https://s.example/mcp",
                        "authorization_servers":["https://a.example"]}"#
                } else {
                    r#"{"issuer":"https://a.example",
                        "authorization_endpoint":"https://a.example/authorize",
                        "token_endpoint":"https://a.example/token",
                        "code_challenge_methods_supported":["S256"]}"#
                };
                let body = body.as_bytes();
                let answer = mcp_proto::auth::FetchAnswer::new(200, body);
                authorizer.handle_fetched(now, fetch.id, answer);
            }
            AuthAction::Listen { .. } => {
                authorizer.handle_listening(now, Ok(redirect_uri.into()));
            }
            AuthAction::Consent(page) => return page,
            AuthAction::Release { .. }
            | AuthAction::Remove { .. }
            | AuthAction::StopListening
            | AuthAction::Changed(_)
            | _ => {}
        }
    }
}

/// Sends a request to a redirect URI; returns the answer.
fn send(redirect_uri: &str, method: &str, rest: &str) -> String {
    let url = Url::parse(redirect_uri).unwrap();
    let mut socket = TcpStream::connect((url.host(), url.port())).unwrap();
    let target = format!("{}{rest}", url.target());
    write!(socket, "{method} {target} HTTP/1.1\r\nHost: {}\r\n\r\n", url.authority()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    answer
}

fn opens_nothing() -> Loopback {
    Loopback::with(|_| Ok(()))
}

#[test]
fn auth_s09_redirect_with_the_awaited_state_is_taken_once() {
    let mut pending = block_on(opens_nothing().prepare("http://127.0.0.1/callback", None)).unwrap();
    let uri = pending.redirect_uri();
    assert!(uri.starts_with("http://127.0.0.1:") && uri.ends_with("/callback"), "{uri}");
    let page = page(&uri);
    let state = page.state.expose().to_owned();
    // Nobody is asked yet.
    let early = send(&uri, "GET", &format!("?code=1&state={state}"));
    assert!(early.starts_with("HTTP/1.1 400"), "{early}");
    let mut asked = pending.ask(page);
    assert!(is_pending(asked.as_mut()));
    for (method, rest, status) in [
        ("GET", "?code=1&state=other".to_owned(), 400),
        ("GET", "?code=1".to_owned(), 400),
        ("POST", format!("?code=1&state={state}"), 405),
        ("GET", format!("/x?code=1&state={state}"), 404),
        ("GET", format!("?code=canary&state={state}"), 200),
        // A second one.
        ("GET", format!("?code=2&state={state}"), 400),
    ] {
        let answer = send(&uri, method, &rest);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{method} {rest}: {answer}");
        assert!(!answer.contains("canary") && !answer.contains(&state), "{answer}");
        assert!(answer.contains("Content-Security-Policy: default-src 'none'"), "{answer}");
        assert!(answer.contains("Cache-Control: no-store"), "{answer}");
    }
    assert_eq!(block_on(asked).unwrap(), format!("?code=canary&state={state}"));
    // The port is closed with the wait.
    drop(pending);
    let url = Url::parse(&uri).unwrap();
    let closes = || TcpStream::connect((url.host(), url.port())).is_err();
    while !closes() {
        thread::yield_now();
    }
}

/// The authorization server appends its parameters to the query of a redirect URI.
#[test]
fn redirect_uri_with_a_query_is_listened_for() {
    let uri = "http://127.0.0.1/callback?app=1";
    let mut pending = block_on(opens_nothing().prepare(uri, None)).unwrap();
    let uri = pending.redirect_uri();
    assert!(uri.ends_with("/callback?app=1"), "{uri}");
    let page = page(&uri);
    let state = page.state.expose().to_owned();
    let mut asked = pending.ask(page);
    assert!(is_pending(asked.as_mut()));
    let answer = send(&uri, "GET", &format!("&code=1&state={state}"));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(block_on(asked).unwrap(), format!("?app=1&code=1&state={state}"));
}

#[test]
fn auth_a13_redirect_arrives_at_both_loopback_addresses() {
    let pending = block_on(opens_nothing().prepare("http://localhost/callback", None)).unwrap();
    let uri = pending.redirect_uri();
    assert!(uri.starts_with("http://localhost:"), "{uri}");
    let port = Url::parse(&uri).unwrap().port();
    assert!(TcpStream::connect(("127.0.0.1", port)).is_ok());
    // A machine may have no IPv6.
    if std::net::TcpListener::bind("[::1]:0").is_ok() {
        assert!(TcpStream::connect(("::1", port)).is_ok());
    }
}

/// Other systems than Linux have only 127.0.0.1.
#[cfg(target_os = "linux")]
#[test]
fn redirect_to_another_loopback_address_arrives() {
    let uri = "http://127.0.0.2/callback";
    let mut pending = block_on(opens_nothing().prepare(uri, None)).unwrap();
    let uri = pending.redirect_uri();
    assert!(uri.starts_with("http://127.0.0.2:"), "{uri}");
    let page = page(&uri);
    let query = format!("?code=1&state={}", page.state.expose());
    let mut asked = pending.ask(page);
    assert!(is_pending(asked.as_mut()));
    let answer = send(&uri, "GET", &query);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(block_on(asked).unwrap(), query);
}

#[test]
fn page_after_a_refusal_does_not_say_that_the_person_is_signed_in() {
    for (params, title) in [("error=access_denied", "Not signed in"), ("code=1", "Signed in")] {
        let mut pending =
            block_on(opens_nothing().prepare("http://127.0.0.1/callback", None)).unwrap();
        let uri = pending.redirect_uri();
        let page = page(&uri);
        let query = format!("?{params}&state={}", page.state.expose());
        let mut asked = pending.ask(page);
        assert!(is_pending(asked.as_mut()));
        let answer = send(&uri, "GET", &query);
        assert!(answer.contains(&format!("<title>{title}</title>")), "{answer}");
        assert_eq!(block_on(asked).unwrap(), query);
    }
}

#[test]
fn port_of_the_last_time_is_used_if_it_is_free() {
    let first = block_on(opens_nothing().prepare("http://127.0.0.1/callback", None)).unwrap();
    let port = Url::parse(&first.redirect_uri()).unwrap().port();
    let second = block_on(opens_nothing().prepare("http://127.0.0.1/callback", Some(port)));
    assert_ne!(second.unwrap().redirect_uri(), first.redirect_uri());
    // One that is registered must be free.
    let named = format!("http://127.0.0.1:{port}/callback");
    assert!(block_on(opens_nothing().prepare(&named, None)).is_err());
    for uri in ["https://127.0.0.1/callback", "http://a.example/callback", "app:/callback"] {
        assert!(block_on(opens_nothing().prepare(uri, None)).is_err(), "{uri}");
    }
}

/// A browser may connect to `::1` for `localhost`. Another user of the machine would get the code.
#[test]
fn port_that_another_program_has_on_ipv6_is_not_used() {
    // A machine may have no IPv6.
    let Ok(other) = std::net::TcpListener::bind("[::1]:0") else { return };
    let port = other.local_addr().unwrap().port();
    let named = format!("http://localhost:{port}/callback");
    assert!(block_on(opens_nothing().prepare(&named, None)).is_err());
    let pending = block_on(opens_nothing().prepare("http://localhost/callback", Some(port)));
    let pending = pending.unwrap();
    assert_ne!(Url::parse(&pending.redirect_uri()).unwrap().port(), port);
    let named = format!("http://[::1]:{port}/callback");
    assert!(block_on(opens_nothing().prepare(&named, None)).is_err());
    // With an address of IPv4 nobody connects to the other one.
    let named = format!("http://127.0.0.1:{port}/callback");
    assert!(block_on(opens_nothing().prepare(&named, None)).is_ok());
}

#[test]
fn page_that_cannot_be_opened_is_no_consent() {
    let loopback = Loopback::with(|_| Err(io::Error::other("there is no display")));
    let mut pending = block_on(loopback.prepare("http://127.0.0.1/callback", None)).unwrap();
    let page = page(&pending.redirect_uri());
    let reason = block_on(pending.ask(page)).unwrap_err();
    assert!(reason.contains("there is no display"), "{reason}");
}

#[test]
fn pasted_text_must_be_the_redirect_of_the_page() {
    let page = page("http://127.0.0.1/callback");
    let state = page.state.expose().to_owned();
    let redirect = format!("http://127.0.0.1/callback?code=1&state={state}");
    let lines = ["4/0AbCd".to_owned(), "http://127.0.0.1/?state=other".into(), redirect.clone()];
    let (asked, questions) = channel();
    let lines = std::sync::Mutex::new(lines.into_iter());
    let paste = Paste::new(move |text| {
        let _ = asked.send(text.to_owned());
        Ok(lines.lock().unwrap().next().unwrap_or_default())
    });
    let mut pending = block_on(paste.prepare("http://127.0.0.1/callback", None)).unwrap();
    assert_eq!(block_on(pending.ask(page)).unwrap(), redirect);
    let questions: BTreeSet<String> = questions.try_iter().collect();
    assert!(questions.iter().any(|text| text.contains("https://a.example/authorize?")));
}

/// The addresses of the page itself, and of a browser that has changed it, have the state too.
#[test]
fn pasted_text_with_the_state_alone_is_not_taken() {
    for (uri, shown) in [
        ("http://127.0.0.1/callback", "http://127.0.0.1/callback?x=&"),
        ("http://127.0.0.1/callback", ""),
        ("http://127.0.0.1", "http://127.0.0.1/?"),
    ] {
        let page = page(uri);
        let state = page.state.expose().to_owned();
        let right = format!("{shown}code=1&state={state}#x");
        let lines = [
            page.url.as_str().to_owned(),
            format!("https://127.0.0.1/callback?code=1&state={state}"),
            format!("{uri}/x?code=1&state={state}"),
            format!("{uri}?code=1&state=x{state}"),
            state.clone(),
            right.clone(),
        ];
        let lines = std::sync::Mutex::new(lines.into_iter());
        let paste = Paste::new(move |_| Ok(lines.lock().unwrap().next().unwrap_or_default()));
        let mut pending = block_on(paste.prepare(uri, None)).unwrap();
        assert_eq!(block_on(pending.ask(page.clone())), Ok(right));
    }
}

/// Some authorization servers encode more characters than they must.
#[test]
fn redirect_may_have_its_state_encoded() {
    let encoded = |page: &ConsentPage| {
        let state = page.state.expose();
        let (first, rest) = state.split_at(1);
        format!("?code=1&state=%{:02x}{rest}", first.as_bytes()[0])
    };
    let page = page("http://127.0.0.1/callback");
    let line = format!("http://127.0.0.1/callback{}", encoded(&page));
    let lines = std::sync::Mutex::new([line.clone()].into_iter());
    let paste = Paste::new(move |_| Ok(lines.lock().unwrap().next().unwrap_or_default()));
    let mut pending = block_on(paste.prepare("http://127.0.0.1/callback", None)).unwrap();
    assert_eq!(block_on(pending.ask(page.clone())), Ok(line));
    let mut pending = block_on(opens_nothing().prepare("http://127.0.0.1/callback", None)).unwrap();
    let (uri, query) = (pending.redirect_uri(), encoded(&page));
    let mut asked = pending.ask(page);
    assert!(is_pending(asked.as_mut()));
    let answer = send(&uri, "GET", &query);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(block_on(asked).unwrap(), query);
}

/// The prompt of an abandoned sign-in still waits for a line.
#[test]
fn pasted_redirect_reaches_the_page_that_waits_for_it() {
    let uri = "http://127.0.0.1/callback";
    let redirect = |page: &ConsentPage| format!("{uri}?code=1&state={}", page.state.expose());
    let (keyboard, lines) = channel::<String>();
    let lines = std::sync::Mutex::new(lines);
    let (asked, questions) = channel();
    let paste = Paste::new(move |text| {
        let _ = asked.send(text.to_owned());
        lines.lock().unwrap().recv().map_err(io::Error::other)
    });
    let ask = |random| {
        let mut pending = block_on(paste.prepare(uri, None)).unwrap();
        let page = page_with(uri, random);
        let line = redirect(&page);
        let mut asked = pending.ask(page);
        assert!(is_pending(asked.as_mut()));
        questions.recv().unwrap();
        (pending, asked, line)
    };
    drop(ask(1));
    let (_second, mut second, second_line) = ask(2);
    let (_third, mut third, third_line) = ask(3);
    for line in [third_line.clone(), second_line.clone()] {
        keyboard.send(line).unwrap();
    }
    for (asked, line) in [(&mut second, second_line), (&mut third, third_line)] {
        let until = std::time::Instant::now() + Duration::from_secs(10);
        let got = loop {
            match asked.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(got) => break got,
                Poll::Pending => assert!(std::time::Instant::now() < until, "nothing came"),
            }
            thread::yield_now();
        };
        assert_eq!(got, Ok(line));
    }
}

/// A waker that reports each wake.
struct WakeReporter(std::sync::mpsc::Sender<()>);

impl Wake for WakeReporter {
    fn wake(self: Arc<Self>) {
        let _ = self.0.send(());
    }
}

/// The person pastes the address at the prompt of another sign-in, and ends the own prompt.
#[test]
fn pasted_redirect_counts_although_the_prompt_of_its_page_fails() {
    let uri = "http://127.0.0.1/callback";
    let (page, other_page) = (page_with(uri, 1), page_with(uri, 2));
    let state = page.state.expose().to_owned();
    let line = format!("{uri}?code=1&state={state}");
    let (keyboard, lines) = channel::<String>();
    let (other_keyboard, other_lines) = channel::<String>();
    let (lines, other_lines) = (std::sync::Mutex::new(lines), std::sync::Mutex::new(other_lines));
    let paste = Paste::new(move |text| {
        let lines = if text.contains(&state) { &lines } else { &other_lines };
        lines.lock().unwrap().recv().map_err(io::Error::other)
    });
    let mut pending = block_on(paste.prepare(uri, None)).unwrap();
    let mut other = block_on(paste.prepare(uri, None)).unwrap();
    let (mut asked, mut other_asked) = (pending.ask(page), other.ask(other_page));
    let (reports, woken) = channel();
    let waker = Waker::from(Arc::new(WakeReporter(reports)));
    let mut context = Context::from_waker(&waker);
    assert!(asked.as_mut().poll(&mut context).is_pending());
    assert!(is_pending(other_asked.as_mut()));
    other_keyboard.send(line.clone()).unwrap();
    woken.recv().unwrap();
    keyboard.send(String::new()).unwrap();
    // The prompt has ended.
    woken.recv().unwrap();
    assert_eq!(asked.as_mut().poll(&mut context), Poll::Ready(Ok(line)));
}

#[test]
fn sign_in_whose_consent_was_dropped_ends_with_its_prompt() {
    let uri = "http://127.0.0.1/callback";
    let (keyboard, lines) = channel::<String>();
    let lines = std::sync::Mutex::new(lines);
    let paste = Paste::new(move |_| lines.lock().unwrap().recv().map_err(io::Error::other));
    let mut pending = block_on(paste.prepare(uri, None)).unwrap();
    let mut asked = pending.ask(page(uri));
    let (reports, woken) = channel();
    let waker = Waker::from(Arc::new(WakeReporter(reports)));
    let mut context = Context::from_waker(&waker);
    assert!(asked.as_mut().poll(&mut context).is_pending());
    drop(pending);
    keyboard.send("x".into()).unwrap();
    woken.recv().unwrap();
    let ended = Err("the sign-in has ended".into());
    assert_eq!(asked.as_mut().poll(&mut context), Poll::Ready(ended));
}

#[test]
fn client_with_refused_settings_may_be_connected_with_others() {
    let client = Client::new(Implementation::new("app", "1.0.0"));
    let config = HttpClientConfig::parse("https://example.com/mcp").unwrap();
    let config = config.sign_in(SignIn::new(MemoryVault::new()));
    let with_field = config.clone().field("Authorization", "Bearer 0123").unwrap();
    let refused = HttpClientService::new(&client, with_field, || [0; 16]).map(|_| ());
    assert_eq!(refused, Err(UsageError::InvalidField { name: "Authorization".into() }));
    assert!(HttpClientService::new(&client, config, || [0; 16]).is_ok());
}
