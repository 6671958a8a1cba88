//! `mcp login`, `mcp logout` and what other commands do with stored credentials.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::{env, fs, process};

use mcp_tests::{auth_site, examples};
use mcp_tokio::HttpConfig;
use mcp_tokio::mcp_service::testing::{AuthServer, Person};

use super::run::{Ran, run_as};
use super::scratch::Scratch;
use super::server::{SERVER, by_hand, over_http, serve_with};

crate::all! {
    credentials_are_stored_used_and_removed,
    commands_ask_nobody_unless_told_to,
    person_who_refuses_is_told_of,
    failure_names_the_option_that_helps,
    only_servers_over_http_have_a_sign_in,
    server_that_needs_no_sign_in_is_told_of,
    failed_logout_names_the_credentials,
    credentials_that_are_not_stored_are_a_failure_of_login,
    port_of_the_redirect_that_is_in_use_is_named,
    example_keychain_keeps_credentials_in_a_program,
}

/// A protected server, and its authorization server.
pub(crate) struct Site {
    pub(crate) url: String,
    pub(crate) server: AuthServer,
    /// The folder of the credentials; removed at the end.
    pub(crate) folder: PathBuf,
}

impl Site {
    pub(crate) fn new(name: &str) -> Self {
        Self::with(name, |server| server)
    }

    /// A site whose authorization server is changed first.
    fn with(name: &str, change: impl FnOnce(AuthServer) -> AuthServer) -> Self {
        let [own, auth] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let url = format!("http://{}/mcp", own.local_addr().unwrap());
        let server = AuthServer::new(&format!("http://{}", auth.local_addr().unwrap()), &url);
        let server = change(server);
        auth_site::serve(auth, server.clone());
        let mut config = HttpConfig::default();
        let guard = server.clone();
        config.authorize = Some(Arc::new(move |head| guard.authorize(head)));
        serve_with(own, config);
        let folder = env::temp_dir().join(format!("mcp-cli-{name}-{}", process::id()));
        let _ = fs::remove_dir_all(&folder);
        Self { url, server, folder }
    }

    /// Runs `mcp` with these words and this URL.
    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        let browser = env::current_exe().unwrap();
        let environment = [
            ("BROWSER", browser.to_str().unwrap()),
            ("MCP_CREDENTIALS", self.folder.to_str().unwrap()),
        ];
        run_as("browser", &environment, &[words, &[&self.url]].concat())
    }

    /// Signs in, and puts a folder in the place of each record.
    pub(crate) fn spoil_the_store(&self) {
        assert_eq!(self.run(&["login"]).exit, 0);
        for file in fs::read_dir(&self.folder).unwrap() {
            let path = file.unwrap().path();
            fs::remove_file(&path).unwrap();
            fs::create_dir(&path).unwrap();
        }
    }

    pub(crate) fn count(&self, line: &str) -> usize {
        self.server.log().iter().filter(|it| *it == line).count()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The test as the browser, when `mcp` starts it as the browser.
pub(crate) fn browser() -> ExitCode {
    let page = env::args().nth(1).unwrap_or_default();
    match auth_site::browse(&page) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn credentials_are_stored_used_and_removed() {
    let site = Site::new("stored");
    let ran = site.run(&["login"]);
    assert_eq!((ran.exit, &*ran.out), (0, &*format!("signed in to {}\n", site.url)), "{}", ran.err);
    assert!(ran.err.contains("/authorize?"), "{}", ran.err);
    for _ in 0..2 {
        let ran = site.run(&["tools"]);
        assert_eq!((ran.exit, &*ran.err), (0, ""));
    }
    // An expired token is refreshed.
    site.server.expire_tokens();
    assert_eq!(site.run(&["tools"]).exit, 0);
    assert_eq!((site.count("GET /authorize"), site.count("POST /token")), (1, 2));
    let ran = site.run(&["logout", "--json"]);
    assert_eq!(ran.out, format!("{{\"removed\":true,\"url\":\"{}\"}}\n", site.url));
    assert_eq!(site.run(&["tools"]).exit, 7);
    let ran = site.run(&["logout"]);
    assert_eq!(ran.out, format!("there are no credentials for {}\n", site.url));
}

fn commands_ask_nobody_unless_told_to() {
    let site = Site::new("asks");
    let ran = site.run(&["tools"]);
    assert_eq!(ran.exit, 7);
    assert!(ran.err.contains("run `mcp login` with the URL"), "{}", ran.err);
    assert_eq!(site.count("GET /authorize"), 0);
    assert_eq!(site.run(&["tools", "--login"]).exit, 0);
    assert_eq!(site.count("GET /authorize"), 1);
    // A refusal without a challenge may have another reason than the credentials.
    let blocked = by_hand(|_| "403 Forbidden".to_owned(), |_| r#"{"message":"No!"}"#.to_owned());
    let environment = [("MCP_CREDENTIALS", site.folder.to_str().unwrap())];
    let ran = run_as("browser", &environment, &["tools", &blocked]);
    assert!(ran.exit == 7 && ran.err.contains("the server says: No!\n"), "{}", ran.err);
    // Nobody is asked where the grant is gone.
    site.server.revoke();
    let ran = site.run(&["tools"]);
    assert_eq!(ran.exit, 7);
    assert!(ran.err.contains("the sign-in failed"), "{}", ran.err);
}

fn person_who_refuses_is_told_of() {
    let site = Site::new("refuses");
    site.server.set_person(Person::Refuses);
    let ran = site.run(&["login"]);
    assert_eq!(ran.exit, 7);
    assert!(ran.err.contains("mcp: the sign-in failed"), "{}", ran.err);
    assert!(ran.err.contains("access_denied"), "{}", ran.err);
    // The page cannot be shown.
    let environment =
        [("BROWSER", "/no/browser"), ("MCP_CREDENTIALS", site.folder.to_str().unwrap())];
    let ran = run_as("browser", &environment, &["login", &site.url]);
    assert_eq!(ran.exit, 7);
    assert!(ran.err.contains("could not be opened"), "{}", ran.err);
}

fn failure_names_the_option_that_helps() {
    let site = Site::with("unregistered", AuthServer::without_registration);
    let ran = site.run(&["login"]);
    assert_eq!(ran.exit, 7);
    assert!(ran.err.contains("does not register clients"), "{}", ran.err);
    assert!(ran.err.contains("--client-id sets the client"), "{}", ran.err);
}

fn only_servers_over_http_have_a_sign_in() {
    let ran = run_as("", &[("MCP_CREDENTIALS", "/none")], &["login", "--", "cat"]);
    assert_eq!(ran.exit, 2);
    assert!(ran.err.contains("only servers over HTTP have a sign-in"), "{}", ran.err);
}

fn server_that_needs_no_sign_in_is_told_of() {
    let folder = Scratch::new("no-sign-in");
    let ran = run_as("", &[("MCP_CREDENTIALS", &folder.path(""))], &["login", &over_http(None)]);
    assert_eq!(ran.exit, 7, "{ran:?}");
    assert!(ran.err.contains("     the server has not asked for a sign-in, and may "), "{ran:?}");
}

fn failed_logout_names_the_credentials() {
    let site = Site::new("stuck");
    site.spoil_the_store();
    let ran = site.run(&["logout"]);
    let err = format!("mcp: the credentials for {} cannot be removed: ", site.url);
    assert!(ran.exit == 3 && ran.err.starts_with(&err), "{ran:?}");
}

fn credentials_that_are_not_stored_are_a_failure_of_login() {
    let site = Site::new("unsaved");
    site.spoil_the_store();
    let ran = site.run(&["login"]);
    let reason = format!("{}/", site.folder.display());
    let err = format!("mcp: the credentials for {} cannot be stored: {reason}", site.url);
    assert_eq!((ran.exit, &*ran.out), (3, ""), "{ran:?}");
    assert!(ran.err.contains(&err) && ran.err.contains("     MCP_CREDENTIALS in "), "{ran:?}");
    // A command goes on, and says so.
    let ran = site.run(&["tools", "--login"]);
    let err = format!("mcp: the new credentials cannot be stored: {reason}");
    assert!(ran.exit == 0 && ran.err.contains(&err), "{ran:?}");
}

fn port_of_the_redirect_that_is_in_use_is_named() {
    let site = Site::new("port");
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port();
    let ran = site.run(&["login", "--callback-port", &port.to_string()]);
    let text = format!("port {port} of the redirect URI cannot be used: ");
    assert!(ran.exit == 7 && ran.err.contains(&text), "{ran:?}");
}

/// A program with the arguments of `secret-tool`, which keeps records in files.
const SECRET_TOOL: &str = r#"#!/bin/sh
verb=$1
for key; do :; done
file=$KEYCHAIN/$(echo "$key" | cksum | cut -d ' ' -f 1)
case $verb in
  store) cat >"$file" ;;
  lookup) [ -f "$file" ] && cat "$file" ;;
  clear) rm -f "$file" ;;
esac
"#;

/// The program of a desktop that shows a page.
const OPEN: &str = "#!/bin/sh\nexec \"$BROWSER\" \"$1\"\n";

fn example_keychain_keeps_credentials_in_a_program() {
    #[cfg(unix)]
    {
        let site = Site::new("keychain");
        fs::create_dir_all(&site.folder).unwrap();
        let program = executable(&site.folder, "secret-tool", SECRET_TOOL);
        for name in ["xdg-open", "open"] {
            executable(&site.folder, name, OPEN);
        }
        let path = env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", site.folder.display());
        for expired in [false, false, true] {
            if expired {
                site.server.expire_tokens();
            }
            let ran = process::Command::new(examples::path("mcp-tokio", "keychain").unwrap())
                .arg(&site.url)
                .env("PATH", &path)
                .env("BROWSER", env::current_exe().unwrap())
                .env(SERVER, "browser")
                .env("SECRET_TOOL", &program)
                .env("KEYCHAIN", &site.folder)
                .output()
                .unwrap();
            assert!(ran.status.success(), "{ran:?}");
            assert!(String::from_utf8_lossy(&ran.stdout).contains("brew"), "{ran:?}");
        }
        assert_eq!((site.count("GET /authorize"), site.count("POST /token")), (1, 2));
    }
}

/// Writes a script.
#[cfg(unix)]
fn executable(folder: &std::path::Path, name: &str, script: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;

    let program = folder.join(name);
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program
}
